"""What parameters of the estimator become: a network that fits the data, and stages to train it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import torch

from kleene.config import Parameters, TrainConfig, check_values, choose
from kleene.data.alphabet import FIRST_SYMBOL, Alphabet
from kleene.errors import SettingError
from kleene.machine import Label
from kleene.model import Model
from kleene.nn.classifier import Classifier
from kleene.nn.config import CELLS, NetworkConfig, find_cell
from kleene.training.recipes import RECIPES
from kleene.training.stages import Stage
from kleene.training.texts.embeddings import init_ppmi_embeddings

TEXT_SYMBOLS = 1_000
"""Sequences over so many different symbols are treated as texts, however they were split."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Parameters of the estimator that were checked, as plain Python values."""

    given: Parameters
    training: TrainConfig

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Settings:
        """The settings of parameters, which a grid search may give as NumPy's values."""
        plain = {k: v.item() if hasattr(v, "dtype") else v for k, v in values.items()}
        given = Parameters(**plain)
        check_values(given)
        weight = given.class_weight
        if not (weight is None or weight == "balanced" or isinstance(weight, Mapping)):
            raise SettingError(
                "class_weight must be None, 'balanced' or a dict from label to weight, "
                f"got {weight!r}"
            )
        if isinstance(given.network, NetworkConfig):
            if twice := [name for name in NETWORK_NAMES if getattr(given, name) is not None]:
                raise SettingError(
                    f"{twice[0]} is given twice; leave it out, or give network as a dict"
                )
        elif unknown := set(given.network or {}) - FURTHER_NAMES:
            known = ", ".join(sorted(FURTHER_NAMES))
            raise SettingError(f"network has no {min(unknown)!r}; choose from {known}")
        return cls(given=given, training=TrainConfig.of(given.training))

    @property
    def network_values(self) -> dict[str, Any]:
        """The settings of the network that were given, by the names of `NetworkConfig`."""
        network = self.given.network
        if isinstance(network, NetworkConfig):
            return {one.name: getattr(network, one.name) for one in fields(NetworkConfig)}
        named = {new: getattr(self.given, old) for old, new in NETWORK_NAMES.items()}
        return {k: v for k, v in {**named, **(network or {})}.items() if v is not None}

    @property
    def may_induce(self) -> bool:
        """Whether the user left open which network there is and how it is trained."""
        chosen = {"num_states", "transition", "similarity"} & self.network_values.keys()
        return not (chosen or self.training.recipe)

    def training_for(self, classes: Sequence[Label]) -> TrainConfig:
        """The training with class weights as a tuple in the order of the classes."""
        weight = self.given.class_weight
        if isinstance(weight, Mapping):
            if unknown := [label for label in weight if label not in classes]:
                raise SettingError(f"class_weight has {unknown[0]!r}, which is none of the labels")
            weights = tuple(float(weight.get(label, 1.0)) for label in classes)
            if not all(value >= 0 for value in weights):
                raise SettingError(f"class_weight must be >= 0 for every label, got {weight}")
            weight = weights
        return replace(self.training, class_weight=weight)

    def to_dict(self, seed: int) -> dict[str, Any]:
        """Plain values, for the model folder; labels need not be keys of JSON."""
        given, defaults = self.given, TrainConfig()
        values = {one.name: getattr(given, one.name) for one in fields(given)}
        training = {k: v for k, v in vars(self.training).items() if v != getattr(defaults, k)}
        network = given.network
        network = network.to_dict() if isinstance(network, NetworkConfig) else network
        values |= {"training": training, "network": dict(network or {}), "random_state": seed}
        values["cell"] = getattr(given.cell, "name", given.cell)
        if isinstance(given.class_weight, Mapping):
            values["class_weight"] = None
        return values


NETWORK_NAMES = {
    "cell": "cell",
    "states": "num_states",
    "hidden_size": "hidden_size",
    "layers": "num_layers",
    "transition": "transition",
    "pooling": "pooling",
}
"""Parameters of the estimator that are settings of the network, and their names there."""
FURTHER_NAMES = {one.name for one in fields(NetworkConfig)} - {
    *NETWORK_NAMES.values(),
    *("num_symbols", "num_classes", "custom_cell"),
}
"""Settings of the network that `network` has."""


def from_saved(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters of the estimator from the settings in a model folder, version 0.1's included."""
    names = {one.name for one in fields(Parameters)}
    given = {k: v for k, v in settings.items() if k in names}
    if "learn" not in given:  # version 0.1 had all parameters in one list
        training = {one.name for one in fields(TrainConfig)} - names
        given["training"] = {k: v for k, v in settings.items() if k in training}
        found = {k: v for k, v in settings.items() if k in FURTHER_NAMES and v is not None}
        if "embedding_size" in settings:
            found["input_size"] = settings["embedding_size"]
        given["network"] = found
        given["learn"] = "auto" if settings.get("consolidate", True) else "network"
    return given


def is_text(symbols: int, tokens: str) -> bool:
    """Whether sequences are treated as texts: prose, or very many different symbols."""
    return tokens == "text" or symbols >= TEXT_SYMBOLS


def network_config(
    settings: Settings, symbols: int, classes: int, tokens: str = "symbols"
) -> NetworkConfig:
    """The network for so many symbols and classes; what was not given follows from the data.

    `tokens` says how strings were split into symbols.
    """
    values, learn = settings.network_values, settings.given.learn
    text = is_text(symbols, tokens)
    cell = find_cell(values.pop("cell", None) or ("lstm-p" if text else "gru"))
    memory, by_gradient = cell.has_memory, learn in ("network", "paper") and not text
    pooling = "max" if values.get("num_states") == 0 else "states"
    pooling = values.get("pooling", pooling if text else "last")
    states = {"network": 100, "paper": 50}[learn] if by_gradient else 20
    if pooling == "states":
        states = max(10, 2 * classes)  # some for every class, and some that are neutral
    similarity = values.get("similarity", "dot" if memory or by_gradient else "euclidean")
    temperatures = {"dot": 1.0, "euclidean": 1.0 if memory else 0.3, "cosine": 0.1}
    chosen = {
        "input_size": 100,
        "hidden_size": 100,
        "num_states": states,
        "temperature": temperatures.get(similarity, 1.0),
        "dropout": 0.5 if text else 0.0,
        **values,
        "similarity": similarity,
        "pooling": pooling,
        "num_symbols": symbols + FIRST_SYMBOL,
        "num_classes": classes,
        "cell": cell.name,
        "custom_cell": None if cell.name in CELLS else cell,
    }
    return NetworkConfig(**chosen)


def untrained_model(
    settings: Settings,
    alphabet: Alphabet,
    classes: tuple[Label, ...],
    *,
    tokens: str,
    longest: int,
    seed: int,
) -> Model:
    """A model with random weights for an alphabet and classes."""
    config = network_config(settings, len(alphabet.symbols), len(classes), tokens)
    network, device = random_network(config, seed), settings.given.device or "cpu"
    try:
        network.to(device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise SettingError(f"device {device!r} is not available: {reason}; use cpu") from None
    return Model(
        network=network,
        alphabet=alphabet,
        classes=classes,
        tokens=tokens,
        longest=longest,
        settings=settings.to_dict(seed),
    )


def random_network(config: NetworkConfig, seed: int) -> Classifier:
    """A network with the random weights of a seed."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return Classifier(config)


def text_note(settings: Settings, config: NetworkConfig, tokens: str) -> tuple[str, ...]:
    """What was chosen because the sequences look like texts, in one line, and what overrides it."""
    symbols = config.num_symbols - FIRST_SYMBOL
    given = settings.network_values
    chosen = [name for name in ("cell", "pooling", "dropout") if name not in given]
    if not is_text(symbols, tokens) or not chosen:
        return ()
    values = ", ".join(f"{name} {getattr(config, name)}" for name in chosen)
    why = "prose" if tokens == "text" else f"{symbols:,} different symbols"
    return (f"{why}, so read as text: {values}; give these to override",)


def stages_of(settings: Settings, config: NetworkConfig, training: TrainConfig) -> list[Stage]:
    """The stages of the recipe that was given, or that fits `learn`, the network and the data.

    A network without states takes the first stage alone.
    """
    learn = settings.given.learn
    if config.pooling == "states":
        fitting = "text" if config.num_symbols else "direct"
    elif not config.num_states:
        fitting = "warm" if config.num_symbols and config.pooling == "last" else "direct"
    else:
        fitting = learn if learn in ("network", "paper") else "warm"
    name = training.recipe or fitting
    stages = choose("recipe", name, RECIPES)(training)
    embeddings = training.embeddings
    if name == "text" and learn in ("network", "paper"):  # n-grams teach nothing
        embeddings = embeddings or "ppmi"
    if embeddings is not None:
        start = init_ppmi_embeddings if embeddings == "ppmi" else None
        stages[0] = replace(stages[0], prepare=start)
    return stages if config.num_states else stages[:1]
