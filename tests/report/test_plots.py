"""Pictures are drawn of the right things, and written whole."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from kleene.data.alphabet import Alphabet
from kleene.data.batch import make_batch
from kleene.errors import DataError, ExtractionError, SettingError
from kleene.model import Model
from kleene.nn.classifier import Classifier
from kleene.nn.config import NetworkConfig
from kleene.report.plots import BOLD, save, trajectories, tsne

WORD = "(a(a))"


def model(cell: str = "lstm-p", states: int = 4, *, counts: bool = False) -> Model:
    torch.manual_seed(0)
    config = NetworkConfig(
        num_symbols=7, num_classes=2, cell=cell, hidden_size=12, input_size=3, num_states=states
    )
    network = Classifier(config).eval()
    if counts:  # unit 5 gets open gates and writes +1 on "(", -1 on ")", 0 on "a"
        rnn, gates = network.rnn, [5, 12 + 5]
        with torch.no_grad():
            network.embedding.weight[4:7] = torch.tensor([[0.0, 0, 0], [1, 0, 0], [-1, 0, 0]])
            network.embedding.weight[2:4] = 0.0
            rnn.weight_ih_l0[24 + 5], rnn.weight_hh_l0[24 + 5] = torch.tensor([20.0, 0, 0]), 0.0
            rnn.bias_ih_l0[24 + 5] = rnn.bias_hh_l0[24 + 5] = 0.0
            rnn.bias_ih_l0[gates] = 30.0
    return Model(network=network, alphabet=Alphabet("a()"), classes=(False, True))


def test_lines_are_those_of_the_trace() -> None:
    made = model()
    figure = trajectories(made, WORD)
    with torch.inference_mode():
        trace = made.network.trace(make_batch(made.alphabet.encode_many([WORD])))
    for axes, values in zip(figure.axes, (trace.hidden, trace.memory), strict=False):
        assert len(axes.lines) == 10
        for line in axes.lines:
            unit = int(line.get_label().removeprefix("unit "))
            assert np.allclose(line.get_ydata(), values[0, :, unit].numpy(), atol=1e-6)


def test_the_counting_unit_is_bold() -> None:
    memory = trajectories(model(counts=True), WORD).axes[1]
    assert [line.get_label() for line in memory.lines if line.get_linewidth() == BOLD] == ["unit 5"]


def test_the_ribbon_tells_the_states_and_the_axis_the_word() -> None:
    made = model()
    ribbon = trajectories(made, WORD).axes[2]
    with torch.inference_mode():
        trace = made.network.trace(make_batch(made.alphabet.encode_many([WORD])))
    assert [text.get_text() for text in ribbon.texts] == [str(s) for s in trace.states[0].tolist()]
    assert "".join(text.get_text() for text in ribbon.get_xticklabels()) == f"·{WORD}"


def test_models_side_by_side_are_written_whole_in_every_format(tmp_path: Path) -> None:
    figure = trajectories({"LSTM": model("lstm", 0), "SR-LSTM-P": model()}, WORD * 20, units=3)
    assert [axes.get_title() for axes in figure.axes[:2]] == ["LSTM", "SR-LSTM-P"]
    for ending, start in (("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")):
        path = save(figure, tmp_path / f"picture.{ending}", dpi=50)
        assert path.read_bytes().startswith(start)
    with pytest.raises(SettingError, match="choose one of png, svg, pdf"):
        save(figure, tmp_path / "picture.gif")


def test_what_cannot_be_drawn_says_why() -> None:
    with pytest.raises(DataError, match="at least one symbol"):
        trajectories(model(), "")
    with pytest.raises(SettingError, match="units=0"):
        trajectories(model(), WORD, units=0)
    with pytest.raises(ExtractionError, match="no memory"):
        trajectories(model("gru"), WORD)


def test_points_are_coloured_by_label() -> None:
    random = np.random.default_rng(0)
    features = np.concatenate([random.normal(0, 0.1, (20, 4)), random.normal(3, 0.1, (20, 4))])
    figure = tsne(features, ["a"] * 20 + ["b"] * 20)
    first, second = (c.get_offsets() for c in figure.axes[0].collections)
    assert len(first) == len(second) == 20
    gap = np.linalg.norm(first.mean(0) - second.mean(0))
    assert gap > first.std()  # two clusters stay two
    with pytest.raises(DataError, match="at least 4 rows"):
        tsne(features[:2], ["a", "b"])
    many = [str(i) for i in range(20)] * 2
    assert len(tsne(features, many).axes[0].collections) == 20
