"""Sets of symbols, written briefly: `a-z`, `any but x`, `Σ`."""

from __future__ import annotations

from collections.abc import Callable, Collection

from kleene.automata.symbols import spelled_by_characters
from kleene.machine import Symbol

ANY = "Σ"
_MOST_LISTED = 8


def ranges(characters: Collection[str], write: Callable[[str], str] = str) -> list[str]:
    """Sorted characters, with runs of three or more letters or digits as `a-z`."""
    runs: list[list[str]] = []
    for character in sorted(characters):
        run = runs[-1] if runs else None
        if run and ord(character) == ord(run[-1]) + 1 and _same_kind(run[-1], character):
            run.append(character)
        else:
            runs.append([character])
    return [
        text
        for run in runs
        for text in ([f"{write(run[0])}-{write(run[-1])}"] if len(run) > 2 else map(write, run))
    ]


def describe(symbols: Collection[Symbol], alphabet: Collection[Symbol]) -> str:
    """The symbols of an edge, for a reader: listed, as ranges, or by what is missing."""
    if len(symbols) == len(alphabet):
        return ANY if len(alphabet) > 2 else _listed(symbols, alphabet)
    chosen = set(symbols)
    others = [symbol for symbol in alphabet if symbol not in chosen]
    present, absent = _listed(symbols, alphabet), f"any but {_listed(others, alphabet)}"
    one_missing = len(others) == 1 and len(symbols) > 2
    return absent if one_missing or len(absent) < len(present) else present


def _listed(symbols: Collection[Symbol], alphabet: Collection[Symbol]) -> str:
    """All characters, as ranges; of longer symbols, as in a vocabulary, only the first few."""
    if spelled_by_characters(alphabet):
        return ", ".join(ranges([str(symbol) for symbol in symbols], _visible))
    texts = [printable(str(symbol)) for symbol in symbols]
    if len(texts) > _MOST_LISTED:
        texts = [*texts[: _MOST_LISTED - 1], f"{len(texts) - _MOST_LISTED + 1} more"]
    return ", ".join(texts)


def _visible(character: str) -> str:
    """A blank or control character by a name one can see."""
    return "␣" if character == " " else printable(character)


def printable(text: str) -> str:
    """A text in which control characters and the like, which no drawing can hold, are escaped.

    >>> print(printable("a" + chr(9) + "b"))
    a\\tb
    """
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def _same_kind(one: str, other: str) -> bool:
    return (one.isdigit() and other.isdigit()) or (one.isalpha() and other.isalpha())
