"""The end of `fit` for memory-less cells: from a trained cell to a network that is an automaton.

1. Induction searches for a small automaton, in the training rows alone and from what the trained
   cell suggests, within a budget.
2. `readability` says whether the automaton may take the network's place, by their errors on the
   held-out rows. If so the network is taught the automaton (`consolidate`).
3. Otherwise, or if teaching fails, the states are learned in the usual way: centroids by k-means,
   then the stochastic component with growing noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import sqrt

from kleene.data.alphabet import Alphabet
from kleene.data.examples import Examples
from kleene.data.streaming import TrainingData
from kleene.errors import SettingError
from kleene.evaluation.metrics import evaluate
from kleene.induction.distil import consolidate
from kleene.induction.evidence import Evidence
from kleene.induction.learner import compile_kernels, search_automaton
from kleene.induction.result import Induction
from kleene.induction.suggestions import CLUSTERS, suggestions
from kleene.model import Model
from kleene.training.config import TrainConfig
from kleene.training.history import History
from kleene.training.loop import Hook, fit
from kleene.training.progress import Reporter
from kleene.training.recipes import states_stage

READABILITY = ("exact", "prefer-small", "accuracy")
SMALL = 30
"""States up to which an automaton counts as small."""
LARGEST_LOSS = 0.01
"""Accuracy that a small automaton may lose at most, however few the held-out rows."""
LEAST_SECONDS = 1.0
"""A search may always take this long, however quickly the cell was trained."""


@dataclass(frozen=True, kw_only=True)
class Induced:
    """The network at the end, whether it was taught the automaton found, and what was done."""

    model: Model
    taught: bool
    steps: tuple[str, ...]
    induction: Induction


def induce_into(
    model: Model,
    examples: Examples,
    *,
    training: TrainingData,
    held_out: Examples | None,
    config: TrainConfig,
    clusters: Sequence[int] | None = None,
    readability: str = "prefer-small",
    seconds: float = 30.0,
    seed: int = 0,
    reporter: Reporter | None = None,
    hook: Hook | None = None,
) -> Induced:
    """Teach the network the best automaton found, or give it states of its own.

    `examples` are all rows, of which `training` taught the cell and `held_out` told it when to
    stop. The search takes at most `seconds` of CPU time, and no more than the training of the cell.
    """
    if readability not in READABILITY:
        known = ", ".join(READABILITY)
        raise SettingError(f"readability must be one of {known}, got {readability!r}")
    trained = sum(epoch.seconds for epoch in model.history.epochs)
    everything = evidence_of(model, examples)
    check = evidence_of(model, held_out or Examples(words=[], labels=examples.labels[:0]))
    compile_kernels()
    found = search_automaton(
        everything.without(check),
        check,
        suggested=suggestions(model, examples, clusters=clusters or CLUSTERS, seed=seed),
        seconds=min(seconds, max(trained, LEAST_SECONDS)),
        seed=seed,
    )
    judged = _compare(model, found, examples, held_out)
    steps = [_describe(found), judged.describe(found)]
    if judged.takes(found, readability):
        taught, same = consolidate(
            model, found.dfa, examples, seed=seed, reporter=reporter, hook=hook
        )
        if same:
            steps.append(f"taught the network the {found.dfa.num_states}-state automaton")
            return Induced(model=taught, taught=True, steps=tuple(steps), induction=found)
        steps.append("the network did not learn the automaton; kept the network")
    else:
        steps.append("kept the network")
    history = fit(
        model.network,
        training,
        validation=held_out,
        stages=[states_stage(config)],
        seed=seed,
        hook=hook,
        reporter=reporter,
    )
    steps.append(f"learned {model.network.rnn.num_states} states with growing noise")
    epochs = [*model.history.epochs, *history.epochs]
    return Induced(
        model=replace(model, history=History(epochs)),
        taught=False,
        steps=tuple(steps),
        induction=found,
    )


def evidence_of(model: Model, examples: Examples) -> Evidence:
    """Encoded rows as evidence; rows with unknown symbols are left out."""
    words = [Alphabet.columns(word) for word in examples.words]
    return Evidence.from_columns(
        words, examples.labels, alphabet=model.alphabet.symbols, classes=model.classes
    )


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Errors of the automaton and of the network on the same rows."""

    automaton: int
    network: int
    rows: int
    held_out: bool

    def takes(self, found: Induction, readability: str) -> bool:
        """Whether the automaton may take the network's place."""
        if readability == "exact":
            return found.training_errors == 0 and self.automaton == 0
        if self.automaton <= self.network:
            return True
        if readability == "accuracy" or not self.held_out or found.dfa.num_states > SMALL:
            return False
        rate = (self.network + 1) / (self.rows + 2)
        standard_error = sqrt(self.rows * rate * (1 - rate))
        return self.automaton - self.network <= min(standard_error, LARGEST_LOSS * self.rows)

    def describe(self, found: Induction) -> str:
        """The trade in one line."""
        automaton, network = 1 - self.automaton / self.rows, 1 - self.network / self.rows
        rows = "held-out" if self.held_out else "training"
        return (
            f"{found.dfa.num_states}-state automaton: {automaton:.2%}, network: {network:.2%} "
            f"on {self.rows:,} {rows} rows"
        )


def _compare(
    model: Model, found: Induction, examples: Examples, held_out: Examples | None
) -> Comparison:
    rows = examples if held_out is None else held_out
    evaluation = evaluate(model.network, rows)
    wrong = found.training_errors if held_out is None else found.held_out_errors or 0
    read = found.rows if held_out is None else found.held_out_rows
    return Comparison(
        automaton=wrong + len(rows) - read,  # rows with unknown symbols count as errors
        network=int((evaluation.predicted != evaluation.labels).sum()),
        rows=len(rows),
        held_out=held_out is not None,
    )


def _describe(found: Induction) -> str:
    stopped = "; the search stopped when its time was up" if found.stopped_early else ""
    return (
        f"found an automaton of {found.dfa.num_states} states, {found.origin}, "
        f"wrong on {found.training_errors:,} of {found.rows:,} rows, "
        f"in {found.seconds:.1f} s{stopped}"
    )
