from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_automata import words_up_to

from kleene.automata import PFA
from kleene.errors import AlphabetError, AutomatonError


def random_pfa(seed, states=3, labels=("x", "y", "x"), partial=False):
    rng = np.random.default_rng(seed)
    table = rng.dirichlet(np.ones(states), (states, 2))
    if partial:
        table[rng.random((states, 2)) < 0.4] = 0
    return PFA(
        alphabet=("a", "b"),
        transitions=table,
        initial=rng.dirichlet(np.ones(states)),
        outputs=labels,
        partial=partial,
    )


@given(st.integers(0, 10_000), st.booleans())
def test_word_probabilities_are_sums_over_all_paths(seed, partial):
    pfa = random_pfa(seed, partial=partial)
    for word in words_up_to(pfa.alphabet, 3):
        expected = dict.fromkeys(pfa.outputs, 0.0)
        for path in product(range(pfa.num_states), repeat=len(word) + 1):
            weight = pfa.initial[path[0]]
            for symbol, i, j in zip(word, path, path[1:], strict=False):
                weight *= pfa.transitions[i, pfa.alphabet.index(symbol), j]
            expected[pfa.outputs[path[-1]]] += weight
        found = pfa.word_probabilities(word)
        assert found == pytest.approx(expected)
        assert sum(found.values()) <= 1 + 1e-9
        if not partial:
            assert sum(found.values()) == pytest.approx(1)


@given(st.integers(0, 10_000), st.booleans())
def test_json_round_trip(tmp_path_factory, seed, partial):
    pfa = random_pfa(seed, partial=partial)
    path = pfa.save(tmp_path_factory.getbasetemp() / "pfa.json")
    assert PFA.load(path).to_json() == pfa.to_json()
    again = PFA.from_json(pfa.to_json())
    assert (again.transitions == pfa.transitions).all()
    assert (again.initial == pfa.initial).all()
    assert (again.alphabet, again.outputs, again.partial) == (pfa.alphabet, pfa.outputs, partial)


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"transitions": np.ones((2, 1, 2))}, "state 0 on 'a': .* a sum of 2"),
        ({"transitions": [[[1, 0]], [[0, 0]]]}, "partial=True"),
        ({"transitions": [[[2, -1]], [[1, 0]]]}, "minimum of -1"),
        ({"transitions": [[[1, 0]], [[np.nan, 0]]]}, "state 1 on 'a'"),
        ({"initial": [0.5, 0.4]}, "initial distribution"),
        ({"initial": [0, 0], "partial": True}, "initial distribution"),
        ({"initial": [1.0]}, "shape"),
        ({"transitions": np.ones((2, 2, 2)) / 2}, "shape"),
        ({"outputs": ()}, "at least one state"),
        ({"alphabet": ()}, "empty"),
    ],
)
def test_what_is_no_distribution_is_named(fields, told):
    good = {
        "alphabet": ("a",),
        "transitions": [[[1, 0]], [[0.5, 0.5]]],
        "initial": [1, 0],
        "outputs": (True, False),
    }
    PFA(**good)
    with pytest.raises(AutomatonError, match=told):
        PFA(**{**good, **fields})


def test_unknown_symbols_and_foreign_documents():
    pfa = random_pfa(0)
    with pytest.raises(AlphabetError, match="'c'"):
        pfa.word_probabilities("abc")
    with pytest.raises(AutomatonError, match=r"kleene\.dfa/1"):
        PFA.from_json('{"format": "kleene.dfa/1"}')
