"""Examples that a report shows: explained, traced, and to try."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from kleene.data.batch import make_batch
from kleene.evaluation.metrics import Evaluation
from kleene.explain.explain import Explanation, explain_many
from kleene.explain.markup import as_json, as_text, joint
from kleene.machine import Label, Word
from kleene.model import Model
from kleene.nn.inference import inference

EXAMPLES, TRACED = 8, 24  # wrong ones explained, all explained
LONGEST = 400  # symbols of a word that is shown
PATIENCE = 120  # symbols; longer words come last
UNITS = 16  # hidden units whose trajectory is shown
METHODS: dict[str, str | None] = {"level": "level", "evidence": None}
"""Ways of weighing symbols by their names on the page; None is the one that fits the model."""


def pick(words: Sequence[Word], labels: Sequence[Label], result: Evaluation) -> list[int]:
    """Indices of different words: right and wrong ones of each class, the surest first."""
    sure = result.probabilities.max(-1)
    usable = [i for i in np.argsort(-sure, kind="stable").tolist() if 0 < len(words[i]) <= LONGEST]
    usable = list({(tuple(words[i]), int(result.labels[i])): i for i in reversed(usable)}.values())
    usable.sort(key=lambda i: (len(words[i]) > PATIENCE, -sure[i]))
    right = [i for i in usable if not labels or result.labels[i] == result.predicted[i]]
    kept = set(right)
    wrong = [i for i in usable if i not in kept]
    return [*_in_turns(right, result, TRACED - EXAMPLES), *_in_turns(wrong, result, EXAMPLES)]


def explained(
    model: Model, words: Sequence[Word], labels: Sequence[Label], picked: Sequence[int]
) -> list[dict[str, Any]]:
    """The picked words with their predictions, paths and weights."""
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


def samples(model: Model, words: Sequence[Word], result: Evaluation) -> list[str]:
    """Short words of all classes, as a reader would type them."""
    found = {_typed(model, word): i for i, word in enumerate(words) if 3 <= len(word) <= 12}
    short = {i: text for text, i in found.items()}
    return [short[i] for i in _in_turns(list(short), result, 5)]


def _typed(model: Model, word: Word) -> str:
    if model.tokens == "symbols":
        return json.dumps([as_json(symbol) for symbol in word], ensure_ascii=False)
    return joint(word).join(map(str, word))


def _in_turns(indices: Sequence[int], result: Evaluation, most: int) -> list[int]:
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
        most_active = np.argsort(-np.abs(np.diff(lines, axis=0)).sum(0), kind="stable")[:UNITS]
        trajectory[name] = [
            {"unit": int(unit), "values": lines[:, unit].astype(float).round(3).tolist()}
            for unit in sorted(most_active.tolist())
        ]
    return trajectory
