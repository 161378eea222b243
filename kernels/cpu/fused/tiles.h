/* tiles.h: the products of large layers on the processor's matrix unit (AMX) with float32's
 * precision: of the nine products of two numbers in three parts each (cuts.h) the six largest are
 * added up, small ones first. The other three are below 2^-22 of the whole. Six products take 6/16
 * of what as many multiply-adds of AVX-512 take. */
#ifndef EP_KERNELS_CPU_FUSED_TILES_H
#define EP_KERNELS_CPU_FUSED_TILES_H

#include "kernels/cpu/fused/cuts.h"
#include "kernels/cpu/fused/product.h"

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

#define TILES_SQUARE_LEFT(part)     \
  do {                              \
    TILES_LOAD(4, a[0] + at, part); \
    TILES_LOAD(5, a[1] + at, part); \
  } while (0)
#define TILES_SQUARE_RIGHT(part)    \
  do {                              \
    TILES_LOAD(6, b[0] + at, part); \
    TILES_LOAD(7, b[1] + at, part); \
  } while (0)
#define TILES_SQUARE()       \
  do {                       \
    _tile_dpbf16ps(0, 4, 6); \
    _tile_dpbf16ps(1, 4, 7); \
    _tile_dpbf16ps(2, 5, 6); \
    _tile_dpbf16ps(3, 5, 7); \
  } while (0)

/* Two tiles of rows, a, by two of columns, b. */
static void tiles_square(const product *p, const float *const *a, const float *const *b,
                         int64_t line, float *sums, tiles_four *done) {
  tiles_zero();
  for (int64_t at = 0; at < line; at += TILES_PARTS * TILES_FLOATS) {
    TILES_SQUARE_LEFT(TILES_LOW);
    TILES_SQUARE_RIGHT(TILES_HIGH);
    TILES_SQUARE();
    TILES_SQUARE_LEFT(TILES_MIDDLE);
    TILES_SQUARE();
    TILES_SQUARE_RIGHT(TILES_MIDDLE);
    TILES_SQUARE();
    TILES_SQUARE_LEFT(TILES_HIGH);
    TILES_SQUARE();
    TILES_SQUARE_RIGHT(TILES_LOW);
    TILES_SQUARE();
    TILES_SQUARE_RIGHT(TILES_HIGH);
    TILES_SQUARE();
    if (done->count > 0) tiles_finish(p, done);
  }
  tiles_finish_all(p, done);
  tiles_store(sums);
}

#define TILES_COLUMN(part)          \
  do {                              \
    TILES_LOAD(4, a[0] + at, part); \
    _tile_dpbf16ps(0, 4, 7);        \
    TILES_LOAD(5, a[1] + at, part); \
    _tile_dpbf16ps(1, 5, 7);        \
    TILES_LOAD(6, a[2] + at, part); \
    _tile_dpbf16ps(2, 6, 7);        \
    TILES_LOAD(4, a[3] + at, part); \
    _tile_dpbf16ps(3, 4, 7);        \
  } while (0)

/* Four tiles of rows by one of columns. */
static void tiles_column(const product *p, const float *const *a, const float *b, int64_t line,
                         float *sums, tiles_four *done) {
  tiles_zero();
  for (int64_t at = 0; at < line; at += TILES_PARTS * TILES_FLOATS) {
    TILES_LOAD(7, b + at, TILES_LOW);
    TILES_COLUMN(TILES_HIGH);
    TILES_LOAD(7, b + at, TILES_MIDDLE);
    TILES_COLUMN(TILES_MIDDLE);
    TILES_COLUMN(TILES_HIGH);
    TILES_LOAD(7, b + at, TILES_HIGH);
    TILES_COLUMN(TILES_LOW);
    TILES_COLUMN(TILES_MIDDLE);
    TILES_COLUMN(TILES_HIGH);
    if (done->count > 0) tiles_finish(p, done);
  }
  tiles_finish_all(p, done);
  tiles_store(sums);
}

static void tiles_add(tiles_four *four, int64_t row, int64_t column) {
  four->row[four->count] = row * TILES_ROWS;
  four->column[four->count++] = column * EP_LANES;
}

/* Four tiles of the result from row and column on: two by two, or four below each other. A row of
 * an operand's tiles has `line` floats. Tiles that are not there are made as their neighbours are,
 * and not kept. */
static void tiles_four_make(const product *p, const float *left, const float *right, int64_t line,
                            int64_t row, int64_t rows, int64_t column, bool square,
                            tiles_four *four, tiles_four *done) {
  const float *a[4], *b[2] = {right, right + line};
  for (int64_t i = 0; i < 4; i++) a[i] = left + (row + i < rows ? row + i : rows - 1) * line;
  if (square)
    tiles_square(p, a, b, line, four->sums, done);
  else
    tiles_column(p, a, right, line, four->sums, done);
  for (int64_t i = 0; i < (square ? 2 : 4) && row + i < rows; i++) {
    tiles_add(four, row + i, column);
    if (square) tiles_add(four, row + i, column + 1);
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

/* A product under way: four tiles are finished while the unit is busy with the next four. */
typedef struct {
  product p; /* own: no store into C can change it */
  const float *left;
  int64_t rows, line; /* tiles; floats */
  int turn;
  tiles_four fours[2];
} tiles_run;

static void tiles_run_four(tiles_run *run, const float *right, int64_t row, int64_t column,
                           bool square) {
  tiles_four_make(&run->p, run->left, right, run->line, row, run->rows, column, square,
                  &run->fours[run->turn], &run->fours[!run->turn]);
  run->turn = !run->turn;
}

/* All rows of columns first … end - 1; right: the operand's tiles from the first of them on. */
static void tiles_run_columns(tiles_run *run, const float *right, int64_t first, int64_t end) {
  __asm__ volatile("" ::: "memory"); /* operands are in memory before their tiles are loaded */
  for (int64_t row = 0; row < run->rows; row += 2)
    for (int64_t column = first; column + 1 < end; column += 2)
      tiles_run_four(run, right + (column - first) * run->line, row, column, true);
  for (int64_t row = 0; (end - first) % 2 && row < run->rows; row += 4)
    tiles_run_four(run, right + (end - 1 - first) * run->line, row, end - 1, false);
}

/* lanes_product of two operands: p's rows, vectors, c, and what happens to the sums. The right
 * operand has been cut, or it is cut two columns at a time, which then lie in the first cache. */
static void tiles_product(const product *p, const float *left, const tiles_operand *right,
                          bool is_cut) {
  tiles_run run = {.p = *p, .left = left, .line = tiles_line(right)};
  run.rows = tiles_count(p->rows, TILES_ROWS);
  tiles_configure();
  if (is_cut) tiles_run_columns(&run, right->to, 0, p->vectors);
  for (int64_t column = 0; !is_cut && column < p->vectors; column += 2) {
    const int64_t end = column + 2 < p->vectors ? column + 2 : p->vectors;
    tiles_cut_range(right, column, end, right->to);
    tiles_run_columns(&run, right->to, column, end);
  }
  tiles_finish_all(&run.p, &run.fours[!run.turn]);
  _tile_release();
}

/* A product that threads take pieces of. */
typedef struct {
  const product *whole;
  const float *left;
  const tiles_operand *right;
} tiles_shared;

enum {
  TILES_PIECE = 4,            /* tiles of rows */
  TILES_NEAR_FLOATS = 1 << 17 /* a left operand that may be read again for every two columns */
};

static void tiles_product_task(void *context, int64_t number, int member) {
  (void)member;
  const tiles_shared *s = context;
  const product piece =
      product_piece(s->whole, number * TILES_PIECE * TILES_ROWS, TILES_PIECE * TILES_ROWS);
  tiles_product(&piece, s->left + number * TILES_PIECE * tiles_line(s->right), s->right, true);
}

static void tiles_product_all(const ep_fused_net *net, const ep_fused_stage *stage,
                              const product *p, const float *left, const tiles_operand *right) {
  tiles_shared shared = {p, left, right};
  const bool near = tiles_count(p->rows, TILES_ROWS) * tiles_line(right) <= TILES_NEAR_FLOATS;
  if (!stage->shared && near) {
    tiles_product(p, left, right, false);
    return;
  }
  tiles_cut_all(net, stage, right);
  if (stage->shared && net->crew)
    ep_crew_run(net->crew, tiles_product_task, &shared,
                tiles_count(p->rows, TILES_PIECE * TILES_ROWS));
  else
    tiles_product(p, left, right, true);
}

/* The weights of all tiled layers, cut as forward and backward want them. */
static void tiles_prepare(const ep_fused_net *net) {
  for (int i = 0; i < net->stages_count; i++) {
    const ep_fused_stage *stage = &net->stages[i];
    if (!stage->tiled) continue;
    tiles_operand o = {.matrix = {.from = net->parameters + stage->weight,
                                  .rows = stage->out_features,
                                  .vectors = stage->weight_stride / EP_LANES,
                                  .stride = stage->weight_stride},
                       .to = net->weight_tiles + stage->tiles};
    tiles_cut_all(net, stage, &o);
    o.down = o.across = true;
    o.to = net->weight_tiles + stage->tiles_across;
    if (i > net->first_linear) tiles_cut_all(net, stage, &o);
  }
}

/* lanes_product of a layer's W and x; across: of W^T and the gradient. */
static void tiles_layer(const ep_fused_net *net, const ep_fused_stage *stage, bool across,
                        const product *p) {
  const tiles_operand right = {
      .matrix = {p->b, p->depth, p->vectors, p->b_row}, .down = true, .to = net->right_tiles};
  tiles_product_all(net, stage, p,
                    net->weight_tiles + (across ? stage->tiles_across : stage->tiles), &right);
}

/* The gradient of a tiled layer's weight: the samples are the depth. */
static void tiles_weight(const ep_fused_net *net, const ep_fused_chunk *chunk,
                         const ep_fused_stage *stage, const float *x, bool first) {
  const product p = {.rows = stage->out_features,
                     .vectors = stage->weight_stride / EP_LANES,
                     .c = net->gradients + stage->weight,
                     .c_row = stage->weight_stride,
                     .add = !first};
  const tiles_operand left = {
      .matrix = {net->gradient, stage->out_features, chunk->vectors, net->stride},
      .to = net->left_tiles};
  const tiles_operand right = {.matrix = {x, stage->in_features, chunk->vectors, net->stride},
                               .across = true,
                               .to = net->right_tiles};
  tiles_cut_all(net, stage, &left);
  tiles_product_all(net, stage, &p, net->left_tiles, &right);
}

#endif
