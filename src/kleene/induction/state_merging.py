"""Automata by red-blue state merging, for several assumed shares of wrong labels.

Without noise this is evidence-driven state merging (EDSM); only the heaviest blue states are tried
at each step, so that the cost is about linear in the words. With an assumed share of wrong labels a
merge may disagree with some rows, if more of them agree.
"""

from __future__ import annotations

import numpy as np

from kleene.induction.budget import Budget
from kleene.induction.evidence import Evidence
from kleene.induction.search import Table
from kleene.induction.state_merging_kernels import merge_states, prefix_tree

NOISE = (0.0, 0.02, 0.1)
"""Shares of wrong labels that are assumed, one after the other."""
MOST_STATES = 100
PAID, PAID_WITH_NOISE = 1.0, 0.25
"""Bits of the table for each row up to which merging goes on: a larger table explains nothing."""
MOST_BLUE = 30
"""Blue states, the heaviest first, that are tried at each step."""


def merged(evidence: Evidence, budget: Budget, noise: float) -> Table | None:
    """The table of the merged prefix tree; None if it grew too large or the budget was spent.

    A transition that no word uses leads where the symbol leads from most states.
    """
    width = len(evidence.alphabet)
    states = most_states(width, (PAID_WITH_NOISE if noise else PAID) * evidence.rows)
    tree = prefix_tree(evidence.symbols, evidence.starts, evidence.counts, width)
    targets = merge_states(tree, width, noise, states, MOST_BLUE, budget.work, budget.limit)
    if not len(targets):
        return None
    for column in targets.T:
        known = column[column >= 0]
        column[column < 0] = np.bincount(known).argmax() if len(known) else 0
    return np.ascontiguousarray(targets, dtype=np.int32)


def most_states(width: int, bits: float) -> int:
    """The most states, up to `MOST_STATES` and at least 10, of a table with at most `bits`."""
    states = np.arange(10, MOST_STATES + 1)
    return int(states[states * width * np.log2(states) <= bits].max(initial=10))
