"""The arguments of compiled functions, by name: integers only.

Those of one pass are the records of `ORDER`, one after the other in one array of integers; a
compiled function takes the address of that array. A tensor is given by its address, 0 for an absent
one. The comment after a field is its shape. A row has `hidden`, `states`, `gates` (the input's half
of the gates), `width` (the recurrent half, with the hidden vector where the cell reads it) or
`columns` (what the recurrent product fills of it) floats. Every address must point to contiguous
float32 memory (`ids`, `sizes` and `starts`: int64) of that shape; `dispatch.check_inputs` makes
sure of it.
"""

from __future__ import annotations

from array import array
from typing import Any, NamedTuple

ELMAN, RELU, GRU, LSTM = range(4)  # the cells by number
LANES = 16  # floats of a vector


class Block(NamedTuple):
    """A block of sequences, for one thread."""

    workspace: int
    first: int
    end: int


class Job(NamedTuple):
    """The shapes, weights and inputs of a pass.

    The input's half of the gates is given in one of three forms: `X` has a row per step; or `X` is
    a table and `ids` has the row number of each step; or it is W x + b of `x`, `W` and `bias`.
    """

    sgemm: int  # address of the BLAS function
    hard: int  # weights are one-hot, gradients pass straight through
    normalised: int  # cosine similarity: u is scaled to length 1
    time: int
    batch: int
    hidden: int
    states: int  # 0 without a stochastic component
    gates: int
    width: int
    columns: int
    size: int  # of an input vector; 0 where none is multiplied
    shared_start: int  # all sequences share one row of H0
    sizes: int  # time; how many sequences have this step
    starts: int  # time; where each step's rows begin
    X: int  # rows gates
    ids: int  # steps
    x: int  # steps size
    W: int  # gates size
    bias: int  # gates
    H0: int  # batch (or 1) width; the recurrent half of the first step
    M: int  # states columns; without states, hidden columns
    h_bias: int  # gates; without states
    S: int  # states hidden; the centroids
    keys: int  # states hidden
    offsets: int  # states
    noise: int  # steps states
    temperature: int  # 1
    peephole: int  # 3 hidden
    c0: int  # batch hidden


class ForwardBuffers(NamedTuple):
    """What the forward pass writes and the backward pass reads."""

    weights: int  # steps states; without states, the hidden vectors
    scores: int  # steps states
    memory: int  # steps hidden
    last_weights: int  # sequences with a step, states
    last_memory: int  # batch hidden
    hidden: int  # steps hidden; mixtures of the centroids, on request
    last_hidden: int  # sequences with a step, hidden; likewise
    G: int  # steps width; gates, for the backward pass only
    N: int  # steps hidden; the GRU's candidate, likewise
    Q: int  # steps hidden; directions of u, with `normalised`
    norms: int  # steps
    soft: int  # steps states; the weights before hardening


class OutputGrads(NamedTuple):
    """Gradients of the results of the forward pass."""

    weights: int
    scores: int
    memory: int
    last_weights: int
    last_memory: int
    hidden: int
    last_hidden: int


class InputGrads(NamedTuple):
    """Gradients of the inputs; the sums over steps have their own memory for each thread."""

    X: int
    x: int
    W: int
    bias: int
    H0: int
    M: int
    h_bias: int
    S: int  # from the hidden vectors; with `keys` where those are the centroids themselves
    keys: int
    offsets: int
    temperature: int
    peephole: int
    c0: int


ORDER: tuple[Any, ...] = (Block, Job, ForwardBuffers, OutputGrads, InputGrads)


def start(kind: Any) -> int:
    """The number of a record's first integer."""
    return sum(len(before._fields) for before in ORDER[: ORDER.index(kind)])


def place(kind: Any, name: str) -> int:
    """The number of a field."""
    fields: tuple[str, ...] = kind._fields
    return start(kind) + fields.index(name)


def blank() -> array[int]:
    """The arguments of a pass, all 0."""
    return array("q", bytes(8 * (start(InputGrads) + len(InputGrads._fields))))
