"""Recurrent networks with a finite set of states."""

from kleene.nn.cells import GRU, LSTM, Cell, Elman
from kleene.nn.fused import empty_cache, use_fused
from kleene.nn.inference import inference
from kleene.nn.layers import SRGRU, SRLSTM, SRRNN, StateRegularized
from kleene.nn.similarity import cosine, dot, euclidean
from kleene.nn.stream import Stream
from kleene.nn.trace import Trace
from kleene.nn.transition import Gumbel, gumbel, gumbel_hard, mixture, sample, soft_argmax

__all__ = [
    "GRU",
    "LSTM",
    "SRGRU",
    "SRLSTM",
    "SRRNN",
    "Cell",
    "Elman",
    "Gumbel",
    "StateRegularized",
    "Stream",
    "Trace",
    "cosine",
    "dot",
    "empty_cache",
    "euclidean",
    "gumbel",
    "gumbel_hard",
    "inference",
    "mixture",
    "sample",
    "soft_argmax",
    "use_fused",
]
