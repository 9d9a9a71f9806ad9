"""The tables of a one-counter machine: what the algorithms here work on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from kleene.automata.symbols import check_alphabet, encode, unknown_symbol
from kleene.errors import AutomatonError
from kleene.machine import Label, Symbol, Word

Configuration = tuple[int, int]
"""A state and the value of the counter."""


@dataclass(frozen=True, kw_only=True, eq=False)
class CounterTable:
    """States, transitions, increments and outputs, checked; `CounterMachine` adds the rest."""

    alphabet: tuple[Symbol, ...]
    transitions: npt.NDArray[np.signedinteger[Any]]  # (state, c + clip, symbol) -> state
    increments: npt.NDArray[np.signedinteger[Any]]  # (state, c + clip, symbol) -> -1, 0 or +1
    outputs: tuple[tuple[Label, ...], ...]  # of each state, by c + clip; c: the clipped counter
    initial: int = 0
    names: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        set_field = object.__setattr__
        set_field(self, "alphabet", tuple(self.alphabet))
        set_field(self, "outputs", tuple(tuple(row) for row in self.outputs))
        check_alphabet(self.alphabet)
        widths = {len(row) for row in self.outputs}
        if len(widths) != 1 or min(widths) < 3 or not min(widths) % 2:
            raise AutomatonError(
                f"outputs are {self.outputs!r:.60}; give each state a label for every clipped "
                "counter, such as three for below, at and above 0"
            )
        last = self.num_states - 1
        for name, least, most, kind in (
            ("transitions", 0, last, np.int32),
            ("increments", -1, 1, np.int8),
        ):
            set_field(self, name, self._table(name, least, most, kind))
        if not 0 <= self.initial <= last:
            raise AutomatonError(
                f"the initial state is {self.initial}, but there are only states 0 to {last}"
            )
        if self.names is not None and len(self.names) != self.num_states:
            raise AutomatonError(
                f"{len(self.names)} names for {self.num_states} states; give one per state"
            )

    def _table(self, name: str, least: int, most: int, kind: Any) -> Any:
        table = np.asarray(getattr(self, name))
        needed = (self.num_states, 2 * self.clip + 1, len(self.alphabet))
        if table.shape != needed or not np.issubdtype(table.dtype, np.integer):
            raise AutomatonError(
                f"{name} must be integers of shape {needed} (state, clipped counter, symbol), "
                f"got {table.dtype} of shape {table.shape}"
            )
        if table.size and not (least <= table.min() and table.max() <= most):
            raise AutomatonError(
                f"{name} run from {table.min()} to {table.max()}; they must lie between {least} "
                f"and {most}"
            )
        table = table.astype(kind)
        table.setflags(write=False)
        return table

    @property
    def num_states(self) -> int:
        """How many states it has, reachable or not."""
        return len(self.outputs)

    @property
    def clip(self) -> int:
        """How far from 0 the machine knows the counter exactly."""
        return len(self.outputs[0]) // 2

    def clipped_counter(self, counter: int) -> int:
        """The counter clipped to [-clip, clip]."""
        return max(-self.clip, min(self.clip, counter))

    @cached_property
    def columns(self) -> dict[Symbol, int]:
        """The column of every symbol in the tables."""
        return {symbol: column for column, symbol in enumerate(self.alphabet)}

    @cached_property
    def rows(self) -> list[list[list[tuple[int, int]]]]:
        """(next state, increment) by state, clipped counter + clip and column, as plain lists."""
        moves = np.stack([self.transitions, self.increments], axis=-1).tolist()
        return [[[(s, i) for s, i in row] for row in counters] for counters in moves]

    def start(self) -> Configuration:
        return self.initial, 0

    def step(self, state: Configuration, symbol: Symbol) -> Configuration:
        if symbol not in self.columns:
            raise unknown_symbol(symbol, self.alphabet)
        return self.move(state, self.columns[symbol])

    def move(self, configuration: Configuration, column: int) -> Configuration:
        """The same, for the column of a symbol."""
        state, counter = configuration
        target, increment = self.rows[state][self.clipped_counter(counter) + self.clip][column]
        return target, counter + increment

    def output(self, state: Configuration) -> Label:
        number, counter = state
        return self.outputs[number][self.clipped_counter(counter) + self.clip]

    def name(self, state: int) -> str:
        """What drawings call a state: its name, or its number."""
        return self.names[state] if self.names is not None else str(state)

    def trace(self, word: Word) -> list[Configuration]:
        """The configurations a word passes through, the initial one first."""
        passed = [self.start()]
        for column in encode(word, self.columns):
            passed.append(self.move(passed[-1], column))
        return passed

    def run(self, word: Word) -> Label:
        """The output label of a word."""
        return self.output(self.trace(word)[-1])

    def accepts(self, word: Word) -> bool:
        """Whether a word is in the language; for machines whose outputs are True and False."""
        return bool(self.run(word))

    def run_many(self, words: Iterable[Word]) -> list[Label]:
        """The output labels of many words."""
        return [self.run(word) for word in words]


CounterTables = TypeVar("CounterTables", bound=CounterTable)


def flipped(machine: CounterTables) -> CounterTables:
    """Return the same machine with a counter that runs in the opposite direction."""
    return replace(
        machine,
        transitions=machine.transitions[:, ::-1],
        increments=-machine.increments[:, ::-1],
        outputs=tuple(row[::-1] for row in machine.outputs),
    )
