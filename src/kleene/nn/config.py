"""The settings of a network as plain values, for JSON; names become objects here, once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any, cast

import torch

from kleene.config import NetworkOptions, check_values, choose
from kleene.errors import SettingError
from kleene.nn.cells import GRU, LSTM, Cell, Elman
from kleene.nn.similarity import Similarity, cosine, dot, euclidean
from kleene.nn.transition import Transition, gumbel, gumbel_hard, mixture, sample, soft_argmax

CELLS: dict[str, Cell] = {
    cell.name: cell for cell in (GRU(), LSTM(), LSTM(peephole=True), Elman(), Elman("relu"))
}
TRANSITIONS: dict[str, Transition] = {
    one.name: one for one in (mixture, soft_argmax, gumbel, gumbel_hard, sample)
}
SIMILARITIES: dict[str, Similarity] = {one.name: one for one in (dot, euclidean, cosine)}
POOLINGS = ("last", "mean", "max", "states")
NUMBERS = ("num_symbols", "num_states", "num_classes", "input_size", "hidden_size", "num_layers")
CELL_MEMBERS = ("name", "gates", "has_memory", "reads_hidden", "peepholes", "step")


def find_cell(cell: str | Cell) -> Cell:
    """The cell of a name, or a cell of one's own after a trial step."""
    if isinstance(cell, str):
        return choose("cell", cell, CELLS)
    missing = [name for name in CELL_MEMBERS if not hasattr(cell, name)]
    if missing:
        raise SettingError(
            f"cell must be one of {', '.join(CELLS)} or have {', '.join(missing)} "
            f"(see kleene.nn.Cell), got {cell!r:.60}"
        )
    if cell.name in CELLS and cell != CELLS[cell.name]:
        raise SettingError(f"the name {cell.name!r} is taken; give the cell another one")
    x, hidden = torch.zeros(2, 3 * cell.gates), torch.zeros(2, 3)
    peephole = torch.zeros(cell.peepholes, 3) if cell.peepholes else None
    u, c = cell.step(x, x, hidden, hidden if cell.has_memory else None, peephole)
    if u.shape != (2, 3) or (c is not None) != cell.has_memory:
        raise SettingError(
            f"step of the cell {cell.name!r} must return u of shape (batch, hidden) and "
            f"{'the memory c' if cell.has_memory else 'None'}, got {tuple(u.shape)} and "
            f"{None if c is None else tuple(c.shape)}"
        )
    return cell


@dataclass(frozen=True, kw_only=True)
class NetworkConfig(NetworkOptions):
    """Everything that builds a network; written to a model folder as JSON."""

    num_symbols: int = 0
    """Rows of the embedding table, special symbols included; 0 if the input is vectors."""
    num_classes: int = 2
    cell: str = "gru"
    custom_cell: Cell | None = None
    """A cell of one's own, whose name is `cell`."""
    hidden_size: int = 64
    num_states: int = 20
    num_layers: int = 1
    transition: str = "mixture"
    pooling: str = "last"
    """What is classified: the last step (the paper's), the mean or maximum over all steps, or
    `states`: mean and maximum of the state probabilities, so that each state has its weights."""
    end_token: bool = cast(bool, None)
    """Whether one more cell application, without the component, precedes the classification;
    by default with `pooling="last"`, the only pooling that it has an effect on."""

    def __post_init__(self) -> None:
        check_values(self)
        if self.custom_cell is None:
            choose("cell", self.cell, CELLS)
        elif find_cell(self.custom_cell).name != self.cell:
            raise SettingError(f"cell must be {self.custom_cell.name!r}, got {self.cell!r}")
        choose("transition", self.transition, TRANSITIONS)
        choose("similarity", self.similarity, SIMILARITIES)
        choose("pooling", self.pooling, dict.fromkeys(POOLINGS))
        for name in NUMBERS:
            value, bound = getattr(self, name), int(name not in NUMBERS[:2])
            if not isinstance(value, int) or isinstance(value, bool) or value < bound:
                raise SettingError(f"{name} must be an integer >= {bound}, got {value!r}")
        if self.pooling == "states" and not self.num_states:
            raise SettingError(
                "pooling='states' classifies states, got num_states=0; "
                "give states, or choose another pooling"
            )
        if cast(Any, self.end_token) is None:
            object.__setattr__(self, "end_token", self.pooling == "last")
        for name, effect, condition in (
            ("end_token", self.pooling == "last", "pooling='last'"),
            ("learn_temperature", self.num_states > 0, "num_states > 0"),
        ):
            if getattr(self, name) and not effect:
                raise SettingError(f"{name}=True has an effect with {condition} only; leave it out")

    @property
    def cell_object(self) -> Cell:
        return self.custom_cell or CELLS[self.cell]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON; a cell of one's own by its name."""
        names = [field.name for field in fields(self) if field.name != "custom_cell"]
        return {name: getattr(self, name) for name in names}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], cells: Iterable[Cell] = ()) -> NetworkConfig:
        """The settings in a JSON object; unknown or missing names are an error.

        `cells` are cells of one's own that it may name. Options without effect, which version 0.1
        wrote, are left out.
        """
        known = {field.name for field in fields(cls)} - {"custom_cell"}
        if extra := set(values) - known:
            raise SettingError(f"unknown settings {sorted(extra)}; the model is of a newer version")
        if missing := {"num_symbols", "num_classes"} - set(values):
            raise SettingError(f"missing settings {sorted(missing)}; the model is incomplete")
        chosen = {**values, "custom_cell": None}
        own = {cell.name: cell for cell in cells}
        cell = values.get("cell")
        if isinstance(cell, str) and cell in own:
            chosen["custom_cell"] = own[cell]
        elif isinstance(cell, str) and cell not in CELLS:
            raise SettingError(
                f"cell must be one of {', '.join([*CELLS, *own])}, got {cell!r:.60}; "
                "pass a cell of your own to Model.load(..., cells=[cell])"
            )
        if values.get("pooling", "last") != "last":
            chosen.pop("end_token", None)
        if values.get("num_states") == 0:
            chosen.pop("learn_temperature", None)
        try:
            return cls(**chosen)
        except TypeError as error:
            raise SettingError(f"the settings do not describe a network: {error}") from None
