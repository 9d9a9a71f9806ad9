"""How well a model does, each figure by its name and with the number of its rows.

Rows that a model was trained on say little about new ones, so the headline is the accuracy on rows
that it has not seen: the rows of the report, else the rows that training held out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from math import isfinite
from typing import Any

import numpy as np

from kleene.evaluation.figures import no_better_than_majority
from kleene.evaluation.metrics import Evaluation, wilson_interval
from kleene.evaluation.percent import percent
from kleene.explain.markup import as_text
from kleene.machine import Word
from kleene.model import Model
from kleene.training.history import Epoch


def figures(model: Model, words: Sequence[Word], result: Evaluation | None) -> dict[str, Any]:
    """Accuracies, baselines and the figures of each class; `result` is None without labels."""
    known = model.was_trained_on(words)
    stored = model.settings.get("data") or {}
    given = None if result is None else _figure(result.accuracy, len(words))
    held_out = _stored(stored, "held_out_accuracy", "held_out_rows")
    headline = _headline(given, held_out, known, stored.get("held_out_folds"))
    return {
        "headline": headline,
        "worth": worth(model, result, headline),
        "trained_on": known,
        "warning": _warning(len(words), known, given),
        "given": given,
        "training": _stored(stored, "training_accuracy", "training_rows"),
        "validation": _stored(stored, "validation_accuracy", "validation_rows"),
        "held_out": held_out,
        "baseline": _stored(stored, "baseline_accuracy", "held_out_rows"),
        "majority": None if result is None else result.majority_accuracy,
        "held_out_majority": _stored(stored, "majority_accuracy", "held_out_rows"),
        "per_class": [] if result is None else _per_class(model, result),
    }


def _stored(stored: dict[str, Any], accuracy: str, rows: str) -> dict[str, Any] | None:
    """A figure that the training left in the model folder."""
    if stored.get(accuracy) is None or not stored.get(rows):
        return None
    return _figure(stored[accuracy], stored[rows])


def _figure(accuracy: float, rows: int) -> dict[str, Any]:
    """An accuracy with its rows and its 95 % interval."""
    interval = wilson_interval(round(accuracy * rows), rows)
    return {"accuracy": accuracy, "rows": rows, "interval": interval}


def _headline(
    given: dict[str, Any] | None,
    held_out: dict[str, Any] | None,
    known: float | None,
    folds: int | None,
) -> dict[str, Any] | None:
    if given is not None and known == 0:
        return {"name": "Test accuracy", **given, "note": "none of them trained on"}
    if held_out is not None:
        how = f"by {folds}-fold cross-validation" if folds else "kept back from training"
        return {"name": "Held-out accuracy", **held_out, "note": how}
    if given is None:
        return None
    if known is None:
        return {"name": "Accuracy", **given, "note": "trained on or not: unknown"}
    return {"name": "Training accuracy", **given, "note": f"{percent(known)} of them trained on"}


def worth(
    model: Model, result: Evaluation | None = None, headline: dict[str, Any] | None = None
) -> str | None:
    """What must be said first of a model that may be worth nothing, by the rows of the headline."""
    from kleene.fitting import MIN_VALIDATION

    data, name = model.settings.get("data") or {}, headline and headline["name"]
    rows, fresh = data.get("rows", MIN_VALIDATION), name in ("Test accuracy", "Accuracy")
    if rows < MIN_VALIDATION and not (fresh or data.get("held_out_interval")):
        return f"unknown, as {rows} rows are too few to say; give {MIN_VALIDATION} or more"
    label = model.no_better_than
    if headline is not None and result is not None and name != "Held-out accuracy":
        counts = np.bincount(result.labels, minlength=len(model.classes)).tolist()
        found = no_better_than_majority(headline["interval"], counts)
        label = None if found is None else model.classes[found]
    return None if label is None else f"no better than always answering {as_text(label)}"


def _warning(rows: int, known: float | None, given: dict[str, Any] | None) -> str | None:
    if not known:
        return None
    some = f"The {rows:,} examples" if known == 1 else f"{percent(known)} of the {rows:,} examples"
    text = f"{some} of this report were among those given to training"
    if given is None:
        return f"{text}."
    return f"{text}; accuracy on them ({percent(given['accuracy'])}) says little about new ones."


def _per_class(model: Model, result: Evaluation) -> list[dict[str, Any]]:
    pairs = zip(model.classes, result.per_class, strict=True)
    return [{**asdict(one), "label": as_text(label)} for label, one in pairs]


def epoch_figures(epoch: Epoch) -> dict[str, Any]:
    """The figures of an epoch; None where one overflowed, or where a file has no number."""
    found: dict[str, Any] = {"stage": str(epoch.stage)}
    for name, value in asdict(epoch).items():
        if name not in ("stage", "notes"):
            finite = isinstance(value, int | float) and isfinite(value)
            found[name] = value if finite else None
    return found
