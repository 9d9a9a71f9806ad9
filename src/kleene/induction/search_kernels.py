"""Incremental evaluation of changes to a transition table, compiled.

All words are traced once. For each (state, symbol) an index lists the words that use the
transition, with their first and last use. A changed transition re-runs only those words, from the
first use, and stops once the last use is behind and the run is back on the old trace. Every kernel
adds the look-ups it made to `work[0]`, so that a search can be bounded without a clock.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kleene.compiling import njit


class Words(NamedTuple):
    """Distinct words, their counts per class, and log2 of the factorials."""

    symbols: Any
    starts: Any
    counts: Any
    log_factorials: Any


class Trace(NamedTuple):
    """The states that words pass through, and which words use which transitions and states."""

    path: Any
    votes: Any
    use_starts: Any
    use_words: Any
    first_use: Any
    last_use: Any
    visit_starts: Any
    visit_words: Any
    first_visit: Any
    last_visit: Any


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
def trace_words(table: Any, words: Any, work: Any) -> Any:
    """Run all words from state 0 and index what they use."""
    states, width = table.shape
    count, classes = words.counts.shape
    path = np.empty(len(words.symbols) + count, np.int32)
    votes = np.zeros((states, classes), np.int64)
    uses, visits = np.zeros(states * width + 1, np.int64), np.zeros(states + 1, np.int64)
    used, visited = np.full(states * width, -1, np.int64), np.full(states, -1, np.int64)
    for w in range(count):
        state, at = 0, words.starts[w] + w
        for j in range(words.starts[w], words.starts[w + 1]):
            path[at] = state
            if visited[state] != w:
                visited[state] = w
                visits[state + 1] += 1
            cell = state * width + words.symbols[j]
            if used[cell] != w:
                used[cell] = w
                uses[cell + 1] += 1
            state = table[state, words.symbols[j]]
            at += 1
        path[at] = state
        if visited[state] != w:
            visited[state] = w
            visits[state + 1] += 1
        for c in range(classes):
            votes[state, c] += words.counts[w, c]
    use_starts, visit_starts = np.cumsum(uses), np.cumsum(visits)
    use_words = np.empty(use_starts[-1], np.int64)
    first_use, last_use = np.empty_like(use_words), np.empty_like(use_words)
    visit_words = np.empty(visit_starts[-1], np.int64)
    first_visit, last_visit = np.empty_like(visit_words), np.empty_like(visit_words)
    next_use, next_visit = use_starts[:-1].copy(), visit_starts[:-1].copy()
    used[:] = -1
    visited[:] = -1
    for w in range(count):
        start, end = words.starts[w], words.starts[w + 1]
        for j in range(start, end + 1):
            state = path[j + w]
            if visited[state] != w:
                visited[state] = w
                visit_words[next_visit[state]] = w
                first_visit[next_visit[state]] = j - start
                next_visit[state] += 1
            last_visit[next_visit[state] - 1] = j - start
            if j == end:
                break
            cell = state * width + words.symbols[j]
            if used[cell] != w:
                used[cell] = w
                use_words[next_use[cell]] = w
                first_use[next_use[cell]] = j - start
                next_use[cell] += 1
            last_use[next_use[cell] - 1] = j - start
    work[0] += 2 * len(path)
    return Trace(
        path,
        votes,
        use_starts,
        use_words,
        first_use,
        last_use,
        visit_starts,
        visit_words,
        first_visit,
        last_visit,
    )


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
def _gain(votes: Any, change: Any, touched: Any, log_factorials: Any) -> Any:
    """Bits saved by a change of the votes; clears the change."""
    saved = 0.0
    row = np.empty(votes.shape[1], np.int64)
    for s in range(len(touched)):
        if touched[s]:
            moved = False
            for c in range(len(row)):
                old = votes[s, c] if s < len(votes) else 0
                row[c] = old + change[s, c]
                moved = moved or change[s, c] != 0
                change[s, c] = 0
            if moved:
                saved -= class_code(row, log_factorials)
                if s < len(votes):
                    saved += class_code(votes[s], log_factorials)
            touched[s] = False
    return saved


@njit(cache=True, nogil=True)
def _move(words: Any, w: Any, old: Any, new: Any, change: Any, touched: Any) -> None:
    """Let the rows of a word end in another state."""
    if old == new:
        return
    for c in range(words.counts.shape[1]):
        change[old, c] -= words.counts[w, c]
        change[new, c] += words.counts[w, c]
    touched[old] = True
    touched[new] = True


@njit(cache=True, nogil=True)
def redirect_gain(
    table: Any, words: Any, trace: Any, s: Any, a: Any, t: Any, change: Any, touched: Any, work: Any
) -> Any:
    """Bits saved if symbol `a` led from state `s` to `t`."""
    old_target = table[s, a]
    table[s, a] = t
    cell = s * table.shape[1] + a
    steps = 0
    for entry in range(trace.use_starts[cell], trace.use_starts[cell + 1]):
        w = trace.use_words[entry]
        start, end = words.starts[w], words.starts[w + 1]
        last, j = start + trace.last_use[entry], start + trace.first_use[entry]
        state = s
        back = False
        while j < end:
            state = table[state, words.symbols[j]]
            j += 1
            if j > last and state == trace.path[j + w]:
                back = True
                break
        steps += j - start - trace.first_use[entry]
        if not back:
            _move(words, w, trace.path[end + w], state, change, touched)
    table[s, a] = old_target
    work[0] += steps
    return _gain(trace.votes, change, touched, words.log_factorials)


@njit(cache=True, nogil=True)
def sweep(table: Any, words: Any, order: Any, work: Any, limit: Any) -> Any:
    """Give transitions, in the given order, their best targets; return the bits saved."""
    states, width = table.shape
    change = np.zeros((states, words.counts.shape[1]), np.int64)
    touched = np.zeros(states, np.bool_)
    trace = trace_words(table, words, work)
    total = 0.0
    for o in order:
        s, a = o // width, o % width
        if trace.use_starts[o] == trace.use_starts[o + 1]:
            continue
        best, most = -1, 1e-6
        for t in range(states):
            if t != table[s, a]:
                gain = redirect_gain(table, words, trace, s, a, t, change, touched, work)
                if gain > most:
                    best, most = t, gain
        if best >= 0:
            table[s, a] = best
            total += most
            trace = trace_words(table, words, work)
        if work[0] > limit:
            break
    return total


@njit(cache=True, nogil=True)
def _pairs(words: Any, trace: Any, s: Any, a: Any, cell: Any) -> Any:
    """Words that read some symbol right after a transition: (symbol, word, first, last) sorted."""
    found = 0
    for entry in range(trace.use_starts[cell], trace.use_starts[cell + 1]):
        found += trace.last_use[entry] - trace.first_use[entry] + 1
    next_symbol = np.empty(found, np.int64)
    word, first, last = (
        np.empty(found, np.int64),
        np.empty(found, np.int64),
        np.empty(found, np.int64),
    )
    found = 0
    for entry in range(trace.use_starts[cell], trace.use_starts[cell + 1]):
        w = trace.use_words[entry]
        start, end = words.starts[w], words.starts[w + 1]
        begin = found
        for j in range(start + trace.first_use[entry], start + trace.last_use[entry] + 1):
            if trace.path[j + w] != s or words.symbols[j] != a or j + 1 >= end:
                continue
            b = words.symbols[j + 1]
            known = -1
            for k in range(begin, found):
                if next_symbol[k] == b:
                    known = k
            if known < 0:
                known = found
                found += 1
                next_symbol[known], word[known], first[known] = b, w, j + 1
            last[known] = j + 1
    order = np.argsort(next_symbol[:found])
    return next_symbol[order], word[order], first[order], last[order]


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
    touched = np.zeros(states + 1, np.bool_)
    larger = np.empty((states + 1, width), table.dtype)
    larger[:states] = table
    steps = 0
    for cell in range(states * width):
        if trace.use_starts[cell] == trace.use_starts[cell + 1]:
            continue
        s, a = cell // width, cell % width
        r = table[s, a]
        larger[s, a] = states
        larger[states] = larger[r]
        arrivals = np.zeros((1, classes), np.int64)
        for entry in range(trace.use_starts[cell], trace.use_starts[cell + 1]):
            w = trace.use_words[entry]
            if words.starts[w] + trace.last_use[entry] + 1 == words.starts[w + 1]:
                for c in range(classes):
                    arrivals[0, c] += words.counts[w, c]
        for c in range(classes):
            change[r, c] -= arrivals[0, c]
            change[states, c] += arrivals[0, c]
        touched[r] = touched[states] = True
        gains[cell] = _gain(trace.votes, change, touched, words.log_factorials)
        next_symbol, word, first, last = _pairs(words, trace, s, a, cell)
        begin = 0
        while begin < len(next_symbol):
            b = next_symbol[begin]
            end_of_group = begin
            while end_of_group < len(next_symbol) and next_symbol[end_of_group] == b:
                end_of_group += 1
            old = larger[states, b]
            for t in range(states + 1):
                if t == old:
                    continue
                larger[states, b] = t
                for c in range(classes):
                    change[r, c] -= arrivals[0, c]
                    change[states, c] += arrivals[0, c]
                touched[r] = touched[states] = True
                for k in range(begin, end_of_group):
                    w = word[k]
                    end = words.starts[w + 1]
                    j, state, back = first[k], states, False
                    while j < end:
                        state = larger[state, words.symbols[j]]
                        j += 1
                        if j > last[k]:
                            renamed = trace.path[j + w]
                            if trace.path[j - 1 + w] == s and words.symbols[j - 1] == a:
                                renamed = states
                            if state == renamed:
                                back = True
                                break
                    steps += j - first[k]
                    if not back:
                        ended = trace.path[end + w]
                        if trace.path[end - 1 + w] == s and words.symbols[end - 1] == a:
                            ended = states
                        _move(words, w, ended, state, change, touched)
                gain = _gain(trace.votes, change, touched, words.log_factorials)
                if gain > gains[cell]:
                    gains[cell], symbol[cell], target[cell] = gain, b, t
            larger[states, b] = old
            begin = end_of_group
        larger[s, a] = r
        if work[0] + steps > limit:
            break
    work[0] += steps
    return gains, symbol, target


@njit(cache=True, nogil=True)
def best_merge(table: Any, words: Any, trace: Any, work: Any, limit: Any) -> Any:
    """The pair (kept, gone) whose merge costs the fewest bits of the class codes, and its gain."""
    states = len(table)
    change = np.zeros((states, words.counts.shape[1]), np.int64)
    touched = np.zeros(states, np.bool_)
    most, best_kept, best_gone = -np.inf, -1, -1
    steps = 0
    for gone in range(states):
        for kept in range(states):
            if kept == gone:
                continue
            for entry in range(trace.visit_starts[gone], trace.visit_starts[gone + 1]):
                w = trace.visit_words[entry]
                start, end = words.starts[w], words.starts[w + 1]
                j, last = start + trace.first_visit[entry], start + trace.last_visit[entry]
                state, back = kept, False
                while j < end:
                    state = table[state, words.symbols[j]]
                    if state == gone:
                        state = kept
                    j += 1
                    if j > last and state == trace.path[j + w]:
                        back = True
                        break
                steps += j - start - trace.first_visit[entry]
                if not back:
                    _move(words, w, trace.path[end + w], state, change, touched)
            gain = _gain(trace.votes, change, touched, words.log_factorials)
            if gain > most:
                most, best_kept, best_gone = gain, kept, gone
        if work[0] + steps > limit:
            break
    work[0] += steps
    return most, best_kept, best_gone
