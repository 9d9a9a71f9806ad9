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

from kleene.distributed import rank_and_world_size
from kleene.machine import Word

# Control characters, and those that reverse the direction of the text after them.
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_NAME = re.compile(r"\S+(?: \S+)?  +|  +")  # of a line such as `accuracy  98.00%`
_CODE = re.compile("`[^`]*`")
UNLIMITED = 100_000  # columns, where the answer does not go to a terminal


def say(note: str, kind: str = "") -> None:
    """Tell the person at the terminal something that is not part of the answer, in one line."""
    if rank_and_world_size()[0]:
        return  # of several processes the first speaks for all
    line, begin = f"kleene: {kind}{escaped(' '.join(note.split()))}", ""
    if sys.stderr.isatty():
        begin = "\r\x1b[K"  # over a `^C`, or a line of progress
        line = _CODE.sub(lambda found: found[0].replace(" ", "\xa0"), line)  # can be copied
        line = wrapped(line, shutil.get_terminal_size().columns).replace("\xa0", " ")
    with suppress(OSError):  # the terminal may be gone, which is no reason to stop
        print(f"{begin}{line}", file=sys.stderr, flush=True)


def answer(text: str = "") -> None:
    """Write text of the answer, wrapped between words where it goes to a terminal."""
    if sys.stdout.isatty():
        width = shutil.get_terminal_size().columns
        text = "\n".join(wrapped(line, width) for line in escaped(text).split("\n"))
    answer_styled(text)


def answer_styled(text: str) -> None:
    """Write text that holds control sequences of our own and has escaped all others."""
    sys.stdout.write(f"{text}\n")


def answer_lines(lines: Iterable[str]) -> None:
    """Write many lines of the answer, as they are but for control characters at a terminal."""
    text = "".join(f"{line}\n" for line in lines)
    sys.stdout.write(escaped(text) if sys.stdout.isatty() else text)


def answer_json(value: Any, *, indent: int | None = 2) -> None:
    """Write the answer as JSON; symbols and labels that JSON does not know become text."""
    answer_lines([json.dumps(value, indent=indent, ensure_ascii=False, default=str)])


def answer_result(result: Any, *, json: bool) -> None:
    """Write a result that has `to_dict`, for a program, and `str`, for a person."""
    answer_json(result.to_dict()) if json else answer(str(result))


def answer_table(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write a table; cells are broken between words where the terminal is too narrow."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else UNLIMITED
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in header:
        table.add_column(Text(escaped(name)), overflow="fold")
    for row in rows:
        table.add_row(*(Text(escaped(str(cell))) for cell in row))
    console = Console(width=width, color_system=None, force_terminal=False)
    with console.capture() as captured:
        console.print(table)
    answer_styled("\n".join(line.rstrip() for line in captured.get().splitlines()))


def shows_colors() -> bool:
    """Whether the answer goes to a terminal that shows colours, and these are wanted."""
    plain = "NO_COLOR" in os.environ or os.environ.get("TERM") == "dumb"
    return sys.stdout.isatty() and not plain


def escaped(text: str) -> str:
    """Return the text with its control characters as `\\x1b`, so that a terminal shows them."""
    return _UNSAFE.sub(lambda found: repr(found[0])[1:-1], text)


def wrapped(line: str, width: int) -> str:
    """Break a line between words; what follows a name and two blanks stays in its column."""
    if len(line) <= width:
        return line
    name = _NAME.match(line)
    indent = len(name[0]) if name is not None and len(name[0]) <= width // 3 else 2
    how: Any = {"break_long_words": False, "break_on_hyphens": False}
    return "\n".join(textwrap.wrap(line, width, subsequent_indent=" " * indent, **how))


def quoted(word: Word) -> str:
    """A word inside a sentence: `"0110"`, or `["the", "end"]`; the empty word shows."""
    listed = word if isinstance(word, str) else list(word)
    return json.dumps(listed, ensure_ascii=False, default=str)
