"""PPMI embeddings: positive pointwise mutual information with neighbours, then truncated SVD.

Symbols that occur in the same contexts start with similar vectors (Levy and Goldberg, 2014). Rare
symbols are seen a few times only; from random vectors a network memorises them, from these it
generalises.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from kleene.arrays import Ints
from kleene.data.batch import Batch
from kleene.data.examples import Examples
from kleene.errors import SettingError
from kleene.nn.classifier import Classifier

WINDOW = 5
"""How many symbols away another still counts as a neighbour."""
DEVIATION = 0.5
"""Root mean square of the vectors' entries."""
SMOOTHING = 0.75
"""The power of the neighbours' frequencies, which takes weight off rare ones."""
DENSE = 1_000
"""Symbols up to which all singular vectors are computed."""
MAX_PAIRS = 4_000_000
"""Pairs of neighbours in memory before they are counted."""


def init_ppmi_embeddings(network: Classifier, examples: Examples, seed: int) -> None:
    """Set the embedding to PPMI vectors; symbols without neighbours get zeros."""
    if not network.config.num_symbols:
        raise SettingError(
            "PPMI embeddings need a network over symbols, got one over vectors; leave them out"
        )
    weight = network.embedding.weight
    symbols, size = weight.shape
    vectors = torch.from_numpy(ppmi_embeddings(examples, symbols, size, seed))
    with torch.no_grad():
        weight.zero_()
        weight[:, : vectors.shape[1]] = vectors.to(weight)


def ppmi_embeddings(examples: Examples, symbols: int, size: int, seed: int) -> NDArray[np.float32]:
    """Return PPMI vectors of the symbols, (symbol, at most `size`); zeros without neighbours."""
    from scipy.sparse import csr_array

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
    left, strength = _singular_vectors(table, rank, seed)
    vectors = left * np.sqrt(strength)
    seen = np.diff(table.indptr) > 0
    vectors[~seen] = 0  # but for rounding they are
    scale = DEVIATION / np.sqrt(np.mean(vectors[seen] ** 2))
    found: NDArray[np.float32] = (vectors * scale).astype(np.float32)
    return found


def _singular_vectors(table: Any, rank: int, seed: int) -> tuple[Any, Any]:
    """The strongest left singular vectors, (symbol, rank), and their strengths.

    ARPACK is for large tables: where `rank` is near the table's own it goes on from random vectors
    that no seed governs.
    """
    from scipy.sparse.linalg import svds

    symbols = table.shape[0]
    if symbols <= DENSE:
        left, strength, _ = np.linalg.svd(table.toarray())
        return left[:, :rank], strength[:rank]
    start = np.random.default_rng(seed).standard_normal(symbols)
    left, strength, _ = svds(table, k=rank, v0=start)
    return left, strength


def neighbours(examples: Examples, symbols: int, seed: int) -> Any:
    """How often one symbol (row) stands before another (column), as a sparse array."""
    from scipy.sparse import csr_array

    total, waiting_pairs = csr_array((symbols, symbols)), 0
    waiting: list[Ints] = []

    def counted() -> Any:
        before, after = np.concatenate(waiting, axis=1)
        return csr_array((np.ones(len(before)), (before, after)), shape=(symbols, symbols))

    for batch in examples.batches(256, seed=seed):
        for pair in pairs(batch):
            waiting.append(pair)
            waiting_pairs += pair.shape[1]
            if waiting_pairs >= MAX_PAIRS:
                total, waiting_pairs, waiting = total + counted(), 0, []
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
