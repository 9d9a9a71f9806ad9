"""The conditions of a counter proof, checked with code of its own: NumPy, no code of the prover.

A certificate names a one-counter machine, a depth and a length; the claim is about sequences of at
most that length on which the machine's counter stays within the depth. A memory that counts drifts,
so no box holds for ever, and boxes for every length would fill a disk. The certificate therefore
has none: `check` computes boxes of mixtures and memories again, round by round, one for each
configuration of the machine, with its own formulas. After t rounds they hold everything that t
symbols lead to. At the end, the class must be certain in every box.

**Depth.** It is measured by the machine's own counter, over configurations that sequences reach.
If the counter has stopped for good (no later symbol moves it), the depth counts on by what each
symbol adds while the counter runs; if that is not one number per symbol, it stops too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from kleene.proof.verify_core import (
    END,
    FIRST,
    START,
    Array,
    F,
    Ints,
    Network,
    Range,
    U,
    at_zero,
    hidden_range,
    largest,
    linear,
    mixtures,
    need,
    sigmoid,
    size,
    token_gates,
    widen,
)

MAX_BOXES = 5_000
Place = tuple[int, int, int]  # state, counter, depth


@dataclass(frozen=True, kw_only=True)
class Machine:
    """A one-counter machine; it sees its counter clipped to [-clip, clip]."""

    moves: Ints  # state clipped symbol: the next state
    adds: Ints  # state clipped symbol: -1, 0 or 1
    classes: Ints  # state clipped: the index of a class
    start: int

    @property
    def clip(self) -> int:
        """The largest counter that it can tell from larger ones."""
        return int(self.moves.shape[1] - 1) // 2

    def rises(self) -> Ints | None:
        """What each symbol adds wherever the counter runs; None if not one number per symbol."""
        after: dict[tuple[int, int], list[tuple[int, int, set[tuple[int, int]]]]] = {}
        waiting = [(self.start, 0)]
        while waiting:
            node = waiting.pop()
            if node in after:
                continue
            state, seen = node
            after[node] = []
            for symbol in range(self.moves.shape[2]):
                add = int(self.adds[state, seen + self.clip, symbol])
                target = int(self.moves[state, seen + self.clip, symbol])
                sights = {max(-self.clip, min(self.clip, seen + add))}
                if abs(seen) == self.clip:  # the counter may be farther from 0 than it looks
                    sights.add(seen)
                nodes = {(target, sight) for sight in sights}
                after[node].append((symbol, add, nodes))
                waiting += nodes
        running = {node for node, steps in after.items() if any(add for _, add, _ in steps)}
        need(bool(running), "its machine never counts")
        while more := {
            node
            for node, steps in after.items()
            if node not in running and any(nodes & running for _, _, nodes in steps)
        }:
            running |= more
        found: list[set[int]] = [set() for _ in range(self.moves.shape[2])]
        for node in running:
            for symbol, add, nodes in after[node]:
                if nodes & running:
                    found[symbol].add(add)
        if any(len(adds) > 1 for adds in found):
            return None
        return np.array([max(adds, default=0) for adds in found])

    def seen(self, counter: int) -> int:
        """The row of a counter, clipped."""
        return max(-self.clip, min(self.clip, counter)) + self.clip

    def class_at(self, state: int, counter: int) -> int:
        """The class of sequences that end here."""
        return int(self.classes[state, self.seen(counter)])

    def after(self, place: Place, symbol: int, rises: Ints | None) -> Place:
        """Where a symbol leads."""
        state, counter, deep = place
        at = state, self.seen(counter), symbol
        add = int(self.adds[at])
        return (
            int(self.moves[at]),
            counter + add,
            deep + (add if rises is None else int(rises[symbol])),
        )

    def within(self, place: Place, depth: int, rises: Ints | None) -> list[tuple[int, Place]]:
        """The symbols that stay within the depth, and where each leads."""
        steps = [(s, self.after(place, s, rises)) for s in range(self.moves.shape[2])]
        return [(s, after) for s, after in steps if max(abs(after[1]), abs(after[2])) <= depth]


@dataclass(frozen=True, kw_only=True, eq=False)
class Family:
    """Boxes that hold everything that sequences of up to some length lead to."""

    places: list[Place]  # box
    alpha: Range  # box centroid
    memory: Range  # box hidden


def check(
    net: Network, machine: Machine, depth: int, length: int, unit: int, step: float
) -> tuple[int, float]:
    """Check the claim; return how many boxes there are, and the least margin of a class.

    `unit` and `step`, the memory's unit that counts and what it adds, decide how boxes are split,
    not what is true.
    """
    for family in islice(families(net, machine, depth, unit, step), length + 1):
        last = family
    return len(last.places), class_margin(net, machine, last)


def families(
    net: Network, machine: Machine, depth: int, unit: int, step: float
) -> Iterator[Family]:
    """The boxes of sequences of up to 0, 1, 2 ... symbols, as long as a sequence is that long."""
    layer, rises = net.layers[0], machine.rises()
    hidden = layer.S.shape[1]
    x, zero = token_gates(net, np.array([START])), np.zeros((1, hidden))
    u, memory = cell(net, x, at_zero(net)[0], (zero, zero))
    index: dict[Any, int] = {((machine.start, 0, 0), None): 0}
    family = Family(
        places=[(machine.start, 0, 0)],
        alpha=outer(next_mixtures(net, u)[1]),
        memory=outer(memory),
    )
    tokens = FIRST + np.arange(machine.moves.shape[2])
    x = token_gates(net, tokens)
    x = x[0][None], x[1][None]
    ends = set(family.places)
    while True:
        yield family
        ends = {after for place in ends for _, after in machine.within(place, depth, rises)}
        need(bool(ends), "no sequence of this length stays within the depth")
        low, high = hidden_range(net, net.layers[0], family.alpha)
        grid = (low[:, None], high[:, None]), (family.memory[0][:, None], family.memory[1][:, None])
        u, memory = (
            (a[0].reshape(-1, hidden), a[1].reshape(-1, hidden)) for a in cell(net, x, *grid)
        )
        leads, alpha = next_mixtures(net, u)
        counts = np.rint((lower(memory[0]) + upper(memory[1]))[:, unit] / (2 * step))
        rows, targets, places = [], [], list(family.places)
        for box, place in enumerate(family.places):
            for symbol, after in machine.within(place, depth, rises):
                row = box * len(tokens) + symbol
                key = (after, (int(leads[row]), float(counts[row])))
                if key not in index:
                    index[key] = len(places)
                    places.append(after)
                rows.append(row)
                targets.append(index[key])
        need(len(places) <= MAX_BOXES, f"it needs more than {MAX_BOXES} boxes")
        to = np.array(targets), len(places)
        family = Family(
            places=places,
            alpha=joined(family.alpha, (alpha[0][rows], alpha[1][rows]), *to),
            memory=joined(family.memory, (memory[0][rows], memory[1][rows]), *to),
        )


def joined(old: Range, images: Range, targets: Ints, count: int) -> Range:
    """Boxes after they have taken in images; new boxes begin empty."""
    more = np.full((count - len(old[0]), old[0].shape[1]), np.inf)
    least, most = np.vstack([old[0], more]), np.vstack([old[1], -more])
    low, high = outer(images)
    np.minimum.at(least, targets, low)
    np.maximum.at(most, targets, high)
    return least, most


def class_margin(net: Network, machine: Machine, family: Family) -> float:
    """By how much, in all boxes, the machine's class beats all others at least."""
    hidden, memory = net.layers[0].S.shape[1], family.memory
    gates = hidden_range(net, net.layers[0], family.alpha)
    if net.end_token:
        u, memory = cell(net, token_gates(net, np.array([END])), gates, memory)
    else:
        u = gates[0][:, -hidden:], gates[1][:, -hidden:]
    features = np.hstack([u[0], memory[0]]), np.hstack([u[1], memory[1]])
    sizes, margin = size(largest(features), net.H, net.d), np.inf
    winners = np.array([machine.class_at(state, counter) for state, counter, _ in family.places])
    for winner in np.unique(winners):
        some = np.flatnonzero(winners == winner)
        both = sizes[some] + sizes[some][:, [winner]]
        gap = linear((features[0][some], features[1][some]), net.H - net.H[winner],
                     net.d - net.d[winner])  # fmt: skip
        worst = np.delete(widen(net, gap, both)[1], winner, 1)
        for box in some[~np.asarray(worst < 0).all(1)]:
            state, counter, _ = family.places[box]
            need(False, f"the class is not certain in state {state} at counter {counter}")
        margin = min(margin, -float(upper(worst).max(initial=-np.inf)))
    return float(margin)


# -- one step ------------------------------------------------------------------------------------


def next_mixtures(net: Network, u: Range) -> tuple[Ints, Range]:
    """The centroid nearest to the middle of each box of u, and its boxes of mixtures."""
    S, middle = lower(net.layers[0].S), lower(u[0]) + lower(u[1])
    offsets = (S * S).sum(1) if net.similarity == "euclidean" else 0
    leads = (middle @ S.T - offsets).argmax(1)
    order, parts = [], []
    for lead in np.unique(leads):
        some = np.flatnonzero(leads == lead)
        parts.append(mixtures(net, net.layers[0], (u[0][some], u[1][some]), int(lead))[0])
        order.append(some)
    back = np.argsort(np.concatenate(order))
    return leads, (np.vstack([p[0] for p in parts])[back], np.vstack([p[1] for p in parts])[back])


def cell(net: Network, x: Range, hidden: Range, memory: Range) -> tuple[Range, Range]:
    """u = o tanh(c') and c' = f c + i tanh(g); gates read the memory through peepholes."""
    n, P = net.layers[0].S.shape[1], net.layers[0].P
    low, high = x[0] + hidden[0][..., :-n], x[1] + hidden[1][..., :-n]
    i, f, g, o = ((low[..., k * n : k * n + n], high[..., k * n : k * n + n]) for k in range(4))
    kept = kept_memory(net, f, P[1], memory)
    written = product(gate(peep(net, i, P[0], memory)), tanh(g))
    error = 8 * U * (1 + largest(memory))
    after = kept[0] + written[0] - error, kept[1] + written[1] + error
    widen(net, after, largest(after))  # refuses what may overflow
    u = product(gate(peep(net, o, P[2], after)), tanh(after))
    return (u[0] - 8 * U, u[1] + 8 * U), after


def kept_memory(net: Network, a: Range, p: Array, memory: Range) -> Range:
    """sigmoid(a + p c) c: as a product, and by the mean value theorem in c; both hold.

    At the middle m it is sigmoid(a + p m) m, and its slope s + s (1 - s) p c, with s the gate, is
    bounded over the box. The error F of the gate is multiplied by c.
    """
    pre = peep(net, a, p, memory)
    plain = product(gate(pre), memory)
    m = (lower(memory[0]) + upper(memory[1])) / 2
    radius = np.maximum(memory[1] - m, m - memory[0])
    sums = net.g * (largest((p * memory[0], p * memory[1])) + largest(a))
    at_middle = [sigmoid(end + p * m + sign * sums) for end, sign in zip(a, (-1, 1), strict=True)]
    middle = [np.minimum(at_middle[0] * m, at_middle[1] * m),
              np.maximum(at_middle[0] * m, at_middle[1] * m)]  # fmt: skip
    s = sigmoid(pre[0]), sigmoid(pre[1])
    steepest = np.minimum(largest((s[0], s[1])) * largest((1 - s[0], 1 - s[1])), 0.25)
    slope = s[1] + steepest * abs(p) * largest(memory)
    off = slope * radius + F * largest(memory)
    return np.maximum(plain[0], middle[0] - off), np.minimum(plain[1], middle[1] + off)


def peep(net: Network, a: Range, p: Array, memory: Range) -> Range:
    """The range of a + p c."""
    ends = p * memory[0], p * memory[1]
    total = a[0] + np.minimum(*ends), a[1] + np.maximum(*ends)
    return widen(net, total, largest(ends) + largest(a))


def gate(a: Range) -> Range:
    """The range of a gate, which is from 0 to 1."""
    return np.maximum(sigmoid(a[0]) - F, 0), np.minimum(sigmoid(a[1]) + F, 1)


def tanh(a: Range) -> Range:
    """The range of tanh."""
    return np.tanh(a[0]) - F, np.tanh(a[1]) + F


def product(gates: Range, values: Range) -> Range:
    """The range of a product with a gate, which is not negative."""
    (g0, g1), (v0, v1) = gates, values
    return np.minimum(g0 * v0, g1 * v0), np.maximum(g0 * v1, g1 * v1)


def outer(a: Range) -> Range:
    """The outermost ends of a range, which are numbers."""
    return lower(a[0]), upper(a[1])


def lower(value: Any) -> Array:
    """The lower end of an enclosure, or a number as it is."""
    end: Array = getattr(value, "lo", value)
    return end


def upper(value: Any) -> Array:
    """The upper end of an enclosure, or a number as it is."""
    end: Array = getattr(value, "hi", value)
    return end
