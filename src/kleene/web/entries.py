"""What can be asked of a served model or automaton; nothing here knows of HTTP.

Answers are plain values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kleene.automata import DFA
from kleene.automata.symbols import spelled_by_characters
from kleene.data.alphabet import UNKNOWN
from kleene.data.batch import make_batch
from kleene.data.layout import NO_LAYOUT, Layout
from kleene.errors import ReadingError
from kleene.evaluation.metrics import logits
from kleene.explain.explain import explain_many
from kleene.explain.markup import as_json, as_text
from kleene.explain.scoring import prefix_scores
from kleene.extraction.result import Extraction
from kleene.extractor import extract
from kleene.machine import Label, Word
from kleene.model import Model
from kleene.nn.fused import load_kernels
from kleene.nn.inference import inference
from kleene.report.content import VOCABULARY, describe, page_method
from kleene.report.examples import METHODS, explained_dict, rounded
from kleene.report.trust import trust
from kleene.report.view import View, automaton_view, stored_view, view

WARM_UP = (0, 5, 500)  # lengths of words, of which some go to the plain loop, some to the kernels
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
    """A served DFA."""

    kind = "automaton"

    layout = NO_LAYOUT

    def __init__(self, name: str, dfa: DFA) -> None:
        self.name, self.dfa = name, dfa
        self.view = automaton_view(dfa)
        self.reading: Extraction | None = None

    def warm_up(self) -> None:
        """There is nothing to compile."""

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

    def predict_prefixes(self, word: Word) -> list[Label]:
        """The label of every prefix of a word, the empty one first."""
        return [self.dfa.outputs[state] for state in self.dfa.trace(word)]

    def explain(self, word: Word) -> dict[str, Any]:
        """The label and the states that lead to it."""
        states = self.dfa.trace(word)
        return {
            "word": [as_json(symbol) for symbol in word],
            "between": "" if isinstance(word, str) else " ",
            "prediction": as_json(self.dfa.outputs[states[-1]]),
            "probability": None,
            "path": states,
            "weights": None,
        }

    def extract(self) -> dict[str, Any]:
        """An automaton needs no reading."""
        raise ReadingError(f"{self.name} is an automaton already; ask for /automaton")


class Network:
    """A served model; its automaton is extracted when it is loaded."""

    kind = "model"

    def __init__(self, name: str, model: Model, words: Sequence[Word] = ()) -> None:
        self.name, self.model = name, model
        model.network.eval()
        self.warm_up()
        small = len(model.alphabet.symbols) <= VOCABULARY
        given = list(words) or (_drawn(model) if small else [])
        self.reading = None
        if given or model.is_finite_state or not model.network.config.num_states:
            self.reading = extract(model, given or None, method=page_method(model))
        self.view: View = (
            stored_view(model) if self.reading is None else view(model, self.reading, given)
        )
        self._trust = (
            None
            if self.reading is None
            else trust(model, self.reading, list(words), own=bool(words))
        )

    def warm_up(self) -> None:
        """Compile and load the kernels now, so that no request waits for them."""
        load_kernels()
        for length in WARM_UP:
            self.predict([self.model.alphabet.symbols[:1] * length] * 8)

    @property
    def tokens(self) -> str:
        """How a text becomes a word."""
        return self.model.tokens

    @property
    def layout(self) -> Layout:
        """The columns and bins of the training file."""
        return self.model.layout

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
        scores = logits(model.network, encoded)
        rows = scores.softmax(-1).double().numpy().round(6)
        names = [as_text(label) for label in model.classes]
        return [
            Answer(
                label=model.classes[best],
                probabilities=dict(zip(names, row.tolist(), strict=True)),
                unknown=int((ids == UNKNOWN).sum()),
            )
            for row, best, ids in zip(rows, scores.argmax(-1).tolist(), encoded, strict=True)
        ]

    def predict_prefixes(self, word: Word) -> list[Label]:
        """The label of every prefix of a word, the empty one first, from one pass."""
        network = self.model.network
        with inference(network):
            trace = network.trace(make_batch(self.model.alphabet.encode_many([word])))
            scores = prefix_scores(network, trace)[0]
        return [self.model.classes[i] for i in scores.argmax(-1).tolist()]

    def explain(self, word: Word) -> dict[str, Any]:
        """The label, the path through the states, and how much every symbol speaks for it."""
        found = {
            name: explain_many(self.model, [word], method=method)[0]
            for name, method in METHODS.items()
        }
        plain = explained_dict(found["level"], word)
        shown = self.view.of_centroid
        path = [shown.get(state) for state in plain["states"]]
        return {
            **{key: plain[key] for key in ("word", "between", "probability")},
            "prediction": as_json(found["level"].prediction),
            "path": None if None in path else path,
            "weights": {name: rounded(one) for name, one in found.items()},
            "scales": {name: one.scale for name, one in found.items()},
        }

    def extract(self) -> dict[str, Any]:
        """The automaton and how far to trust it."""
        if self.reading is None:
            raise ReadingError(
                f"to read {self.name} some of its words are needed; start the server with --data"
            )
        return {**self.reading.to_dict(), "trust": self._trust}


Entry = Automaton | Network


def _drawn(model: Model) -> list[Word]:
    """Random words over the alphabet, of the lengths that were trained on."""
    random = np.random.default_rng(0)
    symbols, longest = model.alphabet.symbols, max(model.longest, 8)
    lengths = random.integers(0, longest + 1, DRAWN)
    picks = [random.integers(0, len(symbols), length) for length in lengths]
    words = [tuple(symbols[i] for i in pick) for pick in picks]
    return ["".join(map(str, w)) for w in words] if model.tokens == "chars" else list(words)
