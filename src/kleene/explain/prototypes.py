"""What the states stand for: Algorithm 2 of the paper.

For each state, the symbols that lead there with the highest transition probability; for each class,
those that do so in its words; and each state's own class, by classifying its centroid.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kleene.arrays import Ints
from kleene.data.alphabet import UNKNOWN, Alphabet
from kleene.distributed import SINGLE_PROCESS, ProcessGroup
from kleene.errors import DataError, ReadingError
from kleene.explain.batched_traces import Pass, passes, require_states
from kleene.explain.markup import as_json, as_text, columns, table
from kleene.explain.scoring import state_scores
from kleene.explain.weights import predicting_states
from kleene.extraction.corpus import blocks
from kleene.machine import Label, Symbol, Word
from kleene.nn.classifier import Classifier

MIN_COUNT = 5


@dataclass(frozen=True, kw_only=True)
class Prototype:
    """A symbol and how it leads to a state."""

    symbol: Symbol
    mean: float
    """Of the transition probability, over all its occurrences."""
    most: float
    """The highest transition probability among them."""
    count: int
    """Its occurrences."""

    def __str__(self) -> str:
        return f"{as_text(self.symbol)} ({self.mean:.2f})"


@dataclass(frozen=True, kw_only=True)
class Prototypes:
    """The prototypical symbols of all states and classes, the best first."""

    states: tuple[tuple[Prototype, ...], ...]
    """Of each state."""
    state_labels: tuple[Label, ...]
    """The class of each state alone: its centroid, classified (an LSTM's memory being zero)."""
    visits: tuple[float, ...]
    """The share of all steps at which each state is the most probable."""
    classes: dict[Label, tuple[Prototype, ...]]
    """For each class: within its words, by the probability of the state that predicts each."""

    def __str__(self) -> str:
        of_states = columns(self._header, self._state_rows())
        of_classes = columns(["class", "symbols"], self._class_rows())
        return f"{of_states}\n\n{of_classes}"

    def to_html(self) -> str:
        """Two tables."""
        return (
            table(self._header, self._state_rows())
            + "<br>"
            + table(["class", "symbols"], self._class_rows())
        )

    _repr_html_ = to_html

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "states": [
                {"state": i, "label": as_json(label), "visits": visits, "symbols": _listed(found)}
                for i, (label, visits, found) in enumerate(
                    zip(self.state_labels, self.visits, self.states, strict=True)
                )
            ],
            "classes": {str(label): _listed(found) for label, found in self.classes.items()},
        }

    _header = ("state", "class", "visits", "symbols")

    def _state_rows(self) -> list[list[str]]:
        return [
            [str(i), as_text(label), f"{visits:.1%}", ", ".join(map(str, found))]
            for i, (label, visits, found) in enumerate(
                zip(self.state_labels, self.visits, self.states, strict=True)
            )
        ]

    def _class_rows(self) -> list[list[str]]:
        return [
            [as_text(label), ", ".join(map(str, found))] for label, found in self.classes.items()
        ]


def prototypes(
    network: Classifier,
    alphabet: Alphabet | None,
    classes: Sequence[Label],
    words: Sequence[Word],
    *,
    labels: Sequence[Label] | None = None,
    top: int = 10,
    min_count: int = MIN_COUNT,
) -> Prototypes:
    """Read the prototypes off a corpus.

    A symbol counts for a state or class where it occurs at least `min_count` times (fewer where
    nothing does) and is ranked by its mean transition probability; with `min_count=1` rare symbols
    win. Classes are those of `labels` where these are given, else the predicted ones.
    """
    class_numbers(classes, labels, len(words))
    told = [None] * len(words) if labels is None else labels
    examples = zip(words, told, strict=True)
    return read_prototypes(network, alphabet, classes, examples, top=top, min_count=min_count)


def read_prototypes(
    network: Classifier,
    alphabet: Alphabet | None,
    classes: Sequence[Label],
    examples: Iterable[tuple[Word, Label | None]],
    *,
    top: int = 10,
    min_count: int = MIN_COUNT,
    process_group: ProcessGroup = SINGLE_PROCESS,
) -> Prototypes:
    """The same for words that come one by one with their labels, if any; processes share them."""
    require_states(network)
    if alphabet is None:
        raise ReadingError(
            "prototypes are symbols, but this network reads vectors; see `transition_maps`"
        )
    verdicts = state_scores(network).argmax(-1).cpu().numpy()
    tally = _Tally(len(alphabet), network.config.num_states, len(classes))
    with process_group.raise_together():
        for block in process_group.shard(blocks(examples, size=lambda example: len(example[0]))):
            words, labels = zip(*block, strict=True)
            known = None if labels[0] is None else labels
            given = class_numbers(classes, known, len(words))
            for done in passes(network, alphabet.encode_many(words)):
                of = done.predicted if given is None else given[done.batch.order]
                tally.add(done, predicting_states(done, verdicts), of)
    tally.pool(process_group)
    return Prototypes(
        states=tuple(
            _best(alphabet, tally.sums[:, i], tally.most[:, i], tally.counts, top, min_count)
            for i in range(network.config.num_states)
        ),
        state_labels=tuple(classes[i] for i in verdicts),
        visits=tuple((tally.visits / max(tally.visits.sum(), 1)).tolist()),
        classes={
            label: _best(
                alphabet,
                tally.class_sums[i],
                tally.class_most[i],
                tally.class_counts[i],
                top,
                min_count,
            )
            for i, label in enumerate(classes)
        },
    )


def class_numbers(
    classes: Sequence[Label], labels: Sequence[Label] | None, words: int
) -> Ints | None:
    """Labels as indices of classes; None for none."""
    if labels is None:
        return None
    if len(labels) != words:
        raise DataError(f"{len(labels)} labels came for {words} words; give one a word")
    numbers = {label: i for i, label in enumerate(classes)}
    for label in labels:
        if label not in numbers:
            known = ", ".join(map(repr, classes))[:120]
            raise DataError(f"the label {label!r:.40} is none of the network's classes, {known}")
    return np.array([numbers[label] for label in labels], dtype=np.int64)


class _Tally:
    """Sums over all steps of a corpus."""

    def __init__(self, symbols: int, states: int, classes: int) -> None:
        self.counts = np.zeros(symbols, np.int64)
        self.sums = np.zeros((symbols, states))
        self.most = np.zeros((symbols, states), np.float32)
        self.visits = np.zeros(states, np.int64)
        self.class_counts = np.zeros((classes, symbols), np.int64)
        self.class_sums = np.zeros((classes, symbols))
        self.class_most = np.zeros((classes, symbols), np.float32)

    def pool(self, process_group: ProcessGroup) -> None:
        """Make these the sums over the words of all processes."""
        for name, values in vars(self).items():
            largest = name.endswith("most")
            pooled = process_group.all_reduce_array(values, "MAX" if largest else "SUM")
            setattr(self, name, pooled)

    def add(self, done: Pass, predicting: Ints, of: Ints) -> None:
        row, time = np.nonzero(done.mask)
        ids = done.ids
        probs = done.probs[row, time + 1]  # steps state
        self.counts += np.bincount(ids, minlength=len(self.counts))
        places = (ids[:, None] * probs.shape[1] + np.arange(probs.shape[1])).ravel()
        np.add.at(self.sums.ravel(), places, probs.ravel())
        np.maximum.at(self.most.ravel(), places, probs.ravel())
        self.visits += np.bincount(probs.argmax(-1), minlength=len(self.visits))
        chosen = probs[np.arange(len(row)), predicting[row]]
        places = of[row] * len(self.counts) + ids
        np.add.at(self.class_counts.ravel(), places, 1)
        np.add.at(self.class_sums.ravel(), places, chosen)
        np.maximum.at(self.class_most.ravel(), places, chosen)


def _best(
    alphabet: Alphabet,
    sums: NDArray[np.float64],
    most: NDArray[np.float32],
    counts: Ints,
    top: int,
    min_count: int,
) -> tuple[Prototype, ...]:
    counts = counts.copy()
    counts[: UNKNOWN + 1] = 0
    frequent = np.flatnonzero(counts >= max(1, min(min_count, int(counts.max(initial=0)))))
    means = sums[frequent] / counts[frequent]
    best = frequent[np.lexsort((-counts[frequent], -means))[:top]]
    return tuple(
        Prototype(
            symbol=symbol,
            mean=float(sums[i] / counts[i]),
            most=float(most[i]),
            count=int(counts[i]),
        )
        for i, symbol in zip(best, alphabet.decode(best), strict=True)
    )


def _listed(found: Sequence[Prototype]) -> list[dict[str, Any]]:
    return [
        {"symbol": as_json(p.symbol), "mean": p.mean, "most": p.most, "count": p.count}
        for p in found
    ]
