"""Data files of the commands: labels as the model has them, sequences of limited length."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kleene.cli.console import say
from kleene.cli.progress import progress
from kleene.data.files import Data, fit_bins, open_examples, read_data, read_examples
from kleene.data.layout import Example, Layout
from kleene.data.words import guess_tokens
from kleene.errors import DataError
from kleene.machine import Label, Word, label_texts

if TYPE_CHECKING:
    from kleene.model import Model

CHUNK, CHUNK_SYMBOLS = 10_000, 300_000  # words in memory at once, whichever are fewer
LARGE = 256 * 2**20  # bytes of text, which as words take more than ten times as many
COMPRESSION = 4  # how much smaller gz makes a text, about


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

    @property
    def is_large(self) -> bool:
        """Whether the file is too large to be held in memory as words."""
        path = Path(self.path)
        if self.path == "-" or not path.is_file():
            return False
        return path.stat().st_size * (COMPRESSION if path.suffix.lower() == ".gz" else 1) > LARGE

    def read(self, tokens: str | None, *, labelled: bool = True) -> Data:
        """All sequences and labels; the columns and a guess at how to split texts are said."""
        with progress(f"reading {self.name}", "rows") as shown:
            how: Any = {"tokens": tokens, "labelled": labelled, "progress": shown}
            data = read_data(self.path, self._with_bins().layout, **how)
        say_columns(data.layout)
        if data.guessed and labelled:
            say_guess(data.tokens)
        longest = max(range(len(data.words)), key=lambda i: len(data.words[i]))
        self._check_length(data.words[longest], f"example {longest + 1}")
        return data

    def locate(self, tokens: str | None) -> tuple[DataSource, str]:
        """The same source with its columns, and how texts are split, as `read` would find it."""
        source = self._with_bins()
        source = replace(source, layout=open_examples(self.path, source.layout)[0])
        say_columns(source.layout)
        if not isinstance(next(source.each(None)).word, str):
            return source, "symbols"
        if tokens is None:
            texts = source.each(None, stage="looking at")
            say_guess(tokens := guess_tokens(example.word for example in texts))
        return source, tokens

    def _with_bins(self) -> DataSource:
        """The same source with the edges of its bins, found in one pass over the numbers."""
        if self.layout.bins is None or self.layout.bins.is_fitted:
            return self
        if self.path == "-":
            raise DataError(
                "--bins reads the data twice, which standard input does not allow; "
                "name a file, or give --bins sax:N"
            )
        return replace(self, layout=fit_bins(self.path, self.layout))

    def each(
        self, tokens: str | None, *, labelled: bool = True, stage: str | None = None
    ) -> Iterator[Example]:
        """The examples one by one, texts split in the way named, or unsplit.

        `stage` is what the progress of a slow file is called; None shows no progress.
        """
        with progress(f"{stage} {self.name}", "rows") if stage else nullcontext() as shown:
            for example in read_examples(
                self.path, self.layout, tokens=tokens, labelled=labelled, progress=shown
            ):
                if tokens is not None:
                    self._check_length(example.word, f"line {example.line}")
                yield example

    def examples(
        self, model: Model, *, labelled: bool | None, stage: str = "reading"
    ) -> Iterator[Example]:
        """Words and labels as the model has them, one by one.

        `labelled` is whether every row must have a label; with None, labels may be missing in all
        rows, with False they are not looked at.
        """
        source = replace(self, layout=self.layout.or_else(model.layout))
        by_text = dict(zip(label_texts(model.classes), model.classes, strict=True))
        for example in source.each(model.tokens, labelled=bool(labelled), stage=stage):
            if labelled is None:
                labelled = example.label is not None
            label = self._as_class(by_text, example) if labelled else None
            yield example._replace(label=label)

    def chunks(self, model: Model, *, labelled: bool, stage: str) -> Iterator[list[Example]]:
        """The examples, some thousands at a time."""
        chunk, symbols = [], 0
        for example in self.examples(model, labelled=labelled, stage=stage):
            chunk.append(example)
            symbols += len(example.word)
            if len(chunk) >= CHUNK or symbols >= CHUNK_SYMBOLS:
                yield chunk
                chunk, symbols = [], 0
        if chunk:
            yield chunk

    def words(self, model: Model) -> list[Word]:
        """All words as the model reads them."""
        return [example.word for example in self.examples(model, labelled=False)]

    def words_and_labels(self, model: Model) -> tuple[list[Word], list[Label]]:
        """All words, and the labels if there are any, as classes of the model."""
        found = [(one.word, one.label) for one in self.examples(model, labelled=None)]
        return [word for word, _ in found], [label for _, label in found if label is not None]

    def _as_class(self, by_text: dict[str, Label], example: Example) -> Label:
        text = "" if example.label is None else str(example.label)
        if text not in by_text:
            known = ", ".join(by_text)[:120]
            raise DataError(
                f"{self.name}, line {example.line}: the label {text!r:.40} is none of the "
                f"model's classes, {known}; correct the line, or train with this label too"
            )
        return by_text[text]

    def _check_length(self, word: Word, place: str) -> None:
        if len(word) > self.max_length:
            raise DataError(
                f"{self.name}, {place}: {len(word):,} symbols, where at most {self.max_length:,} "
                "are allowed; put one sequence on each line, or give --max-length"
            )


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
