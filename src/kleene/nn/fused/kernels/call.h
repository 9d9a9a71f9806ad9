// The arguments of a kernel, by name. `fused/plan.py` reads this file, so that each field has one
// definition: one field per line, eight bytes each.
//
// The comment after a field is its shape. An absent tensor is 0; every other pointer is to
// contiguous memory of that shape, which `fused/dispatch.py` makes sure of. A row has `hidden`,
// `states`, `gates` (the input's half of the gates), `width` (the recurrent half, with the hidden
// vector where the cell reads it) or `columns` (what the recurrent product fills of it) floats.
#pragma once
#include <stdint.h>

typedef int64_t i64;
typedef void Sgemm(const char *, const char *, const int *, const int *, const int *,
                   const float *, const float *, const int *, const float *, const int *,
                   const float *, float *, const int *);

// A block of sequences, for one thread.
struct Block {
    float *workspace;
    i64 first;
    i64 end;
};

// The shapes, weights and inputs of a pass. The input's half of the gates has one of three forms:
// `X` has a row per step; or `X` is a table and `ids` has the row number of each step; or it is
// W x + b of `x`, `W` and `bias`.
struct Job {
    Sgemm *sgemm;
    i64 hard;              // weights are one-hot, gradients pass straight through
    i64 normalised;        // cosine similarity: u is scaled to length 1
    i64 time;
    i64 batch;
    i64 hidden;
    i64 states;            // 0 without a stochastic component
    i64 gates;
    i64 width;
    i64 columns;
    i64 size;              // of an input vector; 0 where none is multiplied
    i64 shared_start;      // all sequences share one row of H0
    const i64 *sizes;      // time; how many sequences have this step
    const i64 *starts;     // time; where each step's rows begin
    const float *X;        // rows gates
    const i64 *ids;        // steps
    const float *x;        // steps size
    const float *W;        // gates size
    const float *bias;     // gates
    const float *H0;       // batch (or 1) width; the recurrent half of the first step
    const float *M;        // states columns; where hidden vectors are carried on, hidden columns
    const float *h_bias;   // gates; where hidden vectors are carried on
    const float *S;        // states hidden; the centroids
    const float *keys;     // states hidden
    const float *offsets;  // states
    const float *noise;    // steps states
    const float *temperature;
    const float *blend;    // one number, lambda: hidden vectors are carried on, (1 - lambda) u + lambda q
    const float *hidden_noise; // steps hidden; added to the hidden vectors that are carried on
    const float *peephole; // 3 hidden
    const float *c0;       // batch hidden
};

// What the forward pass writes and the backward pass reads.
struct Forward {
    float *weights;      // steps states; without states, the hidden vectors
    float *blended;      // steps hidden; the hidden vectors that are carried on, with `blend`
    float *u;            // steps hidden; the vectors u, with `blend`
    float *scores;       // steps states
    float *memory;       // steps hidden
    float *last_carried; // sequences with a step; the last row that is carried on, weights or hidden
    float *last_memory;  // batch hidden
    float *hidden;       // steps hidden; mixtures q of the centroids, on request
    float *last_hidden;  // sequences with a step, hidden; where weights are carried on
    float *G;            // steps width; gates, for the backward pass only
    float *N;            // steps hidden; the GRU's candidate, likewise
    float *Q;            // steps hidden; directions of u, with `normalised`
    float *norms;        // steps
    float *soft;         // steps states; the weights before hardening
};

// Gradients of the results of the forward pass.
struct OutputGrads {
    const float *weights;
    const float *blended;
    const float *u;
    const float *scores;
    const float *memory;
    const float *last_carried;
    const float *last_memory;
    const float *hidden;
    const float *last_hidden;
};

// Gradients of the inputs; the sums over steps have their own memory for each thread.
struct InputGrads {
    float *X;
    float *x;
    float *W;
    float *bias;
    float *H0;
    float *M;
    float *h_bias;
    float *S; // from the hidden vectors; with `keys` where those are the centroids themselves
    float *keys;
    float *offsets;
    float *temperature;
    float *peephole;
    float *c0;
};

struct Call {
    struct Block block;
    struct Job job;
    struct Forward fwd;
    struct OutputGrads grads;
    struct InputGrads out;
};

// Whether a step hands the weights of the centroids to the next; otherwise a hidden vector.
static inline int carries_weights(const struct Job *job) { return job->states && !job->blend; }

static inline i64 carried_size(const struct Job *job) {
    return carries_weights(job) ? job->states : job->hidden;
}

static inline float *carried_rows(const struct Call *call) {
    return call->job.blend ? call->fwd.blended : call->fwd.weights;
}
