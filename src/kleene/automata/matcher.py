"""Running one automaton over many words, fast.

Words become one long array of codes, and the states of many words advance side by side through a
table whose entries say where the next row *begins*, so that a step is one addition and one look-up.
NumPy takes all words one symbol further at a time; for much work a Numba kernel takes over.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from kleene.automata.symbols import encode, spelled_by_characters, unknown_symbol
from kleene.automata.table import TransitionTable
from kleene.errors import AlphabetError
from kleene.machine import Label, Word

Array = npt.NDArray[Any]

_LARGEST = 4_000_000  # entries of a table by character; wider alphabets are translated instead
_STEP, _SYMBOL = 4e-6, 5e-9  # seconds that NumPy takes per step of a batch, and per symbol in it
_NUMPY_CHUNK, _KERNEL_CHUNK = 2**23, 2**19  # symbols read at once; the kernel's stay in cache
_NUMPY_SECONDS = 0.5  # of work after which loading the kernel pays off


class Matcher:
    """The outputs of one automaton on many words.

    `compiled` says whether to use the Numba kernel: None decides by the amount of work.

    >>> from kleene import DFA
    >>> dfa = DFA.from_table({0: {"a": 1, "b": 0}, 1: {"a": 0, "b": 1}}, start=0, accept={1})
    >>> Matcher(dfa)(["ab", "aa", ""])
    array([ True, False, False])
    """

    def __init__(self, dfa: TransitionTable, *, compiled: bool | None = None) -> None:
        self.dfa = dfa
        self.labels = label_array(dfa.outputs)
        self._by_code = _table(dfa.transitions, dfa.initial)
        self._by_character = _character_table(dfa)
        self._kernel = _load_kernel() if compiled else None
        self._spent = 0.0 if compiled is None else -np.inf  # seconds of NumPy work, estimated

    def __call__(self, words: Iterable[Word]) -> Array:
        """The output label of every word, as an array."""
        return self.labels[self.states(words)]

    def states(self, words: Iterable[Word]) -> Array:
        """The state in which every word ends."""
        if isinstance(words, str):
            raise AlphabetError(f"expected a list of words, got {words!r:.60}; pass [word]")
        listed: list[Any] = words if isinstance(words, list) else list(words)
        if self._by_character is None:
            return self._read_symbols(listed)
        chunk = _NUMPY_CHUNK if self._kernel is None else _KERNEL_CHUNK
        size = 1 + chunk // (1 + max((len(word) for word in listed[:100]), default=0))
        chunks = (listed[i : i + size] for i in range(0, len(listed), size))
        states = [self._read_text(words, self._by_character) for words in chunks]
        return np.concatenate(states) if states else np.empty(0, dtype=np.uint32)

    def _read_symbols(self, words: Sequence[Word]) -> Array:
        columns = [encode(word, self.dfa.columns) for word in words]
        lengths = np.fromiter(map(len, columns), dtype=np.int64, count=len(columns))
        flat = (column for word in columns for column in word)
        codes = np.fromiter(flat, dtype=np.uint32, count=int(lengths.sum()))
        return self._run(self._by_code, codes, lengths)

    def _read_text(self, words: list[Any], table: _Table) -> Array:
        """Strings: characters are columns as they are; unknown ones lead to the trap state."""
        try:
            text = "".join(words)
        except TypeError:
            return self._read_symbols(words)  # lists of symbols after all
        codes = _code_points(text)
        known = not text or bool(codes.min() >= table.lowest and codes.max() <= table.highest)
        if known:
            lengths = np.fromiter(map(len, words), dtype=np.int64, count=len(words))
            states = self._run(table, codes, lengths)
            known = not (states == self.dfa.num_states).any()
        if not known:
            unknown = next(symbol for symbol in text if symbol not in self.dfa.columns)
            raise unknown_symbol(unknown, self.dfa.alphabet)
        return states

    def _run(self, table: _Table, codes: Array, lengths: Array) -> Array:
        if self._kernel is None:
            self._spent += _STEP * int(lengths.max(initial=0)) + _SYMBOL * codes.size
            if self._spent > _NUMPY_SECONDS:
                self._kernel = _load_kernel()
        if self._kernel is None:
            return _run_numpy(table, codes, lengths)
        final = np.empty(len(lengths), dtype=np.uint32)
        # Codes as read-only bytes or words, whatever they were: the kernel compiles only twice.
        codes = codes.astype(np.uint8 if codes.itemsize == 1 else np.uint32, copy=False).view()
        codes.setflags(write=False)
        unsigned = lengths.view(np.uint64)
        self._kernel(table.flat, codes, unsigned, table.initial, table.width, final)
        return final


@dataclass(frozen=True, kw_only=True)
class _Table:
    """A transition table in one row, indexed by `state * width + code`.

    Codes run from `lowest` to `highest`; the first `lowest` entries are never read, which spares a
    subtraction at every step.
    """

    flat: npt.NDArray[np.uint32]
    width: int
    initial: int
    lowest: int
    highest: int


def _table(transitions: Array, initial: int, lowest: int = 0) -> _Table:
    width = transitions.shape[1]
    flat = np.zeros(lowest + transitions.size, dtype=np.uint32)
    flat[lowest:] = (transitions.astype(np.int64) * width).ravel()
    return _Table(
        flat=flat, width=width, initial=initial * width, lowest=lowest, highest=lowest + width - 1
    )


def _character_table(dfa: TransitionTable) -> _Table | None:
    """A table by code point, with one more state, the trap, for characters of no symbol."""
    if not spelled_by_characters(dfa.alphabet):
        return None
    points = np.array([ord(str(symbol)) for symbol in dfa.alphabet])
    lowest, width = int(points.min()), int(np.ptp(points)) + 1
    trap = dfa.num_states
    if width * (trap + 1) > _LARGEST:
        return None
    transitions = np.full((trap + 1, width), trap)
    transitions[:trap, points - lowest] = dfa.transitions
    return _table(transitions, dfa.initial, lowest)


def _run_numpy(table: _Table, codes: Array, lengths: Array) -> Array:
    """All words that last, longest first, one symbol further at a time."""
    order = np.argsort(-lengths, kind="stable")
    begins = (np.cumsum(lengths) - lengths)[order]
    lasting = np.searchsorted(-lengths[order], -np.arange(int(lengths.max(initial=0))))
    final = np.full(len(lengths), table.initial, dtype=np.uint32)
    for time, count in enumerate(lasting.tolist()):
        final[:count] = table.flat[final[:count] + codes[begins[:count] + time]]
    final[order] = final // np.uint32(table.width)
    return final


def _code_points(text: str) -> Array:
    """The characters of a string as numbers, one byte each where that is enough."""
    try:
        return np.frombuffer(text.encode("latin-1"), dtype=np.uint8)
    except UnicodeEncodeError:
        return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)


def _load_kernel() -> Any:
    from kleene.automata.matcher_kernels import run_words

    return run_words


def label_array(labels: Sequence[Label]) -> Array:
    """Labels as an array of their own type where that keeps them exactly, else of objects."""
    kinds = {type(label) for label in labels}
    if len(kinds) == 1 and kinds <= {bool, int, float, str}:
        array = np.array(labels)
        kept = array.tolist()
        if kept == list(labels) and {type(label) for label in kept} == kinds:
            return array
    array = np.empty(len(labels), dtype=object)
    array[:] = labels
    return array
