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
from time import thread_time

import numpy as np
from numpy.typing import NDArray

from kleene.automata import DFA
from kleene.induction.evidence import Evidence
from kleene.induction.kernels import (
    MIN_GAIN,
    Trace,
    best_merge,
    class_code,
    count_ends,
    sweep,
    trace_words,
)

Table = NDArray[np.int32]

FIRST_RATE = 5e7
"""Look-ups a second until the search has measured its own rate."""


@dataclass
class Budget:
    """Counts look-ups in `work`; compiled code stops at `limit`.

    Look-ups alone make a search repeatable; `seconds` of CPU time are an additional limit.
    """

    look_ups: float = inf
    seconds: float = inf
    work: NDArray[np.int64] = field(default_factory=lambda: np.zeros(1, dtype=np.int64))
    started: float = field(default_factory=thread_time)

    @property
    def elapsed(self) -> float:
        """CPU seconds since the search began."""
        return thread_time() - self.started

    @property
    def limit(self) -> float:
        """The value of `work` at which compiled code stops."""
        if self.seconds == inf:
            return self.look_ups
        elapsed, done = self.elapsed, float(self.work[0])
        rate = done / elapsed if elapsed > 0.05 and done > 1e5 else FIRST_RATE
        return min(self.look_ups, done + max(self.seconds - elapsed, 0) * rate)

    @property
    def is_spent(self) -> bool:
        """Whether the search must stop."""
        return bool(self.work[0] >= self.look_ups) or self.elapsed >= self.seconds

    def part(self, share: float) -> Budget:
        """A budget of its own: a share of what is left."""
        look_ups = (self.look_ups - float(self.work[0])) * share
        return Budget(
            look_ups=float(self.work[0]) + look_ups,
            seconds=self.elapsed + max(self.seconds - self.elapsed, 0) * share,
            work=self.work,
            started=self.started,
        )


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

    def trace(self, table: Table) -> Trace:
        """The states that the words pass through."""
        found: Trace = trace_words(table, self.words, self.budget.work)
        return found

    def votes(self, table: Table) -> NDArray[np.int64]:
        """Rows of each class that end in each state, (state, class)."""
        table = writable(table)
        votes: NDArray[np.int64] = count_ends(table, self.words, self.budget.work)[0]
        return votes

    def uses(self, table: Table) -> NDArray[np.int64]:
        """How often each transition is used, (state, symbol)."""
        uses: NDArray[np.int64] = count_ends(table, self.words, self.budget.work)[1]
        return uses

    def errors(self, table: Table) -> int:
        """Rows that do not have the commonest class of their state."""
        votes = self.votes(table)
        return int(votes.sum() - votes.max(1).sum())

    def errors_of(self, dfa: DFA) -> int:
        """Rows to which an automaton gives another label."""
        found = self.judge_dfa(dfa)
        votes, states = self.votes(found.table), np.arange(found.num_states)
        return int(votes.sum() - votes[states, found.outputs].sum())

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
            saved = sweep(changed, self.words, order, self.budget.work, self.budget.limit)
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
            trace = self.trace(best.table)
            _, kept, gone = best_merge(
                best.table, self.words, trace, self.budget.work, self.budget.limit
            )
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
