"""The served models and automata, and what can be asked of them; nothing here knows of HTTP."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, count
from pathlib import Path
from typing import Any

import numpy as np

from kleene.automata import DFA
from kleene.automata.compare import difference
from kleene.automata.symbols import spelled_by_characters
from kleene.data.alphabet import UNKNOWN
from kleene.data.batch import make_batch
from kleene.data.layout import NO_LAYOUT, Layout
from kleene.errors import ExtractionError
from kleene.evaluation.metrics import logits
from kleene.explain.explain import explain_many
from kleene.explain.markup import as_json, as_text
from kleene.explain.traces import prefix_scores
from kleene.extraction.extract import extract
from kleene.machine import Label, Word
from kleene.model import Model
from kleene.nn.fused import load_kernels
from kleene.nn.inference import inference
from kleene.proof import require
from kleene.report.content import VOCABULARY, describe, page_method
from kleene.report.examples import METHODS, explained_dict, rounded
from kleene.report.trust import trust
from kleene.report.view import View, automaton_view, states_view, view
from kleene.web.background import check

WARM_UP = (0, 5, 500)  # lengths of words: short ones take the plain loop, long ones the kernels
DRAWN = 500  # random words for reading a model without --data


@dataclass(frozen=True, kw_only=True)
class Answer:
    """A label and, if a network gave it, the probabilities of all classes."""

    label: Label
    probabilities: dict[str, float] | None = None
    unknown: int = 0
    """Number of symbols that are not in the alphabet."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "label": as_json(self.label),
            "probabilities": self.probabilities,
            "unknown": self.unknown,
        }


class Automaton:
    """A served DFA."""

    layout = NO_LAYOUT

    def __init__(self, name: str, dfa: DFA) -> None:
        self.name, self.dfa = name, dfa
        self.view = automaton_view(dfa)

    def warm_up(self) -> None:
        """Do nothing: an automaton needs no compiled code."""

    @property
    def tokens(self) -> str:
        """How a text becomes a word."""
        if spelled_by_characters(self.dfa.alphabet):
            return "chars"
        return "words" if all(isinstance(s, str) for s in self.dfa.alphabet) else "symbols"

    def describe(self) -> dict[str, Any]:
        """Name, kind, classes and tokens."""
        return {
            "name": self.name,
            "kind": "automaton",
            "tokens": self.tokens,
            "classes": sorted({as_text(label) for label in self.dfa.outputs}),
            "symbols": len(self.dfa.alphabet),
            "explains": True,
        }

    def predict(self, words: Sequence[Word]) -> list[Answer]:
        """The label of every word; an unknown symbol is an error."""
        return [Answer(label=self.dfa.run(word)) for word in words]

    def predict_prefixes(self, word: Word) -> list[Label]:
        """The label of every prefix of a word, the empty prefix first."""
        return [self.dfa.outputs[state] for state in self.dfa.trace(word)]

    def explain(self, word: Word) -> dict[str, Any]:
        """The label and the path of states that leads to it."""
        states = self.dfa.trace(word)
        return {
            "word": [as_json(symbol) for symbol in word],
            "between": "" if isinstance(word, str) else " ",
            "prediction": as_json(self.dfa.outputs[states[-1]]),
            "probability": None,
            "path": states,
            "weights": None,
            "scales": None,
        }

    def extract(self) -> dict[str, Any]:
        """Refuse: an automaton needs no reading."""
        raise ExtractionError(f"{self.name} is an automaton already; ask for /automaton")

    def faithful_dfa(self) -> DFA:
        """The automaton itself."""
        return self.dfa


class Network:
    """A served model; its automaton is extracted when it is loaded."""

    def __init__(self, name: str, model: Model, words: Sequence[Word] = ()) -> None:
        self.name, self.model = name, model
        model.network.eval()
        self.warm_up()
        small = len(model.alphabet.symbols) <= VOCABULARY
        given = list(words) or (_drawn(model) if small else [])
        self.reading = None
        if given or model.is_finite_state or not model.network.config.num_states:
            self.reading = extract(model, given or None, method=page_method(model))
        self.view: View
        if self.reading is None:
            self.view, self._trust = states_view(model), None
        else:
            self.view = view(model, self.reading, given)
            self._trust = trust(model, self.reading, list(words), own=bool(words))

    def warm_up(self) -> None:
        """Compile and load the kernels now, so that no request waits for them."""
        load_kernels(self.model.network.rnn.cell)
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
        """Name, kind, classes, tokens and the network's settings."""
        explains = self.model.network.config.num_states > 0
        return {"name": self.name, "kind": "model", **describe(self.model), "explains": explains}

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
        """The label of every prefix of a word, the empty prefix first, from one pass."""
        network = self.model.network
        with inference(network):
            trace = network.trace(make_batch(self.model.alphabet.encode_many([word])))
            scores = prefix_scores(network, trace)[0]
        return [self.model.classes[i] for i in scores.argmax(-1).tolist()]

    def explain(self, word: Word) -> dict[str, Any]:
        """The label, the path through the states, and the weight of every symbol."""
        found = {
            name: explain_many(self.model, [word], method=method)[0]
            for name, method in METHODS.items()
        }
        plain = explained_dict(found["level"], word)
        path = [self.view.of_centroid.get(state) for state in plain["states"]]
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
            raise ExtractionError(
                f"reading {self.name} needs some of its words; start the server with --data"
            )
        return {**self.reading.to_dict(), "trust": self._trust}

    def faithful_dfa(self) -> DFA:
        """The extracted automaton, if it agrees with the network on every word."""
        if self.reading is None or not self.reading.faithful:
            raise ExtractionError(
                f"{self.name} has no automaton that agrees with it on every word, so a difference "
                "cannot be searched for; compare the two on words"
            )
        return self.reading.dfa


Entry = Automaton | Network


@dataclass(frozen=True)
class ModelRegistry:
    """All entries by name; the first is meant if a request names none."""

    entries: Mapping[str, Entry] = field(default_factory=dict)

    @classmethod
    def load(
        cls, paths: Sequence[Path], words: Sequence[Any] = (), proof: Path | None = None
    ) -> ModelRegistry:
        """Load models (folders) and automata (JSON files); `words` are texts to read them on.

        With a `proof`, models that it does not hold of are refused.
        """
        entries: dict[str, Entry] = {}
        for path in paths:
            base = path.resolve().name.removesuffix(".json") or "model"
            names = chain((base,), (f"{base}-{i}" for i in count(2)))
            name = next(name for name in names if name not in entries)
            if path.is_file():
                entries[name] = Automaton(name, DFA.load(path))
            else:
                model = Model.load(path)
                if proof is not None:
                    require(model, proof)
                entries[name] = Network(name, model, _known(model, words))
        return cls(entries)

    def __getitem__(self, name: str | None) -> Entry:
        if name is None:
            return next(iter(self.entries.values()))
        if name not in self.entries:
            raise KeyError(f"no model {name[:80]!r} here; there is {', '.join(self.entries)}")
        return self.entries[name]

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries.values())


def first_difference(one: Entry, two: Entry, word: Word) -> dict[str, Any]:
    """Both answers after every prefix of a word, and the length of the first that differs."""
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


def shortest_difference(one: Entry, two: Entry) -> Word | None:
    """A shortest word on which two models differ, None if they are equal."""
    a, b = one.faithful_dfa(), two.faithful_dfa()
    by_text = {as_text(label): label for label in a.outputs}
    outputs = (x if x in a.outputs else by_text.get(as_text(x), x) for x in b.outputs)
    return difference(a, replace(b, outputs=tuple(outputs)), check=check)  # labels spelled alike


def _known(model: Model, words: Sequence[Any]) -> list[Word]:
    kept = [tuple(s for s in word if s in model.alphabet) for word in model.words(list(words))]
    return ["".join(map(str, w)) for w in kept] if model.tokens == "chars" else list(kept)


def _drawn(model: Model) -> list[Word]:
    """Random words over the alphabet, of the lengths seen in training."""
    random = np.random.default_rng(0)
    symbols, longest = model.alphabet.symbols, max(model.longest, 8)
    lengths = random.integers(0, longest + 1, DRAWN)
    picks = [random.integers(0, len(symbols), length) for length in lengths]
    words = [tuple(symbols[i] for i in pick) for pick in picks]
    return ["".join(map(str, w)) for w in words] if model.tokens == "chars" else list(words)
