"""Examples that a report shows: explained ones, and short ones to try."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from kleene.automata import DFA
from kleene.evaluation.metrics import Evaluation, Predictions
from kleene.explain.explain import Explanation, explain_many
from kleene.explain.markup import as_json, as_text, joint
from kleene.machine import Label, Word
from kleene.model import Model
from kleene.report.deciding import label_changes

MAX_WRONG, MAX_RIGHT = 8, 16  # examples that are explained
MAX_LENGTH, SHORT = 400, 120  # symbols of a word that is shown; words longer than SHORT come last


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
    model: Model,
    words: Sequence[Word],
    labels: Sequence[Label],
    picked: Sequence[int],
    dfa: DFA | None = None,
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
            **shown_weights(found, words[i], dfa),
        }
        for i, found in zip(picked, explain_many(model, [words[i] for i in picked]), strict=True)
    ]


def shown_weights(found: Explanation, word: Word, dfa: DFA | None) -> dict[str, Any]:
    """How much each symbol speaks for the label, and the weight of full colour.

    Where the network is an automaton, only symbols that change the label count.
    """
    changes = None if dfa is None else label_changes(dfa, word, found.prediction)
    if changes is not None:
        return {"weights": changes, "scale": 1.0}
    return {"weights": found.weights.astype(float).round(4).tolist(), "scale": found.scale}


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
