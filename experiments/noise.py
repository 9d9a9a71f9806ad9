"""Label noise: what is left of a language when some training labels are wrong.

Tomita 1-7 (2,000 words) and ten languages of MLRegTest (Train and Dev, 2,000 words), with 0, 1, 2,
5 or 10 % of the labels flipped, defaults only. Columns: whether the machine is exactly the true
language, and its accuracy on clean words never seen. RPNI and EDSM get the majority label of a word
that comes more than once, and a limit on their CPU time.

Run: KLEENE_DATA=... python experiments/noise.py [--seeds 1] [--methods kleene,rpni,edsm]
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from ledger import RESULTS, Ledger
from merging import merge_in_time
from mlregtest import TESTS, Archive

import kleene as kl
from kleene.automata import DFA

NOISES = (0.0, 0.01, 0.02, 0.05, 0.1)
LENGTHS = [*range(16), 20, 25, 30]
MERGING_SECONDS = 60
Words = tuple[list[str], list[bool]]


@dataclass(frozen=True, kw_only=True)
class Task:
    """A language to learn: its words with right labels, its tests, and the truth."""

    train: Words
    tests: Sequence[Words]
    truth: DFA

    def accuracy(self, dfa: DFA) -> float:
        """The mean over the tests of the share of words that are right."""
        shares = [(dfa.run_many(words) == np.array(labels)).mean() for words, labels in self.tests]
        return float(np.mean(shares))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default=os.environ.get("KLEENE_DATA", "data"))
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--noises", default=",".join(map(str, NOISES)))
    parser.add_argument("--tasks", default="", help="only those whose name starts like this")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of the results")
    options = parser.parse_args()
    torch.set_num_threads(1)
    ledger = Ledger("noise", folder=options.results)
    for seed in range(options.seeds):
        for name, task in tasks(Path(options.data), seed):
            if not name.startswith(options.tasks):
                continue
            for noise in map(float, options.noises.split(",")):
                words, labels = flipped(task.train, noise, seed)
                for method in options.methods.split(","):

                    def work(
                        task: Task = task,
                        words: list[str] = words,
                        labels: list[bool] = labels,
                        method: str = method,
                        seed: int = seed,
                    ) -> dict[str, Any]:
                        return run(task, words, labels, method, seed)

                    key = {"task": name, "noise": noise, "seed": seed, "method": method}
                    row = ledger.run(work, **key)
                    print(row["key"], row["result"], row["cpu_seconds"], flush=True)


def tasks(data: Path, seed: int) -> Iterator[tuple[str, Task]]:
    """The seven languages of Tomita, then those of MLRegTest."""
    for grammar in range(1, 8):
        language = kl.languages.tomita(grammar)
        train = language.sample(2000, lengths=LENGTHS, seed=seed)
        fresh = language.sample(2000, lengths=range(41), seed=1000 + seed)
        yield f"Tomita {grammar}", Task(train=train, tests=[fresh], truth=language.dfa)
    archive = Archive(data / "mlregtest" / "mlregtest_dev10.tar.gz")
    for name in archive.languages:
        parts = [archive.words(name, part) for part in ("Train", "Dev")]
        train = ([w for words, _ in parts for w in words], [y for _, ys in parts for y in ys])
        tests = [archive.words(name, test) for test in TESTS]
        yield name, Task(train=train, tests=tests, truth=archive.truth(name))


def flipped(train: Words, noise: float, seed: int) -> Words:
    """The same words, with exactly this share of their labels turned round."""
    words, labels = train[0], list(train[1])
    for i in np.random.default_rng(seed).permutation(len(labels))[: round(noise * len(labels))]:
        labels[i] = not labels[i]
    return words, labels


def run(task: Task, words: list[str], labels: list[bool], method: str, seed: int) -> dict[str, Any]:
    """Learn by one method and compare with the truth."""
    dfa, notes = METHODS[method](words, labels, seed)
    if dfa is None:
        return {"exact": False, "accuracy": None, "states": None, **notes}
    return {
        "exact": bool(dfa == task.truth),
        "accuracy": round(task.accuracy(dfa), 4),
        "states": dfa.minimize().num_states,
        **notes,
    }


Learned = tuple[DFA | None, dict[str, Any]]


def by_kleene(words: list[str], labels: list[bool], seed: int) -> Learned:
    classifier = kl.SequenceClassifier(random_state=seed).fit(words, labels)
    reading = classifier.extract(words)
    notes = {"fit_log": list(classifier.fit_log_), "fidelity": reading.fidelity.overall}
    return reading.dfa, {**notes, "certified": reading.certificate is not None}


def by_merging(algorithm: str) -> Callable[[list[str], list[bool], int], Learned]:
    def learn(words: list[str], labels: list[bool], seed: int) -> Learned:
        alphabet = sorted({symbol for word in words for symbol in word})
        dfa, seconds = merge_in_time(words, labels, algorithm, alphabet, MERGING_SECONDS)
        return dfa, {"stopped_after_seconds" if dfa is None else "merging_seconds": seconds}

    return learn


METHODS: dict[str, Callable[[list[str], list[bool], int], Learned]] = {
    "kleene": by_kleene,
    "rpni": by_merging("rpni"),
    "edsm": by_merging("edsm"),
}

if __name__ == "__main__":
    main()
