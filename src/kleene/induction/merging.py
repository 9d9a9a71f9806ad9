"""Automata by red-blue state merging on a weighted prefix tree.

For languages whose rows include short words, which pin the states down one by one.

Red states are final; the children of red states that are not red are blue, and each is the root of
a tree. A blue state is merged into a red one by folding its tree into the automaton; a trial is
folded, scored and undone. The score is the number of folded pairs with equal
labels; one disagreement forbids the merge (evidence-driven state merging, EDSM). Only the heaviest
blue states are tried at each step, so that the cost is about linear in the words.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kleene.automata.compiling import njit
from kleene.induction.evidence import Evidence
from kleene.induction.search import Budget, Table

MIN_STATES, MAX_STATES = 10, 100
"""Smallest and largest limit of the number of states."""
MAX_BLUE = 30
"""Blue states, the heaviest first, that are tried at each step."""
MAX_ENTRIES = 5e7
"""Nodes times symbols of the largest tree."""
FOLD_COST = 5
"""Look-ups that take as long as folding one node."""


def merged(evidence: Evidence, budget: Budget) -> Table | None:
    """The table of the merged prefix tree; None if it grew too large or the budget was spent.

    A table with more bits than rows explains nothing. A transition that no word uses leads where
    the symbol leads from most states. A word of several labels has its most frequent one.
    """
    width = len(evidence.alphabet)
    counts = evidence.counts
    counts = np.where(np.arange(counts.shape[1]) == counts.argmax(1)[:, None], counts, 0)
    nodes = 1 + count_new(evidence.symbols, evidence.starts)
    if nodes * width > MAX_ENTRIES:
        return None
    tree = prefix_tree(evidence.symbols, evidence.starts, counts, nodes, width)
    states = max_states(width, evidence.rows)
    targets = merge_states(tree, states, budget.work, budget.look_ups)
    if not len(targets):
        return None
    for column in targets.T:
        known = column[column >= 0]
        column[column < 0] = np.bincount(known).argmax() if len(known) else 0
    return np.ascontiguousarray(targets, dtype=np.int32)


def max_states(width: int, bits: float) -> int:
    """The largest number of states, within the limits, whose table has at most `bits`."""
    states = np.arange(MIN_STATES, MAX_STATES + 1)
    return int(states[states * width * np.log2(states) <= bits].max(initial=MIN_STATES))


class Tree(NamedTuple):
    """A prefix tree whose nodes become the states of an automaton."""

    children: Any
    """The node after each symbol, (node, symbol), or -1."""
    votes: Any
    """Rows of each class that end in a node."""
    weight: Any
    """Rows that pass through a node or end in it."""
    red: Any
    """The number of the red state that a node is, or -1."""


class Log(NamedTuple):
    """What a trial changed, and the stack of pairs to fold.

    An entry is (node, symbol, child before), or (node, FOLDED, the node added to it).
    """

    entries: Any
    stack: Any


FOLDED = -1


@njit(cache=True, nogil=True)
def count_new(symbols: Any, starts: Any) -> Any:
    """How many prefixes the words have; words with the same beginning follow one another."""
    new = 0
    for w in range(len(starts) - 1):
        now, end, shared = starts[w], starts[w + 1], 0
        if w > 0:
            before, longest = starts[w - 1], min(end - now, now - starts[w - 1])
            while shared < longest and symbols[before + shared] == symbols[now + shared]:
                shared += 1
        new += end - now - shared
    return new


@njit(cache=True, nogil=True)
def prefix_tree(symbols: Any, starts: Any, counts: Any, nodes: Any, width: Any) -> Any:
    """The prefix tree of distinct words with their counts per class."""
    children, red = np.full((nodes, width), -1, np.int32), np.full(nodes, -1, np.int64)
    votes, weight = np.zeros((nodes, counts.shape[1]), np.int64), np.zeros(nodes, np.int64)
    found = 1
    for w in range(len(counts)):
        node, rows = 0, 0
        for c in range(counts.shape[1]):
            rows += counts[w, c]
        weight[0] += rows
        for j in range(starts[w], starts[w + 1]):
            if children[node, symbols[j]] < 0:
                children[node, symbols[j]] = found
                found += 1
            node = children[node, symbols[j]]
            weight[node] += rows
        for c in range(counts.shape[1]):
            votes[node, c] += counts[w, c]
    return Tree(children, votes, weight, red)


@njit(cache=True, nogil=True)
def fold_score(votes: Any, one: Any, other: Any) -> Any:
    """The evidence that two nodes are one state: 1 if their labels agree, else minus infinity.

    A node without labels has a score of 0.
    """
    kinds, of_one, of_other = 0, 0, 0
    for c in range(votes.shape[1]):
        of_one += votes[one, c]
        of_other += votes[other, c]
        kinds += votes[one, c] > 0 or votes[other, c] > 0
    if of_one == 0 or of_other == 0:
        return 0.0
    return 1.0 if kinds == 1 else -np.inf


@njit(cache=True, nogil=True)
def fold(tree: Any, node: Any, symbol: Any, into: Any, log: Any, work: Any) -> Any:
    """Let a transition lead to a red state, and fold the tree it led to into it.

    Returns the score and the number of log entries; the fold stops at a score of minus infinity.
    """
    children, stack = tree.children, log.stack
    stack[0, 0], stack[0, 1] = into, children[node, symbol]
    logged, score, depth = _write(log, 0, node, symbol, children[node, symbol]), 0.0, 1
    children[node, symbol] = into
    while depth:
        depth -= 1
        one, other = stack[depth, 0], stack[depth, 1]
        score += fold_score(tree.votes, one, other)
        if score == -np.inf:
            break
        for c in range(tree.votes.shape[1]):
            tree.votes[one, c] += tree.votes[other, c]
        tree.weight[one] += tree.weight[other]
        logged = _write(log, logged, one, FOLDED, other)
        work[0] += FOLD_COST
        for a in range(children.shape[1]):
            at, child = children[one, a], children[other, a]
            if at >= 0 and child >= 0:
                stack[depth, 0], stack[depth, 1] = at, child
                depth += 1
            elif child >= 0:
                logged = _write(log, logged, one, a, at)
                children[one, a] = child
    return score, logged


@njit(cache=True, nogil=True)
def _write(log: Any, logged: Any, node: Any, symbol: Any, old: Any) -> Any:
    log.entries[logged, 0], log.entries[logged, 1], log.entries[logged, 2] = node, symbol, old
    return logged + 1


@njit(cache=True, nogil=True)
def undo(tree: Any, log: Any, logged: Any) -> None:
    """Take back a trial."""
    for e in range(logged - 1, -1, -1):
        node, symbol, old = log.entries[e, 0], log.entries[e, 1], log.entries[e, 2]
        if symbol != FOLDED:
            tree.children[node, symbol] = old
        else:
            for c in range(tree.votes.shape[1]):
                tree.votes[node, c] -= tree.votes[old, c]
            tree.weight[node] -= tree.weight[old]


@njit(cache=True, nogil=True)
def heaviest_blue(tree: Any, reds: Any, cells: Any) -> Any:
    """Write the transitions (red node, symbol) to the heaviest blue states, heaviest first.

    Returns how many there are.
    """
    found = 0
    for red in reds:
        for a in range(tree.children.shape[1]):
            node = tree.children[red, a]
            if node < 0 or tree.red[node] >= 0:
                continue
            place = found
            while place > 0:
                lighter = tree.children[cells[place - 1, 0], cells[place - 1, 1]]
                if tree.weight[lighter] >= tree.weight[node]:
                    break
                if place < len(cells):
                    cells[place] = cells[place - 1]
                place -= 1
            if place < len(cells):
                cells[place, 0], cells[place, 1] = red, a
            found = min(found + 1, len(cells))
    return found


@njit(cache=True, nogil=True)
def merge_states(tree: Any, max_reds: Any, work: Any, limit: Any) -> Any:
    """Merge until no blue state is left; the rows of the red states, none if they are too many.

    A blue state that fits no red one becomes red; among the others the merge of the highest score
    is made.
    """
    nodes, width = tree.children.shape
    log = Log(np.empty((2 * nodes + 2, 3), np.int64), np.empty((nodes + 1, 2), np.int64))
    cells, red_nodes = np.empty((MAX_BLUE, 2), np.int64), np.empty(max_reds, np.int64)
    reds, new_red, blues = 0, 0, 1
    while work[0] < limit and blues:
        if new_red >= 0:
            if reds == max_reds:
                break
            tree.red[new_red], red_nodes[reds] = reds, new_red
            reds += 1
        new_red, best, best_cell, best_red = -1, -np.inf, -1, -1
        blues = heaviest_blue(tree, red_nodes[:reds], cells)
        for cell in range(blues):
            node, a, fits = cells[cell, 0], cells[cell, 1], -np.inf
            for red in red_nodes[:reds]:
                score, logged = fold(tree, node, a, red, log, work)
                undo(tree, log, logged)
                fits = max(fits, score)
                if score > best:
                    best, best_cell, best_red = score, cell, red
            if fits < 0:
                new_red = tree.children[node, a]
                break
        if new_red < 0 and blues:
            fold(tree, cells[best_cell, 0], cells[best_cell, 1], best_red, log, work)
    if blues:
        reds = 0
    targets = np.full((reds, width), -1, np.int64)
    for red in range(reds):
        for a in range(width):
            if tree.children[red_nodes[red], a] >= 0:
                targets[red, a] = tree.red[tree.children[red_nodes[red], a]]
    return targets
