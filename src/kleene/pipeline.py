"""What `fit` does with encoded rows: induce an automaton or train, select, measure.

rows -> automaton, if it explains them
     -> else trained cell -> automaton or states
     -> where states cost accuracy: a network with states and memory, or the plain cell
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torch import Tensor

from kleene.config import Parameters
from kleene.data.batch import Encoded
from kleene.data.examples import Examples
from kleene.data.fingerprint import fingerprint
from kleene.data.streaming import TrainingData
from kleene.defaults import readable, stages_of, text_note
from kleene.distributed import SINGLE_PROCESS, ProcessGroup
from kleene.evaluation.baseline import ngram_accuracy
from kleene.evaluation.figures import Figures, measure
from kleene.model import Model
from kleene.nn.config import NetworkConfig
from kleene.training.history import History
from kleene.training.loop import Hook, fit
from kleene.training.memory_states import memory_states
from kleene.training.progress import Reporter
from kleene.training.selection import compare, plain_cell

if TYPE_CHECKING:
    from kleene.induction.network import Induced

NGRAM_LOSS = 0.03
"""Accuracy up to which n-grams may be worse than the plain cell where they teach the states."""


@dataclass(frozen=True, kw_only=True)
class Rows:
    """The rows of a fit, encoded."""

    training: TrainingData
    held_out: Examples | None
    sample: Examples
    """All rows, or as many as fit into memory, for what looks at all of them at once."""
    everything: Iterable[Encoded]
    """All rows, once, for the fingerprint."""


@dataclass(frozen=True, kw_only=True)
class Fitted:
    """The model, what was done, and how well it does."""

    model: Model
    log: tuple[str, ...]
    figures: Figures | None
    """None in all processes but the main one."""


def fit_model(
    model: Model,
    rows: Rows,
    parameters: Parameters,
    *,
    seed: int,
    checkpoint: str | Path | None = None,
    checkpoint_every: float = 30.0,
    reporter: Reporter | None = None,
    hook: Hook | None = None,
    baseline: bool = False,
    process_group: ProcessGroup = SINGLE_PROCESS,
) -> Fitted:
    """Train an untrained model; of several processes the main one alone does what follows."""
    cell: dict[str, Tensor] = {}
    log = text_note(parameters, model.network.config, model.tokens)
    first: Induced | None = None
    if process_group.is_main and _searches_first(model, rows, parameters):
        from kleene.induction.network import induce_first

        first = induce_first(
            model,
            rows.sample,
            held_out=rows.held_out,
            readability=_readability(rows, parameters),
            seconds=parameters.induction_seconds,
            seed=seed,
            reporter=reporter,
            hook=hook,
        )
    if process_group.broadcast_object(first is not None and first.taught):
        if first is None:  # the main process has it
            return Fitted(model=model, log=log, figures=None)
        return _measured(first.model, rows, log + first.steps, baseline=baseline, seed=seed)
    if first is not None:
        log += first.steps
    history = fit(
        model.network,
        rows.training,
        validation=rows.held_out,
        stages=stages_of(parameters, model.network),
        seed=seed,
        hook=hook,
        checkpoint=None if checkpoint is None else Path(checkpoint),
        checkpoint_every=checkpoint_every,
        reporter=reporter,
        process_group=process_group,
        cell_weights=cell,
    )
    model = replace(model, history=history)
    if not process_group.is_main:
        return Fitted(model=model, log=log, figures=None)
    taught = False
    if parameters.consolidate and readable(model.network):
        from kleene.induction.network import induce_into

        induced = induce_into(
            model,
            rows.sample,
            training=rows.training,
            held_out=rows.held_out,
            first=None if first is None else first.induction,
            clusters=None if parameters.states is None else (parameters.states,),
            config=parameters,
            readability=_readability(rows, parameters),
            seconds=parameters.induction_seconds,
            seed=seed,
            reporter=reporter,
            hook=hook,
        )
        model, taught, log = induced.model, induced.taught, log + induced.steps
    if not taught:
        model, lines = select(
            model, cell, rows, parameters, seed=seed, reporter=reporter, hook=hook
        )
        log += lines
    return _measured(model, rows, log, baseline=baseline, seed=seed)


def _searches_first(model: Model, rows: Rows, parameters: Parameters) -> bool:
    """Whether an automaton may make the training of a cell needless.

    Not where the user asked for a number of states, a recipe, weights or a warm start.
    """
    asked = parameters.states is not None or parameters.recipe is not None or parameters.warm_start
    weighted = rows.sample.weights is not None
    return bool(parameters.consolidate) and readable(model.network) and not (asked or weighted)


def _readability(rows: Rows, parameters: Parameters) -> str:
    """When an automaton may take the network's place.

    The search and its comparison count rows alike; where rows or classes have weights, only an
    automaton that is right on all rows may.
    """
    weighted = rows.sample.weights is not None or parameters.class_weight is not None
    return "exact" if weighted else parameters.readability


def _measured(
    model: Model, rows: Rows, log: tuple[str, ...], *, baseline: bool, seed: int
) -> Fitted:
    """The model with its figures, and with a fingerprint of all rows that `fit` was given."""
    figures = measure(model.network, rows.training, rows.held_out, baseline=baseline, seed=seed)
    data: dict[str, Any] = {**fingerprint(rows.everything), **figures.to_dict()}
    settings = {**model.settings, "data": data, "fit_log": list(log)}
    return Fitted(model=replace(model, settings=settings), log=log, figures=figures)


def select(
    model: Model,
    cell_weights: dict[str, Tensor],
    rows: Rows,
    parameters: Parameters,
    *,
    seed: int = 0,
    reporter: Reporter | None = None,
    hook: Hook | None = None,
) -> tuple[Model, tuple[str, ...]]:
    """The model, or where its states cost accuracy one with memory or the plain cell, and why.

    A number of states that was asked for is kept in any case; the log has both figures.
    """
    config = model.network.config
    if not cell_weights or not config.num_states or config.pooling == "states":
        return model, ()
    cell = plain_cell(model.network, cell_weights)
    found = compare(model.network, cell, rows.held_out or rows.sample)
    figures = found.describe("held-out" if rows.held_out else "training")
    if not found.states_cost_accuracy:
        return model, (f"kept the network with states: {figures}",)
    if parameters.states is not None:
        return model, (f"states={parameters.states} costs accuracy: {figures}",)
    costly = (f"states without memory cost accuracy: {figures}",)
    if rows.held_out is None or not _may_have_memory(config, parameters):
        return replace(model, network=cell), (*costly, "kept the plain cell")
    by_ngrams = _ngrams_suffice(rows, found.cell_accuracy, seed)
    network, history = memory_states(
        cell,
        rows.training,
        by_ngrams=by_ngrams,
        held_out=rows.held_out,
        config=parameters,
        seed=seed,
        reporter=reporter,
        hook=hook,
    )
    found = compare(network, cell, rows.held_out)
    kind = "an LSTM with memory, read by its states" if by_ngrams else "an LSTM with memory"
    line = f"{kind}: {found.describe('held-out')}"
    if found.states_cost_accuracy:
        return replace(model, network=cell), (*costly, line, "kept the plain cell")
    history = History([*model.history.epochs, *history.epochs])
    model = replace(model, network=network, history=history)
    return model, (*costly, line, "kept the network with memory")


def _ngrams_suffice(rows: Rows, cell_accuracy: float, seed: int) -> bool:
    """Whether n-grams tell the classes of the held-out rows about as well as the plain cell."""
    if rows.held_out is None:
        return False
    accuracy = ngram_accuracy(next(rows.training.parts()), rows.held_out, seed=seed)
    return accuracy >= cell_accuracy - NGRAM_LOSS


def _may_have_memory(config: NetworkConfig, parameters: Parameters) -> bool:
    """Whether the user left open which network reads the symbols."""
    given = (parameters.cell, parameters.pooling, parameters.recipe, parameters.similarity)
    asked = parameters.warm_start or any(one is not None for one in given)
    return bool(config.num_symbols) and config.num_layers == 1 and not asked
