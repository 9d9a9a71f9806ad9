"""Cells of one's own; `test_docs.py` runs the examples of docs/how-to/extend.md."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from toys import LABELS, WORDS, small

from kleene.errors import ModelError, SettingError
from kleene.model import Model


@dataclass(frozen=True)
class MinimalGate:
    """u = f h + (1 - f) tanh(W x + R h), f = sigma(W_f x + R_f h)."""

    name: str = "minimal"
    gates: int = 2
    has_memory: bool = False
    reads_hidden: bool = True
    peepholes: int = 0

    def step(self, x_gates, h_gates, hidden, memory, peephole):
        forget, new = (x_gates + h_gates).chunk(2, -1)
        f = torch.sigmoid(forget)
        return f * hidden + (1 - f) * torch.tanh(new), None


def test_a_network_of_ones_own_cell_is_saved_and_pickled(tmp_path: Path) -> None:
    clf = small(cell=MinimalGate()).fit(WORDS, LABELS)
    probabilities = clf.predict_proba(WORDS).tolist()
    assert pickle.loads(pickle.dumps(clf)).predict_proba(WORDS).tolist() == probabilities
    folder = clf.save(tmp_path / "model")
    with pytest.raises(ModelError, match=r"got 'minimal'; pass a cell of your own to Model.load"):
        Model.load(folder)
    loaded = type(clf).load(folder, cells=[MinimalGate()])
    assert loaded.predict_proba(WORDS).tolist() == probabilities


class Half:
    """A cell without a step."""

    name, gates, has_memory, reads_hidden, peepholes = "half", 1, False, False, 0


class Forgetful(Half):
    """A cell that promises no memory, and returns one."""

    def step(self, x_gates: Any, h_gates: Any, hidden: Any, memory: Any, peephole: Any) -> Any:
        return x_gates + h_gates, x_gates


class Impostor(Forgetful):
    """A cell with a name of the library's."""

    name = "gru"


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        (Half(), "have step"),
        (Forgetful(), r"must return u of shape \(batch, hidden\) and None"),
        (Impostor(), "the name 'gru' is taken"),
    ],
)
def test_a_wrong_cell_is_refused_before_training(cell: Any, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        small(cell=cell).fit(["0", "1"], [True, False])
