"""What the commands print: answers on standard output, all else on standard error."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import textwrap
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

from kleene.machine import Label, Word

# Control characters, and those that reverse the direction of the text after them.
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_NAME = re.compile(r"\S+(?: \S+)?  +")  # of a line such as `accuracy  98.00%`


def say(note: str) -> None:
    """Tell the person at the terminal something that is not part of the answer."""
    _tell(f"kleene: {_one_line(note)}")


def complain(mistake: str) -> None:
    """Write the one line that says what went wrong and what to do."""
    _tell(f"kleene: error: {_one_line(mistake)}")


def answer(text: str = "") -> None:
    """Write text of the answer, wrapped between words where it goes to a terminal."""
    if not _speaks():
        return
    if sys.stdout.isatty():
        width = shutil.get_terminal_size().columns
        text = "\n".join(wrapped(line, width) for line in escaped(text).split("\n"))
    sys.stdout.write(f"{text}\n")


def answer_styled(text: str) -> None:
    """Write text that holds control sequences of our own and has escaped all others."""
    if _speaks():
        sys.stdout.write(f"{text}\n")


def shows_colors() -> bool:
    """Whether the answer goes to a terminal that shows colours, and these are wanted."""
    plain = "NO_COLOR" in os.environ or os.environ.get("TERM") == "dumb"
    return sys.stdout.isatty() and not plain


def answer_lines(lines: Iterable[str]) -> None:
    """Write many lines of the answer, as they are but for control characters at a terminal."""
    text = "".join(f"{line}\n" for line in lines)
    sys.stdout.write(escaped(text) if sys.stdout.isatty() else text)


def answer_json(value: Any, *, indent: int | None = 2) -> None:
    """Write the answer as JSON; symbols and labels that JSON does not know become text."""
    if _speaks():
        answer_lines([json.dumps(value, indent=indent, ensure_ascii=False, default=str)])


def answer_result(result: Any, *, json: bool) -> None:
    """Write a result that has `to_dict`, for a program, and `str`, for a person."""
    answer_json(result.to_dict()) if json else answer(str(result))


def escaped(text: str) -> str:
    """Return the text with its control characters as `\\x1b`, so that a terminal shows them."""
    return _UNSAFE.sub(lambda found: repr(found[0])[1:-1], text)


def wrapped(line: str, width: int) -> str:
    """Break a line between words; what follows a name and two blanks stays in its column."""
    if len(line) <= width:
        return line
    name = _NAME.match(line)
    indent = len(name[0]) if name is not None and len(name[0]) <= width // 3 else 2
    lines = textwrap.wrap(
        line,
        width,
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return "\n".join(lines)


def label_text(label: Label) -> str:
    """A label as a data file writes it."""
    return label if isinstance(label, str) else str(label)


def label_texts(labels: Sequence[Label]) -> list[str]:
    """Labels as a data file writes them; labels that look alike, as 1 and "1", as Python does."""
    texts = [label_text(label) for label in labels]
    alike = len(set(texts)) < len(texts)
    return [repr(label) for label in labels] if alike else texts


def word_text(word: Word) -> str:
    """A word as a data file writes it: the string, or its symbols with blanks between."""
    return word if isinstance(word, str) else " ".join(map(str, word))


def quoted(word: Word) -> str:
    """A word inside a sentence: `"0110"`, or `["the", "end"]`; the empty word shows."""
    return json.dumps(
        word if isinstance(word, str) else list(word), ensure_ascii=False, default=str
    )


def answer_table(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write a table; cells are broken between words where the terminal is too narrow."""
    table = columns(header, rows := [list(row) for row in rows])
    width = shutil.get_terminal_size().columns
    if sys.stdout.isatty() and max(map(len, table.splitlines())) > width:
        table = _narrowed(header, rows, width)
    answer(table)


def _narrowed(header: Sequence[str], rows: Iterable[Sequence[Any]], width: int) -> str:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in header:
        table.add_column(Text(name), overflow="fold")
    for row in rows:
        table.add_row(*(Text(str(cell)) for cell in row))
    console = Console(width=width, color_system=None, force_terminal=False)
    with console.capture() as captured:
        console.print(table)
    return "\n".join(line.rstrip() for line in captured.get().splitlines())


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
        begin = "\r" if sys.stderr.isatty() else ""  # over the `^C` that a terminal writes
        print(f"{begin}{line}", file=sys.stderr, flush=True)


def _one_line(text: str) -> str:
    return escaped(" ".join(text.split()))


def _speaks() -> bool:
    """Of several processes the first speaks for all."""
    from kleene.distributed import rank_and_world_size

    return rank_and_world_size()[0] == 0
