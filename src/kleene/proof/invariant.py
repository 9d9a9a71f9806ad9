"""Boxes that a network cannot leave: grown along an automaton until no step leads out of them.

From the box after the start token, every box is stepped on every symbol, and the box of the state
that the automaton goes to is enlarged until it holds the result. When nothing grows any more, the
boxes are an invariant.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kleene.data.alphabet import FIRST_SYMBOL
from kleene.proof.bounds import CHUNK, Array, Bounds, Interval

SPARE = 1e-9  # boxes are this much larger than needed, relatively: a verifier may round otherwise
GROWTH = 1 / 64  # how much a box that keeps growing grows beyond its need, at first
ROUNDS = 400
SEARCH = 2.0**-16  # temperatures are searched down to this part of the highest


@dataclass(frozen=True, kw_only=True)
class Locations:
    """A refinement of the automaton: where the boxes are, before they have a size."""

    centroids: NDArray[np.int64]  # location layer
    dfa_states: NDArray[np.int64]
    transitions: NDArray[np.int32]  # location symbol
    classes: NDArray[np.int64]  # the class that the network has to give


@dataclass(frozen=True, kw_only=True)
class Proof:
    """Boxes that are an invariant."""

    lo: Array  # location layer state
    hi: Array  # location layer state


@dataclass(frozen=True, kw_only=True)
class Break:
    """Where a proof breaks: a location, and a symbol; None where the class is not certain."""

    location: int
    column: int | None


def prove(bounds: Bounds, locations: Locations, temperatures: Sequence[float]) -> Proof | Break:
    """Find boxes that no step leaves, or where that breaks: an output that is not certain."""
    count, layers = locations.centroids.shape
    lo = np.full((count, layers, bounds.num_states), np.inf)
    hi = np.full((count, layers, bounds.num_states), -np.inf)
    grown = np.zeros(count)
    x, zero = bounds.start()
    u = bounds.apply(x, zero[0])
    hull, _ = advance(bounds, u, zero[1:], locations.centroids[0], temperatures)
    _enlarge(lo[0], hi[0], hull, 0)
    dirty, broken = np.array([0]), None
    for _ in range(ROUNDS):
        margins = _output_margins(bounds, locations, lo, hi, dirty)
        if not (margins > 0).all():  # nan too
            return broken or Break(location=int(dirty[margins.argmin()]), column=None)
        changed = set()
        steps = _images(bounds, locations, lo, hi, dirty, temperatures)
        for target, hull, margins, rows, columns in steps:
            worst = int(margins.argmin())
            if broken is None and margins[worst] <= 0:
                broken = Break(location=int(rows[worst]), column=int(columns[worst]))
            growth = min(1.0, GROWTH * 1.5 ** max(0, grown[target] - 2)) if grown[target] else 0
            if _enlarge(lo[target], hi[target], hull, growth):
                changed.add(target)
        if not changed:
            return Proof(lo=lo, hi=hi)
        dirty = np.array(sorted(changed))
        grown[dirty] += 1
    return broken or Break(location=int(dirty[0]), column=None)


def _images(
    bounds: Bounds,
    locations: Locations,
    lo: Array,
    hi: Array,
    rows: NDArray[np.int64],
    temperatures: Sequence[float],
) -> Iterator[tuple[int, Interval, Array, NDArray[np.int64], NDArray[np.int64]]]:
    """All steps from the given locations, grouped by the location they lead to.

    Each group is that location, the hull of its steps, and by step the margin of the location's
    centroids, the location it comes from and the symbol it reads.
    """
    inputs = bounds.x_gates[0][FIRST_SYMBOL:], bounds.x_gates[1][FIRST_SYMBOL:]
    hidden = bounds.hidden(lo[rows], hi[rows])
    deep = bounds.num_states if len(bounds.layers) > 1 else 1  # a mixture for every step
    chunk = max(1, CHUNK // (len(rows) * hidden[0][0].shape[1] * deep))
    grid = hidden[0][0][:, None], hidden[0][1][:, None]
    for begin in range(0, len(inputs[0]), chunk):
        columns = np.arange(begin, min(begin + chunk, len(inputs[0])))
        u_lo, u_hi = bounds.apply((inputs[0][None, columns], inputs[1][None, columns]), grid)
        targets = locations.transitions[np.ix_(rows, columns)]
        for target in np.unique(targets):
            i, j = np.nonzero(targets == target)
            above = [(low[i], high[i]) for low, high in hidden[1:]]
            hull, margins = advance(
                bounds, (u_lo[i, j], u_hi[i, j]), above, locations.centroids[target], temperatures
            )
            yield int(target), hull, margins, rows[i], columns[j]


def advance(
    bounds: Bounds,
    u: Interval,
    above: Sequence[Interval],
    leads: NDArray[np.int64],
    temperatures: Sequence[float],
) -> tuple[Interval, Array]:
    """From the first layer's u, (step, hidden), through its component and the layers above.

    Returns the hull of the next mixtures, (layer, state), and by how much the leads win at least.
    """
    los, his, worst = [], [], np.full(len(u[0]), -np.inf)
    for i, (lead, temperature) in enumerate(zip(leads.tolist(), temperatures, strict=True)):
        gaps = bounds.gaps(i, u, lead)
        lo, hi = bounds.probabilities(gaps, lead, temperature)
        los.append(lo.min(0))
        his.append(hi.max(0))
        worst = np.maximum(worst, np.delete(gaps[1], lead, 1).max(1, initial=-np.inf))
        if i < len(above):
            u = bounds.apply(bounds.between[i].range(lo, hi), above[i])
    return (np.array(los), np.array(his)), -worst


def _enlarge(lo: Array, hi: Array, image: Interval, growth: float) -> bool:
    """Make a box hold an image, in place, and say whether it did not before."""
    low, high = lo <= image[0] * (1 - SPARE), image[1] * (1 + SPARE) <= hi
    factor = growth + 4 * SPARE
    np.minimum(lo, np.where(low, lo, image[0] * (1 - factor)), out=lo)
    np.maximum(hi, np.where(high, hi, image[1] * (1 + factor)), out=hi)
    return not (low.all() and high.all())


def _output_margins(
    bounds: Bounds, locations: Locations, lo: Array, hi: Array, rows: NDArray[np.int64]
) -> Array:
    """By how much the right class wins at least, from each of the given locations."""
    margins = np.empty(len(rows))
    for winner in np.unique(locations.classes[rows]):
        chosen = np.nonzero(locations.classes[rows] == winner)[0]
        margins[chosen] = -bounds.classes(lo[rows[chosen]], hi[rows[chosen]], int(winner))
    return margins


def largest_closing(
    bounds: Bounds, candidates: Sequence[Locations], highest: float
) -> float | None:
    """The largest temperature of all layers, up to the highest, that a proof closes at."""

    def closes(temperature: float) -> bool:
        same = [temperature] * len(bounds.layers)
        return any(isinstance(prove(bounds, c, same), Proof) for c in candidates)

    if closes(highest):
        return highest
    good, bad = highest * SEARCH, highest
    if not closes(good):
        return None
    while bad / good > 1.01:
        middle = math.sqrt(good * bad)
        good, bad = (middle, bad) if closes(middle) else (good, middle)
    return good
