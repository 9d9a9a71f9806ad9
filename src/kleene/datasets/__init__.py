"""Public data sets: IMDB reviews, 20 Newsgroups and MNIST."""

from typing import Any

from kleene.datasets.corpora import LabelledTexts, imdb, newsgroups
from kleene.datasets.mnist import Images, mnist

__all__ = ["Images", "LabelledTexts", "imdb", "mnist", "newsgroups"]


def __getattr__(name: str) -> Any:
    if name == "Corpus":
        import warnings

        warnings.warn("Corpus is now LabelledTexts", DeprecationWarning, stacklevel=2)
        return LabelledTexts
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
