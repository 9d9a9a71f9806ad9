"""Ablation of the search for an automaton: each part removed in turn, no network.

The tasks are languages of MLRegTest (dev20), own languages over 16 symbols (seed 0), Tomita 1-7 as
they are and with 5 % of the labels flipped, random automata, and log sessions. A part is tried on
the tasks where it could matter. Parts that turned out to be needed by no task were deleted; their
runs (splits, rule lists, ...) stay in results/ablation.json.

Run: KLEENE_DATA=... python experiments/ablation.py [--parts merging,likelihood]
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from induction import Rows, flipped, labelled, log_sessions, random_dfa
from ledger import Ledger
from mlregtest import TESTS, Archive
from own_languages import language, rows_of

import kleene as kl
from kleene.automata import DFA
from kleene.induction import candidates, feature_pool, features, learner, patterns
from kleene.induction.features import Occurrence

SEED = 0
SECONDS = {"logs": 5.0}
"""Limits of work that are not `DEFAULT_SECONDS`."""
DEFAULT_SECONDS = 20.0
Task = Callable[[], tuple[Rows, list[Rows]]]
Patches = list[tuple[Any, str, Any]]


def nothing(*args: Any, **settings: Any) -> None:
    """Take the place of a step."""


def none_of(*args: Any, **settings: Any) -> Iterator[Any]:
    """Take the place of a generator."""
    return iter(())


def without_tests(dropped: Callable[[Occurrence], bool]) -> Patches:
    """Leave out a family of tests, wherever tests are made."""

    def filtered(make: Callable[..., Iterator[Occurrence]]) -> Callable[..., Iterator[Occurrence]]:
        return lambda *given: (test for test in make(*given) if not dropped(test))

    pool = feature_pool.FeaturePool
    return [
        (Occurrence, "neighbours", filtered(Occurrence.neighbours)),
        (pool, "_simple", filtered(pool._simple)),
    ]


MLREGTEST = ("03.TLTT.4.3.1", "04.LTT.4.3.1", "04.PLT.6.3.1", "04.PT.6.1.1", "04.SL.6.1.1")
LONG = tuple(f"dev20/04.{name}" for name in MLREGTEST)
OWN = ("own16/SL.6.1", "own16/TLTT.4.3", "own16/LTTD.4.3")
TOMITA = tuple(f"tomita/{number}" for number in range(1, 8))
NOISY = ("noisy/3", "noisy/5", "noisy/7", "random/10 states 2 symbols noise 0.1")
ERRORS_LEFT = ("logs/sessions", "random/4 states 16 symbols long")
PARTS: dict[str, tuple[Patches, tuple[str, ...]]] = {
    "all": (
        [],
        (*LONG, *OWN, *TOMITA, *NOISY, *ERRORS_LEFT, "own16/Zp.3.1", "dev20/04.04.Zp.3.1.3"),
    ),
    "merging": (
        [(candidates, "merged", nothing)],
        (*TOMITA, "dev20/04.04.Zp.3.1.3", "random/10 states 10 symbols noise 0.0"),
    ),
    "patterns": (
        [(candidates, "patterns", none_of), (learner, "patterns", none_of)],
        (*LONG[1:2], *LONG[3:4], "dev20/04.04.Reg.0.0.1"),
    ),
    "restarts": (
        [(candidates.CandidateSearch, "restart", nothing)],
        (*NOISY, *ERRORS_LEFT),
    ),
    "likelihood": ([(patterns, "likeliest", lambda feature, *_: [feature])], (*LONG[:3], *OWN[:2])),
    "variation": ([(patterns, "_vary", nothing)], (*LONG[1:2], *LONG[3:4])),
    "counters": (
        [(feature_pool, "counters", none_of), (feature_pool, "weighted_counters", none_of)],
        ("dev20/04.04.Zp.3.1.3", *TOMITA[3:6]),
    ),
    "weighted counters": ([(feature_pool, "weighted_counters", none_of)], ("own16/Zp.3.1",)),
    "tiers": (without_tests(lambda test: test.tier is not None), LONG[:1]),
    "thresholds": (without_tests(lambda test: test.times > 1), LONG[1:2]),
    "subsequences": (without_tests(lambda test: not test.is_factor), LONG[3:4]),
    "factors in order": (
        without_tests(lambda test: not test.is_factor and any(test.joined)),
        LONG[2:3],
    ),
    "counts without overlap": (
        without_tests(lambda test: not test.overlap),
        (LONG[1], "own16/LTTD.4.3"),
    ),
    "repetitions": ([(features.Occurrence, "_repetitions", none_of)], (*LONG[:2], *OWN[1:])),
}


def tasks(data: Path) -> dict[str, Task]:
    """Training rows and tests, by name."""
    made: dict[str, Task] = {"logs/sessions": lambda: _logs(data)}
    archive = Archive(data / "mlregtest" / "mlregtest_dev20.tar.gz")
    for name in archive.languages:
        made[f"dev20/{name}"] = lambda name=name: _mlregtest(archive, name)
    for number in range(1, 8):
        made[f"tomita/{number}"] = lambda number=number: _tomita(number, 0.0)
        made[f"noisy/{number}"] = lambda number=number: _tomita(number, 0.05)
    for states, symbols, rows, noise in ((10, 2, 2_000, 0.1), (10, 10, 10_000, 0.0)):
        name = f"random/{states} states {symbols} symbols noise {noise}"
        size = states, symbols, rows, noise
        made[name] = lambda size=size: _random(*size)
    made["random/4 states 16 symbols long"] = lambda: _own("Reg", 4, 1, 16)
    for kind, k, t in (("SL", 6, 1), ("TLTT", 4, 3), ("LTTD", 4, 3), ("Zp", 3, 1)):
        given = kind, k, t
        made[f"own16/{kind}.{k}.{t}"] = lambda given=given: _own(*given, 16)
    return made


def _logs(data: Path) -> tuple[Rows, list[Rows]]:
    return log_sessions(data, "train"), [log_sessions(data, "test")]


def _mlregtest(archive: Archive, name: str) -> tuple[Rows, list[Rows]]:
    train, dev = archive.words(name, "Train"), archive.words(name, "Dev")
    return (train[0] + dev[0], train[1] + dev[1]), [archive.words(name, test) for test in TESTS]


def _tomita(number: int, noise: float) -> tuple[Rows, list[Rows]]:
    words, labels = kl.languages.tomita(number).sample(2_000, seed=SEED)
    new = kl.languages.tomita(number).sample(2_000, lengths=range(41), seed=1_000)
    return (words, flipped(labels, noise, SEED)), [new]


def _random(states: int, symbols: int, rows: int, noise: float) -> tuple[Rows, list[Rows]]:
    truth = random_dfa(states, symbols, SEED)
    words, labels = labelled(truth, rows, SEED)
    return (words, flipped(labels, noise, SEED)), [labelled(truth, 5_000, 10_000)]


def _own(kind: str, k: int, t: int, width: int) -> tuple[Rows, list[Rows]]:
    dfa = language(kind, k, t, width, SEED)
    assert dfa is not None
    rows = rows_of(dfa, SEED)
    return rows["train"], [rows[test] for test in ("SR", "SA", "LR", "LA")]


def run(rows: tuple[Rows, list[Rows]], patches: Patches, seconds: float) -> dict[str, Any]:
    """Search with some parts patched away; accuracy on the tests."""
    train, tests = rows
    with ExitStack() as stack:
        for target, name, value in patches:
            stack.enter_context(patch.object(target, name, value))
        started = time.process_time()
        found = kl.induce(*train, seconds=seconds, seed=SEED)
        spent = time.process_time() - started
    return {
        "tests": [round(_accuracy(found.dfa, test), 4) for test in tests],
        "states": found.dfa.num_states,
        "method": found.method,
        "errors": found.training_errors,
        "cpu": round(spent, 2),
    }


def _accuracy(dfa: DFA, rows: Rows) -> float:
    known = set(dfa.alphabet)
    return float(np.mean([set(w) <= known and dfa.run(w) == y for w, y in zip(*rows, strict=True)]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default=os.environ.get("KLEENE_DATA", "data"))
    parser.add_argument("--parts", default=",".join(PARTS))
    options = parser.parse_args()
    learner.compile_kernels()
    ledger, made = Ledger("ablation"), tasks(Path(options.data))
    for part in options.parts.split(","):
        patches, names = PARTS[part]
        for name in names:
            seconds = SECONDS.get(name.split("/")[0], DEFAULT_SECONDS)
            row = ledger.run(
                lambda name=name, patches=patches, seconds=seconds: run(
                    made[name](), patches, seconds
                ),
                recipe={"seed": SEED, "seconds": seconds},
                part=part,
                task=name,
            )
            print(row["key"], row["result"], flush=True)


if __name__ == "__main__":
    main()
