"""The search for automata: merge the states of prefix trees, combine patterns, restart.

Each step adds candidates; the search ends as soon as a candidate is good. Candidates are compared
by description length. An automaton with errors also pays for the claim that labels are wrong
(`noise_bits`), so that clean rows are not explained by a shorter rule with a few errors.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, inf

import numpy as np

from kleene.induction.evidence import Evidence
from kleene.induction.kernels import MIN_GAIN, noise_bits
from kleene.induction.merging import merged
from kleene.induction.patterns import patterns
from kleene.induction.search import Budget, Found, Search, Table, majorities

MAX_WORDS, MAX_WORDS_RESTARTED = 32_000, 2_000
"""Samples of the distinct words: for every step, and for the restarts."""
GOOD_BELOW = 0.02
"""The share of held-out rows that a good candidate may get wrong."""
SHORTEST_SHARES = (0.15, 0.2, 0.25, 0.35, 0.5, 0.7, 1.0)
"""Shares of the words, the shortest ones, whose prefix trees are merged."""
SHORT_QUANTILE, MAX_STATES_AMBIGUOUS = 0.01, 8
"""If this share of the words is no shorter than an automaton of at most so many states has states,
another automaton may explain the words."""
MAX_STATES_REFINED = 40
"""Larger patterns are not refined."""
MAX_FAILURES = 60
"""Restarts in a row without a shorter description."""


@dataclass(frozen=True, kw_only=True)
class Candidate(Found):
    """A table that a step of the search found, with its errors."""

    method: str
    training_errors: int
    held_out_errors: int
    noise_bits: float
    """Bits of the claim that some labels are wrong; 0 for a candidate without errors."""

    @property
    def description_length(self) -> float:
        """Bits of the model, of the labels, and of the claim that some of them are wrong."""
        return super().description_length + self.noise_bits

    @property
    def errors(self) -> int:
        """Errors on all rows."""
        return self.training_errors + self.held_out_errors

    @property
    def length_by_table(self) -> float:
        """The same, with all transitions of the table written down."""
        return super().length_by_table + self.noise_bits


class CandidateSearch:
    """Collects candidates in `found`; the one of the shortest description is `best`."""

    def __init__(
        self,
        training: Evidence,
        held_out: Evidence,
        budget: Budget,
        *,
        max_states: int | None = None,
        hopeless: float = inf,
        seed: int = 0,
        progress: Callable[[str], None] = lambda message: None,
    ) -> None:
        self.training, self.held_out, self.budget = training, held_out, budget
        self.max_states, self.hopeless, self.seed = max_states, hopeless, seed
        self.progress, self.random = progress, np.random.default_rng(seed)
        self.search = self._search(_sample(training, MAX_WORDS, seed), budget)
        self.found: list[Candidate] = []
        single_state = np.zeros((1, len(training.alphabet)), dtype=np.int32)
        self.add(self.search.judge(single_state), "majority")
        self.baseline_errors = self.found[0].training_errors

    def run(self) -> None:
        """Merge states, then combine patterns unless merging has found a good automaton; restart.

        Without held-out rows, an automaton without errors may know the rows by heart: try both.
        """
        self.merge()
        if self.is_perfect and self._is_ambiguous:
            self.add_patterns(share=0.1)
        if not (self.is_good and self.held_out.rows):
            self.add_patterns()
        if not self.is_hopeless:
            self.restart()

    # -- the candidates -------------------------------------------------------------------------

    @property
    def best(self) -> Candidate:
        """The candidate of the shortest description."""
        return min(self.found, key=lambda one: one.description_length)

    def add(self, found: Found, method: str) -> None:
        """Keep a candidate unless it has too many states."""
        if self.max_states is not None and found.num_states > self.max_states:
            return
        votes = Search(self.training, Budget()).votes(found.table)
        others = Search(self.held_out, Budget()).votes(found.table)
        states = np.arange(found.num_states)
        outputs = majorities(votes, found.outputs)
        errors = int(votes.sum() - votes[states, outputs].sum())
        held_out_errors = int(others.sum() - others[states, outputs].sum())
        rows = self.training.rows + self.held_out.rows
        candidate = Candidate(
            **vars(found),
            method=method,
            training_errors=errors,
            held_out_errors=held_out_errors,
            noise_bits=noise_bits(errors + held_out_errors, rows),
        )
        self.found.append(candidate)
        if candidate is self.best:
            self.progress(f"{found.num_states} states, {candidate.description_length:,.0f} bits")

    @property
    def is_hopeless(self) -> bool:
        """Whether the best candidate has too many of the errors of the most common class."""
        return self.best.training_errors > self.hopeless * self.baseline_errors

    @property
    def is_perfect(self) -> bool:
        """Whether the budget is spent or the best candidate makes no error."""
        return self.budget.is_spent or self.best.errors == 0

    @property
    def is_good(self) -> bool:
        """Whether the search may end: no training errors and few on the held-out rows."""
        best = self.best
        few = best.held_out_errors <= GOOD_BELOW * self.held_out.rows
        return self.budget.is_spent or (best.training_errors == 0 and few)

    @property
    def _is_ambiguous(self) -> bool:
        """Whether another small automaton may explain the words with a shorter description.

        Short words determine a small automaton, state by state; longer words may not.
        """
        states = self.best.num_states
        short = np.quantile(np.diff(self.search.evidence.starts), SHORT_QUANTILE) < states
        return states <= MAX_STATES_AMBIGUOUS and not bool(short)

    # -- the steps ------------------------------------------------------------------------------

    def merge(self) -> None:
        """Merge the states of prefix trees and refine the best table.

        The tree of the shortest words is small, and often enough; which share of them does best is
        not known ahead. Wrong labels leave too many states, which refining merges.
        """
        evidence, budget = self.search.evidence, self.budget.part(0.1)
        order = self.random.permutation(evidence.num_words)  # words of one length in random order
        by_length = order[np.argsort(np.diff(evidence.starts)[order], kind="stable")]
        tables = []
        for share in SHORTEST_SHARES:
            shortest = np.sort(by_length[: ceil(share * len(by_length))])
            table = merged(evidence.subset(shortest), budget)
            if table is not None:
                tables.append(self.search.judge(table))
                self.add(tables[-1], "merges")
            if self.is_perfect or budget.is_spent:
                break
        if tables and not self.is_perfect:
            best = min(tables, key=lambda found: found.description_length)
            search = self._search(evidence, self.budget.part(0.1))
            self.add(search.refine(best.table), "merges")

    def add_patterns(self, share: float = 0.5) -> None:
        """Add combinations of features, as they are and refined."""
        for pattern in patterns(self.training, self.budget.part(share), seed=self.seed):
            judged = self.search.judge_dfa(pattern.dfa, pattern.bits)
            self.add(judged, "patterns")
            if judged.num_states <= MAX_STATES_REFINED and not self.is_hopeless:
                self.add(self.search.refine(judged.table), "patterns")
            if self.is_perfect:
                break

    def restart(self) -> None:
        """Refine disturbed and random tables while there are errors.

        For small automata of long words that no few tests describe.
        """
        search = self._search(_sample(self.training, MAX_WORDS_RESTARTED, self.seed), self.budget)
        small = [one for one in self.found if one.num_states <= MAX_STATES_REFINED]
        shortest = min(small, key=lambda one: one.description_length)
        best, failures = search.judge(shortest.table), 0
        while failures < MAX_FAILURES and not self.is_good:
            found = search.refine(self._disturbed(search, best.table, failures % 3))
            failures += 1
            if found.description_length < best.description_length - MIN_GAIN:
                best, failures = found, 0
                self.add(self.search.refine(found.table), "restarts")

    def _disturbed(self, search: Search, best: Table, kind: int) -> Table:
        """A random table of about the size of the best, or the best with a few changes."""
        random, (states, width) = self.random, best.shape
        if kind == 0:
            size = int(random.integers(2, states + 4))
            size = size if self.max_states is None else min(size, self.max_states)
            return random.integers(0, size, (size, width)).astype(np.int32)
        table = best.copy()
        if kind == 1:  # a few symbols lead to one state from everywhere, or change nothing
            for symbol in random.permutation(width)[: int(random.integers(1, 4))]:
                target = int(random.integers(states + 1))
                table[:, symbol] = target if target < states else np.arange(states)
        else:
            used = random.permutation(np.flatnonzero(search.uses(table)))
            changed = used[: int(random.integers(2, 4 + len(used) // 4))]
            table.flat[changed] = random.integers(0, states, len(changed))
        return table

    def _search(self, evidence: Evidence, budget: Budget) -> Search:
        return Search(evidence, budget, max_states=self.max_states, seed=self.seed)


def _sample(evidence: Evidence, size: int, seed: int) -> Evidence:
    """A sample of the distinct words; words of many rows come first."""
    if evidence.num_words <= size:
        return evidence
    random, rows = np.random.default_rng(seed), evidence.counts.sum(1)
    order = np.argsort(random.exponential(size=len(rows)) / rows)
    return evidence.subset(np.sort(order[:size]))
