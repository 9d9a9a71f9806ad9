"""What one pass works on, as the compiled loops take it: whole numbers only.

Memory is given by its address, 0 for what is not there. A row's length in floats is `hidden`,
`states`, `gates` (the input's half of the gates), `width` (the recurrent half, with the hidden
vector where the cell reads it) or `columns` (what the recurrent product fills of it).
"""

from __future__ import annotations

from typing import NamedTuple


class Job(NamedTuple):
    """The shapes, weights and inputs of a pass.

    The input's half of the gates comes in one of three ways: `X` has a row per step; or `X` is a
    table and `ids` names each step's row; or `x` is projected by `W` and `bias` on the way.
    """

    sgemm: int  # the matrix product
    cell: int
    hard: int  # weights are one-hot, gradients pass straight through
    unit: int  # similarity by direction: u is scaled to length 1
    time: int
    batch: int
    hidden: int
    states: int  # 0 without a stochastic component
    gates: int
    width: int
    columns: int
    size: int  # of an input vector
    one_start: int  # all sequences share one row of H0
    brief: int  # memory and scores of two steps only, in turns
    sizes: int  # time; how many sequences are running
    starts: int  # time; where each step's rows begin
    X: int = 0  # rows gates
    ids: int = 0  # steps
    x: int = 0  # steps size
    W: int = 0  # gates size
    bias: int = 0  # gates
    H0: int = 0  # batch (or 1) width; the recurrent half of the first step
    M: int = 0  # states columns; without states, hidden columns
    h_bias: int = 0  # columns, only without states
    S: int = 0  # states hidden; the centroids
    keys: int = 0  # states hidden
    offsets: int = 0  # states
    noise: int = 0  # steps states
    temperature: int = 0  # 1
    peephole: int = 0  # 3 hidden, zeros without
    c0: int = 0  # batch hidden


class Record(NamedTuple):
    """What the forward pass writes, and the backward pass reads."""

    weights: int = 0  # steps states; without states, the hidden vectors
    scores: int = 0  # steps states; 2 batch states if brief
    memory: int = 0  # steps hidden; 2 batch hidden if brief
    last_weights: int = 0  # sequences of a step or more, states
    last_memory: int = 0  # batch hidden
    hidden: int = 0  # steps hidden; mixtures of the centroids, if asked for
    last_hidden: int = 0  # sequences of a step or more, hidden; likewise
    G: int = 0  # steps width; gates, kept only for the backward pass
    N: int = 0  # steps hidden; the GRU's candidate, likewise
    Q: int = 0  # steps hidden; directions of u, only for `unit`
    norms: int = 0  # steps
    soft: int = 0  # steps states; the weights before hardening


class Incoming(NamedTuple):
    """Gradients of what the forward pass returned."""

    weights: int
    scores: int
    memory: int
    hidden: int


class Outgoing(NamedTuple):
    """Gradients to hand back. `D` and `DC` come in as those of the last weights and memory."""

    X: int
    x: int
    W: int
    bias: int
    H0: int
    M: int
    h_bias: int
    S: int  # by the mixtures alone
    keys: int
    offsets: int
    temperature: int
    peephole: int
    D: int  # batch states
    DC: int  # batch hidden; leaves as the gradient of c0
