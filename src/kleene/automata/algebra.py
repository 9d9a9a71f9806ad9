"""Union, intersection and the like, for symbols of any kind, by the product construction."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kleene.automata.build import from_machine
from kleene.automata.minimize import minimize
from kleene.automata.symbols import check_same_alphabet
from kleene.automata.table import Table, TransitionTable
from kleene.machine import Label, Symbol


def product(one: Table, two: TransitionTable, combine: Callable[[Any, Any], Any]) -> Table:
    """Both automata side by side, accepting where `combine` of their two outputs is true."""
    check_same_alphabet(one.alphabet, two.alphabet)
    for dfa in (one, two):
        dfa.require_boolean("combining languages", "recognizer(label) makes a language of a label")
    pairs = _Pairs(one=one, two=two, combine=combine)
    most = one.num_states * two.num_states
    return minimize(from_machine(type(one), pairs, max_states=most))


@dataclass(frozen=True, kw_only=True)
class _Pairs:
    """The machine whose states are pairs of states."""

    one: TransitionTable
    two: TransitionTable
    combine: Callable[[Any, Any], Any]

    @property
    def alphabet(self) -> tuple[Symbol, ...]:
        return self.one.alphabet

    def start(self) -> tuple[int, int]:
        return self.one.start(), self.two.start()

    def step(self, state: tuple[int, int], symbol: Symbol) -> tuple[int, int]:
        return self.one.step(state[0], symbol), self.two.step(state[1], symbol)

    def output(self, state: tuple[int, int]) -> Label:
        return bool(self.combine(self.one.output(state[0]), self.two.output(state[1])))
