/* tiles.h: the products of large layers on the processor's matrix unit (AMX), which multiplies
 * bfloat16 and adds up float32, with float32's precision: each number is cut into three bfloat16 of
 * 8 bits each, x = high + middle + low exactly, and of the nine products of two such numbers the
 * six largest are added up. The other three are below 2^-22 of the whole. Six products take 6/16 of
 * what as many multiply-adds of AVX-512 take.
 *
 * A tile is 16 rows of 16 words, a word is two bfloat16, of the i-th and the (i + 16)-th of 32
 * numbers of the sum's depth (in which order they come is all the same, if only both operands have
 * it). An operand is [tiles along the result, tiles along the depth, TILES_PARTS] tiles: the left
 * one's rows are rows of the result, the right one's words in a row are its columns. What a tile
 * lacks is zero.
 *
 * Numbers below 2^-110 lose their lower parts; an infinity becomes NaN. */
#ifndef EP_KERNELS_CPU_FUSED_TILES_H
#define EP_KERNELS_CPU_FUSED_TILES_H

#include "kernels/cpu/fused/fused.h"
#include "kernels/cpu/fused/product.h"

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

/* A whole operand. down: its depth runs down the columns of the matrix, not along its rows. across:
 * for a left one that is down, or a right one that is not. */
LANES_INLINE void tiles_operand(const bool across, const bool down, const tiles_source *s,
                                float *to) {
  _Alignas(LANES_BYTES) float copy[2 * TILES_ROWS * EP_LANES];
  const int64_t columns = s->vectors * EP_LANES;
  const int64_t along = tiles_count(down ? columns : s->rows, TILES_ROWS);
  const int64_t depth = tiles_count(down ? s->rows : columns, TILES_DEPTH);
  for (int64_t i = 0; i < along; i++)
    for (int64_t k = 0; k < depth; k++, to += TILES_PARTS * TILES_FLOATS) {
      int64_t stride;
      const float *block =
          down ? tiles_block(s, k * TILES_DEPTH, i, TILES_DEPTH, 1, copy, &stride)
               : tiles_block(s, i * TILES_ROWS, 2 * k, TILES_ROWS, 2, copy, &stride);
      tiles_cut(across, block, down ? TILES_ROWS * stride : EP_LANES, stride, to);
    }
}

static void tiles_left(tiles_source matrix, float *to) {
  tiles_operand(false, false, &matrix, to);
}

static void tiles_left_across(tiles_source matrix, float *to) {
  tiles_operand(true, true, &matrix, to);
}

static void tiles_right(tiles_source matrix, float *to) {
  tiles_operand(false, true, &matrix, to);
}

static void tiles_right_across(tiles_source matrix, float *to) {
  tiles_operand(true, false, &matrix, to);
}

/* Up to four tiles of the result: where they are, and their sums. */
typedef struct {
  int count;
  int64_t row[4], column[4];
  _Alignas(LANES_BYTES) float sums[4 * TILES_FLOATS];
} tiles_four;

/* What product_finish does, of one tile at c. */
LANES_INLINE void tiles_finish_rows(const product *p, const bool bias, const bool relu,
                                    const bool add, const bool mask, int64_t rows, int64_t row,
                                    int64_t column, const float *sums) {
  const lanes zero = lanes_set(0.0f);
  const int64_t c_row = p->c_row, at = row * c_row + column;
  const float *signs = p->mask + (mask ? at : 0), *start = p->bias + (bias ? row : 0);
  float *c = p->c + at;
  for (int64_t m = 0; m < rows; m++, c += c_row) {
    lanes sum = lanes_load(sums + m * EP_LANES);
    if (bias) sum += start[m];
    if (add) sum += lanes_load(c);
    if (relu) sum = lanes_max(zero, sum);
    if (mask) sum = lanes_select(lanes_less(zero, lanes_load(signs + m * c_row)), sum, zero);
    lanes_store(c, sum);
  }
}

/* The last of the four. */
static void tiles_finish(const product *p, tiles_four *four) {
  const int n = --four->count;
  const int64_t row = four->row[n], column = four->column[n];
  const int64_t rows = p->rows - row < TILES_ROWS ? p->rows - row : TILES_ROWS;
  const float *sums = four->sums + n * TILES_FLOATS;
  if (p->bias && p->relu)
    tiles_finish_rows(p, true, true, false, false, rows, row, column, sums);
  else if (p->bias)
    tiles_finish_rows(p, true, false, false, false, rows, row, column, sums);
  else if (p->relu)
    tiles_finish_rows(p, false, true, false, false, rows, row, column, sums);
  else if (p->add)
    tiles_finish_rows(p, false, false, true, false, rows, row, column, sums);
  else if (p->mask)
    tiles_finish_rows(p, false, false, false, true, rows, row, column, sums);
  else
    tiles_finish_rows(p, false, false, false, false, rows, row, column, sums);
}

static void tiles_finish_all(const product *p, tiles_four *four) {
  while (four->count > 0) tiles_finish(p, four);
}

enum { TILES_HIGH, TILES_MIDDLE, TILES_LOW };
#define TILES_LOAD(tile, operand, part) \
  _tile_loadd(tile, (operand) + (part)*TILES_FLOATS, LANES_BYTES)

static void tiles_store(float *sums) {
  _tile_stored(0, sums, LANES_BYTES);
  _tile_stored(1, sums + TILES_FLOATS, LANES_BYTES);
  _tile_stored(2, sums + 2 * TILES_FLOATS, LANES_BYTES);
  _tile_stored(3, sums + 3 * TILES_FLOATS, LANES_BYTES);
}

static void tiles_zero(void) {
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
}

#define TILES_SQUARE_LEFT(part)   \
  TILES_LOAD(4, a[0] + at, part); \
  TILES_LOAD(5, a[1] + at, part);
#define TILES_SQUARE_RIGHT(part)  \
  TILES_LOAD(6, b[0] + at, part); \
  TILES_LOAD(7, b[1] + at, part);
#define TILES_SQUARE       \
  _tile_dpbf16ps(0, 4, 6); \
  _tile_dpbf16ps(1, 4, 7); \
  _tile_dpbf16ps(2, 5, 6); \
  _tile_dpbf16ps(3, 5, 7);

/* Two tiles of rows, a, by two of columns, b. Meanwhile `done` is finished. */
static void tiles_square(const product *p, const float *const *a, const float *const *b,
                         int64_t depth, float *sums, tiles_four *done) {
  tiles_zero();
  for (int64_t at = 0; at < depth * TILES_PARTS * TILES_FLOATS; at += TILES_PARTS * TILES_FLOATS) {
    TILES_SQUARE_LEFT(TILES_LOW)
    TILES_SQUARE_RIGHT(TILES_HIGH)
    TILES_SQUARE TILES_SQUARE_LEFT(TILES_MIDDLE) TILES_SQUARE TILES_SQUARE_RIGHT(TILES_MIDDLE)
        TILES_SQUARE TILES_SQUARE_LEFT(TILES_HIGH) TILES_SQUARE TILES_SQUARE_RIGHT(TILES_LOW)
            TILES_SQUARE TILES_SQUARE_RIGHT(TILES_HIGH) TILES_SQUARE if (done->count > 0)
                tiles_finish(p, done);
  }
  tiles_finish_all(p, done);
  tiles_store(sums);
}

#define TILES_COLUMN_TIMES(part)  \
  TILES_LOAD(4, a[0] + at, part); \
  _tile_dpbf16ps(0, 4, 7);        \
  TILES_LOAD(5, a[1] + at, part); \
  _tile_dpbf16ps(1, 5, 7);        \
  TILES_LOAD(6, a[2] + at, part); \
  _tile_dpbf16ps(2, 6, 7);        \
  TILES_LOAD(4, a[3] + at, part); \
  _tile_dpbf16ps(3, 4, 7);

/* Four tiles of rows by one of columns. */
static void tiles_column(const product *p, const float *const *a, const float *b, int64_t depth,
                         float *sums, tiles_four *done) {
  tiles_zero();
  for (int64_t at = 0; at < depth * TILES_PARTS * TILES_FLOATS; at += TILES_PARTS * TILES_FLOATS) {
    TILES_LOAD(7, b + at, TILES_LOW);
    TILES_COLUMN_TIMES(TILES_HIGH)
    TILES_LOAD(7, b + at, TILES_MIDDLE);
    TILES_COLUMN_TIMES(TILES_MIDDLE)
    TILES_COLUMN_TIMES(TILES_HIGH)
    TILES_LOAD(7, b + at, TILES_HIGH);
    TILES_COLUMN_TIMES(TILES_LOW)
    TILES_COLUMN_TIMES(TILES_MIDDLE)
    TILES_COLUMN_TIMES(TILES_HIGH)
    if (done->count > 0) tiles_finish(p, done);
  }
  tiles_finish_all(p, done);
  tiles_store(sums);
}

static void tiles_add(tiles_four *four, int64_t row, int64_t column) {
  four->row[four->count] = row * TILES_ROWS;
  four->column[four->count++] = column * EP_LANES;
}

/* Four tiles of the result from row and column on: two by two, or four below each other where no
 * column is beside. Tiles that are not there are made as their neighbours are, and not kept. */
static void tiles_four_make(const product *p, const float *left, const float *right, int64_t depth,
                            int64_t row, int64_t rows, int64_t column, int64_t columns,
                            tiles_four *four, tiles_four *done) {
  const int64_t step = depth * TILES_PARTS * TILES_FLOATS, last = rows - 1;
  const float *a[4], *b[2] = {right + column * step, right + (column + 1) * step};
  const bool beside = column + 1 < columns;
  for (int64_t i = 0; i < 4; i++) a[i] = left + (row + i < last ? row + i : last) * step;
  if (beside)
    tiles_square(p, a, b, depth, four->sums, done);
  else
    tiles_column(p, a, b[0], depth, four->sums, done);
  for (int64_t i = 0; i < (beside ? 2 : 4) && row + i < rows; i++) {
    tiles_add(four, row + i, column);
    if (beside) tiles_add(four, row + i, column + 1);
  }
}

static void tiles_configure(void) {
  static const struct {
    uint8_t palette, start, unused[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
  } shapes = {.palette = 1,
              .row_bytes = {64, 64, 64, 64, 64, 64, 64, 64},
              .rows = {16, 16, 16, 16, 16, 16, 16, 16}};
  _tile_loadconfig(&shapes);
}

/* lanes_product of two operands: p's rows, vectors, c, and what happens to the sums. Four tiles are
 * finished while the unit is busy with the next four. */
static void tiles_product(const product *p, const float *left, const float *right, int64_t depth) {
  const product own = *p;
  const int64_t rows = tiles_count(p->rows, TILES_ROWS), columns = p->vectors;
  tiles_four fours[2];
  int turn = 0;
  fours[0].count = fours[1].count = 0;
  __asm__ volatile("" ::: "memory"); /* operands are in memory before their tiles are loaded */
  tiles_configure();
  for (int64_t row = 0; row < rows; row += 2)
    for (int64_t column = 0; column + 1 < columns; column += 2, turn = !turn) {
      tiles_four_make(&own, left, right, depth, row, rows, column, columns, &fours[turn],
                      &fours[!turn]);
    }
  for (int64_t row = 0; columns % 2 && row < rows; row += 4, turn = !turn) {
    tiles_four_make(&own, left, right, depth, row, rows, columns - 1, columns, &fours[turn],
                    &fours[!turn]);
  }
  tiles_finish_all(&own, &fours[!turn]);
  _tile_release();
}

/* The weights of all tiled layers, cut as forward and backward want them. */
static void tiles_prepare(const ep_fused_net *net) {
  for (int i = 0; i < net->stages_count; i++) {
    const ep_fused_stage *stage = &net->stages[i];
    if (!stage->tiled) continue;
    const tiles_source weight = {.from = net->parameters + stage->weight,
                                 .rows = stage->out_features,
                                 .vectors = stage->weight_stride / EP_LANES,
                                 .stride = stage->weight_stride};
    tiles_left(weight, net->weight_tiles + stage->tiles);
    if (i > net->first_linear) tiles_left_across(weight, net->weight_tiles + stage->tiles_across);
  }
}

/* lanes_product of a layer's W and x; across: of W^T and the gradient. */
static void tiles_layer(const ep_fused_net *net, const ep_fused_stage *stage, bool across,
                        const product *p) {
  tiles_right((tiles_source){p->b, p->depth, p->vectors, p->b_row}, net->right_tiles);
  tiles_product(p, net->weight_tiles + (across ? stage->tiles_across : stage->tiles),
                net->right_tiles, tiles_count(p->depth, TILES_DEPTH));
}

/* The gradient of a tiled layer's weight: the samples are the depth. */
static void tiles_weight(const ep_fused_net *net, const ep_fused_chunk *chunk,
                         const ep_fused_stage *stage, const float *x, bool first) {
  tiles_left((tiles_source){net->gradient, stage->out_features, chunk->vectors, net->stride},
             net->left_tiles);
  tiles_right_across((tiles_source){x, stage->in_features, chunk->vectors, net->stride},
                     net->right_tiles);
  tiles_product(&(product){.rows = stage->out_features,
                           .vectors = stage->weight_stride / EP_LANES,
                           .c = net->gradients + stage->weight,
                           .c_row = stage->weight_stride,
                           .add = !first},
                net->left_tiles, net->right_tiles,
                tiles_count(chunk->vectors * EP_LANES, TILES_DEPTH));
}

#endif
