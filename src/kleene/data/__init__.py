"""From words to arrays: alphabets, batches, files, and languages to sample from."""

from kleene.data.alphabet import END, PAD, START, UNKNOWN, Alphabet
from kleene.data.batch import Batch, batches, make_batch
from kleene.data.corpora import Corpus, imdb, newsgroups
from kleene.data.files import Data, Example, read_data, read_examples
from kleene.data.language import Language
from kleene.data.pixels import Images, mnist
from kleene.data.tokenize import tokenize

__all__ = [
    "END",
    "PAD",
    "START",
    "UNKNOWN",
    "Alphabet",
    "Batch",
    "Corpus",
    "Data",
    "Example",
    "Images",
    "Language",
    "batches",
    "imdb",
    "make_batch",
    "mnist",
    "newsgroups",
    "read_data",
    "read_examples",
    "tokenize",
]
