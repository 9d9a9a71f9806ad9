"""Automata that explain labelled words: merged, expected, patterns, grown, restarted, suggested.

The search sees a sample of the distinct words first and more of them as the automaton grows. All
candidates are compared by description length.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from math import ceil, inf

import numpy as np
from numpy.typing import NDArray

from kleene.automata import DFA
from kleene.induction.evidence import Evidence
from kleene.induction.expectation import expected_table, has_short_words
from kleene.induction.kernels import MIN_GAIN
from kleene.induction.merging import merged
from kleene.induction.patterns import patterns
from kleene.induction.result import FROM_DATA, FROM_NETWORK, MERGED, READ_OFF
from kleene.induction.search import Budget, Found, Search, Table, majorities

FIRST_SAMPLE, GROWTH, MOST_WORDS = 2_000, 4, 32_000
NOISE = (0.0, 0.02, 0.1)
FEW = 0.02
"""The share of held-out rows that a good candidate may get wrong."""
PATIENCE, GROWN = 60, 6
"""Restarts without a shorter description after which the search ends; every sixth one grows."""
CHEAP_TO_GROW = 8
"""States of an automaton that is soon grown as well."""
WIDE, EXPECTED_STATES = 10, (8, 16)
"""Symbols from which on expectation maximisation is tried, and how many states it has."""
SHORT = 0.01
"""The share of the words that are the short ones."""
MOST_STATES_SUGGESTED, MOST_STATES_REFINED = 100, 40
"""Larger automata are not refined: the first if a network suggests them, the second if patterns."""
SHARES = (0.15, 0.2, 0.25, 0.35, 0.5, 0.7, 1.0)
"""Shares of the words, the shortest ones, whose prefix trees are merged."""


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A transition table, its description length, and where it comes from."""

    found: Found
    """The table and its description length, by `model_bits`."""
    model_bits: float
    """The part of the description that is not the labels: a table, or the features of a pattern."""
    origin: str
    method: str

    @property
    def table(self) -> Table:
        """The transition table."""
        return self.found.table

    @property
    def description_length(self) -> float:
        """Bits of the model and of the labels."""
        return self.found.description_length


class CandidateSearch:
    """Collects candidates over one body of evidence; the best is `best`."""

    def __init__(
        self,
        evidence: Evidence,
        budget: Budget,
        *,
        held_out: Evidence | None = None,
        max_states: int | None = None,
        hopeless: float = inf,
        seed: int = 0,
        progress: Callable[[str], None] = lambda message: None,
    ) -> None:
        self.evidence, self.budget, self.max_states, self.seed = evidence, budget, max_states, seed
        self.held_out, self.hopeless = held_out, hopeless
        self.random = np.random.default_rng(seed)
        self.progress = progress
        self.samples = list(_samples(evidence, self.random))
        self.search = self._search(self.samples[-1])
        self.found: list[Candidate] = []
        self.add(self.search.judge(self.single_state), "splits")

    @property
    def single_state(self) -> Table:
        """The table of one state."""
        return np.zeros((1, len(self.evidence.alphabet)), dtype=np.int32)

    @property
    def best(self) -> Candidate:
        """The candidate of the shortest description."""
        return min(self.found, key=lambda one: one.description_length)

    def add(
        self,
        found: Found,
        method: str,
        origin: str = FROM_DATA,
        *,
        model_bits: float | None = None,
    ) -> None:
        """Keep a candidate unless it has too many states.

        `model_bits` describe the automaton where that is shorter than its table.
        """
        if self.max_states is not None and found.num_states > self.max_states:
            return
        table_bits = self.search.table_bits(found.table)
        bits = table_bits if model_bits is None else min(model_bits, table_bits)
        candidate = Candidate(
            found=replace(found, description_length=found.description_length - table_bits + bits),
            model_bits=bits,
            origin=origin,
            method=method,
        )
        self.found.append(candidate)
        if candidate is self.best:
            self.progress(f"{found.num_states} states, {candidate.description_length:,.0f} bits")

    def run(
        self, suggested: Iterable[Callable[[], DFA]] = (), known: Candidate | None = None
    ) -> Candidate:
        """Try every source of candidates and return the best one.

        Where the data alone was searched before, `known` is what was found.
        """
        if known is None:
            self.merge()
            if self.is_done and self._may_be_another:
                self.grow()
                self.add_patterns(share=0.1)
            for search in (self.expect, self.add_patterns, self.grow):
                if self.is_good and self.held_out is not None and self.held_out.rows:
                    break
                search()
        else:
            judged = self.search.judge(known.table)
            judged = replace(judged, outputs=known.found.outputs)
            self.add(judged, known.method, known.origin, model_bits=known.model_bits)
        for suggest in suggested:
            if self.is_good:
                break
            self.refine_suggestion(suggest())
        if not self.is_hopeless:
            self.restart()
        return self.best

    @property
    def is_hopeless(self) -> bool:
        """Whether the best candidate has too many of the errors of the most common class."""
        wrong, _ = errors(self.best.found, self.search.evidence, None)
        single = self.search.judge(self.single_state)
        baseline, _ = errors(single, self.search.evidence, None)
        return wrong > self.hopeless * baseline

    @property
    def is_done(self) -> bool:
        """Whether the budget is spent or the best candidate makes no error."""
        if self.budget.is_spent:
            return True
        return not any(errors(self.best.found, self.search.evidence, self.held_out))

    @property
    def _may_be_another(self) -> bool:
        """Whether another small automaton may explain the words with a shorter description.

        Short words pin a small automaton down, state by state; where all are longer, it may not be.
        """
        states = len(self.best.table)
        short = np.quantile(np.diff(self.search.evidence.starts), SHORT) < states
        return states <= CHEAP_TO_GROW and not bool(short)

    @property
    def is_good(self) -> bool:
        """Whether no other kind of search need be tried.

        The best candidate makes no error on the training rows and few on those held out.
        """
        if self.budget.is_spent:
            return True
        training, held_out = errors(self.best.found, self.search.evidence, self.held_out)
        rows = 0 if self.held_out is None else self.held_out.rows
        return training == 0 and held_out <= FEW * rows

    def merge(self) -> None:
        """Merge the states of prefix trees, refine the best; with noise only if errors are left.

        The shortest words alone often do: their tree is small, and their prefixes are words, too.
        Which share of them does best is not known ahead.
        """
        evidence = self.search.evidence
        by_length = np.argsort(np.diff(evidence.starts), kind="stable")
        for noise in NOISE:
            budget = self.budget.part(0.05)
            tables = []
            for share in SHARES if noise == 0 else SHARES[-1:]:
                shortest = np.sort(by_length[: ceil(share * len(by_length))])
                table = merged(evidence.subset(shortest), budget, noise)
                if table is not None:
                    tables.append(self.search.judge(table))
                    self.add(tables[-1], "merges", MERGED)
                if self.is_done:
                    return
                if budget.is_spent:
                    break
            if tables:
                best = min(tables, key=lambda found: found.description_length)
                search = self._search(evidence, self.budget.part(0.03))
                self.add(search.refine(best.table), "merges", MERGED)
                if self.is_done:
                    return

    def expect(self) -> None:
        """Transitions that are uncertain at first, where the alphabet is wide."""
        evidence = self.search.evidence
        if len(evidence.alphabet) < WIDE or not has_short_words(evidence):
            return
        for states in EXPECTED_STATES:
            budget = self.budget.part(0.1)
            table = expected_table(evidence, budget, states, self.seed)
            self.add(self._search(evidence, budget).refine(table), "expectation")
            if self.is_good:
                return

    def grow(self) -> None:
        """Split states from one state on, over larger and larger samples."""
        table = self.single_state
        for sample in self.samples:
            search = self._search(sample, self.budget.part(0.4))
            steps = search.grow(table)
            table = steps[-1].table
        for step in steps:
            self.add(self.search.judge(step.table), "splits")

    def add_patterns(self, share: float = 0.5) -> None:
        """Combinations of features, as they are and refined."""
        for pattern in patterns(self.evidence, self.budget.part(share), seed=self.seed):
            judged = self.search.judge_dfa(pattern.dfa)
            self.add(judged, "patterns", model_bits=pattern.bits)
            if judged.num_states <= MOST_STATES_REFINED and not self.is_hopeless:
                self.add(self.search.refine(judged.table), "patterns")
            if self.is_done:
                break

    def refine_suggestion(self, dfa: DFA) -> None:
        """Refine a given automaton over the same alphabet, then let it grow."""
        if dfa.num_states > MOST_STATES_SUGGESTED:
            return
        read_off = self.search.judge_dfa(dfa)
        self.add(read_off, "clusters", READ_OFF)
        for found in self.search.grow(read_off.table.copy()):
            self.add(found, "clusters", FROM_NETWORK)

    def restart(self) -> None:
        """Search from disturbed and random tables while there are errors."""
        search = self._search(self.samples[0])
        small = [one for one in self.found if len(one.table) <= MOST_STATES_REFINED]
        shortest = min(small or self.found, key=lambda one: one.description_length)
        best = search.judge(shortest.table)
        failures = 0
        while failures < PATIENCE and not self.is_good:
            if failures % GROWN == 0:
                found = search.grow(self.single_state)[-1]
            else:
                found = search.refine(self._start(search, best, failures))
            if found.description_length < best.description_length - MIN_GAIN:
                best, failures = found, 0
                whole = found if len(self.samples) == 1 else self.search.grow(found.table)[-1]
                self.add(whole, "restarts")
            else:
                failures += 1

    def _start(self, search: Search, best: Found, failures: int) -> Table:
        """The best table with a few changes or splits, or a random one of about its size."""
        width, kind = len(self.evidence.alphabet), failures % 4
        if kind == 3:
            size = int(self.random.integers(2, best.num_states + 4))
            if self.max_states is not None:
                size = min(size, self.max_states)
            return self.random.integers(0, size, (size, width)).astype(np.int32)
        table = best.table.copy()
        if kind == 1:
            for larger in search.splits(table, random=1):
                return larger
        if kind == 2:  # a few symbols lead to one state from everywhere, or change nothing
            for symbol in self.random.permutation(width)[: int(self.random.integers(1, 4))]:
                target = int(self.random.integers(len(table) + 1))
                table[:, symbol] = target if target < len(table) else np.arange(len(table))
            return table
        used = np.flatnonzero(search.uses(table))
        chosen = self.random.permutation(used)[: int(self.random.integers(2, 4 + len(used) // 4))]
        table.flat[chosen] = self.random.integers(0, len(table), len(chosen))
        return table

    def _search(self, evidence: Evidence, budget: Budget | None = None) -> Search:
        return Search(evidence, budget or self.budget, max_states=self.max_states, seed=self.seed)


def errors(found: Found, training: Evidence, held_out: Evidence | None) -> tuple[int, int]:
    """Training and held-out rows that a table gets wrong; outputs are the training majorities."""
    table = found.table
    votes = Search(training, Budget()).votes(table)
    outputs = majorities(votes, found.outputs)
    wrong = int(votes.sum() - votes.max(1).sum())
    if held_out is None:
        return wrong, 0
    others = Search(held_out, Budget()).votes(table)
    return wrong, int(others.sum() - others[np.arange(len(others)), outputs].sum())


def _samples(evidence: Evidence, random: np.random.Generator) -> Iterator[Evidence]:
    """Samples of the distinct words, each in the next; words of many rows come first."""
    rows = np.maximum(evidence.counts.sum(1), 1)
    order: NDArray[np.int64] = np.argsort(random.exponential(size=len(rows)) / rows)
    size = FIRST_SAMPLE
    while 2 * size < min(evidence.num_words, MOST_WORDS):
        yield evidence.subset(np.sort(order[:size]))
        size *= GROWTH
    if evidence.num_words <= MOST_WORDS:
        yield evidence
    else:
        yield evidence.subset(np.sort(order[:MOST_WORDS]))
