"""From the vectors of a network to states: which prefixes share a state."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np

from kleene.arrays import Floats, Ints
from kleene.extraction.transitions.prefixes import Prefixes


@dataclass(frozen=True)
class Argmax:
    """The most probable centroid of every layer, as in the paper; names are `3`, or `3/1`."""

    sizes: tuple[int, ...]

    def read(self, vectors: Floats) -> Ints:
        """The centroids of the layers as digits of one number."""
        keys = np.zeros(len(vectors), dtype=np.int64)
        for size, part in zip(self.sizes, self._layers(vectors), strict=True):
            keys = keys * size + part.argmax(axis=1)
        return keys

    def name(self, key: int) -> str:
        """The centroids, the lowest layer first."""
        return "/".join(map(str, self.centroids(key)))

    def centroids(self, key: int) -> tuple[int, ...]:
        """The centroid of every layer."""
        digits = []
        for size in reversed(self.sizes):
            key, digit = divmod(key, size)
            digits.append(digit)
        return tuple(reversed(digits))

    def probabilities(self, vectors: Floats, keys: Ints) -> Floats:
        """The probability of each state in `keys`: the product over the layers, (n, key)."""
        chosen = np.array([self.centroids(int(key)) for key in keys]).reshape(len(keys), -1)
        parts = [part[:, chosen[:, i]] for i, part in enumerate(self._layers(vectors))]
        return np.prod(parts, axis=0, dtype=np.float32)  # type: ignore[no-any-return]

    def largest(self, vectors: Floats) -> Floats:
        """The probability of the most probable state: max(alpha), (n,)."""
        parts = [part.max(axis=1) for part in self._layers(vectors)]
        return np.prod(parts, axis=0, dtype=np.float32)  # type: ignore[no-any-return]

    def _layers(self, vectors: Floats) -> list[Floats]:
        return np.split(vectors, np.cumsum(self.sizes)[:-1], axis=1)


@dataclass(frozen=True)
class Nearest:
    """The nearest of some centres, as k-means leaves them."""

    centres: Floats

    def read(self, vectors: Floats) -> Ints:
        """The index of the nearest centre; |v|^2 is the same for all and omitted."""
        lengths = (self.centres**2).sum(axis=1) / 2
        nearest: Ints = (vectors @ self.centres.T - lengths).argmax(axis=1)
        return nearest

    def name(self, key: int) -> str:
        """The number of the centre."""
        return str(key)


Partition: TypeAlias = Argmax | Nearest


@dataclass(frozen=True, kw_only=True, eq=False)
class StatePaths:
    """The state of every prefix under a partition: a path from state to state for each word."""

    prefixes: Prefixes
    partition: Partition
    keys: Ints  # (state,) the partition's keys; state 0 is the start
    states: Ints  # (prefix,)

    @property
    def num_states(self) -> int:
        """How many states the words pass through."""
        return len(self.keys)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the states."""
        return tuple(self.partition.name(int(key)) for key in self.keys)


def follow(prefixes: Prefixes, partition: Partition, more: Ints | None = None) -> StatePaths:
    """The states along every word; `more` are keys of states that only other words reach."""
    found = partition.read(prefixes.vectors)
    keys = np.unique(found if more is None else np.concatenate([found, more]))
    keys = np.concatenate([found[:1], keys[keys != found[0]]])
    return StatePaths(
        prefixes=prefixes, partition=partition, keys=keys, states=state_numbers(keys, found)
    )


def state_numbers(keys: Ints, found: Ints) -> Ints:
    """The position of each found key among the keys."""
    order = np.argsort(keys)
    return order[np.searchsorted(keys, found, sorter=order)]
