"""Transition counts of a whole corpus (Algorithm 1), read a piece at a time.

Words come in blocks. A block is run, its steps are counted, and it is forgotten but for a few words
by which the automaton is checked later. Several processes share the blocks and add up their
counts; since the blocks are the same however many processes there are, so are the counts, exactly.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, TypeVar

import numpy as np

from kleene.arrays import Ints
from kleene.data.alphabet import Ids
from kleene.distributed import SINGLE_PROCESS, ProcessGroup
from kleene.errors import ExtractionError
from kleene.extraction.table import MAX_PROBABILITIES
from kleene.extraction.transitions.counts import TransitionCounts, normalised
from kleene.extraction.transitions.partition import Argmax, StatePaths
from kleene.extraction.transitions.prefixes import UNLABELLED, Prefixes, read_prefixes
from kleene.extraction.words import encode_words
from kleene.model import Model

T = TypeVar("T")

BLOCK_WORDS, BLOCK_SYMBOLS = 1000, 200_000
_NO_WORD = np.zeros(0, np.int64)


@dataclass(kw_only=True)
class Counts:
    """Occurrences of each number, merged in batches so that memory follows the distinct ones."""

    numbers: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    counts: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    _new: list[tuple[Ints, Ints]] = field(default_factory=list)
    _size: int = 0

    def add(self, numbers: Ints, counts: Ints | None = None) -> None:
        """Count some numbers, once each or as often as given."""
        if counts is None:
            numbers, counts = np.unique(numbers, return_counts=True)
        self._new.append((numbers, counts))
        self._size += len(numbers)
        if self._size > max(len(self.numbers), 2**18):  # so that all merging is one sort in the end
            self.merge()

    def merge(self) -> Counts:
        """Merge the pending batches into one sorted array and return self."""
        numbers = np.concatenate([self.numbers, *(new for new, _ in self._new)])
        counts = np.concatenate([self.counts, *(counts for _, counts in self._new)])
        self.numbers, which = np.unique(numbers, return_inverse=True)
        self.counts = np.zeros(len(self.numbers), dtype=np.int64)
        np.add.at(self.counts, which, counts)
        self._new, self._size = [], 0
        return self

    def pooled(self, process_group: ProcessGroup) -> Counts:
        """The counts of all processes."""
        self.merge()
        if process_group.world_size == 1:
            return self
        rows = process_group.all_gather(np.stack([self.numbers, self.counts], axis=1))
        total = Counts()
        total.add(rows[:, 0], rows[:, 1])
        return total.merge()


class Corpus:
    """What is kept of the words that went by."""

    def __init__(self, model: Model, *, seed: int, steps: int) -> None:
        self.model, self.seed, self.most_steps = model, seed, steps
        self.partition = Argmax(read_prefixes(model, [_NO_WORD]).sizes)
        self.states = int(np.prod(self.partition.sizes, dtype=object))
        self.width, self.classes = len(model.alphabet.symbols), len(model.classes)
        if self.states * self.states * max(self.width, self.classes) >= 2**62:
            raise ExtractionError(
                f"{self.states:,} combinations of the layers' states are too many to count; "
                "read a network of fewer layers"
            )
        self.steps, self.votes = Counts(), Counts()
        self.first: dict[int, int] = {}
        """First occurrence of each state: (word, time) as one number."""
        self.given = self.words = self.symbols = 0
        self.sample: list[tuple[float, int, Ids]] = []
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
        found, at = np.unique(keys, return_index=True)
        places = (before + prefixes.word[at]) * 2**24 + prefixes.time[at]
        for key, place in zip(found.tolist(), places.tolist(), strict=True):
            self.first[key] = min(place, self.first.get(key, place))
        self.words += len(words)
        self.symbols += int(sum(map(len, words)))
        chances = np.random.default_rng([self.seed, number]).random(len(words))
        for i, (chance, word) in enumerate(zip(chances.tolist(), words, strict=True)):
            self._keep(-chance, before + i, word)

    def _keep(self, chance: float, index: int, word: Ids) -> None:
        """Keep a word while it is among the likeliest that fit into the sample."""
        word = word.copy()  # a part of its block, which is not to be kept
        heapq.heappush(self.sample, (chance, -index, word))
        self.sampled += len(word) + 1
        while self.sampled > self.most_steps and len(self.sample) > 1:
            self.sampled -= len(heapq.heappop(self.sample)[2]) + 1

    def pooled(self, process_group: ProcessGroup) -> Corpus:
        """What all processes kept, together."""
        if process_group.world_size == 1:
            self.steps.merge()
            self.votes.merge()
            return self
        total = Corpus(self.model, seed=self.seed, steps=self.most_steps)
        total.steps = self.steps.pooled(process_group)
        total.votes = self.votes.pooled(process_group)
        first = np.array([*self.first.items()]).reshape(-1, 2)
        for key, place in process_group.all_gather(first).tolist():
            total.first[key] = min(place, total.first.get(key, place))
        sums = process_group.all_reduce_array(np.array([self.words, self.symbols]))
        total.words, total.symbols = sums.tolist()
        total.given = self.given
        rows = [(-index, len(word)) for _, index, word in self.sample]
        about = process_group.all_gather(np.array(rows, dtype=np.int64).reshape(-1, 2))
        chances = process_group.all_gather(np.array([chance for chance, _, _ in self.sample]))
        flat = process_group.all_gather(np.concatenate([_NO_WORD, *(w for _, _, w in self.sample)]))
        ends = np.cumsum(about[:, 1])
        for chance, (index, length), end in zip(chances, about.tolist(), ends, strict=True):
            total._keep(float(chance), index, flat[end - length : end])
        return total

    @property
    def note(self) -> str:
        """What was looked at, in words."""
        kept = len(self.sample)
        if kept == self.words:
            return f"looked at all {self.given:,} words"
        return f"counted {self.given:,} words, {self.symbols:,} steps; checked on {kept:,}"

    def sampled_words(self) -> list[Ids]:
        """The words kept, in the order in which they came."""
        return [word for _, _, word in sorted(self.sample, key=lambda kept: -kept[1])]

    def counts(self, prefixes: Prefixes) -> TransitionCounts:
        """The counts as transition counts, with the state paths of a sample of the words."""
        own = self.partition.read(prefixes.vectors)
        late = dict.fromkeys(own.tolist())  # states that rounding puts into this sample only
        keys = np.array([*sorted(self.first, key=self.first.__getitem__)], dtype=np.int64)
        keys = np.concatenate([keys, [key for key in late if key not in self.first]])
        keys = keys.astype(np.int64)
        order = np.argsort(keys)

        def state(found: Ints) -> Ints:
            return order[np.searchsorted(keys, found, sorter=order)]

        where, after = np.divmod(self.steps.numbers, self.states)
        before, column = np.divmod(where, self.width)
        pairs, which = np.unique(state(before) * self.width + column, return_inverse=True)
        after, counts = state(after), self.steps.counts
        best = np.lexsort((after, -counts, which))  # of each pair the most frequent, then the first
        shares = None
        if len(keys) ** 2 * self.width <= MAX_PROBABILITIES:
            mass = np.zeros((len(pairs), len(keys)))
            mass[which, after] = counts
            shares = normalised(mass)
        votes = np.zeros((len(keys), self.classes), dtype=np.int64)
        ended, label = np.divmod(self.votes.numbers, self.classes)
        votes[state(ended), label] = self.votes.counts
        return TransitionCounts(
            pairs=np.stack(np.divmod(pairs, self.width), axis=1),
            best=after[best[np.searchsorted(which[best], np.arange(len(pairs)))]],
            shares=shares,
            votes=votes,
            paths=StatePaths(
                prefixes=prefixes, partition=self.partition, keys=keys, states=state(own)
            ),
            words=self.words,
        )


def count_corpus(
    model: Model,
    words: Iterable[Any],
    *,
    seed: int,
    steps: int,
    process_group: ProcessGroup = SINGLE_PROCESS,
) -> Corpus:
    """Go through all words once; each is run by one of the processes."""
    kept = Corpus(model, seed=seed, steps=steps)
    before = 0
    with process_group.raise_together():
        for number, block in enumerate(blocks(chain([()], words))):
            if number % process_group.world_size == process_group.rank:
                encoded = encode_words(model, block)
                first = encoded[:1] if not number else []  # the empty word, which all begin with
                if some := [*first, *(word for word in encoded if len(word))]:
                    kept.add(some, number, before)
            before += len(block)
    kept.given = before - 1
    return kept.pooled(process_group)


def blocks(words: Iterable[T], size: Callable[[T], int] = len) -> Iterator[list[T]]:  # type: ignore[assignment]
    """Words in blocks of a bounded size, which depends on nothing but the words."""
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
