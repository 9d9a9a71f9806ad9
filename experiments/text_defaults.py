"""Texts with nothing but defaults, beside n-grams with a linear classifier on the same rows.

Run: KLEENE_DATA=... python experiments/text_defaults.py [--seed 0] [--only IMDB]
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import torch
from ledger import Ledger
from paper.experiment import plain

from kleene.config import TrainConfig
from kleene.data.words import tokenize
from kleene.datasets.corpora import LabelledTexts, imdb, newsgroups
from kleene.estimator import SequenceClassifier
from kleene.training.recipes import text

GROUPS = ("sci.med", "sci.space")
TOKENS = 100


class Rows(NamedTuple):
    """Texts and labels of one part."""

    texts: list[Any]
    labels: list[str]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default=os.environ.get("KLEENE_DATA"))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", choices=list(CORPORA), nargs="+", default=list(CORPORA))
    options = parser.parse_args()
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore", ".*not in the alphabet")
    ledger = Ledger("text_defaults")
    for name in options.only:
        load = CORPORA[name]
        row = ledger.run(
            lambda load=load: measure(*load(options.data), options.seed),
            recipe=plain(text(TrainConfig())),
            corpus=name,
            seed=options.seed,
        )
        print(row["key"], row["result"], flush=True)


def measure(train: Rows, test: Rows, seed: int) -> dict[str, Any]:
    """Accuracy and F1 of the rarer class on the test rows, and CPU seconds of training."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import LinearSVC

    started = time.process_time()
    ours = SequenceClassifier(random_state=seed).fit(*train)
    seconds = time.process_time() - started
    grams = TfidfVectorizer(analyzer=_grams)
    linear = make_pipeline(grams, LinearSVC(random_state=0)).fit(*train)
    rare = min(set(train.labels), key=train.labels.count)
    found = {"ours": ours.predict(test.texts), "n-grams": linear.predict(test.texts)}
    scores = {
        name: _scores(list(predicted), test.labels, rare) for name, predicted in found.items()
    }
    return {**scores, "train_seconds": round(seconds, 1), "rows": len(test.labels), "class": rare}


def _grams(text: Any) -> list[str]:
    """Words and pairs of words."""
    words = list(tokenize(text) if isinstance(text, str) else text)
    return words + [f"{a} {b}" for a, b in pairwise(words)]


def _scores(predicted: Sequence[str], labels: Sequence[str], rare: str) -> dict[str, float]:
    from sklearn.metrics import accuracy_score, f1_score

    return {
        "accuracy": round(float(accuracy_score(labels, predicted)), 4),
        "f1": round(float(f1_score(labels, predicted, pos_label=rare)), 4),
    }


def sms(data: str | None) -> tuple[Rows, Rows]:
    """SMS Spam Collection, `text<TAB>label`, from the folder sms of the data."""
    return _lines(data, "train"), _lines(data, "test")


def _lines(data: str | None, part: str) -> Rows:
    lines = Path(data or ".", "sms", f"sms_{part}.tsv").read_text().splitlines()
    texts, labels = zip(*(line.rsplit("\t", 1) for line in lines), strict=True)
    return Rows(list(texts), list(labels))


def two_newsgroups(data: str | None) -> tuple[Rows, Rows]:
    """Two groups, bodies only, the split by date, the first hundred tokens of each message."""
    splits = newsgroups(data, cleaned=True)
    return _of_groups(splits.train), _of_groups(splits.test)


def _of_groups(part: LabelledTexts) -> Rows:
    kept = [i for i in range(len(part)) if part.labels[i] in GROUPS and len(part.words[i]) > 5]
    return Rows([part.words[i][:TOKENS] for i in kept], [str(part.labels[i]) for i in kept])


def reviews(data: str | None) -> tuple[Rows, Rows]:
    """All reviews of IMDB, whole."""
    splits = imdb(data)
    return _all(splits.train), _all(splits.test)


def _all(part: LabelledTexts) -> Rows:
    return Rows(list(part.words), [str(label) for label in part.labels])


CORPORA = {"SMS spam": sms, "two newsgroups": two_newsgroups, "IMDB": reviews}


if __name__ == "__main__":
    main()
