"""The model folder: what is saved comes back; what is broken is refused in one line."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load, save

from kleene.data.alphabet import Alphabet
from kleene.data.batch import make_batch
from kleene.errors import KleeneError, ModelError
from kleene.model import MAX_LONGEST, Model
from kleene.model_folder import FILES, FORMAT, MAX_BYTES, PARTS, add_digests
from kleene.nn.classifier import Classifier
from kleene.nn.config import CELLS, NetworkConfig
from kleene.training.history import Epoch

WORDS = ["", "a", "ab", "bba", "abcabc"]


def untrained(cell: str = "gru", classes: tuple[object, ...] = (False, True)) -> Model:
    torch.manual_seed(0)
    alphabet = Alphabet("abc")
    config = NetworkConfig(
        num_symbols=len(alphabet),
        num_classes=len(classes),
        cell=cell,
        input_size=5,
        hidden_size=6,
        num_states=4,
    )
    network = Classifier(config).eval()
    return Model(
        network=network, alphabet=alphabet, classes=classes, longest=6, settings={"cell": cell}
    )


def scores(model: Model) -> torch.Tensor:
    encoded = model.alphabet.encode_many(WORDS)
    order = np.argsort([-len(word) for word in WORDS], kind="stable")
    with torch.no_grad():
        return model.network(make_batch(encoded, np.zeros(len(WORDS), np.int64), order=order))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return untrained().save(tmp_path / "model")


@pytest.mark.parametrize("cell", CELLS)
def test_what_is_saved_comes_back(tmp_path: Path, cell: str) -> None:
    model = untrained(cell)
    found = Model.load(model.save(tmp_path / "deep" / "model"))
    assert torch.equal(scores(found), scores(model))
    assert found.alphabet == model.alphabet
    assert found.classes == model.classes
    assert found.settings == model.settings
    assert found.history == model.history
    assert found.to_files() == model.to_files()


@pytest.mark.parametrize(
    "classes", [(0, 1), ("no", "yes"), (0.5, 1.5), ((1, "a"), (2, "b")), (None, "x"), (1, "1")]
)
def test_labels_keep_their_types(tmp_path: Path, classes: tuple[object, ...]) -> None:
    found = Model.load(untrained(classes=classes).save(tmp_path)).classes
    assert found == classes
    assert [type(one) for one in found] == [type(one) for one in classes]


def test_a_label_that_no_file_can_hold(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="cannot be saved"):
        untrained(classes=(b"no", b"yes")).save(tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_loading_draws_no_random_numbers(folder: Path) -> None:
    torch.manual_seed(3)
    expected = torch.rand(4)
    torch.manual_seed(3)
    Model.load(folder)
    assert torch.equal(torch.rand(4), expected)


def refused(folder: Path) -> str:
    """The one line with which a folder is refused."""
    with pytest.raises(ModelError) as caught:
        Model.load(folder)
    message = str(caught.value)
    assert "\n" not in message
    assert len(message) < 400
    return message


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda content: b"",
    "cut": lambda content: content[: len(content) // 2],
    "nearly whole": lambda content: content[:-2],
    "another byte": lambda content: content[:-3] + bytes([content[-3] ^ 1]) + content[-2:],
}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("damage", [*DAMAGE, "missing", "a pipe", "a device", "too large"])
def test_a_damaged_file_is_named(folder: Path, name: str, damage: str) -> None:
    path = folder / name
    content = path.read_bytes()
    path.unlink()
    reason = "cannot be read"
    if damage == "a pipe":
        os.mkfifo(path)
    elif damage == "a device":
        path.symlink_to("/dev/zero")
    elif damage == "too large":
        with open(path, "wb") as file:
            file.truncate(MAX_BYTES[name] + 1)
    elif damage in DAMAGE:
        path.write_bytes(DAMAGE[damage](content))
        reason = ""
    else:
        reason = "has no"
    message = refused(folder)
    assert name in message
    assert reason in message


def test_no_folder(tmp_path: Path) -> None:
    assert "does not exist" in refused(tmp_path / "nowhere")
    (tmp_path / "file").write_text("")
    assert "is a file" in refused(tmp_path / "file")
    assert "config.json" in refused(tmp_path)


def forge(
    folder: Path, change: Callable[[dict[str, Any]], object] = lambda content: None,
    part: str = "config.json",
) -> None:  # fmt: skip
    """Change a JSON file and make all checksums fit again, as an attacker would."""
    config = json.loads((folder / "config.json").read_text())
    del config["sha256"]
    content = config if part == "config.json" else json.loads((folder / part).read_text())
    change(content)
    if part != "config.json":
        (folder / part).write_text(json.dumps(content))
    files = {name: (folder / name).read_bytes() for name in PARTS}
    (folder / "config.json").write_text(json.dumps(add_digests(config, files)))


def test_a_forged_folder_that_is_right_is_read(folder: Path) -> None:
    forge(folder, lambda config: config.update(longest=9))
    assert Model.load(folder).longest == 9


def test_a_newer_version(folder: Path) -> None:
    forge(folder, lambda config: config.update(format="kleene.model/2"))
    assert "upgrade" in refused(folder)


@pytest.mark.parametrize(
    ("values", "inside"),
    [
        *((values, "network") for values in (
            {"hidden_size": 7}, {"hidden_size": 10**9}, {"num_states": 5}, {"num_states": -1},
            {"num_classes": 3}, {"num_symbols": 99}, {"num_layers": 2}, {"num_layers": 10**9},
            {"cell": "lstm"}, {"cell": "__import__('os')"}, {"temperature": "hot"}, {"invented": 1},
        )),
        *((values, None) for values in (
            {"classes": [0]}, {"classes": [1, 1]}, {"classes": {}}, {"settings": 3},
            {"network": None}, {"tokens": "atoms"},
            *({"longest": longest} for longest in (-1, 10**7, 3.5, True, "6", None)),
        )),
    ],
    ids=str,
)  # fmt: skip
def test_settings_that_make_no_sense(
    folder: Path, values: dict[str, object], inside: str | None
) -> None:
    forge(folder, lambda config: (config[inside] if inside else config).update(values))
    message = refused(folder)
    assert "longest" not in values or "longest must be an integer from 0 to" in message


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("model.safetensors", b"cos\nsystem\n(S'true'\ntR."),  # a pickle is no safetensors file
        ("model.safetensors", b"\xff" * 16),
        ("model.safetensors", save({"strange": torch.zeros(2)})),
        ("alphabet.json", b"[]"),
        ("alphabet.json", b"\xff"),
        ("alphabet.json", Alphabet("ab").to_json().encode()),
        ("history.json", b"{}"),
        ("history.json", b"[" * 100_000),
    ],
)
def test_forged_contents(folder: Path, name: str, content: bytes) -> None:
    (folder / name).write_bytes(content)
    forge(folder)
    refused(folder)


def test_a_save_that_fails_leaves_the_older_model(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {path.name: path.read_bytes() for path in folder.iterdir()}

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(KleeneError, match="No space left"):
        untrained("lstm").save(folder)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    with pytest.raises(KleeneError, match="No space left"):
        untrained().save(folder.parent / "new")
    assert not (folder.parent / "new").exists()


@pytest.mark.parametrize("renamed", range(5))
def test_a_save_killed_between_two_renames_is_never_finished_unasked(
    folder: Path, renamed: int
) -> None:
    newer = untrained("lstm").to_files()
    for number, (name, content) in enumerate(newer.items()):
        place = folder / (name if number < renamed else f".{name}.x1.tmp")
        place.write_bytes(content)
    if renamed in (0, 4):
        assert Model.load(folder).to_files() == (newer if renamed else untrained().to_files())
    else:
        told = refused(folder)
        assert "an interrupted save left " in told
        for name in re.findall(r"\S+\.tmp", told):  # as the message says
            (folder / name).rename(folder / name[1:].removesuffix(".x1.tmp"))
        assert Model.load(folder).to_files() == newer
        assert {path.name for path in folder.iterdir()} == set(newer)


def test_a_damaged_file_is_refused_also_beside_an_older_model(folder: Path) -> None:
    for name, content in untrained("lstm").to_files().items():
        (folder / f".{name}.x1.tmp").write_bytes(content)
    (folder / "history.json").write_bytes(b"")
    assert "history.json" in refused(folder)
    untrained().save(folder)
    assert {path.name for path in folder.iterdir()} == set(FILES)
    assert Model.load(folder).to_files() == untrained().to_files()


def test_a_read_only_file_system_is_named_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read_only(*given: object, **named: object) -> None:
        raise OSError(30, "Read-only file system")

    for call in ("open", "unlink", "rmdir"):
        monkeypatch.setattr(f"os.{call}", read_only)
    with pytest.raises(KleeneError, match="Read-only file system; choose"):
        untrained().save(tmp_path / "new")


def test_how_a_network_can_be_read() -> None:
    """Every reader asks this one property."""
    for cell, made in CELLS.items():
        assert untrained(cell).readable_by == ("counts" if made.has_memory else "table")
    model = untrained()
    for change, expected in (
        ({"num_states": 0}, "queries"),
        ({"pooling": "mean", "end_token": False}, "counts"),
        ({"num_symbols": 0}, None),
    ):
        network = Classifier(replace(model.network.config, **change))
        assert replace(model, network=network).readable_by == expected


def test_numbers_of_classes_and_symbols() -> None:
    model = untrained(classes=("no", "yes"))
    assert model.class_ids == {"no": 0, "yes": 1}
    assert model.columns == {"a": 0, "b": 1, "c": 2}


def test_a_longer_word_is_saved_as_the_bound(tmp_path: Path) -> None:
    model = replace(untrained(), longest=MAX_LONGEST + 1)
    assert Model.load(model.save(tmp_path / "model")).longest == MAX_LONGEST


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("loss", float("nan")),
        ("loss", "<b>low</b>"),
        ("accuracy", None),
        ("stage", 3),
        ("notes", 3),
        ("notes", {"a": json.loads("[" * 900 + "]" * 900)}),
    ],
)
def test_a_history_that_is_not_of_numbers_is_refused(
    folder: Path, name: str, value: object
) -> None:
    epoch = asdict(
        Epoch(stage="all", epoch=0, loss=1.0, accuracy=0.5, words=3, rate=0.1, seconds=0.0)
    )
    forge(folder, lambda history: history.update(epochs=[epoch]), "history.json")
    assert len(Model.load(folder).history) == 1
    forge(folder, lambda history: history.update(epochs=[{**epoch, name: value}]), "history.json")
    with pytest.raises(ModelError, match=f"{name} of epoch 0 must be"):
        Model.load(folder)


@pytest.mark.parametrize(
    ("dtype", "factor"), [(torch.float16, 1), (torch.complex64, 1), (torch.float32, np.inf)]
)
def test_weights_must_be_finite_float32(folder: Path, dtype: torch.dtype, factor: float) -> None:
    path = folder / "model.safetensors"
    weights = load(path.read_bytes())
    weights["head.bias"] = (weights["head.bias"] * factor).to(dtype)
    path.write_bytes(save(weights, {"format": FORMAT}))
    forge(folder)
    assert "weights must be finite float32 numbers, got" in refused(folder)
