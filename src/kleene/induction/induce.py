"""The end of `fit` for memory-less cells: from a trained cell to a network that is a machine.

1. The cell suggests machines (`candidates`); where none explains the words, small machines are
   searched for directly.
2. If the best one is at least as accurate as the network, on the training words and on those held
   back, the network is taught to be that machine (`consolidate`). Where even the network is wrong
   on some words, whose labels may be wrong, the words held back decide: the machine is taken
   unless the network is clearly better there.
3. Otherwise, or if teaching fails, the states are learned in the usual way: centroids by k-means,
   then the stochastic component with growing noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import sqrt

import numpy as np

from kleene.automata import DFA
from kleene.data.examples import Examples
from kleene.data.streaming import TrainingData
from kleene.evaluation.metrics import evaluate
from kleene.induction.candidates import CLUSTERS, Candidate, candidates, small_machines
from kleene.induction.distil import consolidate
from kleene.machine import Label, Word
from kleene.model import Model
from kleene.training.history import History
from kleene.training.loop import Hook, fit
from kleene.training.progress import Reporter
from kleene.training.recipes import TrainConfig, states_stage

LITTLE = 0.8
"""Accuracy below which a cell is taken to have learned little of a language."""
ALL = 0.999
"""Accuracy from which a cell is taken to be right on all words, as `cell_stage` has it."""


@dataclass(frozen=True, kw_only=True)
class Settled:
    """The network that came out, and what was done, in words."""

    model: Model
    steps: tuple[str, ...]


def settle(
    model: Model,
    examples: Examples,
    words: Sequence[Word],
    labels: Sequence[Label],
    *,
    training: TrainingData,
    held: Examples | None,
    clusters: Sequence[int] | None,
    settings: TrainConfig,
    seed: int = 0,
    reporter: Reporter | None = None,
    hook: Hook | None = None,
) -> Settled:
    """Teach the network the best machine found, or give it states of its own.

    `examples` are all words, of which `training` taught the cell and `held` told it when to stop.
    """
    own = evaluate(model.network, examples).accuracy
    best = _best_machine(model, examples, words, labels, held, clusters or CLUSTERS, seed, own)
    steps = [_describe(best)]
    machine = best.accuracy
    if _is_taken(model, best, held, own):
        taught, same = consolidate(
            model, best.dfa, examples, seed=seed, reporter=reporter, hook=hook
        )
        if same and evaluate(taught.network, examples).accuracy >= min(own, machine):
            steps.append(f"taught the network to be that machine of {best.dfa.num_states} states")
            return Settled(model=taught, steps=tuple(steps))
        steps.append("teaching the machine did not succeed and was undone")
    else:
        steps.append(f"kept the network: it is right on {own:.2%}, the machine on {machine:.2%}")
    stage = states_stage(settings)
    history = fit(
        model.network,
        training,
        validation=held,
        stages=[stage],
        seed=seed,
        hook=hook,
        reporter=reporter,
    )
    steps.append(f"learned {model.network.rnn.num_states} states with growing noise")
    epochs = [*model.history.epochs, *history.epochs]
    return Settled(model=replace(model, history=History(epochs)), steps=tuple(steps))


def _best_machine(
    model: Model,
    examples: Examples,
    words: Sequence[Word],
    labels: Sequence[Label],
    held: Examples | None,
    clusters: Sequence[int],
    seed: int,
    own: float,
) -> Candidate:
    """What the cell suggests; small machines are searched first where it has learned little."""

    def small() -> list[Candidate]:
        symbols = model.alphabet.symbols
        found = small_machines(words, labels, symbols, model.classes, seed=seed)
        return [] if found is None else [found]

    found = small() if own < LITTLE else []
    if not found or found[0].mended.errors:
        found += candidates(
            model,
            examples,
            words,
            labels,
            clusters=clusters,
            seed=seed,
            enough=lambda one: _is_taken(model, one, held, own),
        )
    best = min(found, key=lambda one: one.mended.bits)
    if best.mended.errors and own >= LITTLE and not _is_taken(model, best, held, own):
        best = min([best, *small()], key=lambda one: one.mended.bits)
    return best


def _describe(candidate: Candidate) -> str:
    found, states = candidate.mended, candidate.dfa.num_states
    return (
        f"found a machine of {states} states ({candidate.origin}), "
        f"wrong on {found.errors} of {found.words} words"
    )


def _is_taken(model: Model, best: Candidate, held: Examples | None, own: float) -> bool:
    """Whether a machine may take the place of a network that is right on `own` of all words."""
    doubtful = held is not None and own < ALL
    if best.accuracy < own and not doubtful:
        return False
    if held is None:
        return True
    won, lost = _told_apart(model, best.dfa, held)
    return lost - won <= (sqrt(won + lost) if doubtful else 0)


def _told_apart(model: Model, dfa: DFA, held: Examples) -> tuple[int, int]:
    """On how many words the machine is right and the network wrong, and the other way round."""
    words = [model.alphabet.decode(word) for word in held.words]
    known = np.array([all(symbol in dfa.columns for symbol in word) for word in words])
    right = np.zeros(len(words), dtype=bool)
    labels = np.array([model.classes[i] for i in held.labels], dtype=object)
    readable = [word for word, is_known in zip(words, known, strict=True) if is_known]
    right[known] = dfa.run_many(readable) == labels[known]
    evaluated = evaluate(model.network, held)
    network = evaluated.predicted == evaluated.labels
    return int((right & ~network).sum()), int((network & ~right).sum())
