"""What one pass of the fused path works on, as the compiled loops take it."""

from __future__ import annotations

from typing import Any, NamedTuple


class Job(NamedTuple):
    """The shapes, weights and inputs of a pass; an array of size 0 stands for one not given.

    The input's half of the gates comes in one of three ways: `X` has a row per step; or `X` is a
    table and `ids` names each step's row; or `x` is projected by `W` and `bias` on the way.
    """

    sgemm: int  # address of the matrix product
    cell: int
    states: int  # k, 0 without a stochastic component
    hard: bool  # weights are one-hot, gradients pass straight through
    unit: bool  # similarity by direction: u is scaled to length 1
    sizes: Any  # time: how many sequences are running
    starts: Any  # time: where each step's rows begin
    X: Any  # rows gates*hidden
    ids: Any  # steps
    x: Any  # steps input
    W: Any  # gates*hidden input
    bias: Any  # gates*hidden
    H0: Any  # batch (or 1) width; the recurrent half of the first step
    M: Any  # state gates*hidden[+hidden]; without states, hidden gates*hidden
    h_bias: Any  # gates*hidden, only without states
    keys: Any  # state hidden
    offsets: Any  # state
    noise: Any  # steps state
    inverse: Any  # 1; one over the temperature
    peephole: Any  # 3 hidden, zeros without
    c0: Any  # batch hidden


class Record(NamedTuple):
    """What the forward pass writes, and the backward pass reads."""

    G: Any  # rows width; gates
    N: Any  # rows hidden; the GRU's candidate
    C: Any  # steps hidden; memory
    Q: Any  # rows hidden; directions of u, kept only for `unit`
    norms: Any  # rows
    scores: Any  # steps state
    weights: Any  # steps state; without states, the hidden vectors
    soft: Any  # rows state; the weights before hardening
    last_weights: Any  # batch state
    last_memory: Any  # batch hidden


class Incoming(NamedTuple):
    """Gradients of what the forward pass returned; size 0 where nothing came."""

    weights: Any
    scores: Any
    memory: Any


class Outgoing(NamedTuple):
    """Gradients to hand back; size 0 where nobody asked. The sums are per thread."""

    X: Any  # as Job.X
    x: Any  # steps input
    W: Any
    bias: Any
    H0: Any
    M: Any
    h_bias: Any
    keys: Any
    offsets: Any
    inverse: Any
    peephole: Any
    D: Any  # batch state; comes in as the gradient of last_weights
    DC: Any  # batch hidden; comes in as the gradient of last_memory, leaves as that of c0
