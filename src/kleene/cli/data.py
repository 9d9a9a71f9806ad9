"""Data files as the commands use them: labels as plain values, words of a bearable length."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from kleene.cli.console import label_text, say
from kleene.data.files import Data, Example, read_data, read_examples
from kleene.errors import DataError
from kleene.machine import Label, Word

if TYPE_CHECKING:
    from kleene.model import Model

CHUNK = 10_000
_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,15}")


@dataclass(frozen=True, kw_only=True)
class DataFile:
    """Where words come from, and how they are to be read."""

    path: str
    text_column: str | None
    label_column: str | None
    max_length: int

    @property
    def name(self) -> str:
        """What messages call it."""
        return "standard input" if self.path == "-" else self.path

    def training(self, tokens: str | None) -> tuple[Data, list[Label]]:
        """All words and labels; a guess at how to split the texts is said."""
        data = read_data(
            self.path,
            text_column=self.text_column,
            label_column=self.label_column,
            tokens=tokens,
        )
        if data.guessed:
            other = "chars" if data.tokens == "words" else "words"
            how = "at white space" if data.tokens == "words" else "into characters"
            say(f"words are split {how} (a guess; --tokens {other} changes it)")
        longest = max(range(len(data.words)), key=lambda i: len(data.words[i]))
        self._check_length(data.words[longest], f"word {longest + 1}")
        return data, plain_labels(data.labels or [])

    def examples(self, model: Model, *, labelled: bool) -> Iterator[list[Example]]:
        """Words as the model reads them, a chunk at a time."""
        found = read_examples(
            self.path,
            text_column=self.text_column,
            label_column=self.label_column,
            tokens="chars" if model.tokens == "chars" else "words",
            labelled=labelled,
        )
        while chunk := list(islice(found, CHUNK)):
            for example in chunk:
                self._check_length(example.word, f"line {example.line}")
            yield chunk

    def words(self, model: Model, *, labelled: bool = False) -> tuple[list[Word], list[Label]]:
        """All words, and the labels if there are any, as classes of the model."""
        examples = [one for chunk in self.examples(model, labelled=labelled) for one in chunk]
        words = [example.word for example in examples]
        if all(example.label is None for example in examples):
            return words, []
        as_class = classes_by_text(model, self.name)
        return words, [as_class(example) for example in examples]

    def _check_length(self, word: Word, place: str) -> None:
        if len(word) > self.max_length:
            raise DataError(
                f"{self.name}, {place}: {len(word):,} symbols, where at most {self.max_length:,} "
                "are allowed; put one word on each line, or give --max-length"
            )


def plain_labels(labels: Sequence[Label | None]) -> list[Label]:
    """Labels of a text file as numbers or truth values, where all of them are such."""
    texts = set(labels)
    if all(isinstance(text, str) and _WHOLE.fullmatch(text) for text in texts):
        return [int(str(label)) for label in labels]
    if texts <= {"True", "False"}:
        return [label == "True" for label in labels]
    return [label for label in labels if label is not None]


def classes_by_text(model: Model, name: str) -> Callable[[Example], Label]:
    """A function from an example to the class of the model that its label spells."""
    by_text = {label_text(label): label for label in model.classes}

    def as_class(example: Example) -> Label:
        text = "" if example.label is None else label_text(example.label)
        if text not in by_text:
            known = ", ".join(by_text)[:120]
            raise DataError(
                f"{name}, line {example.line}: the label {text!r:.40} is none of the model's "
                f"classes, {known}; mend the line, or train with this label too"
            )
        return by_text[text]

    return as_class


def typed_word(text: str, model: Model) -> Word:
    """A word as somebody types it: symbols that are no texts are written as a JSON list."""
    if model.tokens == "chars":
        return text
    if model.tokens == "symbols" and text.lstrip().startswith("["):
        try:
            symbols = json.loads(text)
        except ValueError as error:
            raise DataError(f"{text!r:.40} is no JSON list of symbols ({error})") from None
        return tuple(tuple(s) if isinstance(s, list) else s for s in symbols)
    return tuple(text.split())
