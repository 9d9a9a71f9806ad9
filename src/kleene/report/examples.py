"""Examples that a report shows: explained, traced, to try, and the distinct ones of each class."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from kleene.data.batch import make_batch
from kleene.evaluation.metrics import Evaluation, Predictions
from kleene.explain.explain import Explanation, explain_many
from kleene.explain.markup import as_json, as_text, joint
from kleene.machine import Label, Word
from kleene.model import Model
from kleene.nn.inference import inference

MAX_WRONG, MAX_EXPLAINED = 8, 24  # examples with a wrong answer, and all
MAX_LENGTH, SHORT = 400, 120  # symbols of a word that is shown; words longer than SHORT come last
MAX_UNITS = 16  # hidden units whose trajectory is shown
MAX_LISTED, MAX_LISTED_LENGTH = 5, 60  # distinct sequences of a class, and their symbols
METHODS: dict[str, str | None] = {"level": "level", "evidence": None}
"""Ways of weighing symbols by their names on the page; None is the one that fits the model."""


def pick(
    words: Sequence[Word], evaluation: Evaluation | None, result: Evaluation | Predictions
) -> list[int]:
    """Indices of different words: right and wrong ones of each class, the surest first."""
    sure = result.probabilities.max(-1)
    truth = result.predicted if evaluation is None else evaluation.labels
    fit = [i for i in np.argsort(-sure, kind="stable") if 0 < len(words[i]) <= MAX_LENGTH]
    different = {(tuple(words[i]), int(truth[i])): int(i) for i in reversed(fit)}
    usable = sorted(different.values(), key=lambda i: (len(words[i]) > SHORT, -sure[i]))
    right = [i for i in usable if truth[i] == result.predicted[i]]
    wrong = [i for i in usable if truth[i] != result.predicted[i]]
    most = MAX_EXPLAINED - MAX_WRONG
    return [*_in_turns(right, result, most), *_in_turns(wrong, result, MAX_WRONG)]


def explained(
    model: Model, words: Sequence[Word], labels: Sequence[Label], picked: Sequence[int]
) -> list[dict[str, Any]]:
    """The picked words with their predictions, paths and weights."""
    some = [words[i] for i in picked]
    by_method = {name: explain_many(model, some, method=method) for name, method in METHODS.items()}
    return [
        {
            "label": as_text(labels[i]) if labels else None,
            "weights": {name: rounded(found[place]) for name, found in by_method.items()},
            "scales": {name: found[place].scale for name, found in by_method.items()},
            **explained_dict(by_method["level"][place], words[i]),
        }
        for place, i in enumerate(picked)
    ]


def rounded(explanation: Explanation) -> list[float]:
    """The weights of an explanation, as the page shows them."""
    return [round(weight, 4) for weight in explanation.weights.astype(float).tolist()]


def explained_dict(explanation: Explanation, word: Word) -> dict[str, Any]:
    """A prediction and its path, as the page shows them."""
    return {
        "word": [as_json(symbol) for symbol in word],
        "between": joint(word),
        "prediction": as_text(explanation.prediction),
        "probability": explanation.probability,
        "states": [explanation.start_state, *explanation.states.tolist()],
        "predicting": explanation.predicting_state,
    }


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
    seen: dict[int, int] = {}
    turn = []
    for i in indices:
        predicted = int(result.predicted[i])
        seen[predicted] = seen.get(predicted, 0) + 1
        turn.append((seen[predicted], i))
    return [i for _, i in sorted(turn, key=lambda pair: pair[0])[:most]]


def unit_trajectories(
    model: Model, words: Sequence[Word], picked: Sequence[int]
) -> list[dict[str, Any]]:
    """Hidden vector and memory along some of the picked words, by their place among these."""
    short = [place for place, i in enumerate(picked) if 3 <= len(words[i]) <= 60]
    places = (short or list(range(len(picked))))[:4]
    return [{"example": place, **_trajectory(model, words[picked[place]])} for place in places]


def _trajectory(model: Model, word: Word) -> dict[str, Any]:
    with inference(model.network):
        trace = model.network.trace(make_batch(model.alphabet.encode_many([word])))
    parts = {"hidden": trace.hidden[0], "memory": None if trace.memory is None else trace.memory[0]}
    trajectory: dict[str, Any] = {}
    for name, values in parts.items():
        if values is None:
            continue
        lines = values.float().cpu().numpy()
        most_active = np.argsort(-np.abs(np.diff(lines, axis=0)).sum(0), kind="stable")[:MAX_UNITS]
        trajectory[name] = [
            {"unit": int(unit), "values": lines[:, unit].astype(float).round(3).tolist()}
            for unit in sorted(most_active.tolist())
        ]
    return trajectory


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
        return [
            {"word": [as_json(symbol) for symbol in text], "count": count} for text, count in found
        ]

    classes = []
    for label in dict.fromkeys(true):
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
        "classes": sorted(classes, key=lambda one: one["label"]),
        "wrong": [
            {**listed([(text, count)])[0], "label": as_text(label), "answer": as_text(answer)}
            for (text, label, answer), count in wrong.most_common(2 * MAX_LISTED)
        ],
        "wrong_distinct": len(wrong),
    }
