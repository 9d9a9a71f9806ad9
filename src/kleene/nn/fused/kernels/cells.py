"""The cells' equations and their derivatives, a vector of hidden units at a time.

`H` is the recurrent product, `X` the input's half; `G` stores what the backward pass needs, and is
0 where there is none. `h`, `x` and `r` are the indices of a row's first float in arrays of the
recurrent half's width, of the input's and of the hidden size `d`; `j` is the first unit of the
vector and `m` the number of units in it. `s` is how many are stored: more than `m` where the memory
beyond is written later, since storing a whole vector is faster than storing a part.
"""

# mypy: ignore-errors
# Compiled code: Numba infers the types, which mypy cannot see.
from __future__ import annotations

from typing import Any, NamedTuple

from kleene.nn.fused.kernels.compile import inlined, inner
from kleene.nn.fused.kernels.records import LANES
from kleene.nn.fused.kernels.rows import padded
from kleene.nn.fused.kernels.simd import (
    broadcast,
    get,
    load,
    load_int,
    maximum,
    put,
    sigmoid,
    sigmoid_and_tanh,
    store,
    tanh,
    two_sigmoids_and_tanh,
    where_positive,
)


class Step(NamedTuple):
    """The addresses of one step, forward; gates of the input are looked up by `ids`, if not 0."""

    H: int
    X: int
    ids: int
    row: int  # of X, or of ids
    G: int
    N: int  # the GRU's candidate
    B: int  # the memory before
    C: int  # the memory after
    P: int  # the peepholes


class StepBack(NamedTuple):
    """The addresses of one step, backward; the first five are those of `Step`."""

    G: int
    N: int
    B: int
    C: int
    P: int
    DU: int  # the gradient of u
    DC: int  # of the memory, rows padded: turns from that of c_t into that of c_{t-1}
    DP: int  # of the peepholes, rows padded
    DH: int  # of the recurrent half of the gates
    DX: int  # of the input's half


@inlined
def elman(f: Step, d: int, h: int, x: int, r: int, j: int, m: int, s: int) -> Any:
    """u = tanh(x + h); `G` stores u."""
    u = tanh(get(f.X, x + j, m) + get(f.H, h + j, m))
    if f.G:
        put(f.G, h + j, s, u)
    return u


@inlined
def elman_backward(f: StepBack, du: Any, d: int, b: int, j: int, m: int, s: int) -> Any:
    """The derivative; returns u."""
    u = get(f.G, b * d + j, m)
    put(f.DH, b * d + j, s, du * (broadcast(1.0) - u * u))
    return u


@inlined
def relu(f: Step, d: int, h: int, x: int, r: int, j: int, m: int, s: int) -> Any:
    """u = max(x + h, 0); `G` stores u."""
    u = maximum(get(f.X, x + j, m) + get(f.H, h + j, m), broadcast(0.0))
    if f.G:
        put(f.G, h + j, s, u)
    return u


@inlined
def relu_backward(f: StepBack, du: Any, d: int, b: int, j: int, m: int, s: int) -> Any:
    """The derivative; returns u."""
    u = get(f.G, b * d + j, m)
    put(f.DH, b * d + j, s, where_positive(u, du))
    return u


@inlined
def gru(f: Step, d: int, h: int, x: int, r: int, j: int, m: int, s: int) -> Any:
    """u = (1 - z) n + z h; `G` stores r, z, h_n and h, `N` stores n."""
    h_n, hidden = get(f.H, h + 2 * d + j, m), get(f.H, h + 3 * d + j, m)
    reset = sigmoid(get(f.X, x + j, m) + get(f.H, h + j, m))
    a_z = get(f.X, x + d + j, m) + get(f.H, h + d + j, m)
    z, n = sigmoid_and_tanh(a_z, get(f.X, x + 2 * d + j, m) + reset * h_n)
    if f.G:
        put(f.G, h + j, s, reset)
        put(f.G, h + d + j, s, z)
        put(f.G, h + 2 * d + j, s, h_n)
        put(f.G, h + 3 * d + j, s, hidden)
        put(f.N, r + j, s, n)
    return n + z * (hidden - n)


@inlined
def gru_backward(f: StepBack, du: Any, d: int, b: int, j: int, m: int, s: int) -> Any:
    """The derivative; returns u."""
    one, h, x = broadcast(1.0), b * 4 * d + j, b * 3 * d + j
    r, z = get(f.G, h, m), get(f.G, h + d, m)
    h_n, hidden = get(f.G, h + 2 * d, m), get(f.G, h + 3 * d, m)
    n = get(f.N, b * d + j, m)
    da_n = du * (one - z) * (one - n * n)
    da_r = da_n * h_n * r * (one - r)
    da_z = du * (hidden - n) * z * (one - z)
    put(f.DX, x, s, da_r)
    put(f.DX, x + d, s, da_z)
    put(f.DX, x + 2 * d, s, da_n)
    put(f.DH, h, s, da_r)
    put(f.DH, h + d, s, da_z)
    put(f.DH, h + 2 * d, s, da_n * r)
    put(f.DH, h + 3 * d, s, du * z)
    return n + z * (hidden - n)


@inlined
def lstm(f: Step, d: int, h: int, x: int, r: int, j: int, m: int, s: int) -> Any:
    """u = o tanh(c), from the memory `B` to the memory `C`; `G` stores i, f, g and o."""
    before = get(f.B, r + j, m)
    a_i = get(f.X, x + j, m) + get(f.H, h + j, m) + get(f.P, j, m) * before
    a_f = get(f.X, x + d + j, m) + get(f.H, h + d + j, m) + get(f.P, d + j, m) * before
    a_v = get(f.X, x + 2 * d + j, m) + get(f.H, h + 2 * d + j, m)
    i, forget, v = two_sigmoids_and_tanh(a_i, a_f, a_v)
    after = forget * before + i * v
    a_o = get(f.X, x + 3 * d + j, m) + get(f.H, h + 3 * d + j, m)
    o, squashed = sigmoid_and_tanh(a_o + get(f.P, 2 * d + j, m) * after, after)
    if f.G:
        put(f.G, h + j, s, i)
        put(f.G, h + d + j, s, forget)
        put(f.G, h + 2 * d + j, s, v)
        put(f.G, h + 3 * d + j, s, o)
    put(f.C, r + j, s, after)
    return o * squashed


@inlined
def lstm_backward(f: StepBack, du: Any, d: int, b: int, j: int, m: int, s: int) -> Any:
    """The derivative; returns u."""
    one, h, r, w, wide = broadcast(1.0), b * 4 * d + j, b * d + j, b * padded(d) + j, padded(d)
    i, forget = get(f.G, h, m), get(f.G, h + d, m)
    v, o = get(f.G, h + 2 * d, m), get(f.G, h + 3 * d, m)
    before, after = get(f.B, r, m), get(f.C, r, m)
    squashed = tanh(after)
    da_o = du * squashed * o * (one - o)
    to_memory = load(f.DC, w) + du * o * (one - squashed * squashed)
    to_memory = to_memory + da_o * get(f.P, 2 * d + j, m)
    da_i = to_memory * v * i * (one - i)
    da_f = to_memory * before * forget * (one - forget)
    da_v = to_memory * i * (one - v * v)
    to_memory = to_memory * forget
    to_memory = to_memory + da_i * get(f.P, j, m) + da_f * get(f.P, d + j, m)
    store(f.DP, j, load(f.DP, j) + da_i * before)
    store(f.DP, wide + j, load(f.DP, wide + j) + da_f * before)
    store(f.DP, 2 * wide + j, load(f.DP, 2 * wide + j) + da_o * after)
    store(f.DC, w, to_memory)
    put(f.DH, h, s, da_i)
    put(f.DH, h + d, s, da_f)
    put(f.DH, h + 2 * d, s, da_v)
    put(f.DH, h + 3 * d, s, da_o)
    return o * squashed


CELLS = ((elman, elman_backward), (relu, relu_backward), (gru, gru_backward), (lstm, lstm_backward))


def rows_forward(cell: int) -> Any:
    """A step of `n` sequences: the vectors u go to `U`."""
    unit = CELLS[cell][0]

    @inner
    def rows(f: Step, U: int, d: int, width: int, gates: int, n: int) -> None:
        whole = d - d % LANES
        for b in range(n):
            x = (load_int(f.ids, f.row + b) if f.ids else f.row + b) * gates
            h, r = b * width, b * d
            if whole < d:  # first, since it may overwrite the beginning of the next row
                m, s = d - whole, (n - b) * d - whole
                put(U, r + whole, s, unit(f, d, h, x, r, whole, m, s))
            for j in range(0, whole, LANES):
                store(U, r + j, unit(f, d, h, x, r, j, LANES, LANES))

    return _named(rows, f"rows_forward_{cell}")


def rows_backward(cell: int) -> Any:
    """A step of `n` sequences from the gradient of u to those of the gates; u goes to `U`."""
    unit = CELLS[cell][1]

    @inner
    def rows(f: StepBack, U: int, d: int, n: int) -> None:
        whole = d - d % LANES
        for b in range(n):
            r = b * d
            if whole < d:
                m, s = d - whole, (n - b) * d - whole
                put(U, r + whole, s, unit(f, get(f.DU, r + whole, m), d, b, whole, m, s))
            for j in range(0, whole, LANES):
                store(U, r + j, unit(f, load(f.DU, r + j), d, b, j, LANES, LANES))

    return _named(rows, f"rows_backward_{cell}")


def _named(function: Any, name: str) -> Any:
    """Make it a function of this module: Numba's cache knows those by name from run to run."""
    function.__name__ = function.__qualname__ = name
    return globals().setdefault(name, function)
