"""One-counter machines: a finite automaton with one whole number as memory."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kleene.automata.counter.compare import difference
from kleene.automata.counter.formats import from_json, to_dot, to_json
from kleene.automata.counter.minimize import minimize
from kleene.automata.counter.table import CounterTable
from kleene.automata.formats.drawing import draw, render
from kleene.automata.formats.json import JsonFile
from kleene.automata.symbols import show
from kleene.automata.table import explore
from kleene.machine import Symbol

Rule = Callable[[Any, int, Symbol], tuple[Hashable, int]]


@dataclass(frozen=True, kw_only=True, eq=False)
class CounterMachine(CounterTable, JsonFile):
    """A deterministic machine that adds -1, 0 or +1 to a counter and sees where it is near 0.

    It sees the counter clipped to [-clip, clip]: with a clip of 1, its sign. State,
    clipped counter and symbol decide the next move; state and clipped counter at the end of a
    word decide its output.
    `==` is equality of languages for all words, proved. It is a `kleene.machine.Machine`, whose
    states are configurations (state, counter).

    >>> nested = CounterMachine.from_rule(
    ...     lambda state, clipped, symbol: (
    ...         ("bad", 0) if state == "bad" or (symbol == ")" and clipped == 0)
    ...         else ("good", 1 if symbol == "(" else -1)
    ...     ),
    ...     start="good", alphabet="()", accept={("good", 0)},
    ... )
    >>> nested.accepts("(())()"), nested.accepts(")(")
    (True, False)
    """

    # -- ways in -------------------------------------------------------------------------------

    @classmethod
    def from_rule(
        cls,
        rule: Rule,
        *,
        start: Hashable,
        alphabet: Iterable[Symbol],
        accept: Iterable[tuple[Hashable, int]],
        clip: int = 1,
    ) -> CounterMachine:
        """A machine from its rule, `(state, clipped, symbol) -> (next state, increment)`.

        States are found by following the rule from `start`; `accept` lists the pairs
        (state, clipped counter) whose words belong to the language.
        """
        symbols, accepted = tuple(alphabet), set(accept)
        counters = range(-clip, clip + 1)
        views = [(clipped, symbol) for clipped in counters for symbol in symbols]
        states, rows = explore(start, lambda state: [rule(state, *view)[0] for view in views])
        increments = [[rule(state, *view)[1] for view in views] for state in states]
        shape = len(states), len(counters), len(symbols)
        return cls(
            alphabet=symbols,
            transitions=np.array(rows).reshape(shape),
            increments=np.array(increments, dtype=np.int64).reshape(shape),
            outputs=tuple(
                tuple((state, clipped) in accepted for clipped in counters) for state in states
            ),
            names=tuple(str(state) for state in states),
        )

    @classmethod
    def from_json(cls, document: str | Mapping[str, Any]) -> CounterMachine:
        """Read the JSON document that `to_json` wrote."""
        return from_json(cls, document)

    # -- other machines ------------------------------------------------------------------------

    minimize, difference = minimize, difference

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CounterMachine):
            return NotImplemented
        return set(self.alphabet) == set(other.alphabet) and self.difference(other) is None

    __hash__ = None  # type: ignore[assignment]  # equal machines may have different tables

    def __repr__(self) -> str:
        symbols = show(self.alphabet)
        return f"CounterMachine({self.num_states} states and a counter over {{{symbols}}})"

    # -- ways out ------------------------------------------------------------------------------

    to_json, to_dot = to_json, to_dot

    def draw(self, path: str | Path) -> Path:
        """Draw to a file; its ending (.svg, .png, .pdf) says in which format."""
        return draw(self.to_dot(), path)

    def _repr_svg_(self) -> str:
        return render(self.to_dot(), "svg").decode()
