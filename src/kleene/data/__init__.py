"""From words to arrays: alphabets, batches and files."""

from kleene.data.alphabet import END, PAD, START, UNKNOWN, Alphabet
from kleene.data.batch import Batch, batches, make_batch
from kleene.data.files import Data, Example, read_data, read_examples
from kleene.data.tokenize import tokenize

__all__ = [
    "END",
    "PAD",
    "START",
    "UNKNOWN",
    "Alphabet",
    "Batch",
    "Data",
    "Example",
    "batches",
    "make_batch",
    "read_data",
    "read_examples",
    "tokenize",
]
