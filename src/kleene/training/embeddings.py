"""Vectors of the symbols to begin with: those of symbols in the same company lie near each other.

Rare words are seen a few times only. From random vectors a network learns them by heart; from
vectors that their neighbours in the training texts gave them it knows beforehand which are alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from kleene.arrays import Ints
from kleene.data.batch import Batch
from kleene.data.streaming import TrainingData
from kleene.errors import SettingError
from kleene.nn.classifier import Classifier

WINDOW = 5
"""How many symbols away another still counts as a neighbour."""
DEVIATION = 0.5
"""The size of the vectors' entries: the root of their mean square."""
SMOOTHING = 0.75
"""The power of the neighbours' frequencies, which takes weight off rare ones."""
HELD = 4_000_000
"""Pairs of neighbours that are held before they are counted."""


def seed_vectors(network: Classifier, examples: TrainingData, seed: int) -> None:
    """Let every symbol begin with the vector of its company, and those without any with zeros."""
    if not network.config.num_symbols:
        raise SettingError(
            "seed_vectors came for a network that reads vectors; it needs one that reads symbols"
        )
    weight = network.embedding.weight
    symbols, size = weight.shape
    vectors = torch.from_numpy(company(examples, symbols, size, seed))
    with torch.no_grad():
        weight.zero_()
        weight[:, : vectors.shape[1]] = vectors.to(weight)


def company(examples: TrainingData, symbols: int, size: int, seed: int) -> NDArray[np.float32]:
    """Vectors of the symbols, (symbol, at most `size`): the main directions of their positive
    mutual information with their neighbours; zeros for symbols that have none.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.linalg import svds

    counts = neighbours(examples, symbols, seed)
    counts = (counts + counts.T).tocoo()
    often = np.asarray(counts.sum(1)).ravel()
    smoothed = often**SMOOTHING
    rows, columns = counts.coords
    lift = counts.data * smoothed.sum() / (often[rows] * smoothed[columns])
    kept = lift > 1
    table = csr_array((np.log(lift[kept]), (rows[kept], columns[kept])), shape=(symbols, symbols))
    rank = min(size, symbols - 1, max(table.nnz, 1))
    if table.nnz == 0:
        return np.zeros((symbols, rank), np.float32)
    start = np.random.default_rng(seed).standard_normal(symbols)
    left, strength, _ = svds(table, k=rank, v0=start)
    vectors = left * np.sqrt(strength)
    seen = np.diff(table.indptr) > 0
    vectors[~seen] = 0  # but for rounding they are
    scale = DEVIATION / np.sqrt(np.mean(vectors[seen] ** 2))
    found: NDArray[np.float32] = (vectors * scale).astype(np.float32)
    return found


def neighbours(examples: TrainingData, symbols: int, seed: int) -> Any:
    """How often one symbol (row) stands before another (column), as a sparse array."""
    from scipy.sparse import csr_array

    total, held = csr_array((symbols, symbols)), 0
    waiting: list[Ints] = []

    def counted() -> Any:
        before, after = np.concatenate(waiting, axis=1)
        return csr_array((np.ones(len(before)), (before, after)), shape=(symbols, symbols))

    for batch in examples.batches(256, seed=seed):
        for pair in pairs(batch):
            waiting.append(pair)
            held += pair.shape[1]
            if held >= HELD:
                total, held, waiting = total + counted(), 0, []
    return total + counted() if waiting else total


def pairs(batch: Batch) -> Iterator[Ints]:
    """Symbols of a batch and those that follow them at every distance of the window, (2, pair)."""
    starts = batch.batch_sizes.cumsum() - batch.batch_sizes
    steps = np.repeat(np.arange(len(starts)), batch.batch_sizes)
    for distance in range(1, min(WINDOW, len(starts) - 1) + 1):
        after = np.arange(starts[distance], len(steps))
        step = steps[after]
        before = after - (starts[step] - starts[step - distance])
        yield np.stack([batch.tokens[before], batch.tokens[after]]).astype(np.int64)
