"""Everything a report says, as plain values: the page turns them into sections.

A part that a model cannot have (a network without centroids has no prototypes) becomes a sentence
that says why.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kleene.data.examples import Examples
from kleene.errors import KleeneError
from kleene.evaluation.metrics import Evaluation, Predictions, evaluate, predict
from kleene.explain.features import features
from kleene.explain.markup import as_text, joint
from kleene.explain.phrases import phrases
from kleene.explain.prototypes import prototypes
from kleene.extraction.extract import extract
from kleene.extraction.result import Extraction
from kleene.machine import Label, Word
from kleene.model import Model
from kleene.nn.classifier import adds_up
from kleene.report.deciding import deciding_sequences
from kleene.report.examples import explained, pick, samples
from kleene.report.figures import epoch_figures, figures
from kleene.report.plots import tsne_layout
from kleene.report.trust import trust
from kleene.report.view import view
from kleene.select import ORIGINS

MAX_READ, MAX_MAPPED = 3_000, 500  # words that are read, and laid out on the map
MAX_SECONDS = 4.0  # of active learning, where nothing else reads the network
VOCABULARY = 100  # symbols; larger alphabets are vocabularies of texts

Progress = Callable[[int, int], None]
"""Is called with the number of parts that are done, and of all."""


def content(
    model: Model,
    words: Sequence[Word],
    labels: Sequence[Label],
    *,
    name: str,
    seed: int = 0,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """All sections of a report about a model and some words; labels may be missing altogether."""
    show = progress or (lambda done, total: None)
    show(0, 1)
    result = _answers(model, words, labels)
    evaluation = result if isinstance(result, Evaluation) else None
    order = np.random.default_rng(seed).permutation(len(words)).tolist()
    read = [words[i] for i in sorted(order[:MAX_READ])]
    known = [known_part(model, word) for word in read]
    reading = extract(model, known, method=page_method(model), seconds=MAX_SECONDS)
    shown = view(model, reading, read)
    parts: dict[str, Callable[[], Any]] = {
        "figures": lambda: figures(model, words, evaluation),
        "view": shown.to_dict,
        "trust": lambda: trust(model, reading, read),
        "meaning": lambda: prototypes(model, read).to_dict(),
        "examples": lambda: explained(model, words, labels, pick(words, result), shown.exact_dfa),
        "samples": lambda: samples(model, words, result),
        "phrases": lambda: _phrases(model, reading, read),
        "map": lambda: _map(model, words, order[:MAX_MAPPED], result, seed),
    }
    made: dict[str, Any] = {}
    for part, make in parts.items():
        show(len(made) + 1, len(parts) + 1)
        try:
            made[part] = make()
        except KleeneError as error:
            made[part] = {"missing": str(error)}
    return {
        "format": "kleene.report/1",
        "name": name,
        "model": describe(model),
        "words": len(words),
        "labelled": bool(labels),
        "accuracy": None if evaluation is None else evaluation.accuracy,
        "confusion": None if evaluation is None else evaluation.confusion.tolist(),
        "history": [epoch_figures(epoch) for epoch in model.history.epochs],
        **made,
    }


def describe(model: Model) -> dict[str, Any]:
    """What kind of network it is."""
    config = model.network.config
    return {
        "cell": config.cell,
        "centroids": config.num_states,
        "hidden": config.hidden_size,
        "layers": config.num_layers,
        "pooling": config.pooling,
        "temperature": float(model.network.rnn.temperature) if config.num_states else None,
        "memory": bool(model.network.rnn.cell.has_memory),
        "symbols": len(model.alphabet.symbols),
        "classes": [as_text(label) for label in model.classes],
        "tokens": model.tokens,
        "longest": model.longest,
        "origin": ORIGINS.get(model.origin, "unknown"),
    }


def page_method(model: Model) -> str:
    """How `extract` reads a model for a page.

    Networks whose answer is a sum over all steps, and networks with a memory that read a
    vocabulary, have no faithful automaton: the cheapest method serves for them.
    """
    hopeless = len(model.alphabet.symbols) > VOCABULARY or adds_up(model.network)
    return "counts" if model.readable_by == "counts" and hopeless else "auto"


def _answers(
    model: Model, words: Sequence[Word], labels: Sequence[Label]
) -> Evaluation | Predictions:
    encoded = model.alphabet.encode_many(words)
    if not labels:
        return predict(model.network, encoded)
    numbers = np.array([model.class_ids[label] for label in labels])
    return evaluate(model.network, Examples(words=encoded, labels=numbers))


def known_part(model: Model, word: Word) -> Word:
    """A word without the symbols that the model does not know, which no automaton of it reads."""
    if all(symbol in model.alphabet for symbol in word):
        return word
    kept = [symbol for symbol in word if symbol in model.alphabet]
    return "".join(map(str, kept)) if isinstance(word, str) else tuple(kept)


def _phrases(model: Model, reading: Extraction, words: Sequence[Word]) -> dict[str, Any]:
    if reading.faithful and model.is_finite_state and len(model.alphabet.symbols) <= VOCABULARY:
        return {"deciding": True, "classes": deciding_sequences(reading.dfa, model.classes)}
    return phrases(model, words, n=2, min_count=2).to_dict()


def _map(
    model: Model,
    words: Sequence[Word],
    chosen: Sequence[int],
    result: Evaluation | Predictions,
    seed: int,
) -> dict[str, Any]:
    """Words as points, near each other when they spend their steps in the same states."""
    if len(chosen) < 10:
        return {"missing": f"{len(chosen)} words are too few for a map; give at least 10"}
    values = features(model.network, model.alphabet.encode_many([words[i] for i in chosen]))
    places = tsne_layout(values, seed)
    places = (places - places.min(0)) / np.maximum(np.ptp(places, axis=0), 1e-9)
    right = isinstance(result, Evaluation) and (result.predicted == result.labels)[chosen].tolist()
    return {
        "points": places.astype(float).round(3).tolist(),
        "classes": result.predicted[chosen].tolist(),
        "right": right or None,
        "words": [_short_text(words[i]) for i in chosen],
    }


def _short_text(word: Word, width: int = 80) -> str:
    """A word in one line, cut where it is long."""
    text = joint(word).join(as_text(symbol) for symbol in word[: width + 1])
    return text if len(text) <= width else text[: width - 1] + "…"
