"""The examples of docs/how-to/extend.md run, one after the other, and print what they say."""

from __future__ import annotations

import pickle
import re
from pathlib import Path
from typing import Any

import pytest

import kleene as kl
from kleene.errors import SettingError

PAGE = Path(__file__).parents[1] / "docs" / "how-to" / "extend.md"


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The names that the examples define; they write to a folder of their own."""
    names: dict[str, Any] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("extending"))
        printed: list[str] = []
        names["print"] = lambda *values: printed.append(" ".join(map(str, values)))
        for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL):
            exec(compile(block, str(PAGE), "exec"), names)
        names["printed"] = printed
    return names


@pytest.mark.slow
def test_the_page_prints_what_it_says(examples: dict[str, Any]) -> None:
    assert examples["printed"] == ["''", "True"]


@pytest.mark.slow
def test_an_estimator_with_a_cell_of_ones_own_is_pickled(examples: dict[str, Any]) -> None:
    clf, words = examples["clf"], examples["words"]
    vars(kl)["MinimalGate"] = examples["MinimalGate"]  # where pickle finds it
    examples["MinimalGate"].__module__ = "kleene"
    try:
        again = pickle.loads(pickle.dumps(clf))
    finally:
        del vars(kl)["MinimalGate"]
    assert (again.predict_proba(words) == clf.predict_proba(words)).all()


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
        kl.SequenceClassifier(cell=cell).fit(["0", "1"], [True, False])
