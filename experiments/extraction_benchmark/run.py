"""The extraction benchmark: every extractor on the same trained networks, whose truth is known.

    python experiments/extraction_benchmark/run.py --quick     a few networks, five minutes
    python experiments/extraction_benchmark/run.py             all, with checkpoints

Networks are trained first and kept (`--folder`, or KLEENE_CACHE). Each extraction has --seconds of
CPU time and --queries distinct words. Errors are counted on words like those of the training, on
random words, on words ten times longer, and on adversarial words: the words on which two of the
extracted automata differ, and words one edit from them. Every error is counted twice: against the
network, and against the language that it was trained on.

Results: experiments/results/extraction_benchmark.json, a row per network.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
import torch
from extraction_benchmark.extractors import (
    EXTRACTORS,
    Budget,
    Extracted,
    Extractor,
    extract,
)
from extraction_benchmark.networks import (
    Network,
    default_folder,
    make_all,
    open_network,
)
from ledger import Ledger

from kleene.automata import DFA
from kleene.evaluation.metrics import wilson_interval

ROOT = Path(__file__).parents[2]
EDITS = 10
"""Words one edit from each difference of two automata."""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="six small networks")
    parser.add_argument("--folder", type=Path, default=default_folder())
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--queries", type=int, default=50_000)
    parser.add_argument("--again", type=int, default=0, help="networks to make again and compare")
    options = parser.parse_args()
    torch.set_num_threads(1)
    budget = Budget(seconds=options.seconds, queries=options.queries)
    entries = make_all(options.folder, quick=options.quick, again=options.again)
    if options.quick:
        for entry in entries:
            result = compare(EXTRACTORS, open_network(options.folder, entry), budget)
            print(f"\n{entry['name']}, accuracy {entry['accuracy']['like training']:.3f}")
            show(result)
        return
    ledger, commit = Ledger("extraction_benchmark"), _commit()
    settings = {"seconds": options.seconds, "queries": options.queries}
    for entry in entries:
        network = open_network(options.folder, entry)

        def work(network: Network = network, entry: dict[str, Any] = entry) -> dict[str, Any]:
            found = compare(EXTRACTORS, network, budget)
            family = {"family": network.task.family, "accuracy": entry["accuracy"]}
            return {**family, "extractors": found, "commit": commit}

        row = ledger.run(work, recipe=settings, network=entry["name"])
        print(row["key"], row["cpu_seconds"], flush=True)


def compare(
    extractors: Sequence[Extractor], network: Network, budget: Budget, seed: int = 0
) -> dict[str, Any]:
    """All extractors on one network: the figures of each by name."""
    words, tests = network.task.given(seed), network.task.tests(seed)
    found = {one.name: extract(one, network, words, budget) for one in extractors}
    tests["adversarial"] = adversarial([one.dfa for one in found.values() if one], seed)
    answers = {kind: network(given) for kind, given in tests.items()}
    truth = {
        kind: [network.task.language.contains(word) for word in given]
        for kind, given in tests.items()
    }
    return {
        name: None if one is None else figures(one, tests, answers, truth)
        for name, one in found.items()
    }


def adversarial(automata: Sequence[DFA], seed: int) -> list[str]:
    """The shortest words on which two of the automata differ, and words one edit from them."""
    random, words = np.random.default_rng(seed), {}
    for one, other in combinations(automata, 2):
        word = one.difference(other)
        if word is None:
            continue
        for edit in range(EDITS + 1):
            letters, place = list(word), int(random.integers(len(word) + 1))
            if edit:
                letters[place : place + int(random.integers(2))] = str(random.choice(one.alphabet))
            words["".join(letters)] = None
    return list(words)


def figures(
    found: Extracted,
    tests: dict[str, list[str]],
    answers: dict[str, list[bool]],
    truth: dict[str, list[bool]],
) -> dict[str, Any]:
    """States, cost, and [errors against the network, errors against the language, words]."""
    errors = {}
    for kind, given in tests.items():
        labels = np.array(found.dfa.run_many(given), dtype=bool)
        against = (int((labels != np.array(one, dtype=bool)).sum()) for one in
                   (answers[kind], truth[kind]))  # fmt: skip
        errors[kind] = [*against, len(given)]
    return {
        "states": found.dfa.num_states,
        "queries": found.queries,
        "seconds": round(found.seconds, 2),
        "stopped": found.stopped,
        "errors": errors,
    }


def show(result: dict[str, Any]) -> None:
    """The figures of one network as lines."""
    print(f"{'extractor':>22} states queries   CPU  error against the network, 95 % interval")
    for name, one in result.items():
        if one is None:
            print(f"{name:>22} needs states that can be read from left to right")
            continue
        parts = []
        for kind, (wrong, _, words) in one["errors"].items():
            low, high = wilson_interval(wrong, words) if words else (0.0, 0.0)
            share = wrong / max(words, 1)
            parts.append(f"{kind} {share:.1%} ({low:.1%}-{high:.1%})")
        cost = f"{one['states']:>6} {one['queries']:>7} {one['seconds']:>4.1f}s"
        print(f"{name:>22} {cost}  {', '.join(parts)}{'  stopped' if one['stopped'] else ''}")


def _commit() -> str:
    done = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True,
                          text=True, check=True)  # fmt: skip
    return f"{done.stdout.strip()}, {time.strftime('%Y-%m-%d')}"


if __name__ == "__main__":
    main()
