"""The examples of a training run: in memory, or on disk if the file is large."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kleene.cli.console import say
from kleene.cli.input import DataSource, say_guess
from kleene.data.fingerprint import file_digest
from kleene.data.layout import Layout
from kleene.data.store import Store, encode, open_store
from kleene.distributed import ProcessGroup
from kleene.errors import DataError
from kleene.machine import Label, Word

if TYPE_CHECKING:
    from kleene.estimator import Prepared, SequenceClassifier
    from kleene.training.run import Run


@dataclass(kw_only=True)
class InMemory:
    """All words at once."""

    words: Sequence[Word]
    labels: Sequence[Label]
    layout: Layout
    prepared: Prepared | None = None

    @cached_property
    def digest(self) -> str:
        """A digest of the examples and of how they are read."""
        total = hashlib.sha256()
        for word, label in zip(self.words, self.labels, strict=True):
            total.update(repr((word, label)).encode("utf-8", "surrogatepass"))
        return total.hexdigest()

    def prepare(self, estimator: SequenceClassifier) -> Prepared:
        """Check words, labels and parameters, and build the untrained model."""
        self.prepared = estimator.prepare(self.words, self.labels)
        return self.prepared

    def fit(self, estimator: SequenceClassifier, path: Path, run: Run, *, baseline: bool) -> None:
        """Fit the estimator."""
        assert self.prepared is not None
        estimator.fit_prepared(
            self.prepared, replace(run, seed=self.prepared.seed), baseline=baseline
        )


@dataclass(kw_only=True)
class OnDisk:
    """Rows that are encoded once into a store on disk, and read from there."""

    source: DataSource
    tokens: str
    max_symbols: int | None
    min_count: int
    store: Store | None = None

    @property
    def layout(self) -> Layout:
        """The columns that the examples were found in, and the bins of numbers."""
        return self.source.layout

    @cached_property
    def digest(self) -> str:
        """A digest of the examples and of how they are read."""
        source = self.source
        layout = source.layout.to_dict()
        return file_digest(source.path, layout, self.tokens, self.max_symbols, self.min_count)

    def prepare(self, estimator: SequenceClassifier) -> None:
        """Check the parameters, without the words."""
        estimator.prepare(["a", "b"], [0, 1])

    def fit(self, estimator: SequenceClassifier, path: Path, run: Run, *, baseline: bool) -> None:
        """Encode the rows into a file, unless they are there, and fit the estimator."""
        if run.processes.is_main:
            self._encode(path)
        run.processes.broadcast_object()  # the other processes wait
        self.store = self.store or open_store(path)
        estimator.fit_stored(self.store, run, baseline=baseline)

    def _encode(self, path: Path) -> None:
        with suppress(DataError):  # an interrupted run may have cut it off
            store = open_store(path) if path.exists() else None
            if store is not None and store.key == self.digest:
                self.store = store
                return
        say(f"encoding {self.source.name} into {path}")
        self.store = encode(
            path,
            self.source.each(self.tokens, stage="encoding"),
            tokens=self.tokens,
            key=self.digest,
            max_symbols=self.max_symbols,
            min_count=self.min_count,
        )


TrainingSource = InMemory | OnDisk


def open_training_source(
    source: DataSource, settings: dict[str, Any], stream: bool | None, process_group: ProcessGroup
) -> tuple[TrainingSource, str]:
    """The examples of a file, and how its texts are split."""
    tokens = settings["tokens"]
    source.require_shareable(process_group)
    source = source.fitted()
    if source.path == "-" and stream:
        raise DataError("--stream reads the data twice; name a file instead of standard input")
    if not (source.large if stream is None else stream):
        found = source.training(tokens)
        examples = InMemory(words=found.words, labels=found.labels or [], layout=found.layout)
        return examples, found.tokens
    source = source.found()
    tokens, guessed = source.tokens(tokens)
    if guessed:
        say_guess(tokens)
    stored = OnDisk(
        source=source,
        tokens=tokens,
        max_symbols=settings["training"].get("max_symbols"),
        min_count=settings["training"].get("min_count", 1),
    )
    return stored, tokens
