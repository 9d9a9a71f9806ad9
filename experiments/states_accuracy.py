"""What states cost: a default fit beside n-grams and the plain cell, on the same new rows.

Every data set is used as it comes. The rows of names chose some settings, and those of motifs are
like rows that did; sites and names of stems were made for a look after all choices, and after that
look (at the latter) states were given a limit of one point. "kept" is what the fit ended with: an
automaton the network was taught, a network with states, or the plain cell.
MNIST is in the table of `experiments/reproduce.py mnist`.

Run: KLEENE_DATA=... python experiments/states_accuracy.py [--only motifs names] [--seeds 1]
"""

from __future__ import annotations

import argparse
import csv
import gzip
import os
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from ledger import Ledger
from made_up_rows import fixed_motifs, overlapping_names, sites, stem_names
from text_defaults import Rows, sms, two_newsgroups

from kleene import SequenceClassifier
from kleene.data.words import tokenize
from kleene.datasets import imdb
from kleene.languages import tomita
from kleene.nn.fused import load_kernels

Split = tuple[Rows, Rows]
REVIEWS, REVIEW_TOKENS = 5_000, 200
SETTINGS = "memory taught by n-grams, or averaged and given states at temperature 3"
TEXT_SETTINGS = "taught by n-grams, kept by the held-out loss"
LIMITED = {"stem names": ", at a loss of one point at most"}
"""What distinguishes the defaults of `fit`; rows of others are run again. That states may cost one
point at most changed the choice of this set alone: figures in the logs of the others tell."""
TEXTS = ("sms", "newsgroups", "imdb")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default=os.environ.get("KLEENE_DATA", "."))
    parser.add_argument("--only", nargs="*", choices=DATA, default=list(DATA))
    parser.add_argument("--seeds", type=int, nargs="*", default=[0])
    options = parser.parse_args()
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore")
    load_kernels()  # compilation is no part of the seconds
    ledger = Ledger("states_accuracy")
    for name in options.only:
        train, test = DATA[name](options.data)
        for seed in options.seeds:
            text = name in TEXTS
            work = partial(measure, train, test, seed, text=text)
            recipe = TEXT_SETTINGS if text else SETTINGS + LIMITED.get(name, "")
            row = ledger.run(work, recipe=recipe, data=name, seed=seed)
            print(row["key"], row["result"], flush=True)


def measure(train: Rows, test: Rows, seed: int, *, text: bool) -> dict[str, Any]:
    """Accuracies on the test rows, CPU seconds of both fits, and what was kept.

    The plain cell learns easy sequences first, as inside a default fit; texts do not.
    """
    found: dict[str, Any] = {"rows": len(train.labels), "new_rows": len(test.labels)}
    found["ngrams"] = ngrams(train, test)
    brief = {} if text else {"training": {"epochs": 400, "patience": 5}}
    for name, settings in (("plain", {"states": 0, **brief}), ("fit", {})):
        started = time.process_time()
        fitted = SequenceClassifier(random_state=seed, **settings).fit(*train)
        found[f"{name}_seconds"] = round(time.process_time() - started, 1)
        found[name] = round(float(fitted.score(*test)), 4)
    model = fitted.model_
    states, log = model.network.rnn.num_states, list(fitted.fit_log_)
    taught = any(line.startswith("taught the") for line in log)
    kept = "automaton" if taught else "states" if states else "plain cell"
    return {**found, "kept": kept, "states": states, "memory": _memory(model), "log": log}


def _memory(model: Any) -> bool:
    return bool(model.network.rnn.cell.has_memory)


def tokens(text: Any) -> list[str]:
    """Words of prose; characters of a string without spaces; symbols as they are."""
    return list(tokenize(text) if isinstance(text, str) and " " in text else text)


def ngrams(train: Rows, test: Rows) -> float:
    """Counts of 1- to 3-grams with logistic regression; 1- and 2-grams of words."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    words = len({symbol for text in train.texts for symbol in tokens(text)}) > 1_000

    def grams(text: Any) -> list[tuple[str, ...]]:
        symbols = ["<", *tokens(text), ">"]
        sizes = (1, 2) if words else (1, 2, 3)
        return [tuple(symbols[i : i + n]) for n in sizes for i in range(len(symbols) + 1 - n)]

    counts = TfidfVectorizer(analyzer=grams, sublinear_tf=True)
    model = make_pipeline(counts, LogisticRegression(C=10, max_iter=300)).fit(*train)
    return round(float(model.score(*test)), 4)


def _split(rows: tuple[Any, Any], new: int) -> Split:
    texts, labels = rows
    return Rows(texts[:-new], labels[:-new]), Rows(texts[-new:], labels[-new:])


def noisy_tomita(data: str) -> Split:
    """Tomita 5, a twentieth of the training labels flipped; the new rows are right."""
    train, test = _split(tomita(5).sample(3_000, lengths=range(2, 22), seed=0), 1_000)
    wrong = np.random.default_rng(0).random(len(train.labels)) < 0.05
    labels = [label != flip for label, flip in zip(train.labels, wrong.tolist(), strict=True)]
    return Rows(train.texts, labels), test


def logs(data: str) -> Split:
    """12,000 log sessions."""
    return _sessions(data, "train"), _sessions(data, "test")


def _sessions(data: str, part: str) -> Rows:
    with gzip.open(Path(data) / "logs" / f"hdfs_sessions_{part}.csv.gz", "rt") as file:
        pairs = list(csv.reader(file))[1:]
    return Rows([tuple(text.split()) for text, _ in pairs], [label for _, label in pairs])


def reviews(data: str) -> Split:
    """5,000 + 5,000 film reviews, the first 200 tokens of each."""
    return tuple(_cut(part) for part in (imdb(data).train, imdb(data).test))  # type: ignore


def _cut(part: Any) -> Rows:
    chosen = np.random.default_rng(0).permutation(len(part))[:REVIEWS].tolist()
    texts = [list(part.words[i][:REVIEW_TOKENS]) for i in chosen]
    return Rows(texts, [str(part.labels[i]) for i in chosen])


DATA: dict[str, Callable[[str], Split]] = {
    "tomita": noisy_tomita,
    "names": lambda data: _split(overlapping_names(14_000, seed=0), 2_000),
    "stem names": lambda data: _split(stem_names(14_000, seed=0), 2_000),
    "motifs": lambda data: _split(fixed_motifs(3_500, seed=0), 1_000),
    "sites": lambda data: _split(sites(3_500, seed=0), 1_000),
    "logs": logs,
    "sms": sms,
    "newsgroups": two_newsgroups,
    "imdb": reviews,
}


if __name__ == "__main__":
    main()
