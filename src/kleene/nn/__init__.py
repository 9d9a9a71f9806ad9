"""Recurrent networks with a finite set of states.

`SRRNN`, `SRGRU` and `SRLSTM` are modules with the arguments of torch's `RNN`, `GRU` and `LSTM`. A
`Cell` is the equation of one step; those of the library are in `kleene.nn.cells`.
"""

from __future__ import annotations

from kleene.nn import cells
from kleene.nn.cells import Cell
from kleene.nn.fused import empty_cache, use_fused
from kleene.nn.layers import SRGRU, SRLSTM, SRRNN
from kleene.nn.mode import Mode, inference
from kleene.nn.similarity import cosine, dot, euclidean
from kleene.nn.state_regularized import StateRegularized
from kleene.nn.trace import Trace
from kleene.nn.transition import Gumbel, gumbel, gumbel_hard, mixture, sample, soft_argmax

__all__ = [
    "SRGRU",
    "SRLSTM",
    "SRRNN",
    "Cell",
    "Gumbel",
    "Mode",
    "StateRegularized",
    "Trace",
    "cells",
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
