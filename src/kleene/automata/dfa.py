"""Deterministic finite automata: frozen values, with an output label on every state."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from kleene.automata.symbols import check_alphabet, encode, show, unknown_symbol
from kleene.errors import AutomatonError
from kleene.machine import Label, Machine, Symbol, Word

if TYPE_CHECKING:
    from kleene.automata.matcher import Matcher


@dataclass(frozen=True, kw_only=True, eq=False)
class DFA:
    """A complete deterministic automaton whose states carry output labels.

    Accepting and rejecting is the case of two labels, True and False. Symbols are any hashable:
    characters, words, pixels. `==` is equality of languages, and it is a `kleene.machine.Machine`.

    >>> even = DFA.from_table(
    ...     {"even": {"0": "even", "1": "odd"}, "odd": {"0": "odd", "1": "even"}},
    ...     start="even", accept={"even"},
    ... )
    >>> even.accepts("1010"), even.accepts("1")
    (True, False)
    >>> even.difference(even.complement())
    ''
    """

    alphabet: tuple[Symbol, ...]
    transitions: npt.NDArray[np.int32]  # (state, symbol) -> state
    outputs: tuple[Label, ...]  # one per state
    initial: int = 0
    names: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        set_field = object.__setattr__  # the one moment at which a frozen value may be put right
        set_field(self, "alphabet", tuple(_plain(symbol) for symbol in self.alphabet))
        set_field(self, "outputs", tuple(_plain(label) for label in self.outputs))
        set_field(self, "initial", int(self.initial))
        check_alphabet(self.alphabet)
        set_field(self, "transitions", _checked(self.transitions, self.outputs, self.alphabet))
        if not 0 <= self.initial < self.num_states:
            raise AutomatonError(
                f"the initial state is {self.initial}, but there are only states "
                f"0 to {self.num_states - 1}; choose one of them"
            )
        if self.names is not None:
            set_field(self, "names", tuple(str(name) for name in self.names))
            if len(self.names) != self.num_states:
                raise AutomatonError(
                    f"{len(self.names)} names for {self.num_states} states; give one per state"
                )

    # -- ways in -------------------------------------------------------------------------------

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
    ) -> DFA:
        """An automaton as a literal, `{state: {symbol: next state}}`.

        Say which states `accept`, or give all their `outputs`. Moves that the table leaves out
        lead to a rejecting state named `sink`, which is added when it is needed.
        """
        from kleene.automata.build import from_table

        return from_table(
            table, start=start, accept=accept, outputs=outputs, alphabet=alphabet, sink=sink
        )

    @classmethod
    def from_machine(cls, machine: Machine[Any], *, max_states: int = 100_000) -> DFA:
        """Explore every state that a machine can reach and write down its table."""
        from kleene.automata.build import from_machine

        return from_machine(machine, max_states=max_states)

    @classmethod
    def from_json(cls, document: str | Mapping[str, Any]) -> DFA:
        """Read a JSON document (its text, or the parsed dictionary); see `json_format`."""
        from kleene.automata.formats.json import dfa_from_json

        return dfa_from_json(document)

    @classmethod
    def load(cls, path: str | Path) -> DFA:
        """Read a JSON file that `save` wrote."""
        from kleene.automata.formats.json import read_text

        return cls.from_json(read_text(path))

    @classmethod
    def from_att(cls, text: str, *, alphabet: Sequence[Symbol] | None = None) -> DFA:
        """Read the AT&T format: lines `source target input output`, then the accepting states."""
        from kleene.automata.formats.att import from_att

        return from_att(text, alphabet=alphabet)

    @classmethod
    def from_aalpy(cls, automaton: Any) -> DFA:
        """Convert an AALpy `Dfa` or `MooreMachine`."""
        from kleene.automata.formats.libraries import from_aalpy

        return from_aalpy(automaton)

    @classmethod
    def from_automata_lib(cls, automaton: Any) -> DFA:
        """Convert an automata-lib `DFA`."""
        from kleene.automata.formats.libraries import from_automata_lib

        return from_automata_lib(automaton)

    # -- a machine -----------------------------------------------------------------------------

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

    # -- reading words -------------------------------------------------------------------------

    def trace(self, word: Word) -> list[int]:
        """The states a word passes through, the initial one first."""
        states = [self.initial]
        for column in encode(word, self.columns):
            states.append(self.rows[states[-1]][column])
        return states

    def run(self, word: Word) -> Label:
        """The output label of a word."""
        return self.outputs[self.trace(word)[-1]]

    def accepts(self, word: Word) -> bool:
        """Whether a word is in the language; for automata whose outputs are True and False."""
        self.require_boolean("accepts(word)", "run(word) gives the label")
        return bool(self.run(word))

    def run_many(self, words: Iterable[Word]) -> npt.NDArray[Any]:
        """The output labels of many words, fast; keep a `Matcher` to do it more than once."""
        return self.matcher(words)

    @cached_property
    def matcher(self) -> Matcher:
        """The `Matcher` of this automaton, built at first use."""
        from kleene.automata.matcher import Matcher

        return Matcher(self)

    @property
    def is_boolean(self) -> bool:
        """Whether the labels are truth values (True and False, or 1 and 0)."""
        return all(isinstance(label, bool | int) and label in (0, 1) for label in self.outputs)

    def require_boolean(self, wish: str, cure: str) -> None:
        """Raise unless states accept or reject, for what makes sense for languages only."""
        if not self.is_boolean:
            labels = show(dict.fromkeys(self.outputs))
            message = f"{wish} needs True and False as outputs, but these are {labels}; {cure}"
            raise AutomatonError(message)

    # -- other automata ------------------------------------------------------------------------

    def minimize(self) -> DFA:
        """The smallest automaton of the same language, states numbered breadth-first."""
        from kleene.automata.minimize import minimize

        return minimize(self)

    def reachable(self) -> DFA:
        """The same automaton without states that no word reaches, numbered breadth-first."""
        from kleene.automata.minimize import reachable

        return reachable(self)

    def recognizer(self, label: Label) -> DFA:
        """The automaton of the words with this output label."""
        return replace(self, outputs=tuple(output == label for output in self.outputs))

    def complement(self) -> DFA:
        """The automaton that accepts what this one rejects."""
        self.require_boolean("complement()", "recognizer(label) first makes a language of a label")
        return replace(self, outputs=tuple(not output for output in self.outputs))

    def union(self, other: DFA) -> DFA:
        """Words that either accepts."""
        from kleene.automata.algebra import product

        return product(self, other, lambda one, two: one or two)

    def intersection(self, other: DFA) -> DFA:
        """Words that both accept."""
        from kleene.automata.algebra import product

        return product(self, other, lambda one, two: one and two)

    def minus(self, other: DFA) -> DFA:
        """Words that this one accepts and the other rejects."""
        from kleene.automata.algebra import product

        return product(self, other, lambda one, two: one and not two)

    def symmetric_difference(self, other: DFA) -> DFA:
        """Words that exactly one of them accepts."""
        from kleene.automata.algebra import product

        return product(self, other, lambda one, two: one != two)

    __invert__, __or__, __and__, __sub__, __xor__ = (
        complement,
        union,
        intersection,
        minus,
        symmetric_difference,
    )

    # -- comparing -----------------------------------------------------------------------------

    def difference(self, other: Machine[Any]) -> Word | None:
        """A shortest word on which the two give different outputs, or None if there is none."""
        from kleene.automata.compare import difference

        return difference(self, other)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DFA):
            return NotImplemented
        return set(self.alphabet) == set(other.alphabet) and self.difference(other) is None

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        from kleene.automata.minimize import canonical

        return hash(canonical(self))

    def __repr__(self) -> str:
        symbols = show(self.alphabet)
        return (
            f"DFA({self.num_states} states over {{{symbols}}}, initial={self.name(self.initial)!r})"
        )

    # -- ways out ------------------------------------------------------------------------------

    def to_json(self, *, indent: int | None = None) -> str:
        """The JSON document that `from_json` reads; see `json_format` for its schema."""
        from kleene.automata.formats.json import dfa_to_json

        return dfa_to_json(self, indent=indent)

    def save(self, path: str | Path) -> Path:
        """Write the JSON document to a file."""
        from kleene.files import write_atomically

        return write_atomically(path, self.to_json() + "\n")

    def to_att(self) -> str:
        """The AT&T format, for languages without labels."""
        from kleene.automata.formats.att import to_att

        return to_att(self)

    def to_dot(self, *, sink: bool = True) -> str:
        """Graphviz DOT; `sink=False` leaves out rejecting states that nothing leaves."""
        from kleene.automata.formats.dot import to_dot

        return to_dot(self, sink=sink)

    def to_mermaid(self, *, sink: bool = True) -> str:
        """A Mermaid state diagram, which Markdown viewers draw."""
        from kleene.automata.formats.dot import to_mermaid

        return to_mermaid(self, sink=sink)

    def to_c(self, *, name: str = "automaton") -> str:
        """A C file without dependencies; `name` begins the names of its functions."""
        from kleene.automata.formats.c import to_c

        return to_c(self, name=name)

    def to_onnx(self) -> bytes:
        """An ONNX file: `ids`, (batch, time), and `lengths` in, `labels` and `states` out.

        Ids are columns of the alphabet; labels are numbers of the list in the file's metadata, and
        -1 for words with other symbols.
        """
        from kleene.automata.formats.onnx import to_onnx

        return to_onnx(self)

    def to_regex(self) -> str:
        """A regular expression of the language, in the syntax of `re`; see `regex`."""
        from kleene.automata.formats.regex import to_regex

        return to_regex(self)

    def draw(self, path: str | Path, *, sink: bool = True) -> Path:
        """Draw to a file; its ending (.svg, .png, .pdf) says in which format."""
        from kleene.automata.formats.drawing import draw

        return draw(self, path, sink=sink)

    def _repr_svg_(self) -> str:
        from kleene.automata.formats.drawing import render

        return render(self, "svg").decode()

    def to_aalpy(self) -> Any:
        """An AALpy `Dfa`, or a `MooreMachine` when the outputs are not truth values."""
        from kleene.automata.formats.libraries import to_aalpy

        return to_aalpy(self)

    def to_automata_lib(self) -> Any:
        """An automata-lib `DFA`; for one-character symbols and truth values."""
        from kleene.automata.formats.libraries import to_automata_lib

        return to_automata_lib(self)


def _plain(value: Any) -> Any:
    """A NumPy scalar as the Python value it stands for, so that JSON and `is True` work."""
    return value.item() if isinstance(value, np.generic) else value


def _checked(
    transitions: Any, outputs: tuple[Label, ...], alphabet: tuple[Symbol, ...]
) -> npt.NDArray[np.int32]:
    """The transition table as a read-only int32 array of the right shape and range."""
    needed = (len(outputs), len(alphabet))
    if not outputs:
        raise AutomatonError("there are no states; give at least one, with its output")
    try:
        table = np.asarray(transitions)
    except ValueError:
        table = np.empty(0)
    if table.shape != needed:
        raise AutomatonError(
            f"transitions have shape {table.shape}, but {needed[0]} outputs and {needed[1]} "
            f"symbols need {needed}; give one row per state and one entry per symbol"
        )
    if not np.issubdtype(table.dtype, np.integer):
        raise AutomatonError(
            f"transitions are {table.dtype}, but states are numbers 0, 1, ...; "
            "use DFA.from_table for states with names"
        )
    wrong = np.argwhere((table < 0) | (table >= len(outputs)))
    if len(wrong):
        state, column = wrong[0]
        raise AutomatonError(
            f"state {state} goes to {table[state, column]} on {alphabet[column]!r:.60}, but there "
            f"are only states 0 to {len(outputs) - 1}; mend the entry or add the missing state"
        )
    table = table.astype(np.int32)  # always a copy: the caller's array stays writable
    table.setflags(write=False)
    return table
