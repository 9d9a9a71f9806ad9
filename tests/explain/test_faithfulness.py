"""Attributions against their definitions, and curves against words cut by hand."""

import json

import numpy as np
import pytest
import torch
from toy_readers import ALPHABET, toy_model, toy_network, toy_words

from kleene.data.batch import make_batch
from kleene.errors import DataError
from kleene.evaluation.metrics import logits
from kleene.explain.attribution import ByStates, IntegratedGradients, Occlusion, Random
from kleene.explain.captum_peer import CaptumGradients
from kleene.explain.explain import explain_many
from kleene.explain.faithfulness import Curves, Faithfulness, faithfulness
from kleene.explain.scoring import margins

WORDS = [word for word in toy_words(25) if word]
ENCODED = ALPHABET.encode_many(WORDS)


def log_odds(network, word, label: int) -> float:
    return float(margins(logits(network, [word]), torch.tensor([label])))


def test_our_weights_are_those_of_explanations() -> None:
    network = toy_network()
    predicted = logits(network, ENCODED).argmax(-1).numpy()
    for method in ("level", "change", "evidence"):
        explained = explain_many(toy_model(network), WORDS, method=method)
        weights = ByStates(method)(network, ENCODED, predicted)
        assert all(np.allclose(a, e.weights) for a, e in zip(weights, explained, strict=True))


def test_occlusion_leaves_out_one_symbol_at_a_time() -> None:
    network = toy_network()
    labels = np.arange(len(ENCODED)) % 2
    weights = Occlusion()(network, ENCODED, labels)
    for word, label, found in zip(ENCODED, labels, weights, strict=True):
        whole = log_odds(network, word, label)
        for t in range(len(word)):
            without = np.concatenate([word[:t], word[t + 1 :]])
            assert found[t] == pytest.approx(whole - log_odds(network, without, label), abs=1e-3)


@pytest.mark.parametrize("pooling", ["last", "mean"])
def test_integrated_gradients_are_complete(pooling: str) -> None:
    network = toy_network(pooling=pooling)
    with torch.no_grad():
        network.embedding.weight /= 3  # a gentle path, which few points follow well
    few = ENCODED[:8]
    labels = np.arange(len(few)) % 2
    found = IntegratedGradients(steps=50, batch_size=5)(network, few, labels)
    zeros = {"embedding.weight": network.embedding.weight.detach().clone()}
    zeros["embedding.weight"][1] = 0  # the unknown symbol stands for nothing
    for word, label, weights in zip(few, labels, found, strict=True):
        assert weights.shape == word.shape
        with torch.inference_mode():
            nothing = torch.func.functional_call(
                network, zeros, (make_batch([np.ones_like(word)]),)
            )
        baseline = float(margins(nothing, torch.tensor([label])))
        expected = log_odds(network, word, label) - baseline
        assert weights.sum() == pytest.approx(expected, abs=0.01 + 0.01 * abs(expected))


def test_curves_are_probabilities_of_words_cut_by_hand() -> None:
    network = toy_network()
    fractions = (0.0, 0.3, 0.5, 1.0)
    measured = faithfulness(network, ENCODED, {"level": ByStates()}, fractions=fractions)
    assert [curves.method for curves in measured.curves] == ["random", "level"]
    predicted = logits(network, ENCODED).argmax(-1).numpy()
    for name, method in {"random": Random(), "level": ByStates()}.items():
        weights = method(network, ENCODED, predicted)
        for i, word in enumerate(ENCODED):
            order = sorted(range(len(word)), key=lambda t: -weights[i][t])
            for j, fraction in enumerate(fractions):
                out = set(order[: round(fraction * len(word))])
                kept = [x for t, x in enumerate(word) if t not in out]
                moved = [x for t, x in enumerate(word) if t in out]
                for values, rest in (
                    (measured[name].deletion, kept),
                    (measured[name].insertion, moved),
                ):
                    scores = logits(network, [np.array(rest, dtype=np.int64)])
                    p = scores.softmax(-1)[0, predicted[i]]
                    assert values[i, j] == pytest.approx(float(p), abs=1e-4)


def test_areas_are_those_of_trapezia() -> None:
    curves = Curves(
        method="m",
        fractions=np.array([0, 0.5, 1]),
        deletion=np.array([[1.0, 0.5, 0.0], [1.0, 0.0, 0.0]]),
        insertion=np.array([[0.0, 1.0, 1.0], [0.0, 0.5, 1.0]]),
        milliseconds=1.0,
    )
    assert curves.deletion_areas.tolist() == [0.5, 0.25]
    assert curves.insertion_area == pytest.approx((0.75 + 0.5) / 2)


def test_only_what_is_better_than_chance_is_said_to_be() -> None:
    random = np.random.default_rng(0)
    fractions = np.array([0.0, 1.0])

    def curves(method: str, shift: float) -> Curves:
        noise = random.normal(0, 0.1, (100, 2))
        return Curves(
            method=method,
            fractions=fractions,
            deletion=0.5 - shift + noise,
            insertion=0.5 + shift + noise,
            milliseconds=1.0,
        )

    made = (curves("random", 0), curves("good", 0.2), curves("bad", -0.2))
    measured = Faithfulness(curves=made)
    assert measured.beats_chance("good") == (True, True)
    assert measured.beats_chance("bad") == (False, False)
    lines = str(measured).splitlines()
    assert "deletion and insertion" in lines[2]
    assert " no " in lines[3]
    content = json.loads(json.dumps(measured.to_dict()))
    assert content["methods"]["bad"]["beats_chance"] == {"deletion": False, "insertion": False}
    assert measured._repr_html_().count("<tr>") == 4


def test_empty_words_are_refused() -> None:
    with pytest.raises(DataError, match="at least one symbol"):
        faithfulness(toy_network(), ALPHABET.encode_many([("good",), ()]), {})


@pytest.mark.parametrize("pooling", ["last", "max"])
def test_integrated_gradients_are_those_of_captum(pooling: str) -> None:
    pytest.importorskip("captum")
    network = toy_network(pooling=pooling)
    labels = np.arange(len(ENCODED)) % 2
    ours = IntegratedGradients(steps=8)(network, ENCODED, labels)
    theirs = CaptumGradients(steps=8)(network, ENCODED, labels)
    for mine, found in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(mine, found, atol=2e-4)
