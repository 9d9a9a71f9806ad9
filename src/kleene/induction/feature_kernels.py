"""Values of features for all words, and the bits of the classes they leave, compiled."""

from __future__ import annotations

from typing import Any

import numpy as np

from kleene.compiling import njit
from kleene.induction.search_kernels import class_code

TIE = 1e-6
"""The weight of what decides between rules that save as many bits."""


@njit(cache=True, nogil=True)
def run_features(
    tables: Any, offsets: Any, outputs: Any, symbols: Any, starts: Any, values: Any
) -> None:
    """The value of every feature for every word."""
    for f in range(len(values)):
        base = offsets[f]
        for w in range(values.shape[1]):
            state = 0
            for j in range(starts[w], starts[w + 1]):
                state = tables[base + state, symbols[j]]
            values[f, w] = outputs[base + state]


@njit(cache=True, nogil=True)
def agreeing(
    tables: Any,
    offsets: Any,
    outputs: Any,
    symbols: Any,
    starts: Any,
    chosen: Any,
    values: Any,
    same: Any,
    work: Any,
) -> None:
    """Which features have the given values for the chosen words; the first other value decides."""
    steps = 0
    for f in range(len(same)):
        base = offsets[f]
        for w in chosen:
            state = 0
            for j in range(starts[w], starts[w + 1]):
                state = tables[base + state, symbols[j]]
            steps += starts[w + 1] - starts[w]
            if outputs[base + state] != values[w]:
                same[f] = False
                break
    work[0] += steps // 2


@njit(cache=True, nogil=True)
def rank_features(
    cells: Any, num_cells: Any, values: Any, sizes: Any, counts: Any, log_factorials: Any
) -> Any:
    """Bits of the class codes if each cell were divided by the values of each feature."""
    classes = counts.shape[1]
    bits = np.zeros(len(values))
    for f in range(len(values)):
        votes = np.zeros((num_cells * sizes[f], classes), np.int64)
        for w in range(len(cells)):
            for c in range(classes):
                votes[cells[w] * sizes[f] + values[f, w], c] += counts[w, c]
        for cell in range(len(votes)):
            bits[f] += class_code(votes[cell], log_factorials)
    return bits


@njit(cache=True, nogil=True)
def rank_rules(cells: Any, values: Any, counts: Any, log_factorials: Any) -> Any:
    """Bits of the class codes after the best rule of each feature, and the rule.

    Cell 0 has the words that no rule has decided, cell 1 + c those decided for class c. A rule
    (value * classes + class) decides the words of cell 0 that have the value. Where two rules save
    as many bits, the one is taken whose words are the purer: the others are left for further rules.
    """
    classes = counts.shape[1]
    votes = np.zeros((classes + 1, classes), np.int64)
    for w in range(len(cells)):
        for c in range(classes):
            votes[cells[w], c] += counts[w, c]
    before = 0.0
    for cell in range(classes + 1):
        before += class_code(votes[cell], log_factorials)
    bits, rules = np.full(len(values), np.inf), np.zeros(len(values), np.int64)
    left, decided = np.empty(classes, np.int64), np.empty(classes, np.int64)
    for f in range(len(values)):
        moved = np.zeros((2, classes), np.int64)
        for w in range(len(cells)):
            if cells[w] == 0 and values[f, w] < 2:
                for c in range(classes):
                    moved[values[f, w], c] += counts[w, c]
        for value in range(2):
            for c in range(classes):
                for k in range(classes):
                    left[k] = votes[0, k] - moved[value, k]
                    decided[k] = votes[1 + c, k] + moved[value, k]
                after = before + class_code(left, log_factorials)
                after += class_code(decided, log_factorials)
                after -= class_code(votes[0], log_factorials)
                after -= class_code(votes[1 + c], log_factorials)
                after += TIE * class_code(moved[value], log_factorials)
                if after < bits[f]:
                    bits[f], rules[f] = after, value * classes + c
    return bits, rules
