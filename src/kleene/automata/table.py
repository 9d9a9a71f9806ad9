"""The transition table of a deterministic automaton: what every algorithm here works on."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self, TypeVar

import numpy as np
import numpy.typing as npt

from kleene.automata.symbols import check_alphabet, check_labels, encode, show, unknown_symbol
from kleene.errors import AutomatonError
from kleene.machine import Label, Machine, Symbol, Word


@dataclass(frozen=True, kw_only=True, eq=False)
class TransitionTable:
    """States, transitions and output labels, checked; `DFA` adds what one does with them.

    The algorithms take and return tables of the caller's own class, so that none of them has to
    import `DFA`, which imports them all.
    """

    alphabet: tuple[Symbol, ...]
    transitions: npt.NDArray[np.int32]  # (state, symbol) -> state
    outputs: tuple[Label, ...]  # one per state
    initial: int = 0
    names: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        set_field = object.__setattr__  # normalises the fields of a frozen value
        set_field(self, "alphabet", tuple(_plain(symbol) for symbol in self.alphabet))
        set_field(self, "outputs", tuple(_plain(label) for label in self.outputs))
        set_field(self, "initial", int(self.initial))
        check_alphabet(self.alphabet)
        check_labels(self.outputs)
        set_field(self, "transitions", _checked(self.transitions, self.outputs, self.alphabet))
        if not 0 <= self.initial < self.num_states:
            raise AutomatonError(
                f"initial must be a state from 0 to {self.num_states - 1}, got {self.initial}"
            )
        if self.names is not None:
            set_field(self, "names", tuple(str(name) for name in self.names))
            if len(self.names) != self.num_states:
                raise AutomatonError(
                    f"names must be one per state ({self.num_states}), got {len(self.names)}"
                )

    @classmethod
    def from_table(
        cls,
        table: Mapping[Any, Mapping[Any, Any]],
        *,
        start: Hashable,
        accept: Collection[Hashable] | None = None,
        outputs: Mapping[Any, Label] | None = None,
        alphabet: Sequence[Symbol] | None = None,
        sink: str = "sink",
    ) -> Self:
        """An automaton as a literal, `{state: {symbol: next state}}`.

        Say which states `accept`, or give all their `outputs`. Moves that the table leaves out
        lead to a rejecting state named `sink`, which is added when it is needed. Symbols are in
        order of appearance unless `alphabet` orders them.
        """
        if (accept is None) == (outputs is None):
            raise AutomatonError("from_table needs accept={states} or outputs={state: label}")
        found = dict.fromkeys(symbol for moves in table.values() for symbol in moves)
        symbols = list(found) if alphabet is None else list(alphabet)
        unknown = [symbol for symbol in found if symbol not in symbols]
        if unknown:
            raise AutomatonError(
                f"the table moves on {show(unknown)}, but the alphabet is {{{show(symbols)}}}; "
                "add the symbols or leave the alphabet out"
            )
        states = list(table)
        if any(len(moves) < len(symbols) for moves in table.values()) and sink not in table:
            states.append(sink)
        added = sink if len(states) > len(table) else None
        labels = _labels(states, accept, outputs, added)
        number = {state: index for index, state in enumerate(states)}
        _check_states(table, start, number, accept if outputs is None else outputs)
        moves = [[table.get(state, {}).get(symbol, sink) for symbol in symbols] for state in states]
        rows = [[number[target] for target in row] for row in moves]
        return cls(
            alphabet=tuple(symbols),
            transitions=np.array(rows, dtype=np.int32).reshape(len(states), len(symbols)),
            outputs=tuple(labels),
            initial=number[start],
            names=tuple(str(state) for state in states),
        )

    @classmethod
    def from_machine(cls, machine: Machine[Any], *, max_states: int = 100_000) -> Self:
        """Explore every state that a machine can reach, in breadth-first order."""
        symbols = tuple(machine.alphabet)
        states, rows = explore(
            machine.start(), lambda state: [machine.step(state, s) for s in symbols], max_states
        )
        return cls(
            alphabet=symbols,
            transitions=np.array(rows, dtype=np.int32),
            outputs=tuple(machine.output(state) for state in states),
        )

    @property
    def num_states(self) -> int:
        """How many states it has, reachable or not."""
        return len(self.outputs)

    @cached_property
    def columns(self) -> dict[Symbol, int]:
        """The column of every symbol in `transitions`."""
        return {symbol: column for column, symbol in enumerate(self.alphabet)}

    @cached_property
    def rows(self) -> list[list[int]]:
        """`transitions` as plain lists, which Python reads faster one entry at a time."""
        rows: list[list[int]] = self.transitions.tolist()
        return rows

    def start(self) -> int:
        """The state before the first symbol."""
        return self.initial

    def step(self, state: int, symbol: Symbol) -> int:
        """The state after one more symbol."""
        try:
            return self.rows[state][self.columns[symbol]]
        except (KeyError, TypeError):
            raise unknown_symbol(symbol, self.alphabet) from None

    def output(self, state: int) -> Label:
        """The label of a state."""
        return self.outputs[state]

    def name(self, state: int) -> str:
        """What drawings call a state: its name, or its number."""
        return self.names[state] if self.names is not None else str(state)

    def trace(self, word: Word) -> list[int]:
        """The states a word passes through, the initial one first."""
        states = [self.initial]
        for column in encode(word, self.columns):
            states.append(self.rows[states[-1]][column])
        return states

    def run(self, word: Word) -> Label:
        """The output label of a word."""
        return self.outputs[self.trace(word)[-1]]

    @property
    def is_boolean(self) -> bool:
        """Whether the labels are truth values (True and False, or 1 and 0)."""
        return all(isinstance(label, bool | int) and label in (0, 1) for label in self.outputs)

    def require_boolean(self, wish: str, cure: str) -> None:
        """Raise unless states accept or reject, for what makes sense for languages only."""
        if not self.is_boolean:
            labels = show(dict.fromkeys(self.outputs))
            message = f"{wish} requires outputs True and False, got {labels}; {cure}"
            raise AutomatonError(message)


Table = TypeVar("Table", bound=TransitionTable)
State = TypeVar("State", bound=Hashable)


def explore(
    start: State, following: Callable[[State], Iterable[State]], max_states: int | None = None
) -> tuple[list[State], list[list[int]]]:
    """The states that a start leads to, breadth-first, and the numbers of the states after each."""
    number, rows = {start: 0}, []
    for state in (states := [start]):
        row = []
        for target in following(state):
            if target not in number:
                number[target] = len(states)
                states.append(target)
            row.append(number[target])
        rows.append(row)
        if max_states is not None and len(states) > max_states:
            raise AutomatonError(
                f"there are more than {max_states:,} states; raise max_states, or there may be "
                "infinitely many"
            )
    return states, rows


def moves_taken(dfa: TransitionTable, words: Iterable[Word] | None) -> npt.NDArray[np.bool_]:
    """Whether any of the words takes each transition; states by symbols. None takes them all.

    >>> from kleene import DFA
    >>> dfa = DFA.from_table({0: {"a": 1, "b": 0}, 1: {"a": 0, "b": 1}}, start=0, accept={1})
    >>> moves_taken(dfa, ["ab", "a"]).tolist()
    [[True, False], [False, True]]
    """
    taken = np.full(dfa.transitions.shape, words is None)
    for word in words or ():
        taken[dfa.trace(word)[:-1], encode(word, dfa.columns)] = True
    return taken


def known_words(dfa: TransitionTable, words: Iterable[Word]) -> list[Word]:
    """The words all of whose symbols the automaton has."""
    return [word for word in words if all(symbol in dfa.columns for symbol in word)]


def _plain(value: Any) -> Any:
    """A NumPy scalar as the Python value it stands for, so that JSON and `is True` work."""
    return value.item() if isinstance(value, np.generic) else value


def _checked(
    transitions: Any, outputs: tuple[Label, ...], alphabet: tuple[Symbol, ...]
) -> npt.NDArray[np.int32]:
    needed = (len(outputs), len(alphabet))
    if not outputs:
        raise AutomatonError("an automaton must have at least one state, got no outputs")
    try:
        table = np.asarray(transitions)
    except ValueError:
        table = np.empty(0)
    if table.shape != needed:
        raise AutomatonError(
            f"transitions must have shape {needed} (one row per output, one entry per symbol), "
            f"got {table.shape}"
        )
    if not np.issubdtype(table.dtype, np.integer):
        raise AutomatonError(
            f"transitions must be integers (states 0, 1, ...), got {table.dtype}; "
            "use DFA.from_table for states with names"
        )
    wrong = np.argwhere((table < 0) | (table >= len(outputs)))
    if len(wrong):
        state, column = wrong[0]
        raise AutomatonError(
            f"state {state} goes to {table[state, column]} on {alphabet[column]!r:.60}, but states "
            f"run from 0 to {len(outputs) - 1}; correct the entry or add the state"
        )
    table = table.astype(np.int32)  # always a copy: the caller's array stays writable
    table.setflags(write=False)
    return table


def _labels(
    states: list[Any],
    accept: Collection[Hashable] | None,
    outputs: Mapping[Any, Label] | None,
    added: str | None,
) -> list[Label]:
    if outputs is None:
        return [state in (accept or ()) for state in states]
    given = dict(outputs)
    if added is not None and added not in given and set(given.values()) <= {True, False}:
        given[added] = False
    missing = [state for state in states if state not in given]
    if missing:
        hint = "; the table is partial, so its sink needs a label too" if added in missing else ""
        raise AutomatonError(f"outputs has no label for state {show(missing)}; add it{hint}")
    return [given[state] for state in states]


def _check_states(
    table: Mapping[Any, Mapping[Any, Any]],
    start: Hashable,
    number: Mapping[Any, int],
    marked: Collection[Hashable] | None,
) -> None:
    rows = f"the table has rows for {show(table)}; add a row or correct the name"
    if start not in number:
        raise AutomatonError(f"start is {start!r:.60}, but {rows}")
    for state in marked or ():
        if state not in number:
            raise AutomatonError(f"{state!r:.60} is given an output, but {rows}")
    for state, moves in table.items():
        for symbol, target in moves.items():
            if target not in number:
                raise AutomatonError(
                    f"{state!r:.60} goes to {target!r:.60} on {symbol!r:.60}, but {rows}"
                )
