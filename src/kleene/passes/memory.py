"""The memory of an LSTM along some words, and the units of the memory that count."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kleene.arrays import Floats, Ints
from kleene.data.alphabet import Ids
from kleene.errors import ExtractionError
from kleene.model import Model
from kleene.nn.mode import HARD, OWN
from kleene.passes.prefixes import Prefixes, read_prefixes

MOVE_QUANTILE = 0.95  # changes of a counting unit at this quantile are pushes or pops
MIN_MOVES = 0.01  # share of the steps in which a counting unit moves up, and down
MAX_NOISE = 1.0  # largest mean distance to -step, 0 or +step, in steps per step made


@dataclass(frozen=True, kw_only=True)
class CountingUnit:
    """A unit of the memory whose changes are -step, 0 and +step."""

    unit: int
    step: float
    """The change by a push; its sign makes the counter mostly positive."""
    noise: float
    """Distance of its changes from the nearest of -step, 0 and +step, in steps per step made."""


def require_memory(model: Model) -> None:
    """Refuse a network without states, without memory, or that does not classify its last step."""
    rnn, config = model.network.rnn, model.network.config
    if not rnn.cell.has_memory or not rnn.num_states or rnn.num_layers != 1:
        raise ExtractionError(
            "a counter is extracted from one layer of lstm or lstm-p with states, got cell "
            f"{rnn.cell.name}, {rnn.num_states} states and {rnn.num_layers} layer(s)"
        )
    if config.pooling != "last" or not config.num_symbols:
        raise ExtractionError(
            "a counter is extracted from a network that reads symbols and classifies its last "
            "step; train with pooling='last'"
        )


def record_memory(model: Model, words: Sequence[Ids], *, hard: bool = False) -> Prefixes:
    """Every step of the network over the words, in soft or hard mode."""
    if not model.network.rnn.cell.has_memory:
        raise ExtractionError("this network has no memory; use the cell lstm or lstm-p")
    return read_prefixes(model, words, hidden=True, mode=HARD if hard else OWN)


def counting_units(record: Prefixes) -> list[CountingUnit]:
    """The units that count, the cleanest first; a step is the median of a unit's larger changes."""
    changes = record.memory[record.steps] - record.memory[record.steps - 1]  # (step, unit)
    if not len(changes):
        return []
    sizes = np.abs(changes)
    large = np.where(sizes >= np.quantile(sizes, MOVE_QUANTILE, axis=0) / 2, sizes, np.nan)
    largest = np.nanmedian(large, axis=0)
    rounded = rounded_changes(changes, largest)
    strayed = np.minimum(np.abs(changes / np.maximum(largest, 1e-9) - rounded), 1).sum(0)
    up, down = (rounded == 1).mean(0), (rounded == -1).mean(0)
    noise = strayed / np.maximum((rounded != 0).sum(0), 1)
    counts = (noise < MAX_NOISE) & (np.minimum(up, down) >= MIN_MOVES) & (largest > 1e-3)
    units = [
        CountingUnit(
            unit=unit, step=_oriented(record, unit, largest[unit]), noise=float(noise[unit])
        )
        for unit in np.flatnonzero(counts).tolist()
    ]
    return sorted(units, key=lambda unit: unit.noise)


def counters(record: Prefixes, unit: CountingUnit) -> Ints:
    """The integer counter of a unit, (prefix,): the sum of its rounded changes."""
    memory, steps = record.memory[:, unit.unit], record.steps
    moves = np.zeros(len(memory), dtype=np.int64)
    moves[steps] = rounded_changes(memory[steps] - memory[steps - 1], unit.step)
    total = moves.cumsum()
    counts: Ints = total - total[record.time == 0][record.word]
    return counts


def rounded_changes(changes: Floats, step: Floats | float) -> Floats:
    """-1, 0 or +1: which of -step, 0 and +step each change is nearest to."""
    size = np.where(np.abs(step) < 1e-9, 1e-9, step)
    return np.clip(np.rint(changes / size), -1, 1)


def _oriented(record: Prefixes, unit: int, size: float) -> float:
    """The step with the sign by which the counter is mostly above 0."""
    unit_up = CountingUnit(unit=unit, step=float(size), noise=0.0)
    values = counters(record, unit_up)
    return float(size) if (values > 0).sum() >= (values < 0).sum() else -float(size)
