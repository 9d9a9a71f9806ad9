"""The counter machine read off a memory, and whether it is the language, for a table of results."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from kleene.automata.counter.machine import CounterMachine
from kleene.errors import KleeneError
from kleene.extraction.counter.extract import extract_counter
from kleene.model import Model


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
    started = time.process_time()
    try:
        read = extract_counter(model, words, hard=hard)
        seconds = round(time.process_time() - started, 1)
        empty = bool(read.machine.accepts(""))
        difference = read.machine.difference(truth(empty))
    except KleeneError as error:
        return {"proved": False, "error": str(error)}
    return {
        "proved": difference is None,
        "difference": difference,
        "accepts_empty": empty,
        "states": read.machine.minimize().num_states,
        "reach": read.machine.clip,
        "step": round(read.unit.step, 4),
        "noise": round(read.unit.noise, 4),
        "latches": len(read.latches),
        "centroids": read.centroids,
        "counting_units": len(read.units),
        "votes": read.votes,
        "overridden": read.overridden,
        "unseen": read.unseen,
        "fidelity": read.fidelity,
        "disagreement": read.disagreement,
        "seconds": seconds,
    }


def balanced(empty: bool = True, letters: str = "abcdefghijklmnopqrstuvwxyz") -> CounterMachine:
    """The language as a machine: a counter, and a state for words that went below 0."""

    def rule(state: str, view: int, symbol: Any) -> tuple[str, int]:
        if state == "wrong" or (symbol == ")" and view == 0):
            return "wrong", 0
        return "right", {"(": 1, ")": -1}.get(symbol, 0)

    accept = {("right", 0), *([("empty", 0)] if empty else [])}
    return CounterMachine.from_rule(rule, start="empty", alphabet=f"{letters}()", accept=accept)
