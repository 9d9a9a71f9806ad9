"""The paper's experiments, to be run again: rows, runs, results on disk, paper and ours."""

from __future__ import annotations

from importlib import import_module

from kleene.errors import SettingError
from paper.experiment import Experiment, Request, Run, Table
from paper.ledger import Ledger

__all__ = ["EXPERIMENTS", "Experiment", "Ledger", "Request", "Run", "Table", "find"]

EXPERIMENTS = {
    "tomita": "tomita.TOMITA",
    "bp": "parentheses.PARENTHESES",
    "palindromes": "palindromes.PALINDROMES",
    "imdb": "imdb.IMDB",
    "mnist": "mnist.MNIST",
    "newsgroups": "newsgroups.NEWSGROUPS",
}
"""Where each experiment is defined, by the name the command line gives it."""


def find(name: str) -> Experiment:
    """The experiment of a name."""
    if name not in EXPERIMENTS:
        raise SettingError(f"experiment must be one of {', '.join(EXPERIMENTS)}, got {name!r}")
    module, constant = EXPERIMENTS[name].split(".")
    found: Experiment = getattr(import_module(f"paper.{module}"), constant)
    return found
