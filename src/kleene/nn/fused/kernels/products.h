// Matrix products: by tiles for a few rows at a time, faster here than BLAS, else by torch's BLAS.
//
//     C[r] = start[r] + sum_i A[r, i] B[i]         r: some rows; B[i], C[r]: a vector of columns
//
// Every step multiplies by the same weights. They are packed once, as panels of one vector's width,
// and stay in the cache; BLAS packs them again at every call. Gradients of weights are sums of outer
// products, whose rows need no packing. Both are cut into tiles whose sums are all in registers: for
// every i, a tile loads the vector B[i] once and multiplies it with one number of every row. The
// sums are independent: while one multiply-add is under way, those of other sums begin. Rows that
// are left over go through smaller tiles.
#pragma once
#include "rows.h"

#define FEW_ROWS 2 // up to so many go row by row
#define STEPS 128 // of A in `add_outer` at a time: they stay in the cache
#define COLUMNS 48

// C = op(A) op(B) + beta C, row-major: (m, k) times (k, n), with the distance of rows each. Fortran
// is column-major, so it is called for C^T = op(B)^T op(A)^T.
static void gemm(Sgemm *sgemm, int transpose_b, i64 m, i64 n, i64 k, const float *A, i64 a_row,
                 const float *B, i64 b_row, float beta, float *C, i64 c_row) {
    const int sizes[] = {(int)m, (int)n, (int)k, (int)a_row, (int)b_row, (int)c_row};
    const float one = 1.0f;
    sgemm(transpose_b ? "T" : "N", "N", sizes + 1, sizes, sizes + 2, &one, B, sizes + 4, A, sizes + 3,
          &beta, C, sizes + 5);
}

// The panels of B, (k, m): padded(m) * k floats.
static void pack(i64 m, i64 k, const float *B, float *P) {
    for (i64 j = 0; j < m; j += LANES)
        for (i64 i = 0; i < k; i++, P += LANES) store(P, get(B + i * m + j, m - j));
}

// The panels of the transpose of B, (m, k).
static void pack_transposed(i64 m, i64 k, const float *B, float *P) {
    for (i64 j = 0; j < m; j += LANES, P += LANES * k)
        for (i64 lane = 0; lane < LANES; lane++)
            for (i64 i = 0; i < k; i++) P[i * LANES + lane] = j + lane < m ? B[(j + lane) * k + i] : 0.0f;
}

// One tile of a panel of C = A B + start; the rows of C are `apart`. A panel that ends beyond a row
// may write the beginning of the next row, but no more than `left` floats from C on.
INLINE void panel_tile(const int rows, simd start, i64 k, const float *A, i64 wide, const float *P,
                       float *C, i64 apart, i64 left) {
    simd sums[ROWS];
    UNROLL for (int r = 0; r < rows; r++) sums[r] = start;
    for (i64 i = 0; i < k; i++) {
        simd b = load(P + i * LANES);
        UNROLL for (int r = 0; r < rows; r++) sums[r] += A[r * wide + i] * b;
    }
    UNROLL for (int r = 0; r < rows; r++) put(C + r * apart, left - r * apart, sums[r]);
}

// One row of C = A B + bias, four panels at a time; the last ones in four sums. Sums that do not wait
// for each other hide the latency.
static void row_panels(const float *bias, i64 m, i64 k, const float *A, const float *P, float *C) {
    i64 j = 0;
    for (; j + 3 * LANES < m; j += 4 * LANES) {
        simd sums[4] = {0};
        for (i64 i = 0; i < k; i++)
            UNROLL for (int v = 0; v < 4; v++) sums[v] += A[i] * load(P + (j + v * LANES) * k + i * LANES);
        for (i64 v = 0, at = j; v < 4; v++, at += LANES)
            put(C + at, m - at, bias ? sums[v] + get(bias + at, m - at) : sums[v]);
    }
    for (; j < m; j += LANES) {
        const float *panel = P + j * k;
        simd sums[4] = {bias ? get(bias + j, m - j) : broadcast(0.0f)};
        i64 i = 0;
        for (; i + 4 <= k; i += 4)
            UNROLL for (int v = 0; v < 4; v++) sums[v] += A[i + v] * load(panel + (i + v) * LANES);
        for (; i < k; i++) sums[0] += A[i] * load(panel + i * LANES);
        put(C + j, m - j, (sums[0] + sums[1]) + (sums[2] + sums[3]));
    }
}

// C = A B + bias of (n, k) and (k, m) by the panels of B; the rows of A are `wide` apart, and those
// of C `apart`.
static void panels(const float *bias, i64 n, i64 m, i64 k, const float *A, i64 wide, const float *P,
                   float *C, i64 apart) {
    if (n <= FEW_ROWS) {
        for (i64 r = 0; r < n; r++) row_panels(bias, m, k, A + r * wide, P, C + r * apart);
        return;
    }
    for (i64 j = (m - 1) / LANES * LANES; j >= 0; j -= LANES) { // the last first: see panel_tile
        const simd start = bias ? get(bias + j, m - j) : broadcast(0.0f);
        i64 r = 0;
#define TILE(rows)                                                                                  \
    for (; r + rows <= n; r += rows)                                                                \
        panel_tile(rows, start, k, A + r * wide, wide, P + j * k, C + r * apart + j, apart,           \
                   (n - r) * apart - j);
        TILE(ROWS) TILE(4) TILE(2) TILE(1)
#undef TILE
    }
}

// One tile of C += A^T B: a step has a row of A and one of B; `count` floats of C's rows are left.
INLINE void outer_tile(const int rows, i64 steps, const float *A, i64 a_wide, const float *B, i64 b_wide,
                       float *C, i64 m, i64 count) {
    simd sums[ROWS];
    UNROLL for (int r = 0; r < rows; r++) sums[r] = get(C + r * m, count);
    for (i64 i = 0; i < steps; i++) {
        simd b = get(B + i * b_wide, count);
        UNROLL for (int r = 0; r < rows; r++) sums[r] += A[i * a_wide + r] * b;
    }
    UNROLL for (int r = 0; r < rows; r++) put(C + r * m, count, sums[r]);
}

INLINE void outer_tiles(i64 n, i64 steps, const float *A, i64 a_wide, const float *B, i64 b_wide, float *C,
                        i64 m, i64 count) {
    i64 r = 0;
#define TILE(rows)                                                                                  \
    for (; r + rows <= n; r += rows)                                                                \
        outer_tile(rows, steps, A + r, a_wide, B, b_wide, C + r * m, m, count);
    TILE(ROWS) TILE(4) TILE(2) TILE(1)
#undef TILE
}

// C += A^T B of (rows, n) and (rows, m), rows `a_wide` and `b_wide` apart.
static void add_outer(i64 n, i64 m, i64 rows, const float *A, i64 a_wide, const float *B, i64 b_wide,
                      float *C) {
    if (m == 1 && n > 1) { // a column is as good as a row, which has vectors
        add_outer(m, n, rows, B, b_wide, A, a_wide, C);
        return;
    }
    for (i64 row = 0; row < rows; row += STEPS) {
        const i64 steps = min_of(STEPS, rows - row);
        for (i64 i = 0; i < n; i += COLUMNS) {
            const float *a = A + row * a_wide + i, *b = B + row * b_wide;
            const i64 count = min_of(COLUMNS, n - i), whole = m - m % LANES;
            for (i64 j = 0; j < whole; j += LANES)
                outer_tiles(count, steps, a, a_wide, b + j, b_wide, C + i * m + j, m, LANES);
            if (whole < m)
                outer_tiles(count, steps, a, a_wide, b + whole, b_wide, C + i * m + whole, m, m - whole);
        }
    }
}
