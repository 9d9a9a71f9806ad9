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

    centroids: NDArray[np.int64]
    dfa_states: NDArray[np.int64]
    transitions: NDArray[np.int32]  # location symbol
    classes: NDArray[np.int64]  # the class that the network has to give


@dataclass(frozen=True, kw_only=True)
class Proof:
    """Boxes that are an invariant, and how far the steps stay from breaking it."""

    lo: Array
    hi: Array
    margins: Array
    output_margins: Array


@dataclass(frozen=True, kw_only=True)
class Break:
    """Where a proof breaks first: a location, a symbol (None at the end), who else may win."""

    location: int
    column: int | None
    competitor: int | None


def prove(bounds: Bounds, locations: Locations, temperature: float) -> Proof | Break:
    """Grow the boxes until every step stays inside, or an output is no longer settled."""
    count = len(locations.centroids)
    lo = np.full((count, bounds.num_states), np.inf)
    hi = np.full((count, bounds.num_states), -np.inf)
    margins = np.full(locations.transitions.shape, np.inf)
    output_margins = np.full(count, np.inf)
    grown = np.zeros(count)
    winner = int(locations.centroids[0])
    gaps = bounds.gaps(bounds.start(), winner)
    _enlarge(lo[0], hi[0], *_hull(bounds.probabilities(gaps, winner, temperature)), 0)
    dirty, first_break = np.array([0]), None
    for _ in range(ROUNDS):
        output_margins[dirty] = _settled(bounds, locations, lo, hi, dirty)
        if not (output_margins[dirty] > 0).all():  # nan too
            worst = dirty[output_margins[dirty].argmin()]
            return first_break or Break(location=int(worst), column=None, competitor=None)
        images = list(_images(bounds, locations, lo, hi, dirty, temperature))
        first_break = first_break or _losing(locations, images)
        changed = set()
        for image in images:
            margins[image.rows, image.columns] = image.margins
            target = image.target
            growth = min(1.0, GROWTH * 1.5 ** max(0, grown[target] - 2)) if grown[target] else 0
            if _enlarge(lo[target], hi[target], image.lo, image.hi, growth):
                changed.add(target)
        if not changed:
            return Proof(lo=lo, hi=hi, margins=margins, output_margins=output_margins)
        dirty = np.array(sorted(changed))
        grown[dirty] += 1
    return first_break or Break(location=int(dirty[0]), column=None, competitor=None)


@dataclass(frozen=True, kw_only=True)
class Image:
    """Some steps into one location: the hull of where they lead, and by what margin."""

    target: int
    rows: NDArray[np.int64]  # locations they come from
    columns: NDArray[np.int64]  # symbols they read
    lo: Array
    hi: Array
    margins: Array
    competitors: NDArray[np.int64]


def _images(
    bounds: Bounds,
    locations: Locations,
    lo: Array,
    hi: Array,
    rows: NDArray[np.int64],
    temperature: float,
) -> Iterator[Image]:
    """All steps from the given locations, grouped by where they lead."""
    mixed = bounds.mix(lo[rows], hi[rows])
    chunk = max(1, CHUNK // (len(rows) * bounds.table.shape[1]))
    for begin in range(0, bounds.num_symbols, chunk):
        columns = np.arange(begin, min(begin + chunk, bounds.num_symbols))
        tokens = slice(FIRST_SYMBOL + begin, FIRST_SYMBOL + begin + len(columns))
        u_lo, u_hi = bounds.apply(tokens, mixed)
        targets = locations.transitions[np.ix_(rows, columns)]
        for target in np.unique(targets):
            i, j = np.nonzero(targets == target)
            winner = int(locations.centroids[target])
            gaps = bounds.gaps((u_lo[i, j], u_hi[i, j]), winner)
            box = _hull(bounds.probabilities(gaps, winner, temperature))
            rivals = gaps[1].copy()
            rivals[:, winner] = -np.inf
            yield Image(
                target=int(target),
                rows=rows[i],
                columns=columns[j],
                lo=box[0],
                hi=box[1],
                margins=-rivals.max(1),
                competitors=rivals.argmax(1),
            )


def _hull(boxes: Interval) -> Interval:
    return boxes[0].min(0), boxes[1].max(0)


def _enlarge(lo: Array, hi: Array, image_lo: Array, image_hi: Array, growth: float) -> bool:
    """Make a box hold an image, in place, and say whether it did not before."""
    if (lo <= image_lo * (1 - SPARE)).all() and (image_hi * (1 + SPARE) <= hi).all():
        return False
    factor = growth + 4 * SPARE
    np.minimum(lo, np.where(lo <= image_lo * (1 - SPARE), lo, image_lo * (1 - factor)), out=lo)
    grown_hi = np.where(image_hi * (1 + SPARE) <= hi, hi, image_hi * (1 + factor))
    np.maximum(hi, grown_hi, out=hi)
    return True


def _settled(
    bounds: Bounds, locations: Locations, lo: Array, hi: Array, rows: NDArray[np.int64]
) -> Array:
    """By how much the right class wins at least, from each of the given locations."""
    margins = np.empty(len(rows))
    for winner in np.unique(locations.classes[rows]):
        chosen = np.nonzero(locations.classes[rows] == winner)[0]
        margins[chosen] = -bounds.classes(lo[rows[chosen]], hi[rows[chosen]], int(winner))
    return margins


def _losing(locations: Locations, images: list[Image]) -> Break | None:
    """The step whose centroid may lose by most to one of another state, if there is any."""
    state_of = dict(zip(locations.centroids.tolist(), locations.dfa_states.tolist(), strict=True))
    worst, found = 0.0, None
    for image in images:
        at = int(image.margins.argmin())
        rival = int(image.competitors[at])
        if image.margins[at] <= worst and state_of.get(rival) != locations.dfa_states[image.target]:
            worst = float(image.margins[at])
            row, column = int(image.rows[at]), int(image.columns[at])
            found = Break(location=row, column=column, competitor=rival)
    return found


def largest_closing(
    bounds: Bounds, candidates: Sequence[Locations], highest: float
) -> float | None:
    """The largest temperature, up to the highest, at which a proof closes; by bisection."""

    def closes(temperature: float) -> bool:
        return any(isinstance(prove(bounds, c, temperature), Proof) for c in candidates)

    if closes(highest):
        return highest
    good, bad = highest * SEARCH, highest
    if bounds.hard or not closes(good):
        return None
    while bad / good > 1.01:
        middle = math.sqrt(good * bad)
        good, bad = (middle, bad) if closes(middle) else (good, middle)
    return good
