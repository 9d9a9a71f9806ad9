"""Red-blue state merging on a weighted prefix tree, compiled.

Red states are final and have dense rows; the children of red states that are not red are blue, and
each is the root of a tree. A blue state is merged into a red one by folding its tree into the
automaton; a trial is folded, scored and undone. The score is the evidence that two states are one:

    bits(votes) = -log2 sum over c of 1/C (1 - e)^(n_c) (e / (C - 1))^(N - n_c)
    score = sum over folded pairs of bits(one) + bits(other) - bits(one + other)

for a share e of wrong labels. With e = 0 this is evidence-driven state merging: each agreement of
two labels counts log2 C, and one disagreement forbids the merge.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kleene.compiling import njit

FOLD_COST = 5
"""Look-ups that take as long as folding one node."""


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
    """What a trial changed: kinds 0 row, 1 first child, 2 next sibling, 3 folded pair."""

    entries: Any
    stack: Any


@njit(cache=True, nogil=True)
def prefix_tree(symbols: Any, starts: Any, counts: Any, width: Any) -> Any:
    """The prefix tree of distinct words with their counts per class."""
    size = 1
    while size < 2 * (len(symbols) + 1):
        size *= 2
    keys, nodes = np.full(size, -1, np.int64), np.empty(size, np.int64)
    parent = np.empty(len(symbols) + 1, np.int64)
    symbol = np.empty(len(symbols) + 1, np.int32)
    votes = np.zeros((len(symbols) + 1, counts.shape[1]), np.int64)
    weight = np.zeros(len(symbols) + 1, np.int64)
    parent[0], symbol[0], found = -1, 0, 1
    for w in range(len(counts)):
        node, rows = 0, counts[w].sum()
        weight[0] += rows
        for j in range(starts[w], starts[w + 1]):
            key = node * width + symbols[j]
            slot = (key * 11400714819323198485 >> 20) & (size - 1)
            while keys[slot] != -1 and keys[slot] != key:
                slot = (slot + 1) & (size - 1)
            if keys[slot] == -1:
                keys[slot], nodes[slot] = key, found
                parent[found], symbol[found] = node, symbols[j]
                found += 1
            node = nodes[slot]
            weight[node] += rows
        votes[node] += counts[w]
    first_child, next_sibling = np.full(found, -1, np.int64), np.full(found, -1, np.int64)
    order = np.argsort(symbol[:found], kind="mergesort")
    for node in order[::-1]:  # each is put before those of larger symbols
        if node:
            next_sibling[node] = first_child[parent[node]]
            first_child[parent[node]] = node
    red = np.full(found, -1, np.int64)
    return Tree(symbol[:found], first_child, next_sibling, votes[:found], weight[:found], red)


@njit(cache=True, nogil=True)
def vote_bits(votes: Any, noise: Any) -> Any:
    """Bits of the labels of one state, a share of which is wrong."""
    classes, total, most = len(votes), 0, 0
    for c in range(classes):
        total += votes[c]
        most = max(most, votes[c])
    if total == 0:
        return 0.0
    ratio = noise / ((classes - 1) * (1 - noise))
    likelihood = 0.0
    for c in range(classes):
        likelihood += ratio ** (most - votes[c])
    bits = np.log2(classes) - np.log2(likelihood) - total * np.log2(1 - noise)
    return bits - (total - most) * np.log2(ratio)


@njit(cache=True, nogil=True)
def fold_score(one: Any, other: Any, noise: Any) -> Any:
    """The evidence that two states are one, by the labels of their words."""
    if one.sum() == 0 or other.sum() == 0:
        return 0.0
    if noise > 0:
        return vote_bits(one, noise) + vote_bits(other, noise) - vote_bits(one + other, noise)
    for c in range(len(one)):
        if one[c] and other[c]:
            return np.log2(len(one)) if one[c] == one.sum() and other[c] == other.sum() else -np.inf
    return -np.inf


@njit(cache=True, nogil=True)
def fold(
    tree: Any,
    automaton: Any,
    red: Any,
    symbol: Any,
    into: Any,
    noise: Any,
    log: Any,
    work: Any,
) -> Any:
    """Let a transition lead to a red state, and fold the tree it led to into it.

    Returns the score and the number of log entries; the fold stops at a score of minus infinity.
    """
    entries, stack = log.entries, log.stack
    score, logged, depth = 0.0, 1, 1
    blue = automaton.rows[red, symbol]
    entries[0, 0], entries[0, 1], entries[0, 2] = 0, red * automaton.rows.shape[1] + symbol, blue
    automaton.rows[red, symbol] = automaton.nodes[into]
    stack[0, 0], stack[0, 1] = automaton.nodes[into], blue
    while depth:
        depth -= 1
        one, other = stack[depth, 0], stack[depth, 1]
        score += fold_score(tree.votes[one], tree.votes[other], noise)
        if score == -np.inf:
            break
        tree.votes[one] += tree.votes[other]
        tree.weight[one] += tree.weight[other]
        entries[logged, 0], entries[logged, 1], entries[logged, 2] = 3, one, other
        logged += 1
        work[0] += FOLD_COST
        child = tree.first_child[other]
        if tree.red[one] >= 0:
            row = automaton.rows[tree.red[one]]
            while child >= 0:
                a = tree.symbol[child]
                if row[a] < 0:
                    entries[logged, 0] = 0
                    entries[logged, 1] = tree.red[one] * automaton.rows.shape[1] + a
                    entries[logged, 2] = -1
                    logged += 1
                    row[a] = child
                else:
                    stack[depth, 0], stack[depth, 1] = row[a], child
                    depth += 1
                child = tree.next_sibling[child]
            continue
        before, at = -1, tree.first_child[one]
        while child >= 0:
            following = tree.next_sibling[child]
            while at >= 0 and tree.symbol[at] < tree.symbol[child]:
                before, at = at, tree.next_sibling[at]
            if at >= 0 and tree.symbol[at] == tree.symbol[child]:
                stack[depth, 0], stack[depth, 1] = at, child
                depth += 1
            else:  # the child moves into the list
                entries[logged, 0], entries[logged, 1], entries[logged, 2] = 2, child, following
                logged += 1
                tree.next_sibling[child] = at
                if before < 0:
                    entries[logged, 0], entries[logged, 1], entries[logged, 2] = 1, one, at
                    tree.first_child[one] = child
                else:
                    entries[logged, 0], entries[logged, 1], entries[logged, 2] = 2, before, at
                    tree.next_sibling[before] = child
                logged += 1
                before = child
            child = following
    return score, logged


@njit(cache=True, nogil=True)
def undo(tree: Any, automaton: Any, log: Any, logged: Any) -> None:
    """Take back a trial."""
    width = automaton.rows.shape[1]
    for e in range(logged - 1, -1, -1):
        kind, index, old = log.entries[e, 0], log.entries[e, 1], log.entries[e, 2]
        if kind == 0:
            automaton.rows[index // width, index % width] = old
        elif kind == 1:
            tree.first_child[index] = old
        elif kind == 2:
            tree.next_sibling[index] = old
        else:
            tree.votes[index] -= tree.votes[old]
            tree.weight[index] -= tree.weight[old]


@njit(cache=True, nogil=True)
def heaviest_blue(tree: Any, automaton: Any, reds: Any, most: Any) -> Any:
    """The transitions (red * symbols + symbol) to the heaviest blue states, the heaviest first."""
    width = automaton.rows.shape[1]
    cells, weights = np.empty(reds * width, np.int64), np.empty(reds * width, np.int64)
    found = 0
    for red in range(reds):
        for a in range(width):
            node = automaton.rows[red, a]
            if node >= 0 and tree.red[node] < 0:
                cells[found], weights[found] = red * width + a, tree.weight[node]
                found += 1
    order = np.argsort(-weights[:found], kind="mergesort")
    return cells[order[:most]]


@njit(cache=True, nogil=True)
def merge_states(
    tree: Any, width: Any, noise: Any, most_reds: Any, most_blue: Any, work: Any, limit: Any
) -> Any:
    """Merge until no blue state is left; the rows of the red states, none if they are too many.

    A blue state that fits no red one becomes red; among the others the merge of the highest score
    is made.
    """
    automaton = Automaton(np.full((most_reds, width), -1, np.int64), np.zeros(most_reds, np.int64))
    nodes = len(tree.symbol)
    log = Log(np.empty((3 * nodes + 3, 3), np.int64), np.empty((nodes + 1, 2), np.int64))
    reds = 0
    new_red = 0
    while work[0] < limit:
        if new_red >= 0:
            if reds == most_reds:
                return automaton.rows[:0]
            tree.red[new_red], automaton.nodes[reds] = reds, new_red
            child = tree.first_child[new_red]
            while child >= 0:
                automaton.rows[reds, tree.symbol[child]] = child
                child = tree.next_sibling[child]
            reds += 1
        cells = heaviest_blue(tree, automaton, reds, most_blue)
        if len(cells) == 0:
            break
        new_red, best, best_cell, best_red = -1, -np.inf, -1, -1
        for cell in cells:
            fits = -np.inf
            for red in range(reds):
                score, logged = fold(
                    tree, automaton, cell // width, cell % width, red, noise, log, work
                )
                undo(tree, automaton, log, logged)
                fits = max(fits, score)
                if score > best:
                    best, best_cell, best_red = score, cell, red
            if fits < 0:
                new_red = automaton.rows[cell // width, cell % width]
                break
        if new_red < 0:
            fold(tree, automaton, best_cell // width, best_cell % width, best_red, noise, log, work)
    else:
        return automaton.rows[:0]
    targets = np.full((reds, width), -1, np.int64)
    for red in range(reds):
        for a in range(width):
            if automaton.rows[red, a] >= 0:
                targets[red, a] = tree.red[automaton.rows[red, a]]
    return targets
