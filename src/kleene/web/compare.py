"""Two models side by side: their answers along a word, and a shortest word on which they differ."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from kleene.automata import DFA
from kleene.automata.compare import difference
from kleene.errors import ReadingError
from kleene.explain.markup import as_json, as_text
from kleene.machine import Word
from kleene.web.entries import Automaton, Entry, Network


def first_difference(one: Entry, two: Entry, word: Word) -> dict[str, Any]:
    """Both answers after every prefix of a word, and the length of the first where they differ."""
    answers = [entry.predict_prefixes(word) for entry in (one, two)]
    pairs = zip(*answers, strict=True)
    first = next((i for i, (a, b) in enumerate(pairs) if as_text(a) != as_text(b)), None)
    plain = [[as_json(label) for label in labels] for labels in answers]
    return {
        "labels": [plain[0][-1], plain[1][-1]],
        "after": plain,
        "differ_at": first,
        "word": [as_json(symbol) for symbol in word],
    }


def shortest_difference(one: Entry, two: Entry, check: Callable[[], None]) -> Word | None:
    """A shortest word on which the automata of two models differ, None when they are equal.

    `check` is called throughout the search and may raise, to end it.
    """
    a, b = (entry.dfa if isinstance(entry, Automaton) else _faithful(entry) for entry in (one, two))
    return difference(a, _labelled_alike(a, b), check=check)


def _faithful(entry: Network) -> DFA:
    reading = entry.reading
    if reading is None or not reading.faithful:
        raise ReadingError(
            f"{entry.name} has no automaton that agrees with it on every word, so a difference "
            "cannot be searched for; compare the two on words"
        )
    return reading.dfa


def _labelled_alike(one: DFA, two: DFA) -> DFA:
    """The second automaton with its labels as the first spells them: 1 for True, and so on."""
    by_text = {as_text(label): label for label in one.outputs}
    by_value = {label: label for label in one.outputs}
    outputs = tuple(
        by_value.get(label, by_text.get(as_text(label), label)) for label in two.outputs
    )
    return replace(two, outputs=outputs)
