"""Deterministic finite automata: frozen values, with an output label on every state."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy.typing as npt

from kleene.automata.build import from_machine, from_table, product
from kleene.automata.compare import difference
from kleene.automata.formats.att import from_att
from kleene.automata.formats.c import to_c
from kleene.automata.formats.drawing import draw, render, to_dot, to_mermaid
from kleene.automata.formats.json import dfa_from_json, dfa_to_json, read_text
from kleene.automata.formats.libraries import from_aalpy, to_aalpy, to_automata_lib
from kleene.automata.formats.regex import to_regex
from kleene.automata.formats.regex_parser import from_regex
from kleene.automata.matcher import Matcher
from kleene.automata.minimize import canonical, minimize, reachable
from kleene.automata.symbols import show
from kleene.automata.table import TransitionTable
from kleene.errors import AlphabetError
from kleene.files import write_atomically
from kleene.machine import Label, Machine, Symbol, Word


@dataclass(frozen=True, kw_only=True, eq=False)
class DFA(TransitionTable):
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
        return from_table(
            cls, table, start=start, accept=accept, outputs=outputs, alphabet=alphabet, sink=sink
        )

    @classmethod
    def from_machine(cls, machine: Machine[Any], *, max_states: int = 100_000) -> DFA:
        """Explore every state that a machine can reach and write down its table."""
        return from_machine(cls, machine, max_states=max_states)

    @classmethod
    def from_json(cls, document: str | Mapping[str, Any]) -> DFA:
        """Read a JSON document (its text, or the parsed dictionary); see `formats.json`."""
        return dfa_from_json(cls, document)

    @classmethod
    def load(cls, path: str | Path) -> DFA:
        """Read a JSON file that `save` wrote."""
        return cls.from_json(read_text(path))

    @classmethod
    def from_att(cls, text: str, *, alphabet: Sequence[Symbol] | None = None) -> DFA:
        """Read the AT&T format: lines `source target input output`, then the accepting states."""
        return from_att(cls, text, alphabet=alphabet)

    @classmethod
    def from_regex(cls, pattern: str, *, alphabet: Sequence[Symbol] | None = None) -> DFA:
        r"""Build the minimal automaton of a regular expression in the syntax of `re`.

        The whole word must match. Symbols are the characters of the pattern; give the `alphabet`
        where there are others, and for `.` and `[^...]`.

        >>> dates = DFA.from_regex(r"\d{4}-\d\d-\d\d")
        >>> dates.accepts("2024-02-29"), dates.num_states
        (True, 12)
        """
        return from_regex(cls, pattern, alphabet)

    @classmethod
    def from_aalpy(cls, automaton: Any) -> DFA:
        """Convert an AALpy `Dfa` or `MooreMachine`."""
        return from_aalpy(cls, automaton)

    # -- reading words -------------------------------------------------------------------------

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
        return Matcher(self)

    def __contains__(self, word: object) -> bool:
        """Whether a word is in the language; words with other symbols are not.

        >>> "ab" in DFA.from_regex("(ab)*"), "ax" in DFA.from_regex("(ab)*")
        (True, False)
        """
        self.require_boolean("word in dfa", "run(word) gives the label")
        try:
            return bool(self.run(word))  # type: ignore[arg-type]
        except AlphabetError:
            return False

    # -- other automata ------------------------------------------------------------------------

    def minimize(self) -> DFA:
        """The smallest automaton of the same language, states numbered breadth-first."""
        return minimize(self)

    def reachable(self) -> DFA:
        """The same automaton without states that no word reaches, numbered breadth-first."""
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
        return product(self, other, lambda one, two: one or two)

    def intersection(self, other: DFA) -> DFA:
        """Words that both accept."""
        return product(self, other, lambda one, two: one and two)

    def minus(self, other: DFA) -> DFA:
        """Words that this one accepts and the other rejects."""
        return product(self, other, lambda one, two: one and not two)

    def symmetric_difference(self, other: DFA) -> DFA:
        """Words that exactly one of them accepts."""
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
        return difference(self, other)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DFA):
            return NotImplemented
        return set(self.alphabet) == set(other.alphabet) and self.difference(other) is None

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash(canonical(self))

    def __repr__(self) -> str:
        symbols = show(self.alphabet)
        return (
            f"DFA({self.num_states} states over {{{symbols}}}, initial={self.name(self.initial)!r})"
        )

    # -- ways out ------------------------------------------------------------------------------

    def to_json(self, *, indent: int | None = None) -> str:
        """The JSON document that `from_json` reads; see `formats.json`."""
        return dfa_to_json(self, indent=indent)

    def save(self, path: str | Path) -> Path:
        """Write the JSON document to a file."""
        return write_atomically(path, self.to_json() + "\n")

    def to_dot(self, *, sink: bool = True, words: Iterable[Word] | None = None) -> str:
        """Graphviz DOT; `sink=False` leaves out rejecting states that nothing leaves.

        With `words`, only the states and moves that these pass through are drawn.
        """
        return to_dot(self, sink=sink, words=words)

    def to_mermaid(self, *, sink: bool = True, words: Iterable[Word] | None = None) -> str:
        """A Mermaid state diagram, which Markdown viewers draw; options as of `to_dot`."""
        return to_mermaid(self, sink=sink, words=words)

    def to_c(self, *, name: str = "automaton") -> str:
        """A C file without dependencies; `name` begins the names of its functions."""
        return to_c(self, name=name)

    def to_regex(self) -> str:
        """A regular expression of the language, in the syntax of `re`; see `regex`."""
        return to_regex(self)

    def draw(
        self, path: str | Path, *, sink: bool = True, words: Iterable[Word] | None = None
    ) -> Path:
        """Draw to a file; its ending (.svg, .png, .pdf) says the format. Options as of `to_dot`."""
        return draw(self.to_dot(sink=sink, words=words), path)

    def _repr_svg_(self) -> str:
        return render(self.to_dot(), "svg").decode()

    def to_aalpy(self) -> Any:
        """An AALpy `Dfa`, or a `MooreMachine` when the outputs are not truth values."""
        return to_aalpy(self)

    def to_automata_lib(self) -> Any:
        """An automata-lib `DFA`; for one-character symbols and truth values."""
        return to_automata_lib(self)
