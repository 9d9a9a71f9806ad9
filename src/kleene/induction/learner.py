"""`kl.induce`: from labelled sequences to a small automaton, without a network.

The search merges the states of prefix trees and combines patterns; it ends as soon as a candidate
is good. Candidates are compared by description length. An automaton with errors also pays for the
claim that labels are wrong (`noise_bits`), so that clean rows are not explained by a shorter rule
with a few errors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import ceil
from time import thread_time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kleene.data.alphabet import Alphabet
from kleene.data.validate import as_classes, as_labels, as_words
from kleene.errors import DataError, SettingError
from kleene.induction.evidence import Evidence
from kleene.induction.kernels import noise_bits
from kleene.induction.merging import merged
from kleene.induction.patterns import patterns
from kleene.induction.result import Induction
from kleene.induction.search import Budget, Found, Search, majorities, wrong
from kleene.machine import Label
from kleene.select import choose_automaton

MAX_WORDS = 32_000
"""The sample of the distinct words that is searched."""
MAX_STATES, MAX_STATES_PATTERN = 100, 40
"""Larger automata are not refined: on all rows, and as they are found."""
GOOD_BELOW = 0.02
"""The share of held-out rows that a good candidate may get wrong."""
SHORTEST_SHARES = (0.15, 0.2, 0.25, 0.35, 0.5, 0.7, 1.0)
"""Shares of the words, the shortest ones, whose prefix trees are merged."""
SHORT_QUANTILE, MAX_STATES_AMBIGUOUS = 0.01, 8
"""If this share of the words is no shorter than an automaton of at most so many states has states,
another automaton may explain the words."""
HELD_OUT_SHARE, MIN_ROWS = 0.1, 200
"""The share of the rows that is held back to check candidates, if there are enough rows."""
STREAM = 8_020_613
"""Sets the draw of these rows apart from other draws of the same seed."""
DEFAULT_LOOK_UPS = 5e9
"""The limit of a search without a limit in seconds: below a minute on one core."""
LOOK_UPS_PER_SECOND = 1.2e8
"""Work that a second allows; on faster cores the result stays repeatable."""


def induce(
    sequences: Sequence[Any],
    labels: Sequence[Label],
    max_states: int | None = None,
    seconds: float | None = None,
    seed: int = 0,
    *,
    weights: Sequence[int] | None = None,
    tokens: str | None = None,
    progress: Callable[[str], None] = lambda message: None,
) -> Induction:
    """Find a small automaton that explains labelled sequences.

    The search minimises a description length: the bits of the transition table and of the labels,
    given the table. Equal sequences count once, with their number; the order of the rows does not
    matter. No network is trained.

    Parameters
    ----------
    sequences : list of str or of sequences of hashable symbols
        Strings are split as in `SequenceClassifier`, by `tokens`.
    labels : list of labels, of two or more classes
    max_states : int or None
        Maximum number of states; None leaves it to the description length.
    seconds : float or None
        CPU seconds of the search on an ordinary core. Work is counted, not timed, so that the
        result depends on `seed` alone.
    weights : list of int or None
        How many rows each sequence stands for: distinct sequences with their counts give the same
        automaton as all rows.

    >>> sequences = ["", "a", "aa", "ab", "ba", "abb", "aab", "bab", "aaa", "abab"] * 10
    >>> result = induce(sequences, [s.count("a") % 2 for s in sequences])
    >>> result.dfa.num_states, result.training_errors
    (2, 0)
    """
    words, _ = as_words(sequences, tokens)
    _, classes = as_classes(words, labels)
    if max_states is not None and not (
        isinstance(max_states, int | np.integer) and max_states >= 1
    ):
        raise SettingError(f"max_states must be a whole number >= 1, got {max_states!r}")
    if seconds is not None and not (isinstance(seconds, int | float | np.number) and seconds > 0):
        raise SettingError(f"seconds must be a number > 0, got {seconds!r}")
    if not isinstance(seed, int | np.integer) or seed < 0:
        raise SettingError(f"seed must be a whole number >= 0, got {seed!r}")
    rows = Evidence.from_rows(
        words,
        as_labels(labels),
        None if weights is None else _as_counts(weights, len(words)),
        alphabet=Alphabet.from_words(words).symbols,
        classes=classes,
    )
    share = HELD_OUT_SHARE if rows.rows >= MIN_ROWS else 0.0
    parts = rows.split(share, np.random.default_rng([seed, STREAM]))
    compile_kernels()
    return search_automaton(
        *parts, max_states=max_states, seconds=seconds, seed=int(seed), progress=progress
    )


def _as_counts(weights: Sequence[int], rows: int) -> NDArray[np.int64]:
    counts = np.asarray(weights)
    if counts.shape != (rows,):
        raise DataError(f"expected one weight per sequence, got {counts.size} for {rows} sequences")
    if not np.issubdtype(counts.dtype, np.integer) or (counts < 0).any() or not counts.any():
        raise DataError("weights must be whole numbers >= 0, not all 0: how often each row counts")
    return counts.astype(np.int64)


def search_automaton(
    training: Evidence,
    held_out: Evidence,
    *,
    max_states: int | None = None,
    seconds: float | None = None,
    seed: int = 0,
    progress: Callable[[str], None] = lambda message: None,
) -> Induction:
    """Search over the training rows, choose on the held-out rows, refine on all of them.

    The search does at most the work of `seconds` on an ordinary core, counted in look-ups.
    """
    started = thread_time()
    look_ups = DEFAULT_LOOK_UPS if seconds is None else seconds * LOOK_UPS_PER_SECOND
    budget = Budget(look_ups=look_ups)
    candidates = CandidateSearch(
        training,
        held_out,
        budget.part(0.9) if held_out.rows else budget,
        max_states=max_states,
        seed=seed,
        progress=progress,
    )
    everything = training.joined(held_out)
    search = Search(everything, budget, max_states=max_states, seed=seed)
    candidates.run()
    stopped = candidates.budget.is_spent
    chosen = choose_automaton(candidates.found)
    final = search.judge(chosen.table, chosen.model_bits)
    final = replace(final, outputs=chosen.outputs)
    if chosen.held_out_errors:
        again = [final]
        if final.num_states <= MAX_STATES:
            again.append(search.refine(final.table))
        final = min(again, key=lambda one: total_bits(search, one))
    return Induction(
        dfa=search.dfa(final),
        description_length=total_bits(search, final),
        training_errors=search.errors(final.table),
        held_out_errors=chosen.held_out_errors if held_out.rows else None,
        held_out_rows=held_out.rows,
        method=chosen.method,
        seconds=thread_time() - started,
        work=float(budget.work[0]) / LOOK_UPS_PER_SECOND,
        stopped_early=stopped,
        seed=seed,
        max_states=max_states,
        evidence=everything,
        tables=tuple(one.table for one in candidates.found),
    )


def total_bits(search: Search, found: Found) -> float:
    """Bits of the model, of the labels, and of the claim that some of them are wrong."""
    errors = search.errors(found.table)
    return found.description_length + float(noise_bits(errors, search.evidence.rows))


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
        """The description length with all transitions of the table written down."""
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
        seed: int = 0,
        progress: Callable[[str], None] = lambda message: None,
    ) -> None:
        self.training, self.held_out, self.budget = training, held_out, budget
        self.max_states, self.seed, self.progress = max_states, seed, progress
        self.random = np.random.default_rng(seed)
        self.search = self._search(training.sample(MAX_WORDS, seed), budget)
        self.found: list[Candidate] = []
        single_state = np.zeros((1, len(training.alphabet)), dtype=np.int32)
        self.add(self.search.judge(single_state), "majority")

    def run(self) -> None:
        """Merge states, then combine patterns unless merging has found a good automaton.

        Without held-out rows, an automaton without errors may know the rows by heart: try both.
        Short words determine a small automaton, state by state; longer words may not, as for
        subsequences.
        """
        self.merge()
        states, lengths = self.best.num_states, np.diff(self.search.evidence.starts)
        determined = states > MAX_STATES_AMBIGUOUS or np.quantile(lengths, SHORT_QUANTILE) < states
        if self.is_perfect and not determined:
            self.add_patterns(share=0.1)
        if not (self.is_good and self.held_out.rows):
            self.add_patterns()

    @property
    def best(self) -> Candidate:
        """The candidate of the shortest description."""
        return min(self.found, key=lambda one: one.description_length)

    def add(self, found: Found, method: str) -> None:
        """Keep a candidate unless it has too many states."""
        if self.max_states is not None and found.num_states > self.max_states:
            return
        votes = Search(self.training, Budget()).votes(found.table)
        outputs = majorities(votes, found.outputs)
        training = wrong(votes, outputs)
        held_out = wrong(Search(self.held_out, Budget()).votes(found.table), outputs)
        rows = self.training.rows + self.held_out.rows
        candidate = Candidate(
            **vars(found),
            method=method,
            training_errors=training,
            held_out_errors=held_out,
            noise_bits=noise_bits(training + held_out, rows),
        )
        self.found.append(candidate)
        if candidate is self.best:
            self.progress(f"{found.num_states} states, {candidate.description_length:,.0f} bits")

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
            if judged.num_states <= MAX_STATES_PATTERN:
                self.add(self.search.refine(judged.table), "patterns")
            if self.is_perfect:
                break

    def _search(self, evidence: Evidence, budget: Budget) -> Search:
        return Search(evidence, budget, max_states=self.max_states, seed=self.seed)


@cache
def compile_kernels() -> None:
    """Compile what the search needs, once and outside its budget."""
    words, labels = ["a", "b", "ab", "ba", "aab"], [0, 1, 0, 1, 1]
    evidence = Evidence.from_rows(words, labels, alphabet=("a", "b"), classes=(0, 1))
    candidates = CandidateSearch(evidence, evidence, Budget(look_ups=1e5))
    candidates.merge()
    candidates.add_patterns()
    candidates.search.refine(np.array([[1, 2], [0, 3], [3, 0], [3, 1]], dtype=np.int32))
