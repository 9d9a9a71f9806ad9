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

ELMAN, RELU, GRU, LSTM, PEEPHOLE = range(5)  # the cells by number
LANES = 16  # floats of a vector
FEW_ROWS, FEW_STEPS = 2, 3  # at or below either, packing weights for one pass does not pay


class Block(NamedTuple):
    """A block of sequences, for one thread."""

    workspace: int
    first: int
    end: int
    begin: int = 0  # the step to begin with


class Job(NamedTuple):
    """The shapes, weights and inputs of a pass.

    The input's half of the gates is given in one of three forms: `X` has a row per step; or `X` is
    a table and `ids` has the row number of each step; or it is W x + b of `x`, `W` and `bias`.
    """

    sgemm: int  # address of the BLAS function
    cell: int
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
    few: int  # few sequences: W is packed when the weights are folded
    shared_start: int  # all sequences share one row of H0
    two_steps: int  # memory and scores are kept for two steps only, written in turns
    sizes: int  # time; how many sequences have this step
    starts: int  # time; where each step's rows begin
    X: int = 0  # rows gates
    ids: int = 0  # steps
    x: int = 0  # steps size
    W: int = 0  # gates size
    W_panels: int = 0  # the same as panels, with `few`
    bias: int = 0  # gates; of the GRU, elsewhere it is part of H0 and M
    H0: int = 0  # batch (or 1) width; the recurrent half of the first step
    M: int = 0  # states columns; without states, hidden columns
    h_bias: int = 0  # gates; the sum of the biases that are part of H0 and M
    S: int = 0  # states hidden; the centroids
    keys: int = 0  # states hidden
    offsets: int = 0  # states
    noise: int = 0  # steps states
    temperature: int = 0  # 1
    peephole: int = 0  # 3 hidden, zeros without
    c0: int = 0  # batch hidden


class ForwardBuffers(NamedTuple):
    """What the forward pass writes and the backward pass reads."""

    weights: int = 0  # steps states; without states, the hidden vectors
    scores: int = 0  # steps states; 2 batch states with `two_steps`
    memory: int = 0  # steps hidden; 2 batch hidden with `two_steps`
    last_weights: int = 0  # sequences with a step, states
    last_memory: int = 0  # batch hidden
    hidden: int = 0  # steps hidden; mixtures of the centroids, on request
    last_hidden: int = 0  # sequences with a step, hidden; likewise
    G: int = 0  # steps width; gates, for the backward pass only
    N: int = 0  # steps hidden; the GRU's candidate, likewise
    Q: int = 0  # steps hidden; directions of u, with `normalised`
    norms: int = 0  # steps
    soft: int = 0  # steps states; the weights before hardening


class Weights(NamedTuple):
    """What `fold` reads."""

    R: int  # gates hidden
    hidden: int  # batch hidden; the start, unless it is shared
    h_bias: int  # gates
    x_bias: int  # gates; the input's bias, where it is added to the same sum


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
    """Gradients of what the loops read, summed over the sequences of a block."""

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
    c0: int  # batch hidden


class WeightGrads(NamedTuple):
    """Gradients of what `fold` reads."""

    R: int
    hidden: int
    h_bias: int
    x_bias: int
    S: int


ORDER: tuple[Any, ...] = (
    Block, Job, Weights, ForwardBuffers, OutputGrads, InputGrads, WeightGrads,
)  # fmt: skip


def start(kind: Any) -> int:
    """The number of a record's first integer."""
    return sum(len(before._fields) for before in ORDER[: ORDER.index(kind)])


def place(kind: Any, name: str) -> int:
    """The number of a field."""
    fields: tuple[str, ...] = kind._fields
    return start(kind) + fields.index(name)


def blank() -> array[int]:
    """The arguments of a pass, all 0."""
    return array("q", bytes(8 * (start(WeightGrads) + len(WeightGrads._fields))))
