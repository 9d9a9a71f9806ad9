// The cells' equations and their derivatives, a vector of hidden units at a time.
//
// `H` is the recurrent product, `X` the input's half; `G` stores what the backward pass needs, and is
// 0 where there is none. `h`, `x` and `r` are the indices of a row's first float in arrays of the
// recurrent half's width, of the input's and of the hidden size `d`; `j` is the first unit of the
// vector and `m` the number of units in it. `s` is how many are stored: more than `m` where the
// memory beyond is written later, since storing a whole vector is faster than storing a part.
#pragma once
#include "rows.h"

enum Cell { ELMAN, RELU, GRU, LSTM };

// The arrays of one step, forward; gates of the input are looked up by `ids`, if not 0.
struct Step {
    const float *H, *X;
    const i64 *ids;
    i64 row; // of X, or of ids
    float *G;
    float *N;                                      // the GRU's candidate
    const float *B; float *C;                      // the memory before and after
    const float *P;                                // the peepholes
};

// The arrays of one step, backward.
struct StepBack {
    const float *G, *N, *B, *C, *P;
    const float *DU; // the gradient of u
    float *DC;       // of the memory, rows padded: turns from that of c_t into that of c_{t-1}
    float *DP;       // of the peepholes, rows padded
    float *DH;       // of the recurrent half of the gates
    float *DX;       // of the input's half
};

// u = tanh(x + h), or max(x + h, 0); `G` stores u.
INLINE simd elman(const enum Cell cell, const struct Step *f, i64 h, i64 x, i64 j, i64 m, i64 s) {
    simd a = get(f->X + x + j, m) + get(f->H + h + j, m);
    simd u = cell == RELU ? maximum(a, broadcast(0.0f)) : simd_tanh(a);
    if (f->G) put(f->G + h + j, s, u);
    return u;
}

INLINE simd elman_backward(const enum Cell cell, const struct StepBack *f, simd du, i64 at, i64 m, i64 s) {
    simd u = get(f->G + at, m);
    put(f->DH + at, s, cell == RELU ? where_positive(u, du) : du * (1.0f - u * u));
    return u;
}

// u = (1 - z) n + z h; `G` stores r, z, h_n and h, `N` stores n.
INLINE simd gru(const struct Step *f, i64 d, i64 h, i64 x, i64 r, i64 j, i64 m, i64 s) {
    const float *H = f->H + h + j, *X = f->X + x + j;
    simd h_n = get(H + 2 * d, m), hidden = get(H + 3 * d, m), z, n;
    simd reset = simd_sigmoid(get(X, m) + get(H, m));
    sigmoid_and_tanh(get(X + d, m) + get(H + d, m), get(X + 2 * d, m) + reset * h_n, &z, &n);
    if (f->G) {
        float *G = f->G + h + j;
        put(G, s, reset);
        put(G + d, s, z);
        put(G + 2 * d, s, h_n);
        put(G + 3 * d, s, hidden);
        put(f->N + r + j, s, n);
    }
    return n + z * (hidden - n);
}

INLINE simd gru_backward(const struct StepBack *f, simd du, i64 d, i64 b, i64 j, i64 m, i64 s) {
    const float *G = f->G + b * 4 * d + j;
    float *DH = f->DH + b * 4 * d + j, *DX = f->DX + b * 3 * d + j;
    simd r = get(G, m), z = get(G + d, m), h_n = get(G + 2 * d, m), hidden = get(G + 3 * d, m);
    simd n = get(f->N + b * d + j, m);
    simd da_n = du * (1.0f - z) * (1.0f - n * n);
    simd da_r = da_n * h_n * r * (1.0f - r);
    simd da_z = du * (hidden - n) * z * (1.0f - z);
    put(DX, s, da_r);
    put(DX + d, s, da_z);
    put(DX + 2 * d, s, da_n);
    put(DH, s, da_r);
    put(DH + d, s, da_z);
    put(DH + 2 * d, s, da_n * r);
    put(DH + 3 * d, s, du * z);
    return n + z * (hidden - n);
}

// u = o tanh(c), from the memory `B` to the memory `C`; `G` stores i, f, g and o.
INLINE simd lstm(const struct Step *f, i64 d, i64 h, i64 x, i64 r, i64 j, i64 m, i64 s) {
    const float *H = f->H + h + j, *X = f->X + x + j, *P = f->P + j;
    simd before = get(f->B + r + j, m), i, forget, v, o, squashed;
    simd a_i = get(X, m) + get(H, m) + get(P, m) * before;
    simd a_f = get(X + d, m) + get(H + d, m) + get(P + d, m) * before;
    two_sigmoids_and_tanh(a_i, a_f, get(X + 2 * d, m) + get(H + 2 * d, m), &i, &forget, &v);
    simd after = forget * before + i * v;
    simd a_o = get(X + 3 * d, m) + get(H + 3 * d, m) + get(P + 2 * d, m) * after;
    sigmoid_and_tanh(a_o, after, &o, &squashed);
    if (f->G) {
        float *G = f->G + h + j;
        put(G, s, i);
        put(G + d, s, forget);
        put(G + 2 * d, s, v);
        put(G + 3 * d, s, o);
    }
    put(f->C + r + j, s, after);
    return o * squashed;
}

INLINE simd lstm_backward(const struct StepBack *f, simd du, i64 d, i64 b, i64 j, i64 m, i64 s) {
    const float *G = f->G + b * 4 * d + j, *P = f->P + j;
    float *DH = f->DH + b * 4 * d + j, *DC = f->DC + b * padded(d) + j, *DP = f->DP + j;
    simd i = get(G, m), forget = get(G + d, m), v = get(G + 2 * d, m), o = get(G + 3 * d, m);
    simd before = get(f->B + b * d + j, m), after = get(f->C + b * d + j, m);
    simd squashed = simd_tanh(after);
    simd da_o = du * squashed * o * (1.0f - o);
    simd to_memory = load(DC) + du * o * (1.0f - squashed * squashed) + da_o * get(P + 2 * d, m);
    simd da_i = to_memory * v * i * (1.0f - i);
    simd da_f = to_memory * before * forget * (1.0f - forget);
    simd da_v = to_memory * i * (1.0f - v * v);
    store(DP, load(DP) + da_i * before);
    store(DP + padded(d), load(DP + padded(d)) + da_f * before);
    store(DP + 2 * padded(d), load(DP + 2 * padded(d)) + da_o * after);
    store(DC, to_memory * forget + da_i * get(P, m) + da_f * get(P + d, m));
    put(DH, s, da_i);
    put(DH + d, s, da_f);
    put(DH + 2 * d, s, da_v);
    put(DH + 3 * d, s, da_o);
    return o * squashed;
}

// A step of `n` sequences: the vectors u go to `U`.
INLINE void rows_forward(const enum Cell cell, const struct Step *f, float *U, i64 d, i64 width, i64 gates,
                         i64 n) {
#define UNIT(j, m, s)                                                                               \
    (cell == GRU ? gru(f, d, h, x, r, j, m, s)                                                      \
     : cell == LSTM ? lstm(f, d, h, x, r, j, m, s) : elman(cell, f, h, x, j, m, s))
    const i64 whole = d - d % LANES;
    for (i64 b = 0; b < n; b++) {
        const i64 x = (f->ids ? f->ids[f->row + b] : f->row + b) * gates, h = b * width, r = b * d;
        if (whole < d) { // first, since it may overwrite the beginning of the next row
            const i64 s = (n - b) * d - whole;
            put(U + r + whole, s, UNIT(whole, d - whole, s));
        }
        for (i64 j = 0; j < whole; j += LANES) store(U + r + j, UNIT(j, LANES, LANES));
    }
#undef UNIT
}

// A step of `n` sequences from the gradient of u to those of the gates; u goes to `U`.
INLINE void rows_backward(const enum Cell cell, const struct StepBack *f, float *U, i64 d, i64 n) {
#define UNIT(j, m, s)                                                                               \
    (cell == GRU ? gru_backward(f, get(f->DU + r + j, m), d, b, j, m, s)                            \
     : cell == LSTM ? lstm_backward(f, get(f->DU + r + j, m), d, b, j, m, s)                        \
     : elman_backward(cell, f, get(f->DU + r + j, m), r + j, m, s))
    const i64 whole = d - d % LANES;
    for (i64 b = 0; b < n; b++) {
        const i64 r = b * d;
        if (whole < d) {
            const i64 s = (n - b) * d - whole;
            put(U + r + whole, s, UNIT(whole, d - whole, s));
        }
        for (i64 j = 0; j < whole; j += LANES) store(U + r + j, UNIT(j, LANES, LANES));
    }
#undef UNIT
}
