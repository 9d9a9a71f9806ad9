"""A network as extraction sees it, whoever trained it: symbols, classes, and answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from kleene.arrays import Ints
from kleene.data.alphabet import Alphabet, Ids
from kleene.evaluation.metrics import predict
from kleene.machine import Label, Word
from kleene.model import Model

MAX_SYMBOLS = 256
"""The largest alphabet for active learning, which asks about each symbol in every state."""


class Target(Protocol):
    """A network that gives words a class: a `Model`, or an `ExternalNetwork`."""

    @property
    def alphabet(self) -> Alphabet:
        """The symbols that it reads."""
        ...

    @property
    def classes(self) -> tuple[Label, ...]:
        """The labels that it gives."""
        ...

    @property
    def class_ids(self) -> Mapping[Label, int]:
        """The number of each label."""
        ...

    @property
    def longest(self) -> int:
        """The length of the longest training word; 0 if unknown."""
        ...

    @property
    def reads_symbols(self) -> bool:
        """Whether the network reads symbols, not vectors."""
        ...

    def words(self, texts: Sequence[Any]) -> list[Word]:
        """Texts or sequences as words of its symbols."""
        ...


class Oracle:
    """Membership queries in batches: the network's class of each word, never asked twice."""

    def __init__(self, classify: Callable[[Sequence[Ids]], Ints]) -> None:
        self.queries = 0
        """How many words the network was run on."""
        self._classify = classify
        self._known: dict[bytes, int] = {}

    @classmethod
    def of(cls, model: Model) -> Oracle:
        """The oracle of a model's soft network."""
        return cls(lambda words: predict(model.network, words, batch_size=512).predicted)

    def __call__(self, words: Sequence[Ids]) -> Ints:
        """The class of every word."""
        keys = [word.tobytes() for word in words]
        new = {key: word for key, word in zip(keys, words, strict=True) if key not in self._known}
        if new:
            self.queries += len(new)
            self.learn(list(new.values()), self._classify(list(new.values())))
        return np.fromiter((self._known[key] for key in keys), np.int64, len(keys))

    def learn(self, words: Sequence[Ids], labels: Ints) -> None:
        """Store answers that another pass of the network gave."""
        for word, label in zip(words, labels.tolist(), strict=True):
            self._known[word.tobytes()] = label
