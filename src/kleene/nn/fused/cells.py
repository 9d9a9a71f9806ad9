"""The cells' equations and their derivatives, a vector of hidden units at a time.

`H` is what the recurrent product left, `X` the input's half; `G` keeps what the backward pass
needs, and may be `H` itself. A small letter is the index of the row's first float; `d` is the
hidden size, `j` the first unit of the vector and `m` how many of them there are.
"""

# mypy: ignore-errors
# Compiled code: Numba infers the types, which mypy cannot see.
from __future__ import annotations

from typing import Any

from numba import njit

from kleene.nn.fused.lanes import (
    full,
    get,
    larger,
    put,
    sigmoid,
    sigmoid_and_tanh,
    tanh,
    two_sigmoids_and_tanh,
    where_positive,
)

ELMAN, RELU, GRU, LSTM, PEEPHOLE = range(5)


@njit(forceinline=True)
def elman(H: int, h: int, X: int, x: int, G: int, g: int, relu: bool, j: int, m: int) -> Any:
    """u = phi(x + h)."""
    a = get(X, x + j, m) + get(H, h + j, m)
    u = larger(a, full(0.0)) if relu else tanh(a)
    put(G, g + j, m, u)
    return u


@njit(forceinline=True)
def elman_back(G: int, g: int, du: Any, DH: int, dh: int, relu: bool, j: int, m: int) -> Any:
    """The derivative; returns u."""
    u = get(G, g + j, m)
    put(DH, dh + j, m, where_positive(u, du) if relu else du * (full(1.0) - u * u))
    return u


@njit(forceinline=True)
def gru(
    H: int, h: int, X: int, x: int, G: int, g: int, N: int, q: int, d: int, j: int, m: int
) -> Any:
    """u = (1 - z) n + z h; `G` keeps r, z, h_n and h, `N` keeps n."""
    h_n, hidden = get(H, h + 2 * d + j, m), get(H, h + 3 * d + j, m)
    r = sigmoid(get(X, x + j, m) + get(H, h + j, m))
    a_z, a_n = get(X, x + d + j, m) + get(H, h + d + j, m), get(X, x + 2 * d + j, m) + r * h_n
    z, n = sigmoid_and_tanh(a_z, a_n)
    put(G, g + j, m, r)
    put(G, g + d + j, m, z)
    put(G, g + 2 * d + j, m, h_n)
    put(G, g + 3 * d + j, m, hidden)
    put(N, q + j, m, n)
    return n + z * (hidden - n)


@njit(forceinline=True)
def gru_back(
    G: int,
    g: int,
    N: int,
    q: int,
    du: Any,
    DH: int,
    dh: int,
    DX: int,
    dx: int,
    d: int,
    j: int,
    m: int,
) -> Any:
    """The derivative; returns u."""
    one = full(1.0)
    r, z = get(G, g + j, m), get(G, g + d + j, m)
    h_n, hidden = get(G, g + 2 * d + j, m), get(G, g + 3 * d + j, m)
    n = get(N, q + j, m)
    da_n = du * (one - z) * (one - n * n)
    da_r = da_n * h_n * r * (one - r)
    da_z = du * (hidden - n) * z * (one - z)
    put(DX, dx + j, m, da_r)
    put(DX, dx + d + j, m, da_z)
    put(DX, dx + 2 * d + j, m, da_n)
    put(DH, dh + j, m, da_r)
    put(DH, dh + d + j, m, da_z)
    put(DH, dh + 2 * d + j, m, da_n * r)
    put(DH, dh + 3 * d + j, m, du * z)
    return n + z * (hidden - n)


@njit(forceinline=True)
def lstm(
    H: int,
    h: int,
    X: int,
    x: int,
    G: int,
    g: int,
    B: int,
    b: int,
    C: int,
    c: int,
    P: int,
    d: int,
    j: int,
    m: int,
) -> Any:
    """u = o tanh(c), from the memory `B` to the memory `C`; `G` keeps i, f, g and o."""
    before = get(B, b + j, m)
    a_i, a_f = get(X, x + j, m) + get(H, h + j, m), get(X, x + d + j, m) + get(H, h + d + j, m)
    a_o = get(X, x + 3 * d + j, m) + get(H, h + 3 * d + j, m)
    a_v = get(X, x + 2 * d + j, m) + get(H, h + 2 * d + j, m)
    a_i = a_i + get(P, j, m) * before
    a_f = a_f + get(P, d + j, m) * before
    i, f, v = two_sigmoids_and_tanh(a_i, a_f, a_v)
    after = f * before + i * v
    a_o = a_o + get(P, 2 * d + j, m) * after
    o, squashed = sigmoid_and_tanh(a_o, after)
    put(G, g + j, m, i)
    put(G, g + d + j, m, f)
    put(G, g + 2 * d + j, m, v)
    put(G, g + 3 * d + j, m, o)
    put(C, c + j, m, after)
    return o * squashed


@njit(forceinline=True)
def lstm_back(
    G: int,
    g: int,
    B: int,
    b: int,
    C: int,
    c: int,
    du: Any,
    DC: int,
    dc: int,
    DH: int,
    dh: int,
    P: int,
    DP: int,
    d: int,
    j: int,
    m: int,
) -> Any:
    """The derivative; `DC` turns from the gradient of c_t into that of c_{t-1}; returns u."""
    one = full(1.0)
    i, f = get(G, g + j, m), get(G, g + d + j, m)
    v, o = get(G, g + 2 * d + j, m), get(G, g + 3 * d + j, m)
    before, after = get(B, b + j, m), get(C, c + j, m)
    squashed = tanh(after)
    da_o = du * squashed * o * (one - o)
    to_memory = get(DC, dc + j, m) + du * o * (one - squashed * squashed)
    to_memory = to_memory + da_o * get(P, 2 * d + j, m)
    da_i = to_memory * v * i * (one - i)
    da_f = to_memory * before * f * (one - f)
    da_v = to_memory * i * (one - v * v)
    to_memory = to_memory * f
    to_memory = to_memory + da_i * get(P, j, m) + da_f * get(P, d + j, m)
    put(DP, j, m, get(DP, j, m) + da_i * before)
    put(DP, d + j, m, get(DP, d + j, m) + da_f * before)
    put(DP, 2 * d + j, m, get(DP, 2 * d + j, m) + da_o * after)
    put(DC, dc + j, m, to_memory)
    put(DH, dh + j, m, da_i)
    put(DH, dh + d + j, m, da_f)
    put(DH, dh + 2 * d + j, m, da_v)
    put(DH, dh + 3 * d + j, m, da_o)
    return o * squashed
