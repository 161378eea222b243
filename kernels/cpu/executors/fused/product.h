/* product.h: the matrix products of a layer, in registers: a tile of M x V vectors of the result
 * stays there while the sum runs.
 *
 *   lanes_product   C[m, :] = sum over k of A[m, k] * B[k, :]; the rows of B and C are vectors, the
 *                   elements of A are broadcast
 *   lanes_outer     sums[m, i] += D[m, :] * X[i, :], lane by lane
 *   lanes_few       both of these on the way back through a layer of few outputs, in one pass */
#ifndef EP_KERNELS_CPU_EXECUTORS_FUSED_PRODUCT_H
#define EP_KERNELS_CPU_EXECUTORS_FUSED_PRODUCT_H

#include <stdbool.h>

#include "kernels/cpu/runtime/lanes.h"

/* Tiles that fill the registers: 32 with AVX-512, else 16. */
#if EP_LANES == 16
#define PRODUCT_VECTORS 4
#define PRODUCT_ROWS 6
#define OUTER_ROWS 6
#define FEW_COLUMNS 4
#elif EP_LANES == 8
#define PRODUCT_VECTORS 2
#define PRODUCT_ROWS 6
#define OUTER_ROWS 3
#define FEW_COLUMNS 2
#else
#define PRODUCT_VECTORS 2
#define PRODUCT_ROWS 4
#define OUTER_ROWS 2
#define FEW_COLUMNS 2
#endif
enum { PRODUCT_MOST = 8 };

typedef struct {
  int64_t rows, depth; /* of C; of the sum */
  int64_t vectors;     /* of a row of C */
  const float *a;      /* A[m, k] = a[m * a_row + k * a_column] */
  int64_t a_row, a_column;
  const float *b; /* B[k, :] at b + k * b_row, aligned */
  int64_t b_row;
  float *c; /* C[m, :] at c + m * c_row, aligned */
  int64_t c_row;
  const float *bias; /* [rows]: what the sum starts from; NULL: */
  bool add;          /* C itself, or zero */
  bool relu;         /* C = max(0, sum), NaN stays NaN */
  const float *mask; /* with the layout of C, or C; where it is not positive, C = 0; NULL: none */
} product;

/* `rows` rows of it, or those that are left, from row `first` on. */
LANES_INLINE product product_piece(const product *p, int64_t first, int64_t rows) {
  product piece = *p;
  piece.rows = p->rows - first < rows ? p->rows - first : rows;
  piece.a += first * p->a_row;
  piece.c += first * p->c_row;
  if (p->bias) piece.bias += first;
  if (p->mask) piece.mask += first * p->c_row;
  return piece;
}

/* For each vector of a tile, unrolled: m is its row, v its column, `sum` the sum in registers. */
#define PRODUCT_EACH(statement)                                   \
  _Pragma("GCC unroll 8") for (int m = 0; m < rows; m++)          \
      _Pragma("GCC unroll 8") for (int v = 0; v < vectors; v++) { \
    statement;                                                    \
  }

LANES_INLINE void product_start(const product *p, const int rows, const int vectors, int64_t row,
                                int64_t column, lanes sum[][2 * PRODUCT_VECTORS]) {
  if (p->bias) {
    const float *bias = p->bias + row;
    PRODUCT_EACH(sum[m][v] = lanes_set(bias[m]))
  } else if (p->add) {
    const float *c = p->c + row * p->c_row + column;
    PRODUCT_EACH(sum[m][v] = lanes_load(c + m * p->c_row + v * EP_LANES))
  } else {
    PRODUCT_EACH(sum[m][v] = lanes_set(0.0f))
  }
}

LANES_INLINE void product_finish(const product *p, const int rows, const int vectors, int64_t row,
                                 int64_t column, lanes sum[][2 * PRODUCT_VECTORS]) {
  const lanes zero = lanes_set(0.0f);
  const int64_t first = row * p->c_row + column, c_row = p->c_row;
  float *c = p->c + first;
  if (p->relu) {
    PRODUCT_EACH(lanes_store(c + m * c_row + v * EP_LANES, lanes_max(zero, sum[m][v])))
  } else if (p->mask) {
    const float *mask = p->mask + first;
    PRODUCT_EACH(lanes sign = lanes_load(mask + m * c_row + v * EP_LANES);
                 lanes_store(c + m * c_row + v * EP_LANES,
                             lanes_select(lanes_less(zero, sign), sum[m][v], zero)))
  } else {
    PRODUCT_EACH(lanes_store(c + m * c_row + v * EP_LANES, sum[m][v]))
  }
}

LANES_INLINE void product_tile(const product *p, const int rows, const int vectors, int64_t row,
                               int64_t column) {
  lanes sum[PRODUCT_MOST][2 * PRODUCT_VECTORS];
  product_start(p, rows, vectors, row, column, sum);
  const float *a = p->a + row * p->a_row, *b = p->b + column;
  const int64_t a_row = p->a_row, a_column = p->a_column, b_row = p->b_row;
  for (int64_t k = p->depth; k > 0; k--) {
    lanes x[2 * PRODUCT_VECTORS];
#pragma GCC unroll 8
    for (int v = 0; v < vectors; v++) x[v] = lanes_load(b + v * EP_LANES);
#pragma GCC unroll 8
    for (int m = 0; m < rows; m++) {
      lanes w = lanes_set(a[m * a_row]);
#pragma GCC unroll 8
      for (int v = 0; v < vectors; v++) sum[m][v] += w * x[v];
    }
    a += a_column;
    b += b_row;
  }
  product_finish(p, rows, vectors, row, column, sum);
}

/* All rows of C, `vectors` of its vectors. */
LANES_INLINE void product_column(const product *p, const int rows, const int vectors,
                                 int64_t column) {
  int64_t row = 0;
  for (; row + rows <= p->rows; row += rows) product_tile(p, rows, vectors, row, column);
  if (rows > 4 && row + 4 <= p->rows) {
    product_tile(p, 4, vectors, row, column);
    row += 4;
  }
  if (row + 2 <= p->rows) {
    product_tile(p, 2, vectors, row, column);
    row += 2;
  }
  if (row < p->rows) product_tile(p, 1, vectors, row, column);
}

/* A column of tiles, with AVX-512 as a function of its own: with all of them in one, what the loops
 * add to their pointers does not stay in registers. */
#if PRODUCT_VECTORS == 4
#define PRODUCT_APART static __attribute__((noinline))
#else
#define PRODUCT_APART LANES_INLINE
#endif
#define PRODUCT_COLUMN(rows, vectors)                                             \
  PRODUCT_APART void product_column_##vectors(const product *p, int64_t column) { \
    product_column(p, rows, vectors, column);                                     \
  }
PRODUCT_COLUMN(PRODUCT_MOST, 1)
#if PRODUCT_VECTORS == 4
PRODUCT_COLUMN(PRODUCT_MOST, 2)
PRODUCT_COLUMN(PRODUCT_ROWS, 3)
PRODUCT_COLUMN(PRODUCT_ROWS, 4)
#else
PRODUCT_COLUMN(PRODUCT_ROWS, 2)
#endif

static void lanes_product(const product *given) {
  const product own = *given, *p = &own; /* own: no store into C can change it */
  int64_t v = 0;
  if (p->rows == 1) /* four sums alone would wait for themselves */
    for (; v + 2 * PRODUCT_VECTORS <= p->vectors; v += 2 * PRODUCT_VECTORS)
      product_tile(p, 1, 2 * PRODUCT_VECTORS, 0, v * EP_LANES);
#if PRODUCT_VECTORS == 4
  for (; v + 4 <= p->vectors; v += 4) product_column_4(p, v * EP_LANES);
  if (v + 3 == p->vectors) {
    product_column_3(p, v * EP_LANES);
    return;
  }
#endif
  for (; v + 2 <= p->vectors; v += 2) product_column_2(p, v * EP_LANES);
  if (v < p->vectors) product_column_1(p, v * EP_LANES);
}

typedef struct {
  int64_t rows, columns; /* of sums */
  int64_t vectors;       /* of a row of D and X */
  const float *d, *x;    /* rows `stride` floats apart */
  int64_t stride;
  float *sums; /* [rows, columns, EP_LANES] */
  bool first;  /* sums = …, not += */
} outer;

LANES_INLINE void outer_tile(const outer *p, const int rows, const int columns, int64_t row,
                             int64_t column) {
  lanes sum[OUTER_ROWS][8];
#pragma GCC unroll 8
  for (int m = 0; m < rows; m++)
#pragma GCC unroll 8
    for (int i = 0; i < columns; i++) sum[m][i] = lanes_set(0.0f);
  const float *d = p->d + row * p->stride, *x = p->x + column * p->stride;
  const int64_t stride = p->stride;
  for (int64_t v = p->vectors; v > 0; v--) {
    lanes value[OUTER_ROWS];
#pragma GCC unroll 8
    for (int m = 0; m < rows; m++) value[m] = lanes_load(d + m * stride);
#pragma GCC unroll 8
    for (int i = 0; i < columns; i++) {
      lanes other = lanes_load(x + i * stride);
#pragma GCC unroll 8
      for (int m = 0; m < rows; m++) sum[m][i] += value[m] * other;
    }
    d += EP_LANES;
    x += EP_LANES;
  }
#pragma GCC unroll 8
  for (int m = 0; m < rows; m++) {
    float *to = p->sums + ((row + m) * p->columns + column) * EP_LANES;
#pragma GCC unroll 8
    for (int i = 0; i < columns; i++) {
      lanes before = p->first ? lanes_set(0.0f) : lanes_load(to + i * EP_LANES);
      lanes_store(to + i * EP_LANES, before + sum[m][i]);
    }
  }
}

LANES_INLINE void outer_rows(const outer *p, const int rows, int64_t row) {
  int64_t column = 0;
  if (rows == 1)
    for (; column + 8 <= p->columns; column += 8) outer_tile(p, rows, 8, row, column);
  for (; column + 4 <= p->columns; column += 4) outer_tile(p, rows, 4, row, column);
  if (column + 2 <= p->columns) {
    outer_tile(p, rows, 2, row, column);
    column += 2;
  }
  if (column < p->columns) outer_tile(p, rows, 1, row, column);
}

static void lanes_outer(const outer *given) {
  const outer own = *given, *p = &own;
  int64_t row = 0;
  for (; row + OUTER_ROWS <= p->rows; row += OUTER_ROWS) outer_rows(p, OUTER_ROWS, row);
#if OUTER_ROWS > 4
  if (row + 4 <= p->rows) {
    outer_rows(p, 4, row);
    row += 4;
  }
#endif
#if OUTER_ROWS > 2
  if (row + 2 <= p->rows) {
    outer_rows(p, 2, row);
    row += 2;
  }
#endif
  if (row < p->rows) outer_rows(p, 1, row);
}

/* sums[m] = or += the sum of D[m, :], of `rows` rows at a time in `parts` partial sums. */
LANES_INLINE void row_sums_some(const outer *p, const int rows, const int parts, int64_t row) {
  lanes sum[4] = {{0}, {0}, {0}, {0}};
  const float *d = p->d + row * p->stride;
  int64_t v = 0;
  for (; v + parts <= p->vectors; v += parts, d += parts * EP_LANES)
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++)
      sum[i] += lanes_load(d + i / parts * p->stride + i % parts * EP_LANES);
  for (; v < p->vectors; v++, d += EP_LANES) sum[0] += lanes_load(d);
  if (parts > 1) sum[0] = (sum[0] + sum[1]) + (sum[2] + sum[3]);
#pragma GCC unroll 4
  for (int m = 0; m < rows; m++) {
    float *to = p->sums + (row + m) * EP_LANES;
    lanes before = p->first ? lanes_set(0.0f) : lanes_load(to);
    lanes_store(to, before + sum[m]);
  }
}

static void lanes_row_sums(const outer *given) {
  const outer own = *given, *p = &own;
  int64_t row = 0;
  for (; row + 4 <= p->rows; row += 4) row_sums_some(p, 4, 1, row);
  for (; row < p->rows; row++) row_sums_some(p, 1, 4, row);
}

enum { FEW_MOST = 3 };

/* The way back through a layer of up to FEW_MOST outputs, whose input a relu made of sums. There is
 * so little to multiply that fetching the input is what takes time: it is gone through once. */
typedef struct {
  int64_t rows, columns; /* of W: outputs, inputs */
  int64_t vectors;       /* of a row of D and X */
  const float *d;        /* [rows, stride]: the gradient of the output */
  float *x;              /* [columns, stride]: the input; becomes the gradient of those sums */
  int64_t stride;
  const float *w; /* [rows, columns], rows w_row floats apart */
  int64_t w_row;
  float *weight_sums; /* [rows, columns, EP_LANES]: of W's gradient */
  float *row_sums;    /* [columns, EP_LANES]: of X as it has become; NULL: not wanted */
  bool first;         /* sums = …, not += */
} few;

LANES_INLINE void few_add(float *to, lanes sum, bool first) {
  lanes_store(to, first ? sum : lanes_load(to) + sum);
}

LANES_INLINE void few_tile(const few *p, const int rows, const int columns, int64_t column) {
  const lanes zero = lanes_set(0.0f);
  lanes w[FEW_MOST][4], weight_sum[FEW_MOST][4], row_sum[4];
#pragma GCC unroll 4
  for (int i = 0; i < columns; i++) {
    row_sum[i] = zero;
#pragma GCC unroll 3
    for (int m = 0; m < rows; m++) {
      w[m][i] = lanes_set(p->w[m * p->w_row + column + i]);
      weight_sum[m][i] = zero;
    }
  }
  const int64_t stride = p->stride;
  const float *d = p->d;
  float *x = p->x + column * stride;
  for (int64_t v = p->vectors; v > 0; v--) {
    lanes value[FEW_MOST];
#pragma GCC unroll 3
    for (int m = 0; m < rows; m++) value[m] = lanes_load(d + m * stride);
#pragma GCC unroll 4
    for (int i = 0; i < columns; i++) {
      lanes input = lanes_load(x + i * stride), sum = zero;
#pragma GCC unroll 3
      for (int m = 0; m < rows; m++) {
        weight_sum[m][i] += value[m] * input;
        sum += w[m][i] * value[m];
      }
      sum = lanes_select(lanes_less(zero, input), sum, zero);
      row_sum[i] += sum;
      lanes_store(x + i * stride, sum);
    }
    d += EP_LANES;
    x += EP_LANES;
  }
#pragma GCC unroll 4
  for (int i = 0; i < columns; i++) {
#pragma GCC unroll 3
    for (int m = 0; m < rows; m++)
      few_add(p->weight_sums + (m * p->columns + column + i) * EP_LANES, weight_sum[m][i],
              p->first);
    if (p->row_sums) few_add(p->row_sums + (column + i) * EP_LANES, row_sum[i], p->first);
  }
}

LANES_INLINE void few_rows(const few *p, const int rows) {
  int64_t column = 0;
  for (; column + FEW_COLUMNS <= p->columns; column += FEW_COLUMNS)
    few_tile(p, rows, FEW_COLUMNS, column);
  for (; column < p->columns; column++) few_tile(p, rows, 1, column);
}

static void lanes_few(const few *given) {
  const few own = *given, *p = &own;
  switch (p->rows) {
  case 1: few_rows(p, 1); break;
  case 2: few_rows(p, 2); break;
  case 3: few_rows(p, 3); break;
  default: break;
  }
}

/* to: [panels, vectors * EP_LANES, panel] from x: [features, stride]; features past the last read
 * as zeros. `panel` is a multiple of EP_LANES. */
static void lanes_panels(float *to, int64_t panel, const float *x, int64_t features, int64_t stride,
                         int64_t vectors) {
  for (int64_t feature = 0; feature < features; feature += EP_LANES) {
    float *column = to + feature / panel * panel * vectors * EP_LANES + feature % panel;
    int64_t count = features - feature < EP_LANES ? features - feature : EP_LANES;
    for (int64_t v = 0; v < vectors; v++) {
      lanes block[EP_LANES];
      const float *from = x + feature * stride + v * EP_LANES;
      if (count == EP_LANES) {
#pragma GCC unroll 16
        for (int i = 0; i < EP_LANES; i++) block[i] = lanes_load(from + i * stride);
      } else {
        for (int i = 0; i < EP_LANES; i++)
          block[i] = i < count ? lanes_load(from + i * stride) : lanes_set(0.0f);
      }
      lanes_transpose(block);
#pragma GCC unroll 16
      for (int i = 0; i < EP_LANES; i++) lanes_store(column + (v * EP_LANES + i) * panel, block[i]);
    }
  }
}

#endif
