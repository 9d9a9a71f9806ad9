"""Words with matching parentheses of a given depth, and words that nearly match."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import cache
from itertools import accumulate

import numpy as np

from kleene.errors import SettingError
from kleene.languages.paths import Paths
from kleene.languages.sampling import collect, repeated
from kleene.machine import Word

CHUNK = 256  # members drawn at a time
FLIP = {"(": ")", ")": "("}
STEP = {"(": 1, ")": -1}


def nesting_depth(word: str) -> int | None:
    """How deep the parentheses of a word are nested; None when they do not match.

    >>> nesting_depth("a(b(c))"), nesting_depth(")(")
    (2, None)
    """
    steps = (STEP.get(symbol, 0) for symbol in word)
    heights = list(accumulate(steps, initial=0))
    return max(heights) if heights[-1] == 0 and min(heights) == 0 else None


class ParenthesesSampler:
    """Draws members by depth and length, and non-members by editing members.

    A member has a depth drawn from `depth`, then a length drawn from those that allow it, and is
    uniform among the patterns of "(", ")" and letter with just this depth and length. A
    non-member is a member after one to three edits of its parentheses: delete, insert, flip or
    swap. Half of them keep equally many of either kind, by swaps alone; all others have unequally
    many.
    """

    def __init__(self, letters: str) -> None:
        self.letters = letters
        self._code_points = np.array([ord(symbol) for symbol in f"(){letters or '-'}"], dtype="<u4")

    def __call__(
        self,
        random: np.random.Generator,
        n: int,
        label: bool,
        lengths: Sequence[int],
        depth: Sequence[int] = range(1, 6),
        avoid: Collection[Word] = (),
    ) -> list[Word]:
        """`n` words of one class, none of them in `avoid`."""
        allowed = set(lengths)
        members = self._members(random, lengths, depth)
        if label:
            return repeated(collect(n, members, lambda word: word not in avoid), n)

        def wanted(word: str, equal: bool) -> bool:
            return (
                len(word) in allowed
                and (word.count("(") == word.count(")")) == equal
                and nesting_depth(word) is None
                and word not in avoid
            )

        swapped = (_edited(random, list(word), swaps=True) for word in members)
        edited = (_edited(random, list(word), swaps=False) for word in members)
        equal = collect(round(n / 2), swapped, lambda word: wanted(word, True))
        unequal = collect(n - len(equal), edited, lambda word: wanted(word, False))
        return repeated(equal + unequal, n)

    def _members(
        self, random: np.random.Generator, lengths: Sequence[int], depth: Sequence[int]
    ) -> Iterator[str]:
        paths = {d: _paths(d, bool(self.letters)) for d in sorted(set(depth)) if d >= 0}
        fitting = {d: [n for n in lengths if paths[d].count(n)] for d in paths}
        depths = [d for d in paths if fitting[d]]
        if not depths:
            problem = f"no word of depth {depth!r:.40} has a length in {lengths!r:.60}"
            raise SettingError(f"{problem}; depth d needs a length of at least 2d")
        while True:
            words = [""] * CHUNK
            chosen = random.choice(depths, CHUNK)
            for d in np.unique(chosen):
                places = np.flatnonzero(chosen == d)
                patterns = paths[d].draw(random, random.choice(fitting[d], len(places)))
                for place, pattern in zip(places, patterns, strict=True):
                    words[place] = self._spell(random, pattern)
            yield from words

    def _spell(self, random: np.random.Generator, pattern: np.ndarray) -> str:
        letters = random.integers(2, len(self._code_points), size=len(pattern))
        numbers = np.where(pattern < 2, pattern, letters)
        return self._code_points[numbers].tobytes().decode("utf-32-le")


@cache
def _paths(depth: int, letters: bool) -> Paths:
    """All patterns whose deepest nesting is just `depth`, over the symbols "(", ")" and letter.

    States 0 to depth - 1 are nesting levels before the full depth was reached, the following
    depth + 1 states levels after it, the last state is the sink.
    """
    reached, sink = depth, 2 * depth + 1
    levels = np.arange(2 * depth + 2)
    up, down = levels + 1, levels - 1
    up[reached - 1 if depth else reached] = reached + depth if depth else sink
    up[[reached + depth, sink]] = sink
    down[[0, reached, sink]] = sink
    transitions = np.stack([up, down, levels][: 3 if letters else 2], axis=1)
    return Paths(transitions, levels == reached, 0)


def _edited(random: np.random.Generator, word: list[str], *, swaps: bool) -> str:
    """A word after one to three edits, or swaps alone."""
    for _ in range(random.integers(1, 4)):
        if swaps:
            _swap(random, word)
            continue
        parentheses = [i for i, symbol in enumerate(word) if symbol in FLIP]
        kind = random.choice(["delete", "insert", "flip", "swap"]) if parentheses else "insert"
        if kind == "insert":
            word.insert(random.integers(len(word) + 1), "()"[random.integers(2)])
        elif kind == "delete":
            del word[random.choice(parentheses)]
        elif kind == "flip":
            place = random.choice(parentheses)
            word[place] = FLIP[word[place]]
        else:
            _swap(random, word)
    return "".join(word)


def _swap(random: np.random.Generator, word: list[str]) -> None:
    """Exchange a "(" and a ")"; in a word without any, turn two letters into ")" and "("."""
    opening = [i for i, symbol in enumerate(word) if symbol == "("]
    closing = [i for i, symbol in enumerate(word) if symbol == ")"]
    if opening and closing:
        word[random.choice(opening)], word[random.choice(closing)] = ")", "("
    elif len(word) > 1:
        first, second = sorted(random.permutation(len(word))[:2].tolist())
        word[first], word[second] = ")", "("
