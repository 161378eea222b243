/* How cuda/grid cuts its work, told without a GPU: every piece of a product has one owner, nothing
 * lies on anything else, and no loads of a warp meet in a bank. */
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/executors/grid/offsets.h"
#include "kernels/cuda/executors/grid/plan.h"
#include "tests/suite.h"
#include "tests/unit/kernels/programs.h"

enum { BANKS = 32, HALF_WARP = 16, PLACES_MAX = 8 * EP_GRID_LAYERS_MAX };

typedef struct {
  int64_t widths[12]; /* from the inputs to the outputs; ends with 0 */
  int64_t batch_size;
  ep_optimizer_type optimizer;
  ep_precision precision;
  int multiprocessors;
} net;

static const net nets[] = {
    {{2, 64, 128, 256, 512, 1024, 2048, 4096, 2}, 100, EP_OPTIMIZER_SGD, EP_PRECISION_TF32, 132},
    {{2, 64, 128, 256, 512, 1024, 2048, 4096, 2}, 100, EP_OPTIMIZER_ADAM, EP_PRECISION_TF32, 132},
    {{2, 64, 128, 256, 512, 1024, 2}, 100, EP_OPTIMIZER_SGD, EP_PRECISION_FP32, 132},
    {{2, 64, 128, 256, 512, 1024, 2}, 300, EP_OPTIMIZER_SGD, EP_PRECISION_TF32, 78},
    {{784, 384, 10}, 1024, EP_OPTIMIZER_SGD, EP_PRECISION_FP32, 132},
    {{41, 1031, 517, 3}, 37, EP_OPTIMIZER_RMSPROP, EP_PRECISION_TF32, 16},
    {{300, 2000, 2000, 32}, 105, EP_OPTIMIZER_SGD, EP_PRECISION_TF32, 13},
    {{16, 16, 1760, 256, 1376, 1838, 2}, 128, EP_OPTIMIZER_SGD, EP_PRECISION_FP32, 20},
    {{6, 6, 1}, 321, EP_OPTIMIZER_SGD, EP_PRECISION_FP32, 132}};
enum { NETS = sizeof nets / sizeof *nets };

static ep_grid_plan plan_of(const net *row) {
  int count = 0;
  while (row->widths[count + 1] != 0) count++;
  ep_case *self = ep_case_create("grid", row->widths[0],
                                 row->widths[count] == 1 ? EP_LOSS_MSE : EP_LOSS_CROSS_ENTROPY);
  for (int l = 1; l <= count; l++) {
    ep_case_add_linear(self, row->widths[l], true);
    if (l < count) ep_case_add(self, EP_LAYER_RELU);
  }
  ep_case_finish(self, &(ep_case_training){.rows = 2 * row->batch_size,
                                           .batch_size = row->batch_size,
                                           .shuffle = true,
                                           .steps = 1,
                                           .lr = 0.1f,
                                           .optimizer = {.type = row->optimizer, .beta1 = 0.9f}});
  self->program.precision = row->precision;
  ep_grid_plan plan;
  ck_assert(ep_grid_plan_make(&self->program, row->multiprocessors, &plan));
  ep_case_destroy(self);
  return plan;
}

/* --- products -------------------------------------------------------------------------------- */

/* A result of [n, m], its tiles, and sums of `terms`. */
typedef struct {
  int m, n, terms, tile_m, tile_n, tile_k;
} product;

/* Each tile of the result has one task a part, and its parts have each term once, in order. */
static void tasks_check(const ep_grid_cut *cut, const product *of) {
  int across = (of->m + of->tile_m - 1) / of->tile_m, down = (of->n + of->tile_n - 1) / of->tile_n;
  ck_assert_int_eq(cut->across, across);
  ck_assert_int_eq(cut->down, down);
  ck_assert_int_eq(cut->chunk % of->tile_k, 0);
  unsigned number = 0;
  for (int group = 0; group < across * down; group++) {
    int next = 0;
    for (int split = 0; split < cut->splits; split++) {
      ep_grid_task task = ep_grid_task_of(cut, number++, of->terms, of->tile_m, of->tile_n);
      ck_assert_int_eq(task.group, group);
      ck_assert_int_eq(task.split, split);
      ck_assert_int_eq(task.m, group % across * of->tile_m);
      ck_assert_int_eq(task.n, group / across * of->tile_n);
      ck_assert_int_eq(task.first, next);
      ck_assert_int_gt(task.end, task.first);
      next = task.end;
    }
    ck_assert_int_eq(next, of->terms);
  }
}

static void cut_check(const ep_grid_cut *cut, const product *of, const ep_grid_plan *plan) {
  tasks_check(cut, of);
  if (cut->splits == 1) return;
  ck_assert_int_le(cut->splits, plan->blocks); /* they wait for each other */
  ck_assert_int_ge(cut->counters, 0);
  ck_assert_int_le(cut->counters + cut->across * cut->down * (cut->large ? 2 : 1), plan->counters);
}

/* Neighbours of a cluster have neighbouring parts of one sum, and a task each. */
static void pairs_check(const ep_grid_cut *cut, int blocks, bool precise) {
  const int m = ep_grid_large_m(precise);
  if (!ep_grid_cut_pairs(cut, blocks)) return;
  const int64_t tasks = ep_grid_cut_tasks(cut);
  ck_assert(cut->large);
  ck_assert_int_le(tasks, blocks);
  ck_assert_int_eq(tasks % 2, 0);
  for (unsigned number = 0; number < tasks; number += 2) {
    ep_grid_task one = ep_grid_task_of(cut, number, INT32_MAX, m, EP_GRID_LARGE_N),
                 other = ep_grid_task_of(cut, number + 1, INT32_MAX, m, EP_GRID_LARGE_N);
    ck_assert_int_eq(one.group, other.group);
    ck_assert_int_eq(one.split % 2, 0);
    ck_assert_int_eq(one.split + 1, other.split);
  }
}

/* A task a block; weights, rows and the warps' sums fit the area, as whole.cuh has them. */
static void whole_check(const ep_grid_cut *cut, int terms, int blocks) {
  const int part = ep_grid_whole_lines(terms) * EP_GRID_LINE;
  const int parts = (terms + part - 1) / part, m = cut->whole_m;
  const int weights = m * parts * part, rows = 2 * EP_GRID_WHOLE_N * part;
  const int sums = EP_GRID_THREADS / 32 * EP_GRID_LINE / m * EP_GRID_WHOLE_N * (m + 4);
  const int room = EP_GRID_WIDE_AREA - 8 * EP_GRID_LINE;
  ck_assert_int_eq(terms % EP_GRID_LINE, 0);
  ck_assert_int_eq(cut->splits, 1);
  ck_assert_int_le(cut->across * cut->down, blocks);
  ck_assert_int_le(weights + rows, room);
  ck_assert_int_le(sums, room);
}

/* Blocks that share a sum wait for each other: who updates a layer is as many as its splits. */
START_TEST(sums_of_updates_have_blocks_enough) {
  const ep_grid_plan plan = plan_of(&nets[_i]);
  for (int p = 0; p < plan.args.phases_count; p++) {
    const ep_grid_phase *phase = &plan.args.phases[p];
    for (int l = 0; l < plan.args.layers_count; l++)
      if (phase->updates >> l & 1)
        ck_assert_int_le(plan.args.layers[l].update.splits, phase->update_to - phase->update_from);
  }
}
END_TEST

START_TEST(every_piece_of_a_product_has_one_owner) {
  const ep_grid_plan plan = plan_of(&nets[_i]);
  const ep_grid_args *s = &plan.args;
  for (int l = 0; l < s->layers_count; l++) {
    const ep_grid_layer *of = &s->layers[l];
    int rows = (int)s->batch_rows;
    if (s->chained && l < s->front) continue; /* one block's */
    bool wide = l >= s->front && l < s->layers_count - 1, large = of->update.large;
    cut_check(
        &of->update,
        &(product){of->out, of->in, rows, large ? EP_GRID_WEIGHTS_LARGE_M : EP_GRID_WEIGHTS_SMALL_M,
                   large ? EP_GRID_WEIGHTS_LARGE_N : EP_GRID_WEIGHTS_SMALL_N, EP_GRID_WEIGHTS_K},
        &plan);
    for (int back = 0; wide && back <= (l > 0); back++) {
      const ep_grid_cut *cut = back ? &of->backward : &of->forward;
      cut_check(cut,
                &(product){back ? of->in : of->out, rows, back ? of->out : of->in,
                           cut->large         ? ep_grid_large_m(s->precise)
                           : cut->whole_m > 0 ? cut->whole_m
                                              : EP_GRID_SMALL_M,
                           cut->large         ? EP_GRID_LARGE_N
                           : cut->whole_m > 0 ? EP_GRID_WHOLE_N
                                              : EP_GRID_SMALL_N,
                           cut->large         ? EP_GRID_LARGE_K
                           : cut->whole_m > 0 ? EP_GRID_LINE
                                              : EP_GRID_SMALL_K},
                &plan);
      pairs_check(cut, back ? of->backward_blocks : of->forward_blocks, s->precise);
      if (cut->whole_m > 0)
        whole_check(cut, back ? of->out : of->in, back ? of->backward_blocks : of->forward_blocks);
    }
    if (of->panels.splits == 0) continue;
    tasks_check(&of->panels, &(product){of->in, rows, of->out, EP_GRID_LARGE_M, EP_GRID_LARGE_N,
                                        EP_GRID_LARGE_K});
    ck_assert_int_eq(of->panels.down, 1);
    ck_assert(of->mirror < 0);
    ck_assert(!s->precise && of->weight_decay >= 0);
    ck_assert(s->slots < 2 || s->state_stride % 4 == 0);
    ck_assert_int_le(s->slots, EP_GRID_PANEL_SLOTS);
  }
}
END_TEST

/* --- memory ---------------------------------------------------------------------------------- */

typedef struct {
  int64_t from, to;
} place;

static int place_compare(const void *a, const void *b) {
  int64_t x = ((const place *)a)->from, y = ((const place *)b)->from;
  return x < y ? -1 : x > y;
}

/* The places that are taken, of which empty ones are none. */
typedef struct {
  place rows[PLACES_MAX];
  int count;
} taken;

static void place_add(taken *all, int64_t from, int64_t floats) {
  if (floats > 0) all->rows[all->count++] = (place){from, from + floats};
}

static int64_t parts_of(const ep_grid_cut *cut, int64_t tile) {
  return cut->splits == 1 ? 0 : cut->across * cut->down * cut->splits * tile;
}

START_TEST(nothing_lies_on_anything_else) {
  const ep_grid_plan plan = plan_of(&nets[_i]);
  const ep_grid_args *s = &plan.args;
  taken all = {.count = 0};
  int64_t rows = s->batch_rows, shared = 0;
  for (int l = 0; l < s->layers_count; l++) {
    const ep_grid_layer *of = &s->layers[l];
    if (s->chained && l == s->front - 1) {
      place_add(&all, of->after + s->front_turn, rows * of->stride);
      place_add(&all, s->front_grad, (of->out + 7) / 8 * 8 * (int64_t)s->chain_rows);
      place_add(&all, s->front_sums, of->weight + (int64_t)of->out * of->in);
    }
    place_add(&all, of->after, rows * of->stride);
    place_add(&all, of->grad, rows * of->stride);
    if (of->turned >= 0) {
      ck_assert_int_eq(of->turned % 4, 0); /* as copies begin */
      int64_t floats = of->panels.across * (int64_t)EP_GRID_PANEL_FLOATS;
      ck_assert_int_lt(ep_grid_panel_offset(EP_GRID_LARGE_N - 1, of->in - 1), floats);
      place_add(&all, of->turned, floats);
    }
    if (s->chained && l < s->front) continue;
    if (of->mirror >= 0) place_add(&all, of->mirror, (int64_t)of->out * of->image_stride + of->out);
    int64_t tile = of->update.large
                       ? EP_GRID_WEIGHTS_LARGE_M * (EP_GRID_WEIGHTS_LARGE_N + INT64_C(1))
                       : EP_GRID_WEIGHTS_SMALL_M * (EP_GRID_WEIGHTS_SMALL_N + INT64_C(1));
    place_add(&all, of->partials, parts_of(&of->update, tile));
    for (int back = 0; back < 2; back++) {
      const ep_grid_cut *cut = back ? &of->backward : &of->forward;
      if (cut->splits == 0) continue;
      tile = cut->large ? ep_grid_large_m(s->precise) * EP_GRID_LARGE_N
                        : EP_GRID_SMALL_M * EP_GRID_SMALL_N;
      ck_assert_int_le(s->partials + parts_of(cut, tile), plan.scratch_floats);
    }
  }
  place_add(&all, s->rows, 2 * rows);
  place_add(&all, s->order, s->shuffles ? 2 * s->train_rows : 0);
  place_add(&all, s->inputs, rows * s->inputs_stride);
  qsort(all.rows, (size_t)all.count, sizeof *all.rows, place_compare);
  for (int i = 0; i + 1 < all.count; i++) ck_assert_int_le(all.rows[i].to, all.rows[i + 1].from);
  ck_assert_int_le(all.rows[all.count - 1].to, s->partials);
  ck_assert_int_le(s->partials, plan.scratch_floats);
  shared =
      s->area_at + (s->front == s->layers_count ? EP_GRID_WEIGHTS_SMALL_AREA : EP_GRID_WIDE_AREA);
  ck_assert_int_le(shared * (int64_t)sizeof(float), plan.shared_bytes);
  if (s->paired) {
    ck_assert_int_ge(s->pair_at, shared);
    shared = s->pair_at + EP_GRID_PAIR_AREA;
    ck_assert_int_le(shared * (int64_t)sizeof(float), plan.shared_bytes);
    ck_assert_int_eq(plan.blocks % 2, 0);
  }
  ck_assert_int_le(plan.shared_bytes, EP_GRID_SHARED_BYTES);
}
END_TEST

/* --- fragments ------------------------------------------------------------------------------- */

START_TEST(each_output_of_two_lines_is_one_threads) {
  int owners[2 * EP_GRID_LINE] = {0};
  for (int warp = 0; warp < 4; warp++)
    for (int g = 0; g < 8; g++)
      for (int h = 0; h < 2; h++) owners[ep_grid_pair(warp, g) + h]++;
  for (int o = 0; o < 2 * EP_GRID_LINE; o++) ck_assert_int_eq(owners[o], 1);
}
END_TEST

START_TEST(loads_of_outputs_meet_in_no_bank) {
  for (int warp = 0; warp < 4; warp++)
    for (int half = 0; half < 2; half++)
      for (int first = 0; first < EP_GRID_LARGE_N; first += 4) {
        int loads[BANKS] = {0};
        for (int lane = 0; lane < HALF_WARP; lane++) {
          int output = ep_grid_pair(warp, half * 4 + lane / 4) % EP_GRID_LINE;
          int at = ep_grid_line_offset(first + lane % 4, output / 4) + output % 4;
          loads[at % BANKS]++, loads[(at + 1) % BANKS]++;
        }
        for (int bank = 0; bank < BANKS; bank++) ck_assert_int_eq(loads[bank], 1);
      }
}
END_TEST

/* Of whole products, two floats a thread: terms of eight lines, and inputs, whose lines are terms.
 */
START_TEST(loads_of_whole_products_meet_in_no_bank) {
  for (int half = 0; half < 2; half++)
    for (int step = 0; step < 4; step++) {
      int along[BANKS] = {0}, across[BANKS] = {0};
      for (int lane = half * HALF_WARP; lane < (half + 1) * HALF_WARP; lane++) {
        const int g = lane / 4, t = lane % 4;
        const int terms = ep_grid_line_offset(g, ep_grid_whole_terms(step, t)) + t % 2 * 2;
        const int line = step / 2 * 4 + t, i = step % 2;
        const int inputs = ep_grid_line_offset(line, ep_grid_whole_four(g, i)) + g % 2 * 2;
        for (int q = 0; q < 2; q++) along[(terms + q) % BANKS]++, across[(inputs + q) % BANKS]++;
      }
      for (int bank = 0; bank < BANKS; bank++) {
        ck_assert_int_eq(along[bank], 1);
        ck_assert_int_eq(across[bank], 1);
      }
    }
}
END_TEST

START_TEST(fours_of_outputs_meet_in_no_bank) {
  for (int warp = 0; warp < 4; warp++)
    for (int two = 0; two < 8; two += 2)
      for (int number = 0; number < 4; number++) {
        unsigned fours = 0;
        for (int lane = 0; lane < 8; lane++) {
          int g = two + lane / 4, output = ep_grid_pair(warp, g) + number / 2;
          int four = ep_grid_pair_four(g, lane % 4, number % 2);
          fours |= 1u << ep_grid_line_offset(output, four) % BANKS / 4;
        }
        ck_assert_uint_eq(fours, 0xffu);
      }
}
END_TEST

START_TEST(a_column_of_eight_lines_meets_in_no_bank) {
  for (int four = 0; four < EP_GRID_LINE / 4; four++) {
    int loads[BANKS] = {0};
    for (int line = 0; line < 8; line++) loads[ep_grid_line_offset(line, four) % BANKS / 4]++;
    for (int i = 0; i < 8; i++) ck_assert_int_eq(loads[i], 1);
  }
}
END_TEST

START_TEST(a_fronts_numbers_have_a_place_each) {
  enum { ROWS = 16, FEATURES = 24 };
  bool used[ROWS * FEATURES] = {false};
  for (int row = 0; row < ROWS; row++)
    for (int feature = 0; feature < FEATURES; feature++) {
      int at = ep_grid_chain_offset(row, feature, FEATURES);
      ck_assert(at >= 0 && at < ROWS * FEATURES && !used[at]);
      used[at] = true;
    }
}
END_TEST

/* Of eight rows, four features; of four rows, eight features. The same of columns and outputs. */
START_TEST(a_fronts_loads_meet_in_no_bank) {
  const int lines[] = {8, 24, 40, 72}; /* of weights */
  for (int l = -1; l < (int)(sizeof lines / sizeof *lines); l++)
    for (int half = 0; half < 8; half += 4) {
      unsigned ones = 0, fours = 0;
      for (int feature = 0; feature < 8; feature++)
        for (int row = 0; row < 8; row++) {
          int at = l < 0 ? ep_grid_chain_offset(row, feature, 8)
                         : ep_grid_chain_weight(feature, row, lines[l]);
          if ((feature & 4) == half) ones |= 1u << at % BANKS;
          if (row == half) fours |= 1u << at % BANKS / 4;
        }
      ck_assert_uint_eq(ones, 0xffffffffu);
      ck_assert_uint_eq(fours, 0xffu);
    }
}
END_TEST

START_TEST(a_threads_columns_are_four_neighbours) {
  int inputs[EP_GRID_LARGE_M], seen = 0;
  for (int input = 0; input < EP_GRID_LARGE_M; input++) inputs[input] = -1;
  for (int input = 0; input < EP_GRID_LARGE_M; input++) {
    ck_assert_int_eq(inputs[ep_grid_turned(input)], -1);
    inputs[ep_grid_turned(input)] = input;
  }
  for (int tile = 0; tile < EP_GRID_LARGE_M / 8; tile += 2)
    for (int t = 0; t < 4; t++)
      for (int i = 0; i < 4; i++, seen++)
        ck_assert_int_eq(inputs[(tile + i / 2) * 8 + 2 * t + i % 2], tile * 8 + 4 * t + i);
  ck_assert_int_eq(seen, EP_GRID_LARGE_M);
}
END_TEST

/* A row of an input in two panels; four rows follow one another. */
START_TEST(a_panels_numbers_have_a_place_each) {
  enum { FLOATS = 2 * EP_GRID_PANEL_FLOATS };
  static bool seen[FLOATS];
  memset(seen, 0, sizeof seen);
  for (int row = 0; row < EP_GRID_LARGE_N; row++)
    for (int input = 0; input < 2 * EP_GRID_LARGE_M; input++) {
      const int64_t at = ep_grid_panel_offset(row, input);
      ck_assert_int_eq(at / EP_GRID_PANEL_FLOATS, input / EP_GRID_LARGE_M);
      ck_assert(at >= 0 && at < FLOATS && !seen[at]);
      seen[at] = true;
      ck_assert_int_eq(at, ep_grid_panel_offset(row / 4 * 4, input) + row % 4);
    }
}
END_TEST

EP_SUITE("kernels/grid") {
  TCase *tests = ep_suite_case(suite, "grid");
  tcase_add_loop_test(tests, every_piece_of_a_product_has_one_owner, 0, NETS);
  tcase_add_loop_test(tests, sums_of_updates_have_blocks_enough, 0, NETS);
  tcase_add_loop_test(tests, nothing_lies_on_anything_else, 0, NETS);
  tcase_add_test(tests, each_output_of_two_lines_is_one_threads);
  tcase_add_test(tests, loads_of_outputs_meet_in_no_bank);
  tcase_add_test(tests, loads_of_whole_products_meet_in_no_bank);
  tcase_add_test(tests, fours_of_outputs_meet_in_no_bank);
  tcase_add_test(tests, a_column_of_eight_lines_meets_in_no_bank);
  tcase_add_test(tests, a_threads_columns_are_four_neighbours);
  tcase_add_test(tests, a_panels_numbers_have_a_place_each);
  tcase_add_test(tests, a_fronts_numbers_have_a_place_each);
  tcase_add_test(tests, a_fronts_loads_meet_in_no_bank);
}
