"""The soft network as something to ask: in batches, and never twice for the same word."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from kleene.data.alphabet import Ids
from kleene.data.examples import Examples
from kleene.evaluate import evaluate
from kleene.model import Model
from kleene.read.words import Ints


class Oracle:
    """Answers with the network's class of each word, counts the words it had to run.

    `most` bounds their number and `seconds` the time; who asks looks at `spent` and stops.
    """

    def __init__(self, model: Model, *, most: int = 1_000_000, seconds: float = 1e9) -> None:
        self.model = model
        self.queries = 0
        self._most = most
        self._deadline = time.monotonic() + seconds
        self._known: dict[bytes, int] = {}

    @property
    def spent(self) -> bool:
        """Whether a bound is reached."""
        return self.queries >= self._most or time.monotonic() > self._deadline

    def __call__(self, words: Sequence[Ids]) -> Ints:
        """The class of every word."""
        keys = [word.tobytes() for word in words]
        new = {key: word for key, word in zip(keys, words, strict=True) if key not in self._known}
        if new:
            self._run(list(new), list(new.values()))
        return np.fromiter((self._known[key] for key in keys), np.int64, len(keys))

    def learn(self, words: Sequence[Ids], labels: Ints) -> None:
        """Take over answers that another pass of the network gave."""
        for word, label in zip(words, labels.tolist(), strict=True):
            self._known[word.tobytes()] = label

    def _run(self, keys: list[bytes], words: list[Ids]) -> None:
        self.queries += len(words)
        examples = Examples(words=words, labels=np.zeros(len(words), dtype=np.int64))
        labels = evaluate(self.model.network, examples, batch_size=512).predicted.tolist()
        self._known.update(zip(keys, labels, strict=True))
