"""Can replacing one word change the label of a text? Exactly, for automata with visit counts.

A network with `pooling="states"`, no memory and hard transitions (`transition="soft-argmax"`) is a
finite automaton; its logits are b + 10 / (T + 1) sum_t W[q_t] + 3 times the sum of V over the
states visited. Replacing the word at t leads to one of a few states; what the rest of the text adds
from each state is computed once, from the end. So all replacements are tried in O(T states^2).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from state_model import state_model

from kleene.automata import DFA
from kleene.data.alphabet import UNKNOWN
from kleene.errors import ExtractionError
from kleene.extraction.table import transition_table
from kleene.machine import Word
from kleene.model import Model
from kleene.nn.pooling import MAX_SCALE, MEAN_SCALE


@dataclass(frozen=True, kw_only=True)
class Substitutions:
    """What replacing one word of a text can do to its log-odds for the second class."""

    log_odds: float
    least: float
    most: float

    @property
    def certified(self) -> bool:
        """Whether no single replacement changes the label."""
        return self.least > 0 if self.log_odds > 0 else self.most < 0


def substitutions(model: Model, texts: Sequence[Word]) -> list[Substitutions]:
    """Try every replacement of every one word of each text by any word of the alphabet."""
    config = model.network.config
    if config.num_classes != 2 or config.transition != "soft-argmax":
        raise ExtractionError(
            "needs two classes and transition='soft-argmax', got "
            f"{config.num_classes} classes and {config.transition!r}; train such a network"
        )
    table = transition_table(state_model(model))
    head = model.network.head
    weight = (head.weight[1] - head.weight[0]).detach().double()
    bias = (head.bias[1] - head.bias[0]).item()
    states = [state[0] for state in table.states]
    on_mean, on_max = weight.numpy().reshape(2, -1)[:, states]
    counts = _Counts(table.dfa, MEAN_SCALE * on_mean, MAX_SCALE * on_max, bias)
    found = []
    for ids in model.alphabet.encode_many(texts):
        if (ids == UNKNOWN).any():
            raise ExtractionError("texts must have known words only; leave the others out")
        found.append(counts.try_all(model.alphabet.columns(ids)))
    return found


class _Counts:
    """An automaton whose score adds up over the states it visits."""

    def __init__(
        self, dfa: DFA, on_mean: NDArray[np.float64], on_max: NDArray[np.float64], bias: float
    ) -> None:
        self.dfa, self.on_mean, self.on_max, self.bias = dfa, on_mean, on_max, bias
        self.reached = [np.unique(row) for row in dfa.transitions]

    def try_all(self, columns: NDArray[np.int64]) -> Substitutions:
        """All texts that differ in one word."""
        moves, k, steps = self.dfa.transitions, self.dfa.num_states, len(columns)
        rest = np.zeros((steps + 1, k))
        later = np.zeros((steps + 1, k, k), bool)  # which states are visited after a step
        each, states = np.eye(k, dtype=bool), np.arange(k)
        for t in range(steps - 1, -1, -1):
            after = moves[states, columns[t]]
            rest[t] = self.on_mean[after] + rest[t + 1, after]
            later[t] = each[after] | later[t + 1, after]
        state, total, seen = (
            self.dfa.initial,
            self.on_mean[self.dfa.initial],
            each[self.dfa.initial],
        )
        own = self._score(total + rest[0, state], seen | later[0, state], steps)
        least = most = own
        for t in range(steps):
            to = self.reached[state]
            scores = self._score(
                total + self.on_mean[to] + rest[t + 1, to],
                seen | each[to] | later[t + 1, to],
                steps,
            )
            least, most = min(least, float(scores.min())), max(most, float(scores.max()))
            state = int(moves[state, columns[t]])
            total, seen = total + self.on_mean[state], seen | each[state]
        return Substitutions(log_odds=float(own), least=float(least), most=float(most))

    def _score(self, sums: NDArray[np.float64], seen: NDArray[np.bool_], steps: int) -> Any:
        return self.bias + sums / (steps + 1) + seen @ self.on_max
