"""From labelled sequences, and a trained cell where there is one, to a small automaton."""

from kleene.induction.learner import induce
from kleene.induction.result import Induction

__all__ = ["Induction", "induce"]
