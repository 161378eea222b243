/* tiles.h: the products of large layers on the processor's matrix unit (AMX) with float32's
 * precision: of the nine products of two numbers in three parts each (cuts.h) the six largest are
 * added up. The other three are below 2^-22 of the whole. Six products take 6/16 of what as many
 * multiply-adds of AVX-512 take.
 *
 * A tile product keeps the unit busy for 16 cycles and takes one instruction. The lanes' work is
 * put between them, in pieces of fewer instructions than the processor looks ahead. */
#ifndef EP_KERNELS_CPU_EXECUTORS_FUSED_TILES_H
#define EP_KERNELS_CPU_EXECUTORS_FUSED_TILES_H

#include "kernels/cpu/executors/fused/cuts.h"
#include "kernels/cpu/executors/fused/product.h"

/* Up to four tiles of the result, from row and column on: two by two, or two below each other,
 * whose sums are in two halves (of tiles n and n + 2). */
typedef struct {
  int count, across;
  int64_t row, column;
  bool first, last; /* of the depth's panels */
  bool beside;      /* its columns are of parts of few samples */
} tiles_four;

/* Tiles of the left operand that are multiplied with all columns: up to two of rows by TILES_PANEL
 * of depth. They stay in the first cache, while the right one's come from the second. */
typedef struct {
  int64_t row, rows, k, depth, place;
} tiles_panel;

enum {
  TILES_PANEL = 4,
  TILES_PLACES = TILES_PANEL + 1 /* the next one's first is cut meanwhile */
};

/* A product under way, on one thread. What the lanes have to do they do while the unit is busy: cut
 * what it will need next, and finish the four tiles that it made before. */
typedef struct {
  product p; /* own: no store into C can change it */
  tiles_operand left, right, *ahead;
  int64_t rows, columns, depth; /* tiles */
  tiles_panel now, next;
  tiles_four fours[2]; /* at hand, and before; what has to be finished is of the latter */
  int turn;
  int64_t column, end; /* of the columns at hand */
  int64_t jobs_count;
  tiles_job jobs[2]; /* tiles to be cut while the unit works at one depth */
  _Alignas(LANES_BYTES) float sums[4 * TILES_FLOATS]; /* to be finished */
  _Alignas(LANES_BYTES) float panel[TILES_PLACES * 2 * TILES_EACH];
} tiles_run;

/* What product_finish does, of the last of the four. */
static __attribute__((noinline)) void tiles_finish(tiles_run *run) {
  const product *p = &run->p;
  tiles_four *four = &run->fours[!run->turn];
  const int n = --four->count;
  const int64_t row = four->row + n / four->across * TILES_ROWS;
  const int64_t rows = p->rows - row < TILES_ROWS ? p->rows - row : TILES_ROWS;
  const int64_t c_row = p->c_row, at = row * c_row + four->column + n % four->across * EP_LANES;
  const bool halves = four->across == 1, beside = four->beside, add = p->add || !four->first;
  const bool relu = p->relu && four->last;
  const float *bias = p->bias && four->first ? p->bias + row : NULL;
  const float *mask = p->mask && four->last ? p->mask + at : NULL;
  const float *sums = run->sums + n * TILES_FLOATS;
  const lanes zero = lanes_set(0.0f);
  float *c = p->c + at;
  for (int64_t m = 0; m < rows; m++, sums += EP_LANES, c += c_row) {
    lanes sum = lanes_load(sums);
    if (halves) sum += lanes_load(sums + 2 * TILES_FLOATS);
    if (beside) sum = tiles_beside_total(sum);
    if (bias) sum += bias[m];
    if (add) sum += lanes_load(c);
    if (relu) sum = lanes_max(zero, sum);
    if (mask) sum = lanes_select(lanes_less(zero, lanes_load(mask + m * c_row)), sum, zero);
    lanes_store(c, sum);
  }
}

static void tiles_finish_all(tiles_run *run) {
  while (run->fours[!run->turn].count > 0) tiles_finish(run);
}

/* The panel's tile at depth k, and below it that of its second row. */
static float *tiles_panel_at(tiles_run *run, const tiles_panel *panel, int64_t k) {
  return run->panel + (panel->place + k) % TILES_PLACES * 2 * TILES_EACH;
}

static void tiles_panel_job(tiles_run *run, const tiles_panel *panel, int64_t k, int64_t row,
                            tiles_job *job) {
  tiles_job_make(job, &run->left, panel->row + row, panel->k + k,
                 tiles_panel_at(run, panel, k) + row * TILES_EACH);
}

/* From depth k on. */
static void tiles_panel_cut(tiles_run *run, const tiles_panel *panel, int64_t k) {
  for (; k < panel->depth; k++)
    for (int64_t row = 0; row < panel->rows; row++) {
      tiles_panel_job(run, panel, k, row, &run->jobs[0]);
      tiles_cut_whole(&run->jobs[0]);
    }
}

/* What is to be cut while the unit works at depth k. What will be needed later is cut one at a
 * time: its stores go past the first cache, which takes less than two would bring. */
static void tiles_plan(tiles_run *run, int64_t k) {
  const bool later = tiles_are_cut(&run->right);
  tiles_operand *from = later ? run->ahead : &run->right;
  int64_t n = 0;
  if (run->end == run->columns) {
    for (; k < run->next.depth && n < run->next.rows; n++)
      tiles_panel_job(run, &run->next, k, n, &run->jobs[n]);
  } else {
    for (; from && !tiles_are_cut(from) && n < (later ? 1 : 2); n++)
      tiles_next(from, &run->jobs[n]);
  }
  run->jobs_count = n;
}

enum { TILES_TIMES = TILES_QUARTERS + 2 };

/* The lanes' work between two times that the unit is given some. */
LANES_INLINE void tiles_side(tiles_run *run, int64_t quarter) {
  if (quarter < TILES_QUARTERS) {
    if (run->jobs_count > 0) tiles_cut(&run->jobs[0], quarter);
    if (run->jobs_count > 1) tiles_cut(&run->jobs[1], quarter);
  } else if (run->fours[!run->turn].count > 0) {
    tiles_finish(run);
  }
}

#define TILES_LOAD(tile, operand, part) \
  _tile_loadd(tile, (operand) + (part)*TILES_FLOATS, LANES_BYTES)
/* The right operand does not fit the first cache, and would only drive the panel out of it. */
#define TILES_STREAM(tile, operand, part) \
  _tile_stream_loadd(tile, (operand) + (part)*TILES_FLOATS, LANES_BYTES)

/* Whether the sums of the four are the result as they are. */
static bool tiles_are_result(const product *p, const tiles_four *four) {
  const bool changed = four->last && (p->relu || p->mask);
  return four->first && !p->add && !p->bias && !changed && four->count == 4 &&
         four->row + 2 * TILES_ROWS <= p->rows;
}

/* Into the result, or to be finished. */
static void tiles_store(tiles_run *run, tiles_four *four) {
  const product *p = &run->p;
  const bool result = tiles_are_result(p, four);
  const int64_t stride = result ? p->c_row : EP_LANES;
  const int64_t below = result ? TILES_ROWS * p->c_row : 2 * TILES_FLOATS;
  const int64_t beside = result ? EP_LANES : TILES_FLOATS;
  float *to = result ? p->c + four->row * p->c_row + four->column : run->sums;
  _tile_stored(0, to, stride * (int64_t)sizeof *to);
  _tile_stored(1, to + beside, stride * (int64_t)sizeof *to);
  _tile_stored(2, to + below, stride * (int64_t)sizeof *to);
  _tile_stored(3, to + below + beside, stride * (int64_t)sizeof *to);
  if (result) four->count = 0;
}

static void tiles_zero(void) {
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
}

#define TILES_LEFT(part)            \
  do {                              \
    TILES_LOAD(4, a, part);         \
    TILES_LOAD(5, a + below, part); \
  } while (0)
#define TILES_RIGHT(part)              \
  do {                                 \
    TILES_STREAM(6, b, part);          \
    TILES_STREAM(7, b + beside, part); \
  } while (0)
#define TILES_SQUARE()       \
  do {                       \
    _tile_dpbf16ps(0, 4, 6); \
    _tile_dpbf16ps(1, 4, 7); \
    _tile_dpbf16ps(2, 5, 6); \
    _tile_dpbf16ps(3, 5, 7); \
  } while (0)

/* Whether the panel's tile of depth has all products of its numbers in one. */
static bool tiles_is_few(const tiles_run *run, int64_t k) {
  return run->right.few && !run->right.down && run->now.k + k + 1 == run->depth;
}

/* The first operands, of the tile of depth that comes next: while the sums before are still being
 * added up, or stored. */
static void tiles_first(tiles_run *run, int64_t k, const float *b) {
  const int64_t below = run->now.rows > 1 ? TILES_EACH : 0, beside = run->depth * TILES_EACH;
  const float *a = tiles_panel_at(run, &run->now, k);
  if (!tiles_is_few(run, k) && !tiles_are_beside(&run->right, run->column))
    b += TILES_LOW * TILES_FLOATS;
  TILES_LEFT(TILES_HIGH);
  TILES_STREAM(6, b, 0);
  if (run->end - run->column == 2) TILES_STREAM(7, b + beside, 0);
}

/* Two tiles of rows by two of columns. */
static void tiles_square(tiles_run *run, const float *b) {
  const int64_t below = run->now.rows > 1 ? TILES_EACH : 0, beside = run->depth * TILES_EACH;
  for (int64_t k = 0; k < run->now.depth; k++, b += TILES_EACH) {
    const float *a = tiles_panel_at(run, &run->now, k);
    TILES_SQUARE();
    if (tiles_is_few(run, k)) break;
    TILES_RIGHT(TILES_MIDDLE);
    tiles_plan(run, k);
    tiles_side(run, 0);
    TILES_SQUARE();
    TILES_LEFT(TILES_MIDDLE);
    tiles_side(run, 1);
    TILES_SQUARE();
    TILES_RIGHT(TILES_HIGH);
    tiles_side(run, 2);
    TILES_SQUARE();
    TILES_LEFT(TILES_LOW);
    tiles_side(run, 3);
    TILES_SQUARE();
    TILES_LEFT(TILES_HIGH);
    tiles_side(run, 4);
    TILES_SQUARE();
    if (k + 1 < run->now.depth) tiles_first(run, k + 1, b + TILES_EACH);
    tiles_side(run, 5);
  }
}

#define TILES_PAIR(first, second, right) \
  do {                                   \
    _tile_dpbf16ps(first, 4, right);     \
    _tile_dpbf16ps(second, 5, right);    \
  } while (0)

/* Two tiles of rows by one of columns. Two sums alone would wait for themselves: 2 and 3 are of
 * the smallest products. */
static void tiles_pair(tiles_run *run, const float *b) {
  const int64_t below = run->now.rows > 1 ? TILES_EACH : 0;
  for (int64_t k = 0; k < run->now.depth; k++, b += TILES_EACH) {
    const float *a = tiles_panel_at(run, &run->now, k);
    TILES_PAIR(2, 3, 6);
    if (tiles_is_few(run, k)) break;
    TILES_STREAM(7, b, TILES_MIDDLE);
    TILES_PAIR(0, 1, 7);
    TILES_LEFT(TILES_MIDDLE);
    TILES_STREAM(6, b, TILES_HIGH);
    tiles_plan(run, k);
    tiles_side(run, 0);
    tiles_side(run, 1);
    TILES_PAIR(2, 3, 7);
    TILES_PAIR(0, 1, 6);
    TILES_LEFT(TILES_LOW);
    tiles_side(run, 2);
    tiles_side(run, 3);
    TILES_PAIR(2, 3, 6);
    TILES_LEFT(TILES_HIGH);
    tiles_side(run, 4);
    TILES_PAIR(0, 1, 6);
    if (k + 1 < run->now.depth) tiles_first(run, k + 1, b + TILES_EACH);
    tiles_side(run, 5);
  }
}

/* The same of few samples, whose three parts are columns of one tile: three products are all. */
static void tiles_pair_beside(tiles_run *run, const float *b) {
  const int64_t below = run->now.rows > 1 ? TILES_EACH : 0;
  for (int64_t k = 0; k < run->now.depth; k++, b += TILES_EACH) {
    const float *a = tiles_panel_at(run, &run->now, k);
    TILES_PAIR(0, 1, 6);
    TILES_LEFT(TILES_MIDDLE);
    tiles_plan(run, k);
    tiles_side(run, 0);
    tiles_side(run, 1);
    TILES_PAIR(2, 3, 6);
    TILES_LEFT(TILES_LOW);
    tiles_side(run, 2);
    tiles_side(run, 3);
    TILES_PAIR(0, 1, 6);
    if (k + 1 < run->now.depth) tiles_first(run, k + 1, b + TILES_EACH);
    tiles_side(run, 4);
    tiles_side(run, 5);
  }
}

/* The panel from row and k on; with no rows when there is none. */
static tiles_panel tiles_panel_from(const tiles_run *run, int64_t row, int64_t k, int64_t place) {
  if (k == run->depth) {
    k = 0;
    row += 2;
  }
  const int64_t rows = run->rows - row, depth = run->depth - k;
  return (tiles_panel){row, rows < 2 ? rows : 2, k, depth < TILES_PANEL ? depth : TILES_PANEL,
                       place % TILES_PLACES};
}

/* Two columns, or one where the number of those that are left is odd, or its samples are few. */
static void tiles_columns_next(tiles_run *run) {
  const bool alone = (run->columns - run->end) % 2 || tiles_are_beside(&run->right, run->end);
  run->column = run->end;
  run->end += alone ? 1 : 2;
}

static void tiles_panel_begin(tiles_run *run) {
  run->now = run->next;
  run->next = tiles_panel_from(run, run->now.row, run->now.k + run->now.depth,
                               run->now.place + run->now.depth);
  run->column = run->end = 0;
  tiles_columns_next(run);
}

/* On to the next columns, or the next panel; their operands have been cut when this returns, and
 * the first ones are loaded. */
static void tiles_advance(tiles_run *run) {
  if (run->end == run->columns) {
    tiles_panel_cut(run, &run->next, run->now.depth - tiles_is_few(run, run->now.depth - 1));
    tiles_panel_begin(run);
  } else {
    tiles_columns_next(run);
  }
  if (run->now.rows <= 0) return;
  tiles_cut_until(&run->right, run->end);
  __asm__ volatile("" ::: "memory"); /* what has been cut is in memory before it is loaded */
  tiles_first(run, 0, tiles_at(&run->right, run->column, run->now.k));
}

/* Tiles of columns column … end - 1. While the last are made, the next panel is cut; before, the
 * right operand, if it has not been yet, or the other. */
static void tiles_four_make(tiles_run *run) {
  const tiles_panel *now = &run->now;
  const float *b = tiles_at(&run->right, run->column, now->k);
  tiles_four *four = &run->fours[run->turn];
  four->across = (int)(run->end - run->column);
  four->count = (int)(four->across * now->rows);
  four->row = now->row * TILES_ROWS;
  four->column = tiles_vector(&run->right, run->column) * EP_LANES;
  four->beside = tiles_are_beside(&run->right, run->column);
  four->first = now->k == 0;
  four->last = now->k + now->depth == run->depth;
  tiles_zero();
  if (four->across == 2)
    tiles_square(run, b);
  else if (four->beside)
    tiles_pair_beside(run, b);
  else
    tiles_pair(run, b);
  tiles_finish_all(run);
  tiles_advance(run);
  tiles_store(run, four);
  run->turn = !run->turn;
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

/* lanes_product of two operands: p's rows, vectors, c, and what happens to the sums. Of the right
 * one and of another, `ahead`, what is not yet cut will be. */
static void tiles_product(const product *p, const tiles_operand *left, const tiles_operand *right,
                          tiles_operand *ahead) {
  tiles_run run; /* the arrays of tiles in it are written before they are read */
  run.p = *p;
  run.left = *left;
  run.right = *right;
  run.ahead = ahead;
  run.turn = run.fours[0].count = run.fours[1].count = 0;
  run.rows = tiles_count(p->rows, TILES_ROWS);
  run.columns = run.end = p->vectors;
  run.depth = tiles_depth(right);
  run.now = (tiles_panel){0};
  run.next = tiles_panel_from(&run, 0, 0, 0);
  tiles_configure();
  for (tiles_advance(&run); run.now.rows > 0;) tiles_four_make(&run);
  tiles_finish_all(&run);
  if (ahead) tiles_cut_until(ahead, tiles_along(ahead));
  _tile_release();
}

/* A product that threads take pieces of. */
typedef struct {
  const product *whole;
  const tiles_operand *left, *right;
} tiles_shared;

enum { TILES_PIECE = 4 }; /* tiles of rows */

static void tiles_product_task(void *context, int64_t number, int member) {
  (void)member;
  const tiles_shared *s = context;
  const int64_t first = number * TILES_PIECE * TILES_ROWS;
  const product piece = product_piece(s->whole, first, TILES_PIECE * TILES_ROWS);
  tiles_operand left = *s->left;
  left.matrix.from += left.down ? first : first * left.matrix.stride;
  if (left.down)
    left.matrix.vectors -= number * TILES_PIECE;
  else
    left.matrix.rows -= first;
  tiles_product(&piece, &left, s->right, NULL);
}

static bool tiles_are_shared(const ep_fused_net *net, const ep_fused_stage *stage) {
  return stage->shared && net->crew;
}

static void tiles_cut_shared(const ep_fused_net *net, tiles_operand *o) {
  ep_crew_run(net->crew, tiles_cut_task, o, tiles_along(o));
  o->along = tiles_along(o);
}

static void tiles_product_shared(const ep_fused_net *net, const product *p,
                                 const tiles_operand *left, tiles_operand *right) {
  tiles_shared shared = {p, left, right};
  tiles_cut_shared(net, right);
  ep_crew_run(net->crew, tiles_product_task, &shared,
              tiles_count(p->rows, TILES_PIECE * TILES_ROWS));
}

/* Operands of a layer's products. A right one has its tiles in net->right_tiles; the input as the
 * weight's gradient wants it has them in a place of its own: it is cut on the way forward. */
static tiles_operand tiles_of_weight(const ep_fused_net *net, const ep_fused_stage *stage,
                                     bool across) {
  return (tiles_operand){.matrix = {.from = net->parameters + stage->weight,
                                    .rows = stage->out_features,
                                    .vectors = stage->weight_stride / EP_LANES,
                                    .stride = stage->weight_stride},
                         .down = across,
                         .across = across};
}

/* Of the last `each` samples. */
static bool tiles_are_few(const ep_fused_chunk *chunk, int64_t each) {
  return (chunk->rows - 1) % each < TILES_FEW;
}

static tiles_operand tiles_of_samples(const ep_fused_net *net, const ep_fused_chunk *chunk,
                                      const product *p) {
  return (tiles_operand){.matrix = {p->b, p->depth, p->vectors, p->b_row},
                         .down = true,
                         .few = tiles_are_few(chunk, EP_LANES),
                         .to = net->right_tiles};
}

static tiles_operand tiles_of_input(const ep_fused_net *net, const ep_fused_chunk *chunk,
                                    const ep_fused_stage *stage, const float *x) {
  return (tiles_operand){.matrix = {x, stage->in_features, chunk->vectors, net->stride},
                         .across = true,
                         .few = tiles_are_few(chunk, TILES_DEPTH),
                         .to = net->input_tiles + stage->tiles};
}

/* lanes_product of a layer's W and x. */
static void tiles_forward(const ep_fused_net *net, const ep_fused_chunk *chunk,
                          const ep_fused_stage *stage, const product *p) {
  const tiles_operand left = tiles_of_weight(net, stage, false);
  tiles_operand right = tiles_of_samples(net, chunk, p);
  tiles_operand ahead = tiles_of_input(net, chunk, stage, p->b);
  if (tiles_are_shared(net, stage))
    tiles_product_shared(net, p, &left, &right);
  else
    tiles_product(p, &left, &right, &ahead);
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
      .few = tiles_are_few(chunk, TILES_DEPTH)};
  tiles_operand right = tiles_of_input(net, chunk, stage, x);
  tiles_operand ahead = left;
  ahead.down = true;
  ahead.few = tiles_are_few(chunk, EP_LANES);
  ahead.to = net->right_tiles;
  if (tiles_are_shared(net, stage)) {
    tiles_product_shared(net, &p, &left, &right);
  } else {
    right.along = tiles_along(&right);
    tiles_product(&p, &left, &right, &ahead);
  }
}

/* lanes_product of W^T and the gradient, after tiles_weight. */
static void tiles_backward(const ep_fused_net *net, const ep_fused_chunk *chunk,
                           const ep_fused_stage *stage, const product *p) {
  const tiles_operand left = tiles_of_weight(net, stage, true);
  tiles_operand right = tiles_of_samples(net, chunk, p);
  if (tiles_are_shared(net, stage)) {
    tiles_product_shared(net, p, &left, &right);
  } else {
    right.along = tiles_along(&right);
    tiles_product(p, &left, &right, NULL);
  }
}

#endif
