"""`kl.induce`: from labelled sequences to a small automaton, without a network."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cache
from math import inf
from typing import Any

import numpy as np

from kleene.automata import DFA
from kleene.data.alphabet import Alphabet
from kleene.data.validate import as_classes, as_labels, as_words
from kleene.errors import SettingError
from kleene.induction.candidates import (
    FEW,
    MOST_STATES_SUGGESTED,
    Candidate,
    CandidateSearch,
    errors,
)
from kleene.induction.choice import Judged, choose
from kleene.induction.evidence import Evidence
from kleene.induction.expectation import expected_table
from kleene.induction.patterns import patterns
from kleene.induction.result import FrontPoint, Induction
from kleene.induction.search import Budget, Found, Search
from kleene.machine import Label

HELD_OUT, LEAST_ROWS = 0.1, 200
"""The share of the rows that is held back to check candidates, where there are enough."""
STREAM = 8_020_613
"""Sets the choice of these rows apart from whatever else a user draws with the same seed."""
LOOK_UPS = 5e9
"""The limit of a search without a limit in seconds: below a minute on one core."""
LOOK_UPS_PER_SECOND = 1.2e8
"""What a second allows on an ordinary core; on faster ones the result stays repeatable."""


def induce(
    sequences: Sequence[Any],
    labels: Sequence[Label],
    max_states: int | None = None,
    seconds: float | None = None,
    seed: int = 0,
    *,
    tokens: str | None = None,
    progress: Callable[[str], None] | None = None,
) -> Induction:
    """Find a small automaton that explains labelled sequences.

    The automaton of the shortest description is searched for: the bits of its transition table and
    of the labels, given the table. Equal sequences count once, with their number. No network is
    trained.

    Parameters
    ----------
    sequences : list of str or of sequences of hashable symbols
        Strings are split as in `SequenceClassifier`, by `tokens`.
    labels : list of labels, of two or more classes
    max_states : int or None
        The largest automaton that is wanted; None leaves it to the description length.
    seconds : float or None
        CPU seconds that the search may take, compilation left out. None sets a limit of work
        instead, so that the result depends on `seed` alone.

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
    plain_labels = as_labels(labels)
    held_out = np.zeros(len(words), dtype=bool)
    if len(words) >= LEAST_ROWS:
        random = np.random.default_rng([seed, STREAM])
        held_out = random.random(len(words)) < HELD_OUT
    alphabet = Alphabet.from_words(words).symbols
    parts = []
    for chosen in (~held_out, held_out):
        rows = np.flatnonzero(chosen).tolist()
        parts.append(
            Evidence.from_rows(
                [words[i] for i in rows],
                [plain_labels[i] for i in rows],
                alphabet=alphabet,
                classes=classes,
            )
        )
    compile_kernels()
    return search_automaton(
        *parts, max_states=max_states, seconds=seconds, seed=int(seed), progress=progress
    )


def search_automaton(
    training: Evidence,
    held_out: Evidence,
    *,
    suggested: Iterable[Callable[[], DFA]] = (),
    first: Induction | None = None,
    max_states: int | None = None,
    seconds: float | None = None,
    limit: float | None = None,
    hopeless: float = inf,
    seed: int = 0,
    progress: Callable[[str], None] | None = None,
) -> Induction:
    """Search over the training rows, choose on the held-out rows, refine on all of them.

    `suggested` are automata over the same alphabet to start from, each made when it is needed;
    `first` is the result of an earlier search in the same rows, which is continued. The search
    does the work of `seconds` on an ordinary core, counted in look-ups, and ends after `limit`
    seconds of CPU time (by default `seconds`) wherever it is, which alone is not repeatable.
    Nothing is refined or restarted where the best automaton has a larger share of the errors of
    the most common class than `hopeless`.
    """
    budget = Budget(look_ups=LOOK_UPS)
    if seconds is not None:
        budget = Budget(look_ups=seconds * LOOK_UPS_PER_SECOND, seconds=limit or seconds)
    candidates = CandidateSearch(
        training,
        budget.part(0.9) if held_out.rows else budget,
        held_out=held_out,
        max_states=max_states,
        hopeless=hopeless,
        seed=seed,
        **({} if progress is None else {"progress": progress}),
    )
    everything = training.joined(held_out)
    search = Search(everything, budget, max_states=max_states, seed=seed)
    candidates.run(suggested, None if first is None else _known(first, search))
    stopped = candidates.budget.is_spent
    judged = [
        Judged(candidate, *errors(candidate.found, training, held_out))
        for candidate in candidates.found
    ]
    chosen = choose(judged)
    final = search.judge(chosen.candidate.table)
    changed = search.table_bits(final.table) - chosen.candidate.model_bits
    final = replace(
        final,
        description_length=final.description_length - changed,
        outputs=chosen.candidate.found.outputs,
    )
    if chosen.held_out_errors:
        again = []
        if final.num_states <= MOST_STATES_SUGGESTED and not candidates.is_hopeless:
            again.append(search.refine(final.table))
        few = chosen.held_out_errors <= FEW * held_out.rows
        if few and chosen.candidate.method == "patterns":  # all rows may tell a pattern more
            again += _patterns(everything, search, max_states, seed)
        final = min([final, *again], key=lambda one: one.description_length)
    votes = search.votes(final.table)
    return Induction(
        dfa=search.dfa(final),
        description_length=final.description_length,
        training_errors=int(votes.sum() - votes.max(1).sum()),
        rows=everything.rows,
        distinct_rows=everything.num_words,
        held_out_errors=chosen.held_out_errors if held_out.rows else None,
        held_out_rows=held_out.rows,
        origin=chosen.candidate.origin,
        method=chosen.candidate.method,
        front=_front(judged, bool(held_out.rows)),
        seconds=budget.elapsed,
        work=float(budget.work[0]) / LOOK_UPS_PER_SECOND,
        stopped_early=stopped,
        seed=seed,
    )


def _patterns(
    everything: Evidence, search: Search, max_states: int | None, seed: int
) -> list[Found]:
    """The best combination of features by all rows."""
    for pattern in patterns(everything, search.budget, seed=seed):
        if max_states is None or pattern.dfa.num_states <= max_states:
            judged = search.judge_dfa(pattern.dfa)
            bits = search.table_bits(judged.table)
            length = judged.description_length - bits + min(bits, pattern.bits)
            return [replace(judged, description_length=length)]
    return []


def _known(first: Induction, search: Search) -> Candidate:
    """What an earlier search in the same rows found."""
    judged = search.judge_dfa(first.dfa)
    labels = judged.description_length - search.table_bits(judged.table)
    return Candidate(
        found=replace(judged, description_length=first.description_length),
        model_bits=first.description_length - labels,
        origin=first.origin,
        method=first.method,
    )


def _front(judged: Sequence[Judged], has_held_out: bool) -> tuple[FrontPoint, ...]:
    """For each number of states, the fewest training errors, where more states have fewer."""
    points: list[FrontPoint] = []
    fewest = inf
    ordered = sorted(
        judged, key=lambda one: (len(one.candidate.table), one.training_errors, one.held_out_errors)
    )
    for one in ordered:
        if one.training_errors < fewest:
            fewest = one.training_errors
            points.append(
                FrontPoint(
                    states=len(one.candidate.table),
                    training_errors=one.training_errors,
                    held_out_errors=one.held_out_errors if has_held_out else None,
                )
            )
    return tuple(points)


@cache
def compile_kernels() -> None:
    """Compile what the search needs, once and outside its budget."""
    words, labels = ["a", "b", "ab", "ba", "aab"], [0, 1, 0, 1, 1]
    evidence = Evidence.from_rows(words, labels, alphabet=("a", "b"), classes=(0, 1))
    expected_table(evidence, Budget(look_ups=1e4), 2, 0)
    CandidateSearch(evidence, Budget(look_ups=1e5)).run()
