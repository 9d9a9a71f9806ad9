"""`kl.induce`: from labelled sequences to a small automaton, without a network."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kleene.data.alphabet import Alphabet
from kleene.data.validate import as_classes, as_labels, as_words
from kleene.errors import DataError, SettingError
from kleene.induction.alternatives import Explanations
from kleene.induction.candidates import GOOD_BELOW, Candidate, CandidateSearch
from kleene.induction.evidence import Evidence
from kleene.induction.kernels import noise_bits
from kleene.induction.patterns import patterns
from kleene.induction.result import FrontPoint, Induction
from kleene.induction.search import Budget, Found, Search
from kleene.machine import Label
from kleene.select import choose_automaton

MAX_STATES = 100
"""Larger automata are not refined on all rows."""
HELD_OUT_SHARE, MIN_ROWS = 0.1, 200
"""The share of the rows that is held back to check candidates, if there are enough rows."""
STREAM = 8_020_613
"""Sets the draw of these rows apart from other draws of the same seed."""
LOOK_UPS = 5e9
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
    progress: Callable[[str], None] | None = None,
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
        CPU seconds that the search may take, compilation left out. None sets a limit of work
        instead, so that the result depends on `seed` alone.
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
    """Weights as whole numbers, one per row."""
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
    limit: float | None = None,
    hopeless: float = inf,
    seed: int = 0,
    progress: Callable[[str], None] | None = None,
) -> Induction:
    """Search over the training rows, choose on the held-out rows, refine on all of them.

    The search does the work of `seconds` on an ordinary core, counted in look-ups, and ends after
    `limit` seconds of CPU time (by default `seconds`). Only this time limit is non-deterministic.
    Nothing is refined where the best automaton has a larger share of the errors of the most common
    class than `hopeless`.
    """
    budget = Budget(look_ups=LOOK_UPS)
    if seconds is not None:
        budget = Budget(look_ups=seconds * LOOK_UPS_PER_SECOND, seconds=limit or seconds)
    candidates = CandidateSearch(
        training,
        held_out,
        budget.part(0.9) if held_out.rows else budget,
        max_states=max_states,
        hopeless=hopeless,
        seed=seed,
        **({} if progress is None else {"progress": progress}),
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
        if final.num_states <= MAX_STATES and not candidates.is_hopeless:
            again.append(search.refine(final.table))
        few = chosen.held_out_errors <= GOOD_BELOW * held_out.rows
        if few and chosen.method == "patterns":  # all rows may tell a pattern more
            again += _patterns(search, seed)
        final = min(again, key=lambda one: total_bits(search, one))
    return Induction(
        dfa=search.dfa(final),
        description_length=total_bits(search, final),
        training_errors=search.errors(final.table),
        rows=everything.rows,
        distinct_rows=everything.num_words,
        held_out_errors=chosen.held_out_errors if held_out.rows else None,
        held_out_rows=held_out.rows,
        method=chosen.method,
        front=_front(candidates.found, bool(held_out.rows)),
        seconds=budget.elapsed,
        work=float(budget.work[0]) / LOOK_UPS_PER_SECOND,
        stopped_early=stopped,
        seed=seed,
        explanations=Explanations(
            evidence=everything,
            tables=tuple(one.table for one in candidates.found),
            max_states=max_states,
            seed=seed,
        ),
    )


def total_bits(search: Search, found: Found) -> float:
    """Bits of the model, of the labels, and of the claim that some of them are wrong."""
    errors = search.errors(found.table)
    return found.description_length + float(noise_bits(errors, search.evidence.rows))


def _patterns(search: Search, seed: int) -> list[Found]:
    """The best combination of features by all rows."""
    for pattern in patterns(search.evidence, search.budget, seed=seed):
        if search.max_states is None or pattern.dfa.num_states <= search.max_states:
            return [search.judge_dfa(pattern.dfa, pattern.bits)]
    return []


def _front(candidates: Sequence[Candidate], has_held_out: bool) -> tuple[FrontPoint, ...]:
    """For each number of states, the fewest training errors, where more states have fewer."""
    points: list[FrontPoint] = []
    fewest = inf
    for one in sorted(
        candidates, key=lambda one: (one.num_states, one.training_errors, one.held_out_errors)
    ):
        if one.training_errors < fewest:
            fewest = one.training_errors
            held_out = one.held_out_errors if has_held_out else None
            points.append(
                FrontPoint(
                    states=one.num_states,
                    training_errors=one.training_errors,
                    held_out_errors=held_out,
                )
            )
    return tuple(points)


@cache
def compile_kernels() -> None:
    """Compile what the search needs, once and outside its budget."""
    words, labels = ["a", "b", "ab", "ba", "aab"], [0, 1, 0, 1, 1]
    evidence = Evidence.from_rows(words, labels, alphabet=("a", "b"), classes=(0, 1))
    candidates = CandidateSearch(evidence, evidence, Budget(look_ups=1e5))
    candidates.merge()
    candidates.add_patterns()
    candidates.search.refine(np.array([[1, 2], [0, 3], [3, 0], [3, 1]], dtype=np.int32))
