"""Prove an LSTM against a one-counter machine, up to a depth and a length.

A memory that counts drifts: no invariant holds for ever. So boxes of mixtures *and memories* are
followed step by step, one for each configuration of the machine (state and counter) that sequences
reach, split by the nearest centroid and by where the counting unit is. After t rounds they hold
everything that sequences of t symbols can lead to, rounding of float32 included. The proof breaks
at the first length at which, from some point of a box, the class may not be the machine's.

The forget gate reads the memory it multiplies (peephole). sigmoid(a + p c) c is monotone in c where
the gate is saturated, so its two ends bound it; this keeps the drift small.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from kleene.automata.counter.configuration_graph import (
    clipped_after,
    configuration_graph,
    reachable,
)
from kleene.automata.counter.machine import CounterMachine
from kleene.automata.symbols import check_same_alphabet, show
from kleene.data.alphabet import END, FIRST_SYMBOL, START, Alphabet
from kleene.errors import ExtractionError
from kleene.extraction.counter.units import CountingUnit, record_memory, require_memory
from kleene.model import Model
from kleene.proof.bounds import (
    FUNCTION,
    UNIT,
    Array,
    Bounds,
    Interval,
    _reach,
    _sigmoid,
    _size,
    linear_range,
    require_as_saved,
)

Key: TypeAlias = tuple[int, int, int, int, int]  # state, counter, height, centroid, unit's count
MAX_BOXES = 5_000
FINDING_WORDS, FINDING_LENGTH = 200, 30


@dataclass(frozen=True, kw_only=True)
class CounterBound:
    """How far network and machine provably agree."""

    depth: int
    """The machine's counter stays so near to 0, and also if it is counted on where it stopped."""
    length: int
    """Every such sequence of at most so many symbols gets the machine's label; -1: none does."""
    asked: int
    """The length that was asked for."""
    boxes: int
    drift: float
    """The widest box of the counting unit, in steps of the counter."""
    reason: str

    @property
    def reached(self) -> bool:
        """Whether the proof went as far as it was asked to."""
        return self.length >= self.asked

    def __str__(self) -> str:
        return (
            f"network and machine provably agree on every sequence of depth up to {self.depth} and "
            f"length up to {self.length} ({self.boxes} boxes, drift {self.drift:.3g} steps): "
            f"{self.reason}"
        )


def counter_bound(
    model: Model,
    machine: CounterMachine,
    unit: CountingUnit | None = None,
    *,
    depth: int = 20,
    length: int = 1000,
) -> CounterBound:
    """The largest length, up to `length`, at which network and machine provably agree.

    The depth of a sequence is the farthest that the machine's counter gets from 0, over all
    prefixes; where the counter has stopped for good, it is counted on as before. The unit of the
    memory that counts decides how boxes are split, not what is true; without it, `find_counter`
    looks for it.
    """
    require_memory(model)
    require_as_saved(model)
    check_same_alphabet(model.alphabet.symbols, machine.alphabet)
    unknown = {o for row in machine.outputs for o in row} - set(model.classes)
    if unknown:
        raise ExtractionError(f"the machine has labels that the model has not: {show(unknown)}")
    return _Proof(model, machine, unit or find_counter(model, machine), depth).run(length)


def find_counter(model: Model, machine: CounterMachine) -> CountingUnit:
    """The unit of the memory that is nearest to a multiple of the height, on random words."""
    walk = _Walk.of(model, machine)
    random = np.random.default_rng(0)
    moving = np.flatnonzero(walk.adds.any((0, 1)) if walk.heights is None else walk.heights)
    drawn = random.choice(moving, (FINDING_WORDS, FINDING_LENGTH))
    other = random.random(drawn.shape) < 0.5
    drawn[other] = random.integers(0, walk.adds.shape[2], int(other.sum()))
    record = record_memory(model, list(Alphabet.ids(drawn)))
    height = np.array([walk.height_after(word) for word in drawn.tolist()]).ravel()
    memory = record.memory.reshape(len(height), -1).astype(np.float64)
    steps = height @ memory / max(float(height @ height), 1.0)
    off = np.sqrt(((memory - height[:, None] * steps) ** 2).mean(0)) / np.maximum(abs(steps), 1e-9)
    unit = int(off.argmin())
    return CountingUnit(unit=unit, step=float(steps[unit]), noise=float(off[unit]))


@dataclass(frozen=True, kw_only=True)
class _Walk:
    """The machine's configurations (state, counter, height), its columns in the model's order.

    The height is the machine's own counter; where the counter has stopped for good, it goes on by
    what each symbol adds everywhere else. If a symbol adds different numbers elsewhere, the height
    stops with the counter.
    """

    machine: CounterMachine
    moves: NDArray[np.int32]  # state, clipped counter, symbol
    adds: NDArray[np.int8]
    heights: NDArray[np.int64] | None  # symbol: what it adds wherever the counter can move

    @classmethod
    def of(cls, model: Model, machine: CounterMachine) -> _Walk:
        columns = [machine.alphabet.index(symbol) for symbol in model.alphabet.symbols]
        moves = np.asarray(machine.transitions)[:, :, columns]
        adds = np.asarray(machine.increments)[:, :, columns]
        graph, clip, nodes = configuration_graph(machine), machine.clip, reachable(machine)
        stopped = {node for node in nodes if not adds[node[0], node[1] + clip].any()}
        while left := {node for node in stopped if not graph[node] <= stopped}:
            stopped -= left
        if len(stopped) == len(nodes):
            raise ExtractionError("this machine never counts; certify a finite automaton instead")
        found: list[set[int]] = [set() for _ in columns]
        for state, clipped in set(nodes) - stopped:
            for symbol, add in enumerate(adds[state, clipped + clip].tolist()):
                target = int(moves[state, clipped + clip, symbol])
                if not {(target, c) for c in clipped_after(clipped, add, clip)} <= stopped:
                    found[symbol].add(add)
        alike = all(len(values) <= 1 for values in found)
        heights = np.array([max(values, default=0) for values in found]) if alike else None
        return cls(machine=machine, moves=moves, adds=adds, heights=heights)

    def step(self, state: int, counter: int, height: int, symbol: int) -> tuple[int, int, int]:
        """The next state, counter and height."""
        at = state, self.machine.clipped_counter(counter) + self.machine.clip, symbol
        add = int(self.adds[at])
        rise = add if self.heights is None else int(self.heights[symbol])
        return int(self.moves[at]), counter + add, height + rise

    def height_after(self, symbols: list[int]) -> list[int]:
        """The heights of all prefixes of a word."""
        now, heights = (int(self.machine.initial), 0, 0), [0]
        for symbol in symbols:
            now = self.step(*now, symbol)
            heights.append(now[2])
        return heights


@dataclass
class _Boxes:
    """Boxes by key, as arrays that grow: mixtures, (box, state), and memories, (box, unit)."""

    index: dict[Key, int]
    alpha: Interval
    memory: Interval

    def __len__(self) -> int:
        return len(self.index)

    def place(self, key: Key) -> int:
        return self.index.setdefault(key, len(self.index))

    def grown(self, targets: NDArray[np.int64], alpha: Interval, memory: Interval) -> _Boxes:
        """The boxes after they have taken in images."""
        return _Boxes(
            self.index,
            _hulls(self.alpha, targets, alpha, len(self)),
            _hulls(self.memory, targets, memory, len(self)),
        )


@dataclass
class _Proof:
    model: Model
    machine: CounterMachine
    unit: CountingUnit
    depth: int
    bounds: Bounds = field(init=False)

    def __post_init__(self) -> None:
        self.bounds = Bounds.of(self.model)
        self.layer = self.bounds.layers[0]
        self.size = self.layer.S.shape[1]
        network = self.model.network
        peephole = network.state_dict().get("rnn.peephole_l0")
        self.peephole = (
            np.zeros((3, self.size)) if peephole is None else peephole.double().cpu().numpy()
        )
        self.temperature = network.rnn.temperature
        self.walk = _Walk.of(self.model, self.machine)
        outputs = self.machine.outputs
        self.classes = np.array([[self.model.classes.index(o) for o in row] for row in outputs])

    def run(self, length: int) -> CounterBound:
        """Follow the boxes until a class is not certain, or the length is reached."""
        boxes, ends = self.start(), {(int(self.machine.initial), 0, 0)}
        reason, found, drift = "the length asked for is reached", length, 0.0
        for t in range(length + 1):
            drift = float(np.ptp(boxes.memory, axis=0)[:, self.unit.unit].max())
            hidden = self.layer.recurrent.range(*boxes.alpha)
            if wrong := self.uncertain(boxes, hidden):
                reason, found = wrong, t - 1
                break
            ends = {after for now in ends for _, after in self.within(*now)}
            if not ends:
                reason, found = f"no sequence of this depth has more than {t} symbols", t
                break
            after = self.advance(boxes, hidden)
            if len(after) > MAX_BOXES:
                reason, found = f"more than {MAX_BOXES} boxes", t
                break
            if len(after) == len(boxes.alpha[0]) and _same(after, boxes):
                reason = "the boxes are an invariant: it holds of every length"
                break
            boxes = after
        return CounterBound(
            depth=self.depth,
            length=found,
            asked=length,
            boxes=len(boxes),
            drift=drift / abs(self.unit.step),
            reason=reason,
        )

    def start(self) -> _Boxes:
        """The box after the start token."""
        zero, nothing = self.layer.start(), np.zeros((1, self.size))
        x = self.bounds.x_gates[0][START : START + 1], self.bounds.x_gates[1][START : START + 1]
        u, memory = self.cell(x, (zero[0][None], zero[1][None]), (nothing, nothing))
        lead, alpha = self.mixtures(u)
        key = (int(self.machine.initial), 0, 0, int(lead[0]), 0)
        return _Boxes({key: 0}, alpha, memory)

    def uncertain(self, boxes: _Boxes, hidden: Interval) -> str | None:
        """What is wrong if, somewhere in a box, the class may not be the machine's."""
        x = self.bounds.x_gates[0][END : END + 1], self.bounds.x_gates[1][END : END + 1]
        u, memory = self.cell(x, hidden, boxes.memory)
        if not self.bounds.end_token:
            memory = boxes.memory
            u = hidden[0][:, -self.size :], hidden[1][:, -self.size :]
        features = (
            np.concatenate([u[0], memory[0]], 1),
            np.concatenate([u[1], memory[1]], 1),
        )
        head, bias = self.bounds.head, self.bounds.b_head
        terms = _reach(features) @ _size(head).T + _size(bias)
        for key, i in boxes.index.items():
            clipped = self.machine.clipped_counter(key[1])
            winner = self.classes[key[0], clipped + self.machine.clip]
            row = features[0][i], features[1][i]
            worst = linear_range(row, head - head[winner], bias - bias[winner])[1]
            worst = worst + self.layer.slack * (terms[i] + terms[i, winner])
            if not (np.delete(worst, winner) < 0).all():  # nan too
                return f"the class is not certain in state {key[0]} at counter {key[1]}"
        return None

    def within(
        self, state: int, counter: int, height: int
    ) -> Iterator[tuple[int, tuple[int, int, int]]]:
        """The symbols that stay within the depth, and the configuration after each."""
        for symbol in range(self.walk.adds.shape[2]):
            after = self.walk.step(state, counter, height, symbol)
            if max(abs(after[1]), abs(after[2])) <= self.depth:
                yield symbol, after

    def advance(self, boxes: _Boxes, hidden: Interval) -> _Boxes:
        """Step every box on every symbol, as long as its height stays within the depth."""
        symbols = self.walk.adds.shape[2]
        tokens = FIRST_SYMBOL + np.arange(symbols)
        x = self.bounds.x_gates[0][None, tokens], self.bounds.x_gates[1][None, tokens]
        grid = hidden[0][:, None], hidden[1][:, None]
        u, memory = self.cell(x, grid, (boxes.memory[0][:, None], boxes.memory[1][:, None]))
        counts = np.rint((memory[0] + memory[1])[..., self.unit.unit] / 2 / self.unit.step)
        flat = [end.reshape(-1, self.size) for end in (*u, *memory)]
        lead, alpha = self.mixtures((flat[0], flat[1]))
        targets, grown = (
            np.full(len(lead), -1),
            _Boxes(dict(boxes.index), boxes.alpha, boxes.memory),
        )
        for (state, counter, height, _, _), i in boxes.index.items():
            for symbol, after in self.within(state, counter, height):
                at, count = i * symbols + symbol, counts[i, symbol]
                key = (*after, int(lead[at]), int(count) if np.isfinite(count) else 0)
                targets[at] = grown.place(key)
        kept = targets >= 0
        return grown.grown(
            targets[kept],
            (alpha[0][kept], alpha[1][kept]),
            (flat[2][kept], flat[3][kept]),
        )

    def mixtures(self, u: Interval) -> tuple[NDArray[np.int64], Interval]:
        """The centroid nearest to the middle of each box of u, and the box of mixtures."""
        S = self.layer.S
        middle = (u[0] + u[1]) / 2
        scores = middle @ S.T - ((S**2).sum(1) / 2 if self.bounds.similarity == "euclidean" else 0)
        if self.bounds.similarity == "cosine":
            scores = middle @ (S / np.maximum(np.linalg.norm(S, axis=1), 1e-12)[:, None]).T
        lead = scores.argmax(1)
        lo, hi = np.empty((2, len(lead), len(S)))
        for winner in np.unique(lead):
            at = lead == winner
            gaps = self.bounds.gaps(0, (u[0][at], u[1][at]), int(winner))
            lo[at], hi[at] = self.bounds.probabilities(gaps, int(winner), self.temperature)
        return lead, (lo, hi)

    def cell(self, x: Interval, hidden: Interval, memory: Interval) -> tuple[Interval, Interval]:
        """u and the next memory, from both halves of the pre-activations and the memory."""
        size = self.size
        a = x[0] + hidden[0][..., :-size], x[1] + hidden[1][..., :-size]
        i, f, g, o = ((a[0][..., k : k + size], a[1][..., k : k + size])
                      for k in range(0, 4 * size, size))  # fmt: skip
        written = _product(_gate(self.peep(i, 0, memory)), _tanh(g))
        kept = self.kept(f, memory)
        error = 8 * UNIT * (1 + _reach(memory))
        after = kept[0] + written[0] - error, kept[1] + written[1] + error
        u = _product(_gate(self.peep(o, 2, after)), _tanh(after))
        return (u[0] - 8 * UNIT, u[1] + 8 * UNIT), after

    def peep(self, a: Interval, gate: int, memory: Interval) -> Interval:
        """A gate's pre-activation with its peephole, a + p c."""
        p = self.peephole[gate]
        ends = p * memory[0], p * memory[1]
        error = self.layer.slack * (_reach(ends) + _reach(a))
        return a[0] + np.minimum(*ends) - error, a[1] + np.maximum(*ends) + error

    def kept(self, a: Interval, memory: Interval) -> Interval:
        """sigmoid(a + p c) c: by its ends where it is monotone in c, else as a product."""
        p, (low, high) = self.peephole[1], self.peep(a, 1, memory)
        least, most = _sigmoid(low), _sigmoid(high)
        across = (low < 0) & (high > 0)
        slope = np.where(across, 0.25, np.maximum(least * (1 - least), most * (1 - most)))
        steep = abs(p) * _reach(memory) * slope * (1 + self.layer.slack)
        monotone = least - FUNCTION - steep > 0

        def end(c: Array, upper: bool) -> Array:
            grows = (c >= 0) == upper  # the larger gate gives the larger product, or the smaller
            pre = np.where(grows, a[1], a[0]) + p * c
            error = self.layer.slack * (_reach((p * c, p * c)) + _reach(a))
            gate = _sigmoid(pre + np.where(grows, error, -error))
            return np.asarray(np.clip(gate + np.where(grows, FUNCTION, -FUNCTION), 0, 1) * c)

        plain = _product(_gate((low, high)), memory)
        lo = np.where(monotone, np.maximum(end(memory[0], False), plain[0]), plain[0])
        hi = np.where(monotone, np.minimum(end(memory[1], True), plain[1]), plain[1])
        return lo, hi


def _gate(a: Interval) -> Interval:
    lo, hi = _sigmoid(a[0]) - FUNCTION, _sigmoid(a[1]) + FUNCTION
    return np.clip(lo, 0, 1), np.clip(hi, 0, 1)


def _tanh(a: Interval) -> Interval:
    return np.tanh(a[0]) - FUNCTION, np.tanh(a[1]) + FUNCTION


def _product(gate: Interval, value: Interval) -> Interval:
    """The range of a product whose first factor is not negative."""
    (g0, g1), (v0, v1) = gate, value
    return np.minimum(g0 * v0, g1 * v0), np.maximum(g0 * v1, g1 * v1)


def _hulls(old: Interval, targets: NDArray[np.int64], new: Interval, count: int) -> Interval:
    more = count - len(old[0]), old[0].shape[1]
    lo = np.concatenate([old[0], np.full(more, np.inf)])
    hi = np.concatenate([old[1], np.full(more, -np.inf)])
    np.minimum.at(lo, targets, new[0])
    np.maximum.at(hi, targets, new[1])
    return lo, hi


def _same(one: _Boxes, other: _Boxes) -> bool:
    pairs = zip((*one.alpha, *one.memory), (*other.alpha, *other.memory), strict=True)
    return all(np.array_equal(a, b) for a, b in pairs)
