"""Words of a regular language and of its complement, rare ones included."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import count, cycle, islice
from typing import TypeVar

import numpy as np

from kleene.automata.dfa import DFA
from kleene.automata.symbols import spell
from kleene.languages.paths import Paths
from kleene.machine import Word

Drawn = TypeVar("Drawn", bound=Hashable)

PATIENCE = 1_000  # draws in a row without a new word, after which there may be no more


class PathSampler:
    """Draws from a language and its complement by counting paths in the DFA.

    Lengths get equal shares as far as they have words; within a length words are uniform and
    distinct, and all of them come where there are few. A share `near` of the non-members are
    members with one to three edits: the negatives that are hard to tell.
    """

    def __init__(self, dfa: DFA) -> None:
        self.dfa = dfa
        outputs = np.array([bool(output) for output in dfa.outputs])
        self._paths = {
            label: Paths(dfa.transitions.astype(np.int64), outputs == label, dfa.initial)
            for label in (False, True)
        }

    def __call__(
        self,
        random: np.random.Generator,
        n: int,
        label: bool,
        lengths: Sequence[int],
        near: float = 0.25,
    ) -> list[Word]:
        """`n` words of one class; none when the class has no word of these lengths."""
        paths = self._paths[label]
        counts = {length: paths.count(length) for length in lengths}
        shares = _shares(random, n, counts)
        words = [w for length in shares for w in _distinct(random, paths, length, shares[length])]
        if not label:
            rich = [i for i, word in enumerate(words) if shares[len(word)] < counts[len(word)]]
            wanted = min(round(near * n), len(rich))
            places = random.permutation(rich)[:wanted].tolist()
            kept = set(words).difference(words[place] for place in places)
            edited = self._near(random, wanted, set(lengths), kept)
            for place, word in zip(places, edited, strict=False):
                words[place] = word
        symbols = self.dfa.alphabet
        return repeated([spell([symbols[i] for i in word], symbols) for word in words], n)

    def _near(
        self, random: np.random.Generator, n: int, lengths: set[int], taken: set[tuple[int, ...]]
    ) -> list[tuple[int, ...]]:
        """Up to `n` new non-members that are a few edits away from a member."""
        members = self._paths[True]
        sources = [length for length in sorted(lengths) if members.count(length)]
        if not sources or not n:
            return []
        drawn = (
            _edit(random, word.tolist(), len(self.dfa.alphabet))
            for _ in count()
            for word in members.draw(random, random.choice(sources, n))
        )

        def wanted(word: tuple[int, ...]) -> bool:
            state = self.dfa.initial
            for column in word:
                state = self.dfa.rows[state][column]
            return len(word) in lengths and word not in taken and not self.dfa.outputs[state]

        return collect(n, drawn, wanted)


def collect(n: int, drawn: Iterable[Drawn], wanted: Callable[[Drawn], bool]) -> list[Drawn]:
    """Up to `n` different wanted words from an endless stream, fewer when it brings no new ones."""
    found: dict[Drawn, None] = {}  # a set that keeps the order of drawing
    idle, stream = 0, iter(drawn)
    while len(found) < n and idle < PATIENCE:
        word = next(stream)
        idle += 1
        if word not in found and wanted(word):
            found[word], idle = None, 0
    return list(found)


def repeated(words: Sequence[Word], n: int) -> list[Word]:
    """`n` words, those given over and over; none when there are none."""
    return list(islice(cycle(words), n if words else 0))


def _shares(random: np.random.Generator, n: int, counts: dict[int, float]) -> dict[int, int]:
    """How many words of each length: equal shares, but never more than there are words."""
    shares = dict.fromkeys(counts, 0)
    open_lengths = [length for length, count in counts.items() if count > 0]
    while n and open_lengths:
        share = max(n // len(open_lengths), 1)
        for length in random.permutation(open_lengths)[:n].tolist():
            more = int(min(share, counts[length] - shares[length]))
            shares[length] += more
            n -= more
        open_lengths = [length for length in open_lengths if shares[length] < counts[length]]
    return shares


def _distinct(
    random: np.random.Generator, paths: Paths, length: int, n: int
) -> list[tuple[int, ...]]:
    """`n` different words, every set of `n` words being equally likely."""
    if paths.count(length) <= 4 * n:
        words = paths.all(length)
        return [tuple(word) for word in random.permutation(words)[:n].tolist()]
    seen: dict[tuple[int, ...], None] = {}  # a set that keeps the order of drawing
    while len(seen) < n:
        drawn = paths.draw(random, np.full(n - len(seen), length))
        seen.update((tuple(word.tolist()), None) for word in drawn)
    return list(seen)


def _edit(random: np.random.Generator, word: list[int], symbols: int) -> tuple[int, ...]:
    """A word after one to three edits: replace, insert, delete, or swap neighbours."""
    for _ in range(random.integers(1, 4)):
        kind, place = random.integers(4), int(random.integers(len(word) + 1))
        if kind == 0 or not word:
            word.insert(place, int(random.integers(symbols)))
            continue
        place = min(place, len(word) - 1)
        if kind == 1:
            del word[place]
        elif kind == 2:
            word[place] = int(random.integers(symbols))
        else:
            word[place - 1], word[place] = word[place], word[place - 1]
    return tuple(word)
