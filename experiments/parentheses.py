"""Balanced parentheses: the paper's two tables, drift, and the counter machine inside, proved.

Run: python experiments/parentheses.py [--part large|small|states|all] [--seeds 5]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from ledger import Ledger
from memory_runs import Recipe, make_task, train

from kleene.automata.counter import CounterMachine
from kleene.data.paper_sets import VALIDATION_DEPTH, PaperSet, Split, parentheses_set
from kleene.errors import KleeneError
from kleene.model import Model
from kleene.read.counter import read_counter

RECIPES = {"large": Recipe(), "small": Recipe(batch_size=32, epochs=150, patience=30)}
HIDDEN = 50


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", default="all", choices=["all", "large", "small", "states"])
    parser.add_argument("--models", default="", help="such as SR-LSTM-P,LSTM; all where empty")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--keep", type=Path, help="a folder for the trained models")
    options = parser.parse_args()
    torch.set_num_threads(1)
    ledger = Ledger("parentheses")
    wanted = set(filter(None, options.models.split(",")))
    for part, key in runs(options.first, options.seeds):
        if options.part in ("all", part) and (not wanted or key["model"] in wanted):
            row = ledger.run(lambda key=key: run(**key, keep=options.keep), **key)
            print(key, row["result"]["errors"], row["result"].get("counter"), flush=True)


def runs(first: int, seeds: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """All runs, the most telling first."""
    for size in ("large", "small"):
        for seed in range(first, first + seeds):
            yield size, {"size": size, "model": "SR-LSTM-P", "states": 5, "seed": seed}
    for seed in range(first, first + min(seeds, 3)):
        for size in ("large", "small"):
            for model in ("LSTM", "LSTM-P", "SR-LSTM"):
                states = 5 if model.startswith("SR") else 0
                yield size, {"size": size, "model": model, "states": states, "seed": seed}
        for states in (2, 10, 50):
            yield "states", {"size": "small", "model": "SR-LSTM-P", "states": states, "seed": seed}


def run(size: str, model: str, states: int, seed: int, keep: Path | None = None) -> dict[str, Any]:
    data = parentheses_set(size, seed=seed)
    trained, result = train(
        make_task(data, longer(data, seed)),
        model,
        states=states,
        hidden=HIDDEN,
        seed=seed,
        recipe=RECIPES[size],
    )
    if keep is not None:
        trained.save(keep / f"{size}-{model}-{states}-{seed}")
    if states:
        words = data.train.words
        result["counter"] = {
            mode: reading(trained, words, balanced, hard=mode == "hard")
            for mode in ("soft", "hard")
        }
    return result


def longer(data: PaperSet, seed: int) -> Split:
    """Fresh words of the depths of validation, up to the greatest length of the tests."""
    words, labels = data.language.sample(500, range(1_001), seed=[seed, 99], depth=VALIDATION_DEPTH)
    return Split(words=words, labels=labels)


def reading(
    model: Model,
    words: list[Any],
    truth: Callable[[bool], CounterMachine],
    *,
    hard: bool = False,
) -> dict[str, Any]:
    """The machine read off the memory, and the proof that it is the language, or a word.

    Words of depth 0 are not in the training set, so nothing tells a network what to do with the
    empty word; the language is compared with the network's own answer for that one word.
    """
    try:
        read = read_counter(model, words, hard=hard)
        empty = bool(read.machine.accepts(""))
        difference = read.machine.difference(truth(empty))
    except KleeneError as error:
        return {"proved": False, "error": str(error)}
    return {
        "proved": difference is None,
        "difference": difference,
        "accepts_empty": empty,
        "states": read.machine.minimize().num_states,
        "reach": read.machine.reach,
        "step": round(read.unit.step, 4),
        "noise": round(read.unit.noise, 4),
        "latches": len(read.latches),
        "counting_units": len(read.units),
        "votes": read.votes,
        "overridden": read.overridden,
        "unseen": read.unseen,
        "fidelity": read.fidelity,
        "disagreement": read.disagreement,
    }


def balanced(empty: bool = True, letters: str = "abcdefghijklmnopqrstuvwxyz") -> CounterMachine:
    """The language as a machine: a counter, and a state for words that went below 0."""

    def rule(state: str, view: int, symbol: Any) -> tuple[str, int]:
        if state == "wrong" or (symbol == ")" and view == 0):
            return "wrong", 0
        return "right", {"(": 1, ")": -1}.get(symbol, 0)

    accept = {("right", 0), *([("empty", 0)] if empty else [])}
    return CounterMachine.from_rule(rule, start="empty", alphabet=f"{letters}()", accept=accept)


if __name__ == "__main__":
    main()
