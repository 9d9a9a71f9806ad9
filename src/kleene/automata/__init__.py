"""Automata: values to build, minimise, compare, run, draw and export. NumPy only, never torch."""

from kleene.automata.compare import difference
from kleene.automata.counter.machine import CounterMachine
from kleene.automata.dfa import DFA
from kleene.automata.matcher import Matcher
from kleene.automata.pfa import PFA

__all__ = ["DFA", "PFA", "CounterMachine", "Matcher", "difference"]
