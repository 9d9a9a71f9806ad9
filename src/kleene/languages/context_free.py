"""Languages that need memory: parentheses, palindromes, and blocks of equal size."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import count, product
from string import ascii_lowercase
from typing import TypeAlias

import numpy as np

from kleene.automata.dfa import DFA
from kleene.errors import SettingError
from kleene.languages.base import Language, of_strings
from kleene.languages.parentheses import ParenthesesSampler, nesting_depth
from kleene.languages.sampling import collect, repeated
from kleene.machine import Word

Random: TypeAlias = np.random.Generator


def balanced_parentheses(
    letters: str = ascii_lowercase, *, name: str = "balanced-parentheses"
) -> Language:
    """Words whose parentheses match, with letters anywhere between them (Dyck-1 with noise).

    `sample(..., depth=range(1, 6))` bounds the nesting depth of the members, and of the members
    that the non-members are edited from. Half of the non-members have equally many "(" and ")";
    without any of these a network need only count, not order.
    """
    return of_strings(
        name,
        f"{letters}()",
        lambda word: nesting_depth(word) is not None,
        sampler=ParenthesesSampler(letters),
    )


def palindromes(letters: str = ascii_lowercase) -> Language:
    """Words w w^-1: of even length, and the same from both ends.

    Non-members have even length too: half of them have one symbol of a member changed, a quarter
    two or three, and a quarter are random.
    """

    def contains(word: str) -> bool:
        return len(word) % 2 == 0 and word == word[::-1]

    def draw(random: Random, label: bool, length: int) -> str:
        half = random.integers(len(letters), size=length // 2)
        word = np.concatenate([half, half[::-1]])
        changes = 0 if label else random.choice([1, 1, 1, 1, 2, 3, length, length])
        places = random.permutation(length)[:changes]
        word[places] += random.integers(1, max(len(letters), 2), size=len(places))
        return "".join(letters[i % len(letters)] for i in word)

    sampler = DrawSampler(contains, draw, lambda label, length: length % 2 == 0)
    return of_strings("palindromes", letters, contains, sampler=sampler)


def blocks(letters: str) -> Language:
    """Words of one block for each letter, all of equal size: `blocks("ab")` is a^n b^n, n >= 0.

    A third of the non-members are blocks of other sizes, a third members with one to three
    symbols moved or replaced, a third random.
    """

    def contains(word: str) -> bool:
        return word == "".join(letter * (len(word) // len(letters)) for letter in letters)

    def draw(random: Random, label: bool, length: int) -> str:
        member = [letters[i * len(letters) // length] for i in range(length)]
        if label:
            return "".join(member)
        kind = random.integers(3)
        if kind == 0:
            return "".join(sorted(random.choice(list(letters), length), key=letters.index))
        if kind == 1:
            return "".join(random.choice(list(letters), length))
        for _ in range(random.integers(1, 4) if length else 0):
            moved = member.pop(random.integers(length))
            new = moved if random.random() < 0.5 else str(random.choice(list(letters)))
            member.insert(random.integers(length), new)
        return "".join(member)

    sampler = DrawSampler(contains, draw, lambda label, n: not label or n % len(letters) == 0)
    name = "".join(f"{letter}n" for letter in letters)
    return of_strings(name, letters, contains, sampler=sampler)


class DrawSampler:
    """Draws words of the lengths that `fits`, uniformly over these, until `contains` agrees."""

    def __init__(
        self,
        contains: Callable[[str], bool],
        draw: Callable[[Random, bool, int], str],
        fits: Callable[[bool, int], bool],
    ) -> None:
        self.contains, self.draw, self.fits = contains, draw, fits

    def __call__(
        self, random: Random, n: int, label: bool, lengths: Sequence[int],
        avoid: Collection[Word] = (),
    ) -> list[Word]:  # fmt: skip
        """`n` words of one class, none of them in `avoid`."""
        fitting = [length for length in lengths if self.fits(label, length)]
        drawn = (self.draw(random, label, int(random.choice(fitting))) for _ in count())

        def wanted(word: str) -> bool:
            return self.contains(word) == label and word not in avoid

        words: list[str] = collect(n, drawn, wanted) if fitting else []
        return repeated(words, n)


def bounded_dyck2(depth: int = 3) -> Language:
    """Matching "()" and "[]" nested up to a depth: a regular language, whose states are stacks."""
    if not 1 <= depth <= 12:
        raise SettingError(f"depth must be 1 to 12 (states double with each), got {depth}")
    closing = {"(": ")", "[": "]"}

    def moves(stack: str) -> Iterator[tuple[str, str]]:
        if len(stack) < depth:
            yield from ((opening, stack + opening) for opening in closing)
        if stack:
            yield closing[stack[-1]], stack[:-1]

    stacks = ["".join(stack) for size in range(depth + 1) for stack in product("([", repeat=size)]
    table = {stack: dict(moves(stack)) for stack in stacks}

    def contains(word: str) -> bool:
        for _ in range(depth):
            word = re.sub(r"\(\)|\[\]", "", word)  # the innermost pairs go, level by level
        return not word

    dfa = DFA.from_table(table, start="", accept={""}, alphabet="()[]")
    return of_strings(f"dyck2-depth{depth}", "()[]", contains, dfa=dfa)
