// Vectors of `LANES` floats by the vector extension of GCC and Clang: + - * / are operators.
//
// Compilers vectorise a loop over many arrays only if they can prove that these do not overlap; with
// explicit vectors a kernel reads like its equation and is vectorised by construction.
#pragma once
#include <math.h>
#include <stdint.h>
#if defined(__AVX__)
#include <immintrin.h>
#endif

#if defined(__AVX512F__)
#define LANES 16
#define ROWS 8 // of the largest tile of a product: its sums have to fit the registers
#elif defined(__AVX__)
#define LANES 8
#define ROWS 12
#else
#define LANES 4
#define ROWS 6
#endif

#define INLINE static inline __attribute__((always_inline, unused))
#define UNROLL _Pragma("GCC unroll 16")

typedef float simd __attribute__((vector_size(4 * LANES)));
typedef float simd_at_any_address __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
typedef int32_t simd_int __attribute__((vector_size(4 * LANES)));

INLINE simd broadcast(float x) { return (simd){0} + x; }

INLINE simd load(const float *p) { return *(const simd_at_any_address *)p; }

INLINE void store(float *p, simd a) { *(simd_at_any_address *)p = a; }

#if defined(__AVX512F__)
INLINE __mmask16 first_lanes(int64_t count) { return (__mmask16)((1u << count) - 1); }
#elif defined(__AVX__)
INLINE __m256i first_lanes(int64_t count) {
    return (__m256i)((simd_int){0, 1, 2, 3, 4, 5, 6, 7} < (int32_t)count);
}
#endif

// Up to LANES floats, `other` in the remaining lanes.
INLINE simd get_or(const float *p, int64_t count, float other) {
    if (count >= LANES) return load(p);
#if defined(__AVX512F__)
    return (simd)_mm512_mask_loadu_ps((__m512)broadcast(other), first_lanes(count), p);
#elif defined(__AVX__)
    __m256i mask = first_lanes(count);
    return (simd)_mm256_blendv_ps((__m256)broadcast(other), _mm256_maskload_ps(p, mask), (__m256)mask);
#else
    simd found = broadcast(other);
    for (int64_t i = 0; i < count; i++) found[i] = p[i];
    return found;
#endif
}

INLINE simd get(const float *p, int64_t count) { return get_or(p, count, 0.0f); }

// Write up to LANES floats.
INLINE void put(float *p, int64_t count, simd a) {
    if (count >= LANES) {
        store(p, a);
        return;
    }
#if defined(__AVX512F__)
    _mm512_mask_storeu_ps(p, first_lanes(count), (__m512)a);
#elif defined(__AVX__)
    _mm256_maskstore_ps(p, first_lanes(count), (__m256)a);
#else
    for (int64_t i = 0; i < count; i++) p[i] = a[i];
#endif
}

// The larger and the smaller of two, lane by lane; `a` where it is not a number.
INLINE simd maximum(simd a, simd b) {
#if defined(__AVX512F__)
    return (simd)_mm512_max_ps((__m512)b, (__m512)a);
#elif defined(__AVX__)
    return (simd)_mm256_max_ps((__m256)b, (__m256)a);
#else
    simd_int other = b > a;
    return (simd)((other & (simd_int)b) | (~other & (simd_int)a));
#endif
}

INLINE simd minimum(simd a, simd b) { return -maximum(-a, -b); }

// The value where the condition is above 0, elsewhere 0.
INLINE simd where_positive(simd condition, simd value) {
    return (simd)((condition > 0.0f) & (simd_int)value);
}

#if defined(__AVX512F__)
INLINE float reduce_sum(simd a) { return _mm512_reduce_add_ps((__m512)a); }

INLINE float reduce_max(simd a) { return _mm512_reduce_max_ps((__m512)a); }
#else
INLINE float reduce_sum(simd a) {
    float sums[LANES];
    store(sums, a);
    for (int width = LANES / 2; width; width /= 2)
        for (int i = 0; i < width; i++) sums[i] += sums[i + width];
    return sums[0];
}

INLINE float reduce_max(simd a) {
    float found = a[0];
    for (int i = 1; i < LANES; i++) found = a[i] > found ? a[i] : found;
    return found;
}
#endif

// e^x = 2^n e^r with |r| <= log(2) / 2, x within bounds: 2^n, and e^r - 1 by Taylor's polynomial.
INLINE void split_exp(simd x, float bound_below, float bound_above, simd *power, simd *rest) {
    x = minimum(maximum(x, broadcast(bound_below)), broadcast(bound_above));
    const float magic = 12582912.0f; // 1.5 * 2^23: adding it rounds to an integer
    simd shifted = x * 1.4426950408889634f + magic;
    simd n = shifted - magic;
    simd r = n * -0.693359375f + x; // log 2 in two parts, so that n log 2 is exact
    r = n * 2.12194440e-4f + r;
    simd series = broadcast(1.0f / 5040);
    series = series * r + 1.0f / 720;
    series = series * r + 1.0f / 120;
    series = series * r + 1.0f / 24;
    series = series * r + 1.0f / 6;
    series = series * r + 0.5f;
    series = series * r + 1.0f;
    *power = (simd)(((simd_int)shifted + 127) << 23);
    *rest = series * r;
}

// e^x, of a relative error below 1e-7.
INLINE simd simd_exp(simd x) {
    simd power, rest;
    split_exp(x, -87.0f, 88.0f, &power, &rest);
    return power * rest + power;
}

#define GATE 28.0f // beyond it a sigmoid is 0 or 1 in float32; the product of three e^28 is finite

// e^x - 1 of x clipped to [-GATE, GATE], accurate near 0 too.
INLINE simd simd_expm1(simd x) {
    simd power, rest;
    split_exp(x, -GATE, GATE, &power, &rest);
    return power * rest + (power - 1.0f);
}

// 1 / sigmoid(x) = 1 + e^-x. Several gates share one division, by their common denominator.
INLINE simd reciprocal_sigmoid(simd x) {
    simd power, rest;
    split_exp(-x, -GATE, GATE, &power, &rest);
    return 1.0f + (power * rest + power);
}

INLINE simd simd_sigmoid(simd x) { return 1.0f / reciprocal_sigmoid(x); }

// (e^2x - 1) / (e^2x + 1)
INLINE simd simd_tanh(simd x) {
    simd m = simd_expm1(x + x);
    return m / (m + 2.0f);
}

INLINE void sigmoid_and_tanh(simd a, simd x, simd *sigmoid, simd *tangent) {
    simd s = reciprocal_sigmoid(a), m = simd_expm1(x + x), t = m + 2.0f;
    simd share = 1.0f / (s * t);
    *sigmoid = share * t;
    *tangent = share * s * m;
}

INLINE void two_sigmoids_and_tanh(simd a, simd b, simd x, simd *of_a, simd *of_b, simd *tangent) {
    simd s = reciprocal_sigmoid(a), r = reciprocal_sigmoid(b), m = simd_expm1(x + x), t = m + 2.0f;
    simd both = s * r, share = 1.0f / (both * t), rest = share * t;
    *of_a = rest * r;
    *of_b = rest * s;
    *tangent = share * both * m;
}
