"""Weights of symbols modulo a prime, over alphabets too wide to try them."""

import numpy as np
import pytest

import kleene as kl
from kleene.automata import DFA
from kleene.induction.features import counter
from kleene.induction.modular import null_space


@pytest.mark.parametrize("prime", [2, 3, 7])
def test_the_null_space_is_orthogonal_and_complete(prime):
    random = np.random.default_rng(prime)
    rows = random.integers(0, 9, (4, 7))
    basis = null_space(rows, prime)
    assert not (rows @ basis.T % prime).any()
    vectors = np.indices((prime,) * 3).reshape(3, -1).T if prime == 2 else basis[:0]
    assert len(basis) >= 3
    assert len({tuple(v @ basis[:3] % prime) for v in vectors}) == len(vectors)


@pytest.mark.parametrize(("prime", "wrong"), [(2, 0), (3, 0), (2, 10)])
def test_a_weighted_sum_over_twenty_symbols_is_found(prime, wrong):
    random = np.random.default_rng(prime)
    feature = counter(random.integers(0, prime, 20).tolist(), prime)
    truth = DFA(
        alphabet=range(20),
        transitions=feature.table,
        outputs=tuple(value == 0 for value in range(prime)),
    )
    words = [tuple(random.integers(0, 20, random.integers(15, 25)).tolist()) for _ in range(1000)]
    labels = truth.run_many(words).tolist()
    for i in range(wrong):
        labels[i] = not labels[i]
    assert kl.induce(words, labels).dfa == truth
