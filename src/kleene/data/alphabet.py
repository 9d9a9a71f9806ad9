"""Symbols and their ids: any hashable symbol, after four special ids."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, repeat
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from kleene.errors import AlphabetError
from kleene.files import format_mismatch
from kleene.machine import Symbol, Word, symbol_problem

Ids: TypeAlias = NDArray[np.int64]
Numbers = TypeVar("Numbers")  # an int, an array or a tensor of ints

PAD, UNKNOWN, START, END = range(4)
SPECIALS = ("<pad>", "<unknown>", "<start>", "<end>")
FIRST_SYMBOL = len(SPECIALS)  # the id of the first symbol
FORMAT = "kleene.alphabet/1"


@dataclass(frozen=True)
class Alphabet:
    """The symbols of a language or a corpus, each with an id; ids 0 to 3 belong to no symbol.

    >>> alphabet = Alphabet("ab")
    >>> alphabet.encode("abba!").tolist()
    [4, 5, 5, 4, 1]
    >>> alphabet.decode([4, 5, 1])
    ('a', 'b', '<unknown>')
    """

    symbols: tuple[Symbol, ...]

    def __init__(self, symbols: Iterable[Symbol]) -> None:
        plain = tuple(map(_plain, symbols))
        seen: set[Symbol] = set()
        for symbol in plain:
            if problem := symbol_problem(symbol):
                raise AlphabetError(f"a value cannot be a symbol: {problem}; use a string")
            _require_hashable([symbol])
            if symbol in seen:
                raise AlphabetError(f"symbols must be distinct, got {symbol!r:.60} twice")
            seen.add(symbol)
        object.__setattr__(self, "symbols", plain)

    @classmethod
    def from_words(
        cls, words: Iterable[Word], max_size: int | None = None, min_count: int = 1
    ) -> Alphabet:
        """The symbols of some words, sorted; the most frequent first when a bound is given.

        Symbols that cannot be sorted (of several types) keep the order of their first occurrence.
        """
        counts: Counter[Symbol] = Counter()
        for word in map(as_sequence, words):
            try:
                counts.update(word)
            except TypeError:
                _require_hashable(word)
                raise
        return cls.from_counts(counts, max_size, min_count)

    @classmethod
    def from_counts(
        cls, counts: Mapping[Symbol, int], max_size: int | None = None, min_count: int = 1
    ) -> Alphabet:
        """The same, where it is known how often each symbol occurs."""
        symbols = list(counts)
        with suppress(TypeError):
            if len(set(map(type, symbols))) == 1:
                symbols = sorted(symbols)  # type: ignore[type-var]
        if max_size is not None or min_count > 1:
            frequent = [symbol for symbol in symbols if counts[symbol] >= min_count]
            symbols = sorted(frequent, key=lambda symbol: -counts[symbol])[:max_size]
        return cls(symbols)

    def __len__(self) -> int:
        """The number of ids, the special ones included: the rows of an embedding table."""
        return FIRST_SYMBOL + len(self.symbols)

    def __contains__(self, symbol: Symbol) -> bool:
        return symbol in self._ids

    @staticmethod
    def columns(ids: Numbers) -> Numbers:
        """The columns of symbols in an automaton's table, from their ids."""
        return ids - FIRST_SYMBOL  # type: ignore[operator, return-value]

    @staticmethod
    def ids(columns: Numbers) -> Numbers:
        """The ids of symbols, from their columns in an automaton's table."""
        return columns + FIRST_SYMBOL  # type: ignore[operator, return-value]

    def encode(self, word: Word) -> Ids:
        """The ids of a word, `UNKNOWN` for symbols that are not in the alphabet."""
        return self.encode_many([word])[0]

    def encode_many(self, words: Sequence[Word]) -> list[Ids]:
        """The ids of many words at once; strings are looked up as a whole, not by character."""
        if all(isinstance(word, str) for word in words):
            # Surrogates pass, so that any Python string has ids.
            codes = np.frombuffer("".join(words).encode("utf-32-le", "surrogatepass"), "<u4")  # type: ignore[arg-type]
            flat = self._by_code_point[np.minimum(codes, len(self._by_code_point) - 1)]
        else:
            words = [as_sequence(word) for word in words]
            try:
                found = map(self._ids.get, chain.from_iterable(words), repeat(UNKNOWN))
                flat = np.fromiter(found, dtype=np.int64)
            except TypeError:
                _require_hashable(chain.from_iterable(words))
                raise
        ends = np.cumsum([len(word) for word in words], dtype=np.int64).tolist()
        return [flat[start:end] for start, end in zip([0, *ends], ends, strict=False)]

    def decode(self, ids: Iterable[int]) -> tuple[Symbol, ...]:
        """The symbols of some ids; special ids show as `<pad>`, `<unknown>`, `<start>`, `<end>`."""
        names = (*SPECIALS, *self.symbols)
        numbers = [int(i) for i in ids]
        if not all(0 <= i < len(names) for i in numbers):
            raise AlphabetError(f"ids must lie between 0 and {len(names) - 1}, got {numbers!r:.60}")
        return tuple(names[i] for i in numbers)

    def unknown(self, word: Word) -> list[Symbol]:
        """The symbols of a word that are not in the alphabet, in order, repeats included."""
        unknown = self.encode(word) == UNKNOWN
        return [_plain(symbol) for symbol, new in zip(word, unknown, strict=True) if new]

    def to_json(self) -> str:
        """A JSON text from which `from_json` builds an equal alphabet; tuples become lists."""
        listed = [to_json_symbol(symbol) for symbol in self.symbols]
        return json.dumps({"format": FORMAT, "symbols": listed}, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Alphabet:
        """The alphabet that `to_json` wrote."""
        try:
            content = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise AlphabetError(f"the alphabet is not JSON ({error}); save it again") from None
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            found = content.get("format") if isinstance(content, dict) else content
            raise AlphabetError(format_mismatch(found, FORMAT, "save it again"))
        if not isinstance(content.get("symbols"), list):
            raise AlphabetError("the alphabet has no list of symbols; save it again")
        return cls(map(from_json_symbol, content["symbols"]))

    @cached_property
    def _ids(self) -> dict[Symbol, int]:
        return {symbol: i for i, symbol in enumerate(self.symbols, start=FIRST_SYMBOL)}

    @cached_property
    def _by_code_point(self) -> Ids:
        """The id of each character; the last entry stands for all code points beyond."""
        single = {ord(s): i for s, i in self._ids.items() if isinstance(s, str) and len(s) == 1}
        table = np.full(max(single, default=-1) + 2, UNKNOWN, dtype=np.int64)
        table[list(single)] = list(single.values())
        return table


def from_json_symbol(symbol: Any) -> Symbol:
    """A JSON value as a hashable symbol: lists become tuples; objects have no such form."""
    if problem := symbol_problem(symbol):
        what = "NaN" if problem.startswith("NaN") else "a list"
        raise AlphabetError(f"{what} cannot be a symbol: {problem}; use a string")
    if isinstance(symbol, list):
        return tuple(map(from_json_symbol, symbol))
    if isinstance(symbol, dict):
        raise AlphabetError("a JSON object cannot be a symbol; use a string, number or list")
    if isinstance(symbol, float) and abs(symbol) == float("inf"):
        raise AlphabetError("an infinite number cannot be a symbol; use a string")
    return symbol  # type: ignore[no-any-return]


def to_json_symbol(symbol: Symbol) -> Any:
    """A symbol as JSON holds it: tuples become lists; other types have no such form."""
    if isinstance(symbol, tuple):
        return [to_json_symbol(part) for part in symbol]
    finite = not isinstance(symbol, float) or abs(symbol) < float("inf")
    if finite and (symbol is None or isinstance(symbol, str | int | float)):
        return symbol
    kind = type(symbol).__name__
    needed = "a string, finite number, boolean, None or a tuple of these"
    raise AlphabetError(f"cannot save the symbol {symbol!r:.60} of type {kind}; use {needed}")


def _plain(symbol: Symbol) -> Symbol:
    return symbol.item() if isinstance(symbol, np.generic) else symbol


def as_sequence(word: Any) -> Word:
    """A word that knows its length and hands out plain Python symbols."""
    if isinstance(word, np.ndarray):
        return word.tolist()  # type: ignore[no-any-return]
    if hasattr(word, "__len__"):
        return word  # type: ignore[no-any-return]
    try:
        return tuple(word)
    except TypeError:
        found = f"{type(word).__name__} {word!r:.60}"
        raise AlphabetError(
            f"a word must be a string or a sequence of symbols, got {found}"
        ) from None


def _require_hashable(symbols: Iterable[object]) -> None:
    for symbol in symbols:
        try:
            hash(symbol)
        except TypeError:
            found = f"the symbol {symbol!r:.60} of type {type(symbol).__name__}"
            raise AlphabetError(f"{found} is not hashable; use a tuple or string") from None
