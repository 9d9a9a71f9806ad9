"""When the network matters: a cell's suggestions against induction alone.

The same rows, a tenth held back, are searched twice, for at most `SECONDS` seconds each: from the
rows alone, and on from there with what a trained plain GRU suggests (its hidden vectors clustered).
Both automata, and the cell, are tested on new rows.

Run: KLEENE_DATA=... python experiments/suggestions.py [--only logs]
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

import numpy as np
import torch
from induction import Rows, flipped, labelled, log_sessions, random_dfa
from ledger import Ledger

import kleene as kl
from kleene.automata import DFA
from kleene.data.examples import Examples
from kleene.induction.learner import compile_kernels, search_automaton
from kleene.induction.network import evidence_of
from kleene.induction.teach import suggestions

SECONDS, HELD_OUT = 10.0, 0.1
RECIPE = {"seconds": SECONDS, "held_out": HELD_OUT, "cell": "plain GRU, defaults"}


def random_rows(states: int, symbols: int, rows: int, noise: float = 0.0) -> tuple[Rows, Rows]:
    """Rows of a random automaton, and new ones without noise."""
    truth = random_dfa(states, symbols, 0)
    words, labels = labelled(truth, rows, 0)
    return (words, flipped(labels, noise, 0)), labelled(truth, 5_000, 10_000)


def long_rows(states: int, symbols: int, rows: int) -> tuple[Rows, Rows]:
    """Words of 20 to 29 symbols of a random automaton."""
    truth, random = random_dfa(states, symbols, 0), np.random.default_rng(0)

    def draw(count: int) -> Rows:
        lengths = random.integers(20, 30, count)
        words = [tuple(random.integers(0, symbols, n).tolist()) for n in lengths]
        return words, truth.run_many(words).tolist()

    return draw(rows), draw(5_000)


def data_sets(data: Path) -> dict[str, Any]:
    """Functions that make rows to learn from and new rows."""
    return {
        "random automaton, 10 states, 2 symbols": lambda: random_rows(10, 2, 2_000),
        "the same, 10 % of the labels flipped": lambda: random_rows(10, 2, 2_000, 0.1),
        "random automaton, 5 states, 2 symbols, long words": lambda: long_rows(5, 2, 2_000),
        "random automaton, 10 states, 10 symbols": lambda: random_rows(10, 10, 2_000),
        "random automaton, 5 states, 300 symbols": lambda: random_rows(5, 300, 10_000),
        "log sessions": lambda: (log_sessions(data, "train"), log_sessions(data, "test")),
    }


def compare(rows: Rows, new: Rows) -> dict[str, Any]:
    """Both searches and the cell on the same rows."""
    words, labels = rows
    classifier = kl.SequenceClassifier(states=0, recipe="curriculum", random_state=0)
    model = classifier.fit(words, labels).model_
    numbers = {label: i for i, label in enumerate(model.classes)}
    encoded = model.alphabet.encode_many(words)
    given = np.array([numbers[label] for label in labels])
    chosen = np.random.default_rng(0).random(len(words)) < HELD_OUT
    parts = [
        Examples(words=[encoded[i] for i in np.flatnonzero(part)], labels=given[part])
        for part in (~chosen, chosen)
    ]
    evidence = [evidence_of(model, part) for part in parts]
    alone = search_automaton(*evidence, seconds=SECONDS)
    suggested = suggestions(model, parts[0])
    both = search_automaton(*evidence, suggested=suggested, first=alone, seconds=SECONDS)
    result: dict[str, Any] = {"rows": len(words), "cell": classifier.score(*new)}
    for name, found in (("alone", alone), ("suggested", both)):
        result[name] = {
            "accuracy": _accuracy(found.dfa, new),
            "states": found.dfa.num_states,
            "held_out_errors": found.held_out_errors,
            "origin": found.origin,
            "seconds": round(found.seconds, 1),
        }
    return result


def _accuracy(dfa: DFA, rows: Rows) -> float:
    known = set(dfa.alphabet)
    right = [
        set(word) <= known and dfa.run(word) == label for word, label in zip(*rows, strict=True)
    ]
    return float(np.mean(right))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default=os.environ.get("KLEENE_DATA", "data"))
    parser.add_argument("--only", default="", help="only data sets whose name holds this text")
    options = parser.parse_args()
    torch.set_num_threads(1)
    compile_kernels()
    ledger = Ledger("suggestions")
    for name, make in data_sets(Path(options.data)).items():
        if options.only in name:
            row = ledger.run(lambda make=make: compare(*make()), recipe=RECIPE, data=name)
            print(row["key"], row["result"], row["cpu_seconds"], flush=True)


if __name__ == "__main__":
    main()
