"""The parameters of the estimator, each declared once with its default and its help.

The signature of `SequenceClassifier` and the options of `kleene train` are made from these fields.
`kleene.defaults` says what becomes of parameters that are None.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import Field, dataclass, fields, replace
from typing import Any

from kleene.errors import SettingError
from kleene.machine import Label
from kleene.training.config import TrainConfig, parameter

OPTIMIZERS = ("adam", "adadelta", "rmsprop")
EMBEDDINGS = ("random", "ppmi")
READABILITY = ("exact", "prefer-small", "accuracy")


@dataclass
class Parameters(TrainConfig):
    """All parameters of `SequenceClassifier`."""

    cell: str | None = parameter(
        None,
        "The recurrent cell. gru, rnn and rnn-relu carry everything in their state, so that they "
        "can be read as a finite automaton; lstm-p is the LSTM with peepholes. In Python also a "
        "kleene.nn.Cell. None: gru, and lstm-p for texts and where states without memory cost "
        "accuracy on held-out rows.",
        "gru|lstm|lstm-p|rnn|rnn-relu",
        kw_only=False,
    )
    states: int | None = parameter(
        None,
        "The number of centroids; 0 is the network without states. None: as many as the automaton "
        "found has, or 20; where these cost accuracy on held-out rows, 64 with a memory, or none.",
        "K",
        least=0,
        kw_only=False,
    )
    hidden_size: int = parameter(100, "Size of the hidden vectors.", "D", least=1)
    embedding_size: int = parameter(100, "Size of the symbols' vectors.", "D", least=1)
    layers: int = parameter(1, "Recurrent layers.", "N", least=1)
    transition: str = parameter(
        "mixture",
        "How the next state comes from the transition probabilities.",
        "mixture|soft-argmax|gumbel|gumbel-hard|sample",
    )
    similarity: str | None = parameter(
        None,
        "How hidden vectors are compared with centroids. None: euclidean, and dot for cells with "
        "memory.",
        "dot|euclidean|cosine",
    )
    temperature: float | None = parameter(
        None, "Temperature of the transition probabilities. None: what fits the similarity.", "TAU"
    )
    learn_temperature: bool = parameter(False, "Let the temperature learn, too.")
    pooling: str | None = parameter(
        None,
        "What is classified: the last step, mean or maximum over all steps, or statistics of the "
        "state probabilities (states). None: last, and states for texts.",
        "last|mean|max|states",
    )
    dropout: float | None = parameter(
        None, "Share of the entries that are dropped in training. None: 0, and 0.5 for texts.", "P"
    )
    tokens: str | None = parameter(
        None,
        "How strings are split: into characters, at white space, or (text) into lower-case words "
        "and punctuation. None: at white space if any string has some, else into characters.",
        "chars|words|text",
        option=False,
    )
    max_symbols: int | None = parameter(
        None, "Keep only so many of the most frequent symbols. None: all.", "N", least=1
    )
    min_count: int = parameter(1, "Keep only symbols that occur so often.", "N", least=1)
    validation: float = parameter(
        0.1, "Share of the rows held out to stop and to choose by; 0 holds out none.", "SHARE"
    )
    consolidate: bool = parameter(
        True, "Search for a small automaton and teach it to networks without memory."
    )
    readability: str = parameter(
        "prefer-small",
        "When a small automaton may take the network's place: if it is right on all rows (exact), "
        "if it is small and within one standard error on the held-out rows (prefer-small), or if "
        "it is at least as accurate (accuracy). With weights of rows or classes it is exact.",
        "exact|prefer-small|accuracy",
        option="--prefer",
    )
    induction_seconds: float = parameter(
        30.0, "CPU seconds that the search for an automaton may take at most.", "SECONDS"
    )
    warm_start: bool = parameter(
        False, "Let `fit` start from the weights of the last `fit`.", option=False
    )
    verbose: bool = parameter(False, "Show a progress bar while `fit` runs.", option=False)
    device: str | None = parameter(None, "Where the network runs. None: cpu.", "cpu|cuda")
    random_state: int | None = parameter(
        None, "Seed: the same gives the same result. None: another each time.", option=False
    )

    def validate(self) -> None:
        """Raise an error that names the parameter whose value makes no sense."""
        for one in fields(Parameters):
            value, least = getattr(self, one.name), one.metadata["least"]
            if value is None and one.default is None:
                continue
            if str(one.type).startswith("float") and not isinstance(value, int | float):
                raise SettingError(f"{one.name} must be a number, got {value!r}")
            if least is None:
                continue
            if not isinstance(value, int) or isinstance(value, bool) or value < least:
                raise SettingError(f"{one.name} must be a whole number >= {least}, got {value!r}")
        choices = {"optimizer": OPTIMIZERS, "readability": READABILITY, "embeddings": EMBEDDINGS}
        for name, known in choices.items():
            value = getattr(self, name)
            if value not in known and not (name == "embeddings" and value is None):
                raise SettingError(f"{name} must be one of {', '.join(known)}, got {value!r}")
        if not self.induction_seconds > 0:
            raise SettingError(f"induction_seconds must be > 0, got {self.induction_seconds!r}")
        if not self.learning_rate > 0:
            raise SettingError(f"learning_rate must be > 0, got {self.learning_rate!r}")
        if self.ema is not None and not 0 < self.ema < 1:
            raise SettingError(f"ema must be > 0 and < 1, got {self.ema!r}")
        if not 0 <= self.validation < 1:
            raise SettingError(f"validation must be >= 0 and < 1, got {self.validation!r}")
        weight = self.class_weight
        if not (weight is None or weight == "balanced" or isinstance(weight, Mapping)):
            raise SettingError(
                "class_weight must be None, 'balanced' or a dict from label to weight, "
                f"got {weight!r}"
            )


def in_order(kind: type[Parameters]) -> list[Field[Any]]:
    """The fields as the signature has them: those that may be given by position first."""
    return sorted(fields(kind), key=lambda one: bool(one.kw_only))


def describe(kind: type[Parameters]) -> str:
    """The section "Parameters" of a docstring."""
    lines = ["Parameters", "----------"]
    for one in in_order(kind):
        values = one.metadata["values"] or str(one.type)
        lines += [f"{one.name} : {values}, default {one.default!r}", f"    {one.metadata['help']}"]
    return "\n".join(f"    {line}" for line in lines).lstrip()


def plain_values(given: Mapping[str, Any]) -> Parameters:
    """Valid parameters as plain Python values, which a grid search may give as NumPy's."""
    plain = {k: v.item() if hasattr(v, "dtype") else v for k, v in given.items()}
    found = Parameters(**plain)
    found.validate()
    return found


def with_class_weights(given: Parameters, classes: Sequence[Label]) -> Parameters:
    """Class weights given by label as a tuple in the order of the classes."""
    if not isinstance(given.class_weight, Mapping):
        return given
    if unknown := [label for label in given.class_weight if label not in classes]:
        raise SettingError(f"class_weight has {unknown[0]!r}, which is none of the labels")
    weights = tuple(float(given.class_weight.get(label, 1.0)) for label in classes)
    if not all(weight >= 0 for weight in weights):
        raise SettingError(f"class_weight must be >= 0 for every label, got {given.class_weight}")
    return replace(given, class_weight=weights)
