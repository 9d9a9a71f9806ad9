"""`kleene report --plot`: pictures of the right kind, of the right words."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
import torch
from shell import Kleene, assert_one_clear_line

from kleene.data.alphabet import Alphabet
from kleene.model import Model
from kleene.nn.classifier import Classifier
from kleene.nn.config import NetworkConfig

TRAJECTORIES, MAPS = ("--plot", "trajectories", "--sequence"), ("--plot", "maps")
PNG = b"\x89PNG\r\n"


@pytest.fixture(scope="module")
def words_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.manual_seed(0)
    config = NetworkConfig(
        num_symbols=7, num_classes=2, cell="lstm-p", input_size=4, hidden_size=6, num_states=3
    )
    model = Model(network=Classifier(config), alphabet=Alphabet("ab("), classes=("no", "yes"))
    return model.save(tmp_path_factory.mktemp("plot") / "words")


@pytest.fixture(scope="module")
def images_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.manual_seed(0)
    config = NetworkConfig(
        num_symbols=0, num_classes=3, cell="gru", input_size=1, hidden_size=6, num_states=2
    )
    model = Model(
        network=Classifier(config),
        alphabet=Alphabet(()),
        classes=(0, 1, 2),
        tokens="symbols",
        longest=4,
    )
    return model.save(tmp_path_factory.mktemp("plot") / "images")


@pytest.fixture
def images(tmp_path: Path) -> Path:
    """Five labelled images of 2 x 2 pixels."""
    random = np.random.default_rng(0)
    path = tmp_path / "images.jsonl"
    rows = ({"sequence": random.random(4).round(3).tolist(), "label": i % 3} for i in range(5))
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def idx(tmp_path: Path) -> Path:
    """Five images of 4 x 4 pixels as MNIST has them."""
    pixels = np.random.default_rng(1).integers(256, size=(5, 4, 4), dtype=np.uint8)
    header = bytes([0, 0, 8, 3]) + np.array(pixels.shape, ">u4").tobytes()
    path = tmp_path / "few-images-idx3-ubyte.gz"
    path.write_bytes(gzip.compress(header + pixels.tobytes()))
    return path


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_trajectories(kleene: Kleene, words_model: Path, tmp_path: Path, ending: str) -> None:
    out = tmp_path / f"x.{ending}"
    outcome = kleene("report", words_model, *TRAJECTORIES, "a(b", "--out", out)
    assert outcome.status == 0
    assert outcome.out.strip() == str(out)
    start = out.read_bytes()[:6]
    assert start == PNG if ending == "png" else start.startswith(b"<?xml")


def test_trajectories_of_two_models_stand_side_by_side(
    kleene: Kleene, words_model: Path, tmp_path: Path
) -> None:
    other = Model.load(words_model).save(tmp_path / "another")
    out = tmp_path / "x.svg"
    outcome = kleene("report", words_model, *TRAJECTORIES, "ab", "--compare", other, "--out", out)
    assert outcome.status == 0
    alone = tmp_path / "y.svg"
    kleene("report", words_model, *TRAJECTORIES, "ab", "--out", alone)
    assert out.read_text().count('id="axes_') == 2 * alone.read_text().count('id="axes_')


def test_maps_of_jsonl_and_idx(
    kleene: Kleene, images_model: Path, images: Path, idx: Path, tmp_path: Path
) -> None:
    for data in (images, idx):
        out = tmp_path / f"{data.stem}.svg"
        assert kleene("report", images_model, data, *MAPS, "--out", out).status == 0
        assert out.read_text().count("<image") >= 3 * 2  # classes times states
    flat = kleene(
        "report", images_model, images, *MAPS, "--shape", "1x4", "--out", tmp_path / "f.png"
    )
    assert flat.status == 0


def test_tsne_of_words_and_images(
    kleene: Kleene, words_model: Path, images_model: Path, idx: Path, tmp_path: Path
) -> None:
    data = tmp_path / "words.tsv"
    data.write_text("ab\tyes\nba\tno\naab\tyes\nb\tno\naaa\tyes\n")
    for model, source in ((words_model, data), (images_model, idx)):
        out = tmp_path / f"{model.name}.png"
        assert kleene("report", model, source, "--plot", "tsne", "--out", out).status == 0
        assert out.read_bytes().startswith(PNG)


def test_mistakes(
    kleene: Kleene, words_model: Path, images_model: Path, images: Path, tmp_path: Path
) -> None:
    assert_one_clear_line(kleene("report", words_model, *TRAJECTORIES, "ab", "--out", "x.bmp"))
    assert_one_clear_line(kleene("report", words_model, *TRAJECTORIES, ""))
    for shape in ("3x3", "x", "0x4"):
        assert_one_clear_line(kleene("report", images_model, images, *MAPS, "--shape", shape))
    uneven = tmp_path / "uneven.jsonl"
    uneven.write_text('{"sequence": [0.5], "label": 0}\n{"sequence": [0.5, 0.1], "label": 1}\n')
    assert_one_clear_line(kleene("report", images_model, uneven, *MAPS))
    assert_one_clear_line(kleene("report", words_model, "--plot", "trajectories"))
    assert_one_clear_line(kleene("report", images_model, images, "--sequence", "ab"))
    one = tmp_path / "one.tsv"
    one.write_text("ab\tyes\n")
    assert_one_clear_line(kleene("report", words_model, one, "--plot", "tsne"))


def test_images_of_another_size_are_refused(
    kleene: Kleene, images_model: Path, tmp_path: Path
) -> None:
    header = bytes([0, 0, 8, 3]) + np.array([1, 3, 5], ">u4").tobytes()
    path = tmp_path / "odd-images-idx3-ubyte.gz"
    path.write_bytes(gzip.compress(header + bytes(15)))
    outcome = kleene("report", images_model, path, *MAPS)
    assert_one_clear_line(outcome)
    assert "3 x 5" in outcome.err
