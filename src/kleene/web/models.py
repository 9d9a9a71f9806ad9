"""The served models, and what can be asked of them; nothing here knows of HTTP."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path
from typing import Any

import numpy as np

from kleene.automata.symbols import spell
from kleene.data.alphabet import UNKNOWN
from kleene.errors import ExtractionError
from kleene.evaluation.metrics import logits
from kleene.explain.explain import explain_many
from kleene.explain.markup import as_json
from kleene.extraction.extract import extract
from kleene.machine import Word, label_texts
from kleene.model import Model
from kleene.nn.fused import load_kernels
from kleene.proof import require
from kleene.report.content import VOCABULARY, describe, known_part, page_method
from kleene.report.examples import shown_weights
from kleene.report.trust import trust
from kleene.report.view import states_view, view

WARM_UP = (0, 5, 500)  # lengths of words: short ones take the plain loop, long ones the kernels
DRAWN = 500  # random words for reading a model without --data


@dataclass(frozen=True, kw_only=True)
class Answer:
    """A label, and the probabilities of all classes."""

    label: Any
    probabilities: dict[str, float]
    unknown: int = 0
    """Number of symbols that are not in the alphabet."""


@dataclass(frozen=True, kw_only=True)
class Explained:
    """A label and its reasons."""

    word: list[Any]
    between: str
    """The text between two symbols."""
    prediction: Any
    probability: float
    path: list[int] | None
    """States of /automaton, the state before the word first."""
    weights: list[float]
    """How much each symbol speaks for the label."""
    scale: float
    """The weight that is shown in full colour."""


class Served:
    """A served model; its automaton is extracted when it is loaded."""

    def __init__(self, name: str, model: Model, words: Sequence[Word] = ()) -> None:
        self.name, self.model, self.reading = name, model, None
        self.tokens, self.layout = model.tokens, model.layout
        model.network.eval()
        load_kernels()
        for length in WARM_UP:  # so that no request waits for the kernels
            self.predict([model.alphabet.symbols[:1] * length] * 8)
        small = len(model.alphabet.symbols) <= VOCABULARY
        given = [known_part(model, word) for word in words] or (_drawn(model) if small else [])
        if given or model.is_finite_state or not model.network.config.num_states:
            reading = extract(model, given or None, method=page_method(model))
            self.view = view(model, reading, given)
            found = trust(model, reading, list(words), own=bool(words))
            self.reading = {**reading.to_dict(), "trust": found}
        else:
            self.view = states_view(model)

    def describe(self) -> dict[str, Any]:
        """Name, classes, tokens and the network's settings."""
        explains = self.model.network.config.num_states > 0
        return {"name": self.name, **describe(self.model), "explains": explains}

    def predict(self, words: Sequence[Word]) -> list[Answer]:
        """The label and the probabilities of every word."""
        model = self.model
        encoded = model.alphabet.encode_many(words)
        scores = logits(model.network, encoded)
        rows = scores.softmax(-1).double().numpy().round(6)
        names = label_texts(model.classes)
        return [
            Answer(
                label=as_json(model.classes[best]),
                probabilities=dict(zip(names, row.tolist(), strict=True)),
                unknown=int((ids == UNKNOWN).sum()),
            )
            for row, best, ids in zip(rows, scores.argmax(-1).tolist(), encoded, strict=True)
        ]

    def explain(self, word: Word) -> Explained:
        """The label, the path through the states, and the weight of every symbol."""
        (found,) = explain_many(self.model, [word])
        states = [found.start_state, *found.states.tolist()]
        path = [self.view.of_centroid[s] for s in states if s in self.view.of_centroid]
        return Explained(
            word=[as_json(symbol) for symbol in word],
            between=found.between,
            prediction=as_json(found.prediction),
            probability=found.probability,
            path=path if len(path) == len(states) else None,
            **shown_weights(found, word, self.view.exact_dfa),
        )

    def extract(self) -> dict[str, Any]:
        """The automaton and how far to trust it."""
        if self.reading is None:
            raise ExtractionError(
                f"reading {self.name} needs some of its words; start the server with --data"
            )
        return self.reading


Models = dict[str, Served]
"""What is served, by name; the first is meant if a request names none."""


def load_models(
    paths: Sequence[Path], words: Sequence[Any] = (), proof: Path | None = None
) -> Models:
    """Load model folders; `words` are texts to read them on.

    With a `proof`, models that it does not hold of are refused.
    """
    found: Models = {}
    for path in paths:
        base = path.resolve().name or "model"
        names = chain((base,), (f"{base}-{i}" for i in count(2)))
        name = next(name for name in names if name not in found)
        model = Model.load(path)
        if proof is not None:
            require(model, proof)
        found[name] = Served(name, model, model.words(list(words)))
    return found


def _drawn(model: Model) -> list[Word]:
    """Random words over the alphabet, of the lengths seen in training."""
    random, symbols = np.random.default_rng(0), model.alphabet.symbols
    lengths = random.integers(0, max(model.longest, 8) + 1, DRAWN)
    picks = [random.integers(0, len(symbols), length).tolist() for length in lengths]
    return [spell([symbols[i] for i in pick], symbols) for pick in picks]
