"""Explanations against the trace of each word alone, and how they show."""

import json
from xml.etree import ElementTree

import numpy as np
import pytest
import torch
from built_models import built_model
from toy_readers import ALPHABET, CLASSES, NETWORKS, toy_model, toy_network, toy_words

from kleene.data.batch import make_batch
from kleene.errors import ExtractionError, SettingError
from kleene.evaluation.metrics import logits
from kleene.evaluation.percent import probability_text
from kleene.explain.explain import explain, explain_many
from kleene.explain.traces import margins, state_labels, state_scores
from kleene.languages import tomita
from kleene.model import Model
from kleene.nn.classifier import lead, state_weights


@pytest.mark.parametrize("settings", NETWORKS, ids=str)
def test_an_explanation_is_what_the_trace_says(settings: dict) -> None:
    network, words = toy_network(**settings), toy_words()
    labels = state_labels(toy_model(network))
    explained = explain_many(toy_model(network), words, method="level")
    for word, found in zip(words, explained, strict=True):
        with torch.inference_mode():
            batch = make_batch([ALPHABET.encode(word)])
            trace, scores = network.trace(batch), network(batch)[0]
        P = trace.probs[0].numpy()
        assert found.word == word
        assert np.allclose(found.probs, P[1:], atol=1e-5)
        assert np.allclose(found.probabilities, scores.softmax(-1), atol=1e-5)
        assert found.prediction == CLASSES[scores.argmax()]
        assert found.final_state == trace.states[0, -1] == P[-1].argmax()
        assert found.start_state == P[0].argmax()
        assert found.states.tolist() == P[1:].argmax(-1).tolist()
        assert found.state_labels == labels
        assert np.allclose(found.weights, P[1:, found.predicting_state], atol=1e-5)


def test_the_predicting_state_agrees_with_the_prediction_where_one_can() -> None:
    seen = set()
    for seed in range(6):
        network, words = toy_network(seed=seed), toy_words(40)
        classes = [CLASSES[i] for i in state_scores(network).argmax(-1)]
        for found in explain_many(toy_model(network), words):
            agreeing = [i for i, label in enumerate(classes) if label == found.prediction]
            if found.final_state in agreeing or not agreeing:
                expected, case = found.final_state, "last"
            else:
                expected = max(agreeing, key=lambda i: found.probs[:, i].sum())
                case = "most visited"
            assert found.predicting_state == expected
            seen.add(case)
    assert seen == {"last", "most visited"}


@pytest.mark.parametrize("classes", [2, 3])
def test_contributions_add_up_to_the_lead_of_the_prediction(classes: int) -> None:
    labels = ("no", "yes", "maybe")[:classes]
    network = toy_network(pooling="states", num_classes=classes)
    network.typical[1] = 0.5
    model = Model(network=network, alphabet=ALPHABET, classes=labels)
    scores = logits(network, ALPHABET.encode_many(toy_words()))
    for found, row in zip(explain_many(model, toy_words()), scores, strict=True):
        label = torch.tensor([labels.index(found.prediction)])
        assert found.method == "contribution"
        assert found.lead == pytest.approx(float(lead(row[None], label)), abs=1e-5)
        assert found.weights.sum() + found.rest == pytest.approx(found.lead, abs=1e-5)
        assert f"{found.lead:+.2f} =" in str(found)
        assert f"{found.lead:+.2f} =" in found.to_html()
    by_evidence = explain(model, toy_words()[0], method="evidence")
    assert (by_evidence.lead, by_evidence.rest) == (None, None)


def test_the_weights_of_states_decide_which_state_predicts() -> None:
    network = toy_network(pooling="states")
    mean, largest = state_weights(network)
    for found in explain_many(toy_model(network), toy_words()):
        if found.word:
            other = 1 - CLASSES.index(found.prediction)
            P = torch.from_numpy(found.probs)
            start = network.trace(make_batch([ALPHABET.encode(())])).probs[0].detach()
            P = torch.cat([start, P])
            own = P.mean(0)[:, None] * mean + P.amax(0)[:, None] * largest
            assert found.predicting_state == (own[:, 1 - other] - own[:, other]).argmax()


@pytest.mark.parametrize("settings", NETWORKS, ids=str)
def test_evidence_adds_up(settings: dict) -> None:
    network = toy_network(**settings)
    words = [*toy_words(), toy_words()[0] * 5]
    for found in explain_many(toy_model(network), words, method="evidence"):
        pair = logits(network, ALPHABET.encode_many([found.word, ()]))
        label = CLASSES.index(found.prediction)
        whole, empty = margins(pair, torch.tensor([label, label]))
        assert found.weights.sum() == pytest.approx(float(whole - empty), abs=1e-3)


def test_one_word_is_explained_as_among_many() -> None:
    network, words = toy_network(), toy_words()
    among = explain_many(toy_model(network), words)[3]
    alone = explain(toy_model(network), words[3])
    assert np.allclose(alone.weights, among.weights, atol=1e-6)
    assert explain_many(toy_model(network), []) == []


def test_an_explanation_shows_everywhere() -> None:
    found = explain(toy_model(), ("the", "<b>film</b>", "&", "\x1b[31m"))
    content = json.loads(json.dumps(found.to_dict()))
    assert content["word"] == list(found.word)
    assert np.allclose(content["probs"], found.probs, atol=1e-5)
    assert sum(content["probabilities"].values()) == pytest.approx(1, abs=1e-5)
    html = found.to_html()
    assert html == found._repr_html_()
    assert "&lt;b&gt;film" in html
    assert "<b>film" not in html
    assert "\x1b" not in html
    ElementTree.fromstring(html.replace("&nbsp;", " "))
    assert "\x1b[31m" not in found.to_text(colors=True).replace("\x1b[0m", "")
    assert str(found).startswith(f"{found.prediction} ({probability_text(found.probability)})")


@pytest.mark.parametrize(
    "word", [(), ("привет", "мир"), ("映", "画"), ("שלום",), ("नमस्ते",), ("\ud800", "👍🏽")]
)
def test_empty_words_and_other_scripts(word: tuple[str, ...]) -> None:
    found = explain(toy_model(), word)
    assert len(found.word) == len(word)
    for shown in (found.to_html(), found.to_text(colors=True), str(found)):
        shown.encode()


def test_a_document_of_fifty_thousand_tokens() -> None:
    network = toy_network()
    word = tuple(np.random.default_rng(0).choice(ALPHABET.symbols, 50_000).tolist())
    long, short = explain_many(toy_model(network), [word, word[:5]])
    assert long.probs.shape == (50_000, 4)
    assert np.allclose(long.probs[:5], short.probs, atol=1e-5)
    assert len(long.to_html()) > 50_000


def test_vectors_are_explained_as_numbers() -> None:
    network = toy_network(num_symbols=0, input_size=1)
    pixels = np.random.default_rng(0).random((12, 1)).astype(np.float32)
    found = explain(toy_model(network), pixels)
    assert found.word[0] == pytest.approx(pixels[0, 0], abs=1e-4)
    flat = explain(toy_model(network), pixels[:, 0])
    assert np.array_equal(flat.probs, found.probs)


def test_an_automaton_shows_its_path_and_the_step_that_decides() -> None:
    model = built_model(tomita(4).dfa)  # rejects words with 000
    found = explain(model, "0100011")
    assert (found.method, found.prediction) == ("evidence", False)
    assert found.weights.argmax() == 4
    assert found.deciding_step == 5  # symbols count from 1
    assert "decided by symbol 5, '0'" in str(found)
    parity = explain(built_model(tomita(5).dfa), "0011")
    assert np.sign(parity.weights).tolist() == [-1, 1, -1, 1]


def test_tiny_differences_stay_pale() -> None:
    network = toy_network(cell="gru")
    with torch.no_grad():
        network.head.weight *= 1e-3
    for method in ("evidence", "level"):
        found = explain(toy_model(network), ("good", "bad", "film"), method=method)
        assert np.abs(found.strengths).max() <= np.abs(found.weights).max() / 0.5 + 1e-6
    faint = explain(toy_model(network), ("good", "bad", "film"), method="evidence")
    assert np.abs(faint.strengths).max() < 0.05
    assert "marks:" not in str(faint)
    assert faint.to_dict()["scale"] == faint.scale >= 1


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("settings", NETWORKS, ids=str)
def test_notebooks_show_without_a_warning(settings: dict) -> None:
    for found in explain_many(toy_model(**settings), [(), ("good",), ("unheard", "bad")]):
        assert found._repr_html_() == found.to_html()


def test_mistakes_are_named() -> None:
    with pytest.raises(SettingError, match="must be one of level, evidence"):
        explain(toy_model(), ("good",), method="magic")
    with pytest.raises(ExtractionError, match="pooling='states'"):
        explain(toy_model(), ("good",), method="contribution")
    with pytest.raises(ExtractionError, match="no states"):
        explain(toy_model(num_states=0), ("good",))
