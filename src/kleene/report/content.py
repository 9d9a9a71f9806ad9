"""Everything a report says, as plain values: the page turns them into sections.

A part that a model cannot have (a network without centroids has no prototypes) becomes a sentence
that says why.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import torch

from kleene.data.batch import make_batch
from kleene.data.examples import Examples
from kleene.errors import KleeneError
from kleene.evaluation.metrics import Evaluation, evaluate
from kleene.explain.explain import Explanation, explain_many
from kleene.explain.features import features
from kleene.explain.markup import as_json, as_text, joint
from kleene.explain.phrases import phrases
from kleene.explain.prototypes import prototypes
from kleene.machine import Label, Word
from kleene.model import Model
from kleene.reading import extract
from kleene.report.trust import trust
from kleene.report.view import view

READ, MAPPED, EXAMPLES, TRACED = 3_000, 800, 8, 24  # words looked at, mapped, explained, stepped
LONGEST = 400  # symbols of a word that is shown
UNITS = 16  # hidden units whose trajectory is shown
METHODS: dict[str, str | None] = {"level": "level", "evidence": None}
"""Ways of weighing symbols by their names on the page; None is the one that fits the model."""
VOCABULARY = 100  # symbols, beyond which an alphabet is one of words


def content(
    model: Model, words: Sequence[Word], labels: Sequence[Label], *, name: str, seed: int = 0
) -> dict[str, Any]:
    """All sections of a report about a model and some words; labels may be missing altogether."""
    chosen = np.random.default_rng(seed).permutation(len(words))[:READ].tolist()
    read = [words[i] for i in sorted(chosen)]
    result = _evaluated(model, words, labels)
    reading = extract(model, [_known(model, word) for word in read], method=_method(model))
    shown = view(model, reading, read)
    explained = _explained(model, words, labels, result)
    return {
        "format": "kleene.report/1",
        "name": name,
        "model": describe(model),
        "words": len(words),
        "labelled": bool(labels),
        "accuracy": result.accuracy if labels else None,
        "confusion": result.confusion.tolist() if labels else None,
        "history": [asdict(epoch) for epoch in model.history.epochs],
        "view": shown.to_dict(),
        "trust": trust(model, reading),
        "meaning": _or_reason(lambda: prototypes(model, read).to_dict()),
        "examples": explained,
        "samples": _samples(words, result),
        "phrases": _or_reason(lambda: phrases(model, read, n=2, min_count=2).to_dict()),
        "trajectories": _trajectories(model, explained if isinstance(explained, list) else []),
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
    numbers = {label: i for i, label in enumerate(model.classes)}
    of = np.array([numbers[label] for label in labels] if labels else [0] * len(words))
    return evaluate(model.network, Examples(words=model.alphabet.encode_many(words), labels=of))


def _explained(
    model: Model, words: Sequence[Word], labels: Sequence[Label], result: Evaluation
) -> Any:
    """Words of every kind: right and wrong ones of each class, the surest first."""
    sure = result.probabilities.max(-1)
    usable = [i for i in np.argsort(-sure, kind="stable").tolist() if 0 < len(words[i]) <= LONGEST]
    usable.sort(key=lambda i: len(words[i]) > 120)  # a reader's patience
    right = [i for i in usable if not labels or result.labels[i] == result.predicted[i]]
    kept = set(right)
    wrong = [i for i in usable if i not in kept]
    picked = [*_in_turns(right, result, TRACED - EXAMPLES), *_in_turns(wrong, result, EXAMPLES)]
    return _or_reason(lambda: _examples(model, words, labels, picked))


def _samples(words: Sequence[Word], result: Evaluation) -> list[str]:
    """Short words of all classes, for a reader to try."""
    found = {joint(words[i]).join(map(str, words[i])): i for i in range(len(words))}
    short = {i: text for text, i in found.items() if 3 <= len(words[i]) <= 12}
    return [short[i] for i in _in_turns(list(short), result, 5)]


def _in_turns(indices: Sequence[int], result: Evaluation, most: int) -> list[int]:
    """The first of each predicted class, then the second of each, and so on."""
    seen: dict[int, int] = {}
    turn = []
    for i in indices:
        predicted = int(result.predicted[i])
        seen[predicted] = seen.get(predicted, 0) + 1
        turn.append((seen[predicted], i))
    return [i for _, i in sorted(turn, key=lambda pair: pair[0])[:most]]


def _examples(
    model: Model, words: Sequence[Word], labels: Sequence[Label], picked: Sequence[int]
) -> list[dict[str, Any]]:
    some = [words[i] for i in picked]
    by_method = {name: explain_many(model, some, method=method) for name, method in METHODS.items()}
    return [
        {
            "label": as_text(labels[i]) if labels else None,
            "weights": {
                method: found[place].weights.astype(float).round(3).tolist()
                for method, found in by_method.items()
            },
            **explained_dict(by_method["level"][place], words[i]),
        }
        for place, i in enumerate(picked)
    ]


def explained_dict(explanation: Explanation, word: Word) -> dict[str, Any]:
    """A prediction and its path, as the page shows them."""
    return {
        "word": [as_json(symbol) for symbol in word],
        "between": joint(word),
        "prediction": as_text(explanation.prediction),
        "probability": round(explanation.probability, 4),
        "states": [explanation.start_state, *explanation.states.tolist()],
        "predicting": explanation.predicting_state,
    }


def _trajectories(model: Model, examples: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Hidden vector and memory along some of the explained words."""
    short = [i for i, one in enumerate(examples) if 3 <= len(one["word"]) <= 60]
    return [
        {"example": i, **_trajectory(model, examples[i])}
        for i in (short or range(len(examples)))[:4]
    ]


def _trajectory(model: Model, example: dict[str, Any]) -> dict[str, Any]:
    encoded = model.alphabet.encode_many([example["word"]])
    with torch.inference_mode():
        trace = model.network.trace(make_batch(encoded))
    parts = {"hidden": trace.hidden[0], "memory": None if trace.memory is None else trace.memory[0]}
    trajectory: dict[str, Any] = {}
    for name, values in parts.items():
        if values is None:
            continue
        lines = values.float().cpu().numpy()
        most_active = np.argsort(-np.abs(np.diff(lines, axis=0)).sum(0), kind="stable")[:UNITS]
        trajectory[name] = [
            {"unit": int(unit), "values": lines[:, unit].astype(float).round(3).tolist()}
            for unit in sorted(most_active.tolist())
        ]
    return trajectory


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
