"""Languages that need counting: learned by gradient, read as counter machines, and proved.

One counter: a^n b^n, Dyck-1 with noise letters (dyck1) and without (dyck1-bare), and as many a as b
in any order among noise letters (equal-counts). Two counters: a^n b^n c^n. Regular: Dyck-2 up to
depth 3. For those with one counter the machine is read off the memory and proved to be the
language. The recipe was chosen with seeds 0 to 2; seeds from 10 on were run once.

With `--proofs`: networks that are provably a counter machine up to a depth and a length. SR-LSTM-P
(width 50, 5 states) is trained on the large set of balanced parentheses; the machine is read; a
copy is taught to count exactly (`kleene.induction.teach_counter`); then the two are proved to agree
on every sequence of depth up to 20 and length up to 1,000, or as far as it goes. The recipe was
chosen on seeds 40 to 42; give `--first 50 --seeds 10` for fresh ones. Errors are of the paper's six
columns, before and after teaching.

Run: python experiments/counting.py [--first 10] [--seeds 10] [--languages anbn,dyck1] [--proofs]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from ledger import Ledger
from paper.counter_reading import balanced, reading
from paper.experiment import plain
from paper.memory_runs import Recipe, errors, make_task, train
from paper.parentheses import longer as longer_words
from paper.sets import PaperSet, Split, parentheses_set

from kleene.automata.counter.machine import CounterMachine
from kleene.errors import KleeneError
from kleene.extraction.counter.extract import extract_counter
from kleene.induction.teach_counter import DRIFT, RATE, STATES, STEPS, TEMPERATURE, teach_counter
from kleene.languages.base import Language, of_strings
from kleene.languages.context_free import (
    DrawSampler,
    balanced_parentheses,
    blocks,
    bounded_dyck2,
)
from kleene.proof.counter import counter_bound
from kleene.training.stages import Curriculum

TRAIN, VALIDATION, TEST = 4_000, 1_000, 1_000
RECIPE = Recipe(
    batch_size=64,
    epochs=60,
    patience=15,
    rmsprop_epochs=25,
    curriculum=Curriculum(start=6, step=2),
    round_epochs=2,
    attempts=1,
)
Make = Callable[[], Language]
LANGUAGES: dict[str, Make] = {
    "anbn": lambda: blocks("ab"),
    "dyck1": lambda: with_depth_0(balanced_parentheses("abc")),
    "dyck1-bare": lambda: balanced_parentheses(""),
    "equal-counts": lambda: equal_counts("xyz"),
    "anbncn": lambda: blocks("abc"),
    "dyck2-depth3": lambda: bounded_dyck2(3),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--proofs", action="store_true", help="parentheses, proved up to a length")
    parser.add_argument("--languages", default=",".join(LANGUAGES))
    parser.add_argument("--keep", type=Path, help="a folder for the trained models")
    options = parser.parse_args()
    torch.set_num_threads(1)
    seeds = range(options.first, options.first + options.seeds)
    if options.proofs:
        prove_all(seeds, options.keep)
        return
    ledger = Ledger("counting")
    for seed in seeds:
        for name in options.languages.split(","):
            row = ledger.run(
                lambda n=name, s=seed: run(n, s, options.keep),
                recipe=plain(RECIPE) | ({"depth": [0, 5]} if name == "dyck1" else {}),
                language=name,
                seed=seed,
            )
            print(row["key"], row["result"], row["cpu_seconds"], flush=True)


def run(name: str, seed: int, keep: Path | None = None) -> dict[str, Any]:
    language = LANGUAGES[name]()
    data = counting_set(language, seed)
    words, labels = language.sample(500, range(201), seed=[seed, 99])
    longer = Split(words=words, labels=labels)
    model, result = train(
        make_task(data, longer), "SR-LSTM-P", states=5, hidden=32, seed=seed, recipe=RECIPE
    )
    if keep is not None:
        model.save(keep / f"{name}-{seed}")
    truth = TRUTHS.get(name)
    if truth is not None:
        result["counter"] = {
            mode: reading(model, data.train.words, truth, hard=mode == "hard")
            for mode in ("soft", "hard")
        }
    else:  # no one-counter machine is right here: what does the reading say?
        result["counter"] = {
            "soft": reading(model, data.train.words, lambda empty: nothing(language))
        }
    return result


def counting_set(language: Language, seed: int) -> PaperSet:
    """Words up to length 40 to learn from, and up to 100 and 400 to test."""

    def split(n: int, lengths: range, part: int) -> Split:
        words, labels = language.sample(n, lengths, seed=[seed, part])
        return Split(words=words, labels=labels)

    return PaperSet(
        language=language,
        train=split(TRAIN, range(41), 0),
        validation=split(VALIDATION, range(61), 1),
        tests={
            f"l <= {most}": split(TEST, range(most + 1), 2 + i)
            for i, most in enumerate((40, 100, 400))
        },
    )


def equal_blocks(empty: bool = True) -> CounterMachine:
    """a^n b^n as a machine."""

    def rule(state: str, view: int, symbol: Any) -> tuple[str, int]:
        if symbol == "a":
            return ("first", 1) if state in ("empty", "first") else ("wrong", 0)
        return ("second", -1) if state != "wrong" and view > 0 else ("wrong", 0)

    accept = {("second", 0), *([("empty", 0)] if empty else [])}
    return CounterMachine.from_rule(rule, start="empty", alphabet="ab", accept=accept)


def with_depth_0(language: Language) -> Language:
    """The language with words of letters alone among those that are drawn."""
    assert language.sampler is not None
    return replace(language, sampler=partial(language.sampler, depth=range(6)))


def equal_counts(letters: str) -> Language:
    """Words with as many a as b in any order, with letters anywhere between them."""
    symbols = f"ab{letters}"

    def contains(word: str) -> bool:
        return word.count("a") == word.count("b")

    def draw(random: np.random.Generator, label: bool, length: int) -> str:
        pairs = int(random.integers(length // 2 + 1))
        word = [*"ab" * pairs, *random.choice(list(letters), length - 2 * pairs)]
        random.shuffle(word)
        if not label:
            for place in random.permutation(length)[: int(random.integers(1, 4))]:
                word[place] = str(random.choice(list("ab")))
        return "".join(word)

    sampler = DrawSampler(contains, draw, lambda label, length: label or length > 0)
    return of_strings("equal-counts", symbols, contains, sampler=sampler)


def equal_counts_machine(empty: bool = True) -> CounterMachine:
    """As many a as b, as a machine; the counter goes below 0, too."""

    def rule(state: str, view: int, symbol: Any) -> tuple[str, int]:
        return "read", {"a": 1, "b": -1}.get(symbol, 0)

    accept = {("read", 0), *([("empty", 0)] if empty else [])}
    return CounterMachine.from_rule(rule, start="empty", alphabet="abxyz", accept=accept)


TRUTHS: dict[str, Callable[[bool], CounterMachine]] = {
    "anbn": equal_blocks,
    "dyck1": lambda empty: balanced(empty, "abc"),
    "dyck1-bare": lambda empty: balanced(empty, ""),
    "equal-counts": equal_counts_machine,
}


def nothing(language: Language) -> CounterMachine:
    """The empty language, so that a reading shows a word that its machine accepts."""
    return CounterMachine.from_rule(
        lambda state, view, symbol: (state, 0), start=0, alphabet=language.alphabet, accept=()
    )


PROOF_RECIPE = Recipe(rmsprop_epochs=0, rounds=0, attempts=1)
FRESH = range(50, 60)
DEPTH, LENGTH = 20, 1_000
SETTINGS = {"training": asdict(PROOF_RECIPE), "steps": STEPS, "learning_rate": RATE}
SETTINGS |= {"states": STATES, "temperature": TEMPERATURE, "drift": DRIFT, "output_gate": "open"}


def prove_all(seeds: range, keep: Path | None) -> None:
    """The proofs of some seeds; their models go to `keep`."""
    ledger = Ledger("provable_counting")
    for seed in seeds:
        work = partial(prove, seed, keep)
        row = ledger.run(work, recipe=SETTINGS, seed=seed, fresh=seed in FRESH)
        print(row["key"], row["result"], flush=True)


def prove(seed: int, keep: Path | None) -> dict[str, Any]:
    """Train, read, teach and prove one network."""
    data = parentheses_set("large", seed=seed)
    task = make_task(data, longer_words(data, seed))
    times = [time.process_time()]
    model, trained = train(task, "SR-LSTM-P", states=5, hidden=50, seed=seed, recipe=PROOF_RECIPE)
    times.append(time.process_time())
    result: dict[str, Any] = {"trained": trained["errors"]}
    try:
        found = extract_counter(model, data.train.words)
    except KleeneError as error:
        return result | {"error": str(error), "bound": None}
    times.append(time.process_time())
    machine = found.machine.minimize()
    difference = machine.difference(balanced(bool(machine.accepts(""))))
    result["machine"] = {"is_language": difference is None, "states": machine.num_states}
    try:
        model, unit = teach_counter(model, machine, found.unit, depth=DEPTH)
    except KleeneError as error:
        return result | {"error": str(error), "bound": None}
    times.append(time.process_time())
    bound = counter_bound(model, machine, unit, depth=DEPTH, length=LENGTH)
    times.append(time.process_time())
    if keep is not None:
        model.save(keep / str(seed))
        machine.save(keep / f"{seed}.json")
    names = ("train", "read", "teach", "prove")
    seconds = [round(after - before, 1) for before, after in pairwise(times)]
    return result | {
        "errors": errors(model.network, task.tests),
        "bound": bound.to_dict(),
        "seconds": dict(zip(names, seconds, strict=True)),
    }


if __name__ == "__main__":
    main()
