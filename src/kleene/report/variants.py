"""Distinct sequences of each class: the shortest, the commonest, and those the model gets wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from kleene.explain.markup import as_json, as_text, joint
from kleene.machine import Label, Word

MOST = 5  # sequences in a list
LONGEST = 60  # symbols of a sequence that is listed


def variants(
    words: Sequence[Word], labels: Sequence[Label], predicted: Sequence[Label]
) -> dict[str, Any]:
    """For each class its shortest and commonest sequences; then those with another answer.

    Without labels the model's answers stand for them.
    """
    texts = [tuple(word) for word in words]
    short = [i for i, text in enumerate(texts) if len(text) <= LONGEST]
    if not short:
        return {"missing": f"no example has at most {LONGEST} symbols"}
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
                "shortest": listed(shortest[:MOST]),
                "commonest": listed(counts.most_common(MOST)),
            }
        )
    wrong = Counter((texts[i], true[i], predicted[i]) for i in short if true[i] != predicted[i])
    return {
        "between": " → " if spaced else joint(words[short[0]]),
        "classes": sorted(classes, key=lambda one: one["label"]),
        "wrong": [
            {**listed([(text, count)])[0], "label": as_text(label), "answer": as_text(answer)}
            for (text, label, answer), count in wrong.most_common(2 * MOST)
        ],
        "wrong_distinct": len(wrong),
    }
