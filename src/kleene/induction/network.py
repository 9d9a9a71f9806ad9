"""Induction inside `fit`, for memory-less cells: a network that is taught a small automaton.

1. Before any training a small automaton is searched for in the training rows (`induce_first`). If
   its errors on the held-out rows are so few that not even a network without errors would be
   preferred to it, the untrained network is taught the automaton, and that is all.
2. Otherwise the cell is trained, and the search goes on from what the trained cell suggests
   (`induce_into`). `readability` says whether the automaton may take the network's place, by their
   errors on the held-out rows. If so the network is taught the automaton (`consolidate`).
3. Otherwise, or if teaching fails, the states are learned in the usual way: centroids by k-means,
   then the stochastic component with growing noise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import inf, sqrt

import numpy as np

from kleene.automata import DFA
from kleene.data.alphabet import Alphabet
from kleene.data.examples import Examples
from kleene.data.streaming import TrainingData
from kleene.evaluation.metrics import evaluate
from kleene.induction.evidence import Evidence
from kleene.induction.learner import compile_kernels, search_automaton
from kleene.induction.result import Induction
from kleene.induction.teach import CLUSTERS, consolidate, suggestions
from kleene.model import Model
from kleene.training.config import TrainConfig
from kleene.training.history import History
from kleene.training.loop import Hook, fit
from kleene.training.progress import Reporter
from kleene.training.recipes import states_stage

SMALL = 30
"""States up to which an automaton counts as small."""
LARGEST_LOSS = 0.01
"""Accuracy that a small automaton may lose at most, however few the held-out rows."""
BASELINE_LOSS = 0.1
"""The same as a share of the rows that the most common class gets wrong, for rare classes."""
LEAST_SECONDS = 1.0
"""A search may always take this long, however quickly the cell is trained."""
FIRST_SECONDS = 20.0
"""Before training, a search may do at least so many seconds' work: long subsequences and counts are
found in about ten, and where they explain the rows no cell is trained."""
EPOCHS, SYMBOL_SECONDS = 10, 4e-6
"""With many rows, it may take as long as so many epochs would. Training takes about so much a
symbol; an estimate, unlike a clock, keeps `fit` repeatable."""
UNEXPLAINED, UNEXPLAINED_HELD_OUT = 0.01, 0.005
"""The shares of the errors of the most common class that are left where no cell need be trained."""
HOPELESS = 0.5
"""The same share where a search before training gives up."""


@dataclass(frozen=True, kw_only=True)
class Induced:
    """The network at the end, whether it was taught the automaton found, and what was done."""

    model: Model
    taught: bool
    steps: tuple[str, ...]
    induction: Induction


def induce_first(
    model: Model,
    examples: Examples,
    *,
    held_out: Examples | None,
    readability: str = "prefer-small",
    seconds: float = 30.0,
    seed: int = 0,
    reporter: Reporter | None = None,
    hook: Hook | None = None,
) -> Induced:
    """Search the rows before any training; teach the automaton if no network could do better.

    The search takes at most `seconds` of CPU time, and less where its work is done before.
    """
    rows = _Rows(model, examples, held_out)
    epochs = LEAST_SECONDS + EPOCHS * SYMBOL_SECONDS * int(examples.lengths.sum())
    work = min(seconds, max(FIRST_SECONDS, epochs))
    found = rows.search(seconds=work, limit=seconds, seed=seed, hopeless=HOPELESS)
    steps = [_describe(found)]
    perfect = rows.compare(found, network_errors=0)
    explained = found.training_errors <= UNEXPLAINED * rows.baseline_errors(examples)
    if explained and (perfect.takes(found, readability) or perfect.explains(found, readability)):
        taught, same = consolidate(
            model, found.dfa, examples, seed=seed, reporter=reporter, hook=hook
        )
        if same:
            accuracy = 1 - perfect.automaton / perfect.rows
            steps.append(
                f"taught the untrained network the {found.dfa.num_states}-state automaton: "
                f"{accuracy:.2%} on {perfect.rows:,} {perfect.kind} rows"
            )
            return Induced(model=taught, taught=True, steps=tuple(steps), induction=found)
    return Induced(model=model, taught=False, steps=tuple(steps), induction=found)


def induce_into(
    model: Model,
    examples: Examples,
    *,
    training: TrainingData,
    held_out: Examples | None,
    config: TrainConfig,
    first: Induction | None = None,
    clusters: Sequence[int] | None = None,
    readability: str = "prefer-small",
    seconds: float = 30.0,
    seed: int = 0,
    reporter: Reporter | None = None,
    hook: Hook | None = None,
) -> Induced:
    """Teach a trained network the best automaton found, or give it states of its own.

    `examples` are all rows, of which the cell was trained on `training` and stopped by `held_out`;
    `first` is what a search found before the training. Both searches together do no more work than
    the training of the cell, by the number of symbols it saw, unless the first one did more; they
    take at most `seconds` of CPU time.
    """
    symbols = float(examples.lengths.mean()) * sum(epoch.words for epoch in model.history.epochs)
    work = min(seconds, SYMBOL_SECONDS * symbols) - (0.0 if first is None else first.work)
    rows = _Rows(model, examples, held_out)
    found = rows.search(
        suggested=suggestions(model, examples, clusters=clusters or CLUSTERS, seed=seed),
        first=first,
        seconds=max(work, LEAST_SECONDS),
        limit=max(seconds - (0.0 if first is None else first.seconds), LEAST_SECONDS),
        seed=seed,
    )
    evaluation = evaluate(model.network, examples if held_out is None else held_out)
    wrong = int((evaluation.predicted != evaluation.labels).sum())
    compared = rows.compare(found, network_errors=wrong)
    steps = [_describe(found), compared.describe(found)]
    if compared.takes(found, readability):
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
        stages=[states_stage(config, cell_accuracy=evaluation.accuracy if held_out else None)],
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


class _Rows:
    """The rows of one `fit` as evidence, those held out apart."""

    def __init__(self, model: Model, examples: Examples, held_out: Examples | None) -> None:
        self.examples, self.held_out = examples, held_out
        self.check = evidence_of(model, held_out or Examples(words=[], labels=examples.labels[:0]))
        self.training = evidence_of(model, examples).without(self.check)

    def search(
        self,
        *,
        seconds: float,
        limit: float,
        seed: int,
        suggested: Iterable[Callable[[], DFA]] = (),
        first: Induction | None = None,
        hopeless: float = inf,
    ) -> Induction:
        compile_kernels()
        return search_automaton(
            self.training,
            self.check,
            suggested=suggested,
            first=first,
            seconds=seconds,
            limit=limit,
            hopeless=hopeless,
            seed=seed,
        )

    def compare(self, found: Induction, *, network_errors: int) -> Comparison:
        """The automaton beside a network with so many errors on the same rows."""
        rows = self.examples if self.held_out is None else self.held_out
        wrong = found.training_errors if self.held_out is None else found.held_out_errors or 0
        read = found.rows if self.held_out is None else found.held_out_rows
        return Comparison(
            automaton=wrong + len(rows) - read,  # rows with unknown symbols count as errors
            network=network_errors,
            baseline=self.baseline_errors(rows),
            rows=len(rows),
            held_out=self.held_out is not None,
        )

    @staticmethod
    def baseline_errors(rows: Examples) -> int:
        """Errors of always predicting the most common class."""
        return len(rows) - int(np.bincount(rows.labels).max())


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
    baseline: int
    """Errors of always predicting the most common class."""
    rows: int
    held_out: bool

    @property
    def kind(self) -> str:
        """Of which kind the rows are."""
        return "held-out" if self.held_out else "training"

    def takes(self, found: Induction, readability: str) -> bool:
        """Whether the automaton may take the network's place."""
        if readability == "exact":
            return found.training_errors == 0 and self.automaton == 0
        if self.automaton <= self.network:
            return True
        if readability == "accuracy" or not self.held_out or found.dfa.num_states > SMALL:
            return False
        standard_error = sqrt(self.network + 1)  # of a Poisson number; none seen is not none
        largest_loss = min(LARGEST_LOSS * self.rows, BASELINE_LOSS * self.baseline)
        return self.automaton - self.network <= min(standard_error, largest_loss)

    def explains(self, found: Induction, readability: str) -> bool:
        """Whether a small automaton is so good that it is taken without asking a network."""
        small = readability == "prefer-small" and found.dfa.num_states <= SMALL
        return small and self.held_out and self.automaton <= UNEXPLAINED_HELD_OUT * self.baseline

    def describe(self, found: Induction) -> str:
        """The trade in one line."""
        automaton, network = 1 - self.automaton / self.rows, 1 - self.network / self.rows
        return (
            f"{found.dfa.num_states}-state automaton: {automaton:.2%}, network: {network:.2%} "
            f"on {self.rows:,} {self.kind} rows"
        )


def _describe(found: Induction) -> str:
    stopped = "; the search stopped when its time was up" if found.stopped_early else ""
    states = "1 state" if found.dfa.num_states == 1 else f"{found.dfa.num_states} states"
    return (
        f"found an automaton of {states}, {found.origin}, "
        f"wrong on {found.training_errors:,} of {found.rows:,} rows, "
        f"in {found.seconds:.1f} s{stopped}"
    )
