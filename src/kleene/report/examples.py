"""Examples that a report shows: explained ones, short ones to try, the distinct ones of a class."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from kleene.evaluation.metrics import Evaluation, Predictions
from kleene.explain.explain import explain_many
from kleene.explain.markup import as_json, as_text, joint
from kleene.machine import Label, Word
from kleene.model import Model

MAX_WRONG, MAX_RIGHT = 8, 16  # examples that are explained
MAX_LENGTH, SHORT = 400, 120  # symbols of a word that is shown; words longer than SHORT come last
MAX_LISTED, MAX_LISTED_LENGTH = 5, 60  # distinct sequences of a class, and their symbols


def pick(words: Sequence[Word], result: Evaluation | Predictions) -> list[int]:
    """Indices of different words: right and wrong ones of each class, the surest first."""
    sure = result.probabilities.max(-1)
    truth = result.labels if isinstance(result, Evaluation) else result.predicted
    fit = [i for i in np.argsort(-sure, kind="stable") if 0 < len(words[i]) <= MAX_LENGTH]
    different = {(tuple(words[i]), int(truth[i])): int(i) for i in reversed(fit)}
    usable = sorted(different.values(), key=lambda i: (len(words[i]) > SHORT, -sure[i]))
    right = [i for i in usable if truth[i] == result.predicted[i]]
    wrong = [i for i in usable if truth[i] != result.predicted[i]]
    return [*_in_turns(right, result, MAX_RIGHT), *_in_turns(wrong, result, MAX_WRONG)]


def explained(
    model: Model, words: Sequence[Word], labels: Sequence[Label], picked: Sequence[int]
) -> list[dict[str, Any]]:
    """The picked words with their predictions, paths and weights."""
    return [
        {
            "label": as_text(labels[i]) if labels else None,
            "word": [as_json(symbol) for symbol in words[i]],
            "between": found.between,
            "prediction": as_text(found.prediction),
            "probability": found.probability,
            "states": [found.start_state, *found.states.tolist()],
            "weights": found.weights.astype(float).round(4).tolist(),
            "scale": found.scale,
        }
        for i, found in zip(picked, explain_many(model, [words[i] for i in picked]), strict=True)
    ]


def samples(model: Model, words: Sequence[Word], result: Predictions | Evaluation) -> list[str]:
    """Short words of all classes, as a reader would type them."""
    found = {_typed(model, word): i for i, word in enumerate(words) if 3 <= len(word) <= 12}
    short = {i: text for text, i in found.items()}
    return [short[i] for i in _in_turns(list(short), result, 5)]


def _typed(model: Model, word: Word) -> str:
    if model.tokens == "symbols":
        return json.dumps([as_json(symbol) for symbol in word], ensure_ascii=False)
    return joint(word).join(map(str, word))


def _in_turns(indices: Sequence[int], result: Predictions | Evaluation, most: int) -> list[int]:
    """The first of each predicted class, then the second of each, and so on."""
    seen: Counter[int] = Counter()
    turns = []
    for i in indices:
        predicted = int(result.predicted[i])
        seen[predicted] += 1
        turns.append((seen[predicted], i))
    return [i for _, i in sorted(turns, key=lambda pair: pair[0])[:most]]


def variants(
    words: Sequence[Word], labels: Sequence[Label], predicted: Sequence[Label]
) -> dict[str, Any]:
    """For each class its shortest and commonest sequences; then those with another answer.

    Without labels the model's answers stand for them.
    """
    texts = [tuple(word) for word in words]
    short = [i for i, text in enumerate(texts) if len(text) <= MAX_LISTED_LENGTH]
    if not short:
        return {"missing": f"no example has at most {MAX_LISTED_LENGTH} symbols"}
    if len({texts[i] for i in short}) == len(short) > 1:
        return {"missing": "every example is different"}
    spaced = any(" " in as_text(symbol) for i in short for symbol in texts[i])
    true = labels or predicted

    def listed(found: Iterable[tuple[tuple[Any, ...], int]]) -> list[dict[str, Any]]:
        return [{"word": [as_json(s) for s in text], "count": count} for text, count in found]

    classes = []
    for label in sorted(set(true), key=as_text):
        counts = Counter(texts[i] for i in short if true[i] == label)
        shortest = sorted(counts.items(), key=lambda pair: (len(pair[0]), -pair[1]))
        classes.append(
            {
                "label": as_text(label),
                "distinct": len(counts),
                "shortest": listed(shortest[:MAX_LISTED]),
                "commonest": listed(counts.most_common(MAX_LISTED)),
            }
        )
    wrong = Counter((texts[i], true[i], predicted[i]) for i in short if true[i] != predicted[i])
    return {
        "between": " → " if spaced else joint(words[short[0]]),
        "classes": classes,
        "wrong": [
            {**listed([(text, count)])[0], "label": as_text(label), "answer": as_text(answer)}
            for (text, label, answer), count in wrong.most_common(2 * MAX_LISTED)
        ],
        "wrong_distinct": len(wrong),
    }
