"""Words, alphabets and sets of symbols: to columns and back, and in few words for a reader."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from kleene.errors import AlphabetError, AutomatonError
from kleene.machine import Symbol, Word, symbol_problem

_SHOWN = 12
_LONGEST = 40  # characters of one symbol
_MAX_LISTED = 8  # symbols of an edge
ANY = "Σ"


def show(symbols: Iterable[object]) -> str:
    """Symbols as an error message lists them: all when few, the first dozen when many."""
    listed = list(symbols)
    text = ", ".join(repr(symbol)[:_LONGEST] for symbol in listed[:_SHOWN])
    return f"{text}, ... ({len(listed)} in all)" if len(listed) > _SHOWN else text


def show_word(word: Word) -> str:
    """A word inside a sentence: `'abba'`, `'not bad'` for two symbols, `[1, 2]` for numbers."""
    if isinstance(word, str):
        return repr(word)
    symbols = list(word)
    texts = [symbol for symbol in symbols if isinstance(symbol, str)]
    return repr(" ".join(texts)) if len(texts) == len(symbols) else repr(symbols)


def spelled_by_characters(alphabet: Iterable[Symbol]) -> bool:
    """Whether every symbol is one character, so that a word can be a plain string."""
    return all(isinstance(symbol, str) and len(symbol) == 1 for symbol in alphabet)


def spell(symbols: Sequence[Symbol], alphabet: Iterable[Symbol]) -> Word:
    """A word as a user writes it: a string over one-character symbols, else a tuple."""
    if spelled_by_characters(alphabet):
        return "".join(str(symbol) for symbol in symbols)
    return tuple(symbols)


def unknown_symbol(
    symbol: object, alphabet: Iterable[Symbol], word: object = None
) -> AlphabetError:
    """The error for a symbol that an alphabet does not have, ready to raise."""
    message = f"symbol {symbol!r:.60} is not in the alphabet {{{show(alphabet)}}}"
    if isinstance(word, str) and not spelled_by_characters(alphabet):
        message += "; symbols here are not single characters: pass a list of symbols, not a string"
    else:
        message += "; use its symbols only"
    return AlphabetError(message)


def encode(word: Iterable[Symbol], columns: Mapping[Symbol, int]) -> list[int]:
    """The column of every symbol of a word."""
    symbols = word if isinstance(word, str) else list(word)
    try:
        return [columns[symbol] for symbol in symbols]
    except (KeyError, TypeError):  # TypeError: an unhashable symbol is in no alphabet
        unknown = next(symbol for symbol in symbols if not _known(symbol, columns))
        raise unknown_symbol(unknown, columns, word) from None


def _known(symbol: object, columns: Mapping[Symbol, int]) -> bool:
    try:
        return symbol in columns
    except TypeError:
        return False


def check_alphabet(alphabet: Sequence[Symbol]) -> None:
    """Raise unless the symbols are hashable, all different, and at least one."""
    if not alphabet:
        raise AutomatonError("the alphabet is empty; give at least one symbol")
    seen: set[Symbol] = set()
    for symbol in alphabet:
        if problem := symbol_problem(symbol):
            raise AutomatonError(f"a value cannot be a symbol: {problem}; use a string")
        try:
            twice = symbol in seen
        except TypeError:
            message = f"symbol {symbol!r:.60} is not hashable; use strings, numbers or tuples"
            raise AutomatonError(message) from None
        if twice:
            raise AutomatonError(
                f"symbol {symbol!r:.60} is in the alphabet twice; list each one once"
            )
        seen.add(symbol)


def check_labels(outputs: Iterable[object]) -> None:
    for output in outputs:
        if problem := symbol_problem(output):
            raise AutomatonError(f"a value cannot be an output: {problem}; use a string")


def check_same_alphabet(one: Sequence[Symbol], other: Sequence[Symbol]) -> None:
    """Raise unless both have the same symbols, in whatever order."""
    ones, others = set(one), set(other)
    only_one = [symbol for symbol in one if symbol not in others]
    only_other = [symbol for symbol in other if symbol not in ones]
    if only_one or only_other:
        parts = []
        if only_one:
            parts.append(f"only the first has {show(only_one)}")
        if only_other:
            parts.append(f"only the second has {show(only_other)}")
        message = (
            f"the alphabets differ: {'; '.join(parts)}; compare machines over the same symbols"
        )
        raise AlphabetError(message)


# -- sets of symbols, written briefly: `a-z`, `any but x`, `Σ` -------------------------------------


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
    if len(texts) > _MAX_LISTED:
        texts = [*texts[: _MAX_LISTED - 1], f"{len(texts) - _MAX_LISTED + 1} more"]
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
