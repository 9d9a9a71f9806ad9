"""Public data sets: IMDB reviews, 20 Newsgroups and MNIST."""

from kleene.datasets.corpora import LabelledTexts, imdb, newsgroups
from kleene.datasets.mnist import Images, mnist

__all__ = ["Images", "LabelledTexts", "imdb", "mnist", "newsgroups"]
