"""What parameters that are None become: a network that fits the data, and stages to train it."""

from __future__ import annotations

from dataclasses import replace

from kleene.config import Parameters
from kleene.data.alphabet import FIRST_SYMBOL
from kleene.nn.classifier import Classifier
from kleene.nn.config import NetworkConfig, choose, find_cell
from kleene.training.recipes import RECIPES, cell_stage
from kleene.training.stages import Stage
from kleene.training.texts.embeddings import init_ppmi_embeddings

TEXT = 1_000
"""Different symbols from which on sequences are taken for texts, whatever they were split by."""


def is_text(symbols: int, tokens: str) -> bool:
    """Whether sequences are texts, which want another network: prose, or very many symbols."""
    return tokens == "text" or symbols >= TEXT


def config_of(
    given: Parameters, symbols: int, classes: int, tokens: str = "symbols"
) -> NetworkConfig:
    """The network for so many symbols and classes; where a parameter is None, what fits them.

    `tokens` says how strings were split into symbols.
    """
    text = is_text(symbols, tokens)
    cell = find_cell(given.cell or ("lstm-p" if text else "gru"))
    memory = cell.has_memory
    for_text = "max" if given.states == 0 else "states"
    pooling = given.pooling or (for_text if text else "last")
    similarity = given.similarity or ("dot" if memory else "euclidean")
    by_similarity = {"dot": 1.0, "euclidean": 1.0 if memory else 0.3, "cosine": 0.1}
    return NetworkConfig(
        num_symbols=symbols + FIRST_SYMBOL,
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


def text_note(given: Parameters, config: NetworkConfig, tokens: str) -> tuple[str, ...]:
    """What was chosen because the sequences look like texts, in one line, and what overrides it."""
    symbols = config.num_symbols - FIRST_SYMBOL
    chosen = [name for name in ("cell", "pooling", "dropout") if getattr(given, name) is None]
    if not is_text(symbols, tokens) or not chosen:
        return ()
    values = ", ".join(f"{name} {getattr(config, name)}" for name in chosen)
    why = "prose" if tokens == "text" else f"{symbols:,} different symbols"
    return (f"{why}, so read as text: {values}; give these to override",)


def _text_states(classes: int) -> int:
    """States of a text classifier: some for every class, and some that are neutral."""
    return max(10, 2 * classes)


def stages_of(given: Parameters, network: Classifier) -> list[Stage]:
    """The stages of the recipe; where an automaton may be found, the states come afterwards."""
    if network.config.pooling == "states":
        fitting = "text" if network.config.num_symbols else "direct"
    else:
        fitting = "warm" if network.rnn.num_states else "direct"
    name = given.recipe or fitting
    recipe = choose("recipe", name, RECIPES)
    if name == "warm" and readable(network) and given.consolidate:
        stages = [cell_stage(given)]
    else:
        stages = recipe(given)
    if given.embeddings is not None:
        start = init_ppmi_embeddings if given.embeddings == "ppmi" else None
        stages[0] = replace(stages[0], prepare=start)
    return stages


def readable(network: Classifier) -> bool:
    """Whether a finite automaton can be read off such a network."""
    rnn = network.rnn
    plain = network.config.pooling == "last" and rnn.num_layers == 1
    return plain and not rnn.cell.has_memory and rnn.num_states > 0
