"""Compiled loops over all words: changes to a transition table, and the values of features.

All words are traced once. An index lists, for each transition and for each state, the words that
use it, with their first and last use. A changed transition re-runs only these words, from the first
use, and stops once the last use is behind and the run is back on the old path. Every kernel adds
its table look-ups to `work[0]`, so that a search can be limited without a clock.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kleene.automata.compiling import njit

MIN_GAIN = 1e-6
"""Bits that a change must save."""
MIN_ERRORS = 5
"""Errors that are evidence of wrong labels."""


class Words(NamedTuple):
    """Distinct words, their counts per class, and log2 of the factorials."""

    symbols: Any
    starts: Any
    counts: Any
    log_factorials: Any


class Trace(NamedTuple):
    """The path of every word, and an index of the words that use each transition and state.

    Cell `state * (symbols + 1) + symbol` of the index is a transition; the cell after the last
    symbol of a state is the state itself.
    """

    path: Any
    votes: Any
    starts: Any
    words: Any
    first: Any
    last: Any


@njit(cache=True, nogil=True)
def class_code(votes: Any, log_factorials: Any) -> Any:
    """Bits that tell the classes of the words of one state: log2[(N+C-1)! / ((C-1)! prod n_c!)]."""
    total = 0
    bits = -log_factorials[len(votes) - 1]
    for c in range(len(votes)):
        total += votes[c]
        bits -= log_factorials[votes[c]]
    return bits + log_factorials[total + len(votes) - 1]


@njit(cache=True, nogil=True)
def noise_bits(errors: Any, rows: Any) -> Any:
    """Bits of the claim that labels are wrong, on top of the class codes; 0 without errors.

    A row is named by log2(rows) bits. The claim costs as much as naming a few rows, and up to
    `MIN_ERRORS` errors cost twice: few errors are no evidence of wrong labels.
    """
    if errors == 0:
        return 0.0
    return (MIN_ERRORS - 1 + min(errors, MIN_ERRORS)) * np.log2(rows)


@njit(cache=True, nogil=True)
def count_ends(table: Any, words: Any, work: Any) -> Any:
    """Rows of each class that end in each state, (state, class), and uses of each transition."""
    votes = np.zeros((len(table), words.counts.shape[1]), np.int64)
    uses = np.zeros(table.shape, np.int64)
    for w in range(len(words.counts)):
        state = 0
        for j in range(words.starts[w], words.starts[w + 1]):
            uses[state, words.symbols[j]] += 1
            state = table[state, words.symbols[j]]
        for c in range(votes.shape[1]):
            votes[state, c] += words.counts[w, c]
    work[0] += len(words.symbols)
    return votes, uses


@njit(cache=True, nogil=True)
def trace_words(table: Any, words: Any, work: Any) -> Any:
    """Run all words from state 0 and index what they use."""
    states, width = table.shape[0], table.shape[1] + 1
    path = np.empty(len(words.symbols) + len(words.counts), np.int32)
    votes = np.zeros((states, words.counts.shape[1]), np.int64)
    starts = np.zeros(states * width + 1, np.int64)
    seen = np.full(states * width, -1, np.int64)
    for w in range(len(words.counts)):
        state, end = 0, words.starts[w + 1]
        for j in range(words.starts[w], end + 1):
            path[j + w] = state
            for cell in _cells(state, width, words, j, end):
                if cell >= 0 and seen[cell] != w:
                    seen[cell] = w
                    starts[cell + 1] += 1
            if j < end:
                state = table[state, words.symbols[j]]
        for c in range(votes.shape[1]):
            votes[state, c] += words.counts[w, c]
    for cell in range(states * width):
        starts[cell + 1] += starts[cell]
        seen[cell] = -1
    following = starts.copy()
    users = np.empty(starts[-1], np.int64)
    first, last = np.empty(starts[-1], np.int64), np.empty(starts[-1], np.int64)
    for w in range(len(words.counts)):
        end = words.starts[w + 1]
        for j in range(words.starts[w], end + 1):
            for cell in _cells(path[j + w], width, words, j, end):
                if cell < 0:
                    continue
                if seen[cell] != w:
                    seen[cell] = w
                    users[following[cell]], first[following[cell]] = w, j
                    following[cell] += 1
                last[following[cell] - 1] = j
    work[0] += 2 * len(path) + states * width
    return Trace(path, votes, starts, users, first, last)


@njit(cache=True, nogil=True)
def _cells(state: Any, width: Any, words: Any, j: Any, end: Any) -> Any:
    """The cells of the index that a step uses: the state, and the transition or -1 at the end."""
    transition = state * width + words.symbols[j] if j < end else -1
    return state * width + width - 1, transition


@njit(cache=True, nogil=True)
def rerun_gain(
    table: Any, words: Any, trace: Any, cell: Any, state: Any, change: Any, work: Any
) -> Any:
    """Bits of the classes saved if the words of a cell run on from `state` over a changed table.

    `change` has a row of zeros for each state, and is all zeros again afterwards.
    """
    steps = 0
    for entry in range(trace.starts[cell], trace.starts[cell + 1]):
        w = trace.words[entry]
        end, now, back = words.starts[w + 1], state, False
        j = trace.first[entry]
        while j < end:
            now = table[now, words.symbols[j]]
            j += 1
            if j > trace.last[entry] and now == trace.path[j + w]:
                back = True
                break
        steps += j - trace.first[entry]
        old = trace.path[end + w]
        if not back and now != old:
            for c in range(change.shape[1]):
                change[old, c] -= words.counts[w, c]
                change[now, c] += words.counts[w, c]
    work[0] += steps
    saved = 0.0
    row = np.empty(change.shape[1], np.int64)
    for s in range(len(change)):
        moved = False
        for c in range(len(row)):
            row[c] = trace.votes[s, c] + change[s, c]
            moved = moved or change[s, c] != 0
            change[s, c] = 0
        if moved:
            saved += class_code(trace.votes[s], words.log_factorials)
            saved -= class_code(row, words.log_factorials)
    return saved


@njit(cache=True, nogil=True)
def sweep(table: Any, words: Any, order: Any, work: Any, limit: Any) -> Any:
    """Give transitions, in the given order, their best targets; return the bits saved."""
    states, width = table.shape
    change = np.zeros((states, words.counts.shape[1]), np.int64)
    trace = trace_words(table, words, work)
    total = 0.0
    for o in order:
        s, a = o // width, o % width
        cell = s * (width + 1) + a
        if trace.starts[cell] == trace.starts[cell + 1]:
            continue
        before = table[s, a]
        best, most = before, MIN_GAIN
        for t in range(states):
            if t != before:
                table[s, a] = t
                gain = rerun_gain(table, words, trace, cell, s, change, work)
                if gain > most:
                    best, most = t, gain
        table[s, a] = best
        if best != before:
            total += most
            trace = trace_words(table, words, work)
        if work[0] > limit:
            break
    return total


@njit(cache=True, nogil=True)
def best_merge(table: Any, words: Any, trace: Any, work: Any, limit: Any) -> Any:
    """The pair (kept, gone) whose merge costs the fewest bits of the class codes, and its gain."""
    states, width = table.shape
    change = np.zeros((states, words.counts.shape[1]), np.int64)
    merged = table.copy()
    most, best_kept, best_gone = -np.inf, -1, -1
    for gone in range(states):
        for kept in range(states):
            if kept == gone:
                continue
            for s in range(states):
                for a in range(width):
                    merged[s, a] = kept if table[s, a] == gone else table[s, a]
            cell = gone * (width + 1) + width
            gain = rerun_gain(merged, words, trace, cell, kept, change, work)
            if gain > most:
                most, best_kept, best_gone = gain, kept, gone
        if work[0] > limit:
            break
    return most, best_kept, best_gone


@njit(cache=True, nogil=True)
def run_features(
    tables: Any, offsets: Any, outputs: Any, words: Any, chosen: Any, values: Any, work: Any
) -> None:
    """Write the value of every feature for the chosen words, (feature, word)."""
    steps = 0
    for f in range(len(values)):
        base = offsets[f]
        for k in range(len(chosen)):
            state, w = 0, chosen[k]
            for j in range(words.starts[w], words.starts[w + 1]):
                state = tables[base + state, words.symbols[j]]
            values[f, k] = outputs[base + state]
            steps += words.starts[w + 1] - words.starts[w]
    work[0] += steps // 2


@njit(cache=True, nogil=True)
def rank_features(
    cells: Any, num_cells: Any, values: Any, sizes: Any, words: Any, work: Any
) -> Any:
    """Bits of the labels if each cell were divided by the values of each feature."""
    classes, rows = words.counts.shape[1], words.counts.sum()
    bits = np.zeros(len(values))
    for f in range(len(values)):
        votes = np.zeros((num_cells * sizes[f], classes), np.int64)
        for w in range(len(cells)):
            for c in range(classes):
                votes[cells[w] * sizes[f] + values[f, w], c] += words.counts[w, c]
        errors = rows
        for cell in range(len(votes)):
            bits[f] += class_code(votes[cell], words.log_factorials)
            errors -= votes[cell].max()
        bits[f] += noise_bits(errors, rows)
    work[0] += values.size // 2
    return bits
