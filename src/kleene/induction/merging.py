"""Automata by red-blue state merging on a weighted prefix tree.

For languages whose rows include short words, which pin the states down one by one.

Red states are final and have dense rows; the children of red states that are not red are blue, and
each is the root of a tree. A blue state is merged into a red one by folding its tree into the
automaton; a trial is folded, scored and undone. The score is the number of folded pairs with equal
labels; one disagreement forbids the merge (evidence-driven state merging, EDSM). Only the heaviest
blue states are tried at each step, so that the cost is about linear in the words.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kleene.compiling import njit
from kleene.induction.evidence import Evidence
from kleene.induction.search import Budget, Table

MIN_STATES, MAX_STATES = 10, 100
"""Smallest and largest limit of the number of states."""
MAX_BLUE = 30
"""Blue states, the heaviest first, that are tried at each step."""
FOLD_COST = 5
"""Look-ups that take as long as folding one node."""


def merged(evidence: Evidence, budget: Budget) -> Table | None:
    """The table of the merged prefix tree; None if it grew too large or the budget was spent.

    A table with more bits than rows explains nothing.

    A transition that no word uses leads where the symbol leads from most states.
    """
    width = len(evidence.alphabet)
    states = max_states(width, evidence.rows)
    tree = prefix_tree(evidence.symbols, evidence.starts, evidence.counts)
    targets = merge_states(tree, width, states, budget.work, budget.limit)
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
    """Nodes of a prefix tree; children are linked lists in the order of their symbols."""

    symbol: Any
    first_child: Any
    next_sibling: Any
    votes: Any
    """Rows of each class that end in a node."""
    weight: Any
    """Rows that pass through a node or end in it."""
    red: Any
    """The number of the red state that a node is, or -1."""


class Automaton(NamedTuple):
    """Transitions of the red states to nodes (-1: none), and the node of each red state."""

    rows: Any
    nodes: Any


class Log(NamedTuple):
    """What a trial changed, as (kind, index, old value), and the stack of pairs to fold."""

    entries: Any
    stack: Any


ROW, FIRST_CHILD, NEXT_SIBLING, FOLDED = range(4)
"""Kinds of log entries; for a folded pair, the index is a node and the value the node added."""


@njit(cache=True, nogil=True)
def prefix_tree(symbols: Any, starts: Any, counts: Any) -> Any:
    """The prefix tree of distinct words with their counts per class."""
    size = len(symbols) + 1
    symbol, red = np.zeros(size, np.int32), np.full(size, -1, np.int64)
    first_child, next_sibling = np.full(size, -1, np.int64), np.full(size, -1, np.int64)
    votes, weight = np.zeros((size, counts.shape[1]), np.int64), np.zeros(size, np.int64)
    found = 1
    for w in range(len(counts)):
        node, rows = 0, 0
        for c in range(counts.shape[1]):
            rows += counts[w, c]
        weight[0] += rows
        for j in range(starts[w], starts[w + 1]):
            before, child = -1, first_child[node]
            while child >= 0 and symbol[child] < symbols[j]:
                before, child = child, next_sibling[child]
            if child < 0 or symbol[child] != symbols[j]:
                symbol[found], next_sibling[found] = symbols[j], child
                if before < 0:
                    first_child[node] = found
                else:
                    next_sibling[before] = found
                child = found
                found += 1
            node = child
            weight[node] += rows
        for c in range(counts.shape[1]):
            votes[node, c] += counts[w, c]
    return Tree(
        symbol[:found],
        first_child[:found],
        next_sibling[:found],
        votes[:found],
        weight[:found],
        red[:found],
    )


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
def fold(tree: Any, automaton: Any, red: Any, symbol: Any, into: Any, log: Any, work: Any) -> Any:
    """Let a transition lead to a red state, and fold the tree it led to into it.

    Returns the score and the number of log entries; the fold stops at a score of minus infinity.
    """
    width, stack = automaton.rows.shape[1], log.stack
    blue = automaton.rows[red, symbol]
    score, depth = 0.0, 1
    logged = _write(log, 0, ROW, red * width + symbol, blue)
    automaton.rows[red, symbol] = automaton.nodes[into]
    stack[0, 0], stack[0, 1] = automaton.nodes[into], blue
    while depth:
        depth -= 1
        one, other = stack[depth, 0], stack[depth, 1]
        score += fold_score(tree.votes, one, other)
        if score == -np.inf:
            break
        for c in range(tree.votes.shape[1]):
            tree.votes[one, c] += tree.votes[other, c]
        tree.weight[one] += tree.weight[other]
        logged = _write(log, logged, FOLDED, one, other)
        work[0] += FOLD_COST
        row = tree.red[one]
        before, at = -1, tree.first_child[one]
        child = tree.first_child[other]
        while child >= 0:
            a, following = tree.symbol[child], tree.next_sibling[child]
            if row >= 0:
                at = automaton.rows[row, a]
            else:
                while at >= 0 and tree.symbol[at] < a:
                    before, at = at, tree.next_sibling[at]
            if at >= 0 and (row >= 0 or tree.symbol[at] == a):
                stack[depth, 0], stack[depth, 1] = at, child
                depth += 1
            elif row >= 0:
                logged = _write(log, logged, ROW, row * width + a, -1)
                automaton.rows[row, a] = child
            else:  # the child moves into the list
                logged = _write(log, logged, NEXT_SIBLING, child, following)
                tree.next_sibling[child] = at
                if before < 0:
                    logged = _write(log, logged, FIRST_CHILD, one, at)
                    tree.first_child[one] = child
                else:
                    logged = _write(log, logged, NEXT_SIBLING, before, at)
                    tree.next_sibling[before] = child
                before = child
            child = following
    return score, logged


@njit(cache=True, nogil=True)
def _write(log: Any, logged: Any, kind: Any, index: Any, old: Any) -> Any:
    log.entries[logged, 0], log.entries[logged, 1], log.entries[logged, 2] = kind, index, old
    return logged + 1


@njit(cache=True, nogil=True)
def undo(tree: Any, automaton: Any, log: Any, logged: Any) -> None:
    """Take back a trial."""
    width = automaton.rows.shape[1]
    for e in range(logged - 1, -1, -1):
        kind, index, old = log.entries[e, 0], log.entries[e, 1], log.entries[e, 2]
        if kind == ROW:
            automaton.rows[index // width, index % width] = old
        elif kind == FIRST_CHILD:
            tree.first_child[index] = old
        elif kind == NEXT_SIBLING:
            tree.next_sibling[index] = old
        else:
            for c in range(tree.votes.shape[1]):
                tree.votes[index, c] -= tree.votes[old, c]
            tree.weight[index] -= tree.weight[old]


@njit(cache=True, nogil=True)
def heaviest_blue(tree: Any, automaton: Any, reds: Any, cells: Any) -> Any:
    """Write the transitions (red * symbols + symbol) to the heaviest blue states, heaviest first.

    Returns how many there are.
    """
    width, found = automaton.rows.shape[1], 0
    for cell in range(reds * width):
        node = automaton.rows[cell // width, cell % width]
        if node < 0 or tree.red[node] >= 0:
            continue
        place = found
        while place > 0:
            lighter = cells[place - 1]
            if tree.weight[automaton.rows[lighter // width, lighter % width]] >= tree.weight[node]:
                break
            if place < len(cells):
                cells[place] = lighter
            place -= 1
        if place < len(cells):
            cells[place] = cell
        found = min(found + 1, len(cells))
    return found


@njit(cache=True, nogil=True)
def merge_states(tree: Any, width: Any, max_reds: Any, work: Any, limit: Any) -> Any:
    """Merge until no blue state is left; the rows of the red states, none if they are too many.

    A blue state that fits no red one becomes red; among the others the merge of the highest score
    is made.
    """
    automaton = Automaton(np.full((max_reds, width), -1, np.int64), np.zeros(max_reds, np.int64))
    nodes = len(tree.symbol)
    log = Log(np.empty((3 * nodes + 3, 3), np.int64), np.empty((nodes + 1, 2), np.int64))
    cells = np.empty(MAX_BLUE, np.int64)
    reds, new_red, blues = 0, 0, 1
    while work[0] < limit and blues:
        if new_red >= 0:
            if reds == max_reds:
                break
            tree.red[new_red], automaton.nodes[reds] = reds, new_red
            child = tree.first_child[new_red]
            while child >= 0:
                automaton.rows[reds, tree.symbol[child]] = child
                child = tree.next_sibling[child]
            reds += 1
        new_red, best, best_cell, best_red = -1, -np.inf, -1, -1
        blues = heaviest_blue(tree, automaton, reds, cells)
        for cell in cells[:blues]:
            s, a, fits = cell // width, cell % width, -np.inf
            for red in range(reds):
                score, logged = fold(tree, automaton, s, a, red, log, work)
                undo(tree, automaton, log, logged)
                fits = max(fits, score)
                if score > best:
                    best, best_cell, best_red = score, cell, red
            if fits < 0:
                new_red = automaton.rows[s, a]
                break
        if new_red < 0 and blues:
            s, a = best_cell // width, best_cell % width
            fold(tree, automaton, s, a, best_red, log, work)
    if blues:
        reds = 0
    targets = np.full((reds, width), -1, np.int64)
    for red in range(reds):
        for a in range(width):
            if automaton.rows[red, a] >= 0:
                targets[red, a] = tree.red[automaton.rows[red, a]]
    return targets
