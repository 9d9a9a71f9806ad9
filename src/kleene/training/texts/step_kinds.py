"""Kinds of steps: the weights of n-grams, clustered into as many kinds as a network has states."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kleene.arrays import Ints
from kleene.nn.config import NetworkConfig
from kleene.training.centroids import cluster_centres
from kleene.training.texts.ngrams import NgramWeights, Texts

SAMPLE = 50_000
"""Steps whose weights are clustered."""
PRIOR, ROUNDS = 3, 3
"""For the automaton's table: how many occurrences a word's own mean counts for, and rounds."""


@dataclass(frozen=True, kw_only=True)
class StepKinds:
    """The kinds of the steps of some texts.

    With two classes, a weight between those of two neighbouring kinds belongs to both, so that the
    mean of the kinds' weights is the step's own.
    """

    of_steps: Ints
    of_next: NDArray[np.float32]
    """The share of each step that belongs to the kind after `of_steps`."""
    neutral: int
    """The kind that says nothing."""
    weights: NDArray[np.float32]  # (kind, column)


def step_kinds(weights: NgramWeights, texts: Texts, config: NetworkConfig, seed: int) -> StepKinds:
    """The kinds of every step; where the cell has no memory, those of a finite automaton."""
    steps = weights.of_steps(texts)
    if not config.cell_object.has_memory:
        return _automaton_kinds(steps, texts, config, seed)
    clusters = Clusters.of(steps, config.num_states, seed)
    centres = clusters.centres
    if centres.shape[1] > 1 or len(centres) < 2:
        kinds, shares = clusters.nearest(steps), np.zeros(len(steps), np.float32)
    else:
        line = centres[:, 0]
        kinds = np.clip(np.searchsorted(line, steps[:, 0]) - 1, 0, len(line) - 2)
        gaps = line[kinds + 1] - line[kinds]
        shares = np.clip((steps[:, 0] - line[kinds]) / gaps, 0, 1)
    return StepKinds(of_steps=kinds, of_next=shares, neutral=clusters.neutral, weights=centres)


@dataclass(frozen=True, kw_only=True)
class Clusters:
    """Centres of weights."""

    centres: NDArray[np.float32]

    @classmethod
    def of(cls, steps: NDArray[np.float32], count: int, seed: int) -> Clusters:
        """At most `count` clusters of a sample of the steps (k-means)."""
        random = np.random.default_rng(seed)
        sample = steps[random.integers(0, len(steps), SAMPLE)].astype(np.float64)
        centres = cluster_centres(sample, count, seed, restarts=3)
        return cls(centres=centres[np.argsort(centres[:, 0], kind="stable")])

    @property
    def neutral(self) -> int:
        """The cluster nearest to no weight at all."""
        return int(np.linalg.norm(self.centres, axis=1).argmin())

    def nearest(self, vectors: NDArray[np.float32]) -> Ints:
        """The cluster of each vector."""
        centres = self.centres
        found = [
            (np.square(centres).sum(1) - 2 * part @ centres.T).argmin(1)
            for part in np.array_split(vectors, -(-len(vectors) // SAMPLE))
        ]
        return np.concatenate(found)


def _automaton_kinds(
    steps: NDArray[np.float32], texts: Texts, config: NetworkConfig, seed: int
) -> StepKinds:
    """The states of an automaton whose next state follows from its state and the next word.

    It is the kind of the mean weight of the word after that state, which a few occurrences of the
    word's mean weight anywhere are added to. States and means are computed in turns.
    """
    symbols = config.num_symbols
    means = _means(steps, texts.ids, symbols)
    clusters = Clusters.of(means[texts.ids], config.num_states, seed)
    count, neutral = len(clusters.centres), clusters.neutral
    table = np.repeat(clusters.nearest(means)[None], count, 0)
    states, rest = table[0][texts.ids], steps - means[texts.ids]
    for _ in range(ROUNDS):
        before = np.roll(states, 1)
        before[texts.starts] = neutral
        key = before * symbols + texts.ids
        shift = _means(rest, key, count * symbols, prior=PRIOR)
        after = np.tile(means, (count, 1)) + shift
        table = clusters.nearest(after).reshape(count, symbols)
        states = _run(table, neutral, texts)
    return StepKinds(
        of_steps=states,
        of_next=np.zeros(len(states), np.float32),
        neutral=neutral,
        weights=_means(steps, states, count),
    )


def _means(
    values: NDArray[np.float32], groups: Ints, count: int, prior: int = 0
) -> NDArray[np.float32]:
    """The mean of each column over each group, with so many zeros added; 0 for empty groups."""
    sums = np.stack([np.bincount(groups, column, count) for column in values.T], 1)
    often = np.maximum(np.bincount(groups, minlength=count) + prior, 1)
    return (sums / often[:, None]).astype(np.float32)


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
