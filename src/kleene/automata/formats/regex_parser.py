"""Regular expressions as automata: Thompson's construction, then subsets of states.

The syntax is the regular part of Python's `re`: characters, escapes, `.`, classes such as `[a-z]`
and `[^ab]`, groups, `|`, `*`, `+`, `?`, `{m,n}`. The whole word must match. What is not regular, or
depends on context (back-references, look-around, anchors, flags, laziness), is refused.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kleene.automata.formats.regex import NOTHING
from kleene.automata.minimize import minimize
from kleene.automata.symbols import spelled_by_characters
from kleene.automata.table import Table
from kleene.errors import AutomatonError
from kleene.machine import Symbol

MAX_DEPTH, MAX_STATES = 100, 20_000
_CLASSES = {"d": "0123456789", "s": " \t\n\r\f\v"}
_CONTROLS = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v", "0": "\0"}
_SPECIAL = set("*+?{|)")
Fragment = tuple[int, int]
"""The first and the last state of a part of the automaton."""


def from_regex(cls: type[Table], pattern: str, alphabet: Sequence[Symbol] | None) -> Table:
    """See `DFA.from_regex`."""
    if alphabet is not None and not spelled_by_characters(alphabet):
        raise AutomatonError("from_regex needs one-character symbols; use from_table for others")
    characters = None if alphabet is None else [str(symbol) for symbol in alphabet]
    parser = _Parser(pattern, characters)
    first, last = parser.parse()
    return minimize(_subsets(cls, parser, first, last))


class _Parser:
    def __init__(self, pattern: str, alphabet: list[str] | None) -> None:
        self.pattern, self.at, self.depth = pattern, 0, 0
        self.given = alphabet
        self.used: dict[str, None] = {}
        self.epsilon: list[list[int]] = []
        self.moves: list[list[tuple[frozenset[str], int]]] = []

    @property
    def alphabet(self) -> list[str]:
        """The symbols given, or those of the pattern in order."""
        return sorted(self.used) if self.given is None else self.given

    def parse(self) -> Fragment:
        """The automaton of the whole pattern."""
        whole = self._alternatives()
        if self.at < len(self.pattern):
            raise self._error("unbalanced ')'")
        if not self.alphabet:
            raise AutomatonError("the pattern has no symbols; give alphabet=")
        return whole

    def _alternatives(self) -> Fragment:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self._error(f"groups nested deeper than {MAX_DEPTH}")
        first, last = self._state(), self._state()
        while True:
            begin, end = self._sequence()
            self.epsilon[first].append(begin)
            self.epsilon[end].append(last)
            if not self._take("|"):
                self.depth -= 1
                return first, last

    def _sequence(self) -> Fragment:
        first = last = self._state()
        while self.at < len(self.pattern) and self.pattern[self.at] not in "|)":
            begin, end = self._repeated()
            self.epsilon[last].append(begin)
            last = end
        return first, last

    def _repeated(self) -> Fragment:
        start = self.at
        atom = self._atom()
        stop = self.at
        least, most = self._counts()
        if self.at < len(self.pattern) and self.pattern[self.at] in "*+?{":
            raise self._error("one repetition follows another; put the first into a group")
        if (least, most) == (1, 1):
            return atom
        after = self.at
        first = last = self._state()

        def copy() -> Fragment:
            self.at = start
            found = self._atom()
            assert self.at == stop
            return found

        for i in range(least):
            begin, end = atom if i == 0 else copy()
            self.epsilon[last].append(begin)
            last = end
        if most is None:
            begin, end = copy()
            hub = self._state()
            self.epsilon[last].append(hub)
            self.epsilon[hub].append(begin)
            self.epsilon[end].append(hub)
            last = hub
        final = self._state()
        for _ in range((most or least) - least):
            self.epsilon[last].append(final)
            begin, end = copy()
            self.epsilon[last].append(begin)
            last = end
        self.epsilon[last].append(final)
        self.at = after
        return first, final

    def _counts(self) -> tuple[int, int | None]:
        for mark, counts in (("*", (0, None)), ("+", (1, None)), ("?", (0, 1))):
            if self._take(mark):
                return counts
        if not self._take("{"):
            return 1, 1
        body, closed, _ = self.pattern[self.at :].partition("}")
        low, comma, high = body.partition(",")
        numbers = all(not part or (part.isdecimal() and part.isascii()) for part in (low, high))
        if not closed or not numbers or not (low or high) or len(body) > 9:
            raise self._error("expected {m}, {m,n}, {m,} or {,n}")
        self.at += len(body) + 1
        least = int(low or 0)
        most = int(high) if high else None if comma else least
        if most is not None and most < least:
            raise self._error(f"{{{body}}} repeats at least {least} and at most {most} times")
        return least, most

    def _atom(self) -> Fragment:
        character = self.pattern[self.at]
        if self.pattern.startswith(NOTHING, self.at):
            self.at += len(NOTHING)
            return self._state(), self._state()
        if self._take("("):
            if self._take("?") and not self._take(":"):
                raise self._error("only groups (...) and (?:...) are regular")
            group = self._alternatives()
            if not self._take(")"):
                raise self._error("missing ')'")
            return group
        if character in _SPECIAL or character in "^$":
            cure = "" if character in _SPECIAL else "; the whole word must match anyway"
            raise self._error(f"unexpected {character!r}{cure}")
        if self._take("["):
            return self._symbols(self._class())
        if self._take("."):
            return self._symbols(frozenset(self._known("'.'")))
        return self._symbols(frozenset(self._character()))

    def _class(self) -> frozenset[str]:
        negated = self._take("^")
        found: set[str] = set()
        begin = self.at
        while self.at == begin or not self.pattern.startswith("]", self.at):
            if self.at >= len(self.pattern):
                raise self._error("missing ']'")
            low = self._character()
            ranged = self.pattern[self.at : self.at + 1] == "-" and self.at + 1 < len(self.pattern)
            if ranged and self.pattern[self.at + 1] != "]":
                self.at += 1
                high = self._character()
                if len(low) != 1 or len(high) != 1 or low > high:
                    raise self._error("a range must go from a lower to a higher character")
                if self.given is None and ord(high) - ord(low) > MAX_STATES:
                    raise self._error("a range of so many characters needs alphabet=")
                span = range(ord(low), ord(high) + 1)
                known = self.given
                found |= (
                    {chr(c) for c in span}
                    if known is None
                    else {c for c in known if low <= c <= high}
                )
            else:
                found |= set(low)
        self.at += 1
        if not negated:
            return frozenset(found)
        return frozenset(self._known("'[^...]'")) - found

    def _character(self) -> str:
        """One character, or those of a class such as \\d."""
        character = self.pattern[self.at]
        self.at += 1
        if character != "\\":
            return character
        if self.at == len(self.pattern):
            raise self._error("the pattern ends in a backslash")
        escaped = self.pattern[self.at]
        self.at += 1
        if escaped in _CLASSES:
            return _CLASSES[escaped]
        if escaped in _CONTROLS:
            return _CONTROLS[escaped]
        if escaped.isalnum():
            raise self._error(f"\\{escaped} is not supported; write the characters themselves")
        return escaped

    def _known(self, what: str) -> list[str]:
        if self.given is None:
            raise AutomatonError(f"{what} stands for any symbol; give alphabet= to say of which")
        return self.given

    def _symbols(self, characters: frozenset[str]) -> Fragment:
        if self.given is not None:
            characters &= frozenset(self.given)
        self.used.update(dict.fromkeys(sorted(characters)))
        first, last = self._state(), self._state()
        self.moves[first].append((characters, last))
        return first, last

    def _state(self) -> int:
        if len(self.moves) >= MAX_STATES:
            raise self._error(f"the pattern needs more than {MAX_STATES:,} states")
        self.epsilon.append([])
        self.moves.append([])
        return len(self.moves) - 1

    def _take(self, text: str) -> bool:
        if self.pattern.startswith(text, self.at):
            self.at += len(text)
            return True
        return False

    def _error(self, problem: str) -> AutomatonError:
        return AutomatonError(f"{problem} at position {self.at} of {self.pattern!r:.60}")


def _subsets(cls: type[Table], parser: _Parser, first: int, last: int) -> Table:
    alphabet = parser.alphabet

    def closure(states: set[int]) -> frozenset[int]:
        found, waiting = set(states), list(states)
        while waiting:
            for state in parser.epsilon[waiting.pop()]:
                if state not in found:
                    found.add(state)
                    waiting.append(state)
        return frozenset(found)

    start = closure({first})
    number, rows = {start: 0}, []
    for subset in (queue := [start]):
        targets: dict[str, set[int]] = {}
        for state in subset:
            for characters, target in parser.moves[state]:
                for character in characters:
                    targets.setdefault(character, set()).add(target)
        row = []
        for character in alphabet:
            following = closure(targets.get(character, set()))
            if following not in number:
                number[following] = len(queue)
                queue.append(following)
            row.append(number[following])
        rows.append(row)
        if len(queue) > MAX_STATES:
            raise AutomatonError(f"the automaton has more than {MAX_STATES:,} states")
    return cls(
        alphabet=tuple(alphabet),
        transitions=np.array(rows, dtype=np.int32),
        outputs=tuple(last in subset for subset in queue),
    )
