"""State merging: the prefix tree, trials that leave no trace, scores, and what is found."""

from __future__ import annotations

import numpy as np
import pytest

import kleene as kl
from kleene.automata import DFA
from kleene.induction.evidence import Evidence
from kleene.induction.merging import (
    MAX_STATES,
    Log,
    Tree,
    count_new,
    fold,
    fold_score,
    max_states,
    merged,
    prefix_tree,
    undo,
)
from kleene.induction.search import Budget


def random_evidence(seed: int, symbols: int = 3, rows: int = 200) -> Evidence:
    random = np.random.default_rng(seed)
    words = [
        tuple(random.integers(0, symbols, random.integers(0, 7)).tolist()) for _ in range(rows)
    ]
    labels = random.integers(0, 2, rows).tolist()
    return Evidence.from_rows(words, labels, alphabet=range(symbols), classes=(0, 1))


def tree_of(evidence: Evidence) -> Tree:
    words, nodes = (evidence.symbols, evidence.starts), 1
    nodes += count_new(*words)
    tree: Tree = prefix_tree(*words, evidence.counts, nodes, len(evidence.alphabet))
    return tree


def words_of(evidence: Evidence) -> dict[tuple[int, ...], list[int]]:
    ends = evidence.starts
    return {
        tuple(evidence.symbols[ends[w] : ends[w + 1]].tolist()): evidence.counts[w].tolist()
        for w in range(evidence.num_words)
    }


def contents(tree: Tree, node: int = 0, prefix: tuple[int, ...] = ()) -> dict[tuple[int, ...], int]:
    """The node of each prefix."""
    found = {prefix: node}
    for symbol, child in enumerate(tree.children[node].tolist()):
        if child >= 0:
            found |= contents(tree, child, (*prefix, symbol))
    return found


@pytest.mark.parametrize("seed", range(3))
def test_the_prefix_tree_has_every_prefix_and_the_votes_of_every_word(seed: int) -> None:
    evidence = random_evidence(seed)
    words, tree = words_of(evidence), tree_of(evidence)
    nodes = contents(tree)
    assert set(nodes) == {word[:n] for word in words for n in range(len(word) + 1)}
    assert sorted(nodes.values()) == list(range(len(tree.red)))
    for prefix, node in nodes.items():
        assert tree.votes[node].tolist() == words.get(prefix, [0, 0])
        through = [sum(count) for word, count in words.items() if word[: len(prefix)] == prefix]
        assert tree.weight[node] == sum(through)


def test_a_trial_that_is_undone_leaves_no_trace() -> None:
    tree = tree_of(random_evidence(1))
    nodes = len(tree.red)
    log = Log(np.empty((2 * nodes + 2, 3), np.int64), np.empty((nodes + 1, 2), np.int64))
    before = [array.copy() for array in tree]
    for symbol in range(3):
        _, logged = fold(tree, 0, symbol, 0, log, np.zeros(1, np.int64))
        assert tree.children[0, symbol] == 0
        undo(tree, log, logged)
        assert all((a == b).all() for a, b in zip(before, tree, strict=True))


def test_a_score_counts_agreements_and_one_disagreement_forbids() -> None:
    for second, score in (([0, 0], 0.0), ([2, 0], 1.0), ([0, 2], -np.inf), ([1, 1], -np.inf)):
        assert fold_score(np.array([[3, 0], second]), 0, 1) == score


def random_dfa(states: int, symbols: int, seed: int) -> DFA:
    random = np.random.default_rng(seed)
    while True:
        size = states + int(random.integers(0, 1 + states // 2))  # some may be unreachable
        table = random.integers(0, size, (size, symbols))
        outputs = tuple((random.random(size) < 0.5).tolist())
        dfa = DFA(alphabet=range(symbols), transitions=table, outputs=outputs).minimize()
        if dfa.num_states == states:
            return dfa


def words_over(symbols: int, rows: int, longest: int) -> list[tuple[int, ...]]:
    random = np.random.default_rng(0)
    lengths = random.integers(0, longest + 1, rows)
    return [tuple(random.integers(0, symbols, length).tolist()) for length in lengths]


@pytest.mark.parametrize(("states", "symbols", "rows"), [(20, 2, 2_000), (10, 10, 10_000)])
def test_a_larger_random_automaton_is_found(states: int, symbols: int, rows: int) -> None:
    truth = random_dfa(states, symbols, 1)
    words = words_over(symbols, rows, 16)
    found = kl.induce(words, truth.run_many(words).tolist())
    assert found.dfa == truth
    assert found.origin == "merged from the data"


def test_merging_stops_where_a_table_costs_more_than_the_rows_have() -> None:
    for width, bits in ((2, 50.0), (2, 300.0), (4, 2_000.0), (10, 450.0), (2, 1e9)):
        fits = [n for n in range(10, MAX_STATES + 1) if n * width * np.log2(n) <= bits]
        assert max_states(width, bits) == max(fits, default=10)


def test_wrong_labels_need_no_more_states() -> None:
    """The merged table has too many states; refining it merges them."""
    truth = random_dfa(10, 2, 0)
    words = words_over(2, 2_000, 14)
    random = np.random.default_rng(1)
    labels = (truth.run_many(words) != (random.random(len(words)) < 0.05)).tolist()
    evidence = Evidence.from_rows(words, labels, alphabet=(0, 1), classes=(False, True))
    assert merged(evidence, Budget(look_ups=10)) is None
    strict = merged(evidence, Budget())
    assert strict is None or len(strict) > 20
    assert kl.induce(words, labels, seconds=10).dfa == truth


def test_the_value_of_an_expression_is_found_from_the_shorter_words() -> None:
    """Numbers modulo 5 with +, - and *: the tree of all words merges into too many states."""
    random = np.random.default_rng(0)
    words = []
    for _ in range(10_000):
        size = int(random.integers(1, 21))
        signs = [*random.choice(list("+-*"), size - 1), ""]
        words.append("".join(f"{random.integers(5)}{sign}" for sign in signs))
    values = [eval(word) % 5 for word in words]
    evidence = Evidence.from_rows(words, values, alphabet=sorted(set("01234+-*")), classes=range(5))
    assert merged(evidence, Budget()) is None
    found = kl.induce(words, values)
    assert found.training_errors == 0
    assert found.dfa.run("3*4*2-1*0+4") == (3 * 4 * 2 - 1 * 0 + 4) % 5


@pytest.mark.parametrize(("seed", "share"), [(1, 0.05), (2, 0.1)])
def test_many_rows_of_short_words_outvote_wrong_labels(seed: int, share: float) -> None:
    truth, words = random_dfa(10, 2, seed), words_over(2, 10_000, 12)
    wrong = np.random.default_rng(1).random(len(words)) < share
    found = kl.induce(words, (truth.run_many(words) != wrong).tolist())
    assert found.dfa == truth
    assert found.training_errors == wrong.sum()
