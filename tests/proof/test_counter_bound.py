"""Bounds of a counting network against its machine, up to a depth and a length."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from counting_network import counting_model
from paper.counter_reading import balanced

from kleene.automata import CounterMachine
from kleene.data.alphabet import FIRST_SYMBOL
from kleene.data.batch import make_batch
from kleene.errors import ExtractionError
from kleene.extraction.counter.units import CountingUnit
from kleene.model import Model
from kleene.proof.bounds import FUNCTION
from kleene.proof.counter import _Proof, counter_bound, find_counter

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
                    state, counter, height = proof.walk.step(state, counter, height, column)
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
    with pytest.raises(ExtractionError, match="similarity is"):
        counter_bound(model, MACHINE, UNIT, depth=1, length=1)


def with_state(machine: CounterMachine, adds: int, *, reachable: bool) -> CounterMachine:
    """The machine with one more state, which adds a number on every symbol for ever."""
    decoy, width = machine.num_states, len(machine.alphabet)
    moves = np.concatenate([machine.transitions, np.full((1, 3, width), decoy)])
    if reachable:
        moves[moves == machine.names.index("wrong")] = decoy
    rows = np.full((1, 3, width), adds)
    return replace(
        machine,
        transitions=moves,
        increments=np.concatenate([machine.increments, rows]),
        outputs=(*machine.outputs, (False,) * 3),
        names=None,
    )


def test_a_decoy_state_does_not_change_what_depth_is():
    model = leaky()
    honest = counter_bound(model, MACHINE, UNIT, depth=DEPTH, length=400)
    decoy = with_state(MACHINE, 1, reachable=False)
    found = counter_bound(model, decoy, UNIT, depth=DEPTH, length=400)
    assert (found.length, found.reached) == (honest.length, False)
    found = counter_bound(model, with_state(MACHINE, 1, reachable=True), UNIT, depth=4, length=400)
    assert not found.reached
    assert find_counter(model, decoy) == find_counter(model, MACHINE)


def test_a_depth_that_no_long_sequence_has_is_no_proof_of_long_sequences():
    rises = CounterMachine.from_rule(
        lambda state, clipped, symbol: (state, 1), start=0, alphabet="a()", accept={(0, 0)}
    )
    found = counter_bound(counting_model("a"), replace(rises, outputs=((False, True, False),)),
                          UNIT, depth=0, length=50)  # fmt: skip
    assert (found.length, found.reached) == (0, False)
    assert "no sequence of this depth has more than 0 symbols" in str(found)


def test_the_memory_that_is_kept_is_bounded_where_it_hardly_grows():
    """At slopes near 0 the errors of function and sums decide whether the product is monotone."""
    p, width = -0.5, 1e-6
    proof = _Proof(leaky(6.0, p), MACHINE, UNIT, DEPTH)
    a = np.repeat(np.linspace(-1, 6, 200)[:, None], 2, 1)
    low, high = np.zeros_like(a), np.full_like(a, 100.0)
    for _ in range(80):  # to where sigmoid(a + p c) c hardly rises at its least and steepest
        c = (low + high) / 2
        gates = [1 / (1 + np.exp(-end)) for end in proof.peep((a, a), 1, (c, c + width))]
        steepest = np.maximum(*(gate * (1 - gate) for gate in gates))
        steepest[(gates[0] < 0.5) & (gates[1] > 0.5)] = 0.25
        rises = gates[0] + p * (c + width) * steepest > 1e-7
        low, high = np.where(rises, c, low), np.where(rises, high, c)
    ends = low, low + width
    least, most = proof.kept((a, a), ends)
    for c in ends:
        error = proof.layer.slack * (abs(p * c) + abs(a))
        for sign, bound in ((-1, least), (1, most)):
            gate = 1 / (1 + np.exp(-(a + p * c + sign * error))) + sign * FUNCTION
            assert (sign * (gate * c - bound)[:, 0] <= 1e-13).all()
