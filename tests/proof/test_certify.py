"""Proofs: attacked with words and mixtures, refused where they must be."""

from __future__ import annotations

import itertools
import json
from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest
import torch
from hard_machine import HardMachine
from random_models import (
    KINDS,
    at_the_edge,
    built_model,
    largest_temperature,
    permutations,
    random_model,
)

from kleene.automata import DFA
from kleene.data.alphabet import FIRST_SYMBOL
from kleene.data.batch import make_batch
from kleene.errors import AlphabetError, AutomatonError, ExtractionError
from kleene.machine import run
from kleene.model import Model
from kleene.nn.classifier import Classifier
from kleene.nn.similarity import scores
from kleene.passes.table import transition_table
from kleene.proof.certificate import Certificate, Refusal
from kleene.proof.certify import certify


def hard(model: Model) -> bool:
    return model.network.config.transition in ("soft-argmax", "gumbel-hard")


def random_words(symbols: int, seed: int) -> list[np.ndarray]:
    random = np.random.default_rng(seed)
    lengths = [*range(12)] * 4 + [50, 300]
    return [random.integers(0, symbols, n) + FIRST_SYMBOL for n in lengths]


def soft_labels(model: Model, words: list[np.ndarray]) -> list[object]:
    batch = make_batch(words, np.zeros(len(words), np.int64), order=np.arange(len(words)))
    with torch.inference_mode():
        classes = model.network(batch).argmax(-1).tolist()
    found: list[object] = [None] * len(words)
    for row, index in enumerate(batch.order.tolist()):
        found[index] = model.classes[classes[row]]
    return found


def extreme_mixtures(lo: np.ndarray, hi: np.ndarray, seed: int) -> np.ndarray:
    """Corners of a box of mixtures: the mass left over lo is handed out in a random order."""
    random = np.random.default_rng(seed)
    corners = []
    for _ in range(40):
        alpha, left = lo.copy(), 1 - lo.sum()
        for j in random.permutation(len(lo)):
            step = min(left, hi[j] - lo[j])
            alpha[j] += step
            left -= step
        corners.append(alpha)
    inner = random.dirichlet(np.ones(len(corners)), 20) @ np.array(corners)
    return np.concatenate([corners, inner])


@pytest.mark.parametrize("kind", range(len(KINDS)), ids=lambda kind: str(KINDS[kind]))
def test_real_runs_stay_inside_the_boxes(kind):
    model, certificate = at_the_edge(kind)
    words = random_words(len(model.alphabet.symbols), seed=1)
    batch = make_batch(words, np.zeros(len(words), np.int64), order=np.arange(len(words)))
    with torch.inference_mode():
        trace = model.network.trace(batch)
    for row, index in enumerate(batch.order.tolist()):
        place = 0
        for time, token in enumerate([None, *words[index].tolist()]):
            if token is not None:
                place = certificate.transitions[place, token - FIRST_SYMBOL]
            for i, layer in enumerate(trace.layers):
                probs = layer.probs[row, time].double().numpy()
                if hard(model):
                    probs = np.eye(len(probs))[int(layer.states[row, time])]
                assert (certificate.lo[place, i] <= probs).all()
                assert (probs <= certificate.hi[place, i]).all()
    symbols = [model.alphabet.decode(word) for word in words]
    assert soft_labels(model, words) == [certificate.dfa.run(word) for word in symbols]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("kind", range(len(KINDS)), ids=lambda kind: str(KINDS[kind]))
def test_no_mixture_in_a_box_steps_out_of_its_box(kind, dtype):
    model, certificate = at_the_edge(kind)
    network = deepcopy(model.network).to(dtype)
    rnn = network.rnn
    layers = range(rnn.num_layers)
    with torch.inference_mode():
        for place, (lo, hi) in enumerate(zip(certificate.lo, certificate.hi, strict=True)):
            corners = [extreme_mixtures(lo[i], hi[i], seed=place + i) for i in layers]
            h = [torch.from_numpy(corners[i]).to(dtype) @ rnn.centroids(i) for i in layers]
            right = model.classes.index(certificate.dfa.outputs[certificate.dfa_states[place]])
            assert (network.classify(h, [None for _ in layers]).argmax(-1) == right).all()
            for column in range(len(model.alphabet.symbols)):
                x = network.embedding.weight[column + FIRST_SYMBOL].expand(len(h[0]), -1)
                target = certificate.transitions[place, column]
                for i in layers:
                    S = rnn.centroids(i)
                    u, _ = rnn.recurrence(i).end(rnn.project(x, i), h[i], None)
                    after = torch.softmax(scores(rnn.similarity, S, u) / rnn.temperature, -1)
                    if hard(model):
                        after = torch.eye(len(S), dtype=dtype)[after.argmax(-1)]
                    assert (certificate.lo[target, i] <= after.double().numpy()).all()
                    assert (after.double().numpy() <= certificate.hi[target, i]).all()
                    x = after @ S


def test_a_proof_never_contradicts_the_soft_network():
    """At temperatures where many networks no longer are their tables, those get no proof."""
    short = [np.array(w) + 4 for n in range(8) for w in itertools.product(range(2), repeat=n)]
    proved = contradicted = 0
    for seed in range(24):
        model = random_model(seed, temperature=(0.05, 0.3, 1.0)[seed % 3])
        dfa = transition_table(model).dfa
        labels = [dfa.run(model.alphabet.decode(word)) for word in short]
        agrees = soft_labels(model, short) == labels
        outcome = certify(model)
        proved, contradicted = proved + outcome.holds, contradicted + (not agrees)
        assert agrees or not outcome.holds
    assert proved >= 3
    assert contradicted >= 3


def test_the_boxes_follow_the_automaton():
    model = random_model(24)
    for dfa in (None, transition_table(model).dfa, transition_table(model).dfa.minimize()):
        found = certify(model, dfa)
        goal = found.dfa
        assert found.dfa_states[0] == goal.initial
        after = np.array(found.dfa_states)[found.transitions]
        assert (after == goal.transitions[list(found.dfa_states)]).all()
        assert goal == transition_table(model).dfa
        assert found.verification.margin > 0


@pytest.mark.parametrize("seed", range(4))
def test_a_network_built_from_an_automaton_is_proved_to_be_it(seed):
    dfa = permutations(6, "abc", seed)
    model = built_model(dfa, groups=3, temperature=0.2)
    assert certify(model, dfa).holds
    assert certify(model).dfa == dfa


def test_one_wrong_symbol_of_many_is_refused():
    dfa = permutations(6, tuple(f"word{i}" for i in range(300)), seed=0, groups=3)
    model = built_model(dfa, groups=3, temperature=0.1)
    with torch.no_grad():
        noise = torch.randn(300, 4, generator=torch.Generator().manual_seed(0))
        model.network.embedding.weight[FIRST_SYMBOL:] += 0.02 * noise
        model.network.embedding.weight[FIRST_SYMBOL] += 0.1
    assert certify(model, dfa).holds
    wrong = dfa.transitions.copy()
    wrong[0, 299] = (wrong[0, 299] + 1) % 6
    assert not certify(model, replace(dfa, transitions=wrong)).holds


def test_symbols_may_come_in_another_order():
    model = random_model(58, symbols="abc")
    dfa = transition_table(model).dfa.minimize()
    turned = replace(dfa, alphabet=dfa.alphabet[::-1], transitions=dfa.transitions[:, ::-1])
    assert certify(model, turned).holds


def test_states_that_no_word_reaches_do_not_matter():
    model = random_model(24)
    dfa = transition_table(model).dfa.minimize()
    rows = np.concatenate([dfa.transitions, dfa.transitions[:1]])
    wider = DFA(alphabet=dfa.alphabet, transitions=rows, outputs=(*dfa.outputs, "never"))
    assert certify(model, wider).holds


def test_twin_centroids_share_their_mass_and_are_still_proved():
    model = random_model(24)
    network = random_model(24, num_states=12).network
    weights = model.network.state_dict()
    weights["rnn.centroids_l0"] = weights["rnn.centroids_l0"].repeat(2, 1)
    network.load_state_dict(weights)
    twins = certify(replace(model, network=network))
    assert twins.holds
    assert twins.hi.max() < 0.55
    assert twins.dfa == certify(model).dfa


def test_every_wrong_transition_is_refused_with_a_word():
    model = random_model(24)
    dfa = transition_table(model).dfa.minimize()
    for state, column in itertools.product(range(dfa.num_states), range(len(dfa.alphabet))):
        table = dfa.transitions.copy()
        table[state, column] = (table[state, column] + 1) % dfa.num_states
        wrong = replace(dfa, transitions=table)
        refusal = certify(model, wrong)
        assert isinstance(refusal, Refusal)
        assert run(HardMachine(model), refusal.word) != wrong.run(refusal.word)
        assert repr(refusal.word) in str(refusal)
    flipped = certify(model, dfa.complement())
    assert flipped.word == ""
    strange = certify(model, replace(dfa, outputs=tuple(map(str, dfa.outputs))))
    assert strange.word == ""


def test_a_temperature_too_high_is_refused_with_the_largest_that_closes():
    model = random_model(24)

    def at(temperature: float) -> Certificate | Refusal:
        model.network.rnn.temperature = temperature
        return certify(model)

    largest = largest_temperature(model)
    refusal = at(20 * largest)
    assert isinstance(refusal, Refusal)
    assert refusal.largest_temperature == pytest.approx(largest, rel=0.03)
    assert refusal.word is None
    assert refusal.state in {state for (state,) in transition_table(model).states}
    assert refusal.symbol in (*model.alphabet.symbols, None)
    assert f"{refusal.largest_temperature:.3g}" in str(refusal)
    assert at(0.97 * refusal.largest_temperature).holds
    assert not at(1.05 * refusal.largest_temperature).holds
    assert json.loads(refusal.to_json())["state"] == refusal.state


@pytest.mark.parametrize("transition", ["mixture", "soft-argmax"])
@pytest.mark.parametrize(("bias", "proved"), [(0.0, False), (1e-7, False), (0.1, True)])
def test_a_tie_that_rounding_decides_has_no_proof(transition, bias, proved):
    """u = tanh(bias) whatever came before; its sign says which of two centroids is nearer."""
    model = random_model(
        0, num_states=2, hidden_size=1, end_token=False, transition=transition, similarity="dot"
    )
    with torch.no_grad():
        for weight in model.network.parameters():
            weight.zero_()
        model.network.rnn.temperature = 0.02
        model.network.rnn.centroids().copy_(torch.tensor([[1.0], [-1.0]]))
        model.network.rnn.get_parameter("bias_ih_l0").fill_(bias)
        model.network.head.weight.copy_(torch.tensor([[-1.0], [1.0]]))
    outcome = certify(model)
    assert outcome.holds == proved
    if not proved:
        assert outcome.state in (0, 1)
        assert outcome.largest_temperature is None


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"cell": "lstm"}, "memory"),
        ({"transition": "sample"}, "transition in"),
        ({"pooling": "mean", "end_token": False}, "pools"),
        ({"num_states": 0}, "no centroids"),
    ],
)
def test_networks_that_no_proof_knows_are_refused_in_words(settings, says):
    config = random_model(0).network.config
    network = Classifier(replace(config, **settings))
    with pytest.raises(ExtractionError, match=says):
        certify(replace(random_model(0), network=network))


def test_another_alphabet_is_refused():
    other = DFA(alphabet="xy", transitions=[[0, 0]], outputs=(True,))
    with pytest.raises((AlphabetError, AutomatonError)):
        certify(random_model(24), other)


def test_json_brings_back_the_same_certificate(tmp_path):
    certificate = certify(random_model(5, symbols="abc", classes=("only",)))
    path = certificate.save(tmp_path / "proof.json")
    again = Certificate.load(path)
    assert again.to_json() == certificate.to_json()
    assert np.isinf(certificate.verification.output_margin)  # one class has no competitor
    assert again.verification is None
    assert "not verified yet" in str(again)
    for text in ("{", "[]", '{"format": "kleene.certificate/1"}', '{"format": "x"}'):
        with pytest.raises(ExtractionError, match="kleene certify"):
            Certificate.from_json(text)
    with pytest.raises(ExtractionError, match="cannot read"):
        Certificate.load(tmp_path / "nothing.json")
