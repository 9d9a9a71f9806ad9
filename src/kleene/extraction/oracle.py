"""A network as an oracle: membership queries in batches, and never twice for the same word."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from kleene.arrays import Ints
from kleene.data.alphabet import Ids
from kleene.data.examples import Examples
from kleene.evaluation.metrics import evaluate
from kleene.model import Model


class Oracle:
    """Answers with the network's class of each word, and counts the words it had to run."""

    def __init__(self, classify: Callable[[Sequence[Ids]], Ints]) -> None:
        self.queries = 0
        self._classify = classify
        self._known: dict[bytes, int] = {}

    @classmethod
    def of(cls, model: Model) -> Oracle:
        """The oracle of a model's soft network."""

        def classify(words: Sequence[Ids]) -> Ints:
            examples = Examples(words=words, labels=np.zeros(len(words), dtype=np.int64))
            return evaluate(model.network, examples, batch_size=512).predicted

        return cls(classify)

    def __call__(self, words: Sequence[Ids]) -> Ints:
        """The class of every word."""
        keys = [word.tobytes() for word in words]
        new = {key: word for key, word in zip(keys, words, strict=True) if key not in self._known}
        if new:
            self.queries += len(new)
            self.learn(list(new.values()), self._classify(list(new.values())))
        return np.fromiter((self._known[key] for key in keys), np.int64, len(keys))

    def learn(self, words: Sequence[Ids], labels: Ints) -> None:
        """Take over answers that another pass of the network gave."""
        for word, label in zip(words, labels.tolist(), strict=True):
            self._known[word.tobytes()] = label
