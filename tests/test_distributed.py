"""Several processes train what one trains: the same weights up to rounding."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
import torch
from process_groups import run_processes
from toys import make_network, weights_of, without_time, words_ending_in_5

from kleene.distributed import SINGLE_PROCESS, ProcessGroup, rank_and_world_size
from kleene.errors import WorkerError
from kleene.evaluation.metrics import evaluate
from kleene.nn.classifier import Classifier
from kleene.training.loop import fit
from kleene.training.run import Run
from kleene.training.stages import Curriculum, Stage

EXAMPLES, VALIDATION = words_ending_in_5(5), words_ending_in_5(3)
STAGES = [
    Stage(
        name="cell",
        regularized=False,
        epochs=4,
        batch_size=7,
        learning_rate=0.02,
        curriculum=Curriculum(start=2, steps=4),
        patience=2,
    ),
    Stage(
        name="end",
        epochs=3,
        batch_size=16,
        optimizer="rmsprop",
        class_weight="balanced",
        patience=9,
    ),
]
pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


def train(process_group: ProcessGroup, checkpoint: Path | None = None, hook=None):
    network = make_network()
    run = Run(
        seed=3,
        checkpoint=checkpoint,
        checkpoint_every=0.0,
        hook=hook,
        processes=process_group,
    )
    history = fit(network, EXAMPLES, stages=STAGES, validation=VALIDATION, run=run)
    return weights_of(network), without_time(history)


def close(a: dict[str, torch.Tensor], b: dict[str, torch.Tensor]) -> bool:
    return all(torch.allclose(a[name], b[name], rtol=0, atol=2e-4) for name in a)


@pytest.fixture(scope="module")
def alone():
    return train(SINGLE_PROCESS)


@pytest.mark.parametrize("size", [2, 3])
def test_processes_learn_what_one_process_learns(alone, size: int) -> None:
    weights, history = alone
    found = run_processes(size, train)
    for others, told in found:
        assert close(others, weights)
        assert [e["words"] for e in told] == [e["words"] for e in history]
        assert np.allclose([e["loss"] for e in told], [e["loss"] for e in history], atol=1e-4)
    bits = [others for others, _ in found]
    assert all(torch.equal(bits[0][name], bits[1][name]) for name in weights)


def test_one_step_is_that_of_the_whole_batch() -> None:
    """One batch of classes of unequal weight, in double precision: the gradient is the same."""
    stage = Stage(epochs=1, batch_size=1000, class_weight="balanced", optimizer="rmsprop", clip=1e9)
    uneven = EXAMPLES.select(np.arange(0, 37))

    def step(process_group: ProcessGroup) -> dict[str, torch.Tensor]:
        network = make_network().double()
        fit(network, uneven, stages=[stage], run=Run(processes=process_group))
        return weights_of(network)

    expected, start = step(SINGLE_PROCESS), weights_of(make_network().double())
    for found in run_processes(3, step):
        for name, weight in expected.items():
            assert torch.allclose(found[name], weight, rtol=0, atol=1e-10)
    assert not torch.equal(expected["head.weight"], start["head.weight"])


def test_fewer_words_than_processes() -> None:
    stage = Stage(epochs=2, batch_size=1, learning_rate=0.02)
    few = EXAMPLES.select(np.array([3, 9, 20]))

    def step(process_group: ProcessGroup) -> dict[str, torch.Tensor]:
        network = make_network()
        fit(network, few, stages=[stage], run=Run(processes=process_group))
        return weights_of(network)

    expected = step(SINGLE_PROCESS)
    assert all(close(found, expected) for found in run_processes(2, step))


def test_evaluation_is_shared() -> None:
    network = make_network(2).eval()
    expected = evaluate(network, EXAMPLES, batch_size=5)
    for found in run_processes(
        2, lambda process_group: evaluate(network, EXAMPLES, 5, process_group=process_group)
    ):
        assert np.array_equal(found.probabilities, expected.probabilities)
        assert found.loss == pytest.approx(expected.loss, rel=1e-6)


@pytest.mark.parametrize("others", [1, 3])
def test_a_dead_process_stops_the_rest_which_keep_the_run(
    alone, others: int, tmp_path: Path
) -> None:
    checkpoint = tmp_path / "run"

    def work(process_group: ProcessGroup):
        def die(network: Classifier, epoch) -> None:
            if process_group.rank == 1 and epoch.stage == "end":
                os._exit(9)

        return train(process_group, checkpoint, die)

    first, second = run_processes(2, work)
    assert second is None
    assert isinstance(first, WorkerError)
    assert "--resume" in str(first)
    assert checkpoint.exists()
    weights, history = alone
    resumed = run_processes(others, lambda process_group: train(process_group, checkpoint))[0]
    assert close(resumed[0], weights)
    assert [e["words"] for e in resumed[1]] == [e["words"] for e in history]


def test_what_travels_arrives() -> None:
    def talk(process_group: ProcessGroup):
        rank = process_group.rank
        return (
            list(process_group.shard(range(7))),
            [process_group.broadcast(said) for said in (rank == 0, rank == 1, True)],
            process_group.all_reduce_array(np.array([rank, 5 - rank])).tolist(),
        )

    found = run_processes(3, talk)
    assert sorted(number for shares, *_ in found for number in shares) == list(range(7))
    for _, said, sums in found:
        assert said == [True, False, True]
        assert sums == [3, 12]


def test_alone_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.arange(3)
    assert SINGLE_PROCESS.all_reduce_array(values) is values
    assert SINGLE_PROCESS.broadcast(True)
    assert not SINGLE_PROCESS.broadcast()
    monkeypatch.setenv("RANK", "1")  # a cluster's own variable, not torchrun's
    assert rank_and_world_size() == (0, 1)
