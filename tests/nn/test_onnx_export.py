"""ONNX files of networks, run by onnxruntime, against torch."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import onnxruntime
import pytest
import torch

from kleene.data.alphabet import Alphabet
from kleene.data.batch import make_batch
from kleene.errors import SettingError
from kleene.export.onnx_network import to_onnx
from kleene.model import Model
from kleene.model_folder import model_digest
from kleene.nn.classifier import Classifier
from kleene.nn.config import CELLS, SIMILARITIES, NetworkConfig
from kleene.nn.transition import soft_argmax

SYMBOLS, CLASSES = 9, 3
TRANSITIONS = ("mixture", "soft-argmax", "gumbel", "gumbel-hard")


def network(**settings: Any) -> Classifier:
    """A random network with weights large enough for its states to differ."""
    torch.manual_seed(0)
    config = {"num_symbols": SYMBOLS, "num_classes": CLASSES, "input_size": 5, "hidden_size": 8}
    made = Classifier(NetworkConfig(**{**config, "num_states": 6, "temperature": 0.5, **settings}))
    with torch.no_grad():
        for weight in made.parameters():
            if weight.ndim > 1:
                weight.mul_(2)
    return made.eval()


def ragged(count: int, size: int = 0) -> list[np.ndarray]:
    """Words of 0 to 24 symbols, or of vectors."""
    random = np.random.default_rng(1)
    lengths = random.integers(0, 25, count)
    if size:
        return [random.normal(size=(n, size)).astype(np.float32) for n in lengths]
    return [random.integers(1, SYMBOLS, n) for n in lengths]


def run(content: bytes, words: list[np.ndarray]) -> dict[str, np.ndarray]:
    """What onnxruntime makes of the padded words."""
    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    lengths = np.array([len(word) for word in words], dtype=np.int64)
    shape = (len(words), lengths.max(initial=0), *words[0].shape[1:])
    padded = np.zeros(shape, dtype=words[0].dtype)
    for row, word in zip(padded, words, strict=True):
        row[: len(word)] = word
    names = [output.name for output in session.get_outputs()]
    given = {session.get_inputs()[0].name: padded, "lengths": lengths}
    return dict(zip(names, session.run(None, given), strict=True))


def assert_equal(made: Classifier, words: list[np.ndarray]) -> None:
    batch = make_batch(words)
    found = run(to_onnx(made, {}), words)
    with torch.no_grad():
        scores, trace = made(batch), made.trace(batch)
    np.testing.assert_allclose(found["scores"][batch.order], scores, atol=1e-5, rtol=0)
    probabilities = scores.softmax(-1)
    np.testing.assert_allclose(found["probabilities"][batch.order], probabilities, atol=1e-5)
    assert ("states" in found) == bool(made.rnn.num_states)
    if "states" in found:
        states = torch.where(trace.layers[-1].mask, trace.layers[-1].states, -1)
        assert (found["states"][batch.order] == states.numpy()).all()


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("transition", TRANSITIONS)
def test_cells_and_transitions(cell: str, transition: str) -> None:
    assert_equal(network(cell=cell, transition=transition), ragged(1000))


@pytest.mark.parametrize(
    "settings",
    [
        *({"similarity": similarity} for similarity in SIMILARITIES),
        *({"pooling": "states", "transition": transition} for transition in TRANSITIONS),
        *({"cell": cell, "num_states": 0, "num_layers": 2} for cell in CELLS),
        *({"cell": cell, "end_token": False} for cell in ("rnn", "lstm")),
        {"cell": "lstm", "end_token": False, "num_states": 0},
        *(
            {"cell": cell, "num_layers": 3, "pooling": pooling}
            for cell in ("gru", "lstm-p")
            for pooling in ("last", "mean", "max", "states")
        ),
        *({"num_symbols": 0, "pooling": pooling} for pooling in ("last", "max")),
    ],
    ids=str,
)
def test_settings(settings: dict[str, Any]) -> None:
    size = 5 if settings.get("num_symbols") == 0 else 0
    assert_equal(network(**settings), ragged(300, size))


def test_temperatures_that_differ_by_layer() -> None:
    made = network(num_layers=2, learn_temperature=True)
    with torch.no_grad():
        made.rnn.get_parameter("log_temperature_l1").fill_(1.0)
    assert_equal(made, ragged(300))


@pytest.mark.parametrize("words", [[np.zeros(0, np.int64)], [np.array([4])] * 7])
def test_any_batch_and_length(words: list[np.ndarray]) -> None:
    assert_equal(network(), words)


def test_a_drawing_network_is_refused_until_told_how_to_choose() -> None:
    made = network(transition="sample")
    with pytest.raises(SettingError, match="soft_argmax or mixture"):
        to_onnx(made, {})
    made.rnn.transition = soft_argmax
    assert_equal(made, ragged(50))


def test_a_model_tells_what_its_numbers_mean() -> None:
    model = Model(
        network=network(num_symbols=6), alphabet=Alphabet("ab"), classes=("x", "y", ("z", 1))
    )
    session = onnxruntime.InferenceSession(model.to_onnx(), providers=["CPUExecutionProvider"])
    about = json.loads(session.get_modelmeta().custom_metadata_map["kleene"])
    assert about["classes"] == ["x", "y", ["z", 1]]
    assert about["decide_by"] == "scores"
    assert "highest score" in about["proofs"]
    assert about["model_sha256"] == model_digest(model.to_files())
    symbols = {symbol: about["first_id"] + i for i, symbol in enumerate(about["symbols"])}
    ids = [symbols.get(symbol, about["unknown_id"]) for symbol in "abba!"]
    assert ids == model.alphabet.encode("abba!").tolist()
