"""Induction alone and inside `fit`: exactness, noise, cost, beside RPNI and EDSM.

    random      random DFAs of 5 to 50 states over 2 and 10 symbols, 2,000 and 10,000 rows; new rows
    four symbols  random DFAs of 12, 20 and 30 states over 4 symbols, 1,000 to 20,000 rows
    noise       random DFAs of 10 states, 0, 1, 5 and 10 % of the labels flipped
    rows        CPU seconds against the number of rows
    alphabet    CPU seconds against the number of symbols
    states      CPU seconds against the number of states

Every run is a row of results/induction.json with its seed, settings and CPU time; compilation is
done before. Words of random DFAs are uniform in length up to 2 log2(states) + 6.

Run: python experiments/induction.py random [--seeds 2] [--merging-seconds 60]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from itertools import product
from math import ceil, log2
from typing import Any

import numpy as np
from ledger import Ledger
from merging import merge_in_time

import kleene as kl
from kleene.automata import DFA
from kleene.induction.learner import compile_kernels

Word = tuple[Any, ...]
Rows = tuple[list[Word], list[Any]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--merging-seconds", type=int, default=60)
    parser.add_argument("--only", default="", help="only keys that hold these texts, joined by &")
    options = parser.parse_args()
    compile_kernels()
    ledger = Ledger("induction")
    for key, work in PARTS[options.part](options):
        if all(text in str(key) for text in options.only.split("&")):
            own = key.get("method", "kleene") == "kleene"
            recipe = RECIPE if own else {"merging_seconds": options.merging_seconds}
            row = ledger.run(work, recipe=recipe, part=options.part, **key)
            print(row["key"], row["result"], row["cpu_seconds"], flush=True)


RECIPE = {
    "induce": "defaults",
    "search": "merges, patterns (products)",
    "patterns": "most specific that agree",
}
Task = tuple[dict[str, Any], Callable[[], dict[str, Any]]]


def random_dfa(states: int, symbols: int, seed: int) -> DFA:
    """The minimal DFA of uniformly drawn transitions and outputs, if it has so many states.

    More states are drawn than are wanted, since over two symbols a fifth of them is unreachable.
    """
    random = np.random.default_rng([states, symbols, seed])
    while True:
        size = states + int(random.integers(0, states // 2 + 1))
        table = random.integers(0, size, (size, symbols)).astype(np.int32)
        outputs = tuple(bool(label) for label in random.integers(0, 2, size))
        dfa = DFA(alphabet=tuple(range(symbols)), transitions=table, outputs=outputs).minimize()
        if dfa.num_states == states:
            return dfa


def labelled(dfa: DFA, rows: int, seed: int) -> Rows:
    """Random words with their labels."""
    random = np.random.default_rng([rows, seed])
    longest = 2 * ceil(log2(dfa.num_states)) + 6
    width = len(dfa.alphabet)
    words = [
        tuple(random.integers(0, width, random.integers(0, longest + 1)).tolist())
        for _ in range(rows)
    ]
    return words, dfa.run_many(words).tolist()


def flipped(labels: list[bool], share: float, seed: int) -> list[bool]:
    """The labels, a share of them wrong."""
    random = np.random.default_rng([seed, 77])
    wrong = set(random.permutation(len(labels))[: round(share * len(labels))].tolist())
    return [label != (i in wrong) for i, label in enumerate(labels)]


def judged(found: DFA | None, truth: DFA, **more: Any) -> dict[str, Any]:
    """Whether an automaton is the truth, and its accuracy on 5,000 new words."""
    if found is None:
        return {"exact": False, "states": None, "accuracy": None, **more}
    words, labels = labelled(truth, 5_000, 10_000)
    accuracy = float((found.run_many(words) == np.array(labels)).mean())
    return {"exact": bool(found == truth), "states": found.num_states, "accuracy": accuracy, **more}


def learn(method: str, rows: Rows, truth: DFA, seconds: int, seed: int) -> dict[str, Any]:
    """One automaton by one method; state merging has a limit of CPU time."""
    if method == "kleene":
        found = kl.induce(*rows, seed=seed)
        return judged(
            found.dfa,
            truth,
            method=found.method,
            search_seconds=round(found.seconds, 2),
            stopped_early=found.stopped_early,
        )
    dfa, spent = merge_in_time(*rows, method, truth.alphabet, seconds)
    dfa = None if dfa is None else dfa.minimize()
    return judged(dfa, truth, stopped_early=dfa is None, search_seconds=spent)


def random_tasks(options: argparse.Namespace) -> list[Task]:
    """Random DFAs, small ones first."""
    sizes = product((5, 10, 20, 30, 50), (2, 10), (2_000, 10_000), range(options.seeds))
    keys = [
        {"states": states, "symbols": symbols, "rows": rows, "seed": seed, "method": method}
        for states, symbols, rows, seed in sizes
        for method in ("kleene", "edsm", "rpni")
    ]
    return [(key, partial(recover, options.merging_seconds, **key)) for key in keys]


def four_symbols_tasks(options: argparse.Namespace) -> list[Task]:
    """Random DFAs of 12, 20 and 30 states over four symbols: how many rows they need."""
    sizes = product((12, 20, 30), (1_000, 2_000, 5_000, 10_000, 20_000), range(options.seeds))
    keys = [
        {"states": states, "symbols": 4, "rows": rows, "seed": seed, "method": "kleene"}
        for states, rows, seed in sizes
    ]
    return [(key, partial(recover, options.merging_seconds, **key)) for key in keys]


def noise_tasks(options: argparse.Namespace) -> list[Task]:
    """Ten states over two symbols, 2,000 rows, some of them with the wrong label."""
    keys = [
        {"noise": noise, "seed": seed, "method": method}
        for noise in (0.0, 0.01, 0.05, 0.1)
        for seed in range(options.seeds)
        for method in ("kleene", "edsm")
    ]
    return [(key, partial(recover, options.merging_seconds, **key)) for key in keys]


def recover(
    seconds: int,
    *,
    method: str,
    seed: int,
    states: int = 10,
    symbols: int = 2,
    rows: int = 2_000,
    noise: float = 0.0,
) -> dict[str, Any]:
    """Learn a random DFA from rows of which a share has the wrong label."""
    truth = random_dfa(states, symbols, seed)
    words, labels = labelled(truth, rows, seed)
    return learn(method, (words, flipped(labels, noise, seed)), truth, seconds, seed)


SIZES = {
    "rows": (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000),
    "symbols": (2, 4, 10, 30, 100, 300, 1_000),
    "states": (2, 5, 10, 20, 30, 50),
}
FIXED = {
    "rows": {"states": 10, "symbols": 4},
    "symbols": {"states": 5, "rows": 10_000},
    "states": {"symbols": 2, "rows": 10_000},
}


def cost_tasks(axis: str, options: argparse.Namespace) -> list[Task]:
    """Random DFAs of growing size along one axis."""
    return [
        ({axis: size, "seed": seed}, partial(timed, seed=seed, **FIXED[axis], **{axis: size}))
        for size in SIZES[axis]
        for seed in range(options.seeds)
    ]


def timed(states: int, symbols: int, rows: int, seed: int) -> dict[str, Any]:
    """One search in the rows of a random DFA, and how long it took."""
    truth = random_dfa(states, symbols, seed)
    found = kl.induce(*labelled(truth, rows, seed), seed=seed)
    seconds = round(found.seconds, 2)
    return judged(found.dfa, truth, distinct=found.evidence.num_words, search_seconds=seconds)


PARTS: dict[str, Callable[[argparse.Namespace], list[Task]]] = {
    "random": random_tasks,
    "four symbols": four_symbols_tasks,
    "noise": noise_tasks,
    "rows": partial(cost_tasks, "rows"),
    "alphabet": partial(cost_tasks, "symbols"),
    "states": partial(cost_tasks, "states"),
}

if __name__ == "__main__":
    main()
