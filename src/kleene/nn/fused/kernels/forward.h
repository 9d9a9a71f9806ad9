// The forward pass: one block of sequences through all of time.
#pragma once
#include "cells.h"
#include "products.h"

#define CHUNK 512 // rows of input projected at once, if a step has few or by BLAS; else a step's

// Floats of workspace for `rows` sequences.
i64 forward_workspace(const struct Job *job, i64 rows) {
    i64 projected = job->size ? max_of(CHUNK, rows) * job->gates + padded(job->gates) * job->size : 0;
    i64 packed = carried_size(job) * padded(job->columns) + job->states * padded(job->hidden);
    return rows * (job->width + job->hidden) + projected + packed + padded(job->states) * job->hidden;
}

// The recurrent half of the gates of a step, from what is carried on from row `before` on; a negative
// `before` stands for the start, `H0`. `M` are the panels of `job->M`.
static void recurrent_half(const struct Call *call, float *H, const float *M, i64 before, i64 n) {
    const struct Job *job = &call->job;
    const i64 width = job->width, d = job->hidden, columns = job->columns, k = carried_size(job);
    const float *rows = carried_rows(call) + before * k;
    if (before < 0) {
        for (i64 b = 0; b < n; b++)
            copy(H + b * width, job->H0 + (job->shared_start ? 0 : call->block.first + b) * width, width);
        return;
    }
    panels(job->h_bias, n, columns, k, rows, k, M, H, width);
    for (i64 b = 0; columns < width && b < n; b++) copy(H + b * width + columns, rows + b * d, d);
}

// W x + b of some rows of input; `W` are the panels of `job->W`, or 0.
static void project(const struct Job *job, const float *W, i64 row, i64 rows, float *to) {
    const i64 gates = job->gates, size = job->size;
    if (W) {
        panels(job->bias, rows, gates, size, job->x + row * size, size, W, to, gates);
        return;
    }
    for (i64 b = 0; job->bias && b < rows; b++) copy(to + b * gates, job->bias, gates);
    gemm(job->sgemm, 1, rows, gates, size, job->x + row * size, size, job->W, size,
         job->bias ? 1.0f : 0.0f, to, gates);
}

// The stochastic component: weights of the states from the vectors u, to rows from `p` on. `keys`
// are the panels of `job->keys`, transposed.
static void transition(const struct Call *call, const float *keys, float *U, i64 p, i64 n) {
    const struct Job *job = &call->job;
    const struct Forward *fwd = &call->fwd;
    const i64 k = job->states, d = job->hidden;
    if (job->normalised) {
        normalise(U, n, d, fwd->norms ? fwd->norms + p : 0);
        if (fwd->Q) copy(fwd->Q + p * d, U, n * d);
    }
    float *scores = fwd->scores + p * k, *weights = fwd->weights + p * k;
    panels(0, n, k, d, U, d, keys, scores, k);
    softmax(job, scores, weights, job->noise ? job->noise + p * k : 0, n);
    if (job->hard) harden(weights, fwd->soft ? fwd->soft + p * k : 0, n, k);
}

// The hidden vectors that are carried on: blended with the mixtures, and with noise.
static void carry_on(const struct Call *call, i64 p, i64 n) {
    const struct Job *job = &call->job;
    const i64 at = p * job->hidden, size = n * job->hidden;
    float *to = carried_rows(call) + at;
    const float share = job->blend ? *job->blend : 0.0f;
    const float *u = job->blend ? call->fwd.u + at : to, *q = call->fwd.hidden + at;
    for (i64 j = 0; j < size; j += LANES) {
        simd h = get(u + j, size - j);
        if (job->blend) h = (1.0f - share) * h + share * get(q + j, size - j);
        if (job->hidden_noise) h += get(job->hidden_noise + at + j, size - j);
        put(to + j, size - j, h);
    }
}

// What remains of `n` sequences after step `t`; those that end here leave their last values.
static void finish(const struct Call *call, const float *S, i64 p, i64 n, i64 running) {
    const struct Job *job = &call->job;
    const struct Forward *fwd = &call->fwd;
    const i64 d = job->hidden, k = job->states, carried = carried_size(job);
    const i64 to = call->block.first + running, at = p + running, ended = n - running;
    copy(fwd->last_carried + to * carried, carried_rows(call) + at * carried, ended * carried);
    if (fwd->last_hidden && fwd->hidden)
        copy(fwd->last_hidden + to * d, fwd->hidden + at * d, ended * d);
    else if (fwd->last_hidden)
        panels(0, ended, d, k, fwd->weights + at * k, k, S, fwd->last_hidden + to * d, d);
    if (job->c0) copy(fwd->last_memory + to * d, fwd->memory + at * d, ended * d);
}

INLINE void forward(const struct Call *call, const enum Cell cell) {
    const struct Job *job = &call->job;
    const struct Forward *fwd = &call->fwd;
    const i64 first = call->block.first, end = call->block.end, count = end - first;
    const i64 d = job->hidden, k = job->states, width = job->width, gates = job->gates;
    const int whole = first == 0 && end == job->batch, few = count <= FEW_ROWS;
    float *H = call->block.workspace, *U = H + count * width, *projected = U + count * d;
    float *keys = call->block.workspace + forward_workspace(job, count) - padded(k) * d; // panels
    float *S = keys - k * padded(d), *M = S - carried_size(job) * padded(job->columns), *W = 0;
    pack(d, k, job->S, S);
    pack(job->columns, carried_size(job), job->M, M);
    pack_transposed(k, d, job->keys, keys);
    if (job->x && !few) pack_transposed(gates, job->size, job->W, W = M - padded(gates) * job->size);
    i64 chunk_end = 0, local = 0, before = -1;
    for (i64 t = 0; t < job->time; t++) {
        const i64 n = min_of(job->sizes[t], end) - first, p = job->starts[t] + first;
        if (n <= 0) break;
        recurrent_half(call, H, M, before, n);
        if (job->x && t >= chunk_end) {
            i64 rows = local = 0;
            while (chunk_end < job->time && (rows == 0 || (whole && (few || !W)))) {
                const i64 more = min_of(job->sizes[chunk_end], end) - first;
                if (rows > 0 && rows + more > CHUNK) break;
                rows += more;
                chunk_end++;
            }
            project(job, W, p, rows, projected);
        }
        const struct Step step = {
            .H = H,
            .X = job->x ? projected : job->X,
            .ids = job->ids,
            .row = job->x ? local : p,
            .G = fwd->G ? fwd->G + p * width : 0,
            .N = fwd->N ? fwd->N + p * d : 0,
            .B = !job->c0 ? 0 : before < 0 ? job->c0 + first * d : fwd->memory + before * d,
            .C = job->c0 ? fwd->memory + p * d : 0,
            .P = job->peephole,
        };
        rows_forward(cell, &step, k ? U : fwd->weights + p * d, d, width, gates, n);
        local += n;
        if (fwd->u) copy(fwd->u + p * d, U, n * d);
        if (k) transition(call, keys, U, p, n);
        if (fwd->hidden)
            panels(0, n, d, k, fwd->weights + p * k, k, S, fwd->hidden + p * d, d);
        if (job->blend || job->hidden_noise) carry_on(call, p, n);
        const i64 next = t + 1 < job->time ? min_of(job->sizes[t + 1], end) - first : 0;
        if (next < n) finish(call, S, p, n, max_of(0, next));
        before = p;
    }
}
