"""How a network is trained, as plain values: `SequenceClassifier(training=...)`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from kleene.errors import SettingError
from kleene.nn.config import check_values, parameter

OPTIMIZERS = ("adam", "adadelta", "rmsprop")
EMBEDDINGS = ("random", "ppmi")


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """What a recipe leaves open, and what is done to the rows before training."""

    recipe: str | None = parameter(
        None,
        "The stages of training. None: the recipe that fits `learn`, the cell and the data.",
        "network|paper|warm|direct|curriculum|text|reconstruct",
    )
    optimizer: str | None = parameter(
        None, "The optimiser. None: adam, and rmsprop for learn=paper.", "|".join(OPTIMIZERS)
    )
    learning_rate: float | None = parameter(
        None,
        "The learning rate at the start. None: 0.003, 0.0003 for learn=paper.",
        "RATE",
        above=0,
    )
    batch_size: int | None = parameter(
        None, "Rows in a batch. None: 32, and 8 for learn=paper.", "N", least=1
    )
    epochs: int | None = parameter(
        None, "Maximum number of epochs of a stage. None: the recipe's own number.", "N", least=1
    )
    patience: int | None = parameter(
        None,
        "Epochs without improvement on the validation rows after which a stage ends. None: the "
        "recipe's own number.",
        "N",
        least=1,
    )
    embeddings: str | None = parameter(
        None,
        "How the embedding starts: at random, or with PPMI vectors of the training rows. None: "
        "ppmi for texts, else random.",
        "|".join(EMBEDDINGS),
    )
    ema: float | None = parameter(
        None,
        "Decay of an exponential moving average of the weights, which replaces them. None: 0.998 "
        "for the recipes text and reconstruct, else no average.",
        "DECAY",
        above=0,
        below=1,
    )
    held_out: float = parameter(
        0.1,
        "Share of the rows that is used for nothing but the accuracy at the end; files of fewer "
        "than 1,000 rows hold out none.",
        "SHARE",
        least=0,
        below=1,
    )
    max_symbols: int | None = parameter(
        None, "Keep only so many of the most frequent symbols. None: all.", "N", least=1
    )
    min_count: int = parameter(1, "Keep only symbols that occur so often.", "N", least=1)
    search_seconds: float = parameter(
        30.0, "Maximum CPU seconds of the search for an automaton.", "SECONDS", above=0
    )
    class_weight: str | tuple[float, ...] | None = None
    """Weights in the order of the classes, or "balanced"; `fit` sets it from the estimator's."""

    def __post_init__(self) -> None:
        check_values(self)

    @classmethod
    def of(cls, given: TrainConfig | Mapping[str, Any] | None) -> TrainConfig:
        """The configuration given whole, or its defaults with some values changed."""
        if isinstance(given, TrainConfig):
            return given
        values = dict(given or {})
        known = {one.name for one in fields(cls)}
        if unknown := set(values) - known:
            raise SettingError(
                f"training has no {min(unknown)!r}; choose from {', '.join(sorted(known))}"
            )
        return cls(**values)
