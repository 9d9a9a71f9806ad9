"""How a network is trained, as plain values: the training half of the estimator's parameters.

Every parameter is declared here or in `kleene.config`, once, with its default and its help. The
signature of `SequenceClassifier` and the options of `kleene train` are made from these fields.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kleene.errors import SettingError


def parameter(
    default: Any,
    help: str,
    values: str = "",
    *,
    least: int | None = None,
    option: bool | str = True,
    kw_only: bool = True,
) -> Any:
    """A field with its documentation.

    `values` names what it may be, `least` bounds whole numbers, and `option` says whether the
    command line has it, and under which name if not its own.
    """
    about = {"help": help, "values": values, "least": least, "option": option}
    return field(default=default, metadata=about, kw_only=kw_only)


@dataclass
class TrainConfig:
    """What a recipe leaves open. Not frozen, as scikit-learn's `set_params` assigns to it."""

    recipe: str | None = parameter(
        None,
        "The stages of training. None: what fits the cell and the data.",
        "warm|direct|curriculum|text|reconstruct",
    )
    optimizer: str = parameter("adam", "The optimiser.", "adam|adadelta|rmsprop")
    learning_rate: float = parameter(3e-3, "The learning rate at the start.", "RATE")
    batch_size: int = parameter(32, "Rows in a batch.", "N", least=1)
    epochs: int | None = parameter(
        None, "Epochs of a stage at most. None: the recipe's own number.", "N", least=1
    )
    patience: int | None = parameter(
        None,
        "Epochs without improvement on the held-out rows after which a stage ends. None: the "
        "recipe's own number.",
        "N",
        least=1,
    )
    embeddings: str | None = parameter(
        None,
        "How the embedding starts: at random, or with PPMI vectors of the training rows. None: "
        "random; the recipe text takes ppmi and lets n-grams teach the states.",
        "random|ppmi",
    )
    ema: float | None = parameter(
        None,
        "Decay of an exponential moving average of the weights, which is kept in their place. "
        "None: 0.998 for the recipes text and reconstruct, else no average.",
        "DECAY",
    )
    class_weight: str | Mapping[Any, float] | tuple[float, ...] | None = parameter(
        None,
        "Weights of the classes: a dict from label to weight, or 'balanced', inverse to their "
        "frequency.",
        "dict|balanced",
        option=False,
    )

    @property
    def weights_by_class(self) -> str | tuple[float, ...] | None:
        """`class_weight` as a stage takes it, by class and not by label."""
        if isinstance(self.class_weight, Mapping):
            raise SettingError("class_weight by label needs the labels; call with_class_weights")
        return self.class_weight
