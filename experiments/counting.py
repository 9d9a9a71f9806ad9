"""Other languages that need counting, and AALpy's learners of visibly pushdown automata beside us.

One counter: a^n b^n, Dyck-1 with noise letters (dyck1) and without (dyck1-bare), and as many a as b
in any order among noise letters (equal-counts). Two counters: a^n b^n c^n. Regular: Dyck-2 up to
depth 3. For those with one counter the machine is read off the memory and proved. With `--peers`
AALpy's learners (KV asking the network, PAPNI from the training words) are run beside; they are
given which symbols push and pop.

The recipe was chosen with seeds 0 to 2; seeds from 10 on were run once.

Run: python experiments/counting.py [--first 10] [--seeds 10] [--languages anbn,dyck1] [--peers]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from ledger import Ledger
from paper.counter_reading import balanced, reading
from paper.experiment import plain
from paper.memory_runs import Recipe, make_task, train

from kleene.automata.counter.machine import CounterMachine
from kleene.extraction.target import Oracle
from kleene.languages.base import Language, by_character
from kleene.languages.context_free import (
    DrawSampler,
    balanced_parentheses,
    blocks,
    bounded_dyck2,
)
from kleene.languages.paper_sets import PaperSet, Split
from kleene.model import Model
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
    parser.add_argument("--peers", action="store_true", help="run AALpy's learners beside")
    parser.add_argument("--languages", default=",".join(LANGUAGES))
    parser.add_argument("--keep", type=Path, help="a folder for the trained models")
    options = parser.parse_args()
    torch.set_num_threads(1)
    ledger = Ledger("counting")
    for seed in range(options.first, options.first + options.seeds):
        for name in options.languages.split(","):
            row = ledger.run(
                lambda n=name, s=seed: run(n, s, options.peers, options.keep),
                recipe=plain(RECIPE) | ({"depth": [0, 5]} if name == "dyck1" else {}),
                language=name,
                seed=seed,
            )
            print(row["key"], row["result"], row["cpu_seconds"], flush=True)


def run(name: str, seed: int, beside: bool = False, keep: Path | None = None) -> dict[str, Any]:
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
    calls = {"anbn": ("a", "b"), "dyck1": ("(", ")")}.get(name)
    if calls is not None and beside:
        result["peers"] = peers(model, language, data, *calls)
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

    return Language(
        name="equal-counts",
        alphabet=tuple(symbols),
        contains=by_character(symbols, contains),
        sampler=DrawSampler(contains, draw, lambda label, length: label or length > 0),
    )


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


# -- the peers ---------------------------------------------------------------------------------


def peers(model: Model, language: Language, data: PaperSet, push: str, pop: str) -> dict[str, Any]:
    """AALpy's learners on the same footing, but given which symbols push and pop."""
    from aalpy.automata import SevpaAlphabet, VpaAlphabet
    from aalpy.learning_algs import run_KV, run_PAPNI

    letters = [symbol for symbol in language.alphabet if symbol not in (push, pop)]
    network = _system(model)
    candidates = [tuple(word) for split in (data.train, data.validation) for word in split.words]
    started = time.process_time()
    learned = run_KV(
        SevpaAlphabet(letters, [push], [pop]),
        network,
        _search(network, candidates),
        automaton_type="vpa",
        cache_and_non_det_check=False,
        print_level=0,
        max_learning_rounds=30,
    )
    asked = time.process_time()
    words = zip(data.train.words, data.train.labels, strict=True)
    passive = run_PAPNI(
        [(tuple(word), label) for word, label in words],
        VpaAlphabet(letters, [push], [pop]),
        print_info=False,
    )
    done = time.process_time()
    return {
        "KV": _judged(learned, language, data) | {"seconds": round(asked - started, 1)},
        "PAPNI": _judged(passive, language, data) | {"seconds": round(done - asked, 1)},
    }


def _judged(automaton: Any, language: Language, data: PaperSet) -> dict[str, Any]:
    if automaton is None:
        return {"states": None, "test_errors": None}
    wrong = {
        name: round(
            float(np.mean([_accepts(automaton, w) != language.contains(w) for w in split.words])), 4
        )
        for name, split in data.tests.items()
    }
    return {"states": automaton.size, "test_errors": wrong}


def _accepts(automaton: Any, word: Any) -> bool:
    automaton.reset_to_initial()
    answer = automaton.step(None)
    for symbol in word:
        answer = automaton.step(symbol)
    return bool(answer)


def _system(model: Model) -> Any:
    from aalpy.base import SUL

    class Network(SUL):  # type: ignore[misc]
        """The network as a system to learn: whole words, each asked once."""

        def __init__(self) -> None:
            super().__init__()
            self.oracle = Oracle(model)

        def query(self, word: Any) -> list[bool]:
            prefixes = model.alphabet.encode_many([word[: t + 1] for t in range(len(word))] or [()])
            return [bool(model.classes[i]) for i in self.oracle(prefixes)]

        def pre(self) -> None:
            """Nothing to prepare."""

        def post(self) -> None:
            """Nothing to clean up."""

        def step(self, letter: Any) -> Any:
            raise NotImplementedError

    return Network()


def _search(network: Any, words: list[tuple[Any, ...]]) -> Any:
    from aalpy.base import Oracle as Equivalence

    class Search(Equivalence):  # type: ignore[misc]
        """The shortest word of a list on which the network and a proposal differ."""

        def __init__(self) -> None:
            super().__init__([], network)
            ordered = sorted(words, key=len)
            ids = network.oracle.model.alphabet.encode_many(ordered)
            classes = network.oracle.model.classes
            self.answers = [
                (w, bool(classes[i])) for w, i in zip(ordered, network.oracle(ids), strict=True)
            ]

        def find_cex(self, hypothesis: Any) -> tuple[Any, ...] | None:
            return next((w for w, label in self.answers if _accepts(hypothesis, w) != label), None)

    return Search()


if __name__ == "__main__":
    main()
