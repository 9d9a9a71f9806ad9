"""The memory of an LSTM along some words, and the units of the memory that count."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from kleene.arrays import Floats, Ints
from kleene.data.alphabet import Alphabet, Ids
from kleene.data.batch import make_batch
from kleene.errors import ExtractionError
from kleene.evaluation.metrics import length_batches
from kleene.model import Model
from kleene.nn.inference import inference
from kleene.nn.mode import HARD, OWN

MOVE_QUANTILE = 0.95  # changes of a counting unit at this quantile are pushes or pops
MIN_MOVES = 0.01  # share of the steps in which a counting unit moves up, and down
MAX_NOISE = 1.0  # largest mean distance to -step, 0 or +step, in steps per step made


@dataclass(frozen=True, kw_only=True, eq=False)
class MemoryRecord:
    """Every step of every word, padded: one row per word; time 0 is after the start token."""

    words: Sequence[Ids]
    columns: Ints  # (word, time) the symbol read at each step, -1 in the padding
    states: Ints  # (word, time + 1) the centroid of highest weight, -1 in the padding
    hidden: Floats  # (word, time + 1, unit)
    memory: Floats  # (word, time + 1, unit)
    labels: Ints  # (word, time + 1) the network's class of each prefix, -1 in the padding

    @property
    def steps(self) -> NDArray[np.bool_]:
        """Where there is a symbol, (word, time)."""
        return self.columns >= 0


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


def record_memory(model: Model, words: Sequence[Ids], *, hard: bool = False) -> MemoryRecord:
    """Every step of the network over the words; without centroids, the state is 0."""
    network = model.network
    longest = max((len(word) for word in words), default=0)
    shape = (len(words), longest + 1)
    states, labels = np.full(shape, -1), np.full(shape, -1)
    hidden = np.zeros((*shape, network.config.hidden_size), dtype=np.float32)
    memory = np.zeros_like(hidden)
    with inference(network), torch.inference_mode():
        for order in length_batches(words, 256):
            batch = make_batch(words, order=order)
            trace = network.trace(batch, mode=HARD if hard else OWN)
            if trace.memory is None:
                raise ExtractionError(
                    "this network has no memory besides its state; use lstm or lstm-p"
                )
            mask = trace.mask
            scores = network.classify([trace.hidden[mask]], [trace.memory[mask]])
            found = np.full(mask.shape, -1)
            found[mask.cpu().numpy()] = scores.argmax(-1).cpu().numpy()
            time = mask.shape[1]
            found_states = mask.long() - 1 if trace.states is None else trace.states
            states[batch.order, :time] = found_states.cpu().numpy()
            hidden[batch.order, :time] = trace.hidden.cpu().numpy()
            labels[batch.order, :time] = found
            memory[batch.order, :time] = trace.memory.cpu().numpy()
    columns = np.full((len(words), longest), -1)
    for row, word in enumerate(words):
        columns[row, : len(word)] = Alphabet.columns(word)
    return MemoryRecord(
        words=words, columns=columns, states=states, hidden=hidden, memory=memory, labels=labels
    )


def counting_units(record: MemoryRecord) -> list[CountingUnit]:
    """The units that count, the cleanest first; a step is the median of a unit's larger changes."""
    changes = np.diff(record.memory, axis=1)[record.steps]  # (step, unit)
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


def counters(record: MemoryRecord, unit: CountingUnit) -> Ints:
    """The integer counter of a unit, (word, time + 1): the sum of its rounded changes."""
    changes = np.diff(record.memory[:, :, unit.unit], axis=1)
    moves = np.where(record.steps, rounded_changes(changes, unit.step), 0).astype(np.int64)
    return np.concatenate([np.zeros((len(moves), 1), np.int64), moves.cumsum(1)], axis=1)


def rounded_changes(changes: Floats, step: Floats | float) -> Floats:
    """-1, 0 or +1: which of -step, 0 and +step each change is nearest to."""
    size = np.where(np.abs(step) < 1e-9, 1e-9, step)
    return np.clip(np.rint(changes / size), -1, 1)


def _oriented(record: MemoryRecord, unit: int, size: float) -> float:
    """The step with the sign by which the counter is mostly above 0."""
    unit_up = CountingUnit(unit=unit, step=float(size), noise=0.0)
    values = counters(record, unit_up)[record.states >= 0]
    return float(size) if (values > 0).sum() >= (values < 0).sum() else -float(size)
