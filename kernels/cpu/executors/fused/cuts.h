/* cuts.h: operands for the processor's matrix unit (AMX), which multiplies bfloat16 and adds up
 * float32. Each number is cut into three bfloat16 of 8 bits each, x = high + middle + low exactly.
 *
 * A tile is 16 rows of 16 words, a word is two bfloat16, of the i-th and the (i + 16)-th of 32
 * numbers of the sum's depth (in which order they come is all the same, if only both operands have
 * it). An operand is [tiles along the result, tiles along the depth, TILES_PARTS] tiles: the left
 * one's rows are rows of the result, the right one's words in a row are its columns. What a tile
 * lacks is zero.
 *
 * Numbers below 2^-110 lose their lower parts; an infinity becomes NaN. */
#ifndef EP_KERNELS_CPU_EXECUTORS_FUSED_CUTS_H
#define EP_KERNELS_CPU_EXECUTORS_FUSED_CUTS_H

#include "kernels/cpu/executors/fused/fused.h"
#include "kernels/cpu/runtime/lanes.h"

enum {
  TILES_PARTS = EP_FUSED_TILE_PARTS,
  TILES_ROWS = 16,
  TILES_FLOATS = 256,
  TILES_EACH = TILES_PARTS * TILES_FLOATS, /* of one tile in its parts */
  TILES_DEPTH = 32,
  TILES_QUARTERS = 4,
  TILES_PRODUCTS = 6, /* of two numbers' parts */
  TILES_FEW = TILES_DEPTH / TILES_PRODUCTS,
  TILES_FEW_LANES = (1 << TILES_FEW) - 1 /* as a mask */
};

/* A matrix to be cut: [rows, vectors * EP_LANES], rows `stride` floats apart. */
typedef struct {
  const float *from;
  int64_t rows, vectors, stride;
} tiles_source;

/* An operand, and how far it has been cut: the next tile is that at (along, k). */
typedef struct {
  tiles_source matrix;
  bool down;   /* its depth runs down the columns of the matrix, not along its rows */
  bool across; /* it is a left one and down, or a right one and not */
  bool few;    /* of its last samples, whichever way they run, TILES_FEW count at most */
  float *to;   /* [along, depth, TILES_PARTS] tiles */
  int64_t along, k;
} tiles_operand;

enum { TILES_HIGH, TILES_MIDDLE, TILES_LOW };

/* Of each number the upper bits, and the others. */
LANES_INLINE lanes tiles_rest(lanes x) {
  return x - (lanes)((lanes_word)x & UINT32_C(0xffff0000));
}

/* Words of two numbers' upper bits: of b, where a's are moved down into the lower ones. */
LANES_INLINE lanes tiles_words(lanes a, lanes b) {
  return (lanes)_mm512_mask_alignr_epi8((__m512i)b, UINT64_C(0x3333333333333333), (__m512i)a,
                                        (__m512i)a, 2);
}

/* A tile's row in its three parts: each word has a number of `a` and one of `b`. */
LANES_INLINE void tiles_put(lanes a, lanes b, float *to) {
#pragma GCC unroll 3
  for (int part = 0; part < TILES_PARTS; part++, to += TILES_FLOATS) {
    lanes_store(to, tiles_words(a, b));
    a = tiles_rest(a);
    b = tiles_rest(b);
  }
}

/* out: [4] columns of the 16 rows at `from`. Quarters of rows come together as they are loaded;
 * what is left is to transpose four by four. */
LANES_INLINE void tiles_transpose(const float *from, int64_t stride, lanes *out) {
  __m512 part[4];
#pragma GCC unroll 4
  for (int i = 0; i < 4; i++, from += stride) {
    part[i] = _mm512_castps128_ps512(_mm_load_ps(from));
    part[i] = _mm512_insertf32x4(part[i], _mm_load_ps(from + 4 * stride), 1);
    part[i] = _mm512_insertf32x4(part[i], _mm_load_ps(from + 8 * stride), 2);
    part[i] = _mm512_insertf32x4(part[i], _mm_load_ps(from + 12 * stride), 3);
  }
  __m512d low = (__m512d)_mm512_unpacklo_ps(part[0], part[1]);
  __m512d low_next = (__m512d)_mm512_unpacklo_ps(part[2], part[3]);
  __m512d high = (__m512d)_mm512_unpackhi_ps(part[0], part[1]);
  __m512d high_next = (__m512d)_mm512_unpackhi_ps(part[2], part[3]);
  out[0] = (lanes)_mm512_unpacklo_pd(low, low_next);
  out[1] = (lanes)_mm512_unpackhi_pd(low, low_next);
  out[2] = (lanes)_mm512_unpacklo_pd(high, high_next);
  out[3] = (lanes)_mm512_unpackhi_pd(high, high_next);
}

static int64_t tiles_count(int64_t floats, int64_t each) {
  return (floats + each - 1) / each;
}

/* Tiles along the result, and along the depth. */
static int64_t tiles_along(const tiles_operand *o) {
  return o->down ? o->matrix.vectors : tiles_count(o->matrix.rows, TILES_ROWS);
}

static int64_t tiles_depth(const tiles_operand *o) {
  return tiles_count(o->down ? o->matrix.rows : o->matrix.vectors * EP_LANES, TILES_DEPTH);
}

/* Where the last vector has few samples, one tile has room for their three parts side by side. That
 * column of tiles comes first, alone. */
static bool tiles_are_beside(const tiles_operand *o, int64_t along) {
  return o->down && o->few && along == 0;
}

/* The vector of a matrix that goes down which column number `along` is of. */
static int64_t tiles_vector(const tiles_operand *o, int64_t along) {
  if (tiles_are_beside(o, along)) return o->matrix.vectors - 1;
  return o->down && o->few ? along - 1 : along;
}

/* A tile to be cut: its words' halves are of the block at `from` and of that at from + half. At an
 * edge of the matrix they are in a copy, which is filled up with zeros. */
typedef struct {
  const float *from;
  int64_t half, stride;
  bool across, few, beside;
  float *to;
  _Alignas(LANES_BYTES) float copy[2 * TILES_FLOATS];
} tiles_job;

static __attribute__((noinline)) void tiles_job_copy(tiles_job *job, const tiles_source *s,
                                                     int64_t row, int64_t vector, bool down) {
  for (int64_t half = 0; half < 2; half++)
    for (int64_t i = 0; i < TILES_ROWS; i++) {
      const int64_t at = row + i + (down ? half * TILES_ROWS : 0), v = vector + (down ? 0 : half);
      lanes value = lanes_set(0.0f);
      if (at < s->rows && v < s->vectors)
        value = lanes_load(s->from + at * s->stride + v * EP_LANES);
      lanes_store(job->copy + (half * TILES_ROWS + i) * EP_LANES, value);
    }
  job->from = job->copy;
  job->half = TILES_FLOATS;
  job->stride = EP_LANES;
}

/* The tile at (along, k). */
static void tiles_job_make(tiles_job *job, const tiles_operand *o, int64_t along, int64_t k,
                           float *to) {
  const tiles_source *s = &o->matrix;
  const bool down = o->down;
  const int64_t row = down ? k * TILES_DEPTH : along * TILES_ROWS;
  const int64_t vector = down ? tiles_vector(o, along) : 2 * k;
  job->from = s->from + row * s->stride + vector * EP_LANES;
  job->half = down ? TILES_ROWS * s->stride : EP_LANES;
  job->stride = s->stride;
  job->across = o->across;
  job->few = o->few && !down && k + 1 == tiles_depth(o);
  job->beside = tiles_are_beside(o, along);
  job->to = to;
  if (row + (down ? TILES_DEPTH : TILES_ROWS) > s->rows ||
      vector + (down || job->few ? 1 : 2) > s->vectors)
    tiles_job_copy(job, s, row, vector, down);
}

/* A tile of few numbers in its depth has room for all that is multiplied of them: TILES_FEW
 * numbers of the first part and the first part, and so on. */
LANES_INLINE void tiles_few_words(const tiles_job *job, const uint8_t *parts, lanes *words) {
  lanes x[TILES_PARTS][8];
  tiles_transpose(job->from, job->stride, x[0]);
  tiles_transpose(job->from + 4, job->stride, x[0] + 4);
#pragma GCC unroll 2
  for (int part = 1; part < TILES_PARTS; part++)
#pragma GCC unroll 5
    for (int i = 0; i < TILES_FEW; i++) x[part][i] = tiles_rest(x[part - 1][i]);
#pragma GCC unroll 16
  for (int i = 0; i < TILES_ROWS; i++) {
    const int j = i + TILES_ROWS;
    const lanes none = {0}, a = x[parts[i / TILES_FEW]][i % TILES_FEW];
    words[i] = tiles_words(
        a, j < TILES_PRODUCTS * TILES_FEW ? x[parts[j / TILES_FEW]][j % TILES_FEW] : none);
  }
}

static __attribute__((noinline)) void tiles_cut_few(const tiles_job *job) {
  static const uint8_t left[TILES_PRODUCTS] = {TILES_HIGH,   TILES_HIGH, TILES_MIDDLE,
                                               TILES_MIDDLE, TILES_LOW,  TILES_HIGH};
  static const uint8_t right[TILES_PRODUCTS] = {TILES_LOW,  TILES_MIDDLE, TILES_MIDDLE,
                                                TILES_HIGH, TILES_HIGH,   TILES_HIGH};
  lanes words[TILES_ROWS];
  if (job->across) {
    tiles_few_words(job, right, words);
  } else {
    tiles_few_words(job, left, words);
    lanes_transpose(words);
  }
#pragma GCC unroll 16
  for (int i = 0; i < TILES_ROWS; i++) lanes_store(job->to + i * EP_LANES, words[i]);
}

/* The first lanes' three parts side by side. */
LANES_INLINE lanes tiles_beside(lanes x) {
  const lanes middle = tiles_rest(x), low = tiles_rest(middle);
  __m512 all = _mm512_maskz_mov_ps(TILES_FEW_LANES, (__m512)x);
  all = _mm512_mask_expand_ps(all, TILES_FEW_LANES << TILES_FEW, (__m512)middle);
  return (lanes)_mm512_mask_expand_ps(all, TILES_FEW_LANES << 2 * TILES_FEW, (__m512)low);
}

/* The three that belong to each of the first lanes, added up; the other lanes become zero. */
LANES_INLINE lanes tiles_beside_total(lanes x) {
  const __m512i middle = (__m512i)(lanes_iota + TILES_FEW);
  const __m512i low = (__m512i)(lanes_iota + 2 * TILES_FEW);
  return (lanes)_mm512_maskz_mov_ps(TILES_FEW_LANES, (__m512)x) +
         ((lanes)_mm512_maskz_permutexvar_ps(TILES_FEW_LANES, middle, (__m512)x) +
          (lanes)_mm512_maskz_permutexvar_ps(TILES_FEW_LANES, low, (__m512)x));
}

static __attribute__((noinline)) void tiles_cut_beside(const tiles_job *job, int64_t quarter) {
  const float *from = job->from + 4 * quarter * job->stride;
  float *to = job->to + 4 * quarter * EP_LANES;
  for (int i = 0; i < 4; i++, from += job->stride)
    lanes_store(to + i * EP_LANES, tiles_words(tiles_beside(lanes_load(from)),
                                               tiles_beside(lanes_load(from + job->half))));
}

/* A quarter of its rows. */
static __attribute__((noinline, noclone)) void tiles_cut(const tiles_job *job, int64_t quarter) {
  const int64_t half = job->half, stride = job->stride;
  float *to = job->to + 4 * quarter * EP_LANES;
  lanes a[4], b[4];
  if (job->few) {
    if (quarter == 0) tiles_cut_few(job);
    return;
  }
  if (job->beside) {
    tiles_cut_beside(job, quarter);
    return;
  }
  if (job->across) {
    const float *from = job->from + 4 * quarter;
    tiles_transpose(from, stride, a);
    tiles_transpose(from + half, stride, b);
  } else {
    const float *from = job->from + 4 * quarter * stride;
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
      a[i] = lanes_load(from + i * stride);
      b[i] = lanes_load(from + half + i * stride);
    }
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; i++) tiles_put(a[i], b[i], to + i * EP_LANES);
}

static void tiles_cut_whole(const tiles_job *job) {
  for (int64_t quarter = 0; quarter < TILES_QUARTERS; quarter++) tiles_cut(job, quarter);
}

static float *tiles_at(const tiles_operand *o, int64_t along, int64_t k) {
  return o->to + (along * tiles_depth(o) + k) * TILES_EACH;
}

static bool tiles_are_cut(const tiles_operand *o) {
  return o->along >= tiles_along(o);
}

/* The next tile, along the depth first. */
static void tiles_next(tiles_operand *o, tiles_job *job) {
  tiles_job_make(job, o, o->along, o->k, tiles_at(o, o->along, o->k));
  if (++o->k == tiles_depth(o)) {
    o->k = 0;
    o->along++;
  }
}

/* All tiles up to `end` along the result. */
static void tiles_cut_until(tiles_operand *o, int64_t end) {
  tiles_job job;
  while (o->along < end) {
    tiles_next(o, &job);
    tiles_cut_whole(&job);
  }
}

static void tiles_cut_task(void *context, int64_t number, int member) {
  (void)member;
  tiles_operand own = *(const tiles_operand *)context;
  own.along = number;
  tiles_cut_until(&own, number + 1);
}

#endif
