"""The cells' equations and their derivatives, eight hidden units at a time.

`G` holds what the recurrent product left and, after the step, what the backward pass needs; `X`
holds the input's half. Positions are of the row's first element; `j` is the first unit of the lanes
and `m` how many of them there are.
"""

from __future__ import annotations

from typing import Any

from numba import njit

from kleene.nn.fused.lanes import full, get, larger, put, sigmoid, tanh, where_positive

ELMAN, RELU, GRU, LSTM, PEEPHOLE = range(5)


@njit(forceinline=True)
def elman(G: Any, g: int, X: Any, x: int, U: Any, u: int, relu: bool, j: int, m: int) -> None:
    """Step: u = phi(x + h)."""
    a = get(X, x + j, m) + get(G, g + j, m)
    value = larger(a, full(0.0)) if relu else tanh(a)
    put(G, g + j, m, value)
    put(U, u + j, m, value)


@njit(forceinline=True)
def elman_back(G: Any, g: int, DU: Any, du: int, DH: Any, dh: int, relu: bool, j: int, m: int) -> Any:
    """Derivative; returns u."""
    u = get(G, g + j, m)
    d = get(DU, du + j, m)
    da = where_positive(u, d) if relu else d * (full(1.0) - u * u)
    put(DH, dh + j, m, da)
    return u


@njit(forceinline=True)
def gru(
    G: Any, g: int, X: Any, x: int, N: Any, q: int, U: Any, u: int, d: int, j: int, m: int
) -> None:
    """Step: u = (1 - z) n + z h; `G` is (r, z, h_n, h) in the end, `N` is n."""
    r = sigmoid(get(X, x + j, m) + get(G, g + j, m))
    z = sigmoid(get(X, x + d + j, m) + get(G, g + d + j, m))
    n = tanh(get(X, x + 2 * d + j, m) + r * get(G, g + 2 * d + j, m))
    put(G, g + j, m, r)
    put(G, g + d + j, m, z)
    put(N, q + j, m, n)
    put(U, u + j, m, n + z * (get(G, g + 3 * d + j, m) - n))


@njit(forceinline=True)
def gru_back(
    G: Any,
    g: int,
    N: Any,
    q: int,
    DU: Any,
    du: int,
    DH: Any,
    dh: int,
    DX: Any,
    dx: int,
    d: int,
    j: int,
    m: int,
) -> Any:
    """Derivative; returns u."""
    one = full(1.0)
    r, z = get(G, g + j, m), get(G, g + d + j, m)
    h_n, h = get(G, g + 2 * d + j, m), get(G, g + 3 * d + j, m)
    n = get(N, q + j, m)
    grad = get(DU, du + j, m)
    da_n = grad * (one - z) * (one - n * n)
    da_r = da_n * h_n * r * (one - r)
    da_z = grad * (h - n) * z * (one - z)
    put(DX, dx + j, m, da_r)
    put(DX, dx + d + j, m, da_z)
    put(DX, dx + 2 * d + j, m, da_n)
    put(DH, dh + j, m, da_r)
    put(DH, dh + d + j, m, da_z)
    put(DH, dh + 2 * d + j, m, da_n * r)
    put(DH, dh + 3 * d + j, m, grad * z)
    return n + z * (h - n)


@njit(forceinline=True)
def lstm(
    G: Any,
    g: int,
    X: Any,
    x: int,
    B: Any,
    b: int,
    C: Any,
    c: int,
    U: Any,
    u: int,
    P: Any,
    d: int,
    j: int,
    m: int,
) -> None:
    """Step from the memory `B` to the memory `C`; `G` is (i, f, g, o) in the end."""
    before = get(B, b + j, m)
    i = sigmoid(get(X, x + j, m) + get(G, g + j, m) + get(P, j, m) * before)
    f = sigmoid(get(X, x + d + j, m) + get(G, g + d + j, m) + get(P, d + j, m) * before)
    v = tanh(get(X, x + 2 * d + j, m) + get(G, g + 2 * d + j, m))
    after = f * before + i * v
    o = sigmoid(get(X, x + 3 * d + j, m) + get(G, g + 3 * d + j, m) + get(P, 2 * d + j, m) * after)
    put(G, g + j, m, i)
    put(G, g + d + j, m, f)
    put(G, g + 2 * d + j, m, v)
    put(G, g + 3 * d + j, m, o)
    put(C, c + j, m, after)
    put(U, u + j, m, o * tanh(after))


@njit(forceinline=True)
def lstm_back(
    G: Any,
    g: int,
    B: Any,
    b: int,
    C: Any,
    c: int,
    DU: Any,
    du: int,
    DC: Any,
    dc: int,
    DH: Any,
    dh: int,
    P: Any,
    DP: Any,
    peephole: bool,
    d: int,
    j: int,
    m: int,
) -> Any:
    """Derivative; `DC` turns from the gradient of c_t into that of c_{t-1}; returns u."""
    one = full(1.0)
    i, f = get(G, g + j, m), get(G, g + d + j, m)
    v, o = get(G, g + 2 * d + j, m), get(G, g + 3 * d + j, m)
    before, after = get(B, b + j, m), get(C, c + j, m)
    grad = get(DU, du + j, m)
    squashed = tanh(after)
    da_o = grad * squashed * o * (one - o)
    to_memory = get(DC, dc + j, m) + grad * o * (one - squashed * squashed)
    if peephole:
        to_memory = to_memory + da_o * get(P, 2 * d + j, m)
    da_i = to_memory * v * i * (one - i)
    da_f = to_memory * before * f * (one - f)
    da_v = to_memory * i * (one - v * v)
    to_memory = to_memory * f
    if peephole:
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
