"""How good an explanation is, as a number: deletion and insertion curves.

Deletion takes the symbols out of a word, the weightiest first, and watches the probability of the
predicted class fall; the lower the area under that curve, the better the weights know what counts.
Insertion starts from the empty word and puts them in, each at its place; there high is good.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kleene.arrays import Floats, Ints
from kleene.errors import DataError
from kleene.evaluation.metrics import logits
from kleene.explain.attribution import Attribution, Random
from kleene.explain.markup import columns, table
from kleene.nn.classifier import Classifier

Doubles: TypeAlias = NDArray[np.float64]

FRACTIONS = (0.0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0)
RANDOM = "random"


@dataclass(frozen=True, kw_only=True)
class Curves:
    """One method's curves and the areas under them, one row a word."""

    method: str
    fractions: Doubles
    deletion: Doubles  # word fraction
    insertion: Doubles  # word fraction
    milliseconds: float
    """Of processor time, to explain one word."""

    @property
    def deletion_areas(self) -> Doubles:
        """Of each word; low is good."""
        areas: Doubles = np.asarray(np.trapezoid(self.deletion, self.fractions, axis=1))
        return areas

    @property
    def insertion_areas(self) -> Doubles:
        """Of each word; high is good."""
        areas: Doubles = np.asarray(np.trapezoid(self.insertion, self.fractions, axis=1))
        return areas

    @property
    def deletion_area(self) -> float:
        """The mean over all words."""
        return float(self.deletion_areas.mean())

    @property
    def insertion_area(self) -> float:
        """The mean over all words."""
        return float(self.insertion_areas.mean())


@dataclass(frozen=True, kw_only=True)
class Faithfulness:
    """The curves of several methods on the same words, chance among them."""

    curves: tuple[Curves, ...]

    def __getitem__(self, method: str) -> Curves:
        return next(found for found in self.curves if found.method == method)

    def beats_chance(self, method: str) -> tuple[bool, bool]:
        """Whether deletion and insertion are better than at random, by two standard errors."""
        ours, chance = self[method], self[RANDOM]
        gains = (
            chance.deletion_areas - ours.deletion_areas,
            ours.insertion_areas - chance.insertion_areas,
        )
        better = [bool(g.mean() > 2 * g.std(ddof=1) / np.sqrt(len(g))) for g in gains if len(g) > 1]
        return (better[0], better[1]) if better else (False, False)

    def __str__(self) -> str:
        return columns(self._header, self._rows())

    def to_html(self) -> str:
        """A table, a method a row."""
        return table(self._header, self._rows())

    _repr_html_ = to_html

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON: areas, mean curves, milliseconds."""
        return {
            "words": len(self.curves[0].deletion),
            "fractions": self.curves[0].fractions.tolist(),
            "methods": {
                found.method: {
                    "deletion_area": found.deletion_area,
                    "insertion_area": found.insertion_area,
                    "beats_chance": dict(
                        zip(("deletion", "insertion"), self.beats_chance(found.method), strict=True)
                    ),
                    "deletion": found.deletion.mean(0).tolist(),
                    "insertion": found.insertion.mean(0).tolist(),
                    "milliseconds": found.milliseconds,
                }
                for found in self.curves
            },
        }

    _header = ("method", "deletion (low is good)", "insertion (high)", "better than chance", "ms")

    def _rows(self) -> list[list[str]]:
        rows = []
        for found in self.curves:
            both = zip(("deletion", "insertion"), self.beats_chance(found.method), strict=True)
            better = " and ".join(name for name, won in both if won) or "no"
            rows.append(
                [
                    found.method,
                    f"{found.deletion_area:.3f}",
                    f"{found.insertion_area:.3f}",
                    "" if found.method == RANDOM else better,
                    f"{found.milliseconds:.2f}",
                ]
            )
        return rows


def faithfulness(
    network: Classifier,
    encoded: Sequence[Ints],
    methods: Mapping[str, Attribution],
    *,
    fractions: Sequence[float] = FRACTIONS,
) -> Faithfulness:
    """Measure some methods on the same words; chance is always among them.

    Words need at least one symbol. The time of a method is that of explaining all words at once,
    divided by their number.
    """
    if not len(encoded) or min(map(len, encoded)) == 0:
        raise DataError("words must have at least one symbol, got an empty word or none at all")
    predicted = logits(network, encoded).argmax(-1).numpy()
    every: dict[str, Attribution] = {RANDOM: Random(), **methods}
    curves = []
    for name, method in every.items():
        began = time.process_time()
        weights = method(network, encoded, predicted)
        spent = time.process_time() - began
        deletion, insertion = _curves(network, encoded, predicted, weights, fractions)
        curves.append(
            Curves(
                method=name,
                fractions=np.asarray(fractions, dtype=np.float64),
                deletion=deletion,
                insertion=insertion,
                milliseconds=1000 * spent / len(encoded),
            )
        )
    return Faithfulness(curves=tuple(curves))


def _curves(
    network: Classifier,
    encoded: Sequence[Ints],
    predicted: Ints,
    weights: Sequence[Floats],
    fractions: Sequence[float],
) -> tuple[Doubles, Doubles]:
    """Probabilities of the predicted class of words with symbols left out and put in."""
    left_out: list[Ints] = []
    put_in: list[Ints] = []
    for word, weight in zip(encoded, weights, strict=True):
        rank = np.empty(len(word), np.int64)
        rank[np.argsort(-weight, kind="stable")] = np.arange(len(word))
        for fraction in fractions:
            moved = rank < round(fraction * len(word))
            left_out.append(word[~moved])
            put_in.append(word[moved])
    probabilities = logits(network, left_out + put_in).softmax(-1).numpy()
    both = probabilities.reshape(2, len(encoded), len(fractions), -1)
    chosen = both[:, np.arange(len(encoded)), :, predicted]  # word curve fraction
    return chosen[:, 0].astype(np.float64), chosen[:, 1].astype(np.float64)
