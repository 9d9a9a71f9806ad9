"""The keystone: whatever starts, steps on symbols and shows an output is a machine.

A DFA, a language and a memory-less network in hard mode all are one, so that comparing any two of
them is a single call.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Protocol, TypeAlias, TypeVar

Symbol: TypeAlias = Hashable
Label: TypeAlias = Hashable
Word: TypeAlias = Sequence[Symbol]
State = TypeVar("State", bound=Hashable)


class Machine(Protocol[State]):
    """A deterministic machine with an output label per state."""

    @property
    def alphabet(self) -> tuple[Symbol, ...]:
        """The symbols it reads."""
        ...

    def start(self) -> State:
        """The state before the first symbol."""
        ...

    def step(self, state: State, symbol: Symbol) -> State:
        """The state after reading one symbol."""
        ...

    def output(self, state: State) -> Label:
        """The label of all words that end in this state."""
        ...


MAX_NESTING = 50  # of tuples in a symbol or label


def symbol_problem(value: object) -> str | None:
    """Why a value can be neither symbol nor label, if there is a reason: NaN, or nested too deep.

    >>> symbol_problem(("a", (1, 2))), symbol_problem((1, float("nan")))
    (None, 'NaN differs from itself')
    """
    waiting = [(value, 0)]
    while waiting:
        part, depth = waiting.pop()
        if isinstance(part, float) and part != part:
            return "NaN differs from itself"
        if isinstance(part, tuple | list):
            if depth >= MAX_NESTING:
                return f"it is nested deeper than {MAX_NESTING} levels"
            waiting += [(inner, depth + 1) for inner in part]
    return None


def is_missing(value: object) -> bool:
    """Whether a value is None, NaN or NA; the empty string is not missing.

    >>> [is_missing(value) for value in (None, float("nan"), "", 0)]
    [True, True, False, False]
    """
    if value is None or type(value).__name__ in ("NAType", "NaTType"):  # of pandas
        return True
    return isinstance(value, float) and value != value


def label_texts(labels: Sequence[Label]) -> list[str]:
    """Labels as a file writes them; if two look alike or one is no UTF-8, all as Python does.

    >>> label_texts(["yes", 1]), label_texts(["1", 1])
    (['yes', '1'], ["'1'", '1'])
    """
    texts = [str(label) for label in labels]
    try:
        "".join(texts).encode()
        alike = len(set(texts)) < len(set(labels))
    except UnicodeEncodeError:  # a lone surrogate
        alike = True
    return [repr(label) for label in labels] if alike else texts


def run(machine: Machine[State], word: Iterable[Symbol]) -> Label:
    """The output of a machine after a whole word."""
    state = machine.start()
    for symbol in word:
        state = machine.step(state, symbol)
    return machine.output(state)
