"""What the states stand for: Algorithm 2 of the paper.

For each state, the symbols that lead there with the highest transition probability; for each class,
the symbols that lead to its states; and each state's own class and weight, where it has them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kleene.arrays import Floats, Ints
from kleene.data.alphabet import UNKNOWN, Alphabet
from kleene.distributed import SINGLE_PROCESS, ProcessGroup
from kleene.errors import DataError
from kleene.explain.batched_traces import (
    TracedBatch,
    batched_traces,
    encode,
    require_states,
    require_symbols,
)
from kleene.explain.markup import Rendered, Table, as_json, as_text, percent
from kleene.explain.methods import predicting_states
from kleene.explain.scoring import NEUTRAL, label_text, state_labels, state_leads
from kleene.extraction.corpus import blocks
from kleene.machine import Label, Symbol, Word
from kleene.model import Model

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
class Prototypes(Rendered):
    """The prototypical symbols of all states and classes, the best first."""

    states: tuple[tuple[Prototype, ...], ...]
    """Of each state."""
    state_labels: tuple[Label | None, ...]
    """The class that each state stands for, or None."""
    visits: tuple[float, ...]
    """The share of all steps at which each state is the most probable."""
    classes: dict[Label, tuple[Prototype, ...]]
    """For each class, within its words: by the weight of the states a symbol leads to, where states
    have weights, else by the probability of the state that predicts each word."""
    weights: tuple[tuple[float, ...], ...] | None = None
    """Of each state for each class against the others; None where states have none. They are
    weights of the network itself: with the bias they add up to its logits."""

    def tables(self) -> list[Table]:
        """A state a row, then a class a row."""
        of_states = [
            [str(i), self._class(i), percent(visits), ", ".join(map(str, found))]
            for i, (visits, found) in enumerate(zip(self.visits, self.states, strict=True))
        ]
        of_classes = [
            [as_text(label), ", ".join(map(str, found))] for label, found in self.classes.items()
        ]
        header = ("state", "class", "visits", "symbols")
        return [(header, of_states), (("class", "symbols"), of_classes)]

    @property
    def notes(self) -> tuple[str, ...]:  # type: ignore[override]
        """What the weights of states are, where there are any."""
        if self.weights is None:
            return ()
        return (
            "Weights of states are the network's own: with the bias they add up to its logits.",
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "states": [
                {
                    "state": i,
                    "label": as_json(label),
                    "weights": None if self.weights is None else self._weights(i),
                    "neutral": self._is_neutral(i),
                    "visits": visits,
                    "symbols": _listed(found),
                }
                for i, (label, visits, found) in enumerate(
                    zip(self.state_labels, self.visits, self.states, strict=True)
                )
            ],
            "classes": {str(label): _listed(found) for label, found in self.classes.items()},
        }

    def _weights(self, state: int) -> dict[str, float]:
        assert self.weights is not None
        return dict(zip(map(str, self.classes), self.weights[state], strict=True))

    def _class(self, state: int) -> str:
        """The class of a state, with its weight where it has one."""
        label = self.state_labels[state]
        if self.weights is None:
            return label_text(label)
        unnamed = "neutral" if self._is_neutral(state) else "mixed"
        return f"{unnamed if label is None else as_text(label)} {max(self.weights[state]):+.1f}"

    def _is_neutral(self, state: int) -> bool:
        """Whether a state's weight is small compared with the greatest."""
        if self.weights is None:
            return False
        leads = [max(row) for row in self.weights]
        return leads[state] < NEUTRAL * max(leads)


def prototypes(
    model: Model,
    words: Sequence[Word],
    *,
    labels: Sequence[Label] | None = None,
    top: int = 10,
    min_count: int = MIN_COUNT,
) -> Prototypes:
    """Read the prototypes off a corpus.

    A symbol counts for a state or class where it occurs at least `min_count` times (fewer where
    nothing does) and is ranked by its mean transition probability; with `min_count=1` rare symbols
    win. Classes come from `labels` where given, else from the predictions.
    """
    class_numbers(model, labels, len(words))
    known = [None] * len(words) if labels is None else labels
    examples = zip(words, known, strict=True)
    return read_prototypes(model, examples, top=top, min_count=min_count)


def read_prototypes(
    model: Model,
    examples: Iterable[tuple[Word, Label | None]],
    *,
    top: int = 10,
    min_count: int = MIN_COUNT,
    process_group: ProcessGroup = SINGLE_PROCESS,
) -> Prototypes:
    """The same for words that come one by one with their labels, if any; processes share them."""
    network = model.network
    require_states(network)
    require_symbols(model, "prototypes")
    leads = state_leads(model)
    one_state = np.eye(network.config.num_states, dtype=np.float32)
    sums = _Sums(len(model.alphabet), network.config.num_states, len(model.classes))
    with process_group.raise_together():
        for block in process_group.shard(blocks(examples, size=lambda example: len(example[0]))):
            words, labels = zip(*block, strict=True)
            given = class_numbers(model, None if labels[0] is None else labels, len(words))
            for traced in batched_traces(network, encode(model, words)):
                of = traced.predicted if given is None else given[traced.batch.order]
                predicting = predicting_states(network, traced)
                sums.add(traced, one_state[predicting] if leads is None else leads.T[of], of)
    sums.all_reduce(process_group)
    best = partial(_best, model.alphabet, top=top, min_count=min_count)
    return Prototypes(
        states=tuple(
            best(sums.probs[:, i], sums.most[:, i], sums.counts)
            for i in range(network.config.num_states)
        ),
        state_labels=state_labels(model, sums.visits),
        weights=None if leads is None else tuple(map(tuple, leads.tolist())),
        visits=tuple((sums.visits.sum(0) / max(sums.visits.sum(), 1)).tolist()),
        classes={
            label: best(sums.class_weights[i], sums.class_most[i], sums.class_counts[i])
            for i, label in enumerate(model.classes)
        },
    )


def class_numbers(model: Model, labels: Sequence[Label] | None, words: int) -> Ints | None:
    """Labels as indices of classes; None for none."""
    if labels is None:
        return None
    if len(labels) != words:
        raise DataError(f"expected one label a word, got {len(labels)} labels for {words} words")
    for label in labels:
        if label not in model.class_ids:
            known = ", ".join(map(repr, model.classes))[:120]
            raise DataError(f"labels must be classes of the network, {known}; got {label!r:.40}")
    return np.array([model.class_ids[label] for label in labels], dtype=np.int64)


class _Sums:
    """Sums over all steps of a corpus."""

    def __init__(self, symbols: int, states: int, classes: int) -> None:
        self.counts = np.zeros(symbols, np.int64)
        self.probs = np.zeros((symbols, states))
        self.most = np.zeros((symbols, states), np.float32)
        self.visits = np.zeros((classes, states), np.int64)
        self.class_counts = np.zeros((classes, symbols), np.int64)
        self.class_weights = np.zeros((classes, symbols))
        self.class_most = np.full((classes, symbols), -np.inf, np.float32)

    def all_reduce(self, process_group: ProcessGroup) -> None:
        """Make these the sums over the words of all processes."""
        for name, values in vars(self).items():
            largest = name.endswith("most")
            pooled = process_group.all_reduce_array(values, "MAX" if largest else "SUM")
            setattr(self, name, pooled)

    def add(self, traced: TracedBatch, chosen: Floats, of: Ints) -> None:
        """Add a batch; `chosen` weighs the states of each word for its class, (batch, state)."""
        row, time = np.nonzero(traced.mask)
        ids = traced.ids
        probs = traced.probs[row, time + 1]  # steps state
        self.counts += np.bincount(ids, minlength=len(self.counts))
        places = (ids[:, None] * probs.shape[1] + np.arange(probs.shape[1])).ravel()
        np.add.at(self.probs.ravel(), places, probs.ravel())
        np.maximum.at(self.most.ravel(), places, probs.ravel())
        np.add.at(self.visits, (traced.predicted[row], probs.argmax(-1)), 1)
        weights = (probs * chosen[row]).sum(-1).astype(np.float32)
        places = of[row] * len(self.counts) + ids
        np.add.at(self.class_counts.ravel(), places, 1)
        np.add.at(self.class_weights.ravel(), places, weights)
        np.maximum.at(self.class_most.ravel(), places, weights)


def _best(
    alphabet: Alphabet,
    sums: NDArray[np.float64],
    most: NDArray[np.float32],
    counts: Ints,
    *,
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
