"""The settings of a network as plain values, for JSON; names become objects here, once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, TypeVar

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

Choice = TypeVar("Choice")


def choose(kind: str, name: str, choices: Mapping[str, Choice]) -> Choice:
    """Return the object of a name, or raise an error that lists the names."""
    if name not in choices:
        raise SettingError(f"{kind} must be one of {', '.join(choices)}, got {name!r}")
    return choices[name]


@dataclass(frozen=True, kw_only=True)
class NetworkConfig:
    """Everything that builds a network; written to a model folder as JSON."""

    num_symbols: int
    """Rows of the embedding table, special symbols included; 0 if the input is vectors."""
    num_classes: int
    cell: str = "gru"
    input_size: int = 32
    """Size of the embedding, or of the input vectors."""
    hidden_size: int = 64
    num_states: int = 20
    num_layers: int = 1
    transition: str = "mixture"
    similarity: str = "dot"
    temperature: float = 1.0
    learn_temperature: bool = False
    pooling: str = "last"
    """What is classified: the last step (the paper's), the mean or maximum over all steps, or
    `states`: mean and maximum of the state probabilities, so that each state has its weights."""
    end_token: bool = True
    """Whether one more cell application, without the component, precedes the classification."""
    dropout: float = 0.0

    def __post_init__(self) -> None:
        choose("cell", self.cell, CELLS)
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
        if not 0 <= self.dropout < 1:
            raise SettingError(f"dropout must be in [0, 1), got {self.dropout!r}")
        if not self.temperature > 0:
            raise SettingError(f"temperature must be > 0, got {self.temperature!r}")

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> NetworkConfig:
        """The settings in a JSON object; unknown or missing names are an error."""
        known = {field.name for field in fields(cls)}
        if extra := set(values) - known:
            raise SettingError(f"unknown settings {sorted(extra)}; the model is of a newer version")
        try:
            return cls(**values)
        except TypeError as error:
            raise SettingError(f"the settings do not describe a network: {error}") from None
