"""What an automaton says of its labels: the symbols that change one, the sequences that decide."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from kleene.automata import DFA
from kleene.explain.markup import as_json, as_text
from kleene.machine import Label, Symbol, Word

MAX_SEQUENCES = 1_000  # that the search tries, for each place
MAX_LISTED = 10  # sequences of a label


def label_changes(dfa: DFA, word: Word, label: Label) -> list[float] | None:
    """For each symbol 1 where it brings the label, -1 where it takes it away, else 0.

    None if the automaton cannot read the word, or gives it another label.
    """
    if not all(symbol in dfa.columns for symbol in word) or dfa.run(word) != label:
        return None
    has_label = [float(dfa.outputs[state] == label) for state in dfa.trace(word)]
    return [after - before for before, after in pairwise(has_label)]


def deciding_sequences(dfa: DFA, classes: Sequence[Label]) -> dict[str, list[dict[str, Any]]]:
    """The shortest sequences that decide each label, and where in a word they do.

    Anywhere, or at the start: no continuation changes the label any more. At the end: every word
    that ends so has the label. A sequence that contains one of the list is left out.
    """
    found: dict[Label, list[tuple[str, tuple[Symbol, ...]]]] = {label: [] for label in classes}
    for where, symbols, label in _search(dfa):
        mine = found[label]
        if len(mine) < MAX_LISTED and not any(_contains(where, symbols, *one) for one in mine):
            mine.append((where, symbols))
    return {
        as_text(label): [{"symbols": as_json(symbols), "where": where} for where, symbols in mine]
        for label, mine in found.items()
    }


def _search(dfa: DFA) -> Iterator[tuple[str, tuple[Symbol, ...], Label]]:
    """Place, sequence and label, the shortest sequences of each place first."""
    settled, every = _settled(dfa), frozenset(range(dfa.num_states))
    places = (
        ("anywhere", settled, every),
        ("at the start", settled, frozenset([dfa.initial])),
        ("at the end", list(dfa.outputs), every),
    )
    for where, labels, states in places:
        waiting: deque[tuple[tuple[Symbol, ...], frozenset[int]]] = deque([((), states)])
        for _ in range(MAX_SEQUENCES):
            if not waiting:
                break
            symbols, states = waiting.popleft()
            label, *others = {labels[state] for state in states}
            if not others and label is not None:
                if symbols:
                    yield where, symbols, label
                if labels is settled or not symbols:
                    continue  # every longer one contains this one
            for column, symbol in enumerate(dfa.alphabet):
                after = frozenset(dfa.rows[state][column] for state in states)
                waiting.append(((*symbols, symbol), after))


def _settled(dfa: DFA) -> list[Label | None]:
    """The label of each state that no continuation changes; None for the other states."""
    labels: list[Label | None] = list(dfa.outputs)
    for _ in range(dfa.num_states):
        for state, row in enumerate(dfa.rows):
            if any(labels[after] != labels[state] for after in row):
                labels[state] = None
    return labels


def _contains(
    where: str, symbols: tuple[Symbol, ...], place: str, part: tuple[Symbol, ...]
) -> bool:
    """Whether a sequence decides only because it contains another one that does."""
    if place == "anywhere":
        starts = range(len(symbols) - len(part) + 1)
        return any(symbols[i : i + len(part)] == part for i in starts)
    if place != where:
        return False
    return (symbols[: len(part)] if where == "at the start" else symbols[-len(part) :]) == part
