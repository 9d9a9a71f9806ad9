"""What the commands print: answers on standard output, all else on standard error."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

from kleene.machine import Label, Word


def say(note: str) -> None:
    """Tell the person at the terminal something that is not part of the answer."""
    _tell(f"kleene: {_one_line(note)}")


def complain(mistake: str) -> None:
    """The one line that says what went wrong and what to do."""
    _tell(f"kleene: error: {_one_line(mistake)}")


def answer(text: str = "") -> None:
    """A line of the answer."""
    if _speaks():
        sys.stdout.write(f"{text}\n")


def answer_lines(lines: Iterable[str]) -> None:
    """Many lines of the answer."""
    sys.stdout.write("".join(f"{line}\n" for line in lines))


def answer_json(value: Any, *, indent: int | None = 2) -> None:
    """The answer as JSON; symbols and labels that JSON does not know become text."""
    answer(json.dumps(value, indent=indent, ensure_ascii=False, default=str))


def label_text(label: Label) -> str:
    """A label as a data file writes it."""
    return label if isinstance(label, str) else str(label)


def word_text(word: Word) -> str:
    """A word as a data file writes it: the string, or its symbols with blanks between."""
    return word if isinstance(word, str) else " ".join(map(str, word))


def quoted(word: Word) -> str:
    """A word inside a sentence: `"0110"`, or `["the", "end"]`; the empty word shows."""
    return json.dumps(
        word if isinstance(word, str) else list(word), ensure_ascii=False, default=str
    )


def columns(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table as aligned text."""
    table = [list(header), *([str(cell) for cell in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = ("  ".join(f"{c:<{w}}" for c, w in zip(r, widths, strict=True)) for r in table)
    return "\n".join(line.rstrip() for line in lines)


def _tell(line: str) -> None:
    if not _speaks():
        return
    with suppress(OSError):  # the terminal may be gone, which is no reason to stop
        print(line, file=sys.stderr, flush=True)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _speaks() -> bool:
    """Of several processes the first speaks for all."""
    from kleene.distributed import rank_and_world_size

    return rank_and_world_size()[0] == 0
