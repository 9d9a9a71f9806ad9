"""Languages of the benchmark, in four families; their members are known exactly.

tomita    Tomita's seven languages
random    random automata of 5 to 50 states over two symbols
classes   one language of six classes of MLRegTest, over four symbols
counting  three languages that no finite automaton has
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, partial

import numpy as np
from induction import random_dfa
from own_languages import language as drawn_language

import kleene as kl
from kleene.automata import DFA
from kleene.languages.base import Language
from kleene.machine import Word

LENGTHS, LONG = range(21), range(200, 201)
TRAINING, TESTED, TESTED_LONG = 2_000, 1_000, 300
SIZES = (5, 8, 12, 20, 30, 50)
CLASSES = (("SL", 4), ("SP", 4), ("LT", 2), ("PT", 4), ("TSL", 2), ("Zp", 3))
COUNTING = ("dyck1", "dyck1-noise", "anbn")
Labelled = tuple[list[Word], list[bool]]


@dataclass(frozen=True, kw_only=True)
class Task:
    """A language with words to train on, and words to test on."""

    name: str
    family: str
    language: Language

    def training(self, seed: int) -> Labelled:
        """Half members, half others, of lengths 0 to 20."""
        return self.language.sample(TRAINING, LENGTHS, seed=[seed, 0])

    def given(self, seed: int) -> list[Word]:
        """Words that an extractor gets: like those of the training, without labels."""
        return self.language.sample(TESTED, LENGTHS, seed=[seed, 1])[0]

    def tests(self, seed: int) -> dict[str, list[Word]]:
        """Words like those of the training, uniformly random ones, and ten times longer ones."""
        random = np.random.default_rng([seed, 2])
        symbols = [str(symbol) for symbol in self.language.alphabet]
        lengths = random.choice(list(LENGTHS), TESTED)
        return {
            "like training": self.language.sample(TESTED, LENGTHS, seed=[seed, 3])[0],
            "random": ["".join(random.choice(symbols, length)) for length in lengths],
            "long": self.language.sample(TESTED_LONG, LONG, seed=[seed, 4])[0],
        }


def _regular(name: str, dfa: DFA) -> Language:
    dfa = replace(dfa, alphabet=tuple("abcd"[: len(dfa.alphabet)]))
    return Language(name=name, alphabet=dfa.alphabet, contains=dfa.accepts, dfa=dfa)


def _of_class(kind: str, k: int) -> Language:
    dfa = drawn_language(kind, k, 1, 4, seed=0)
    assert dfa is not None
    return _regular(f"{kind}.{k}", dfa)


@cache
def tasks() -> dict[str, Task]:
    """All tasks by name."""
    made: dict[str, list[tuple[str, Callable[[], Language]]]] = {
        "tomita": [(f"tomita{n}", partial(kl.languages.tomita, n)) for n in range(1, 8)],
        "random": [
            (f"random{n}", lambda n=n: _regular(f"random{n}", random_dfa(n, 2, n))) for n in SIZES
        ],
        "classes": [(f"{kind}.{k}", partial(_of_class, kind, k)) for kind, k in CLASSES],
        "counting": [(name, partial(kl.languages.by_name, name)) for name in COUNTING],
    }
    return {
        name: Task(name=name, family=family, language=make())
        for family, listed in made.items()
        for name, make in listed
    }
