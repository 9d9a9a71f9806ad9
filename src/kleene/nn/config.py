"""The settings of a network as plain values, for JSON; names become objects here, once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar, cast

import torch

from kleene.errors import SettingError
from kleene.nn.cells import GRU, LSTM, Cell, Elman
from kleene.nn.similarity import Similarity, cosine, dot, euclidean
from kleene.nn.transition import Transition, gumbel, gumbel_hard, mixture, sample, soft_argmax

CELLS: dict[str, Cell] = {
    cell.name: cell for cell in (GRU(), LSTM(), LSTM(peephole=True), Elman(), Elman("relu"))
}
TRANSITIONS: dict[str, Transition] = {
    transition.name: transition
    for transition in (mixture, soft_argmax, gumbel, gumbel_hard, sample)
}
SIMILARITIES: dict[str, Similarity] = {
    similarity.name: similarity for similarity in (dot, euclidean, cosine)
}
POOLINGS = ("last", "mean", "max", "states")

CELL_MEMBERS = ("name", "gates", "has_memory", "reads_hidden", "peepholes", "step")

Choice = TypeVar("Choice")


def parameter(
    default: Any,
    help: str,
    values: str = "",
    *,
    least: int | None = None,
    above: float | None = None,
    below: float | None = None,
    option: bool | str = True,
) -> Any:
    """A field with its documentation.

    `values` names what it may be: choices separated by "|", or a name for numbers. `least`, `above`
    and `below` bound numbers. `option` says whether the command line has it, and under which name
    if not its own.
    """
    bounds = {"least": least, "above": above, "below": below}
    about = {"help": help, "values": values, "option": option, **bounds}
    return field(default=default, metadata=about)


def check_values(config: Any) -> None:
    """Raise an error that names the parameter whose value is not one of its kind."""
    for one in fields(config):
        value, about = getattr(config, one.name), one.metadata
        if not about or (value is None and one.default is None):
            continue
        kind = str(one.type).removesuffix(" | None")
        if kind == "str" and isinstance(value, str) and "|" in about["values"]:
            choose(one.name, value, dict.fromkeys(about["values"].split("|")))
        if kind not in ("int", "float"):
            continue
        numbers: Any = int if kind == "int" else int | float
        number = isinstance(value, numbers) and not isinstance(value, bool)
        bounds = {">=": about["least"], ">": about["above"], "<": about["below"]}
        bounds = {sign: bound for sign, bound in bounds.items() if bound is not None}
        if number and all(_compared(value, sign, bound) for sign, bound in bounds.items()):
            continue
        noun = "a whole number " if kind == "int" else "" if number else "a number "
        must = " and ".join(f"{sign} {bound}" for sign, bound in bounds.items())
        raise SettingError(f"{one.name} must be {noun}{must}".rstrip() + f", got {value!r}")


def _compared(value: float, sign: str, bound: float) -> bool:
    return value >= bound if sign == ">=" else value > bound if sign == ">" else value < bound


def choose(kind: str, name: str, choices: Mapping[str, Choice]) -> Choice:
    """Return the object of a name, or raise an error that lists the names."""
    if name not in choices:
        raise SettingError(f"{kind} must be one of {', '.join(choices)}, got {name!r}")
    return choices[name]


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
class NetworkConfig:
    """Everything that builds a network; written to a model folder as JSON."""

    num_symbols: int = 0
    """Rows of the embedding table, special symbols included; 0 if the input is vectors."""
    num_classes: int = 2
    cell: str = "gru"
    custom_cell: Cell | None = None
    """A cell of one's own, whose name is `cell`."""
    input_size: int = parameter(
        32, "Size of the symbols' vectors. None: 100.", "D", option="--embedding-size"
    )
    hidden_size: int = 64
    num_states: int = 20
    num_layers: int = 1
    transition: str = "mixture"
    similarity: str = parameter(
        "dot",
        "How hidden vectors are compared with centroids. None: euclidean, and dot for cells with "
        "memory and for learn=paper.",
        "dot|euclidean|cosine",
    )
    temperature: float = parameter(
        1.0,
        "Temperature of the transition probabilities. None: what fits the similarity.",
        "TAU",
        above=0,
    )
    learn_temperature: bool = parameter(False, "Learn the temperature, too.")
    pooling: str = "last"
    """What is classified: the last step (the paper's), the mean or maximum over all steps, or
    `states`: mean and maximum of the state probabilities, so that each state has its weights."""
    end_token: bool = cast(bool, None)
    """Whether one more cell application, without the component, precedes the classification;
    by default with `pooling="last"`, the only pooling that it has an effect on."""
    dropout: float = parameter(
        0.0,
        "Share of the entries dropped in training. None: 0, and 0.5 for texts.",
        "P",
        least=0,
        below=1,
    )

    def __post_init__(self) -> None:
        check_values(self)
        if self.custom_cell is None:
            choose("cell", self.cell, CELLS)
        elif find_cell(self.custom_cell).name != self.cell:
            raise SettingError(f"cell must be {self.custom_cell.name!r}, got {self.cell!r}")
        choose("transition", self.transition, TRANSITIONS)
        choose("similarity", self.similarity, SIMILARITIES)
        choose("pooling", self.pooling, dict.fromkeys(POOLINGS))
        least = {
            "num_symbols": 0,
            "num_classes": 1,
            "input_size": 1,
            "hidden_size": 1,
            "num_states": 0,
            "num_layers": 1,
        }
        for name, bound in least.items():
            value = getattr(self, name)
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
        """The cell that `cell` names."""
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
