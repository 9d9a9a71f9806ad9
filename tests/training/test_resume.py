"""A run that was interrupted anywhere goes on to the same bits as one that was not."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from toys import make_network, same_bits, weights_of, without_time, words_ending_in_5

from kleene.errors import ModelError, TrainingError
from kleene.nn.classifier import Classifier
from kleene.training import checkpoint as checkpoint_module
from kleene.training import ema as ema_module
from kleene.training import loop as fit_module
from kleene.training.centroids import spread_centroids
from kleene.training.checkpoint import load_checkpoint, save_checkpoint
from kleene.training.history import History
from kleene.training.loop import fit
from kleene.training.run import Run
from kleene.training.stages import Blend, Curriculum, Stage

FILES = {fit_module.__file__, checkpoint_module.__file__, ema_module.__file__}
EXAMPLES, VALIDATION = words_ending_in_5(4), words_ending_in_5(3)
STAGES = [
    Stage(
        name="cell",
        regularized=False,
        epochs=5,
        batch_size=8,
        learning_rate=0.02,
        curriculum=Curriculum(start=2, steps=4),
        patience=2,
    ),
    Stage(
        name="states",
        epochs=3,
        batch_size=8,
        optimizer="rmsprop",
        learning_rate=0.01,
        blend=Blend(rise=0.25),
        draws=4,
        hidden_noise=0.1,
        prepare=spread_centroids,
        ema=0.8,
        patience=2,
    ),
    Stage(
        name="end", epochs=2, batch_size=16, optimizer="adadelta", class_weight="balanced", ema=0.9
    ),
]


def start() -> Classifier:
    return make_network(dropout=0.1, learn_temperature=True)


def run(network: Classifier, checkpoint: Path | None = None, **settings: object) -> History:
    return fit(
        network,
        EXAMPLES,
        stages=STAGES,
        validation=VALIDATION,
        run=Run(
            seed=7,
            checkpoint=checkpoint,
            hook=lambda n, e: {"norm": float(n.head.weight.detach().norm())},
            **settings,
        ),
    )


class Interrupt:
    """Ctrl-C at the n-th line that the loop's own files run."""

    def __init__(self, at: float) -> None:
        self.at, self.lines = at, 0

    def __enter__(self) -> Interrupt:
        self.before = sys.gettrace()
        sys.settrace(self._call)
        return self

    def __exit__(self, *error: object) -> None:
        sys.settrace(self.before)
        torch.set_grad_enabled(True)  # the line may be one that leaves a no_grad block

    def _call(self, frame, event, argument):
        return self._line if frame.f_code.co_filename in FILES else None

    def _line(self, frame, event, argument):
        if event == "line":
            self.lines += 1
            if self.lines == self.at:
                sys.settrace(None)
                raise KeyboardInterrupt
        return self._line


@pytest.fixture(scope="module")
def whole() -> tuple[dict[str, torch.Tensor], list[dict], int]:
    """The uninterrupted run, and how many lines of the loop it takes."""
    network = start()
    with Interrupt(at=float("inf")) as counter:
        history = run(network)
    assert {epoch.stage for epoch in history.epochs} == {"cell", "states", "end"}
    return weights_of(network), without_time(history), counter.lines


@pytest.mark.parametrize("part", range(16))
def test_interrupted_at_any_line_it_goes_on_to_the_same_bits(whole, part, tmp_path) -> None:
    weights, history, lines = whole
    checkpoint = tmp_path / "run"
    at = int(np.random.default_rng(part).integers(lines * part // 16, lines * (part + 1) // 16))
    with pytest.raises(KeyboardInterrupt), Interrupt(at=max(at, 1)):
        run(start(), checkpoint)
    network = start()
    found = run(network, checkpoint)
    assert same_bits(weights_of(network), weights)
    assert without_time(found) == history


def test_interrupted_again_and_again(whole, tmp_path) -> None:
    weights, history, lines = whole
    random, checkpoint, interrupts = np.random.default_rng(0), tmp_path / "run", 0
    while True:
        network = start()
        try:
            with Interrupt(at=int(random.integers(1, lines // 4))):
                found = run(network, checkpoint)
            break
        except KeyboardInterrupt:
            interrupts += 1
    assert interrupts >= 3
    assert same_bits(weights_of(network), weights)
    assert without_time(found) == history


def test_interrupted_while_a_file_is_written_at_every_step(whole, tmp_path) -> None:
    weights, history, lines = whole
    checkpoint = tmp_path / "run"
    with pytest.raises(KeyboardInterrupt), Interrupt(at=lines // 2):
        run(start(), checkpoint, checkpoint_every=0)
    network = start()
    found = run(network, checkpoint, checkpoint_every=0)
    assert same_bits(weights_of(network), weights)
    assert without_time(found) == history
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_interrupted_between_two_stages_the_best_weights_are_not_forgotten(tmp_path) -> None:
    mislabelled = replace(
        VALIDATION, labels=1 - VALIDATION.labels
    )  # the best epoch is an early one

    def interrupt(network, examples, seed) -> None:
        raise KeyboardInterrupt

    def train(network: Classifier, **changed: object) -> None:
        stages = [replace(STAGES[0], epochs=4, patience=9), replace(STAGES[1], **changed)]
        fit(
            network, EXAMPLES, stages=stages, validation=mislabelled, run=Run(checkpoint=checkpoint)
        )

    checkpoint = tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        train(start(), prepare=interrupt)
    resumed, whole = start(), start()
    train(resumed)
    checkpoint.unlink()
    train(whole)
    assert same_bits(weights_of(resumed), weights_of(whole))


def test_a_finished_run_is_not_run_again(whole, tmp_path) -> None:
    weights, history, _ = whole
    run(start(), tmp_path / "run")
    network = start()
    found = run(network, tmp_path / "run")
    assert same_bits(weights_of(network), weights)
    assert without_time(found) == history
    assert not network.training


@pytest.fixture
def interrupted(whole, tmp_path) -> Path:
    with pytest.raises(KeyboardInterrupt), Interrupt(at=whole[2] // 2):
        run(start(), tmp_path / "run")
    return tmp_path / "run"


def test_a_checkpoint_cut_anywhere_is_one_clear_error(interrupted) -> None:
    content = interrupted.read_bytes()
    cuts = {*range(12), *np.linspace(12, len(content) - 1, 60).astype(int).tolist()}
    for cut in sorted(cuts):
        interrupted.write_bytes(content[:cut])
        with pytest.raises(ModelError, match="not a complete checkpoint"):
            load_checkpoint(interrupted)
    with pytest.raises(ModelError):
        run(start(), interrupted)


def test_a_checkpoint_with_any_byte_changed_is_one_clear_error(interrupted) -> None:
    content = interrupted.read_bytes()
    random = np.random.default_rng(0)
    header = int.from_bytes(content[:8], "little")
    for at in [*random.integers(8 + header, size=150), *random.integers(len(content), size=50)]:
        changed = bytearray(content)
        changed[at] = (changed[at] + random.integers(1, 256)) % 256
        interrupted.write_bytes(changed)
        try:
            tensors, progress = load_checkpoint(interrupted)
        except ModelError:
            continue
        # The one change that may go unseen is of the white space that fills up the header.
        interrupted.write_bytes(content)
        whole, expected = load_checkpoint(interrupted)
        assert same_bits(tensors, whole)
        assert progress == expected


def test_missing_or_foreign_files(tmp_path) -> None:
    with pytest.raises(ModelError, match="nothing"):
        load_checkpoint(tmp_path / "nothing")
    with pytest.raises(ModelError):
        load_checkpoint(tmp_path)
    from safetensors.torch import save_file

    save_file({"a": torch.zeros(1)}, tmp_path / "other")
    with pytest.raises(ModelError, match="got None"):
        load_checkpoint(tmp_path / "other")


@pytest.mark.parametrize("progress", [[], {}, {"progress": {"speed": 1}}, {"history": []}, None])
def test_progress_that_makes_no_sense(interrupted, progress) -> None:
    tensors, known = load_checkpoint(interrupted)
    save_checkpoint(interrupted, tensors, {**known, **progress} if progress else progress)
    with pytest.raises(TrainingError, match="another run"):
        run(start(), interrupted)


def test_the_checkpoint_of_another_run(interrupted) -> None:
    given = {"network": start(), "examples": EXAMPLES, "stages": STAGES}
    for differs, changed in [
        ("network", {"network": make_network(hidden_size=7)}),
        ("seed", {"run": Run(seed=8, checkpoint=interrupted)}),
        ("words", {"examples": VALIDATION}),
        ("stages", {"stages": STAGES[:2]}),
        ("stages", {"stages": [replace(stage, optimizer="adam") for stage in STAGES]}),
    ]:
        with pytest.raises(TrainingError, match=rf"another run \(another {differs}\);"):
            fit(**{"run": Run(seed=7, checkpoint=interrupted), **given, **changed})


def test_what_is_saved_comes_back(tmp_path) -> None:
    tensors = {"a": torch.randn(3, 2), "b": torch.arange(3), "c": torch.tensor(2.5)}
    progress = {"x": [1, None, float("inf")], "y": {"z": "ü"}}
    save_checkpoint(tmp_path / "file", tensors, progress)
    found, plain = load_checkpoint(tmp_path / "file")
    assert same_bits(found, tensors)
    assert plain == progress


def test_history_survives_json() -> None:
    history = run(start())
    again = History.from_dict(json.loads(json.dumps(history.to_dict())))
    assert again == history
    assert len(again) == len(history)
