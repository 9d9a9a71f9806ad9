"""Kleene: recurrent networks you can read as state machines.

    import kleene as kl

    words, labels = kl.languages.tomita(4).sample(2000, seed=0)
    clf = kl.SequenceClassifier(random_state=0).fit(words, labels)
    reading = clf.extract()

`kl.load(folder)` opens a saved model. `kl.extract` takes any network. `kl.languages` has languages
to learn, `kl.nn` the networks, `kl.DFA` the automata.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from kleene import languages, nn
    from kleene.automata import DFA, PFA, difference
    from kleene.data import Alphabet
    from kleene.errors import KleeneError
    from kleene.estimator import SequenceClassifier
    from kleene.extraction import adapters as adapt
    from kleene.extraction.extract import extract, read
    from kleene.induction import induce
    from kleene.model import Model
    from kleene.proof.robustness import robustness

__version__ = "0.2.0"

_HOMES = {
    "kleene.automata": ("DFA", "PFA", "difference"),
    "kleene.data": ("Alphabet",),
    "kleene.errors": ("KleeneError",),
    "kleene.estimator": ("SequenceClassifier",),
    "kleene.extraction.extract": ("extract", "read"),
    "kleene.induction": ("induce",),
    "kleene.model": ("Model",),
    "kleene.proof.robustness": ("robustness",),
}
_MODULES = {"adapt": "extraction.adapters", "languages": "languages", "nn": "nn"}

__all__ = [
    "DFA",
    "PFA",
    "Alphabet",
    "KleeneError",
    "Model",
    "SequenceClassifier",
    "adapt",
    "difference",
    "extract",
    "induce",
    "languages",
    "load",
    "nn",
    "read",
    "robustness",
]


def load(folder: str | Path) -> Model:
    """Open the model that `kleene train --out` or `SequenceClassifier.save` wrote."""
    from kleene.model import Model

    return Model.load(folder)


def __getattr__(name: str) -> Any:
    """Names are imported when they are first used, so that `import kleene` is quick."""
    if name in _MODULES:
        return import_module(f"kleene.{_MODULES[name]}")
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(home), name)
    raise AttributeError(f"module 'kleene' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
