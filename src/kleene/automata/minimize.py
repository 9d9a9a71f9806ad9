"""Hopcroft's minimisation; states are numbered breadth-first."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from kleene.automata.table import Table, TransitionTable, explore

Ints = npt.NDArray[np.intp]


def minimize(dfa: Table) -> Table:
    """The minimal automaton, states numbered breadth-first in the order of the alphabet.

    Two automata of one language over the same alphabet become identical arrays. A state keeps the
    name of the first state that it stands for.
    """
    dfa = reachable(dfa)
    block_of = equivalence_classes(dfa)
    # Blocks are numbered by their first member, so they are in breadth-first order as well.
    _, first, block_of = np.unique(block_of, return_index=True, return_inverse=True)
    rank = np.argsort(np.argsort(first)).astype(np.int32)
    representatives = np.sort(first)
    return replace(
        dfa,
        transitions=rank[block_of][dfa.transitions[representatives]],
        outputs=tuple(dfa.outputs[state] for state in representatives),
        names=None if dfa.names is None else tuple(dfa.names[s] for s in representatives),
    )


def reachable(dfa: Table) -> Table:
    """Without the states that no word reaches, numbered breadth-first from 0."""
    order, rows = explore(dfa.initial, dfa.rows.__getitem__)
    return replace(
        dfa,
        transitions=np.array(rows, dtype=np.int32),
        outputs=tuple(dfa.outputs[state] for state in order),
        initial=0,
        names=None if dfa.names is None else tuple(dfa.names[state] for state in order),
    )


def equivalence_classes(dfa: TransitionTable) -> Ints:
    """The block of every state in the coarsest partition that outputs and moves respect.

    Every new splitter is the smaller half of a block, so that a state is looked at O(log n) times
    per symbol: n k log n steps in all.
    """
    columns = np.unique(dfa.transitions, axis=1).T  # symbols that act alike count once
    sources: list[list[list[int]]] = []  # of the columns looked at so far
    labels = {label: block for block, label in enumerate(dict.fromkeys(dfa.outputs))}
    block_of = [labels[label] for label in dfa.outputs]
    blocks: list[set[int]] = [set() for _ in labels]
    for state, block in enumerate(block_of):
        blocks[block].add(state)
    waiting = set(range(len(blocks)))
    while waiting:
        splitter = list(blocks[waiting.pop()])  # a copy: the block itself may be split below
        for column, targets in enumerate(columns):
            if len(blocks) == dfa.num_states:  # nothing is left to split
                return np.array(block_of)
            if column == len(sources):
                sources.append(_sources(targets))
            into = sources[column]
            hit: dict[int, list[int]] = {}
            for target in splitter:
                for source in into[target]:
                    hit.setdefault(block_of[source], []).append(source)
            for block, members in hit.items():
                if len(members) == len(blocks[block]):
                    continue
                new = len(blocks)
                small, large = set(members), blocks[block]
                large -= small  # at the cost of the few, however many the rest are
                if len(large) < len(small):
                    small, large = large, small
                blocks[block] = large
                blocks.append(small)
                for state in small:
                    block_of[state] = new
                waiting.add(new)  # and `block` still waits if it did: then both parts do
    return np.array(block_of)


def _sources(targets: Ints) -> list[list[int]]:
    """For each state, the states from which a symbol that leads to `targets` leads there."""
    order = np.argsort(targets, kind="stable").tolist()
    ends = np.cumsum(np.bincount(targets, minlength=len(targets))).tolist()
    return [order[i:j] for i, j in zip([0, *ends[:-1]], ends, strict=True)]
