"""Bounds of a counting network against its machine, up to a depth and a length."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from counting_network import counting_model

from kleene.data.alphabet import FIRST_SYMBOL
from kleene.data.batch import make_batch
from kleene.errors import ReadingError
from kleene.extraction.counter.units import CountingUnit
from kleene.model import Model
from kleene.proof.counter import _Proof, counter_bound, find_counter
from kleene.reproduce.counter_reading import balanced

UNIT = CountingUnit(unit=0, step=1.0, noise=0.0)
MACHINE = balanced(True, letters="a")
DEPTH = 4


def leaky(forget: float = 6.0, peephole: float = 0.0) -> Model:
    """A counter whose forget gate is not quite open: it drifts, and in the end it is wrong."""
    model = counting_model("a")
    with torch.no_grad():
        model.network.rnn.bias_ih_l0[2] = forget
        model.network.rnn.peephole_l0[1, 0] = peephole
    return model


def sequences(length: int, count: int, seed: int) -> list[np.ndarray]:
    """Random columns whose heights stay within the depth."""
    random = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        height, columns = 0, []
        for _ in range(length):
            column = int(random.integers(0, 3))
            add = (0, 1, -1)[column]
            if abs(height + add) > DEPTH:
                column, add = 0, 0
            height += add
            columns.append(column)
        found.append(np.array(columns))
    return found


@pytest.mark.parametrize("depth", [1, 5, 20])
def test_a_counter_that_hardly_drifts_is_proved_to_a_great_length(depth):
    found = counter_bound(counting_model("a"), MACHINE, UNIT, depth=depth, length=150)
    assert found.reached
    assert found.length == 150
    assert 0 < found.drift < 0.1
    assert f"depth up to {depth}" in str(found)


def test_what_runs_stays_in_the_boxes():
    for model in (counting_model("a"), leaky(), leaky(5.0, 0.3), leaky(8.0, -0.2)):
        proof = _Proof(model, MACHINE, UNIT, DEPTH)
        boxes = [proof.start()]
        for _ in range(12):
            hidden = proof.layer.recurrent.range(*boxes[-1].alpha)
            boxes.append(proof.advance(boxes[-1], hidden))
        words = sequences(12, 60, seed=1)
        batch = make_batch(
            [w + FIRST_SYMBOL for w in words], np.zeros(60, np.int64), order=np.arange(60)
        )
        with torch.inference_mode():
            trace = model.network.trace(batch)
        for row, index in enumerate(batch.order.tolist()):
            state, counter, height = proof.machine.initial, 0, 0
            for time, column in enumerate([None, *words[index].tolist()]):
                if column is not None:
                    view = proof.clipped(counter)
                    add = int(proof.adds[state, view, column])
                    state = int(proof.moves[state, view, column])
                    counter, height = counter + add, height + int(proof.heights[column])
                memory = trace.memory[row, time].double().numpy()
                probs = trace.probs[row, time].double().numpy()
                held = [
                    (boxes[time].memory[0][i] <= memory).all()
                    and (memory <= boxes[time].memory[1][i]).all()
                    and (boxes[time].alpha[0][i] <= probs).all()
                    and (probs <= boxes[time].alpha[1][i]).all()
                    for key, i in boxes[time].index.items()
                    if key[:3] == (state, counter, height)
                ]
                assert any(held)


def test_drift_ends_the_proof_before_the_network_errs():
    model = leaky()
    found = counter_bound(model, MACHINE, UNIT, depth=DEPTH, length=400)
    assert 3 <= found.length < 400
    assert not found.reached
    assert "not certain" in found.reason
    words = ["(" * DEPTH + "a" * n + ")" * DEPTH for n in range(400)]
    batch = make_batch(
        model.alphabet.encode_many(words), np.zeros(400, np.int64), order=np.arange(400)
    )
    with torch.inference_mode():
        classes = model.network(batch).argmax(-1).numpy()
    wrong = [len(words[index]) for row, index in enumerate(batch.order) if not classes[row]]
    assert wrong
    assert found.length < min(wrong)


def test_a_wrong_machine_and_a_missing_latch_are_not_proved():
    other = replace(MACHINE, outputs=tuple(tuple(not x for x in row) for row in MACHINE.outputs))
    assert counter_bound(counting_model("a"), other, UNIT, depth=3, length=5).length == -1
    found = counter_bound(counting_model("a", latch=False), MACHINE, UNIT, depth=3, length=5)
    assert found.length == 0  # it accepts ")", which is not above 0


def test_the_counting_unit_is_found():
    model = counting_model("a")
    unit = find_counter(model, MACHINE)
    assert unit.unit == 0
    assert unit.step == pytest.approx(1, abs=1e-3)
    assert counter_bound(model, MACHINE, depth=3, length=20).reached


def test_networks_without_a_memory_are_refused():
    model = counting_model("a")
    model.network.rnn.similarity = object()
    with pytest.raises(ReadingError, match="similarity is"):
        counter_bound(model, MACHINE, UNIT, depth=1, length=1)
