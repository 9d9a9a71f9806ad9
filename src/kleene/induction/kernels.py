"""Compiled loops over all words: changes to a transition table, and the values of features.

All words are traced once. An index lists, for each transition and for each state, the words that
use it, with their first and last use. A changed transition re-runs only these words, from the first
use, and stops once the last use is behind and the run is back on the old path. Every kernel adds
its table look-ups to `work[0]`, so that a search can be limited without a clock.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kleene.compiling import njit

MIN_GAIN = 1e-6
"""Bits that a change must save."""
TIE = 1e-6
"""Weight of the purity of a rule's words, which decides between rules that save as many bits."""


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
def trace_words(table: Any, words: Any, chosen: Any, work: Any) -> Any:
    """Run the chosen words from state 0 and index what they use."""
    states, width = table.shape[0], table.shape[1] + 1
    path = np.empty(len(words.symbols) + len(words.counts), np.int32)
    votes = np.zeros((states, words.counts.shape[1]), np.int64)
    starts = np.zeros(states * width + 1, np.int64)
    seen = np.full(states * width, -1, np.int64)
    steps = 0
    for w in chosen:
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
        steps += end - words.starts[w] + 1
    for cell in range(states * width):
        starts[cell + 1] += starts[cell]
        seen[cell] = -1
    following = starts.copy()
    users = np.empty(starts[-1], np.int64)
    first, last = np.empty(starts[-1], np.int64), np.empty(starts[-1], np.int64)
    for w in chosen:
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
    work[0] += 2 * steps + states * width
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
    everything = np.arange(len(words.counts))
    trace = trace_words(table, words, everything, work)
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
            trace = trace_words(table, words, everything, work)
        if work[0] > limit:
            break
    return total


@njit(cache=True, nogil=True)
def rank_splits(table: Any, words: Any, trace: Any, work: Any, limit: Any) -> Any:
    """For each transition, the best split of its target: (gain, symbol, new target of the copy).

    The copy takes the place of the target for this transition only and has the target's row; a
    transition from a state to itself becomes one of the copy to itself. With symbol -1 the copy is
    bare, else one of its transitions goes elsewhere (`states` names the copy itself).
    """
    states, width = table.shape
    classes = words.counts.shape[1]
    gains = np.full(states * width, -np.inf)
    symbol, target = np.full(states * width, -1, np.int64), np.full(states * width, -1, np.int64)
    change = np.zeros((states + 1, classes), np.int64)
    larger = np.empty((states + 1, width), table.dtype)
    for s in range(states):
        for a in range(width):
            larger[s, a] = table[s, a]
    for split in range(states * width):
        s, a = split // width, split % width
        cell = s * (width + 1) + a
        users = trace.words[trace.starts[cell] : trace.starts[cell + 1]]
        if len(users) == 0:
            continue
        r = table[s, a]
        larger[s, a] = states
        for b in range(width):
            larger[states, b] = larger[r, b]
        after = trace_words(larger, words, users, work)
        # the votes of all words: those that end in the copy ended in its original before
        for c in range(classes):
            for state in range(states):
                after.votes[state, c] = trace.votes[state, c]
            after.votes[r, c] -= after.votes[states, c]
        bare = class_code(trace.votes[r], words.log_factorials)
        bare -= class_code(after.votes[r], words.log_factorials)
        bare -= class_code(after.votes[states], words.log_factorials)
        gains[split] = bare
        for b in range(width):
            from_copy = states * (width + 1) + b
            if after.starts[from_copy] == after.starts[from_copy + 1]:
                continue
            old = larger[states, b]
            for t in range(states + 1):
                if t != old:
                    larger[states, b] = t
                    gain = bare + rerun_gain(larger, words, after, from_copy, states, change, work)
                    if gain > gains[split]:
                        gains[split], symbol[split], target[split] = gain, b, t
            larger[states, b] = old
        larger[s, a] = r
        if work[0] > limit:
            break
    return gains, symbol, target


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
    """Bits of the class codes if each cell were divided by the values of each feature."""
    classes = words.counts.shape[1]
    bits = np.zeros(len(values))
    for f in range(len(values)):
        votes = np.zeros((num_cells * sizes[f], classes), np.int64)
        for w in range(len(cells)):
            for c in range(classes):
                votes[cells[w] * sizes[f] + values[f, w], c] += words.counts[w, c]
        for cell in range(len(votes)):
            bits[f] += class_code(votes[cell], words.log_factorials)
    work[0] += values.size // 2
    return bits


@njit(cache=True, nogil=True)
def rank_rules(cells: Any, values: Any, words: Any, work: Any) -> Any:
    """Bits of the class codes after the best rule of each feature, and the rule.

    Cell 0 has the words that no rule has decided, cell 1 + c those decided for class c. A rule
    (value * classes + class) decides the words of cell 0 that have the value. Between rules that
    save as many bits, the one with the purer words is taken: the others are left for further rules.
    """
    classes = words.counts.shape[1]
    votes = np.zeros((classes + 1, classes), np.int64)
    for w in range(len(cells)):
        for c in range(classes):
            votes[cells[w], c] += words.counts[w, c]
    before = 0.0
    for cell in range(classes + 1):
        before += class_code(votes[cell], words.log_factorials)
    bits, rules = np.full(len(values), np.inf), np.zeros(len(values), np.int64)
    left, decided = np.empty(classes, np.int64), np.empty(classes, np.int64)
    for f in range(len(values)):
        moved = np.zeros((2, classes), np.int64)
        for w in range(len(cells)):
            if cells[w] == 0 and values[f, w] < 2:
                for c in range(classes):
                    moved[values[f, w], c] += words.counts[w, c]
        for value in range(2):
            for c in range(classes):
                for k in range(classes):
                    left[k] = votes[0, k] - moved[value, k]
                    decided[k] = votes[1 + c, k] + moved[value, k]
                after = before + class_code(left, words.log_factorials)
                after += class_code(decided, words.log_factorials)
                after -= class_code(votes[0], words.log_factorials)
                after -= class_code(votes[1 + c], words.log_factorials)
                after += TIE * class_code(moved[value], words.log_factorials)
                if after < bits[f]:
                    bits[f], rules[f] = after, value * classes + c
    work[0] += values.size // 2
    return bits, rules
