"""What a server has on its shelf: models and automata by name, and what can be asked of them.

Nothing here knows of HTTP; the answers are plain values.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

from kleene.automata import DFA
from kleene.automata.words import spelled_by_characters
from kleene.data.alphabet import UNKNOWN
from kleene.errors import DataError, ReadingError
from kleene.machine import Label, Word
from kleene.model import Model
from kleene.read.explain import explain_many
from kleene.read.extract import extract
from kleene.read.extraction import Extraction
from kleene.read.markup import as_json, as_text
from kleene.read.passes import scores_of
from kleene.report.content import METHODS, VOCABULARY, describe, explained_dict
from kleene.report.trust import trust
from kleene.report.view import View, automaton_view, states_view, view

DRAWN = 500  # words drawn to look at, where none were given


@dataclass(frozen=True, kw_only=True)
class Answer:
    """A label and, where a network gave it, the probabilities of all classes."""

    label: Label
    probabilities: dict[str, float] | None = None
    unknown: int = 0
    """Symbols that are not in the alphabet."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "label": as_json(self.label),
            "probabilities": self.probabilities,
            "unknown": self.unknown,
        }


class Automaton:
    """A DFA on the shelf."""

    kind = "automaton"

    def __init__(self, name: str, dfa: DFA) -> None:
        self.name, self.dfa = name, dfa
        self.view = automaton_view(dfa)
        self.reading: Extraction | None = None

    @property
    def tokens(self) -> str:
        """How a text becomes a word."""
        if spelled_by_characters(self.dfa.alphabet):
            return "chars"
        return "words" if all(isinstance(s, str) for s in self.dfa.alphabet) else "symbols"

    def describe(self) -> dict[str, Any]:
        """What it is."""
        classes = sorted({as_text(label) for label in self.dfa.outputs})
        return {
            "name": self.name,
            "kind": self.kind,
            "tokens": self.tokens,
            "classes": classes,
            "symbols": len(self.dfa.alphabet),
            "explains": True,
        }

    def predict(self, words: Sequence[Word]) -> list[Answer]:
        """The label of every word; a symbol that it does not have is an error."""
        return [Answer(label=self.dfa.run(word)) for word in words]

    def explain(self, word: Word) -> dict[str, Any]:
        """The label and the states that lead to it."""
        states = self.dfa.trace(word)
        return {
            "word": [as_json(symbol) for symbol in word],
            "between": "" if isinstance(word, str) else " ",
            "prediction": as_text(self.dfa.outputs[states[-1]]),
            "probability": None,
            "path": states,
            "weights": None,
        }

    def extract(self) -> dict[str, Any]:
        """An automaton needs no reading."""
        raise ReadingError(f"{self.name} is an automaton already; ask for /automaton")


class Network:
    """A model on the shelf, read when it is put there."""

    kind = "model"

    def __init__(self, name: str, model: Model, words: Sequence[Word] = ()) -> None:
        self.name, self.model = name, model
        model.network.eval()
        self.predict([()])  # so that the first request does not wait for kernels to load
        config, symbols = model.network.config, len(model.alphabet.symbols)
        given = list(words) or (_drawn(model) if symbols <= VOCABULARY else [])
        beside = model.network.rnn.cell.has_memory or config.pooling != "last"
        self.reading = None
        if given or not beside:
            method = "counts" if beside and config.num_states and symbols > VOCABULARY else "auto"
            self.reading = extract(model, given or None, method=method)
        self.view: View = (
            states_view(model) if self.reading is None else view(model, self.reading, given)
        )
        self._trust = None if self.reading is None else trust(model, self.reading, own=bool(words))

    @property
    def tokens(self) -> str:
        """How a text becomes a word."""
        return self.model.tokens

    def describe(self) -> dict[str, Any]:
        """What it is."""
        explains = self.model.network.config.num_states > 0
        return {
            "name": self.name,
            "kind": self.kind,
            **describe(self.model),
            "explains": explains,
        }

    def predict(self, words: Sequence[Word]) -> list[Answer]:
        """The label and the probabilities of every word."""
        model = self.model
        encoded = model.alphabet.encode_many(words)
        rows = scores_of(model.network, encoded).softmax(-1).double().numpy().round(6)
        names = [as_text(label) for label in model.classes]
        return [
            Answer(
                label=model.classes[int(row.argmax())],
                probabilities=dict(zip(names, row.tolist(), strict=True)),
                unknown=int((ids == UNKNOWN).sum()),
            )
            for row, ids in zip(rows, encoded, strict=True)
        ]

    def explain(self, word: Word) -> dict[str, Any]:
        """The label, the path through the states, and how much every symbol speaks for it."""
        model = self.model
        of = (model.network, model.alphabet, model.classes)
        found = {m: explain_many(*of, [word], method=m)[0] for m in METHODS}
        plain = explained_dict(found["level"], word)
        shown = self.view.of_centroid
        path = [shown.get(state) for state in plain["states"]]
        return {
            **{key: plain[key] for key in ("word", "between", "prediction", "probability")},
            "path": None if None in path else path,
            "weights": {m: one.weights.astype(float).round(4).tolist() for m, one in found.items()},
        }

    def extract(self) -> dict[str, Any]:
        """The automaton and how far to trust it."""
        if self.reading is None:
            raise ReadingError(
                f"to read {self.name} some of its words are needed; start the server with --data"
            )
        return {**self.reading.to_dict(), "trust": self._trust}


Entry = Automaton | Network


@dataclass(frozen=True)
class Shelf:
    """All entries by name, the first being the one meant when none is named."""

    entries: Mapping[str, Entry] = field(default_factory=dict)

    @classmethod
    def load(cls, paths: Sequence[Path], words: Sequence[Any] = ()) -> Shelf:
        """Put models (folders) and automata (JSON files) on the shelf."""
        entries: dict[str, Entry] = {}
        for path in paths:
            name = _free(path.resolve().name.removesuffix(".json") or "model", entries)
            if path.is_file():
                entries[name] = Automaton(name, DFA.load(path))
            else:
                model = Model.load(path)
                entries[name] = Network(name, model, _known(model, words))
        return cls(entries)

    def __getitem__(self, name: str | None) -> Entry:
        if name is None:
            return next(iter(self.entries.values()))
        if name not in self.entries:
            listed = ", ".join(self.entries)
            raise KeyError(f"no model {name[:80]!r} here; there is {listed}")
        return self.entries[name]

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries.values())


def parting(one: Entry, two: Entry, word: Word) -> dict[str, Any]:
    """Both answers to a word, and the shortest beginning of it on which they differ."""
    if len(word) > 2_000:
        raise DataError(f"{len(word):,} symbols came; words of up to 2,000 are compared")
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
        "parts_at": parts,
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
    with _apart(one) as a, _apart(two) as b:
        labels = [as_text(entry.predict([word])[0].label) for entry in (a, b)]
    return {"word": [as_json(symbol) for symbol in word], "labels": labels}


def typed(entry: Entry, word: Any) -> Word:
    """A word as it came: a text, split as the entry reads texts, or a list of symbols."""
    if isinstance(word, str):
        text = _whole(word)
        if entry.tokens == "chars":
            return text
        if entry.tokens == "symbols" and text.lstrip().startswith("["):
            try:
                return typed(entry, json.loads(text))
            except (ValueError, RecursionError):
                raise DataError(f"{text[:40]!r} is no JSON list of symbols; close it") from None
        return tuple(text.split())
    if not isinstance(word, list):
        raise DataError("a word is a text or a list of symbols")
    symbols = tuple(_symbol(part) for part in word)
    if entry.tokens == "chars" and all(isinstance(s, str) and len(s) == 1 for s in symbols):
        return "".join(map(str, symbols))
    return symbols


def _symbol(value: Any, depth: int = 0) -> Any:
    if isinstance(value, list) and depth < 4:
        return tuple(_symbol(part, depth + 1) for part in value)
    if isinstance(value, str):
        return _whole(value)
    if (
        value is None
        or isinstance(value, bool | int)
        or (isinstance(value, float) and np.isfinite(value))
    ):
        return value
    raise DataError("a symbol is a text, a finite number, true, false, null, or a list of these")


def _whole(text: str) -> str:
    """A text without lone surrogates, which JSON can spell and no answer can hold."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


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
    from dataclasses import replace

    by_text = {as_text(label): label for label in one.outputs}
    by_value = {label: label for label in one.outputs}
    outputs = tuple(
        by_value.get(label, by_text.get(as_text(label), label)) for label in two.outputs
    )
    return replace(two, outputs=outputs)


@contextmanager
def _apart(entry: Entry) -> Iterator[Entry]:
    """An entry of one's own, for work beside that of others."""
    if isinstance(entry, Automaton):
        yield entry
        return
    mine = object.__new__(Network)
    mine.__dict__.update(entry.__dict__)
    mine.model = deepcopy(entry.model)
    with torch.inference_mode():
        yield mine


def _drawn(model: Model) -> list[Word]:
    """Random words over the alphabet, of the lengths that were trained on."""
    random = np.random.default_rng(0)
    symbols, longest = model.alphabet.symbols, max(model.longest, 8)
    lengths = random.integers(0, longest + 1, DRAWN)
    picks = [random.integers(0, len(symbols), length) for length in lengths]
    words = [tuple(symbols[i] for i in pick) for pick in picks]
    return ["".join(map(str, w)) for w in words] if model.tokens == "chars" else list(words)


def _known(model: Model, words: Sequence[Any]) -> list[Word]:
    split = model.words(list(words))
    kept = [tuple(s for s in word if s in model.alphabet) for word in split]
    return ["".join(map(str, w)) for w in kept] if model.tokens == "chars" else list(kept)


def _free(name: str, taken: Mapping[str, Any]) -> str:
    """A name that no other entry has."""
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{name}-{number}"
    return free
