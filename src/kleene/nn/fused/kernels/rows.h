// Row by row: copying, adding, and the stochastic component from scores to weights and back.
#pragma once
#include <string.h>

#include "call.h"
#include "simd.h"

#define LOWEST (-INFINITY)
#define MIN_DIFFERENCE -1e20f // differences of scores are clipped here: multiples are finite
#define SHARP 1e8             // factors from which on only the highest score counts
#define MAX_FACTOR 3e38

INLINE i64 min_of(i64 a, i64 b) { return a < b ? a : b; }

INLINE i64 max_of(i64 a, i64 b) { return a > b ? a : b; }

// The length of a row of `d` floats that ends with a whole vector.
INLINE i64 padded(i64 d) { return (d + LANES - 1) / LANES * LANES; }

INLINE void copy(float *to, const float *source, i64 size) { memcpy(to, source, 4 * size); }

INLINE void fill_zero(float *to, i64 size) { memset(to, 0, 4 * size); }

INLINE void add(float *to, const float *source, i64 size) {
    for (i64 j = 0; j < size; j += LANES)
        put(to + j, size - j, get(to + j, size - j) + get(source + j, size - j));
}

// Add the first `size` floats of every row to `to`.
static void add_rows(float *to, const float *source, i64 rows, i64 width, i64 size) {
    for (i64 b = 0; b < rows; b++) add(to, source + b * width, size);
}

// Copy rows to padded ones, with zeros at the end.
static void pad_rows(float *to, const float *source, i64 d, i64 rows) {
    for (i64 b = 0; b < rows; b++)
        for (i64 j = 0; j < d; j += LANES)
            store(to + b * padded(d) + j, get(source + b * d + j, d - j));
}

static void unpad_rows(float *to, const float *source, i64 d, i64 rows) {
    for (i64 b = 0; b < rows; b++) copy(to + b * d, source + b * padded(d), d);
}

// 1 / temperature in double precision, as the sum of two floats: its rounding error would add up
// over a long sequence. From SHARP on the softmax is one-hot anyway, and the second part is 0.
INLINE void two_parts(double factor, float *large, float *rest) {
    *large = (float)(factor < MAX_FACTOR ? factor : MAX_FACTOR);
    *rest = factor < SHARP ? (float)(factor - *large) : 0.0f;
}

INLINE simd below_peak(simd s, simd peak, float scale, float rest) {
    s = maximum(s - peak, broadcast(MIN_DIFFERENCE));
    return simd_exp(s * scale + s * rest);
}

// w = softmax((scores + offsets + noise) / temperature); the offsets are added to `scores`.
// Up to LANES states are one vector, which stays in registers.
static void softmax(const struct Job *job, float *scores, float *weights, const float *noise, i64 rows) {
    const i64 k = job->states;
    const float *offsets = job->offsets;
    float scale, rest;
    two_parts(1.0 / *job->temperature, &scale, &rest);
    if (k <= LANES) {
        for (i64 b = 0; b < rows; b++, scores += k, weights += k) {
            simd s = get_or(scores, k, LOWEST);
            if (offsets) {
                s += get(offsets, k);
                put(scores, k, s);
            }
            if (noise) s += get(noise + b * k, k);
            simd e = below_peak(s, broadcast(reduce_max(s)), scale, rest);
            put(weights, k, e * (1.0f / reduce_sum(e)));
        }
        return;
    }
    const float *source = offsets || noise ? weights : scores;
    for (i64 b = 0; b < rows; b++, scores += k, weights += k, source += k) {
        simd top = broadcast(LOWEST), mass = broadcast(0.0f);
        for (i64 j = 0; j < k; j += LANES) {
            simd s = get_or(scores + j, k - j, LOWEST);
            if (offsets) {
                s += get(offsets + j, k - j);
                put(scores + j, k - j, s);
            }
            if (noise) s += get(noise + b * k + j, k - j);
            if (source != scores) put(weights + j, k - j, s);
            top = maximum(s, top);
        }
        simd peak = broadcast(reduce_max(top));
        for (i64 j = 0; j < k; j += LANES) {
            simd e = below_peak(get_or(source + j, k - j, LOWEST), peak, scale, rest);
            put(weights + j, k - j, e);
            mass += e;
        }
        float share = 1.0f / reduce_sum(mass);
        for (i64 j = 0; j < k; j += LANES) put(weights + j, k - j, get(weights + j, k - j) * share);
    }
}

// One-hot of the largest weight, the first if there are several; `soft` keeps the weights.
static void harden(float *weights, float *soft, i64 rows, i64 k) {
    for (i64 b = 0; b < rows; b++, weights += k) {
        if (soft) copy(soft + b * k, weights, k);
        i64 best = 0;
        for (i64 j = 1; j < k; j++)
            if (weights[j] > weights[best]) best = j;
        fill_zero(weights, k);
        weights[best] = 1.0f;
    }
}

// Gradient of the scores `DS` from that `D` of the weights; returns the gradient of 1 / temperature.
static double softmax_backward(const float *D, const float *alpha, const float *scores, const float *noise,
                               const float *grad_scores, i64 rows, i64 k, double inverse, float *DS,
                               int learn_temperature) {
    double to_inverse = 0.0;
    const float scale = (float)(inverse < MAX_FACTOR ? inverse : MAX_FACTOR);
    for (i64 b = 0; b < rows; b++) {
        const i64 row = b * k;
        simd mean = broadcast(0.0f), raised = broadcast(0.0f);
        for (i64 j = row, m = k; m > 0; j += LANES, m -= LANES) mean += get(D + j, m) * get(alpha + j, m);
        mean = broadcast(reduce_sum(mean));
        for (i64 j = row, m = k; m > 0; j += LANES, m -= LANES) {
            simd ds = get(alpha + j, m) * (get(D + j, m) - mean);
            if (learn_temperature) {
                simd s = get(scores + j, m);
                if (noise) s += get(noise + j, m);
                raised += ds * s;
            }
            ds *= scale;
            if (grad_scores) ds += get(grad_scores + j, m);
            put(DS + j, m, ds);
        }
        if (learn_temperature) to_inverse += reduce_sum(raised);
    }
    return to_inverse;
}

// Scale rows to length 1, in place; the factors go to `norms`, unless it is 0.
static void normalise(float *U, i64 rows, i64 d, float *norms) {
    for (i64 b = 0; b < rows; b++, U += d) {
        simd square = broadcast(0.0f);
        for (i64 j = 0; j < d; j += LANES) {
            simd u = get(U + j, d - j);
            square += u * u;
        }
        float length = sqrtf(reduce_sum(square)), inverse = 1.0f / (length < 1e-12f ? 1e-12f : length);
        if (norms) norms[b] = inverse;
        for (i64 j = 0; j < d; j += LANES) put(U + j, d - j, get(U + j, d - j) * inverse);
    }
}

// From the gradient of q = u / |u| to that of u, (dq - q <q, dq>) / |u|, in place.
static void normalise_backward(float *DU, const float *Q, i64 rows, i64 d, const float *norms) {
    for (i64 b = 0; b < rows; b++, DU += d, Q += d) {
        simd along = broadcast(0.0f);
        for (i64 j = 0; j < d; j += LANES) along += get(DU + j, d - j) * get(Q + j, d - j);
        along = broadcast(reduce_sum(along));
        for (i64 j = 0; j < d; j += LANES)
            put(DU + j, d - j, (get(DU + j, d - j) - get(Q + j, d - j) * along) * norms[b]);
    }
}
