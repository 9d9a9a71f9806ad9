"""Teach a memory-less network the transition table of an automaton, without any words.

From the centroid of each state, one step of the cell with each symbol must come nearest to the
centroid of the next state, and the classes after the end token must be the automaton's, each by a
margin. All transitions of all states are one batch (or a few, where they are many), so that rare
ones count like common ones and nothing has to be carried through time: tables of a hundred states,
which words of length 20 teach hardly or not at all, are learned in about a second.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from kleene.automata import DFA
from kleene.data.alphabet import FIRST_SYMBOL, START
from kleene.machine import Label
from kleene.nn.classifier import Classifier
from kleene.nn.similarity import scores

STATES, CLASSES = 12.0, 6.0
"""Gaps that are asked for: of scores over the temperature, and of classes."""
RATE = 5e-3
STEPS = 2_000
MOST_PAIRS = 2_000
"""Transitions of one step of the optimiser."""


def teach_table(
    network: Classifier,
    dfa: DFA,
    classes: Sequence[Label],
    *,
    seed: int = 0,
    steps: int = STEPS,
    progress: Callable[[float], None] = lambda done: None,
) -> bool:
    """Train a network whose centroids are the states of `dfa`; whether all margins are met."""
    goals = torch.from_numpy(dfa.transitions.astype(np.int64)).flatten().to(network.device)
    initial = goals.new_tensor([dfa.initial])
    outputs = goals.new_tensor([classes.index(label) for label in dfa.outputs])
    weights = [weight for weight in network.parameters() if weight.requires_grad]
    optimizer = torch.optim.Adam(weights, lr=RATE)
    falling = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.1, total_iters=steps)
    generator = torch.Generator().manual_seed(seed)
    met, parts = 0, -(-len(goals) // MOST_PAIRS)
    network.eval()  # no dropout
    with torch.enable_grad():
        for step in range(steps):
            if step % parts == 0:
                order = torch.randperm(len(goals), generator=generator)
            pairs = order[step % parts :: parts]
            optimizer.zero_grad()
            found = network.classify([network.rnn.centroids(0)], [None])
            missing = _missing(found, outputs, CLASSES)
            found = _next_states(network, pairs)
            reached = torch.cat([initial, goals[pairs]])
            missing = missing + _missing(found, reached, STATES)
            met = 0 if missing.item() > 0 else met + 1
            if met == parts:
                break
            if not met:
                missing.backward()  # type: ignore[no-untyped-call]
                torch.nn.utils.clip_grad_norm_(weights, 1.0)
                optimizer.step()
            falling.step()
            progress(step / steps)
    return met == parts


def _next_states(network: Classifier, pairs: Tensor) -> Tensor:
    """Scores over the temperature after the start token and after some transitions."""
    rnn, recurrence = network.rnn, network.rnn.recurrence(0)
    width = network.config.num_symbols - FIRST_SYMBOL
    state, symbol = pairs // width, pairs % width
    S, zero = rnn.centroids(0), rnn.zeros(1)
    x, h = rnn.project(network.embedding.weight), recurrence.gates(S)
    first, _ = rnn.cell.step(x[START][None], recurrence.gates(zero), zero, None, None)
    u, _ = rnn.cell.step(x[FIRST_SYMBOL + symbol], h[state], S[state], None, None)
    return scores(rnn.similarity, S, torch.cat([first, u])) / rnn.temperature


def _missing(found: Tensor, goals: Tensor, margin: float) -> Tensor:
    """The share of a margin by which another comes too near: mean, and a tenth of the worst."""
    goal = found.gather(-1, goals[:, None])
    if found.shape[-1] == 1:
        return goal.sum() * 0
    others = found.scatter(-1, goals[:, None], -torch.inf).amax(-1, keepdim=True)
    missing = torch.relu(1 - (goal - others) / margin)
    return missing.mean() + missing.amax() / 10
