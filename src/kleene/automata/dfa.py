"""Deterministic finite automata: frozen values, with an output label on every state."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from kleene.automata.compare import difference
from kleene.automata.formats.c import to_c
from kleene.automata.formats.drawing import draw, render, to_dot, to_mermaid
from kleene.automata.formats.json import JsonFile, dfa_from_json, dfa_to_json
from kleene.automata.formats.libraries import from_aalpy, to_aalpy, to_automata_lib
from kleene.automata.formats.regex import to_regex
from kleene.automata.matcher import Matcher
from kleene.automata.minimize import minimize, reachable
from kleene.automata.symbols import check_same_alphabet, show
from kleene.automata.table import TransitionTable, explore
from kleene.engines.scorer import Score, Scorer, arrow_labels
from kleene.engines.sql import to_sql
from kleene.errors import AlphabetError
from kleene.machine import Label, Word


@dataclass(frozen=True, kw_only=True, eq=False)
class DFA(TransitionTable, JsonFile):
    """A complete deterministic automaton whose states carry output labels.

    Accepting and rejecting is the case of two labels, True and False. Symbols are any hashable:
    characters, words, pixels. `==` is equality of languages, `|`, `&`, `-` and `~` combine them. It
    is a `kleene.machine.Machine`.

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
    def from_json(cls, document: str | Mapping[str, Any]) -> DFA:
        """Read a JSON document (its text, or the parsed dictionary); see `formats.json`."""
        return dfa_from_json(cls, document)

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
        """Whether a word is in the language; words with other symbols are not."""
        self.require_boolean("word in dfa", "run(word) gives the label")
        try:
            return bool(self.run(word))  # type: ignore[arg-type]
        except AlphabetError:
            return False

    # -- other automata ------------------------------------------------------------------------

    minimize, reachable = minimize, reachable

    def recognizer(self, label: Label) -> DFA:
        """The automaton of the words with this output label."""
        return replace(self, outputs=tuple(output == label for output in self.outputs))

    def complement(self) -> DFA:
        """The automaton that accepts what this one rejects."""
        self.require_boolean("complement()", "recognizer(label) first makes a language of a label")
        return replace(self, outputs=tuple(not output for output in self.outputs))

    def __or__(self, other: DFA) -> DFA:
        return self._product(other, lambda one, two: one or two)

    def __and__(self, other: DFA) -> DFA:
        return self._product(other, lambda one, two: one and two)

    def __sub__(self, other: DFA) -> DFA:
        return self._product(other, lambda one, two: one and not two)

    __invert__ = complement

    def _product(self, other: DFA, combine: Callable[[Any, Any], Any]) -> DFA:
        """Both side by side, accepting where `combine` of their two outputs is true."""
        check_same_alphabet(self.alphabet, other.alphabet)
        for dfa in (self, other):
            dfa.require_boolean("combining languages", "recognizer(label) makes one of a label")
        columns = [other.columns[symbol] for symbol in self.alphabet]
        pairs, rows = explore(
            (self.initial, other.initial),
            lambda pair: list(
                zip(self.rows[pair[0]], (other.rows[pair[1]][j] for j in columns), strict=True)
            ),
        )
        outputs = (combine(self.outputs[p], other.outputs[q]) for p, q in pairs)
        return DFA(
            alphabet=self.alphabet,
            transitions=np.array(rows, dtype=np.int32),
            outputs=tuple(bool(output) for output in outputs),
        ).minimize()

    # -- comparing -----------------------------------------------------------------------------

    difference = difference

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DFA):
            return NotImplemented
        return set(self.alphabet) == set(other.alphabet) and self.difference(other) is None

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((frozenset(self.alphabet), self.minimize().num_states))

    def __repr__(self) -> str:
        symbols = show(self.alphabet)
        return (
            f"DFA({self.num_states} states over {{{symbols}}}, initial={self.name(self.initial)!r})"
        )

    # -- ways out ------------------------------------------------------------------------------

    to_json = dfa_to_json
    to_dot, to_mermaid = to_dot, to_mermaid
    to_c, to_regex, to_sql = to_c, to_regex, to_sql
    to_aalpy, to_automata_lib = to_aalpy, to_automata_lib

    def scorer(self, column: str = "sequence", *, prefix: str = "") -> Scorer:
        """A function from batches of rows to the same with `label`, `probability` and `state`."""
        fields = {"label": arrow_labels(self.outputs)[0], "probability": "double", "state": "int64"}
        document = self.to_json()
        return Scorer(
            load=_answers, content=document, key=document, fields=fields, column=column,
            prefix=prefix,
        )  # fmt: skip

    def draw(
        self, path: str | Path, *, sink: bool = True, words: Iterable[Word] | None = None
    ) -> Path:
        """Draw to a file; its ending (.svg, .png, .pdf) says the format. Options as of `to_dot`."""
        return draw(self.to_dot(sink=sink, words=words), path)

    def _repr_svg_(self) -> str:
        return render(self.to_dot(), "svg").decode()


def _answers(document: str) -> Score:
    dfa = DFA.from_json(document)
    texts = arrow_labels(dfa.outputs)[1]

    def score(words: list[Any]) -> dict[str, Sequence[Any]]:
        states = dfa.matcher.states(words).tolist()
        labels = [texts[state] for state in states]
        return {"label": labels, "probability": [1.0] * len(states), "state": states}

    return score
