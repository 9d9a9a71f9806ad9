"""Counter proofs: the prover's boxes, the certificate, and the verifier with its own bounds."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import islice

import numpy as np
import pytest
import torch
from counting_network import counting_model
from paper.counter_reading import balanced

from kleene.automata import CounterMachine
from kleene.cli import main
from kleene.data.alphabet import FIRST_SYMBOL
from kleene.data.batch import make_batch
from kleene.errors import ExtractionError
from kleene.model import Model
from kleene.passes.memory import CountingUnit
from kleene.proof import verify_counter
from kleene.proof.certificate import CounterCertificate
from kleene.proof.counter import CounterBound, counter_bound, find_counter
from kleene.proof.verify import enclosed, read_machine, verify
from kleene.proof.verify_core import F, NotProvedError
from kleene.proof.verify_files import COUNTERS, load_model

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


def bound(model: Model, machine: CounterMachine = MACHINE, depth: int = DEPTH, length: int = 400):
    return counter_bound(model, machine, UNIT, depth=depth, length=length)


def opened(model: Model, machine: CounterMachine = MACHINE):
    """The model and the machine as the verifier reads them."""
    folder = load_model(model.to_files(), COUNTERS)
    return folder.network, read_machine(folder, json.loads(machine.to_json()))


def proves(model: Model, length: int, machine: CounterMachine = MACHINE) -> bool:
    """Whether the verifier alone proves a length."""
    try:
        verify_counter.check(*opened(model, machine), DEPTH, length, 0, 1.0)
    except NotProvedError:
        return False
    return True


def sequences(length: int, count: int, seed: int) -> list[np.ndarray]:
    """Random columns whose heights stay within the depth."""
    random = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        height, columns = 0, []
        for column in random.integers(0, 3, length).tolist():
            add = (0, 1, -1)[column]
            column, add = (0, 0) if abs(height + add) > DEPTH else (column, add)
            height += add
            columns.append(column)
        found.append(np.array(columns))
    return found


@pytest.mark.parametrize("depth", [1, 5, 20])
def test_a_counter_that_hardly_drifts_is_proved_to_a_great_length(depth):
    found = bound(counting_model("a"), depth=depth, length=150)
    assert found.reached
    assert found.length == 150
    assert 0 < found.drift < 0.1
    assert f"of depth up to {depth} and length up to 150" in str(found)


@pytest.mark.parametrize("model", [counting_model("a"), leaky(), leaky(5.0, 0.3), leaky(8.0, -0.2)])
def test_what_runs_stays_in_the_boxes(model):
    net, machine = opened(model)
    boxes = list(islice(verify_counter.families(net, machine, DEPTH, 0, 1.0), 13))
    words = sequences(12, 60, seed=1)
    batch = make_batch([w + FIRST_SYMBOL for w in words], np.zeros(60, int), order=np.arange(60))
    with torch.inference_mode():
        trace = model.network.trace(batch)
    for row, index in enumerate(batch.order.tolist()):
        place = (machine.start, 0, 0)
        for time, column in enumerate([None, *words[index].tolist()]):
            if column is not None:
                place = machine.after(place, column, machine.rises())
            family = boxes[time]
            c = trace.memory[row, time].double().numpy()
            p = trace.probs[row, time].double().numpy()
            inside = [
                ((low <= point) & (point <= high)).all(1)
                for (low, high), point in ((family.memory, c), (family.alpha, p))
            ]
            assert any(family.places[i] == place for i in np.flatnonzero(inside[0] & inside[1]))


@pytest.mark.parametrize("exact", [False, True])
def test_steps_of_the_verifier_hold_what_runs(exact):
    """One cell application from random boxes, in float64 at points of them."""
    net, _ = opened(leaky(3.0, 0.4))
    P, random = net.layers[0].P, np.random.default_rng(0)
    bounded = enclosed(net) if exact else net
    for _ in range(60):
        gates = random.normal(0, 3, (2, 1, 8)) + np.array([[[-1e-2]], [[1e-2]]])
        hidden = random.normal(0, 1, (2, 10))
        memory = random.normal(0, 4, (2, 1, 2))
        for box in (gates, hidden, memory):
            box.sort(0)
        u, after = verify_counter.cell(bounded, tuple(gates), tuple(hidden), tuple(memory))
        share = random.random((40, 1, 1))
        x = gates[0] + share * (gates[1] - gates[0])
        h = hidden[0] + random.random((40, 1, 10)) * (hidden[1] - hidden[0])
        c = memory[0] + random.random((40, 1, 2)) * (memory[1] - memory[0])
        i, f, g, o = np.split(x + h[..., :8], 4, -1)
        sigmoid = lambda v: 1 / (1 + np.exp(-v))  # noqa: E731
        new = sigmoid(f + P[1] * c) * c + sigmoid(i + P[0] * c) * np.tanh(g)
        out = sigmoid(o + P[2] * new) * np.tanh(new)
        for (low, high), points in ((after, new), (u, out)):
            assert (verify_counter.lower(low) <= points).all()
            assert (points <= verify_counter.upper(high)).all()


def test_drift_ends_both_proofs_before_the_network_errs():
    model = leaky()
    found = bound(model)
    assert 3 <= found.length < 400
    assert not found.reached
    assert "not certain" in found.reason
    assert proves(model, found.length)
    assert not proves(model, 100)
    words = ["(" * DEPTH + "a" * n + ")" * DEPTH for n in range(400)]
    batch = make_batch(model.alphabet.encode_many(words), np.zeros(400, int), order=np.arange(400))
    with torch.inference_mode():
        classes = model.network(batch).argmax(-1).numpy()
    wrong = [len(words[index]) for row, index in enumerate(batch.order) if not classes[row]]
    assert wrong
    assert found.length < min(wrong)


def test_a_wrong_machine_and_a_missing_latch_are_not_proved():
    other = replace(MACHINE, outputs=tuple(tuple(not x for x in row) for row in MACHINE.outputs))
    assert bound(counting_model("a"), other, 3, 5).length == -1
    assert not proves(counting_model("a"), 5, other)
    without = counting_model("a", latch=False)
    assert bound(without, depth=3, length=5).length == 0  # it accepts ")", which is not above 0
    assert not proves(without, 1)


def test_the_counting_unit_is_found():
    model = counting_model("a")
    unit = find_counter(model, MACHINE)
    assert unit.unit == 0
    assert unit.step == pytest.approx(1, abs=1e-3)
    assert counter_bound(model, MACHINE, depth=3, length=20).reached


# -- depth -----------------------------------------------------------------------------------------


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
    honest = bound(model)
    decoy = with_state(MACHINE, 1, reachable=False)
    assert (bound(model, decoy).length, bound(model, decoy).reached) == (honest.length, False)
    assert not bound(model, with_state(MACHINE, 1, reachable=True)).reached
    assert find_counter(model, decoy) == find_counter(model, MACHINE)
    for machine in (MACHINE, decoy):
        rises = opened(model, machine)[1].rises()
        assert dict(zip(model.alphabet.symbols, rises.tolist(), strict=True)) == {
            "a": 0, "(": 1, ")": -1,
        }  # fmt: skip
        assert not proves(model, 100, machine)


def test_a_depth_that_no_long_sequence_has_is_no_proof_of_long_sequences():
    rises = CounterMachine.from_rule(
        lambda state, clipped, symbol: (state, 1), start=0, alphabet="a()", accept={(0, 0)}
    )
    rises = replace(rises, outputs=((False, True, False),))
    found = bound(counting_model("a"), rises, 0, 50)
    assert (found.length, found.reached) == (0, False)
    assert "no sequence of this length stays within the depth" in str(found)
    with pytest.raises(NotProvedError, match="no sequence of this length"):
        verify_counter.check(*opened(counting_model("a"), rises), 0, 50, 0, 1.0)


@pytest.mark.parametrize("p", [-0.5, 0.4])
def test_the_memory_that_is_kept_is_bounded_where_it_hardly_grows(p):
    """At slopes near 0 the errors of function and sums decide whether the product is monotone."""
    width = 1e-6
    model = leaky(6.0, p)
    net, _ = opened(model)
    peephole = net.layers[0].P[1]
    a = np.repeat(np.linspace(-1, 6, 200)[:, None], 2, 1)
    low, high = np.zeros_like(a), np.full_like(a, 100.0)
    for _ in range(80):  # to where sigmoid(a + p c) c hardly rises at its least and steepest
        c = (low + high) / 2
        gates = [
            1 / (1 + np.exp(-end))
            for end in verify_counter.peep(net, (a, a), peephole, (c, c + width))
        ]
        steepest = np.maximum(*(gate * (1 - gate) for gate in gates))
        steepest[(gates[0] < 0.5) & (gates[1] > 0.5)] = 0.25
        rises = gates[0] + p * (c + width) * steepest > 1e-7
        low, high = np.where(rises, c, low), np.where(rises, high, c)
    ends = low, low + width
    least, most = verify_counter.kept_memory(net, (a, a), peephole, ends)
    for c in ends:
        error = net.g * (abs(peephole * c) + abs(a))
        for sign, limit in ((-1, least), (1, most)):
            gate = 1 / (1 + np.exp(-(a + peephole * c + sign * error))) + sign * F
            assert (sign * (np.clip(gate, 0, 1) * c - limit)[:, 0] <= 1e-13).all()


def test_wide_memories_round_in_longer_sums():
    """The scores of the classes are sums over the hidden vector and the memory."""
    net, _ = opened(counting_model("a"))
    hidden = 300
    wide = replace(
        net,
        H=np.zeros((2, 2 * hidden)),
        layers=(replace(net.layers[0], S=np.zeros((3, hidden))),),
    )
    assert wide.g >= 2 * hidden * 2.0**-24


# -- the certificate -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def proof() -> tuple[Model, CounterBound]:
    model = counting_model("a")
    return model, bound(model, depth=3, length=40)


def test_the_certificate_is_saved_loaded_and_verified(proof, tmp_path):
    model, found = proof
    again = CounterCertificate.load(found.certificate.save(tmp_path / "proof.json"))
    assert again.to_json() == found.certificate.to_json()
    assert again.verification is None
    assert "not verified yet" in str(again)
    document = again.to_dict()
    model.save(tmp_path / "model")
    MACHINE.save(tmp_path / "machine.json")
    files = [str(tmp_path / name) for name in ("model", "machine.json", "proof.json")]
    for exact in (False, True):
        result = verify(*files, exact=exact)
        assert result.holds
        assert result.claim == document["claim"]
        assert "of depth up to 3 and length up to 40" in str(result)
        assert result.output_margin > 0
        assert main(["verify", *files, *(["--exact"] if exact else [])]) == 0
    with pytest.raises(ExtractionError, match="format"):
        CounterCertificate.from_json({**document, "format": "kleene.certificate/3"})


FORGERIES = {
    "another depth": {"depth": 30},
    "another length": {"length": 41},
    "depth as a fraction": {"depth": 3.0},
    "true as a length": {"length": True},
    "a negative length": {"length": -1},
    "the claim of all lengths": {"claim": "on every sequence"},
    "another digest": {"model_sha256": "0" * 64},
    "another temperature": {"temperatures": [0.5]},
    "no temperature": {"temperatures": []},
    "another door": {"door": "text in, label out"},
    "depth measured by other numbers": {"rises": [1, 1, 1]},
    "depth that stops with the counter": {"rises": None},
    "a unit that is not there": {"unit": 2},
    "a unit of no step": {"step": 0.0},
    "a step that is not a number": {"step": float("nan")},
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_certificate_is_refused(name, proof):
    model, found = proof
    document = found.certificate.to_dict()
    claimed = {**document, **FORGERIES[name]}
    if "claim" not in FORGERIES[name] and name.startswith("another"):
        claimed["claim"] = (
            document["claim"]
            .replace("depth up to 3 ", f"depth up to {claimed['depth']} ")
            .replace("length up to 40", f"length up to {claimed['length']}")
        )
    result = verify(model.to_files(), document["machine"], claimed)
    if name == "another length":  # a claim that is true: one symbol more
        assert result.holds
    elif name == "another depth":
        assert result.holds == bound(model, depth=30, length=40).reached
    else:
        assert not result.holds
        assert str(result).startswith("not proved: ")


def test_a_certificate_is_about_one_machine_and_one_model(proof):
    model, found = proof
    document = found.certificate.to_dict()
    machine = document["machine"]
    wrong = {**machine, "outputs": [[not x for x in row] for row in machine["outputs"]]}
    assert not verify(model.to_files(), wrong, document).holds
    assert not verify(model.to_files(), wrong, {**document, "machine": wrong}).holds
    other = leaky(20.5).to_files()
    assert "another model" in str(verify(other, machine, document))
    slow = leaky(4.0)
    forged = {**document, "model_sha256": load_model(slow.to_files(), COUNTERS).digest}
    assert "not certain" in str(verify(slow.to_files(), machine, forged))
    for key in ("rises", "machine", "unit", "depth"):
        assert not verify(model.to_files(), machine, {**document, key: "x"}).holds


def test_more_boxes_than_the_limit_are_refused(monkeypatch):
    monkeypatch.setattr(verify_counter, "MAX_BOXES", 5)
    with pytest.raises(NotProvedError, match="more than 5 boxes"):
        verify_counter.check(*opened(counting_model("a")), 3, 40, 0, 1.0)
