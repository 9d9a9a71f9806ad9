"""Public data sets: IMDB reviews, 20 Newsgroups and MNIST."""

from kleene.datasets.corpora import Corpus, imdb, newsgroups
from kleene.datasets.mnist import Images, mnist

__all__ = ["Corpus", "Images", "imdb", "mnist", "newsgroups"]
