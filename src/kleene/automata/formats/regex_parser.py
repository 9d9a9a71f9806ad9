"""Regular expressions as automata: parsed by `re` itself, then Thompson's construction and subsets.

What is not regular or depends on context (back-references, look-around, anchors, flags, laziness)
is refused. The whole word must match.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Sequence
from re import _parser  # type: ignore[attr-defined]
from typing import Any

import numpy as np

from kleene.automata.minimize import minimize
from kleene.automata.symbols import spelled_by_characters
from kleene.automata.table import Table, explore
from kleene.errors import AutomatonError
from kleene.machine import Symbol

MAX_STATES = 20_000
MAX_PATTERN = 100_000  # characters
_CATEGORIES = {"CATEGORY_DIGIT": "0123456789", "CATEGORY_SPACE": " \t\n\r\f\v"}
Fragment = tuple[int, int]
"""The first and the last state of a part of the automaton."""


def from_regex(cls: type[Table], pattern: str, alphabet: Sequence[Symbol] | None) -> Table:
    """See `DFA.from_regex`."""
    if alphabet is not None and not spelled_by_characters(alphabet):
        raise AutomatonError("from_regex needs one-character symbols; use from_table for others")
    if len(pattern) > MAX_PATTERN:
        raise AutomatonError(f"the pattern is longer than {MAX_PATTERN:,} characters; shorten it")
    nfa = _Nfa(None if alphabet is None else [str(symbol) for symbol in alphabet])
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = _parser.parse(pattern)
        if tree.state.flags != re.UNICODE:
            raise AutomatonError("flags such as (?i) are not supported; write the characters")
        first, last = nfa.sequence(tree)
    except (re.error, RecursionError, OverflowError) as error:
        reason = str(error) if isinstance(error, re.error) else "it is nested too deep or too long"
        raise AutomatonError(f"{pattern!r:.60} is no regular expression: {reason}") from None
    if not nfa.alphabet:
        raise AutomatonError("the pattern has no symbols; give alphabet=")
    return minimize(_subsets(cls, nfa, first, last))


class _Nfa:
    """States with empty moves and moves on sets of characters."""

    def __init__(self, given: list[str] | None) -> None:
        self.given = given
        self.used: set[str] = set()
        self.empty: list[list[int]] = []
        self.moves: list[list[tuple[frozenset[str], int]]] = []

    @property
    def alphabet(self) -> list[str]:
        """The given symbols, or the symbols of the pattern, sorted."""
        return sorted(self.used) if self.given is None else self.given

    def state(self) -> int:
        if len(self.moves) >= MAX_STATES:
            raise AutomatonError(f"the pattern needs more than {MAX_STATES:,} states")
        self.empty.append([])
        self.moves.append([])
        return len(self.moves) - 1

    def sequence(self, tree: Iterable[tuple[Any, Any]]) -> Fragment:
        """One part after the other."""
        first = last = self.state()
        for code, value in tree:
            begin, end = self.part(str(code), value)
            self.empty[last].append(begin)
            last = end
        return first, last

    def part(self, code: str, value: Any) -> Fragment:
        """One node of the tree that `re` parses."""
        match code:
            case "LITERAL" | "NOT_LITERAL" | "ANY" | "IN":
                return self.symbols(frozenset(self.characters(code, value)))
            case "SUBPATTERN" if not value[1] and not value[2]:  # without flags
                return self.sequence(value[3])
            case "BRANCH":
                first, last = self.state(), self.state()
                for begin, end in map(self.sequence, value[1]):
                    self.empty[first].append(begin)
                    self.empty[end].append(last)
                return first, last
            case "MAX_REPEAT":
                return self.repeated(*value)
            case "FAILURE" | "ASSERT_NOT" if not (value and value[1]):  # (?!) matches no word
                return self.state(), self.state()
        cure = "; the whole word must match anyway" if code == "AT" else ""
        raise AutomatonError(f"{code.lower()} is not supported in a regular expression{cure}")

    def repeated(self, least: int, most: Any, tree: Any) -> Fragment:
        """Copies of a part: as many as needed, then a loop or copies that can be skipped."""
        first = last = self.state()
        for _ in range(least):
            begin, end = self.sequence(tree)
            self.empty[last].append(begin)
            last = end
        final = self.state()
        self.empty[last].append(final)
        if most is _parser.MAXREPEAT:
            begin, end = self.sequence(tree)
            self.empty[final].append(begin)
            self.empty[end].append(final)
            return first, final
        for _ in range(most - least):
            begin, end = self.sequence(tree)
            self.empty[last].append(begin)
            self.empty[end].append(final)
            last = end
        return first, final

    def symbols(self, characters: frozenset[str]) -> Fragment:
        """A move on any of some characters."""
        if self.given is not None:
            characters &= frozenset(self.given)
        self.used |= characters
        first, last = self.state(), self.state()
        self.moves[first].append((characters, last))
        return first, last

    def characters(self, code: str, value: Any) -> set[str]:
        """The characters of a literal or a class."""
        if code == "LITERAL":
            return {chr(value)}
        if code == "IN" and str(value[0][0]) != "NEGATE":
            return set().union(*(self.member(str(kind), part) for kind, part in value))
        if self.given is None:
            raise AutomatonError(
                "'.' and '[^...]' stand for any symbol; give alphabet= to say which"
            )
        inner = [("LITERAL", value)] if code == "NOT_LITERAL" else list(value or [])[1:]
        return set(self.given).difference(*(self.member(str(kind), part) for kind, part in inner))

    def member(self, code: str, value: Any) -> set[str]:
        """The characters of one entry of a class."""
        if code == "LITERAL":
            return {chr(value)}
        if code == "RANGE":
            low, high = value
            if self.given is not None:
                return {character for character in self.given if low <= ord(character) <= high}
            if high - low > MAX_STATES:
                raise AutomatonError("a range of so many characters needs alphabet=")
            return {chr(number) for number in range(low, high + 1)}
        if str(value) in _CATEGORIES:
            return set(_CATEGORIES[str(value)])
        raise AutomatonError(f"{str(value).lower()} is not supported; write the characters")


def _subsets(cls: type[Table], nfa: _Nfa, first: int, last: int) -> Table:
    alphabet = tuple(nfa.alphabet)

    def closure(states: Iterable[int]) -> frozenset[int]:
        found = set(states)
        for state in (waiting := list(found)):
            for target in nfa.empty[state]:
                if target not in found:
                    found.add(target)
                    waiting.append(target)
        return frozenset(found)

    def following(subset: frozenset[int]) -> list[frozenset[int]]:
        targets: dict[str, set[int]] = {}
        for state in subset:
            for characters, target in nfa.moves[state]:
                for character in characters:
                    targets.setdefault(character, set()).add(target)
        return [closure(targets.get(character, ())) for character in alphabet]

    subsets, rows = explore(closure([first]), following, MAX_STATES)
    return cls(
        alphabet=alphabet,
        transitions=np.array(rows, dtype=np.int32),
        outputs=tuple(last in subset for subset in subsets),
    )
