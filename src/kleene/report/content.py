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
from kleene.evaluation.metrics import Evaluation, evaluate
from kleene.explain.features import features
from kleene.explain.markup import as_text, joint
from kleene.explain.phrases import phrases
from kleene.explain.prototypes import prototypes
from kleene.machine import Label, Word
from kleene.model import Model
from kleene.reading import extract
from kleene.report.examples import explained, pick, samples, unit_trajectories
from kleene.report.figures import epoch_figures, figures
from kleene.report.trust import trust
from kleene.report.variants import variants
from kleene.report.view import view

READ, MAPPED = 3_000, 800  # words that are read and mapped
VOCABULARY = 100  # symbols, beyond which an alphabet is one of words


def content(
    model: Model, words: Sequence[Word], labels: Sequence[Label], *, name: str, seed: int = 0
) -> dict[str, Any]:
    """All sections of a report about a model and some words; labels may be missing altogether."""
    chosen = np.random.default_rng(seed).permutation(len(words))[:READ].tolist()
    read = [words[i] for i in sorted(chosen)]
    result = _evaluated(model, words, labels)
    reading = extract(model, [_known(model, word) for word in read], method=_method(model))
    picked = pick(words, labels, result)
    shown = _or_reason(lambda: explained(model, words, labels, picked))
    return {
        "format": "kleene.report/1",
        "name": name,
        "model": describe(model),
        "words": len(words),
        "labelled": bool(labels),
        "accuracy": result.accuracy if labels else None,
        "figures": figures(model, words, result if labels else None),
        "confusion": result.confusion.tolist() if labels else None,
        "history": [epoch_figures(epoch) for epoch in model.history.epochs],
        "view": view(model, reading, read).to_dict(),
        "trust": trust(model, reading, read),
        "meaning": _or_reason(lambda: prototypes(model, read).to_dict()),
        "examples": shown,
        "samples": samples(model, words, result),
        "variants": variants(words, labels, [model.classes[i] for i in result.predicted.tolist()]),
        "phrases": _or_reason(lambda: phrases(model, read, n=2, min_count=2).to_dict()),
        "trajectories": unit_trajectories(model, words, picked if isinstance(shown, list) else []),
        "map": _or_reason(lambda: _tsne(model, words, labels, result, seed)),
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
    }


def _method(model: Model) -> str:
    """Beside a memory, and over a vocabulary, no automaton is faithful: the plainest will do."""
    config, symbols = model.network.config, len(model.alphabet.symbols)
    beside = model.network.rnn.cell.has_memory or config.pooling != "last"
    return "counts" if beside and config.num_states and symbols > VOCABULARY else "auto"


def _known(model: Model, word: Word) -> Word:
    """A word without the symbols that the model does not know, which no automaton of it reads."""
    if all(symbol in model.alphabet for symbol in word):
        return word
    kept = [symbol for symbol in word if symbol in model.alphabet]
    return "".join(map(str, kept)) if isinstance(word, str) else tuple(kept)


def _or_reason(make: Callable[[], Any]) -> Any:
    try:
        return make()
    except KleeneError as error:
        return {"missing": str(error)}


def _evaluated(model: Model, words: Sequence[Word], labels: Sequence[Label]) -> Evaluation:
    of = np.array([model.class_ids[label] for label in labels] if labels else [0] * len(words))
    return evaluate(model.network, Examples(words=model.alphabet.encode_many(words), labels=of))


def _tsne(
    model: Model, words: Sequence[Word], labels: Sequence[Label], result: Evaluation, seed: int
) -> dict[str, Any]:
    """Words as points, near each other when they spend their steps in the same states."""
    from sklearn.manifold import TSNE

    chosen = np.random.default_rng(seed).permutation(len(words))[:MAPPED]
    if len(chosen) < 10:
        return {"missing": f"{len(chosen)} words are too few for a map; give at least 10"}
    values = features(model.network, model.alphabet.encode_many([words[i] for i in chosen]))
    rounded = np.round(values, 3) + np.random.default_rng(seed).normal(0, 1e-4, values.shape)
    perplexity = min(30.0, (len(values) - 1) / 3)
    places = TSNE(perplexity=perplexity, init="pca", random_state=seed).fit_transform(rounded)
    places = (places - places.min(0)) / np.maximum(np.ptp(places, axis=0), 1e-9)
    return {
        "points": places.astype(float).round(3).tolist(),
        "classes": result.predicted[chosen].tolist(),
        "right": (result.predicted == result.labels)[chosen].tolist() if labels else None,
        "words": [short_text(words[i]) for i in chosen],
    }


def short_text(word: Word, most: int = 80) -> str:
    """A word in one line, cut where it is long."""
    text = joint(word).join(as_text(symbol) for symbol in word[:most])
    return text if len(text) <= most and len(word) <= most else text[: most - 1] + "…"
