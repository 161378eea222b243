/* lanes.h: one vector of float32, a lane for each sample, and the few operations on it that differ
 * between instruction sets. Each variant of the executor (lanes_avx512.c, lanes_avx2.c,
 * lanes_baseline.c) defines EP_LANES and then includes variant.h, which includes this.
 *
 * Everything here and in the headers above it is static: each variant has a copy of its own, built
 * with its own machine flags, and none may be called on a machine that lacks them. */
#ifndef EP_KERNELS_CPU_RUNTIME_LANES_H
#define EP_KERNELS_CPU_RUNTIME_LANES_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#if EP_LANES > 4
#include <immintrin.h>
#endif

#define LANES_INLINE static inline __attribute__((always_inline))
#define LANES_BYTES (EP_LANES * 4)

typedef float lanes __attribute__((vector_size(LANES_BYTES)));
typedef int32_t lanes_int __attribute__((vector_size(LANES_BYTES)));
typedef uint32_t lanes_word __attribute__((vector_size(LANES_BYTES)));

/* The same in memory that holds floats. */
typedef float lanes_stored __attribute__((vector_size(LANES_BYTES), may_alias));
typedef float lanes_loose __attribute__((vector_size(LANES_BYTES), may_alias, aligned(4)));

/* v, f(v, 0), f(v, 1) … one for each lane: constants whose lanes differ. */
#define LANES_EACH4(f, v, j) f(v, (j)), f(v, (j) + 1), f(v, (j) + 2), f(v, (j) + 3)
#define LANES_EACH8(f, v, j) LANES_EACH4(f, v, j), LANES_EACH4(f, v, (j) + 4)
#if EP_LANES == 16
#define LANES_EACH(f, v) LANES_EACH8(f, v, 0), LANES_EACH8(f, v, 8)
#elif EP_LANES == 8
#define LANES_EACH(f, v) LANES_EACH8(f, v, 0)
#elif EP_LANES == 4
#define LANES_EACH(f, v) LANES_EACH4(f, v, 0)
#else
#error "EP_LANES is 4, 8 or 16"
#endif

#define LANES_INDEX(v, j) (j)
static const lanes_int lanes_iota = {LANES_EACH(LANES_INDEX, 0)};

/* x - 0 is x, for -0 and NaN too, so this is a broadcast and nothing else. */
LANES_INLINE lanes lanes_set(float value) {
  return value - (lanes){0};
}

LANES_INLINE lanes_int lanes_int_set(int32_t value) {
  return value - (lanes_int){0};
}

LANES_INLINE lanes lanes_load(const float *from) {
  return (lanes) * (const lanes_stored *)from;
}

LANES_INLINE void lanes_store(float *to, lanes value) {
  *(lanes_stored *)to = (lanes_stored)value;
}

LANES_INLINE lanes lanes_load_loose(const float *from) {
  return (lanes) * (const lanes_loose *)from;
}

LANES_INLINE void lanes_store_loose(float *to, lanes value) {
  *(lanes_loose *)to = (lanes_loose)value;
}

/* The first `count` lanes, 0 … EP_LANES; what lies behind them is not touched, and reads as 0. */
LANES_INLINE lanes lanes_load_some(const float *from, int64_t count) {
#if EP_LANES == 16
  return (lanes)_mm512_maskz_loadu_ps((__mmask16)((1u << count) - 1), from);
#elif EP_LANES == 8
  const lanes_int inside = lanes_iota < (int32_t)count;
  return (lanes)_mm256_maskload_ps(from, (__m256i)inside);
#else
  lanes value = {0};
  memcpy(&value, from, (size_t)count * sizeof *from);
  return value;
#endif
}

LANES_INLINE void lanes_store_some(float *to, lanes value, int64_t count) {
#if EP_LANES == 16
  _mm512_mask_storeu_ps(to, (__mmask16)((1u << count) - 1), (__m512)value);
#elif EP_LANES == 8
  const lanes_int inside = lanes_iota < (int32_t)count;
  _mm256_maskstore_ps(to, (__m256i)inside, (__m256)value);
#else
  memcpy(to, &value, (size_t)count * sizeof *to);
#endif
}

/* A mask has a bit for each lane. A comparison with NaN is false; lanes_unordered is true where
 * either is NaN.
 * lanes_max(a, b) and lanes_min(a, b) are b when either is NaN: put the bound first and the value
 * second, and NaN passes through. */
#if EP_LANES == 16
typedef __mmask16 lanes_mask;
LANES_INLINE lanes_mask lanes_less(lanes a, lanes b) {
  return _mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_LT_OQ);
}
LANES_INLINE lanes_mask lanes_unordered(lanes a, lanes b) {
  return _mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_UNORD_Q);
}
LANES_INLINE lanes_mask lanes_int_less(lanes_int a, lanes_int b) {
  return _mm512_cmplt_epi32_mask((__m512i)a, (__m512i)b);
}
LANES_INLINE lanes_mask lanes_int_equal(lanes_int a, lanes_int b) {
  return _mm512_cmpeq_epi32_mask((__m512i)a, (__m512i)b);
}
LANES_INLINE lanes_mask lanes_mask_and(lanes_mask a, lanes_mask b) {
  return (lanes_mask)(a & b);
}
LANES_INLINE lanes_mask lanes_mask_or(lanes_mask a, lanes_mask b) {
  return (lanes_mask)(a | b);
}
LANES_INLINE lanes_mask lanes_mask_differ(lanes_mask a, lanes_mask b) {
  return (lanes_mask)(a ^ b);
}
LANES_INLINE int lanes_mask_count(lanes_mask mask) {
  return __builtin_popcount(mask);
}
LANES_INLINE lanes lanes_select(lanes_mask mask, lanes yes, lanes no) {
  return (lanes)_mm512_mask_blend_ps(mask, (__m512)no, (__m512)yes);
}
LANES_INLINE lanes_int lanes_int_select(lanes_mask mask, lanes_int yes, lanes_int no) {
  return (lanes_int)_mm512_mask_blend_epi32(mask, (__m512i)no, (__m512i)yes);
}
LANES_INLINE lanes lanes_max(lanes a, lanes b) {
  return (lanes)_mm512_max_ps((__m512)a, (__m512)b);
}
LANES_INLINE lanes lanes_min(lanes a, lanes b) {
  return (lanes)_mm512_min_ps((__m512)a, (__m512)b);
}
#else
typedef lanes_int lanes_mask; /* all ones or all zeros */
LANES_INLINE lanes_mask lanes_less(lanes a, lanes b) {
  return (lanes_mask)(a < b);
}
LANES_INLINE lanes_mask lanes_unordered(lanes a, lanes b) {
  return (lanes_mask)(a != a) | (lanes_mask)(b != b);
}
LANES_INLINE lanes_mask lanes_int_less(lanes_int a, lanes_int b) {
  return (lanes_mask)(a < b);
}
LANES_INLINE lanes_mask lanes_int_equal(lanes_int a, lanes_int b) {
  return (lanes_mask)(a == b);
}
LANES_INLINE lanes_mask lanes_mask_and(lanes_mask a, lanes_mask b) {
  return a & b;
}
LANES_INLINE lanes_mask lanes_mask_or(lanes_mask a, lanes_mask b) {
  return a | b;
}
LANES_INLINE lanes_mask lanes_mask_differ(lanes_mask a, lanes_mask b) {
  return a ^ b;
}
LANES_INLINE int lanes_mask_count(lanes_mask mask) {
  int count = 0;
  for (int j = 0; j < EP_LANES; j++) count -= mask[j];
  return count;
}
LANES_INLINE lanes_int lanes_int_select(lanes_mask mask, lanes_int yes, lanes_int no) {
  return (mask & yes) | (~mask & no);
}
#if EP_LANES == 8
LANES_INLINE lanes lanes_select(lanes_mask mask, lanes yes, lanes no) {
  return (lanes)_mm256_blendv_ps((__m256)no, (__m256)yes, (__m256)mask);
}
LANES_INLINE lanes lanes_max(lanes a, lanes b) {
  return (lanes)_mm256_max_ps((__m256)a, (__m256)b);
}
LANES_INLINE lanes lanes_min(lanes a, lanes b) {
  return (lanes)_mm256_min_ps((__m256)a, (__m256)b);
}
#else
LANES_INLINE lanes lanes_select(lanes_mask mask, lanes yes, lanes no) {
  return (lanes)lanes_int_select(mask, (lanes_int)yes, (lanes_int)no);
}
LANES_INLINE lanes lanes_max(lanes a, lanes b) {
  return lanes_select(lanes_less(b, a), a, b);
}
LANES_INLINE lanes lanes_min(lanes a, lanes b) {
  return lanes_select(lanes_less(a, b), a, b);
}
#endif
#endif

LANES_INLINE lanes lanes_abs(lanes x) {
  return (lanes)((lanes_word)x & UINT32_C(0x7fffffff));
}

/* The sign of `sign` on the magnitude of x, which is not negative. */
LANES_INLINE lanes lanes_with_sign(lanes x, lanes sign) {
  return (lanes)((lanes_word)x | ((lanes_word)sign & UINT32_C(0x80000000)));
}

/* a * b, lane by lane: the lower words; *high: the upper ones. */
LANES_INLINE lanes_word lanes_word_multiply(lanes_word a, uint32_t b, lanes_word *high) {
#if EP_LANES == 16
  const __m512i factor = _mm512_set1_epi32((int32_t)b);
  const __m512i even = _mm512_mul_epu32((__m512i)a, factor);
  const __m512i odd = _mm512_mul_epu32(_mm512_shuffle_epi32((__m512i)a, _MM_PERM_DDBB), factor);
  *high = (lanes_word)_mm512_mask_shuffle_epi32(odd, 0x5555, even, _MM_PERM_DDBB);
  return (lanes_word)_mm512_mask_shuffle_epi32(even, 0xaaaa, odd, _MM_PERM_CCAA);
#elif EP_LANES == 8
  const __m256i factor = _mm256_set1_epi32((int32_t)b);
  const __m256i even = _mm256_mul_epu32((__m256i)a, factor);
  const __m256i odd = _mm256_mul_epu32(_mm256_srli_epi64((__m256i)a, 32), factor);
  *high = (lanes_word)_mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xaa);
  return (lanes_word)_mm256_blend_epi32(even, _mm256_slli_epi64(odd, 32), 0xaa);
#else
  for (int j = 0; j < EP_LANES; j++) (*high)[j] = (uint32_t)((uint64_t)a[j] * b >> 32);
  return a * b;
#endif
}

/* 1 / x within 2^-23, for x whose inverse is a normal number; NaN gives NaN. AVX-512's division
 * takes as long as this and ten multiplications more. */
LANES_INLINE lanes lanes_inverse(lanes x) {
#if EP_LANES == 16
  lanes y = (lanes)_mm512_rcp14_ps((__m512)x);
  return y + y * (1.0f - x * y);
#else
  return 1.0f / x;
#endif
}

LANES_INLINE lanes lanes_sqrt(lanes x) {
#if EP_LANES == 16
  return (lanes)_mm512_sqrt_ps((__m512)x);
#elif EP_LANES == 8
  return (lanes)_mm256_sqrt_ps((__m256)x);
#else
  for (int j = 0; j < EP_LANES; j++) x[j] = sqrtf(x[j]);
  return x;
#endif
}

/* A vector of `count` floats, or of as many as it has lanes. */
LANES_INLINE lanes lanes_load_most(const float *from, int64_t count) {
  return count >= EP_LANES ? lanes_load_loose(from) : lanes_load_some(from, count);
}

LANES_INLINE void lanes_store_most(float *to, lanes value, int64_t count) {
  if (count >= EP_LANES)
    lanes_store_loose(to, value);
  else
    lanes_store_some(to, value, count);
}

/* The sum of all lanes, in double, in a fixed order. */
LANES_INLINE double lanes_total(lanes x) {
  double total = 0;
  for (int j = 0; j < EP_LANES; j++) total += (double)x[j];
  return total;
}

/* Lane j is lane at[j] of a, or, from EP_LANES on, of b. Clang, which builds the fuzzers, has no
 * such function. */
#ifdef __clang__
LANES_INLINE lanes lanes_shuffle(lanes a, lanes b, lanes_int at) {
  lanes out;
  for (int j = 0; j < EP_LANES; j++) out[j] = at[j] < EP_LANES ? a[at[j]] : b[at[j] - EP_LANES];
  return out;
}
#else
#define lanes_shuffle __builtin_shuffle
#endif

/* Exchanging blocks of h lanes between two vectors: lane j of the first result is a's where bit h
 * of j is clear, else what b holds h lanes before; the second result is the other half. */
#define LANES_KEEP_FIRST(h, j) ((j) & (h) ? EP_LANES + ((j) ^ (h)) : (j))
#define LANES_KEEP_SECOND(h, j) ((j) & (h) ? EP_LANES + (j) : ((j) ^ (h)))
#define LANES_FIRST(a, b, h) lanes_shuffle((a), (b), (lanes_int){LANES_EACH(LANES_KEEP_FIRST, h)})
#define LANES_SECOND(a, b, h) lanes_shuffle((a), (b), (lanes_int){LANES_EACH(LANES_KEEP_SECOND, h)})

#define LANES_TRANSPOSE_STAGE(v, h)                                             \
  _Pragma("GCC unroll 16") for (int i = 0; i < EP_LANES; i++) if (!(i & (h))) { \
    lanes first = LANES_FIRST(v[i], v[i | (h)], h);                             \
    lanes second = LANES_SECOND(v[i], v[i | (h)], h);                           \
    v[i] = first;                                                               \
    v[i | (h)] = second;                                                        \
  }

/* v: [EP_LANES] vectors, transposed in place. */
LANES_INLINE void lanes_transpose(lanes *v) {
#if EP_LANES > 8
  LANES_TRANSPOSE_STAGE(v, 8)
#endif
#if EP_LANES > 4
  LANES_TRANSPOSE_STAGE(v, 4)
#endif
  LANES_TRANSPOSE_STAGE(v, 2)
  LANES_TRANSPOSE_STAGE(v, 1)
}

#define LANES_REDUCE_STAGE(v, h)                                \
  _Pragma("GCC unroll 16") for (int i = 0; i < (h); i++) v[i] = \
      LANES_FIRST(v[i], v[i + (h)], h) + LANES_SECOND(v[i], v[i + (h)], h);

/* Lane j of the result is the sum of all lanes of the vector at from + j * EP_LANES. */
LANES_INLINE lanes lanes_reduce(const float *from) {
  lanes v[EP_LANES];
#pragma GCC unroll 16
  for (int i = 0; i < EP_LANES; i++) v[i] = lanes_load(from + i * EP_LANES);
#if EP_LANES > 8
  LANES_REDUCE_STAGE(v, 8)
#endif
#if EP_LANES > 4
  LANES_REDUCE_STAGE(v, 4)
#endif
  LANES_REDUCE_STAGE(v, 2)
  LANES_REDUCE_STAGE(v, 1)
  return v[0];
}

#endif
