"""From labelled sequences, and a trained cell where there is one, to a small automaton."""

from kleene.induction.learner import induce
from kleene.induction.result import FrontPoint, Induction

__all__ = ["FrontPoint", "Induction", "induce"]
