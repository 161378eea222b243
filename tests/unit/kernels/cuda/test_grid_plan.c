/* How cuda/grid would run a program, told without a GPU: what lies where, and who has it. Who waits
 * for whom: test_grid_meetings.c. */
#include <stdlib.h>

#include "kernels/cuda/executors/grid/offsets.h"
#include "tests/suite.h"
#include "tests/unit/kernels/cuda/grid_plans.h"

enum { MULTIPROCESSORS = 132 };

static ep_grid_plan plan;

static bool plan_make(int layers, int64_t batch_size, const ep_optimizer *optimizer) {
  return ep_grid_plan_doubling(layers, batch_size, optimizer, MULTIPROCESSORS, &plan);
}

START_TEST(the_front_of_doubling_layers_is_one_blocks) {
  const ep_grid_args *args = &plan.args;
  ck_assert(plan_make(10, 100, &ep_grid_sgd));
  ck_assert(args->chained);
  ck_assert_int_eq(args->front, 5); /* up to 32 to 64 */
  ck_assert_int_eq(plan.blocks, MULTIPROCESSORS);
  ck_assert_int_eq(args->workers, MULTIPROCESSORS - 1);
  ck_assert_int_le(plan.shared_bytes, EP_GRID_SHARED_BYTES);
  ck_assert(plan_make(10, EP_GRID_CHAIN_ROWS, &ep_grid_sgd));
  ck_assert(args->chained);
  ck_assert(plan_make(10, EP_GRID_CHAIN_ROWS + 1, &ep_grid_sgd));
  ck_assert(!args->chained);
  ck_assert_int_eq(args->workers, plan.blocks);
}
END_TEST

/* Inputs, gradients, weights and biases of the layers follow one another, aligned as warps load
 * them, with what pads them. */
START_TEST(what_a_front_keeps_does_not_overlap) {
  const int rows[] = {1, 7, 8, 37, 100, 104, 128};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    ck_assert(plan_make(10, rows[i], &ep_grid_sgd));
    const ep_grid_args *args = &plan.args;
    int all_rows = args->chain_room, at = EP_GRID_STATE + EP_GRID_CHAIN_TABLES;
    ck_assert_int_ge(args->chain_rows, rows[i]);
    ck_assert_int_eq(args->chain_rows % 16 + all_rows % 16, 0);
    /* Of a warp without rows, where there is one, as many rows again. */
    ck_assert_int_eq(all_rows, args->chain_rows + (args->chain_rows < EP_GRID_CHAIN_ROWS ? 16 : 0));
    for (int l = 0; l < args->front; l++) {
      const ep_grid_layer *layer = &args->layers[l];
      int inputs = (layer->in + 7) / 8 * 8, outputs = (layer->out + 7) / 8 * 8;
      at += (l == 0 ? 2 : 1) * inputs * all_rows;
      ck_assert_int_eq(layer->slopes, at);
      ck_assert_int_eq(layer->image, layer->slopes + outputs * all_rows);
      ck_assert_int_ge(layer->image_stride, inputs);
      ck_assert_int_eq(layer->image_stride % 16, 8); /* or loads would meet in a bank */
      ck_assert_int_eq(layer->image % 4 + layer->slopes % 4 + layer->image_stride % 4, 0);
      at =
          layer->image + outputs * (layer->image_stride + 1) + inputs * ep_grid_chain_line(outputs);
      ck_assert_int_eq(layer->mirror, -1);
    }
    ck_assert_int_eq(args->chain_end, at + EP_GRID_CHAIN_SPARE);
    ck_assert_int_le(args->chain_end * (int)sizeof(float), plan.shared_bytes);
  }
}
END_TEST

/* How each is cut: test_grid.c. */
START_TEST(every_product_is_there_once) {
  for (int layers = 9; layers <= 12; layers++) {
    ck_assert(plan_make(layers, 100, _i == 0 ? &ep_grid_sgd : &ep_grid_adam));
    const ep_grid_args *args = &plan.args;
    int forward[EP_GRID_LAYERS_MAX] = {0}, backward[EP_GRID_LAYERS_MAX] = {0},
        updates[EP_GRID_LAYERS_MAX] = {0}, heads = 0;
    ck_assert_int_le(args->phases_count, EP_GRID_PHASES_MAX);
    for (int p = 0; p < args->phases_count; p++) {
      const ep_grid_phase *phase = &args->phases[p];
      forward[phase->layer] += phase->work == EP_GRID_FORWARD;
      backward[phase->layer] += phase->work == EP_GRID_BACKWARD;
      heads += phase->work == EP_GRID_OUTPUT_LOSS;
      for (int l = 0; l < EP_GRID_LAYERS_MAX; l++) updates[l] += phase->updates >> l & 1;
      ck_assert_int_lt(phase->update_from, args->workers);
      const ep_grid_layer *layer = &args->layers[phase->layer];
      if (phase->work == EP_GRID_FORWARD || phase->work == EP_GRID_BACKWARD) {
        int tasks = (int)ep_grid_cut_tasks(phase->work == EP_GRID_FORWARD ? &layer->forward
                                                                          : &layer->backward);
        int blocks =
            phase->work == EP_GRID_FORWARD ? layer->forward_blocks : layer->backward_blocks;
        ck_assert_int_eq(phase->tasks, tasks < blocks ? tasks : blocks);
      }
    }
    ck_assert_int_eq(heads, 1);
    for (int l = 0; l < layers; l++) {
      bool is_wide = l >= args->front, is_last = l == layers - 1;
      ck_assert_int_eq(updates[l], is_wide);
      ck_assert_int_eq(forward[l], is_wide && !is_last);
      ck_assert_int_eq(backward[l], is_wide && !is_last);
    }
  }
}
END_TEST

/* Before a widest layer that takes long to update, half of the blocks have the layers in the
 * middle, with their updates; the others update what is behind meanwhile. */
START_TEST(the_middle_layers_are_of_half_of_the_blocks) {
  const ep_grid_args *args = &plan.args;
  ck_assert(plan_make(10, 100, &ep_grid_sgd));
  ck_assert_int_eq(args->middle_blocks, 0);
  for (int layers = 11; layers <= 12; layers++) {
    ck_assert(plan_make(layers, 100, &ep_grid_sgd));
    ck_assert_int_eq(args->middle,
                     layers - 3); /* the one before the widest, which is before the last */
    ck_assert_int_eq(args->middle_blocks, 64); /* of 131, in whole sixteens */
    for (int l = args->front; l < layers - 1; l++) {
      const ep_grid_layer *layer = &args->layers[l];
      ck_assert_int_eq(layer->forward_blocks, l + 1 < args->middle ? 64 : args->workers);
      ck_assert_int_eq(layer->backward_blocks, l < args->middle ? 64 : args->workers);
    }
    for (int p = 0; p < args->phases_count; p++) {
      const ep_grid_phase *phase = &args->phases[p];
      if (phase->updates >> (args->middle + 1) != 0) {
        ck_assert_int_ge(phase->update_from, args->middle_blocks);
        ck_assert_int_eq(phase->update_to, args->workers);
        ck_assert_uint_eq(phase->updates & ((UINT32_C(2) << args->middle) - 1), 0);
      } else if (phase->updates != 0) {
        ck_assert_int_le(phase->update_to, args->middle_blocks);
      }
    }
  }
}
END_TEST

/* The head adds up what the layer before it leaves in parts, where one tile has all rows. */
START_TEST(the_head_adds_up_what_is_left_in_parts) {
  for (int layers = 8; layers <= 12; layers++)
    for (int64_t batch_size = 100; batch_size <= 108; batch_size += 4) {
      ck_assert(plan_make(layers, batch_size, &ep_grid_sgd));
      const ep_grid_args *args = &plan.args;
      for (int l = 0; l < layers; l++) {
        const ep_grid_cut *cut = &args->layers[l].forward;
        const bool is_left = l == layers - 2 && layers >= 11 && batch_size <= EP_GRID_LARGE_N;
        ck_assert_int_eq(cut->left_in_parts, is_left);
        if (!cut->left_in_parts) continue;
        ck_assert_int_eq(cut->across * EP_GRID_WIDE_M, args->layers[l].out);
        const int fours = args->layers[l].out / (4 * EP_GRID_THREADS);
        ck_assert_int_eq(cut->splits * fours % EP_GRID_PARTS, 0);
      }
    }
}
END_TEST

EP_SUITE("kernels/grid_plan") {
  TCase *places = ep_suite_case(suite, "places");
  tcase_add_test(places, the_front_of_doubling_layers_is_one_blocks);
  tcase_add_test(places, what_a_front_keeps_does_not_overlap);
  tcase_add_loop_test(places, every_product_is_there_once, 0, 2);
  tcase_add_test(places, the_middle_layers_are_of_half_of_the_blocks);
  tcase_add_test(places, the_head_adds_up_what_is_left_in_parts);
}
