"""Kinds of steps: the weights of n-grams, clustered into as many kinds as a network has states."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kleene.arrays import Ints
from kleene.nn.config import NetworkConfig
from kleene.training.ngram_weights import NgramWeights, Texts

SAMPLE = 50_000
"""Steps whose weights are clustered."""
PRIOR, ROUNDS = 3, 3
"""Of the automaton's table: how many occurrences a word's own mean counts for, and rounds."""


@dataclass(frozen=True, kw_only=True)
class StepKinds:
    """The kind of every step of some texts, and the kind that says nothing."""

    of_steps: Ints
    neutral: int


def step_kinds(weights: NgramWeights, texts: Texts, config: NetworkConfig, seed: int) -> StepKinds:
    """The kind of every step; where the cell has no memory, that of a finite automaton."""
    pairs, which = np.unique(texts.pairs(config.num_symbols), return_inverse=True)
    vectors = weights.of_steps(pairs)
    if not config.cell_object.has_memory:
        return _automaton_kinds(vectors, pairs, which, texts, config, seed)
    clusters = Clusters.of(vectors[which], config.num_states, seed)
    return StepKinds(of_steps=clusters.nearest(vectors)[which], neutral=clusters.neutral)


@dataclass(frozen=True, kw_only=True)
class Clusters:
    """Centres of weights."""

    centres: NDArray[np.float64]

    @classmethod
    def of(cls, steps: NDArray[np.float32], count: int, seed: int) -> Clusters:
        """At most `count` clusters of a sample of the steps (k-means)."""
        from sklearn.cluster import KMeans

        random = np.random.default_rng(seed)
        sample = steps[random.integers(0, len(steps), SAMPLE)].astype(np.float64)
        distinct = len(np.unique(sample, axis=0))
        fitted = KMeans(min(count, distinct), n_init=3, random_state=seed % 2**31).fit(sample)
        order = np.argsort(fitted.cluster_centers_[:, 0], kind="stable")
        return cls(centres=fitted.cluster_centers_[order])

    @property
    def neutral(self) -> int:
        """The cluster nearest to no weight at all."""
        return int(np.linalg.norm(self.centres, axis=1).argmin())

    def nearest(self, vectors: NDArray[np.float32]) -> Ints:
        """The cluster of each vector."""
        centres = self.centres.astype(np.float32)
        found = [
            (np.square(centres).sum(1) - 2 * part @ centres.T).argmin(1)
            for part in np.array_split(vectors, -(-len(vectors) // SAMPLE))
        ]
        return np.concatenate(found)


def _automaton_kinds(
    vectors: NDArray[np.float32],
    pairs: Ints,
    which: Ints,
    texts: Texts,
    config: NetworkConfig,
    seed: int,
) -> StepKinds:
    """The states of an automaton whose next state follows from its state and the next word.

    It is the kind of the mean weight of the word after that state, which a few occurrences of the
    word's mean weight anywhere are added to. States and means are computed in turns.
    """
    symbols, columns = config.num_symbols, vectors.shape[1]
    words = pairs % symbols
    counts = np.bincount(which)
    often = np.bincount(words, counts, symbols)
    sums = np.stack([np.bincount(words, counts * v, symbols) for v in vectors.T], 1)
    means = (sums / np.maximum(often, 1)[:, None]).astype(np.float32)
    clusters = Clusters.of(means[texts.ids], config.num_states, seed)
    count, neutral = len(clusters.centres), clusters.neutral
    table = np.repeat(clusters.nearest(means)[None], count, 0)
    states = table[0][texts.ids]
    for _ in range(ROUNDS):
        before = np.roll(states, 1)
        before[texts.starts] = neutral
        key = before * symbols + texts.ids
        seen = np.bincount(key, minlength=count * symbols)
        rest = vectors[which] - means[texts.ids]
        total = [np.bincount(key, rest[:, c], count * symbols) for c in range(columns)]
        shift = np.stack(total, 1) / (seen + PRIOR)[:, None]
        after = np.tile(means, (count, 1)) + shift.astype(np.float32)
        table = clusters.nearest(after).reshape(count, symbols)
        states = _run(table, neutral, texts)
    return StepKinds(of_steps=states, neutral=neutral)


def _run(table: Ints, start: int, texts: Texts) -> Ints:
    """The state after every symbol of every text."""
    order = np.argsort(-texts.lengths, kind="stable")
    lengths, starts = texts.lengths[order], texts.starts[order]
    states, now = np.zeros(len(texts.ids), np.int64), np.full(len(order), start)
    for time in range(int(lengths[0]) if len(lengths) else 0):
        longer = int(np.searchsorted(-lengths, -time, side="left"))
        at = starts[:longer] + time
        now[:longer] = table[now[:longer], texts.ids[at]]
        states[at] = now[:longer]
    return states
