"""State tracking by default fits: tasks whose label is the state of a finite machine.

    length   tasks of the literature (DeltaProduct, PD-SSM): learned from words up to length 40,
             tested up to 256 and at 10,000. Words are uniform in length, then uniform among the
             words of a length; for repeat-01 and Dyck-2 half are members, and a part of the others
             are edited members
    groups   the product of the elements of a word (Z2 to Z7, S3, A5), or only whether it is the
             identity; 10,000 words up to length 40
    random   random DFAs of 10, 20 and 30 states over two symbols, 10,000 words; a share of the
             symbols or of the labels is wrong in training; new words are clean

The truth is a DFA. A state whose label is None ends no word of the task; words that pass a state
from which no label can be reached are no words of the task. An automaton is exact when it gives
every word of the task, of every length, the right label.

Run: python experiments/state_tracking.py length [--seeds 3] [--only parity]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from induction import flipped, labelled, random_dfa
from ledger import Ledger

import kleene as kl
from kleene.automata import DFA
from kleene.automata.symbols import spell
from kleene.induction.learner import compile_kernels
from kleene.languages.base import Language
from kleene.languages.paths import Paths
from kleene.languages.sampling import PathSampler
from kleene.machine import Label, Word
from kleene.nn.fused import load_kernels

Rows = tuple[list[Word], list[Label]]
Work = Callable[[], dict[str, Any]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--only", default="", help="only runs whose key holds this text")
    options = parser.parse_args()
    torch.set_num_threads(1)
    compile_kernels()
    load_kernels()
    ledger = Ledger(
        "length_generalisation" if options.part == "length" else "groups_and_random_dfas"
    )
    for seed in range(options.seeds):
        for key, rows, work in PARTS[options.part](seed):
            if options.only in str(key):
                recipe = {"fit": "defaults, taught by tables", "rows": rows}
                recipe |= LENGTHS if options.part == "length" else {}
                row = ledger.run(work, recipe=recipe, **key, seed=seed)
                print(row["key"], row["result"], row["cpu_seconds"], flush=True)


@dataclass(frozen=True, kw_only=True)
class Task:
    """The truth, and a way to draw words: by length alone, or members and others of a language."""

    truth: DFA
    language: Language | None = None

    def sample(self, rows: int, lengths: Iterable[int], seed: Sequence[int]) -> Rows:
        """Words with their labels; all words of a length are equally likely."""
        lengths = list(lengths)
        if self.language is not None:
            return self.language.sample(rows, lengths, seed=seed)
        paths = Paths(
            np.asarray(self.truth.transitions, dtype=np.int64),
            np.array([output is not None for output in self.truth.outputs]),
            self.truth.initial,
        )
        random = np.random.default_rng(seed)
        drawn = random.choice([n for n in lengths if paths.count(n)], rows)
        words = [self._spell(word) for word in paths.draw(random, drawn)]
        return words, self.truth.run_many(words).tolist()

    def difference(self, found: DFA) -> Word | None:
        """A shortest word of the task to which an automaton gives another label."""
        truth, symbols = self.truth, self.truth.alphabet
        alive = _alive(truth)
        unknown = set(symbols) - set(found.alphabet)
        queue = [(truth.initial, found.initial, ())]
        seen = {queue[0][:2]}
        for state, other, word in queue:
            if truth.outputs[state] is not None and truth.outputs[state] != found.outputs[other]:
                return self._spell(word)
            for column, symbol in enumerate(symbols):
                following = truth.step(state, symbol)
                if following not in alive:
                    continue
                if symbol in unknown:
                    return self._spell((*word, column))
                pair = following, found.step(other, symbol)
                if pair not in seen:
                    seen.add(pair)
                    queue.append((*pair, (*word, column)))
        return None

    def _spell(self, columns: Iterable[int]) -> Word:
        symbols = self.truth.alphabet
        return spell([symbols[column] for column in columns], symbols)


def _alive(dfa: DFA) -> set[int]:
    """States from which a label can be reached."""
    alive = {state for state, output in enumerate(dfa.outputs) if output is not None}
    while True:
        rows = np.isin(dfa.transitions, list(alive)).any(1)
        more = alive | set(np.flatnonzero(rows).tolist())
        if more == alive:
            return alive
        alive = more


def machine(alphabet: Sequence[Any], start: Any, step: Any, output: Any) -> DFA:
    """The minimal DFA of a rule."""

    rule = SimpleNamespace(alphabet=tuple(alphabet), start=lambda: start, step=step, output=output)
    return DFA.from_machine(rule).minimize()


def even_pairs() -> Task:
    """Whether `ab` and `ba` together occur an even number of times: first and last are equal."""
    dfa = machine("ab", "", lambda s, a: (s or a)[0] + a, lambda s: not s or s[0] == s[-1])
    return Task(truth=dfa)


def parity() -> Task:
    """Whether the number of `b` is even."""
    return Task(truth=machine("ab", 0, lambda s, a: (s + (a == "b")) % 2, lambda s: s == 0))


def cycle_navigation(length: int = 5) -> Task:
    """Where on a cycle the moves 0 (stay), + and - lead."""
    move = {"0": 0, "+": 1, "-": -1}
    return Task(truth=machine("0+-", 0, lambda s, a: (s + move[a]) % length, lambda s: s))


def modular_arithmetic(modulus: int = 5) -> Task:
    """The value of an expression such as 3+2*4-1, products first; sums without brackets."""
    digits = "".join(map(str, range(modulus)))

    def step(state: Any, symbol: str) -> Any:
        if state == "wrong":
            return "wrong"
        total, product, operation = state  # the value is total + product
        if (operation is None) == (symbol in digits):
            return "wrong"
        if symbol not in digits:
            return total, product, symbol
        number = int(symbol)
        if operation == "*":
            return total, product * number % modulus, None
        sign = -1 if operation == "-" else 1
        return (total + product) % modulus, sign * number % modulus, None

    def output(state: Any) -> Label:
        return None if state == "wrong" or state[2] else (state[0] + state[1]) % modulus

    return Task(truth=machine(f"{digits}+-*", (0, 0, "+"), step, output))


def repeat_01() -> Task:
    """Whether a word is (01)^n."""
    dfa = DFA.from_table({"01": {"0": "1"}, "1": {"1": "01"}}, start="01", accept={"01"})
    return Task(
        truth=dfa,
        language=Language(name="repeat-01", alphabet=("0", "1"), contains=dfa.accepts, dfa=dfa),
    )


def dyck2(depth: int = 3) -> Task:
    """Matching () and [] nested at most three deep.

    Of the other words half match but are nested four or five deep, and half do not match; without
    the first nothing would tell that the depth is bounded.
    """
    language, deeper = (kl.languages.bounded_dyck2(most) for most in (depth, depth + 2))
    assert language.dfa is not None
    assert deeper.dfa is not None
    flat, too_deep = PathSampler(language.dfa), PathSampler(deeper.dfa - language.dfa)

    def sample(random: Any, n: int, label: bool, lengths: Sequence[int]) -> list[Word]:
        if label:
            return flat(random, n, True, lengths)
        return too_deep(random, n // 2, True, lengths) + flat(
            random, n - n // 2, False, lengths, near=0.5
        )

    return Task(truth=language.dfa, language=replace(language, sampler=sample))


def first() -> Task:
    """The first symbol of a word."""
    return Task(truth=machine("abcde", None, lambda s, a: s or a, lambda s: s))


def group(name: str, *, generators: bool = False, word_problem: bool = False) -> Task:
    """The product of group elements; with `word_problem` only whether it is the identity.

    Symbols are all elements, or two generators of the group.
    """
    moves = _group(name)
    identity = tuple(range(len(moves[0])))
    if not generators:
        moves = _closure(moves)
    names = {element: i for i, element in enumerate(_closure(moves))}
    dfa = machine(
        range(len(moves)),
        identity,
        lambda state, symbol: tuple(state[i] for i in moves[symbol]),
        lambda state: state == identity if word_problem else names[state],
    )
    return Task(truth=dfa)


def _group(name: str) -> list[tuple[int, ...]]:
    """Generators of a group, as permutations: Z2, Z3 and so on, S3, A5."""
    if name == "S3":
        return [(1, 0, 2), (1, 2, 0)]
    if name == "A5":
        return [(1, 2, 0, 3, 4), (1, 2, 3, 4, 0)]
    order = int(name[1:])
    return [tuple((i + 1) % order for i in range(order))]


def _closure(generators: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """All elements, the identity first."""
    found = dict.fromkeys([tuple(range(len(generators[0])))])
    for element in (queue := list(found)):
        for generator in generators:
            product = tuple(element[i] for i in generator)
            if product not in found:
                found[product] = None
                queue.append(product)
    return queue


def fit_and_read(task: Task, rows: Rows, tests: dict[str, Rows], *, seed: int) -> dict[str, Any]:
    """A default fit: accuracy of the network, the automaton it is read as, proof, and CPU time."""
    started = time.process_time()
    fitted = kl.SequenceClassifier(random_state=seed).fit(*rows)
    seconds = time.process_time() - started
    result: dict[str, Any] = {
        "fit_seconds": round(seconds, 1),
        "accuracy": {name: fitted.score(*test) for name, test in tests.items()},
        "log": list(fitted.fit_log_),
        "minimal_states": task.truth.num_states,
    }
    if not fitted.model.is_finite_state:
        return {**result, "exact": False, "certified": False, "states": None, "difference": None}
    reading = fitted.extract()
    difference = task.difference(reading.dfa)
    return {
        **result,
        "exact": difference is None,
        "certified": reading.certificate is not None,
        "states": reading.dfa.num_states,
        "difference": None if difference is None else list(difference)[:40],
        "read_seconds": round(time.process_time() - started - seconds, 1),
    }


ROWS, NEW_ROWS, LONGEST = 10_000, 1_000, 40
LENGTHS = {
    "lengths": [0, LONGEST],
    "tests": {"40 to 256": [NEW_ROWS, LONGEST, 256], "10,000": [20, 9_999, 10_000]},
}
NOISES = (
    ("none", 0.0),
    *(("labels", share) for share in (0.01, 0.05, 0.1)),
    *(("symbols", share) for share in (0.01, 0.05, 0.1)),
)
TASKS: dict[str, Callable[[], Task]] = {
    "even pairs": even_pairs,
    "parity": parity,
    "cycle navigation": cycle_navigation,
    "modular arithmetic": modular_arithmetic,
    "repeat 01": repeat_01,
    "Dyck-2, depth 3": dyck2,
    "first": first,
}
MORE_ROWS = {"Dyck-2, depth 3": 20_000}
"""Fewer words of Dyck-2 do not show for every stack of three that no fourth may follow."""
GROUPS: dict[str, Callable[[], Task]] = {
    **{f"Z{order}": lambda order=order: group(f"Z{order}") for order in (2, 3, 5, 7)},
    "S3": lambda: group("S3"),
    "A5, two generators": lambda: group("A5", generators=True),
    "A5, all elements": lambda: group("A5"),
    "S3, is it the identity": lambda: group("S3", word_problem=True),
    "A5, two generators, is it the identity": lambda: group(
        "A5", generators=True, word_problem=True
    ),
}


def lengths(seed: int) -> Iterator[tuple[dict[str, Any], int, Work]]:
    """One fit for each task, tested on longer words."""
    for name, make in TASKS.items():
        rows = MORE_ROWS.get(name, ROWS)
        yield {"task": name}, rows, partial(learn, make, rows, LENGTHS["tests"], seed)


def groups(seed: int) -> Iterator[tuple[dict[str, Any], int, Work]]:
    """One fit for each group."""
    tests = {"40 to 256": LENGTHS["tests"]["40 to 256"]}
    for name, make in GROUPS.items():
        yield {"part": "groups", "group": name}, ROWS, partial(learn, make, ROWS, tests, seed)


def learn(
    make: Callable[[], Task], rows: int, tests: dict[str, list[int]], seed: int
) -> dict[str, Any]:
    """One fit of words up to length 40, its tests and its reading."""
    task = make()
    known = task.sample(rows, range(LONGEST + 1), [seed, 0])
    new = {
        name: task.sample(number, range(least, most + 1), [seed, i])
        for i, (name, (number, least, most)) in enumerate(tests.items(), start=1)
    }
    return fit_and_read(task, known, new, seed=seed)


def random(seed: int) -> Iterator[tuple[dict[str, Any], int, Work]]:
    """One fit for each size and kind of noise."""
    for states in (10, 20, 30):
        for noise, share in NOISES:
            key = {"states": states, "noise": noise, "share": share}
            yield {"part": "random", **key}, ROWS, partial(learn_noisy, **key, seed=seed)


def learn_noisy(states: int, noise: str, share: float, seed: int) -> dict[str, Any]:
    """One fit of a random DFA's words with wrong labels or symbols."""
    truth = random_dfa(states, 2, seed)
    words, labels = labelled(truth, ROWS, seed)
    if noise == "labels":
        labels = flipped(labels, share, seed)
    if noise == "symbols":
        words = replaced(words, share, len(truth.alphabet), seed)
    new = labelled(truth, NEW_ROWS, seed + 10_000)
    return fit_and_read(Task(truth=truth), (words, labels), {"new": new}, seed=seed)


def replaced(words: list[Word], share: float, width: int, seed: int) -> list[Word]:
    """The words, a share of their symbols replaced by another one."""
    generator = np.random.default_rng([seed, 78])
    return [
        tuple(
            int(symbol + generator.integers(1, width)) % width
            if generator.random() < share
            else symbol
            for symbol in word
        )
        for word in words
    ]


PARTS = {"length": lengths, "groups": groups, "random": random}

if __name__ == "__main__":
    main()
