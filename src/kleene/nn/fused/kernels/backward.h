// The backward pass: one block of sequences, from the last time step to the first.
//
// The gradients of the gates of a chunk of time are collected in the cache and multiplied at once: a
// few large products instead of a small one per step and weight.
#pragma once
#include "forward.h"

// Floats of workspace for `rows` sequences.
i64 backward_workspace(const struct Job *job, i64 rows) {
    const i64 carried = carried_size(job), k = job->states;
    i64 row = job->width + job->gates + carried + k + 2 * job->hidden + job->size;
    i64 own = rows * (job->hidden + carried + k) + (rows + 3) * padded(job->hidden);
    i64 packed = padded(carried) * job->width + k * padded(job->hidden);
    return max_of(CHUNK, rows) * row + own + packed + padded(k) * job->hidden;
}

// From the gradient `D` of the weights to those of the scores, `DS`, and of u, `DU`; returns the
// gradient of 1 / temperature. `keys` are the panels of `job->keys`.
static double transition_backward(const struct Call *call, const float *keys, i64 p, const float *D,
                                  float *DS, float *DU, i64 n) {
    const struct Job *job = &call->job;
    const struct Forward *fwd = &call->fwd;
    const i64 k = job->states, d = job->hidden, at = p * k;
    const float *alpha = job->hard ? fwd->soft : fwd->weights, *grad = call->grads.scores;
    const double to_inverse = softmax_backward(
        D, alpha + at, fwd->scores + at, job->noise ? job->noise + at : 0, grad ? grad + at : 0, n, k,
        1.0 / *job->temperature, DS, call->out.temperature != 0);
    panels(0, n, d, k, DS, k, keys, DU, d);
    if (job->normalised) normalise_backward(DU, fwd->Q + p * d, n, d, fwd->norms + p);
    return to_inverse;
}

// Gradients of the recurrent weights and centroids from a chunk of time. Its first `skip` rows are
// the first step, whose recurrent half is `H0`.
static void weights_backward(const struct Call *call, const float *DH, const float *V, const float *DS,
                             const float *U, i64 rows, i64 skip) {
    const struct Job *job = &call->job;
    const struct InputGrads *out = &call->out;
    const i64 k = job->states, d = job->hidden, width = job->width, carried = carried_size(job);
    if (skip && out->H0) {
        if (job->shared_start)
            add_rows(out->H0, DH, skip, width, width);
        else
            copy(out->H0 + call->block.first * width, DH, skip * width);
    }
    const float *after = DH + skip * width;
    if (out->M && rows > skip)
        add_outer(carried, job->columns, rows - skip, V + skip * carried, carried, after, width, out->M);
    if (out->h_bias) add_rows(out->h_bias, after, rows - skip, width, job->columns);
    if (out->keys) add_outer(k, d, rows, DS, k, U, d, out->keys);
    if (out->offsets) add_rows(out->offsets, DS, rows, k, k);
}

// Gradient of the mixtures q = w S of `n` rows, `DQ`, and from it that of the weights w, `DW`; `S` are
// the panels of `job->S`. With a blend, hidden vectors have the gradient `D`.
static void mixtures_backward(const struct Call *call, const float *S, i64 p, const float *D, float *DQ,
                              float *DW, i64 n) {
    const struct Job *job = &call->job;
    const i64 k = job->states, d = job->hidden, size = n * d;
    const float *grad = call->grads.hidden, share = job->blend ? *job->blend : 0.0f;
    for (i64 j = 0; j < size; j += LANES) {
        simd gradient = grad ? get(grad + p * d + j, size - j) : broadcast(0.0f);
        if (job->blend) gradient += share * get(D + j, size - j);
        put(DQ + j, size - j, gradient);
    }
    panels(0, n, k, d, DQ, d, S, DW, k);
}

// Gradient of the centroids from that of the mixtures of steps `t` to `stop`.
static void centroids_backward(const struct Call *call, const float *DQ, i64 t, i64 stop) {
    const struct Job *job = &call->job;
    const i64 k = job->states, d = job->hidden, first = call->block.first, end = call->block.end;
    const int whole = first == 0 && end == job->batch;
    while (t < stop) {
        const i64 p = job->starts[t] + first;
        t = whole ? stop : t + 1;
        const i64 rows = job->starts[t - 1] + min_of(job->sizes[t - 1], end) - p;
        add_outer(k, d, rows, call->fwd.weights + p * k, k, DQ, d, call->out.S);
        DQ += rows * d;
    }
}

// Gradients of the input and its weights from steps `t` to `stop`; `x` are their input vectors.
static void inputs_backward(const struct Call *call, const float *DX, const float *x, i64 t, i64 stop,
                            i64 rows) {
    const struct Job *job = &call->job;
    const struct InputGrads *out = &call->out;
    const i64 gates = job->gates, size = job->size, first = call->block.first, end = call->block.end;
    if (out->W) add_outer(gates, size, rows, DX, gates, x, size, out->W);
    if (out->bias) add_rows(out->bias, DX, rows, gates, gates);
    if (out->x && first == 0 && end == job->batch) {
        gemm(job->sgemm, 0, rows, size, gates, DX, gates, job->W, size, 0.0f,
             out->x + job->starts[t] * size, size);
        return;
    }
    for (; (out->X || out->x) && t < stop; t++) {
        const i64 n = min_of(job->sizes[t], end) - first, p = job->starts[t] + first;
        if (out->x)
            gemm(job->sgemm, 0, n, size, gates, DX, gates, job->W, size, 0.0f, out->x + p * size, size);
        else if (job->ids)
            for (i64 b = 0; b < n; b++) add(out->X + job->ids[p + b] * gates, DX + b * gates, gates);
        else
            copy(out->X + p * gates, DX, n * gates);
        DX += n * gates;
    }
}

// Gradient `D` of what is carried on, and of the centroids, from the results after the last step.
static void last_backward(const struct Call *call, float *D) {
    const struct Job *job = &call->job;
    const struct OutputGrads *grads = &call->grads;
    const i64 k = job->states, d = job->hidden, carried = carried_size(job), first = call->block.first;
    const i64 rows = min_of(call->block.end, job->sizes[0]) - first;
    fill_zero(D, (call->block.end - first) * carried);
    if (rows <= 0) return;
    if (grads->last_carried) copy(D, grads->last_carried + first * carried, rows * carried);
    if (!grads->last_hidden) return;
    const float *grad = grads->last_hidden + first * d;
    gemm(job->sgemm, 1, rows, k, d, grad, d, job->S, d, 1.0f, D, k);
    if (call->out.S) add_outer(k, d, rows, call->fwd.last_carried + first * k, k, grad, d, call->out.S);
}

// Add to the gradient of u its share of that of the hidden vectors, and that of the result.
static void add_blended(const struct Call *call, i64 p, const float *D, float *DU, i64 n) {
    const i64 d = call->job.hidden, size = n * d;
    const float share = 1.0f - *call->job.blend;
    for (i64 j = 0; j < size; j += LANES)
        put(DU + j, size - j, get(DU + j, size - j) + share * get(D + j, size - j));
    if (call->grads.u) add(DU, call->grads.u + p * d, size);
}

INLINE void backward(const struct Call *call, const enum Cell cell) {
    const struct Job *job = &call->job;
    const struct Forward *fwd = &call->fwd;
    const struct OutputGrads *grads = &call->grads;
    const struct InputGrads *out = &call->out;
    const i64 first = call->block.first, end = call->block.end, count = end - first;
    const i64 d = job->hidden, k = job->states, width = job->width, columns = job->columns;
    const i64 gates = job->gates, size = job->size, carried = carried_size(job), chunk = max_of(CHUNK, count);
    const int mixtures = grads->hidden || job->blend;
    float *DH = call->block.workspace;               // gradients of the recurrent half of the gates
    float *DX = gates < width ? DH + chunk * width : DH; // and of the input's
    float *V = DH + chunk * (width + gates);         // what the steps before carried on
    float *DS = V + chunk * carried;                 // gradients of the scores
    float *U = DS + chunk * k;                       // vectors u
    float *DQ = U + chunk * d;                       // gradients of the mixtures, with a blend
    float *x_rows = DQ + chunk * d;
    float *DU = x_rows + chunk * size;
    float *DC = DU + count * d;                      // gradients of the memory, rows padded
    float *DP = DC + count * padded(d);              // gradients of the peepholes, likewise
    float *DW = DP + 3 * padded(d);                  // gradients of the weights from the hidden vectors
    float *D = DW + count * k;                       // gradients of what is carried on
    if (job->c0) {
        if (grads->last_memory)
            pad_rows(DC, grads->last_memory + first * d, d, count);
        else
            fill_zero(DC, count * padded(d));
        fill_zero(DP, 3 * padded(d));
    }
    last_backward(call, D);
    float *keys = call->block.workspace + backward_workspace(job, count) - k * padded(d); // panels
    float *S = keys - padded(k) * d, *M = S - padded(carried) * width;
    if (mixtures) pack_transposed(k, d, job->S, S);
    pack(d, k, job->keys, keys);
    pack_transposed(carried, columns, job->M, M);
    const int copy_x = out->W && !(first == 0 && end == job->batch);
    double to_inverse = 0.0;
    i64 above = 0; // sequences in the step above, whose rows come first in DH
    i64 stop = job->time;
    while (stop > 0 && job->sizes[stop - 1] <= first) stop--;
    while (stop > 0) {
        i64 begin = stop, rows = 0, above_at = 0;
        while (begin > 0) {
            const i64 more = min_of(job->sizes[begin - 1], end) - first;
            if (rows > 0 && rows + more > CHUNK) break;
            rows += more;
            begin--;
        }
        i64 local = rows;
        for (i64 t = stop - 1; t >= begin; t--) {
            const i64 n = min_of(job->sizes[t], end) - first, p = job->starts[t] + first;
            const i64 before = t > 0 ? job->starts[t - 1] + first : 0;
            local -= n;
            if (above > 0) {
                const float *gradient = DH + above_at * width;
                panels(0, above, carried, columns, gradient, width, M, D, carried);
                for (i64 b = 0; columns < width && b < above; b++)
                    add(D + b * d, gradient + b * width + columns, d);
            }
            const float *results = job->blend ? grads->blended : grads->weights;
            if (results) add(D, results + p * carried, n * carried);
            if (mixtures) mixtures_backward(call, S, p, D, DQ + local * d, DW, n);
            if (job->blend && grads->weights) add(DW, grads->weights + p * k, n * k);
            if (!job->blend && mixtures) add(D, DW, n * k);
            for (i64 b = 0; grads->memory && b < n; b++)
                add(DC + b * padded(d), grads->memory + (p + b) * d, d);
            const float *gradient = job->blend ? DW : D;
            if (k) to_inverse += transition_backward(call, keys, p, gradient, DS + local * k, DU, n);
            if (job->blend) add_blended(call, p, D, DU, n);
            const struct StepBack step = {
                .G = fwd->G + p * width,
                .N = fwd->N ? fwd->N + p * d : 0,
                .B = !job->c0 ? 0 : t > 0 ? fwd->memory + before * d : job->c0 + first * d,
                .C = job->c0 ? fwd->memory + p * d : 0,
                .P = job->peephole,
                .DU = k ? DU : D,
                .DC = DC,
                .DP = DP,
                .DH = DH + local * width,
                .DX = DX + local * gates,
            };
            rows_backward(cell, &step, U + local * d, d, n);
            if (t > 0) copy(V + local * carried, carried_rows(call) + before * carried, n * carried);
            if (job->normalised) copy(U + local * d, fwd->Q + p * d, n * d);
            if (copy_x) copy(x_rows + local * size, job->x + p * size, n * size);
            above = n;
            above_at = local;
        }
        weights_backward(call, DH, V, DS, U, rows, begin ? 0 : min_of(job->sizes[0], end) - first);
        if (out->S && mixtures) centroids_backward(call, DQ, begin, stop);
        const float *x = copy_x ? x_rows : job->x ? job->x + job->starts[begin] * size : 0;
        inputs_backward(call, DX, x, begin, stop, rows);
        stop = begin;
    }
    if (out->temperature) {
        const double temperature = *job->temperature;
        *out->temperature = (float)(-to_inverse / temperature / temperature);
    }
    if (out->c0) unpad_rows(out->c0 + first * d, DC, d, count);
    if (out->peephole) unpad_rows(out->peephole, DP, d, 3);
}
