"""The cells' equations and their derivatives, a vector of hidden units at a time.

`H` is the recurrent product, `X` the input's half; `G` stores what the backward pass needs, and is
0 where there is none. A small letter is the index of the row's first float; `d` is
the hidden size, `j` the first unit of the vector and `m` the number of units in it. `s` is how many
are stored: more than `m` where the memory beyond is written later, since storing a whole vector is
faster than storing a part.
"""

# mypy: ignore-errors
# Compiled code: Numba infers the types, which mypy cannot see.
from __future__ import annotations

from typing import Any

from kleene.compiling import njit
from kleene.nn.fused.kernels.simd import (
    broadcast,
    get,
    load,
    maximum,
    put,
    sigmoid,
    sigmoid_and_tanh,
    store,
    tanh,
    two_sigmoids_and_tanh,
    where_positive,
)


@njit(forceinline=True)
def elman(
    H: int, h: int, X: int, x: int, G: int, g: int, relu: bool, j: int, m: int, s: int
) -> Any:
    """u = phi(x + h)."""
    a = get(X, x + j, m) + get(H, h + j, m)
    u = maximum(a, broadcast(0.0)) if relu else tanh(a)
    if G:
        put(G, g + j, s, u)
    return u


@njit(forceinline=True)
def elman_backward(
    G: int, g: int, du: Any, DH: int, dh: int, relu: bool, j: int, m: int, s: int
) -> Any:
    """The derivative; returns u."""
    u = get(G, g + j, m)
    put(DH, dh + j, s, where_positive(u, du) if relu else du * (broadcast(1.0) - u * u))
    return u


@njit(forceinline=True)
def gru(
    H: int, h: int, X: int, x: int, G: int, g: int, N: int, q: int, d: int, j: int, m: int, s: int
) -> Any:
    """u = (1 - z) n + z h; `G` stores r, z, h_n and h, `N` stores n."""
    h_n, hidden = get(H, h + 2 * d + j, m), get(H, h + 3 * d + j, m)
    r = sigmoid(get(X, x + j, m) + get(H, h + j, m))
    a_z, a_n = get(X, x + d + j, m) + get(H, h + d + j, m), get(X, x + 2 * d + j, m) + r * h_n
    z, n = sigmoid_and_tanh(a_z, a_n)
    if G:
        put(G, g + j, s, r)
        put(G, g + d + j, s, z)
        put(G, g + 2 * d + j, s, h_n)
        put(G, g + 3 * d + j, s, hidden)
        put(N, q + j, s, n)
    return n + z * (hidden - n)


@njit(forceinline=True)
def gru_backward(
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
    s: int,
) -> Any:
    """The derivative; returns u."""
    one = broadcast(1.0)
    r, z = get(G, g + j, m), get(G, g + d + j, m)
    h_n, hidden = get(G, g + 2 * d + j, m), get(G, g + 3 * d + j, m)
    n = get(N, q + j, m)
    da_n = du * (one - z) * (one - n * n)
    da_r = da_n * h_n * r * (one - r)
    da_z = du * (hidden - n) * z * (one - z)
    put(DX, dx + j, s, da_r)
    put(DX, dx + d + j, s, da_z)
    put(DX, dx + 2 * d + j, s, da_n)
    put(DH, dh + j, s, da_r)
    put(DH, dh + d + j, s, da_z)
    put(DH, dh + 2 * d + j, s, da_n * r)
    put(DH, dh + 3 * d + j, s, du * z)
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
    s: int,
) -> Any:
    """u = o tanh(c), from the memory `B` to the memory `C`; `G` stores i, f, g and o."""
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
    if G:
        put(G, g + j, s, i)
        put(G, g + d + j, s, f)
        put(G, g + 2 * d + j, s, v)
        put(G, g + 3 * d + j, s, o)
    put(C, c + j, s, after)
    return o * squashed


@njit(forceinline=True)
def lstm_backward(
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
    wide: int,
    j: int,
    m: int,
    s: int,
) -> Any:
    """The derivative; `DC` turns from the gradient of c_t into that of c_{t-1}; returns u.

    Rows of `DC` and `DP` are `wide` apart, a multiple of whole vectors.
    """
    one = broadcast(1.0)
    i, f = get(G, g + j, m), get(G, g + d + j, m)
    v, o = get(G, g + 2 * d + j, m), get(G, g + 3 * d + j, m)
    before, after = get(B, b + j, m), get(C, c + j, m)
    squashed = tanh(after)
    da_o = du * squashed * o * (one - o)
    to_memory = load(DC, dc + j) + du * o * (one - squashed * squashed)
    to_memory = to_memory + da_o * get(P, 2 * d + j, m)
    da_i = to_memory * v * i * (one - i)
    da_f = to_memory * before * f * (one - f)
    da_v = to_memory * i * (one - v * v)
    to_memory = to_memory * f
    to_memory = to_memory + da_i * get(P, j, m) + da_f * get(P, d + j, m)
    store(DP, j, load(DP, j) + da_i * before)
    store(DP, wide + j, load(DP, wide + j) + da_f * before)
    store(DP, 2 * wide + j, load(DP, 2 * wide + j) + da_o * after)
    store(DC, dc + j, to_memory)
    put(DH, dh + j, s, da_i)
    put(DH, dh + d + j, s, da_f)
    put(DH, dh + 2 * d + j, s, da_v)
    put(DH, dh + 3 * d + j, s, da_o)
    return o * squashed
