"""The summary of a corpus against a loop over its steps."""

import math
from collections import Counter

import pytest
from toy_readers import ALPHABET, toy_model, toy_network, toy_words

from kleene.explain.explain import explain_many
from kleene.explain.summary import summarize

WORDS = toy_words(150)


def test_moves_are_counted_and_symbols_that_stand_out_are_named() -> None:
    network = toy_network()
    steps = Counter()
    for found in explain_many(toy_model(network), WORDS):
        source = found.start_state
        for symbol, target in zip(found.word, found.states.tolist(), strict=True):
            steps[source, symbol if symbol in ALPHABET else None, target] += 1
            source = target
    summary = summarize(toy_model(network), WORDS, top=3, min_share=0.0)
    between, leaving, given = Counter(), Counter(), Counter()
    for (i, x, j), n in steps.items():
        between[i, j] += n
        leaving[i] += n
        given[i, x] += n
    assert {(m.source, m.target): m.count for m in summary.moves} == dict(between)
    for move in summary.moves:
        i, j = move.source, move.target
        assert move.share == pytest.approx(between[i, j] / leaving[i])
        score = {
            x: math.log1p(n) * math.log((n / given[i, x]) / move.share)
            for (a, x, b), n in steps.items()
            if (a, b) == (i, j) and x is not None
        }
        best = sorted((s for s in score.values() if s > 0), reverse=True)[:3]
        assert [score[m.symbol] for m in move.symbols] == pytest.approx(best)
        for mover in move.symbols:
            n = steps[i, mover.symbol, j]
            assert (mover.count, mover.mean) == (
                n,
                pytest.approx(n / given[i, mover.symbol]),
            )
    arrived = Counter()
    for (_, _, j), n in steps.items():
        arrived[j] += n
    total = sum(arrived.values())
    assert summary.visits == pytest.approx([arrived[j] / total for j in range(4)])


def test_no_words_make_no_moves() -> None:
    assert summarize(toy_model(), [(), ()]).moves == ()
