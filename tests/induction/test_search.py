"""Incremental evaluation against a plain run of all words, and what the search finds with it."""

from __future__ import annotations

from math import comb, log2

import numpy as np
import pytest
from numpy.typing import NDArray

from kleene.automata import DFA
from kleene.induction.evidence import Evidence
from kleene.induction.kernels import (
    best_merge,
    class_code,
    count_ends,
    rank_features,
    rerun_gain,
    run_features,
    sweep,
    trace_words,
)
from kleene.induction.learner import compile_kernels, search_automaton
from kleene.induction.search import Budget, Search, merge

Rows = tuple[list[tuple[int, ...]], list[int]]


def random_rows(seed: int, symbols: int = 3, classes: int = 3) -> Rows:
    random = np.random.default_rng(seed)
    words = [tuple(random.integers(0, symbols, random.integers(0, 9)).tolist()) for _ in range(150)]
    return words, random.integers(0, classes, len(words)).tolist()


def random_search(seed: int, states: int = 4) -> tuple[Search, NDArray[np.int32]]:
    words, labels = random_rows(seed)
    evidence = Evidence.from_rows(words, labels, alphabet=(0, 1, 2), classes=(0, 1, 2))
    table = np.random.default_rng(seed).integers(0, states, (states, 3)).astype(np.int32)
    return Search(evidence, Budget()), table


def label_bits(search: Search, table: NDArray[np.int32]) -> float:
    """The class codes of all states, from a plain run of every row."""
    dfa = DFA(alphabet=(0, 1, 2), transitions=table, outputs=range(len(table)))
    counts = np.zeros((len(table), 3), dtype=int)
    starts = search.evidence.starts
    for word, rows in enumerate(search.evidence.counts):
        symbols = search.evidence.symbols[starts[word] : starts[word + 1]].tolist()
        counts[dfa.run(symbols)] += rows
    bits = 0.0
    for one, two, three in counts.tolist():
        total = one + two + three
        arrangements = comb(total, one) * comb(total - one, two)
        bits += log2(arrangements * comb(total + 2, 2))
    return bits


@pytest.mark.parametrize("seed", range(5))
def test_the_description_length_is_the_formula(seed: int) -> None:
    search, table = random_search(seed)
    wanted = 4 * 3 * log2(4) + label_bits(search, table)
    assert search.judge(table).description_length == pytest.approx(wanted)


@pytest.mark.parametrize("seed", range(5))
def test_the_gain_of_a_redirected_transition_is_that_of_a_full_run(seed: int) -> None:
    search, table = random_search(seed)
    trace = trace_words(table, search.words, search.budget.work)
    change = np.zeros((4, 3), dtype=np.int64)
    before = label_bits(search, table)
    for state, symbol, target in np.ndindex(4, 3, 4):
        changed = table.copy()
        changed[state, symbol] = target
        cell = state * 4 + symbol
        gain = rerun_gain(changed, search.words, trace, cell, state, change, search.budget.work)
        assert gain == pytest.approx(before - label_bits(search, changed), abs=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_the_best_merge_is_that_of_full_runs(seed: int) -> None:
    search, table = random_search(seed)
    trace = trace_words(table, search.words, search.budget.work)
    before = label_bits(search, table)
    gain, kept, gone = best_merge(table, search.words, trace, search.budget.work, np.inf)
    merged = {
        (one, two): before - label_bits(search, merge(table, one, two))
        for one, two in np.ndindex(4, 4)
        if one != two
    }
    assert gain == pytest.approx(merged[kept, gone], abs=1e-6)
    assert gain == pytest.approx(max(merged.values()), abs=1e-6)


def test_a_table_is_refined_to_fewer_states_and_errors() -> None:
    """Parity of the first symbol, from a table of four states with one wrong transition."""
    words = [tuple(map(int, f"{i:b}")) for i in range(64)]
    labels = [word.count(0) % 2 for word in words]
    evidence = Evidence.from_rows(words, labels, alphabet=(0, 1), classes=(0, 1))
    search = Search(evidence, Budget())
    table = np.array([[1, 2], [0, 3], [3, 0], [3, 1]], dtype=np.int32)
    before, found = search.judge(table), search.refine(table)
    assert found.description_length < before.description_length
    dfa = search.dfa(found)
    assert dfa.num_states == 2
    assert [dfa.run(word) for word in words] == labels


def test_equal_rows_count_once_with_their_number() -> None:
    words, labels = random_rows(0)
    once = Evidence.from_rows(words, labels, alphabet=(0, 1, 2), classes=(0, 1, 2))
    twice = Evidence.from_rows(words * 2, labels * 2, alphabet=(0, 1, 2), classes=(0, 1, 2))
    assert twice.num_words == once.num_words == len(set(words))
    assert (twice.counts == 2 * once.counts).all()
    joined = once.joined(once)
    assert joined.rows == twice.rows
    assert joined.num_words == once.num_words
    assert joined.without(once).rows == once.rows
    assert once.without(once).rows == 0


def test_kernels_are_compiled_once_whatever_the_arrays_come_from():
    """A second signature would be compiled within the budget of a search."""
    words, labels = random_rows(5, symbols=2, classes=2)
    whole = Evidence.from_rows(words, labels, alphabet=(0, 1), classes=(0, 1))
    some = whole.subset(np.arange(50))
    kernels = (class_code, count_ends, trace_words, sweep, best_merge)
    kernels += (run_features, rank_features)
    compile_kernels.cache_clear()
    compile_kernels()
    compiled = [len(kernel.signatures) for kernel in kernels]
    for evidence in (whole, some, whole.without(some), some.joined(whole)):
        search_automaton(evidence, some, seconds=0.2)
    assert [len(kernel.signatures) for kernel in kernels] == compiled
