"""Reading trained networks: automata, how far to trust them, and where they are wrong."""

from kleene.read.ambiguity import Ambiguity
from kleene.read.certificate import Certificate, Refusal
from kleene.read.certify import certify, largest_temperature
from kleene.read.disagreement import Search, find_disagreement
from kleene.read.extract import extract
from kleene.read.extraction import Extraction
from kleene.read.fidelity import Fidelity, fidelity
from kleene.read.sharpen import sharpen
from kleene.read.table import HardMachine, Table, read_table

__all__ = [
    "Ambiguity",
    "Certificate",
    "Extraction",
    "Fidelity",
    "HardMachine",
    "Refusal",
    "Search",
    "Table",
    "certify",
    "extract",
    "fidelity",
    "find_disagreement",
    "largest_temperature",
    "read_table",
    "sharpen",
]
