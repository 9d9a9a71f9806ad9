"""From words to arrays: alphabets, batches and files."""

from kleene.data.alphabet import END, PAD, START, UNKNOWN, Alphabet
from kleene.data.batch import Batch, batches, make_batch
from kleene.data.bins import Bins
from kleene.data.files import Data, read_data, read_examples
from kleene.data.layout import Example, Layout
from kleene.data.words import tokenize

__all__ = [
    "END",
    "PAD",
    "START",
    "UNKNOWN",
    "Alphabet",
    "Batch",
    "Bins",
    "Data",
    "Example",
    "Layout",
    "batches",
    "make_batch",
    "read_data",
    "read_examples",
    "tokenize",
]
