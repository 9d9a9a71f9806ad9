"""Pictures are drawn of the right things, and written whole."""

from pathlib import Path

import numpy as np
import pytest
import torch

from kleene.data.alphabet import Alphabet
from kleene.errors import DataError, SettingError
from kleene.nn.classifier import Classifier
from kleene.nn.config import NetworkConfig
from kleene.report import plots

WORD = ("the", "film", "$5", "映画")
ALPHABET = Alphabet(WORD)


def network(**settings: object) -> Classifier:
    torch.manual_seed(0)
    chosen = {"cell": "lstm-p", "hidden_size": 5, "num_states": 3, "num_classes": 2, **settings}
    return Classifier(NetworkConfig(**{"num_symbols": len(ALPHABET), **chosen})).eval()


def test_a_figure_is_written_whole_in_every_format(tmp_path: Path) -> None:
    figure = plots.transition_maps(np.ones((2, 1, 2, 2)), WORD[-2:])
    for ending in ("png", "svg", "pdf"):
        path = plots.save(figure, tmp_path / f"map.{ending}")
        assert path.stat().st_size > 1000
    assert plots.save(figure, tmp_path / "map.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(SettingError, match="choose one of png, svg, pdf"):
        plots.save(figure, tmp_path / "map.gif")


def test_maps_of_images() -> None:
    maps = np.random.default_rng(0).random((2, 3, 3, 5))
    figure = plots.transition_maps(maps, "ab")
    assert len(figure.axes) == 6
    assert np.array_equal(figure.axes[4].images[0].get_array(), maps[1, 1])
    with pytest.raises(DataError, match="must have the shape"):
        plots.transition_maps(maps[0], "ab")


def test_points_are_coloured_by_label() -> None:
    random = np.random.default_rng(0)
    features = np.concatenate([random.normal(0, 0.1, (20, 4)), random.normal(3, 0.1, (20, 4))])
    figure = plots.tsne(features, ["a"] * 20 + ["b"] * 20)
    first, second = (c.get_offsets() for c in figure.axes[0].collections)
    assert len(first) == len(second) == 20
    gap = np.linalg.norm(first.mean(0) - second.mean(0))
    assert gap > first.std()  # two clusters stay two
    with pytest.raises(DataError, match="at least 4 rows"):
        plots.tsne(features[:2], ["a", "b"])
    many = [str(i) for i in range(20)] * 2
    assert len(plots.tsne(features, many).axes[0].collections) == 20
