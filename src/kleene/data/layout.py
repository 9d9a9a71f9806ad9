"""Where a data file keeps its sequences and labels, and one labelled sequence of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

from kleene.data.bins import Bins
from kleene.errors import ModelError, SettingError
from kleene.machine import Label, Word

TEXT_NAMES = ("sequence", "word", "text", "sentence", "review", "document", "comment", "content")
LABEL_NAMES = ("label", "class", "category", "sentiment", "target", "output")
DELIMITERS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|", "space": " "}
EVENT_COLUMNS = ("case_column", "event_column", "order_column")


class Example(NamedTuple):
    """A sequence, its label if it has one, and the line it begins on."""

    word: Word
    label: Label | None
    line: int
    case: str | None = None
    """The case that the events belong to, where there are cases."""
    row: Mapping[str, Any] | None = None
    """All columns of its row by name, as they stand in the file; None where it has several rows."""


@dataclass(frozen=True, kw_only=True)
class Layout:
    """How a file is laid out; what is None is found from the file itself.

    With `case_column` and `event_column` a file is a table of events, one a row: the rows of one
    case, in the order of `order_column` (a number or an ISO date) or else of the file, are one
    sequence, and its label stands in each of them. With `bins`, sequences hold numbers.
    """

    text_column: str | None = None
    label_column: str | None = None
    delimiter: str | None = None
    case_column: str | None = None
    event_column: str | None = None
    order_column: str | None = None
    bins: Bins | None = None
    known: Layout | None = None
    """The layout that a model was trained with: its columns are taken where a file has them."""
    by_content: bool = False
    """Whether the content of the columns told them apart, not their names."""

    def __post_init__(self) -> None:
        if self.delimiter is not None:
            delimiter = DELIMITERS.get(self.delimiter.lower(), self.delimiter)
            if len(delimiter) != 1 or delimiter in '"\r\n' or not delimiter.isascii():
                names = ", ".join(name for name in DELIMITERS if name.isalpha())
                needed = f"one ASCII character or one of {names}"
                raise SettingError(f"delimiter must be {needed}, got {self.delimiter!r:.40}")
            object.__setattr__(self, "delimiter", delimiter)
        if self.has_events and self.text_column is not None:
            raise SettingError(
                "text_column is for one sequence a row, case_column and event_column are for one "
                "event a row; give one or the other"
            )

    @property
    def has_events(self) -> bool:
        """Whether each row is one event of a case."""
        return any((self.case_column, self.event_column, self.order_column))

    @property
    def names_columns(self) -> bool:
        """Whether columns are named, so that the file must have a header."""
        return self.has_events or bool(self.text_column or self.label_column)

    def to_dict(self) -> dict[str, Any]:
        """The settings that are not None, as plain values."""
        found = {name: getattr(self, name) for name in _SAVED if getattr(self, name) is not None}
        return found if self.bins is None else {**found, "bins": self.bins.to_dict()}

    @classmethod
    def from_dict(cls, content: Any) -> Layout:
        """The layout that `to_dict` wrote."""
        if not isinstance(content, dict) or not set(content) <= {*_SAVED}:
            raise ModelError(f"a layout must be an object of {', '.join(sorted(_SAVED))}")
        columns = {name: value for name, value in content.items() if name != "bins"}
        if not all(isinstance(value, str) for value in columns.values()):
            raise ModelError("the columns of a layout must be strings; train the model again")
        bins = content.get("bins")
        return cls(**columns, bins=None if bins is None else Bins.from_dict(bins))

    def or_else(self, known: Layout) -> Layout:
        """This layout, with the columns that a model was trained with where a file has them."""
        return replace(self, known=known, bins=known.bins or self.bins)

    def resolve(self, header: Sequence[str]) -> Layout:
        """This layout, with the known columns that a header has."""
        known = self.known
        if known is None or self.has_events or self.text_column:
            return self
        names = EVENT_COLUMNS if known.has_events else ("text_column",)
        columns = {name: getattr(known, name) for name in names if getattr(known, name)}
        if not set(columns.values()) <= set(header):
            columns = {}
        if known.label_column in header and not self.label_column:
            columns["label_column"] = known.label_column
        return replace(self, **columns)


NO_LAYOUT = Layout()
_SAVED = [field.name for field in fields(Layout) if field.name not in ("known", "by_content")]
