"""What the memory of an LSTM did on some words, and which of its units count."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from kleene.arrays import Floats, Ints
from kleene.data.alphabet import Alphabet, Ids
from kleene.data.examples import Examples
from kleene.errors import ReadingError
from kleene.model import Model
from kleene.nn.inference import inference
from kleene.nn.mode import HARD, OWN

MOVING = 0.95  # at this quantile, changes of a unit that counts are pushes or pops
RARE = 0.01  # a unit that moves up, or down, in a smaller share of the steps does not count
NOISY = 1.0  # nor does one that strays this many steps for each step it makes


@dataclass(frozen=True, kw_only=True, eq=False)
class MemoryRecord:
    """Every step of every word, padded: a row a word, time 0 is after the start token."""

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

    def first(self, words: int) -> MemoryRecord:
        """The record of the first words."""
        return MemoryRecord(
            words=self.words[:words],
            columns=self.columns[:words],
            states=self.states[:words],
            hidden=self.hidden[:words],
            memory=self.memory[:words],
            labels=self.labels[:words],
        )

    def join(self, other: MemoryRecord) -> MemoryRecord:
        """The record of the words of both."""
        longest = max(self.columns.shape[1], other.columns.shape[1])

        def joined(name: str, fill: int, time: int) -> Any:
            parts = [getattr(self, name), getattr(other, name)]
            widths = [(0, 0), (0, 0), (0, 0)]
            padded = []
            for part in parts:
                widths[1] = (0, time - part.shape[1])
                padded.append(np.pad(part, widths[: part.ndim], constant_values=fill))
            return np.concatenate(padded)

        return MemoryRecord(
            words=[*self.words, *other.words],
            columns=joined("columns", -1, longest),
            states=joined("states", -1, longest + 1),
            hidden=joined("hidden", 0, longest + 1),
            memory=joined("memory", 0, longest + 1),
            labels=joined("labels", -1, longest + 1),
        )


@dataclass(frozen=True, kw_only=True)
class CountingUnit:
    """A unit of the memory whose changes are -step, 0 and +step."""

    unit: int
    step: float
    """What one push adds; its sign is the unit's, the counter itself starts at 0 and goes up."""
    noise: float
    """How far its changes are from the nearest of -step, 0 and +step, in steps per step made."""


def require_memory(model: Model) -> None:
    """Counting needs states to be in, a memory to count with, and a decision at the last step."""
    rnn, config = model.network.rnn, model.network.config
    if not rnn.cell.has_memory or not rnn.num_states or rnn.num_layers != 1:
        raise ReadingError(
            "a counter is read from one layer of lstm or lstm-p with states, got cell "
            f"{rnn.cell.name}, {rnn.num_states} states and {rnn.num_layers} layer(s)"
        )
    if config.pooling != "last" or not config.num_symbols:
        raise ReadingError(
            "a counter is read from a network that reads symbols and classifies its last step; "
            "train with pooling='last'"
        )


def record_memory(model: Model, words: Sequence[Ids], *, hard: bool = False) -> MemoryRecord:
    """Run the network over the words, in hard mode if wanted, and keep every step.

    A network without centroids is in state 0 all the time.
    """
    network = model.network
    longest = max((len(word) for word in words), default=0)
    shape = (len(words), longest + 1)
    states, labels = np.full(shape, -1), np.full(shape, -1)
    hidden = np.zeros((*shape, network.config.hidden_size), dtype=np.float32)
    memory = np.zeros_like(hidden)
    examples = Examples(words=words, labels=np.zeros(len(words), dtype=np.int64))
    with inference(network), torch.inference_mode():
        for batch in examples.in_order(256):
            trace = network.trace(batch, mode=HARD if hard else OWN)
            if trace.memory is None:
                raise ReadingError("this network has no memory beside its state; use lstm, lstm-p")
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
    """The units that may count, the cleanest first.

    The step of a unit is the median size of its larger changes.
    """
    changes = np.diff(record.memory, axis=1)[record.steps]  # (step, unit)
    if not len(changes):
        return []
    sizes = np.abs(changes)
    large = np.where(sizes >= np.quantile(sizes, MOVING, axis=0) / 2, sizes, np.nan)
    largest = np.nanmedian(large, axis=0)
    rounded = rounded_changes(changes, largest)
    strayed = np.minimum(np.abs(changes / np.maximum(largest, 1e-9) - rounded), 1).sum(0)
    up, down = (rounded == 1).mean(0), (rounded == -1).mean(0)
    noise = strayed / np.maximum((rounded != 0).sum(0), 1)
    counts = (noise < NOISY) & (np.minimum(up, down) >= RARE) & (largest > 1e-3)
    units = [
        CountingUnit(
            unit=unit, step=_oriented(record, unit, largest[unit]), noise=float(noise[unit])
        )
        for unit in np.flatnonzero(counts).tolist()
    ]
    return sorted(units, key=lambda unit: unit.noise)


def counters(record: MemoryRecord, unit: CountingUnit) -> Ints:
    """The whole number that a unit stands for, (word, time + 1): its rounded changes added up."""
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
