"""Automata as products of a few features, found by a beam search over the values of the words.

Every feature gives each word a value; the values of several features divide the words into cells,
and each cell costs the same class code as a state of an automaton. The product of the chosen
features, with the majority of each cell as output, is minimised.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kleene.automata import DFA
from kleene.compiling import njit
from kleene.induction.budget import Budget
from kleene.induction.evidence import Evidence
from kleene.induction.features import Feature, features, subsequence
from kleene.induction.search_kernels import class_code

MOST_SYMBOLS = 12
"""The largest alphabet for which products of features are searched."""
MOST_WORDS = 3_000
MOST_FEATURES = 5_000
MOST_PRODUCT = 3_000
BEAM = 6
DEPTH = 6
STATE_BITS = 2.0
"""What a state of a feature costs in the beam; the product is priced in full afterwards."""


@dataclass(frozen=True, eq=False)
class Chosen:
    """Features, the cell of each word under them, and what they cost."""

    features: tuple[Feature, ...]
    cells: NDArray[np.int64]
    bits: float


@dataclass(frozen=True, kw_only=True)
class Pattern:
    """An automaton, and the bits that name the features it is made of."""

    dfa: DFA
    bits: float


def patterns(evidence: Evidence, budget: Budget, *, seed: int = 0) -> list[Pattern]:
    """The automata of the best products of features, the best first."""
    width = len(evidence.alphabet)
    if width > MOST_SYMBOLS or not evidence.num_words:
        return []
    if evidence.num_words > MOST_WORDS:
        random = np.random.default_rng(seed)
        evidence = evidence.subset(np.sort(random.permutation(evidence.num_words)[:MOST_WORDS]))
    left = max(budget.limit - float(budget.work[0]), 0)
    most = min(MOST_FEATURES, left / 3 / max(len(evidence.symbols), 1))
    given = _Values(evidence, budget, features(width, int(most)))
    if not given.features:
        return []
    given = _longer_subsequences(given, evidence, budget, width)
    found = _beam(given, evidence, budget)
    name_bits = float(np.log2(len(given.features)))
    return [
        Pattern(dfa=dfa, bits=len(one.features) * name_bits)
        for one in found
        if (dfa := _product(one, evidence)) is not None
    ]


class _Values:
    """Features that differ on the words, and their values, (feature, word)."""

    def __init__(self, evidence: Evidence, budget: Budget, given: list[Feature]) -> None:
        values = _run(evidence, budget, given)
        best: dict[bytes, int] = {}
        for i, row in enumerate(values):
            key = (row ^ row[0] if given[i].values.max() == 1 else row).tobytes()
            if row.min() == row.max():
                continue
            if key not in best or given[i].num_states < given[best[key]].num_states:
                best[key] = i
        chosen = list(best.values())
        self.features = [given[i] for i in chosen]
        self.values = values[chosen]


def _run(evidence: Evidence, budget: Budget, given: list[Feature]) -> NDArray[np.uint8]:
    sizes = np.array([feature.num_states for feature in given], dtype=np.int64)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    width = len(evidence.alphabet)
    tables = np.concatenate([f.table for f in given] or [np.zeros((0, width), np.int32)])
    outputs = np.concatenate([f.values for f in given] or [np.zeros(0, np.int64)])
    values = np.empty((len(given), evidence.num_words), np.uint8)
    run_features(tables, offsets, outputs, evidence.symbols, evidence.starts, values)
    budget.work[0] += len(given) * len(evidence.symbols)
    return values


def _longer_subsequences(given: _Values, evidence: Evidence, budget: Budget, width: int) -> _Values:
    """Add subsequences of five and six symbols that extend the most telling of four."""
    if width > 4 or budget.is_spent:
        return given
    words = [tuple(np.unravel_index(i, (width,) * 4)) for i in range(width**4)]
    longest = [tuple(map(int, word)) for word in words]
    added: list[Feature] = []
    cells = np.zeros(evidence.num_words, dtype=np.int64)
    for _ in range(2):
        tried = [subsequence(word, width) for word in longest]
        values = _run(evidence, budget, tried)
        bits = _rank(cells, 1, values, np.full(len(tried), 2), evidence, budget)
        best = [longest[i] for i in np.argsort(bits, kind="stable")[:40]]
        longest = sorted(
            {
                (*word[:i], symbol, *word[i:])
                for word in best
                for symbol in range(width)
                for i in range(len(word) + 1)
            }
        )
        added += [subsequence(word, width) for word in longest]
    more = _Values(evidence, budget, added)
    more.features = given.features + more.features
    more.values = np.concatenate([given.values, more.values])
    return more


def _rank(
    cells: NDArray[np.int64],
    num_cells: int,
    values: NDArray[np.uint8],
    sizes: NDArray[np.int64],
    evidence: Evidence,
    budget: Budget,
) -> NDArray[np.float64]:
    budget.work[0] += values.size
    bits: NDArray[np.float64] = rank_features(
        cells, num_cells, values, sizes, evidence.counts, evidence.log_factorials
    )
    return bits


def _beam(given: _Values, evidence: Evidence, budget: Budget) -> list[Chosen]:
    """The best products, of any number of features up to `DEPTH`, the best first."""
    sizes = np.array([int(f.values.max()) + 1 for f in given.features], dtype=np.int64)
    states = np.array([f.num_states for f in given.features])
    cells = np.zeros(evidence.num_words, dtype=np.int64)
    total = evidence.counts.sum(0)
    bits = float(class_code(total, evidence.log_factorials))
    beam = [Chosen((), cells, bits)]
    finished: list[Chosen] = []
    for _ in range(DEPTH):
        options: list[tuple[float, int, int]] = []
        for b, one in enumerate(beam):
            if budget.is_spent:
                break
            num_cells = int(one.cells.max()) + 1
            price = STATE_BITS * sum(f.num_states for f in one.features)
            ranked = _rank(one.cells, num_cells, given.values, sizes, evidence, budget)
            ranked = ranked + price + STATE_BITS * states
            best = np.argsort(ranked, kind="stable")[: 2 * BEAM]
            options += [(float(ranked[i]), b, int(i)) for i in best if ranked[i] < one.bits - 1]
        following: list[Chosen] = []
        seen = set()
        for cost, b, i in sorted(options):
            joined = beam[b].cells * sizes[i] + given.values[i]
            _, cells = np.unique(joined, return_inverse=True)
            if cells.tobytes() in seen:
                continue
            seen.add(cells.tobytes())
            following.append(Chosen((*beam[b].features, given.features[i]), cells, cost))
            if len(following) == BEAM:
                break
        if not following:
            break
        finished += following
        beam = following
    return sorted(finished, key=lambda one: one.bits)[:BEAM]


def _product(chosen: Chosen, evidence: Evidence) -> DFA | None:
    """The product automaton with the majority of each cell as output; None if it is too large.

    A cell without words takes the majority of the cell that the first features give.
    """
    votes: dict[tuple[int, ...], NDArray[np.int64]] = {}
    values = _run(evidence, Budget(), list(chosen.features))
    for word in range(evidence.num_words):
        key = tuple(values[:, word].tolist())
        for length in range(len(key) + 1):
            part = votes.setdefault(key[:length], np.zeros(len(evidence.classes), np.int64))
            part += evidence.counts[word]
    start = (0,) * len(chosen.features)
    numbers = {start: 0}
    table: list[list[int]] = []
    outputs = []
    order = [start]
    for state in order:
        key = tuple(int(f.values[s]) for f, s in zip(chosen.features, state, strict=True))
        while key not in votes:
            key = key[:-1]
        outputs.append(evidence.classes[int(votes[key].argmax())])
        row = []
        for symbol in range(len(evidence.alphabet)):
            target = tuple(
                int(f.table[s, symbol]) for f, s in zip(chosen.features, state, strict=True)
            )
            if target not in numbers:
                numbers[target] = len(order)
                order.append(target)
            row.append(numbers[target])
        table.append(row)
        if len(order) > MOST_PRODUCT:
            return None
    transitions = np.array(table, dtype=np.int32).reshape(-1, len(evidence.alphabet))
    dfa = DFA(alphabet=evidence.alphabet, transitions=transitions, outputs=tuple(outputs))
    return dfa.minimize()


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
