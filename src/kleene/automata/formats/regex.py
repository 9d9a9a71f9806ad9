"""An automaton as a regular expression, by eliminating its states one by one.

Over one-character symbols the result is a pattern for `re.fullmatch(pattern, word)`. Other symbols
are written as text with a blank after each, so `re.fullmatch(pattern, as_text(word))` works there.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from kleene.automata.minimize import minimize
from kleene.automata.symbols import ranges, show, spelled_by_characters
from kleene.automata.table import TransitionTable
from kleene.errors import AutomatonError
from kleene.machine import Symbol, Word

NOTHING = "(?!)"  # the pattern that matches no word


@dataclass(frozen=True, slots=True)
class _Regex:
    """A set of alternatives: single characters, longer sequences, and perhaps the empty word."""

    characters: frozenset[str] = frozenset()
    sequences: tuple[str, ...] = ()
    empty: bool = False

    def __or__(self, other: _Regex) -> _Regex:
        return _Regex(
            self.characters | other.characters,
            tuple(dict.fromkeys(self.sequences + other.sequences)),
            self.empty or other.empty,
        )

    def text(self) -> str:
        """The pattern, as one unit that can stand inside a concatenation."""
        parts = ([character_class(self.characters)] if self.characters else []) + [*self.sequences]
        if not parts:
            return ""
        body = "|".join(parts)
        if not self.empty:
            return body if len(parts) == 1 else f"(?:{body})"
        return f"{body}?" if _is_unit(parts) else f"(?:{body})?"

    def star(self) -> str:
        """The pattern of any number of these; nothing at all for an empty set."""
        parts = ([character_class(self.characters)] if self.characters else []) + [*self.sequences]
        if not parts:
            return ""
        body = "|".join(parts)
        return f"{body}*" if _is_unit(parts) else f"(?:{body})*"


def _is_unit(parts: list[str]) -> bool:
    """Whether a `?` or `*` after it takes hold of all of it: one character or one class."""
    if len(parts) != 1:
        return False
    return bool(re.fullmatch(r"\\?.|\[(\\.|[^\]\\])*\]", parts[0], re.DOTALL))


def to_regex(dfa: TransitionTable, *, max_length: int = 1_000_000) -> str:
    """A regular expression of the language, in the syntax of `re`.

    Patterns can grow exponentially: past `max_length` it gives up.
    """
    dfa.require_boolean("to_regex()", "recognizer(label) first makes a language of a label")
    edges = _useful_edges(minimize(dfa))
    states = {state for edge in edges for state in edge} - {-1, -2}
    if not edges:
        return NOTHING
    while states:
        state = min(states, key=lambda s: (_cost(edges, s), s))
        states.discard(state)
        _eliminate(edges, state)
        if sum(sum(map(len, edge.sequences)) for edge in edges.values()) > max_length:
            raise AutomatonError(
                f"the regular expression is longer than {max_length} characters; "
                "export to_json() or to_dot() instead, or raise max_length"
            )
    whole = edges.get((-1, -2))
    if whole is None:
        return NOTHING
    return whole.text() if whole.characters or whole.sequences else ""


def _useful_edges(dfa: TransitionTable) -> dict[tuple[int, int], _Regex]:
    """Moves among states from which a word can be accepted, between new ends -1 and -2."""
    alive = {state for state, label in enumerate(dfa.outputs) if label}
    grown = True
    while grown:
        before = len(alive)
        alive |= {s for s, row in enumerate(dfa.rows) if not alive.isdisjoint(row)}
        grown = len(alive) > before
    edges: dict[tuple[int, int], _Regex] = {}
    symbols = _written(dfa.alphabet)
    for state in alive:
        for symbol, following in zip(symbols, dfa.rows[state], strict=True):
            if following in alive:
                ends = (state, following)
                edges[ends] = edges.get(ends, _Regex()) | symbol
        if dfa.outputs[state]:
            edges[state, -2] = _Regex(empty=True)
    if dfa.initial in alive:
        edges[-1, dfa.initial] = _Regex(empty=True)
    return edges


def _eliminate(edges: dict[tuple[int, int], _Regex], state: int) -> None:
    """Replace every path through a state by a direct edge."""
    loop = edges.pop((state, state), _Regex()).star()
    into = [(source, edges.pop((source, s))) for source, s in list(edges) if s == state]
    out = [(target, edges.pop((s, target))) for s, target in list(edges) if s == state]
    for source, before in into:
        for target, after in out:
            path = _concatenate(before, loop, after)
            edges[source, target] = edges.get((source, target), _Regex()) | path


def _concatenate(before: _Regex, loop: str, after: _Regex) -> _Regex:
    only_empty = _Regex(empty=True)
    if not loop:
        if before == only_empty:
            return after
        if after == only_empty:
            return before
    first, last = before.text(), after.text()
    if loop and first == loop[:-1]:  # x x* is x+
        text = f"{first}+{last}"
    elif loop and last == loop[:-1]:
        text = f"{first}{last}+"
    else:
        text = first + loop + last
    return _Regex(sequences=(text,))


def _cost(edges: dict[tuple[int, int], _Regex], state: int) -> int:
    """How much longer the whole gets when a state goes (Delgado and Morais's weight)."""
    size = {ends: len(edge.text()) for ends, edge in edges.items() if state in ends}
    into = [size[ends] for ends in size if ends[1] == state and ends[0] != state]
    out = [size[ends] for ends in size if ends[0] == state and ends[1] != state]
    loop = size.get((state, state), 0)
    grown = sum(into) * (len(out) - 1) + sum(out) * (len(into) - 1)
    return grown + loop * (len(into) * len(out) - 1)


def _written(alphabet: tuple[Symbol, ...]) -> list[_Regex]:
    if spelled_by_characters(alphabet):
        return [_Regex(characters=frozenset(str(symbol))) for symbol in alphabet]
    texts = [as_text([symbol]) for symbol in alphabet]
    if len(set(texts)) < len(texts):
        raise AutomatonError(
            f"two of the symbols {show(alphabet)} look the same as text; "
            "rename one, or export to_json()"
        )
    return [_Regex(sequences=(re.escape(text[:-1]) + " ",)) for text in texts]


def as_text(word: Word) -> str:
    """A word over symbols that are not characters, as such a regular expression reads it."""
    return "".join(str(symbol).replace(" ", "") + " " for symbol in word)


def character_class(characters: frozenset[str] | set[str]) -> str:
    """A set of characters as briefly as `re` allows: `a`, `[ab]`, `[a-z]`."""
    if len(characters) == 1:
        return re.escape(next(iter(characters)))
    return f"[{''.join(ranges(characters, _in_class))}]"


def _in_class(character: str) -> str:
    return f"\\{character}" if character in r"\]^-[&~|" else character
