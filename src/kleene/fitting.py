"""What `fit` does with encoded rows, as a list of steps for each `learn`; `select` has the rules.

A step takes what was done so far, the rows and the run, and returns what is done afterwards. The
list ends at the first step that is sure of its model.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from torch import Tensor

from kleene.config import TrainConfig
from kleene.data.examples import Examples
from kleene.data.fingerprint import fingerprint
from kleene.evaluation.baseline import ngram_accuracy
from kleene.evaluation.figures import Answers, Figures, answers, measure
from kleene.evaluation.metrics import evaluate, predict
from kleene.evaluation.percent import percent
from kleene.induction.result import Induction
from kleene.induction.teach import automaton_answers, can_be_taught, search_rows, teach
from kleene.model import Model
from kleene.nn.classifier import Classifier
from kleene.select import MAX_STATES, NGRAM_LOSS, Comparison, compare, explains
from kleene.settings import Settings, random_network, stages_of, text_note
from kleene.training.by_gradient import as_good_as_the_cell, fewer_states, more_states
from kleene.training.history import History
from kleene.training.loop import fit, plain_cell
from kleene.training.memory_states import memory_states
from kleene.training.run import Run
from kleene.training.stages import Stage

MIN_VALIDATION, MIN_HELD_OUT_ROWS = 50, 100
"""Minimum number of rows for a validation split, and of held-out rows."""
CROSS_FITTED, CROSS_FITTED_LONG, LONG = 1_000, 400, 50_000
"""Fewer rows lose none to a held-out part: cross-fitting measures the accuracy. It costs a fit a
fold, so rows of more symbols altogether than `LONG` must be fewer."""
SHORTEST = 0.01
"""Share of the rows, the shortest ones, that `learn="network"` always trains on."""
HELD_OUT_STREAM = 7_919
"""Sets the draw of the held-out rows apart from that of the validation rows."""


@dataclass(frozen=True, kw_only=True)
class Rows:
    """The rows of a fit, encoded."""

    training: Examples
    validation: Examples | None
    """Rows that stop training and choose between models."""
    held_out: Examples | None
    """Rows that are used for nothing but the accuracy at the end."""
    sample: Examples
    """Training and validation rows, or as many as fit into memory, for the search."""

    @property
    def judged(self) -> tuple[Examples, str]:
        """The rows that models are compared on, and their name."""
        if self.validation is None:
            return self.sample, "training"
        return self.validation, "validation"


@dataclass(frozen=True, kw_only=True)
class Fit:
    """A model on its way through the steps of `fit`."""

    model: Model
    settings: Settings
    training: TrainConfig
    log: tuple[str, ...] = ()
    origin: str = "trained"
    found: Induction | None = None
    """The automaton found in the rows."""
    cell: Classifier | None = None
    """The plain cell that the network with states started from."""
    sure: bool = False
    """Whether the model is final, so that no further step is taken."""
    figures: Figures | None = None
    """None in all processes but the main one."""

    def add(self, line: str, **changes: Any) -> Fit:
        """Log what was done."""
        return replace(self, log=(*self.log, line), **changes)


Step = Callable[[Fit, Rows, Run], Fit]


def fit_model(model: Model, rows: Rows, settings: Settings, run: Run) -> Fit:
    """Train an untrained model; of several processes the main one alone searches and selects."""
    now = Fit(
        model=model,
        settings=settings,
        training=settings.training_for(model.classes),
        log=text_note(settings, model.network.config, model.tokens),
    )
    for step in steps_of(now, rows):
        if step is train or run.processes.is_main:
            now = step(now, rows, run)
        now = replace(now, sure=run.processes.broadcast(now.sure))
        if now.sure:
            break
    return now


def steps_of(now: Fit, rows: Rows) -> tuple[Step, ...]:
    """The steps that `learn` and the other parameters ask for, in order."""
    learn, settings = now.settings.given.learn, now.settings
    teachable = can_be_taught(now.model.network.config)
    if learn == "automaton" and teachable:
        return (search, teach_automaton, train, keep_states)
    if learn == "network" and teachable and settings.training.recipe is None:
        return (train, add_states, drop_needless_states, keep_states)
    if learn != "auto" or not settings.may_induce:
        return (train, keep_states)
    steps = (train, keep_states, add_memory, drop_states)
    if teachable and rows.sample.weights is None:
        return (search, teach_if_it_explains, train, teach_if_as_good, *steps[1:])
    return steps


def search(now: Fit, rows: Rows, run: Run) -> Fit:
    """Search the rows for a small automaton."""
    found = search_rows(
        now.model,
        rows.sample,
        rows.validation,
        seconds=now.training.search_seconds,
        seed=run.seed,
    )
    return now.add(_describe(found), found=found)


def teach_if_it_explains(now: Fit, rows: Rows, run: Run) -> Fit:
    """Teach the automaton to the untrained network if no trained one could do better."""
    assert now.found is not None
    judged, kind = rows.judged
    errors = int((automaton_answers(now.found.dfa, now.model, judged.words) != judged.labels).sum())
    good = explains(
        states=now.found.dfa.num_states,
        training=(now.found.training_errors, rows.sample),
        validation=(errors, judged) if kind == "validation" else (errors, None),
    )
    if now.training.class_weight is not None:  # the search counts all rows alike
        good = errors == now.found.training_errors == 0
    return teach_automaton(now, rows, run) if good else now


def teach_automaton(now: Fit, rows: Rows, run: Run) -> Fit:
    """Teach the automaton to the network; if it cannot be learned, say so and go on."""
    assert now.found is not None
    dfa, (judged, kind) = now.found.dfa, rows.judged
    taught, same = teach(now.model, dfa, rows.sample, run)
    if not same:
        return now.add("the network did not learn the automaton")
    accuracy = (automaton_answers(dfa, now.model, judged.words) == judged.labels).mean()
    what = "the network" if len(now.model.history) else "the untrained network"
    return now.add(
        f"taught {what} the {dfa.num_states}-state automaton: "
        f"{percent(accuracy)} of {len(judged):,} {kind} rows",
        model=taught,
        origin="induced",
        sure=True,
    )


def train(now: Fit, rows: Rows, run: Run) -> Fit:
    """Train the network by gradient, with the recipe that was given or that fits."""
    weights: dict[str, Tensor] = {}
    model, config = now.model, now.model.network.config
    history = fit(
        model.network,
        rows.training,
        validation=rows.validation,
        stages=stages_of(now.settings, config, now.training),
        run=run,
        cell_weights=weights,
    )
    cell = plain_cell(model.network, weights) if weights and config.num_states else None
    origin = _origin(now.settings, config)
    log = (*now.log, _deviations(history)) if origin == "paper" else now.log
    model = replace(model, history=history)
    return replace(now, model=model, origin=origin, cell=cell, log=log)


def add_states(now: Fit, rows: Rows, run: Run) -> Fit:
    """Train with many states where few do worse than the cell, and keep the better network."""
    network, cell = now.model.network, now.cell
    chosen = {"num_states", "similarity", "temperature"} & now.settings.network_values.keys()
    if cell is None or chosen:
        return now
    if as_good_as_the_cell(network, cell, rows.training, rows.validation):
        return now
    found, cell, history = more_states(
        cell,
        rows.training,
        validation=rows.validation,
        config=now.training,
        run=run.without_checkpoint,
    )
    compared = _compared_states(network, found, rows)
    now = now.add(str(compared))
    if compared.simple_is_as_good:
        return now
    history = History([*now.model.history.epochs, *history.epochs])
    model = replace(now.model, network=found, history=history)
    return replace(now, model=model, cell=cell)


def drop_needless_states(now: Fit, rows: Rows, run: Run) -> Fit:
    """Drop centroids that no row needs; none where a number of states was asked for."""
    network, cell = now.model.network, now.cell
    if cell is None or now.settings.given.states is not None:
        return now
    found, history = fewer_states(
        network,
        cell,
        rows.training,
        validation=rows.validation,
        config=now.training,
        run=run.without_checkpoint,
    )
    history = History([*now.model.history.epochs, *history.epochs])
    model = replace(now.model, network=found, history=history)
    before, after = network.rnn.num_states, found.rnn.num_states
    line = f"learned {_states(after)}, dropped {before - after} needless ones"
    return now.add(line, model=model)


def teach_if_as_good(now: Fit, rows: Rows, run: Run) -> Fit:
    """Teach the automaton to the network if it is as good as the best network there is."""
    assert now.found is not None
    judged, kind = rows.judged
    dfa = now.found.dfa
    network = now.cell or now.model.network
    compared = compare(
        judged,
        automaton_answers(dfa, now.model, judged.words),
        predict(network, judged.words).predicted,
        names=(f"{dfa.num_states}-state automaton", "network"),
        kind=kind,
    )
    small = dfa.num_states <= MAX_STATES and kind == "validation"
    good = compared.simple_is_as_good if small else compared.simple_is_no_worse
    if now.training.class_weight is not None:
        good = good and now.found.training_errors == 0
    now = now.add(str(compared))
    return teach_automaton(now, rows, run) if good else now


def keep_states(now: Fit, rows: Rows, run: Run) -> Fit:
    """Keep the network with states; where `auto` chooses, only if they cost no accuracy."""
    if now.cell is None:
        return replace(now, sure=True)
    compared = _states_against_cell(now.model.network, now.cell, rows)
    if compared.simple_is_as_good:
        return now.add(f"kept the network with states: {compared}", sure=True)
    if now.settings.given.learn == "auto" and now.settings.may_induce:
        return now.add(f"states without memory cost accuracy: {compared}")
    return now.add(f"{compared}; the states cost accuracy", sure=True)


def add_memory(now: Fit, rows: Rows, run: Run) -> Fit:
    """Train an LSTM with states and memory, and keep it where its states cost no accuracy."""
    config = now.model.network.config
    asked = {"cell", "pooling"} & now.settings.network_values.keys()
    assert now.cell is not None
    if asked or config.num_layers > 1 or not config.num_symbols or rows.validation is None:
        return now
    accuracy = evaluate(now.cell, rows.validation).accuracy
    by_ngrams = accuracy <= NGRAM_LOSS + ngram_accuracy(
        next(rows.training.parts()), rows.validation, seed=run.seed
    )
    network, history = memory_states(
        now.cell,
        rows.training,
        by_ngrams=by_ngrams,
        validation=rows.validation,
        config=now.training,
        run=run.without_checkpoint,
    )
    compared = _states_against_cell(network, now.cell, rows)
    line = f"an LSTM with memory{', taught by n-grams' if by_ngrams else ''}: {compared}"
    if not compared.simple_is_as_good:
        return now.add(line)
    history = History([*now.model.history.epochs, *history.epochs])
    model = replace(now.model, network=network, history=history)
    return now.add(line, model=model, origin="ngrams" if by_ngrams else "trained", sure=True)


def drop_states(now: Fit, rows: Rows, run: Run) -> Fit:
    """Keep the plain cell."""
    assert now.cell is not None
    model = replace(now.model, network=now.cell)
    return now.add("kept the plain cell", model=model, origin="plain", sure=True)


def fit_and_measure(
    model: Model, examples: Examples, settings: Settings, run: Run, *, baseline: bool
) -> Fit:
    """Train an untrained model, and add what the model folder says of rows and training.

    `baseline` also asks n-grams for their answers to the held-out rows. Without rows of their own
    for that, it asks for cross-fitting, which fits a model per fold.
    """
    rows = split_rows(examples, settings, run.seed)
    now = fit_model(model, rows, settings, run)
    if not run.processes.is_main:
        return now
    held_out = None
    if rows.held_out is not None:
        held_out = answers(
            now.model.network, rows.training, rows.held_out, baseline=baseline, seed=run.seed
        )
    elif baseline and len(examples) >= MIN_VALIDATION:
        held_out = cross_fit(model, examples, settings, run)
    figures = measure(now.model.network, rows.training, rows.validation, held_out)
    data = {**fingerprint(examples.words), **figures.to_dict()}
    about = {"origin": now.origin, "data": data, "fit_log": list(now.log)}
    found = replace(now.model, settings={**now.model.settings, **about})
    return replace(now, model=found, figures=figures)


def cross_fit(model: Model, examples: Examples, settings: Settings, run: Run) -> Answers:
    """Answers to all rows, each by a model that was fitted without its fold."""
    network = model.network
    count = 5 if len(examples) < CROSS_FITTED_LONG else 3
    predicted = np.zeros(len(examples), dtype=np.int64)
    baseline = np.zeros_like(predicted)
    shown = Stage(name="folds", epochs=count)
    with run.bar as active:
        active.begin(shown)
        for i, fold in enumerate(examples.folds(count, run.seed)):
            rest = examples.select(np.setdiff1d(np.arange(len(examples)), fold))
            inner = split_rows(rest, settings, run.seed, held_out=False)
            fresh = random_network(network.config, run.seed).to(network.device)
            found = fit_model(replace(model, network=fresh), inner, settings, Run(seed=run.seed))
            answered = answers(
                found.model.network,
                inner.training,
                examples.select(fold),
                baseline=True,
                seed=run.seed,
            )
            assert answered.baseline is not None
            predicted[fold], baseline[fold] = answered.predicted, answered.baseline
            active.step(shown, i, 1.0)
    return Answers(labels=examples.labels, predicted=predicted, baseline=baseline, folds=count)


def split_rows(examples: Examples, settings: Settings, seed: int, *, held_out: bool = True) -> Rows:
    """Training, validation and held-out rows of examples."""
    kept, held = examples, None
    shortest = -1
    if settings.given.learn == "network" and len(examples):  # they say what the first states mean
        shortest = int(np.quantile(examples.lengths, SHORTEST)) - 1
    long = int(examples.lengths.sum()) > LONG
    enough = len(examples) >= (CROSS_FITTED_LONG if long else CROSS_FITTED)
    if held_out and settings.training.held_out and enough:
        share = max(settings.training.held_out, MIN_HELD_OUT_ROWS / len(examples))
        kept, held = examples.split(share, seed + HELD_OUT_STREAM, longer_than=shortest)
    training, validation = kept, None
    if settings.given.validation and len(kept) >= MIN_VALIDATION:
        training, validation = kept.split(settings.given.validation, seed, longer_than=shortest)
    return Rows(
        training=training,
        validation=validation if validation is not None and len(validation) else None,
        held_out=held if held is not None and len(held) else None,
        sample=kept.sample(seed),
    )


def _compared_states(few: Classifier, many: Classifier, rows: Rows) -> Comparison:
    judged, kind = rows.judged
    return compare(
        judged,
        predict(few, judged.words).predicted,
        predict(many, judged.words).predicted,
        names=(_states(few.rnn.num_states), _states(many.rnn.num_states)),
        kind=kind,
    )


def _states_against_cell(network: Classifier, cell: Classifier, rows: Rows) -> Comparison:
    judged, kind = rows.judged
    return compare(
        judged,
        predict(network, judged.words).predicted,
        predict(cell, judged.words).predicted,
        names=(_states(network.rnn.num_states), "plain cell"),
        kind=kind,
    )


def _origin(settings: Settings, config: Any) -> str:
    """Where a network comes from that was trained by the recipe of `train`."""
    if not config.num_states:
        return "plain"
    recipe, learn = settings.training.recipe, settings.given.learn
    if recipe == "paper" or (learn == "paper" and recipe is None):
        return "paper"
    by_text = config.pooling == "states" and config.num_symbols and recipe in (None, "text")
    by_ngrams = by_text and learn == "auto" and settings.training.embeddings is None
    return "ngrams" if by_ngrams else "trained"


def _deviations(history: History) -> str:
    """What the recipe `paper` did that the paper does not say."""
    limits = [epoch.limit or 0.0 for epoch in history.epochs]
    restarts = sum(b < a for a, b in pairwise(limits))
    return (
        "the paper's recipe, with what the paper leaves open: short words first, the next length "
        "at 99 %, batches of 32, RMSprop at 0.0003; "
        f"began again with other weights {restarts} times"
    )


def _describe(found: Induction) -> str:
    stopped = "; the search stopped when its time was up" if found.stopped_early else ""
    return (
        f"found an automaton of {_states(found.dfa.num_states)}, {found.origin}, "
        f"wrong on {found.training_errors:,} of {found.rows:,} rows, "
        f"in {found.seconds:.1f} s{stopped}"
    )


def _states(count: int) -> str:
    return "1 state" if count == 1 else f"{count} states"
