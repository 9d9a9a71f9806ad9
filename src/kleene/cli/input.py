"""Data files of the commands: labels as the model has them, sequences of limited length."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from kleene.cli.console import label_text, say
from kleene.data.files import Data, Progress, fit_bins, open_examples, read_data, read_examples
from kleene.data.layout import Example, Layout
from kleene.data.words import guess_tokens
from kleene.errors import DataError
from kleene.machine import Label, Word

if TYPE_CHECKING:
    from kleene.data.examples import Examples
    from kleene.data.validate import UnknownSymbols
    from kleene.distributed import ProcessGroup
    from kleene.model import Model

CHUNK, CHUNK_SYMBOLS = 10_000, 300_000  # words in memory at once, whichever are fewer
LARGE = 256 * 2**20  # bytes of text, which as words take more than ten times as many
QUIET_SECONDS, LOG_SECONDS = 3.0, 15.0
PACKED = 4  # how much smaller gz makes a text, about


@dataclass(frozen=True, kw_only=True)
class DataSource:
    """A data file and how it is to be read."""

    path: str
    layout: Layout
    max_length: int

    @property
    def name(self) -> str:
        """The name of the file in messages."""
        return "standard input" if self.path == "-" else self.path

    def fitted(self) -> DataSource:
        """The same source with the edges of its bins, found in one pass over the numbers."""
        if self.layout.bins is None or self.layout.bins.is_fitted:
            return self
        if self.path == "-":
            raise DataError(
                "--bins reads the data twice, which standard input does not allow; "
                "name a file, or give --bins sax:N"
            )
        return replace(self, layout=fit_bins(self.path, self.layout))

    def training(self, tokens: str | None) -> Data:
        """All sequences and labels; the columns and a guess at how to split texts are said."""
        with reading_progress(f"reading {self.name}") as progress:
            data = read_data(self.path, self.layout, tokens=tokens, progress=progress)
        say_columns(data.layout)
        if data.guessed:
            say_guess(data.tokens)
        longest = max(range(len(data.words)), key=lambda i: len(data.words[i]))
        self._check_length(data.words[longest], f"example {longest + 1}")
        return data

    def found(self) -> DataSource:
        """The same source with the columns found in the file, which are said."""
        layout, _ = open_examples(self.path, self.layout)
        say_columns(layout)
        return replace(self, layout=layout)

    def each(
        self, tokens: str | None, *, labelled: bool = True, stage: str | None = None
    ) -> Iterator[Example]:
        """The examples one by one, texts split in the way named, or unsplit.

        `stage` is what the progress of a slow file is called; None shows no progress.
        """
        shown = nullcontext() if stage is None else reading_progress(f"{stage} {self.name}")
        with shown as progress:
            for example in read_examples(
                self.path, self.layout, tokens=tokens, labelled=labelled, progress=progress
            ):
                if tokens is not None:
                    self._check_length(example.word, f"line {example.line}")
                yield example

    def tokens(self, tokens: str | None) -> tuple[str, bool]:
        """How texts are split, as `read_data` decides it, and whether that is a guess."""
        if not isinstance(next(self.each(None)).word, str):
            return "symbols", False
        if tokens is not None:
            return tokens, False
        texts = self.each(None, stage="looking at")
        return guess_tokens(example.word for example in texts), True

    @property
    def large(self) -> bool:
        """Whether the file is too large to be held in memory as words."""
        path = Path(self.path)
        if self.path == "-" or not path.is_file():
            return False
        size = path.stat().st_size * (PACKED if path.suffix.lower() == ".gz" else 1)
        return size > LARGE

    def examples(self, model: Model, *, labelled: bool) -> Iterator[list[Example]]:
        """Words as the model reads them, a chunk at a time."""
        source = replace(self, layout=self.layout.or_else(model.layout))
        chunk, symbols = [], 0
        for example in source.each(model.tokens, labelled=labelled):
            chunk.append(example)
            symbols += len(example.word)
            if len(chunk) >= CHUNK or symbols >= CHUNK_SYMBOLS:
                yield chunk
                chunk, symbols = [], 0
        if chunk:
            yield chunk

    def each_word(
        self, model: Model, process_group: ProcessGroup
    ) -> Iterator[tuple[Word, Label | None]]:
        """Words with their labels, if any, one by one, as several processes may share them."""
        self.require_shareable(process_group)
        as_class, labelled = self._classes(model), None
        for example in chain.from_iterable(self.examples(model, labelled=False)):
            labelled = example.label is not None if labelled is None else labelled
            yield example.word, as_class(example) if labelled else None

    def require_shareable(self, process_group: ProcessGroup) -> None:
        """Refuse standard input if several processes would have to read it."""
        if self.path == "-" and process_group.world_size > 1:
            raise DataError(
                "standard input cannot be shared by several processes; save the data to a file "
                "and name it"
            )

    def encoded(self, model: Model) -> Iterator[tuple[Examples, UnknownSymbols]]:
        """Labelled words as numbers, a chunk at a time, and the symbols that the model lacks."""
        import numpy as np

        from kleene.data.examples import Examples
        from kleene.data.validate import UnknownSymbols

        as_class = self._classes(model)
        for chunk in self.examples(model, labelled=True):
            words = [example.word for example in chunk]
            labels = np.array([model.class_ids[as_class(example)] for example in chunk])
            encoded = model.alphabet.encode_many(words)
            unknown = UnknownSymbols.among(model.alphabet, words, encoded)
            yield Examples(words=encoded, labels=labels), unknown

    def words(self, model: Model) -> tuple[list[Word], list[Label]]:
        """All words, and the labels if there are any, as classes of the model."""
        examples = [*chain.from_iterable(self.examples(model, labelled=False))]
        words = [example.word for example in examples]
        if all(example.label is None for example in examples):
            return words, []
        return words, [*map(self._classes(model), examples)]

    def unlabelled(self) -> list[Word]:
        """All sequences of a file that needs no labels."""
        return list(read_data(self.path, self.layout, labelled=False).words)

    def texts(self) -> list[Word]:
        """All texts as they stand in the file, except those that are far too long."""
        found = self.each(None, labelled=False)
        return [example.word for example in found if len(example.word) <= 10 * self.max_length]

    def _classes(self, model: Model) -> Callable[[Example], Label]:
        """A function from an example to the class of the model that its label spells."""
        by_text = {label_text(label): label for label in model.classes}

        def as_class(example: Example) -> Label:
            text = "" if example.label is None else label_text(example.label)
            if text not in by_text:
                known = ", ".join(by_text)[:120]
                raise DataError(
                    f"{self.name}, line {example.line}: the label {text!r:.40} is none of the "
                    f"model's classes, {known}; correct the line, or train with this label too"
                )
            return by_text[text]

        return as_class

    def _check_length(self, word: Word, place: str) -> None:
        if len(word) > self.max_length:
            raise DataError(
                f"{self.name}, {place}: {len(word):,} symbols, where at most {self.max_length:,} "
                "are allowed; put one sequence on each line, or give --max-length"
            )


@contextmanager
def reading_progress(stage: str) -> Iterator[Progress]:
    """Show rows, rate and time left if reading takes long.

    A terminal has one line that changes, a log gets a line every 15 seconds.
    """
    started = shown = monotonic()
    terminal = sys.stderr.isatty()

    def show(rows: int, share: float | None) -> None:
        nonlocal shown
        now = monotonic()
        if now - started < QUIET_SECONDS or now - shown < (1 if terminal else LOG_SECONDS):
            return
        shown, seconds = now, now - started
        text = f"{stage}: {rows:,} rows, {rows / seconds:,.0f} a second"
        if share:
            text += f", {share:.0%}, {seconds * (1 - share) / share:,.0f} s left"
        if terminal:
            sys.stderr.write(f"\r\x1b[Kkleene: {text}")
            sys.stderr.flush()
        else:
            say(text)

    try:
        yield show
    finally:
        if terminal and shown > started:
            sys.stderr.write("\r\x1b[K")


OpenData = Callable[[str], DataSource]
"""From the name of a file to its `DataSource`, with the options of the command."""


def say_columns(layout: Layout) -> None:
    """Say which columns were taken, if the file has names for them."""
    if layout.event_column:
        case = f"cases from {layout.case_column!r}, " if layout.case_column else ""
        found = f"{case}events from {layout.event_column!r}"
    elif layout.text_column:
        found = f"sequences from {layout.text_column!r}"
    else:
        return
    label = f", labels from {layout.label_column!r}" if layout.label_column else ""
    how = " (by their content; --text-column and --label-column change it)"
    say(f"reading {found}{label}{how if layout.by_content else ''}")


def say_guess(tokens: str) -> None:
    """Say how texts are split if the user did not."""
    how, other = {
        "text": ("into lower-case words and punctuation, as prose is", "words"),
        "words": ("at white space", "chars"),
        "chars": ("into characters", "words"),
    }[tokens]
    say(f"texts are split {how} (a guess; --tokens {other} changes it)")
