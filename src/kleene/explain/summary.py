"""Moves between states over a corpus: what is drawn of networks without a small automaton."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kleene.arrays import Ints
from kleene.data.alphabet import UNKNOWN, Alphabet, from_json_symbol
from kleene.errors import DataError, KleeneError
from kleene.explain.batched_traces import TracedBatch, batched_traces, encode, require_symbols
from kleene.explain.markup import Rendered, Table, as_json, as_text, percent
from kleene.explain.scoring import state_labels
from kleene.machine import Label, Symbol, Word
from kleene.model import Model


@dataclass(frozen=True, kw_only=True)
class Mover:
    """A symbol that takes a state to another."""

    symbol: Symbol
    probability: float
    """Of this move, given the state and the symbol."""
    count: int

    def __str__(self) -> str:
        return f"{as_text(self.symbol)} ({self.probability:.2f})"


@dataclass(frozen=True, kw_only=True)
class Move:
    """All steps from one state to another, and the symbols that stand out among them."""

    source: int
    target: int
    count: int
    share: float
    """Of all steps that leave the source."""
    symbols: tuple[Mover, ...]


@dataclass(frozen=True, kw_only=True)
class Summary(Rendered):
    """The moves of a corpus: state by state, the commonest first."""

    state_labels: tuple[Label | None, ...]
    """The class that each state stands for, or None."""
    visits: tuple[float, ...]
    """The share of all steps that end in each state."""
    moves: tuple[Move, ...]

    def tables(self) -> list[Table]:
        """A move a row."""
        rows = [
            [
                self._name(move.source),
                self._name(move.target),
                percent(move.share),
                ", ".join(map(str, move.symbols)),
            ]
            for move in self.moves
        ]
        return [(("from", "to", "share", "symbols that stand out"), rows)]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "state_labels": [as_json(label) for label in self.state_labels],
            "visits": list(self.visits),
            "moves": [
                {
                    "source": move.source,
                    "target": move.target,
                    "count": move.count,
                    "share": move.share,
                    "symbols": [
                        {
                            "symbol": as_json(m.symbol),
                            "probability": m.probability,
                            "count": m.count,
                        }
                        for m in move.symbols
                    ],
                }
                for move in self.moves
            ],
        }

    @classmethod
    def from_dict(cls, values: Any) -> Summary:
        """The summary of the values that `to_dict` returned."""
        try:
            return cls(
                state_labels=tuple(map(from_json_symbol, values["state_labels"])),
                visits=tuple(map(float, values["visits"])),
                moves=tuple(_move(one, len(values["state_labels"])) for one in values["moves"]),
            )
        except (KleeneError, LookupError, TypeError, ValueError) as error:
            raise DataError(f"these values are no summary: {error!r:.100}") from None

    def _name(self, state: int) -> str:
        label = self.state_labels[state]
        return str(state) if label is None else f"{state} ({as_text(label)})"


def summarize(
    model: Model, words: Sequence[Word], *, top: int = 8, min_share: float = 0.01
) -> Summary:
    """Follow the most probable states of the network over a corpus and count its moves.

    A symbol x stands out in the move i -> j by log(1 + n(i, x, j)) log(p(j | i, x) / p(j | i)): it
    must be frequent there, and make the move likelier than it is anyway. Moves with less than
    `min_share` of their source's steps are left out.
    """
    require_symbols(model, "moves")
    network, symbols = model.network, len(model.alphabet)
    k = network.config.num_states
    codes, counts = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    visits = np.zeros((len(model.classes), k), np.int64)
    for traced in batched_traces(network, encode(model, words)):
        found, often = np.unique(_codes(traced, symbols, k), return_counts=True)
        codes.append(found)
        counts.append(often)
        row, time = np.nonzero(traced.mask)
        np.add.at(visits, (traced.predicted[row], traced.states[row, time + 1]), 1)
    found, place = np.unique(np.concatenate(codes), return_inverse=True)
    often = np.bincount(place, np.concatenate(counts)).astype(np.int64)
    source, symbol, target = found // k // symbols, found // k % symbols, found % k
    between = np.zeros((k, k), np.int64)
    np.add.at(between, (source, target), often)
    return Summary(
        state_labels=state_labels(model, visits),
        visits=tuple((between.sum(0) / max(between.sum(), 1)).tolist()),
        moves=_moves(model.alphabet, source, symbol, target, often, between, top, min_share),
    )


def _codes(traced: TracedBatch, symbols: int, states: int) -> Ints:
    """Each step as one number that tells source, symbol and target apart."""
    row, time = np.nonzero(traced.mask)
    source, target = traced.states[row, time], traced.states[row, time + 1]
    return (source * symbols + traced.ids) * states + target


def _moves(
    alphabet: Alphabet,
    source: Ints,
    symbol: Ints,
    target: Ints,
    count: Ints,
    between: Ints,
    top: int,
    min_share: float,
) -> tuple[Move, ...]:
    pair = source * len(alphabet) + symbol  # sorted, since the codes were
    starts = np.flatnonzero(np.diff(pair, prepend=-1))
    group = np.cumsum(np.diff(pair, prepend=-1) != 0) - 1
    given = np.add.reduceat(count, starts)[group] if len(count) else count
    probability: NDArray[np.float64] = count / np.maximum(given, 1)
    leaving = between.sum(1)
    usual = between[source, target] / np.maximum(leaving[source], 1)
    with np.errstate(divide="ignore"):
        score = np.where(symbol > UNKNOWN, np.log1p(count) * np.log(probability / usual), -np.inf)
    moves = []
    for i, j in np.argwhere(between > 0).tolist():
        share = float(between[i, j] / leaving[i])
        if share < min_share:
            continue
        mine = np.flatnonzero((source == i) & (target == j) & (score > 0))
        best = mine[np.argsort(-score[mine], kind="stable")[:top]]
        names = alphabet.decode(symbol[best])
        movers = tuple(
            Mover(symbol=name, probability=float(probability[b]), count=int(count[b]))
            for name, b in zip(names, best, strict=True)
        )
        moves.append(
            Move(source=i, target=j, count=int(between[i, j]), share=share, symbols=movers)
        )
    return tuple(sorted(moves, key=lambda move: (move.source, -move.count)))


def _move(values: Any, states: int) -> Move:
    """A move from plain values."""
    if not {values["source"], values["target"]} <= set(range(states)):
        raise ValueError("a state that is not there")
    return Move(
        source=values["source"],
        target=values["target"],
        count=int(values["count"]),
        share=float(values["share"]),
        symbols=tuple(
            Mover(
                symbol=from_json_symbol(one["symbol"]),
                probability=float(one["probability"]),
                count=int(one["count"]),
            )
            for one in values["symbols"]
        ),
    )
