"""A local search for the transition table of the shortest description.

    description length = n A log2 n + sum over states of log2[(N + C - 1)! / ((C - 1)! prod n_c!)]

for n states over A symbols and C classes, where N words of which n_c have class c end in a state.
The first term is the table, the second the labels, given the table (minimum description length). It
falls as soon as the classes of a state get purer, before any majority changes, and a state that
only explains a few wrong labels does not pay for itself.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import inf

import numpy as np
from numpy.typing import NDArray

from kleene.automata import DFA
from kleene.induction.evidence import Evidence
from kleene.induction.kernels import (
    MIN_GAIN,
    best_merge,
    class_code,
    count_ends,
    sweep,
    trace_words,
)

Table = NDArray[np.int32]


@dataclass
class Budget:
    """Counts look-ups in `work`; a search stops at `look_ups`, at the same point every time."""

    look_ups: float = inf
    work: NDArray[np.int64] = field(default_factory=lambda: np.zeros(1, dtype=np.int64))

    @property
    def is_spent(self) -> bool:
        """Whether the search must stop."""
        return bool(self.work[0] >= self.look_ups)

    def part(self, share: float) -> Budget:
        """A budget of its own: a share of what is left."""
        done = float(self.work[0])
        return Budget(look_ups=done + (self.look_ups - done) * share, work=self.work)


@dataclass(frozen=True, kw_only=True)
class Found:
    """A transition table, which starts in state 0, and its description length in bits."""

    table: Table
    label_bits: float
    """Bits of the labels, given the table."""
    model_bits: float
    """Bits of the table, or of the features of a pattern if these are fewer."""
    outputs: NDArray[np.int64] | None = None
    """Classes of the states in which no word ends, by number; None for the commonest class."""

    @property
    def num_states(self) -> int:
        """The number of states."""
        return len(self.table)

    @property
    def description_length(self) -> float:
        """Bits of the model and of the labels."""
        return self.model_bits + self.label_bits

    @property
    def length_by_table(self) -> float:
        """The same, with all transitions written down."""
        return table_bits(self.table) + self.label_bits


class Search:
    """Sweeps and merges over one body of evidence, within a budget."""

    def __init__(
        self,
        evidence: Evidence,
        budget: Budget,
        *,
        max_states: int | None = None,
        seed: int = 0,
    ) -> None:
        self.evidence, self.budget = evidence, budget
        self.max_states = max_states
        self.random = np.random.default_rng(seed)
        self.words = evidence.arrays

    # -- judging --------------------------------------------------------------------------------

    def votes(self, table: Table) -> NDArray[np.int64]:
        """Rows of each class that end in each state, (state, class)."""
        votes: NDArray[np.int64]
        votes, _ = count_ends(writable(table), self.words, self.budget.work)
        return votes

    def errors(self, table: Table) -> int:
        """Rows that do not have the commonest class of their state."""
        votes = self.votes(table)
        return int(votes.sum() - votes.max(1).sum())

    def errors_of(self, dfa: DFA) -> int:
        """Rows to which an automaton gives another label."""
        found = self.judge_dfa(dfa)
        assert found.outputs is not None
        return wrong(self.votes(found.table), found.outputs)

    def judge(self, table: Table, model_bits: float = inf) -> Found:
        """The table and its description length, with fewer bits for the model if they are given."""
        table = writable(table)
        bits = [class_code(row, self.words.log_factorials) for row in self.votes(table)]
        model_bits = min(model_bits, table_bits(table))
        return Found(table=table, label_bits=float(sum(bits)), model_bits=model_bits)

    def judge_dfa(self, dfa: DFA, model_bits: float = inf) -> Found:
        """The table of an automaton, which decides the states in which no word ends."""
        dfa = dfa.reachable()
        numbers = {label: i for i, label in enumerate(self.evidence.classes)}
        outputs = np.array([numbers[label] for label in dfa.outputs])
        return replace(self.judge(dfa.transitions, model_bits), outputs=outputs)

    def dfa(self, found: Found) -> DFA:
        """The minimal automaton of a table; a state's output is the majority of its words."""
        best = majorities(self.votes(found.table), found.outputs)
        outputs = tuple(self.evidence.classes[i] for i in best)
        return DFA(
            alphabet=self.evidence.alphabet, transitions=found.table, outputs=outputs
        ).minimize()

    # -- refining -------------------------------------------------------------------------------

    def refine(self, table: Table) -> Found:
        """Redirect transitions and merge states as long as the description gets shorter."""
        best = self.judge(self._visited(table))
        while not self.budget.is_spent:
            changed = best.table.copy()
            order = self.random.permutation(changed.size)
            saved = sweep(changed, self.words, order, self.budget.work, self.budget.look_ups)
            merged = self._merge(self.judge(self._visited(changed)))
            if merged.description_length >= best.description_length - MIN_GAIN:
                break
            best = merged
            if saved <= MIN_GAIN:
                break
        return best

    def _visited(self, table: Table) -> Table:
        """The table without unvisited states.

        Transitions to them go where most words go with the symbol.
        """
        table = writable(table)
        votes, uses = count_ends(table, self.words, self.budget.work)
        visits = votes.sum(1) + uses.sum(1)
        visits[0] += 1  # the start state stays
        if visits.all():
            return table
        targets = np.zeros(table.shape, dtype=np.int64)  # (target, symbol)
        symbols = np.broadcast_to(np.arange(table.shape[1]), table.shape)
        np.add.at(targets, (table, symbols), uses)
        usual = targets.argmax(0)
        usual[targets.max(0) == 0] = 0
        kept = np.flatnonzero(visits)
        number = np.full(len(table), -1)
        number[kept] = np.arange(len(kept))
        smaller = number[table[kept]]
        smaller = np.where(smaller < 0, number[usual], smaller)
        return np.ascontiguousarray(smaller, dtype=np.int32)

    def _merge(self, best: Found) -> Found:
        """Merge pairs of states as long as the description gets shorter."""
        while best.num_states > 1 and not self.budget.is_spent:
            words, work, limit = self.words, self.budget.work, self.budget.look_ups
            trace = trace_words(best.table, words, work)
            _, kept, gone = best_merge(best.table, words, trace, work, limit)
            merged = self.judge(self._visited(merge(best.table, kept, gone)))
            too_large = self.max_states is not None and best.num_states > self.max_states
            if merged.description_length >= best.description_length and not too_large:
                break
            best = merged
        return best


def table_bits(table: Table) -> float:
    """Bits of a transition table: n A log2 n."""
    return float(table.size * np.log2(len(table)))


def majorities(votes: NDArray[np.int64], others: NDArray[np.int64] | None) -> NDArray[np.int64]:
    """The commonest class of each state; `others`, or the commonest of all, where no word ends."""
    absent = votes.sum(0).argmax() if others is None else others
    return np.where(votes.any(1), votes.argmax(1), absent)


def wrong(votes: NDArray[np.int64], outputs: NDArray[np.int64]) -> int:
    """Rows whose class is not the output of their state."""
    return int(votes.sum() - votes[np.arange(len(votes)), outputs].sum())


def writable(table: Table) -> Table:
    """The table as the kernels are compiled for; one that may not be written to is copied."""
    return np.require(table, np.int32, ["C", "W"])


def merge(table: Table, kept: int, gone: int) -> Table:
    """The table in which one state stands for two; the start state keeps number 0."""
    renumbered = np.where(table == gone, kept, table)
    if gone == 0:  # the state kept becomes the start
        order = [kept, *(s for s in range(1, len(table)) if s != kept)]
    else:
        order = [s for s in range(len(table)) if s != gone]
    number = np.zeros(len(table), dtype=np.int32)
    number[order] = np.arange(len(order), dtype=np.int32)
    return np.ascontiguousarray(number[renumbered[order]], dtype=np.int32)
