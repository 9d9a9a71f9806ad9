"""States learned by gradient: from the plain cell to few, crisp states."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch
from toys import make_network, same_bits, words_ending_in_5

from kleene.config import TrainConfig
from kleene.evaluation.metrics import evaluate
from kleene.nn.classifier import Classifier
from kleene.nn.mode import HARD, Mode
from kleene.training.by_gradient import (
    _HardMachine,
    as_good_as_the_cell,
    drop_states,
    fewer_states,
    more_states,
    network,
    spread_centroids,
    with_states,
)
from kleene.training.loop import fit, plain_cell
from kleene.training.run import Run
from kleene.training.stages import Blend

EXAMPLES = words_ending_in_5(5)


@cache
def trained() -> tuple[Classifier, Classifier]:
    """A network with states, and the plain cell that it started from."""
    made, weights = make_network(num_states=8, similarity="dot", temperature=1.0), {}
    fit(made, EXAMPLES, stages=network(TrainConfig()), cell_weights=weights)
    return made, plain_cell(made, weights)


def test_a_language_is_learned_with_states_that_are_crisp() -> None:
    made, cell = trained()
    for mode in (Mode(), HARD):
        assert evaluate(made, EXAMPLES, mode=mode).accuracy == 1
    fewer, history = fewer_states(
        made, cell, EXAMPLES, validation=None, config=TrainConfig(), run=Run()
    )
    assert fewer.rnn.num_states < 8
    assert evaluate(fewer, EXAMPLES, mode=HARD).accuracy == 1
    assert {epoch.stage for epoch in history.epochs} == {"fewer"}


def test_an_interrupted_run_continues_to_the_same_weights(tmp_path: Path) -> None:
    stages = [replace(stage, epochs=6) for stage in network(TrainConfig(batch_size=8))]

    def run(**given):
        made = make_network(similarity="dot")
        fit(made, EXAMPLES, stages=stages, run=Run(seed=3, **given))
        return made.state_dict()

    def interrupt(_: object, epoch) -> None:
        if (epoch.stage, epoch.epoch) == ("states", 3):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(checkpoint=tmp_path / "run", hook=interrupt)
    assert same_bits(run(), run(checkpoint=tmp_path / "run"))


def test_centroids_start_at_hidden_vectors_that_differ() -> None:
    made = make_network(num_states=5)
    spread_centroids(made, EXAMPLES, seed=0)
    again = made.rnn.centroids(0).clone()
    assert len(torch.unique(again, dim=0)) == 5
    spread_centroids(made, EXAMPLES, seed=0)
    assert torch.equal(made.rnn.centroids(0), again)


def test_the_hard_machine_is_the_hard_network_with_any_states_left_out() -> None:
    made = make_network(num_states=6)
    for alive in ([True] * 6, [True, False, True, True, False, True]):
        machine = _HardMachine(made, EXAMPLES)
        fewer = with_states(made, np.flatnonzero(alive).tolist())
        found = evaluate(fewer, EXAMPLES, mode=HARD)
        assert machine.wrong(np.array(alive)) == (found.predicted != found.labels).sum()


def test_states_that_rows_need_stay() -> None:
    made, _ = trained()
    before = evaluate(made, EXAMPLES, mode=HARD).accuracy
    for _ in range(6):
        made = drop_states(made, EXAMPLES)
        assert evaluate(made, EXAMPLES, mode=HARD).accuracy >= before
    assert made.rnn.num_states >= 2


def test_lambda_rises_while_the_accuracy_holds_and_falls_where_it_does_not() -> None:
    blend = Blend(rise=0.25)
    assert blend.next(0.25, 1.0, 1.0) == 0.5
    assert blend.next(0.9, 0.99, 1.0) == 1.0
    assert blend.next(0.75, 0.95, 1.0) == 0.75
    assert blend.next(0.75, 0.8, 1.0) == 0.25
    assert blend.next(0.75, 0.88, 0.9) == 1.0


def test_a_cell_with_errors_is_compared_on_validation_rows() -> None:
    made, cell = trained()
    wrong = EXAMPLES.select(np.arange(8))
    wrong = replace(wrong, labels=1 - wrong.labels)
    untrained = make_network(num_states=8)
    assert as_good_as_the_cell(made, cell, EXAMPLES, None)
    assert not as_good_as_the_cell(untrained, cell, EXAMPLES, None)
    assert as_good_as_the_cell(made, cell, wrong, EXAMPLES)
    assert not as_good_as_the_cell(untrained, cell, wrong, EXAMPLES)


def test_many_states_follow_the_cell_and_are_nearly_hard() -> None:
    made, cell = trained()
    many, after, history = more_states(
        cell, EXAMPLES, validation=EXAMPLES, config=TrainConfig(), run=Run()
    )
    assert many.rnn.num_states > made.rnn.num_states
    assert [epoch.stage for epoch in history.epochs][-1] == "more states"
    soft, hard = (evaluate(many, EXAMPLES, mode=mode) for mode in (Mode(), HARD))
    assert soft.accuracy == evaluate(after, EXAMPLES).accuracy == 1
    assert np.abs(soft.probabilities - hard.probabilities).max() < 0.05
