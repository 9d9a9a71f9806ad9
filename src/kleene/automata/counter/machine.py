"""One-counter machines: a finite automaton with one whole number as memory."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from kleene.automata.symbols import check_alphabet, encode, show, unknown_symbol
from kleene.errors import AutomatonError
from kleene.machine import Label, Symbol, Word

Configuration = tuple[int, int]
"""A state and the value of the counter."""

Rule = Callable[[Any, int, Symbol], tuple[Hashable, int]]


@dataclass(frozen=True, kw_only=True, eq=False)
class CounterMachine:
    """A deterministic machine that adds -1, 0 or +1 to a counter and sees where it is near 0.

    It sees the counter clipped to [-reach, reach]: with a reach of 1, its sign. What it does next
    follows from state, view and symbol; the output of a word from the state and view at its end.
    `==` is equality of languages for all words, proved. It is a `kleene.machine.Machine`, whose
    states are configurations (state, counter).

    >>> nested = CounterMachine.from_rule(
    ...     lambda state, view, symbol: (
    ...         ("bad", 0) if state == "bad" or (symbol == ")" and view == 0)
    ...         else ("good", 1 if symbol == "(" else -1)
    ...     ),
    ...     start="good", alphabet="()", accept={("good", 0)},
    ... )
    >>> nested.accepts("(())()"), nested.accepts(")(")
    (True, False)
    """

    alphabet: tuple[Symbol, ...]
    transitions: npt.NDArray[np.signedinteger[Any]]  # (state, view + reach, symbol) -> state
    increments: npt.NDArray[np.signedinteger[Any]]  # (state, view + reach, symbol) -> -1, 0 or +1
    outputs: tuple[tuple[Label, ...], ...]  # of each state, by view + reach
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
                f"outputs are {self.outputs!r:.60}; give each state a label for every view of the "
                "counter: three where it is seen as below, at and above 0"
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
        needed = (self.num_states, 2 * self.reach + 1, len(self.alphabet))
        if table.shape != needed or not np.issubdtype(table.dtype, np.integer):
            raise AutomatonError(
                f"{name} are {table.dtype} of shape {table.shape}; needed are whole numbers "
                f"of shape {needed}: an entry per state, view of the counter and symbol"
            )
        if table.size and not (least <= table.min() and table.max() <= most):
            raise AutomatonError(
                f"{name} run from {table.min()} to {table.max()}; they may run from {least} to "
                f"{most}: mend the entries, or add states"
            )
        table = table.astype(kind)
        table.setflags(write=False)
        return table

    # -- ways in -------------------------------------------------------------------------------

    @classmethod
    def from_rule(
        cls,
        rule: Rule,
        *,
        start: Hashable,
        alphabet: Iterable[Symbol],
        accept: Iterable[tuple[Hashable, int]],
        reach: int = 1,
    ) -> CounterMachine:
        """A machine from its rule, `(state, view, symbol) -> (next state, increment)`.

        States are found by following the rule from `start`; `accept` lists the pairs (state, view
        of the counter) whose words belong to the language.
        """
        symbols, accepted = tuple(alphabet), set(accept)
        views = range(-reach, reach + 1)
        numbers: dict[Hashable, int] = {start: 0}
        rows = []
        for state in (states := [start]):
            row = [[rule(state, view, symbol) for symbol in symbols] for view in views]
            for target, _ in (move for moves in row for move in moves):
                if target not in numbers:
                    numbers[target] = len(states)
                    states.append(target)
            rows.append(row)
        moves = np.array([[[[numbers[t], i] for t, i in s] for s in row] for row in rows])
        return cls(
            alphabet=symbols,
            transitions=moves[..., 0],
            increments=moves[..., 1],
            outputs=tuple(tuple((state, view) in accepted for view in views) for state in states),
            names=tuple(str(state) for state in states),
        )

    @classmethod
    def from_json(cls, document: str | Mapping[str, Any]) -> CounterMachine:
        """Read the JSON document that `to_json` wrote."""
        from kleene.automata.counter.formats import from_json

        return from_json(document)

    @classmethod
    def load(cls, path: str | Path) -> CounterMachine:
        """Read a JSON file that `save` wrote."""
        from kleene.automata.formats.json import read_text

        return cls.from_json(read_text(path))

    # -- a machine -----------------------------------------------------------------------------

    @property
    def num_states(self) -> int:
        """How many states it has, reachable or not."""
        return len(self.outputs)

    @property
    def reach(self) -> int:
        """How far from 0 the counter is seen exactly."""
        return len(self.outputs[0]) // 2

    def view(self, counter: int) -> int:
        """What the machine sees of its counter."""
        return max(-self.reach, min(self.reach, counter))

    @cached_property
    def columns(self) -> dict[Symbol, int]:
        """The column of every symbol in the tables."""
        return {symbol: column for column, symbol in enumerate(self.alphabet)}

    @cached_property
    def rows(self) -> list[list[list[tuple[int, int]]]]:
        """(next state, increment) by state, view + reach and column, as plain lists."""
        moves = np.stack([self.transitions, self.increments], axis=-1).tolist()
        return [[[(s, i) for s, i in row] for row in views] for views in moves]

    def start(self) -> Configuration:
        """The initial state with the counter at 0."""
        return self.initial, 0

    def step(self, state: Configuration, symbol: Symbol) -> Configuration:
        """The configuration after one more symbol."""
        if symbol not in self.columns:
            raise unknown_symbol(symbol, self.alphabet)
        return self.move(state, self.columns[symbol])

    def move(self, configuration: Configuration, column: int) -> Configuration:
        """The same, for the column of a symbol."""
        state, counter = configuration
        target, increment = self.rows[state][self.view(counter) + self.reach][column]
        return target, counter + increment

    def output(self, state: Configuration) -> Label:
        """The label of all words that end in this configuration."""
        number, counter = state
        return self.outputs[number][self.view(counter) + self.reach]

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

    # -- other machines ------------------------------------------------------------------------

    def minimize(self) -> CounterMachine:
        """A smaller machine of the same language.

        States that no word reaches leave; where nothing changes the output any more, the counter
        rests; states that do the same wherever both can be are merged; and the reach shrinks.
        Machines that count differently can be equal and stay different in size.
        """
        from kleene.automata.counter.minimize import reduce

        return reduce(self)

    def flipped(self) -> CounterMachine:
        """The same machine with a counter that runs the other way."""
        return CounterMachine(
            alphabet=self.alphabet,
            transitions=self.transitions[:, ::-1],
            increments=-self.increments[:, ::-1],
            outputs=tuple(row[::-1] for row in self.outputs),
            initial=self.initial,
            names=self.names,
        )

    def difference(self, other: CounterMachine) -> Word | None:
        """A shortest word with different outputs, or None: then they agree on all words."""
        from kleene.automata.counter.compare import difference

        return difference(self, other)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CounterMachine):
            return NotImplemented
        return set(self.alphabet) == set(other.alphabet) and self.difference(other) is None

    __hash__ = None  # type: ignore[assignment]  # equal machines may have different tables

    def __repr__(self) -> str:
        symbols = show(self.alphabet)
        return f"CounterMachine({self.num_states} states and a counter over {{{symbols}}})"

    # -- ways out ------------------------------------------------------------------------------

    def to_json(self, *, indent: int | None = None) -> str:
        """The JSON document that `from_json` reads."""
        from kleene.automata.counter.formats import to_json

        return to_json(self, indent=indent)

    def save(self, path: str | Path) -> Path:
        """Write the JSON document to a file."""
        from kleene.files import write_atomically

        return write_atomically(path, self.to_json() + "\n")

    def to_dot(self) -> str:
        """Graphviz DOT, with push and pop on the edges."""
        from kleene.automata.counter.formats import to_dot

        return to_dot(self)

    def draw(self, path: str | Path) -> Path:
        """Draw to a file; its ending (.svg, .png, .pdf) says in which format."""
        from kleene.automata.counter.formats import draw

        return draw(self, path)

    def _repr_svg_(self) -> str:
        from kleene.automata.counter.formats import render

        return render(self, "svg").decode()
