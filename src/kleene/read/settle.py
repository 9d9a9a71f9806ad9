"""The end of `fit` for memory-less cells: from a trained cell to a network that is a machine.

1. The cell suggests machines (`candidates`); where none explains the words, small machines are
   searched for directly.
2. If the best one is at least as accurate as the network, on the training words and on those held
   back, the network is taught to be that machine (`consolidate`).
3. Otherwise, or if teaching fails, the states are learned in the usual way: centroids by k-means,
   then the stochastic component with growing noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from kleene.automata import DFA
from kleene.data.examples import Examples
from kleene.evaluate import evaluate
from kleene.machine import Label, Word
from kleene.model import Model
from kleene.read.candidates import CLUSTERS, Candidate, candidates, small_machines
from kleene.read.consolidate import consolidate
from kleene.train.fit import Hook, fit
from kleene.train.history import History
from kleene.train.progress import Reporter
from kleene.train.recipe import Settings, states_stage

LITTLE = 0.9
"""Accuracy below which a cell is taken to have learned little of a language."""


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
    training: Examples,
    held: Examples | None,
    clusters: Sequence[int] | None,
    settings: Settings,
    seed: int = 0,
    reporter: Reporter | None = None,
    hook: Hook | None = None,
) -> Settled:
    """Teach the network the best machine found, or give it states of its own.

    `examples` are all words, of which `training` taught the cell and `held` told it when to stop.
    """
    own = evaluate(model.network, examples).accuracy
    best = _best_machine(model, examples, words, labels, clusters or CLUSTERS, seed, own)
    steps = [_describe(best)]
    machine = 1 - best.mended.errors / max(best.mended.words, 1)
    if machine >= own and _no_worse(model, best.dfa, held):
        taught, same = consolidate(
            model, best.dfa, examples, seed=seed, reporter=reporter, hook=hook
        )
        if same and evaluate(taught.network, examples).accuracy >= own:
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
        found += candidates(model, examples, words, labels, clusters=clusters, seed=seed)
    best = min(found, key=lambda one: one.mended.bits)
    if best.mended.errors and own >= LITTLE:
        best = min([best, *small()], key=lambda one: one.mended.bits)
    return best


def _describe(candidate: Candidate) -> str:
    found, states = candidate.mended, candidate.dfa.num_states
    return (
        f"found a machine of {states} states ({candidate.origin}), "
        f"wrong on {found.errors} of {found.words} words"
    )


def _no_worse(model: Model, dfa: DFA, held: Examples | None) -> bool:
    if held is None:
        return True
    words = [model.alphabet.decode(word) for word in held.words]
    known = np.array([all(symbol in dfa.columns for symbol in word) for word in words])
    if not known.all():
        return False
    right = dfa.run_many(words) == np.array([model.classes[i] for i in held.labels], dtype=object)
    return bool(right.mean() >= evaluate(model.network, held).accuracy)
