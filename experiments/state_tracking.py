"""Tasks whose label is the state of a finite machine: the truth as a DFA, and words with labels.

A state of the truth whose label is None ends no word of the task; words that pass a state from
which no label can be reached are no words of the task. An automaton is exact when it gives every
word of the task, of every length, the right label.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np

import kleene as kl
from kleene.automata import DFA
from kleene.languages.base import Language
from kleene.languages.paths import Paths
from kleene.languages.sampling import PathSampler, spell
from kleene.machine import Label, Word

Rows = tuple[list[Word], list[Label]]


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
        words = [spell(self.truth.alphabet, word) for word in paths.draw(random, drawn)]
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
                return spell(symbols, word)
            for column, symbol in enumerate(symbols):
                following = truth.step(state, symbol)
                if following not in alive:
                    continue
                if symbol in unknown:
                    return spell(symbols, (*word, column))
                pair = following, found.step(other, symbol)
                if pair not in seen:
                    seen.add(pair)
                    queue.append((*pair, (*word, column)))
        return None


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
    dfa = DFA.from_regex("(01)*", alphabet="01")
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
    flat, too_deep = PathSampler(language.dfa), PathSampler(deeper.dfa.minus(language.dfa))

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
