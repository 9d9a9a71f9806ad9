"""What the parameters of the estimator mean: a network, and the stages of its training."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, TypeAlias

import numpy as np

from kleene.errors import SettingError
from kleene.nn.classifier import Classifier
from kleene.nn.config import NetworkConfig, choose, find_cell
from kleene.training.recipes import RECIPES, TrainConfig, cell_stage
from kleene.training.stages import Stage

Parameters: TypeAlias = SimpleNamespace
"""The estimator's parameters by name."""

OPTIMIZERS = dict.fromkeys(("adam", "adadelta", "rmsprop"))
TEXT = 1_000
"""Different symbols from which on words are taken for texts, which want another network."""


def plain_values(given: Mapping[str, Any]) -> Parameters:
    """Parameters as plain Python values, which a grid search may give as NumPy's."""
    return Parameters(**{k: v.item() if isinstance(v, np.generic) else v for k, v in given.items()})


def config_of(given: Parameters, symbols: int, classes: int) -> NetworkConfig:
    """The network over so many symbols and classes; where None came, what fits them."""
    text = symbols >= TEXT
    for_text = "max" if given.states == 0 else "states"
    pooling = given.pooling or (for_text if text else "last")
    cell = find_cell(given.cell or ("lstm-p" if text else "gru"))
    memory = cell.has_memory
    similarity = given.similarity or ("dot" if memory else "euclidean")
    by_similarity = {"dot": 1.0, "euclidean": 1.0 if memory else 0.3, "cosine": 0.1}
    return NetworkConfig(
        num_symbols=symbols,
        num_classes=classes,
        cell=cell.name,
        custom_cell=None if isinstance(given.cell, str) else given.cell,
        input_size=given.embedding_size,
        hidden_size=given.hidden_size,
        num_states=(_text_states(classes) if pooling == "states" else 20)
        if given.states is None
        else given.states,
        num_layers=given.layers,
        transition=given.transition,
        similarity=similarity,
        temperature=by_similarity.get(similarity, 1.0)
        if given.temperature is None
        else given.temperature,
        learn_temperature=given.learn_temperature,
        pooling=pooling,
        dropout=(0.5 if text else 0.0) if given.dropout is None else given.dropout,
    )


def _text_states(classes: int) -> int:
    """States of a text classifier: some for every class, and some that are neutral."""
    return max(10, 2 * classes)


def train_config(given: Parameters) -> TrainConfig:
    """What a recipe leaves open, with a complaint where a value makes no sense."""
    choose("optimizer", given.optimizer, OPTIMIZERS)
    for name in ("epochs", "patience", "batch_size", "min_count", "max_symbols"):
        value = getattr(given, name)
        if value is not None and not (isinstance(value, int) and value >= 1):
            raise SettingError(f"{name} must be a whole number >= 1, got {value!r}")
    if not given.learning_rate > 0:
        raise SettingError(f"learning_rate must be > 0, got {given.learning_rate!r}")
    if not 0 <= given.validation < 1:
        raise SettingError(f"validation must be >= 0 and < 1, got {given.validation!r}")
    choose("class_weight", str(given.class_weight), {"None": None, "balanced": None})
    return TrainConfig(
        optimizer=given.optimizer,
        learning_rate=given.learning_rate,
        batch_size=given.batch_size,
        epochs=given.epochs,
        patience=given.patience,
        balanced=given.class_weight == "balanced",
    )


def stages_of(given: Parameters, network: Classifier) -> list[Stage]:
    """The stages of the recipe; where a machine can be read, the states come once it is known."""
    text = network.config.num_symbols >= TEXT
    if network.config.pooling == "states":
        fitting = "text" if network.config.num_symbols else "direct"
    else:
        warm = readable(network) or (network.rnn.num_states and text)
        fitting = "warm" if warm else "direct"
    name = given.recipe or fitting
    recipe = choose("recipe", name, RECIPES)
    if name == "warm" and readable(network) and given.consolidate:
        return [cell_stage(train_config(given))]
    return recipe(train_config(given))


def readable(network: Classifier) -> bool:
    """Whether a finite automaton can be read off such a network."""
    rnn = network.rnn
    plain = network.config.pooling == "last" and rnn.num_layers == 1
    return plain and not rnn.cell.has_memory and rnn.num_states > 0
