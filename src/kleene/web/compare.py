"""Two entries side by side: what they say to a word, and a shortest word that tells them apart."""

from __future__ import annotations

from copy import copy, deepcopy
from dataclasses import replace
from typing import Any

from kleene.automata import DFA
from kleene.errors import DataError, ReadingError
from kleene.explain.markup import as_json, as_text
from kleene.machine import Word
from kleene.web.entries import Automaton, Entry, Network

LONGEST = 2_000  # symbols of a word whose every beginning is put to both


def first_difference(one: Entry, two: Entry, word: Word) -> dict[str, Any]:
    """Both answers to a word, and the shortest beginning of it on which they differ."""
    if len(word) > LONGEST:
        raise DataError(f"{len(word):,} symbols came; words of up to {LONGEST:,} are compared")
    beginnings = [word[:length] for length in range(len(word) + 1)]
    answers = [
        [as_text(answer.label) for answer in entry.predict(beginnings)] for entry in (one, two)
    ]
    parts = next(
        (i for i, pair in enumerate(zip(*answers, strict=True)) if pair[0] != pair[1]), None
    )
    return {
        "labels": [answers[0][-1], answers[1][-1]],
        "after": answers,
        "differ_at": parts,
        "word": [as_json(symbol) for symbol in word],
    }


def difference(one: Entry, two: Entry) -> dict[str, Any]:
    """A shortest word on which the automata of two entries differ, as the entries answer it."""
    automata = [
        entry.dfa if isinstance(entry, Automaton) else _faithful(entry) for entry in (one, two)
    ]
    word = automata[0].difference(_labelled_alike(automata[0], automata[1]))
    if word is None:
        return {"word": None, "labels": None}
    labels = [as_text(_apart(entry).predict([word])[0].label) for entry in (one, two)]
    return {"word": [as_json(symbol) for symbol in word], "labels": labels}


def _faithful(entry: Network) -> DFA:
    reading = entry.reading
    if reading is None or not reading.faithful:
        raise ReadingError(
            f"{entry.name} has no automaton that follows it on every word, so its difference to "
            "another cannot be searched for; compare the two on words"
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


def _apart(entry: Entry) -> Entry:
    """An entry of one's own, for work beside that of others."""
    if isinstance(entry, Automaton):
        return entry
    mine = copy(entry)
    mine.model = deepcopy(entry.model)
    return mine
