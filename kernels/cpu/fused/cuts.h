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
#ifndef EP_KERNELS_CPU_FUSED_CUTS_H
#define EP_KERNELS_CPU_FUSED_CUTS_H

#include "kernels/cpu/fused/fused.h"
#include "kernels/cpu/fused/lanes.h"

enum { TILES_PARTS = EP_FUSED_TILE_PARTS, TILES_ROWS = 16, TILES_FLOATS = 256, TILES_DEPTH = 32 };

/* A matrix to be cut: [rows, vectors * EP_LANES], rows `stride` floats apart. */
typedef struct {
  const float *from;
  int64_t rows, vectors, stride;
} tiles_source;

LANES_INLINE lanes tiles_upper(lanes x) {
  return (lanes)((lanes_word)x & UINT32_C(0xffff0000));
}

/* A tile's row in its three parts: each word has a number of `a` and one of `b`. */
LANES_INLINE void tiles_put(lanes a, lanes b, float *to) {
#pragma GCC unroll 3
  for (int part = 0; part < TILES_PARTS; part++, to += TILES_FLOATS) {
    lanes upper_a = tiles_upper(a), upper_b = tiles_upper(b);
    lanes_store(to, (lanes)((lanes_word)upper_b | (lanes_word)a >> 16));
    a -= upper_a;
    b -= upper_b;
  }
}

/* out: [16] columns of the 16 rows at `from`. Quarters of rows come together as they are loaded;
 * what is left is to transpose four by four. */
LANES_INLINE void tiles_transpose(const float *from, int64_t stride, lanes *out) {
#pragma GCC unroll 4
  for (int quarter = 0; quarter < 4; quarter++, out += 4) {
    __m512 row[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
      const float *at = from + i * stride + quarter * 4;
      row[i] = _mm512_castps128_ps512(_mm_load_ps(at));
      row[i] = _mm512_insertf32x4(row[i], _mm_load_ps(at + 4 * stride), 1);
      row[i] = _mm512_insertf32x4(row[i], _mm_load_ps(at + 8 * stride), 2);
      row[i] = _mm512_insertf32x4(row[i], _mm_load_ps(at + 12 * stride), 3);
    }
    __m512d low = (__m512d)_mm512_unpacklo_ps(row[0], row[1]);
    __m512d low_next = (__m512d)_mm512_unpacklo_ps(row[2], row[3]);
    __m512d high = (__m512d)_mm512_unpackhi_ps(row[0], row[1]);
    __m512d high_next = (__m512d)_mm512_unpackhi_ps(row[2], row[3]);
    out[0] = (lanes)_mm512_unpacklo_pd(low, low_next);
    out[1] = (lanes)_mm512_unpackhi_pd(low, low_next);
    out[2] = (lanes)_mm512_unpacklo_pd(high, high_next);
    out[3] = (lanes)_mm512_unpackhi_pd(high, high_next);
  }
}

/* One tile in its parts, from a block of 16 rows and 32 columns, or (down) of 32 rows and 16
 * columns, whose halves `half` floats apart are the words' halves. across: of the transpose. */
LANES_INLINE void tiles_cut(const bool across, const float *from, int64_t half, int64_t stride,
                            float *to) {
  lanes a[TILES_ROWS], b[TILES_ROWS];
  if (across) {
    tiles_transpose(from, stride, a);
    tiles_transpose(from + half, stride, b);
  }
#pragma GCC unroll 16
  for (int i = 0; i < TILES_ROWS; i++, from += stride, to += EP_LANES) {
    if (across)
      tiles_put(a[i], b[i], to);
    else
      tiles_put(lanes_load(from), lanes_load(from + half), to);
  }
}

/* The block at (row, vector), `rows` by `vectors`; at an edge a copy of it, filled up with zeros.
 */
static const float *tiles_block(const tiles_source *s, int64_t row, int64_t vector, int64_t rows,
                                int64_t vectors, float *copy, int64_t *stride) {
  *stride = s->stride;
  if (row + rows <= s->rows && vector + vectors <= s->vectors)
    return s->from + row * s->stride + vector * EP_LANES;
  *stride = vectors * EP_LANES;
  for (int64_t i = 0; i < rows; i++)
    for (int64_t v = 0; v < vectors; v++) {
      const bool inside = row + i < s->rows && vector + v < s->vectors;
      lanes_store(copy + (i * vectors + v) * EP_LANES,
                  inside ? lanes_load(s->from + (row + i) * s->stride + (vector + v) * EP_LANES)
                         : lanes_set(0.0f));
    }
  return copy;
}

static int64_t tiles_count(int64_t floats, int64_t each) {
  return (floats + each - 1) / each;
}

/* An operand to be cut. */
typedef struct {
  tiles_source matrix;
  bool down;   /* its depth runs down the columns of the matrix, not along its rows */
  bool across; /* it is a left one and down, or a right one and not */
  float *to;
} tiles_operand;

LANES_INLINE void tiles_cut_some(const bool across, const bool down, const tiles_operand *o,
                                 int64_t first, int64_t end, float *to) {
  _Alignas(LANES_BYTES) float copy[2 * TILES_ROWS * EP_LANES];
  const tiles_source *s = &o->matrix;
  const int64_t depth = tiles_count(down ? s->rows : s->vectors * EP_LANES, TILES_DEPTH);
  for (int64_t i = first; i < end; i++)
    for (int64_t k = 0; k < depth; k++, to += TILES_PARTS * TILES_FLOATS) {
      int64_t stride;
      const float *block =
          down ? tiles_block(s, k * TILES_DEPTH, i, TILES_DEPTH, 1, copy, &stride)
               : tiles_block(s, i * TILES_ROWS, 2 * k, TILES_ROWS, 2, copy, &stride);
      tiles_cut(across, block, down ? TILES_ROWS * stride : EP_LANES, stride, to);
    }
}

/* Tiles first … end - 1 along the result. */
static void tiles_cut_range(const tiles_operand *o, int64_t first, int64_t end, float *to) {
  if (o->across && o->down)
    tiles_cut_some(true, true, o, first, end, to);
  else if (o->across)
    tiles_cut_some(true, false, o, first, end, to);
  else if (o->down)
    tiles_cut_some(false, true, o, first, end, to);
  else
    tiles_cut_some(false, false, o, first, end, to);
}

static int64_t tiles_along(const tiles_operand *o) {
  return o->down ? o->matrix.vectors : tiles_count(o->matrix.rows, TILES_ROWS);
}

/* Floats of a row of tiles along the depth. */
static int64_t tiles_line(const tiles_operand *o) {
  const int64_t depth = o->down ? o->matrix.rows : o->matrix.vectors * EP_LANES;
  return tiles_count(depth, TILES_DEPTH) * TILES_PARTS * TILES_FLOATS;
}

static void tiles_cut_task(void *context, int64_t number, int member) {
  (void)member;
  const tiles_operand *o = context;
  tiles_cut_range(o, number, number + 1, o->to + number * tiles_line(o));
}

static void tiles_cut_all(const ep_fused_net *net, const ep_fused_stage *stage,
                          const tiles_operand *o) {
  tiles_operand own = *o;
  if (stage->shared && net->crew)
    ep_crew_run(net->crew, tiles_cut_task, &own, tiles_along(o));
  else
    tiles_cut_range(o, 0, tiles_along(o), o->to);
}

#endif
