"""States learned by gradient from rows alone: learned, read by counts, proved?

    tomita   Tomita's seven languages, 2,000 words up to length 15
    random   random DFAs of 5 to 15 states over two symbols, all words up to length 9 and 2,000
             words of lengths 10 to 25

Every run is `SequenceClassifier(learn=...)` with its defaults: `network`, or `paper`, the recipe of
the paper from random centroids. Seeds below 2,000 (random) and below 100 (tomita) were used to
choose the recipes; the tables need the seeds from there on.

A run is exact if the automaton is the language, by the product construction; `counts` is the
paper's Algorithm 1 on the training words, `table` the hard network itself.

Run: python experiments/network_first.py tomita [--learn paper] [--seeds 10] [--cell rnn]
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from functools import partial
from itertools import product
from time import process_time
from typing import Any

import torch
from induction import flipped, random_dfa
from ledger import Ledger

import kleene as kl
from kleene.languages.base import Language
from kleene.machine import Word
from kleene.nn.fused import load_kernels

FIRST_SEED = {"tomita": 100, "random": 2_000}
SMALLEST, SIZES = 5, 11
"""A random DFA has 5 to 15 states, by its seed."""
ALL_UP_TO, LENGTHS, ROWS = 9, range(10, 26), 2_000
NEW_ROWS, NEW_LENGTHS = 1_000, range(41)
Rows = tuple[list[Word], list[bool]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=tuple(FIRST_SEED))
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first", type=int, default=None, help="the first seed")
    parser.add_argument("--learn", default="network", choices=("network", "paper"))
    parser.add_argument("--states", type=int, default=None, help="centroids; none are dropped")
    parser.add_argument("--only", default="", help="only these languages, such as 1,2,3")
    parser.add_argument("--cell", default="gru", choices=("gru", "rnn", "lstm-p"))
    parser.add_argument("--flipped", type=float, default=0.0, help="share of wrong labels")
    options = parser.parse_args()
    torch.set_num_threads(1)
    load_kernels()
    ledger = Ledger("network_first")
    first = FIRST_SEED[options.part] if options.first is None else options.first
    only = options.only.split(",") if options.only else []
    settings = {"learn": options.learn, "cell": options.cell, "states": options.states}
    for seed in range(first, first + options.seeds):
        for name, language, rows in tasks(options.part, seed):
            key = {"part": options.part, "language": name, "seed": seed}
            key |= {"flipped": options.flipped, **settings}
            words, labels = rows[0], flipped(rows[1], options.flipped, seed)
            if not only or name in only:
                work = partial(learn, language, words, labels, settings, seed)
                row = ledger.run(work, recipe={"learn": options.learn}, **key)
                print(row["key"], row["result"], row["cpu_seconds"], flush=True)


def tasks(part: str, seed: int) -> Iterator[tuple[str, Language, Rows]]:
    """The name of each language of a seed, the language, and its training rows."""
    if part == "tomita":
        for number in range(1, 8):
            language = kl.languages.tomita(number)
            yield str(number), language, language.sample(ROWS, seed=1_000 * seed + number)
        return
    dfa = random_dfa(SMALLEST + seed % SIZES, 2, seed)
    language = Language(name="random", alphabet=dfa.alphabet, contains=dfa.accepts, dfa=dfa)
    short = [word for n in range(ALL_UP_TO + 1) for word in product(dfa.alphabet, repeat=n)]
    words, labels = language.sample(ROWS, LENGTHS, seed=seed)
    yield str(dfa.num_states), language, (short + words, dfa.run_many(short).tolist() + labels)


def learn(
    language: Language, words: list[Word], labels: list[bool], settings: dict[str, Any], seed: int
) -> dict[str, Any]:
    """Train a network, and read it in both ways."""
    started = process_time()
    classifier = kl.SequenceClassifier(**settings, random_state=seed).fit(words, labels)
    seconds = process_time() - started
    new, truth = language.sample(NEW_ROWS, NEW_LENGTHS, seed=[seed, 9])
    counts = classifier.extract(words, method="counts")
    result = {
        "fit seconds": round(seconds, 1),
        "accuracy on rows": classifier.score(words, labels),
        "accuracy on new words": classifier.score(new, truth),
        "counts exact": counts.dfa == language.dfa,
        "states in use": counts.states_in_use,
        "states of the language": language.dfa.num_states if language.dfa else None,
    }
    if settings["cell"] != "lstm-p":
        table = classifier.extract(words, method="table")
        result |= {
            "table exact": table.dfa == language.dfa,
            "proved": table.certificate is not None,
        }
    return result


if __name__ == "__main__":
    main()
