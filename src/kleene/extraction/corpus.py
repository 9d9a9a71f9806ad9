"""Transition counts of a whole corpus (Algorithm 1), read one block of words at a time.

Of each block only its counts are kept, and a few words for later checks.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, TypeVar

import numpy as np

from kleene.arrays import Ints
from kleene.data.alphabet import Ids
from kleene.errors import ExtractionError
from kleene.extraction.counts import TransitionCounts, normalised
from kleene.extraction.prefixes import (
    UNLABELLED,
    Argmax,
    Prefixes,
    follow,
    read_prefixes,
    state_numbers,
)
from kleene.extraction.table import MAX_PROBABILITIES
from kleene.extraction.words import encode_words
from kleene.model import Model

T = TypeVar("T")

BLOCK_WORDS, BLOCK_SYMBOLS = 1000, 200_000
MIN_MERGE = 2**18  # rows
_NO_WORD = np.zeros(0, np.int64)


class Tally:
    """Occurrences of each number, merged now and then, so memory follows the distinct numbers."""

    def __init__(self) -> None:
        self.numbers = self.counts = _NO_WORD
        self._rows: list[Ints] = []

    def add(self, numbers: Ints) -> None:
        """Count some numbers."""
        self._rows.append(np.stack(np.unique(numbers, return_counts=True), axis=1))
        if sum(map(len, self._rows)) > max(len(self.numbers), MIN_MERGE):
            self.merge()

    def merge(self) -> None:
        """Add up what is pending."""
        rows = np.concatenate([np.stack([self.numbers, self.counts], axis=1), *self._rows])
        self.numbers, which = np.unique(rows[:, 0], return_inverse=True)
        self.counts = np.zeros(len(self.numbers), dtype=np.int64)
        np.add.at(self.counts, which, rows[:, 1])
        self._rows = []


class CorpusCounts:
    """Transitions, labels of states, and a sample of the words of a corpus."""

    def __init__(self, model: Model, *, seed: int, steps: int) -> None:
        self.model, self.seed, self.max_steps = model, seed, steps
        self.partition = Argmax(read_prefixes(model, [_NO_WORD]).sizes)
        self.states = int(np.prod(self.partition.sizes, dtype=object))
        self.width, self.classes = len(model.alphabet.symbols), len(model.classes)
        if self.states * self.states * max(self.width, self.classes) >= 2**62:
            raise ExtractionError(
                f"{self.states:,} combinations of the layers' states are too many to count; "
                "use a network of fewer layers"
            )
        self.steps, self.votes = Tally(), Tally()
        self.given = self.words = self.symbols = 0
        self.sample: list[tuple[float, int, Ids]] = []
        """Words with their random priority and minus their position, as a heap."""
        self.sampled = 0

    def add(self, words: Sequence[Ids], number: int, before: int) -> None:
        """Run and count a block: its number, and how many words came before it."""
        prefixes = read_prefixes(self.model, words)
        keys = self.partition.read(prefixes.vectors)
        steps = prefixes.steps
        where = keys[steps - 1] * self.width + prefixes.column[steps]
        self.steps.add(where * self.states + keys[steps])
        labelled = prefixes.labels != UNLABELLED
        self.votes.add(keys[labelled] * self.classes + prefixes.labels[labelled])
        self.words += len(words)
        self.symbols += int(sum(map(len, words)))
        chances = np.random.default_rng([self.seed, number]).random(len(words))
        for i, (chance, word) in enumerate(zip(chances.tolist(), words, strict=True)):
            self._keep(-chance, before + i, word)

    def _keep(self, chance: float, index: int, word: Ids) -> None:
        """Keep a word while its priority is among the highest that fit into the sample."""
        heapq.heappush(self.sample, (chance, -index, word.copy()))  # no view of the whole block
        self.sampled += len(word) + 1
        while self.sampled > self.max_steps and len(self.sample) > 1:
            self.sampled -= len(heapq.heappop(self.sample)[2]) + 1

    @property
    def note(self) -> str:
        """How much of the corpus was counted and sampled, in words."""
        kept = len(self.sample)
        if kept == self.words:
            return f"looked at all {self.given:,} words"
        return f"counted {self.given:,} words, {self.symbols:,} steps; checked on {kept:,}"

    def sampled_words(self) -> list[Ids]:
        """The sampled words, in the order of the corpus."""
        return [word for _, _, word in sorted(self.sample, key=lambda kept: -kept[1])]

    def counts(self, prefixes: Prefixes) -> TransitionCounts:
        """The transition counts, with the state paths of a sample of the words."""
        where, after = np.divmod(self.steps.numbers, self.states)
        before, column = np.divmod(where, self.width)
        ended, label = np.divmod(self.votes.numbers, self.classes)
        paths = follow(prefixes, self.partition, np.concatenate([before, after, ended]))
        keys, counts = paths.keys, self.steps.counts
        before, after = state_numbers(keys, before), state_numbers(keys, after)
        pairs, which = np.unique(before * self.width + column, return_inverse=True)
        best = np.lexsort((after, -counts, which))  # of each pair the most frequent, then the first
        shares = None
        if len(keys) ** 2 * self.width <= MAX_PROBABILITIES:
            mass = np.zeros((len(pairs), len(keys)))
            mass[which, after] = counts
            shares = normalised(mass)
        votes = np.zeros((len(keys), self.classes), dtype=np.int64)
        votes[state_numbers(keys, ended), label] = self.votes.counts
        return TransitionCounts(
            pairs=np.stack(np.divmod(pairs, self.width), axis=1),
            best=after[best[np.searchsorted(which[best], np.arange(len(pairs)))]],
            shares=shares,
            votes=votes,
            paths=paths,
            words=self.words,
        )


def count_corpus(model: Model, words: Iterable[Any], *, seed: int, steps: int) -> CorpusCounts:
    """Go through all words once."""
    corpus = CorpusCounts(model, seed=seed, steps=steps)
    before = 0
    for number, block in enumerate(blocks(chain([()], words))):
        encoded = encode_words(model, block)
        first = encoded[:1] if not number else []  # the empty word
        if some := [*first, *(word for word in encoded if len(word))]:
            corpus.add(some, number, before)
        before += len(block)
    corpus.given = before - 1
    corpus.steps.merge()
    corpus.votes.merge()
    return corpus


def blocks(words: Iterable[T], size: Callable[[T], int] = len) -> Iterator[list[T]]:  # type: ignore[assignment]
    """Words in blocks of a bounded size, which depends only on the words."""
    block: list[T] = []
    symbols = 0
    for word in words:
        block.append(word)
        symbols += size(word)
        if len(block) >= BLOCK_WORDS or symbols >= BLOCK_SYMBOLS:
            yield block
            block, symbols = [], 0
    if block:
        yield block
