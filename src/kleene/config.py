"""The parameters of the estimator, each declared once with its default and its help.

The signature of `SequenceClassifier` and the options of `kleene train` are made from these fields.
`kleene.settings` says what network and training follow from parameters that are None. Nothing here
imports torch, so that `kleene train --help` is quick.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import Field, dataclass, field, fields
from typing import Any, TypeVar

from kleene.errors import SettingError

LEARN = ("auto", "network", "paper", "automaton")
OPTIMIZERS = ("adam", "adadelta", "rmsprop")
EMBEDDINGS = ("random", "ppmi")
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


@dataclass(frozen=True, kw_only=True)
class NetworkOptions:
    """Settings of a network that are options of the command line; `NetworkConfig` has all."""

    input_size: int = parameter(
        32, "Size of the symbols' vectors. None: 100.", "D", option="--embedding-size"
    )
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
    dropout: float = parameter(
        0.0,
        "Share of the entries dropped in training. None: 0, and 0.5 for texts.",
        "P",
        least=0,
        below=1,
    )


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """What a recipe leaves open, and what is done to the rows before training."""

    recipe: str | None = parameter(
        None,
        "The stages of training. None: the recipe that fits `learn`, the cell and the data.",
        "network|paper|warm|direct|text|reconstruct",
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
        None, "Rows in a batch. None: 64 for learn=network, else 32.", "N", least=1
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
        "Share of the rows, 100 at least, that is used for nothing but the accuracy at the end; "
        "fewer than 1,000 short rows are measured by cross-fitting.",
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


@dataclass
class Parameters:
    """All parameters of `SequenceClassifier`."""

    cell: str | None = parameter(
        None,
        "The recurrent cell. gru, rnn and rnn-relu carry everything in their state, so that they "
        "can be read as a finite automaton; lstm-p is the LSTM with peepholes. In Python also a "
        "kleene.nn.Cell. None: gru, and lstm-p for texts and where states without memory cost "
        "accuracy on the validation rows.",
        "gru|lstm|lstm-p|rnn|rnn-relu",
    )
    states: int | None = parameter(
        None,
        "The number of centroids; 0 is the network without states. None: as many as the automaton "
        "found has, or 20; learn=network drops what it does not need of 100, learn=paper has 50.",
        "K",
        least=0,
    )
    learn: str = parameter(
        "auto",
        "Who learns: a network trained by gradient (network), as in the paper (paper), an "
        "automaton found in the rows and taught to the network (automaton), or the best of these "
        "on the validation rows (auto).",
        "|".join(LEARN),
    )
    hidden_size: int | None = parameter(
        None, "Size of the hidden vectors. None: 100.", "D", least=1
    )
    layers: int | None = parameter(None, "Recurrent layers. None: 1.", "N", least=1)
    transition: str | None = parameter(
        None,
        "How the next state comes from the transition probabilities. None: mixture.",
        "mixture|soft-argmax|gumbel|gumbel-hard|sample",
    )
    pooling: str | None = parameter(
        None,
        "What is classified: the last step, mean or maximum over all steps, or statistics of the "
        "state probabilities (states). None: last, and states for texts.",
        "last|mean|max|states",
    )
    tokens: str | None = parameter(
        None,
        "How strings are split: into characters, at white space, or (text) into lower-case words "
        "and punctuation. None: at white space if any string has some, else into characters.",
        "chars|words|text|symbols",
        option=False,
    )
    validation: float = parameter(
        0.1,
        "Share of the rows used to stop training and to choose between models; 0 uses none.",
        "SHARE",
        least=0,
        below=1,
    )
    class_weight: Any = parameter(
        None,
        "Weights of the classes: a dict from label to weight, or 'balanced', inverse to their "
        "frequency.",
        "dict|balanced",
        option=False,
    )
    network: Any = parameter(
        None,
        "Further settings of the network: a kleene.nn.NetworkConfig, or a dict of some of its "
        "fields, such as similarity, temperature and dropout.",
        "dict",
        option=False,
    )
    training: TrainConfig | Mapping[str, Any] | None = parameter(
        None,
        "Settings of the training: a kleene.training.TrainConfig, or a dict of some of its fields, "
        "such as epochs, batch_size and recipe.",
        "dict",
        option=False,
    )
    verbose: bool = parameter(False, "Show a progress bar while `fit` runs.", option=False)
    device: str | None = parameter(None, "Where the network runs. None: cpu.", "DEVICE")
    random_state: Any = parameter(
        None, "Seed: the same gives the same result. None: another each time.", option=False
    )


def described() -> Iterator[tuple[str, Field[Any]]]:
    """Every parameter with its documentation, and the group it belongs to."""
    for group, kind in (("", Parameters), ("network", NetworkOptions), ("training", TrainConfig)):
        for one in fields(kind):
            if one.metadata:
                yield group, one


def describe() -> str:
    """The section "Parameters" of a docstring."""
    lines = ["Parameters", "----------"]
    for group, one in described():
        if not group:
            values = one.metadata["values"] or str(one.type)
            lines.append(f"{one.name} : {values}, default {one.default!r}")
            lines.append(f"    {one.metadata['help']}")
    return "\n".join(f"    {line}" for line in lines).lstrip()
