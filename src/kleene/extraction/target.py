"""The networks that extraction takes, and an oracle that asks them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np

from kleene.arrays import Ints
from kleene.automata.symbols import spell
from kleene.data.alphabet import Alphabet, Ids
from kleene.errors import ExtractionError
from kleene.evaluation.metrics import predict
from kleene.extraction.adapters import BATCH, Classify
from kleene.machine import Label, Symbol, Word
from kleene.model import Model

MAX_SYMBOLS = 256
"""The largest alphabet for active learning, which asks about each symbol in every state."""
PROBES = 8  # words that are asked about twice


class ExternalNetwork:
    """A network that Kleene did not train; its classes are the labels that it has given so far."""

    reads_symbols = True

    def __init__(self, classify: Classify, alphabet: Iterable[Symbol], longest: int = 0) -> None:
        self.alphabet = Alphabet(alphabet)
        if not self.alphabet.symbols:
            raise ExtractionError("the alphabet is empty; name at least one symbol")
        self.longest = longest
        self.class_ids: dict[Label, int] = {}
        self._classify = classify

    @property
    def classes(self) -> tuple[Label, ...]:
        """The labels in the order of their first appearance."""
        return tuple(self.class_ids)

    def words(self, texts: Sequence[Any]) -> list[Word]:
        """Sequences stay as they are."""
        return [text if isinstance(text, str) else tuple(text) for text in texts]

    def classify(self, words: Sequence[Ids]) -> Ints:
        """The class of every word, asked in batches."""
        found: list[int] = []
        for at in range(0, len(words), BATCH * 4):
            part = [self.symbols(word) for word in words[at : at + BATCH * 4]]
            labels = _as_list(self._classify(part))
            if len(labels) != len(part):
                raise ExtractionError(
                    f"classify must return one label for each of {len(part)} sequences, got "
                    f"{len(labels)}"
                )
            found += self.number(labels).tolist()
        return np.array(found, dtype=np.int64)

    def number(self, labels: Iterable[Label]) -> Ints:
        """The classes of labels; a new label makes a new class."""
        ids = self.class_ids
        return np.array([ids.setdefault(label, len(ids)) for label in labels], dtype=np.int64)

    def symbols(self, word: Ids) -> Word:
        """A word as a user writes it: a string if all symbols are characters."""
        return spell(self.alphabet.decode(word), self.alphabet.symbols)

    def require_repeatable(self, words: Sequence[Ids]) -> None:
        """Refuse a network that answers differently when it is asked again."""
        probes = words[:PROBES]
        if (self.classify(probes) != self.classify(probes)).any():
            raise ExtractionError(
                "the network answers differently when it is asked again; switch its dropout and "
                "sampling off (module.eval())"
            )


Target: TypeAlias = Model | ExternalNetwork


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


def _as_list(labels: Any) -> list[Label]:
    if hasattr(labels, "detach"):
        labels = labels.detach().cpu().numpy()
    array = np.asarray(labels, dtype=None if hasattr(labels, "dtype") else object)
    if array.ndim != 1:
        raise ExtractionError(
            f"classify must return one label per sequence, got shape {array.shape}; "
            "return scores.argmax(-1)"
        )
    return list(array.tolist())
