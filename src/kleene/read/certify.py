"""Prove that a network is an automaton: for all words, of every length.

The probabilities of a memory-less network are followed as boxes, one or more per state of the
automaton. From the box after the start token, every box is stepped on every symbol, and the box of
the state that the automaton goes to is enlarged until it holds the result. When nothing grows any
more, the boxes are an invariant: the soft network follows the automaton on every word. If from
every box the end token gives the label of its state, both are the same function.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kleene.automata import DFA
from kleene.automata.words import check_same_alphabet
from kleene.data.alphabet import SPECIALS
from kleene.errors import SettingError
from kleene.machine import Word
from kleene.model import Model
from kleene.read.bounds import CHUNK, ROUNDING, Array, Bounds, Interval
from kleene.read.certificate import Certificate, Refusal
from kleene.read.table import Table, read_table

SPARE = 1e-9  # boxes are this much larger than needed, relatively, for a verifier that rounds else
GROWTH = 1 / 64  # how much a box that keeps growing grows beyond its need, at first
ROUNDS = 400
SEARCH = 2.0**-16  # temperatures are searched down to this part of the one asked for


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
    competitor: int


def certify(
    model: Model, dfa: DFA | None = None, *, temperature: float | None = None
) -> Certificate | Refusal:
    """Prove that the network gives every word the label that the automaton gives it.

    Without `dfa`, the automaton is the one in the network's own table. The temperature is the one
    the network runs with unless another is given.
    """
    if temperature is not None and not (temperature > 0 and math.isfinite(temperature)):
        raise SettingError(f"temperature={temperature!r} came, needed is a number above 0")
    bounds, table = Bounds.of(model), read_table(model)
    goal = table.dfa.minimize() if dfa is None else dfa
    check_same_alphabet(model.alphabet.symbols, goal.alphabet)
    running = model.network.rnn.temperature
    tau = running if temperature is None else float(temperature)
    word = table.dfa.difference(goal)
    if unknown := [label for label in goal.outputs if label not in model.classes]:
        return _refuse_word(model, goal, table, word, tau, f"no class is {unknown[0]!r}")
    broken = None
    for locations in _candidates(model, bounds, table, goal, word is None):
        outcome = prove(bounds, locations, tau)
        if isinstance(outcome, Proof):
            return _certificate(model, goal, locations, outcome, tau, running)
        broken = broken or (locations, outcome)
    if word is not None or broken is None:
        return _refuse_word(model, goal, table, word, tau, "")
    return _refuse_break(model, bounds, *broken, tau)


def largest_temperature(model: Model, dfa: DFA | None = None) -> float | None:
    """The largest temperature at which the network provably is the automaton, or None."""
    bounds, table = Bounds.of(model), read_table(model)
    goal = table.dfa.minimize() if dfa is None else dfa
    check_same_alphabet(model.alphabet.symbols, goal.alphabet)
    if table.dfa.difference(goal) is not None:
        return None
    locations = next(_candidates(model, bounds, table, goal, True))
    return _search(bounds, locations, 64 * model.network.rnn.temperature)


# -- the proof ---------------------------------------------------------------------------------


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
            return first_break or Break(location=int(worst), column=None, competitor=-1)
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
    return first_break or Break(location=int(dirty[0]), column=None, competitor=-1)


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
        tokens = slice(len(SPECIALS) + begin, len(SPECIALS) + begin + len(columns))
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


def _search(bounds: Bounds, locations: Locations, highest: float) -> float | None:
    """Bisection for the largest temperature at which the proof closes."""

    def closes(temperature: float) -> bool:
        return isinstance(prove(bounds, locations, temperature), Proof)

    if closes(highest):
        return highest
    good, bad = highest * SEARCH, highest
    if not closes(good):
        return None
    while bad / good > 1.01:
        middle = math.sqrt(good * bad)
        good, bad = (middle, bad) if closes(middle) else (good, middle)
    return good


# -- where the boxes are -----------------------------------------------------------------------


def _candidates(
    model: Model, bounds: Bounds, table: Table, goal: DFA, equal: bool
) -> Iterator[Locations]:
    """Boxes around the table's centroids first; then one box for each state of the automaton.

    The second are fewer and larger. They serve networks whose mixtures say more than their table.
    """
    fine = _follow(model, table, goal)
    if equal:
        yield fine
    coarse = _merge(fine)
    if not bounds.hard and not (equal and len(coarse.centroids) == len(fine.centroids)):
        yield coarse


def _follow(model: Model, table: Table, goal: DFA) -> Locations:
    """One location for each pair of a table's state and a state that some word leads to."""
    symbols = model.alphabet.symbols
    moves = [
        dfa.transitions[:, [dfa.columns[symbol] for symbol in symbols]].tolist()
        for dfa in (table.dfa, goal)
    ]
    pairs = [(table.dfa.initial, goal.initial)]
    index = {pairs[0]: 0}
    rows = []
    for p, q in pairs:
        after = list(zip(moves[0][p], moves[1][q], strict=True))
        for pair in after:
            if pair not in index:
                index[pair] = len(pairs)
                pairs.append(pair)
        rows.append([index[pair] for pair in after])
    return Locations(
        centroids=np.array([table.states[p][0] for p, _ in pairs]),
        dfa_states=np.array([q for _, q in pairs]),
        transitions=np.array(rows, np.int32).reshape(len(pairs), len(symbols)),
        classes=np.array([model.classes.index(goal.outputs[q]) for _, q in pairs]),
    )


def _merge(locations: Locations) -> Locations:
    """One location for each state, around the centroid of the first pair that was met."""
    _, first, number = np.unique(locations.dfa_states, return_index=True, return_inverse=True)
    rank = np.argsort(np.argsort(first))
    kept = np.sort(first)
    return Locations(
        centroids=locations.centroids[kept],
        dfa_states=locations.dfa_states[kept],
        transitions=rank[number][locations.transitions[kept]].astype(np.int32),
        classes=locations.classes[kept],
    )


# -- what is handed back -----------------------------------------------------------------------


def _certificate(
    model: Model, goal: DFA, locations: Locations, proof: Proof, tau: float, running: float
) -> Certificate:
    return Certificate(
        temperature=tau,
        running_temperature=running,
        centroids=tuple(locations.centroids.tolist()),
        dfa_states=tuple(locations.dfa_states.tolist()),
        transitions=locations.transitions,
        lo=np.maximum(proof.lo, 0),
        hi=np.minimum(proof.hi, 1),
        margins=proof.margins,
        output_margins=proof.output_margins,
        model_sha256=weights_digest(model),
        dfa=goal,
        rounding=ROUNDING,
    )


def _refuse_word(
    model: Model, goal: DFA, table: Table, word: Word | None, tau: float, why: str
) -> Refusal:
    """The automaton is another one than the network's."""
    if word is None:  # the labels are the network's, and yet no class: it cannot come to this
        return Refusal(reason=f"the automaton does not fit the network: {why}", temperature=tau)
    ours, theirs = table.dfa.run(word), goal.run(word)
    reason = (
        f"the network in hard mode labels {word!r} {ours!r} and the automaton {theirs!r}, so they "
        "are not the same; certify without an automaton to prove the network's own"
    )
    return Refusal(reason=reason, temperature=tau, word=word)


def _refuse_break(
    model: Model, bounds: Bounds, locations: Locations, broken: Break, tau: float
) -> Refusal:
    """The automaton is the right one, but at this temperature the bounds do not close."""
    state = int(locations.centroids[broken.location])
    if broken.column is None:
        what = f"the class of words that end in state {state} is not settled"
    else:
        symbol = model.alphabet.symbols[broken.column]
        target = locations.centroids[locations.transitions[broken.location, broken.column]]
        what = f"state {state} on {symbol!r} may go to {broken.competitor} instead of {target}"
    largest = None if bounds.hard else _search(bounds, locations, tau)
    if bounds.hard:
        cure = "no temperature helps, since this network takes the nearest centroid; train longer"
    elif largest is None:
        cure = "it closes at no lower temperature; consolidate the network, or train longer"
    else:
        cure = f"it closes up to temperature {largest:.3g}"
    return Refusal(
        reason=f"no proof at temperature {tau:.3g}: {what}; {cure}",
        temperature=tau,
        largest_temperature=largest,
        state=state,
        symbol=None if broken.column is None else model.alphabet.symbols[broken.column],
        competitor=None if broken.column is None else broken.competitor,
    )


def weights_digest(model: Model) -> str:
    """SHA-256 over the weights in the order of their names, with names, types and shapes."""
    digest = hashlib.sha256()
    for name, weight in sorted(model.network.state_dict().items()):
        array = np.ascontiguousarray(weight.detach().cpu().numpy())
        digest.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()
