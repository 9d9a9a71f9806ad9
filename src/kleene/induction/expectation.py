"""Automata by expectation maximisation (Baum and Welch), for alphabets too wide to merge or grow.

Over wide alphabets two words hardly ever share a prefix, and one transition is used by few words:
neither merging nor a change of one transition at a time sees enough rows. Here all transitions
change at once. They are uncertain at first,

    P(class c | a_1 ... a_m) = sum over s of (e_0 T_{a_1} ... T_{a_m})_s B_{s c}

and every round gives each transition and each class the share of the rows that the round before
expects of it. The likeliest transitions make the table. Short words must lead the way: over long
ones alone, random transitions forget where they started.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kleene.compiling import njit
from kleene.induction.evidence import Evidence
from kleene.induction.search import Budget, Table

SHORT = 3
"""The length up to which words count as short."""
MOST_ROUNDS = 300
LEAST_GAIN = 1e-4
"""The share of the bits of the labels that a round must gain."""
SMOOTHING = 0.05
"""Rows that each transition has in any case, so that none is given up too soon."""
WORK_PER_LOOK_UP = 5


def has_short_words(evidence: Evidence) -> bool:
    """Whether there are as many short words as symbols."""
    lengths = np.diff(evidence.starts)
    return int((lengths <= SHORT).sum()) >= len(evidence.alphabet)


def expected_table(evidence: Evidence, budget: Budget, states: int, seed: int) -> Table:
    """The likeliest transitions among so many states; as far as the budget goes."""
    random = np.random.default_rng([states, seed])
    width, classes = len(evidence.alphabet), len(evidence.classes)
    transitions = random.dirichlet(np.full(states, 2.0), (width, states))
    outputs = random.dirichlet(np.full(classes, 2.0), states)
    before = -np.inf
    for _ in range(MOST_ROUNDS):
        if budget.is_spent:
            break
        uses, ends, bits = expected_uses(
            transitions, outputs, evidence.symbols, evidence.starts, evidence.counts
        )
        budget.work[0] += len(evidence.symbols) * states**2 // WORK_PER_LOOK_UP
        transitions = (uses + SMOOTHING) / (uses + SMOOTHING).sum(-1, keepdims=True)
        outputs = (ends + SMOOTHING) / (ends + SMOOTHING).sum(-1, keepdims=True)
        if bits - before < LEAST_GAIN * evidence.rows:
            break
        before = bits
    return np.ascontiguousarray(transitions.argmax(-1).T, dtype=np.int32)


@njit(cache=True, nogil=True)
def expected_uses(transitions: Any, outputs: Any, symbols: Any, starts: Any, counts: Any) -> Any:
    """Expected uses (symbol, state, next state), ends (state, class), and log2 of the likelihood.

    Forward and backward passes over all words, given their classes.
    """
    states, classes = outputs.shape
    uses, ends = np.zeros_like(transitions), np.zeros_like(outputs)
    longest = 0
    for w in range(len(counts)):
        longest = max(longest, starts[w + 1] - starts[w])
    forward = np.zeros((longest + 1, states))
    backward, earlier = np.zeros(states), np.zeros(states)
    bits = 0.0
    for w in range(len(counts)):
        start, length = starts[w], starts[w + 1] - starts[w]
        forward[0] = 0.0
        forward[0, 0] = 1.0
        for j in range(length):
            step = transitions[symbols[start + j]]
            forward[j + 1] = 0.0
            for s in range(states):
                for t in range(states):
                    forward[j + 1, t] += forward[j, s] * step[s, t]
        for c in range(classes):
            if counts[w, c] == 0:
                continue
            share = 1e-300
            for s in range(states):
                share += forward[length, s] * outputs[s, c]
            bits += counts[w, c] * np.log2(share)
            for s in range(states):
                backward[s] = counts[w, c] * outputs[s, c] / share
                ends[s, c] += forward[length, s] * backward[s]
            for j in range(length - 1, -1, -1):
                symbol = symbols[start + j]
                for s in range(states):
                    earlier[s] = 0.0
                    for t in range(states):
                        share = transitions[symbol, s, t] * backward[t]
                        earlier[s] += share
                        uses[symbol, s, t] += forward[j, s] * share
                backward[:] = earlier
    return uses, ends, bits
