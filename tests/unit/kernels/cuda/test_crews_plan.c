/* How cuda/crews would run a program, told without a GPU: what lies in a block's shared memory and
 * in the scratch lies on nothing else, and what does not fit is refused. */
#include <stdlib.h>

#include "kernels/cuda/executors/crews/plan.h"
#include "tests/suite.h"
#include "tests/unit/kernels/programs.h"

enum { ROWS = EP_CREWS_ROWS, RANKS = EP_CREWS_RANKS, PIECES_MAX = 8 * EP_CREWS_LAYERS_MAX };

typedef struct {
  int64_t widths[14]; /* from the inputs to the outputs; ends with 0 */
  int64_t batch_size;
} net;

static bool plan_of(const net *row, ep_crews_plan *plan) {
  int count = 0;
  while (row->widths[count + 1] != 0) count++;
  ep_case *self = ep_case_create("crews", row->widths[0], EP_LOSS_MSE);
  for (int l = 1; l <= count; l++) {
    ep_case_add_linear(self, row->widths[l], true);
    if (l < count) ep_case_add(self, EP_LAYER_RELU);
  }
  ep_case_finish(self, &(ep_case_training){.rows = 2 * row->batch_size,
                                           .batch_size = row->batch_size,
                                           .shuffle = true,
                                           .steps = 1,
                                           .lr = 0.1f});
  bool made = ep_crews_plan_make(&self->program, plan);
  ep_case_destroy(self);
  return made;
}

/* --- pieces of memory ------------------------------------------------------------------------ */

typedef struct {
  int64_t at, floats;
} piece;

/* Each on 16 bytes, one behind the other as they are given, and the last one ends in time. */
static void pieces_check(const piece *pieces, int count, int64_t end) {
  for (int i = 0; i < count; i++) {
    ck_assert_int_eq(pieces[i].at % 4, 0);
    ck_assert_int_ge(pieces[i].at, i == 0 ? 0 : pieces[i - 1].at + pieces[i - 1].floats);
  }
  ck_assert_int_le(pieces[count - 1].at + pieces[count - 1].floats, end);
}

static int64_t weights_floats(const ep_crews_layer *layer) {
  return (int64_t)layer->inputs * layer->outputs;
}

/* While rows are on their way. */
static void shared_check(const ep_crews_plan *plan) {
  piece pieces[PIECES_MAX];
  int count = 0, last = plan->layers_count - 1, grads = 0;
  for (int l = plan->front; l <= last; l++) {
    const ep_crews_layer *layer = &plan->layers[l];
    pieces[count++] = (piece){layer->weights, weights_floats(layer)};
    pieces[count++] = (piece){layer->biases, layer->outputs};
    if (layer->outputs > grads) grads = layer->outputs;
  }
  pieces[count++] = (piece){plan->grads, grads * ROWS};
  for (int turn = 0; turn < 2; turn++) {
    int floats = 0;
    for (int l = plan->front + turn; l <= last; l += 2) {
      const ep_crews_layer *layer = &plan->layers[l];
      int sums = layer->outputs * ROWS, of_layer = layer->inputs * ROWS;
      if (l == last)
        of_layer += RANKS * sums;
      else if (sums > of_layer)
        of_layer = sums;
      bool early = turn == 0 || !plan->refetches || l == plan->front + 1;
      if (early && of_layer > floats) floats = of_layer;
      if (!early) ck_assert_int_le(plan->place[1] + of_layer, plan->fetched);
    }
    pieces[count++] = (piece){plan->place[turn], floats};
  }
  if (plan->front > 0) {
    pieces[count++] = (piece){plan->front_weights, plan->front_floats};
    pieces[count++] = (piece){plan->features, 2048};
  }
  pieces[count++] = (piece){plan->barriers, 2 * (4 * plan->layers_count + 3)};
  pieces_check(pieces, count, plan->shared_floats);
  ck_assert_int_le(plan->shared_floats * 4, 232448 - 256);
  ck_assert_int_ge(plan->fetched, plan->place[1]);
}

static void scratch_check(const ep_crews_plan *plan) {
  piece pieces[PIECES_MAX];
  int count = 0, last = plan->layers_count - 1;
  for (int l = 0; l <= last; l++) {
    const ep_crews_layer *layer = &plan->layers[l];
    int ranks = l < plan->front ? 1 : RANKS;
    pieces[count++] =
        (piece){layer->image, ranks * (weights_floats(layer) + (layer->outputs + 3) / 4 * 4)};
  }
  for (int l = 0; l <= last; l++) {
    const ep_crews_layer *layer = &plan->layers[l];
    int rows = plan->crews * ROWS, shared = l >= plan->front && l < last;
    pieces[count++] = (piece){layer->x, (l == last ? RANKS : 1) * layer->inputs * rows};
    pieces[count++] = (piece){layer->grad, (shared ? RANKS : 1) * layer->outputs * rows};
  }
  pieces[count++] = (piece){plan->metrics, 4 * plan->crews};
  pieces[count++] = (piece){plan->tasks, (int64_t)plan->crews * RANKS * EP_CREWS_WARPS * 32 *
                                             EP_CREWS_TASK_FLOATS};
  pieces_check(pieces, count, plan->scratch_floats);
}

START_TEST(nothing_lies_on_anything_else) {
  static const net nets[] = {{{2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2}, 100},
                             {{2, 4, 8, 16, 32, 64, 128, 256, 512, 2}, 112},
                             {{2, 4, 8, 16, 32, 64, 128, 256, 2}, 17},
                             {{7, 5, 9, 19, 50, 63, 131, 255, 390, 11}, 128},
                             {{33, 200, 600, 330, 16}, 16},
                             {{64, 33, 1500, 3}, 90},
                             {{60, 400, 300, 200, 100, 9}, 50},
                             {{2, 1900, 3}, 100},
                             {{3, 64, 2000, 5}, 35},
                             {{1, 65, 1}, 1}};
  for (size_t i = 0; i < sizeof nets / sizeof *nets; i++) {
    ep_crews_plan plan;
    ck_assert(plan_of(&nets[i], &plan));
    ck_assert_int_ge(plan.crews * plan.rows_each, nets[i].batch_size);
    ck_assert_int_le(plan.rows_each, ROWS);
    shared_check(&plan);
    scratch_check(&plan);
  }
}
END_TEST

START_TEST(what_does_not_fit_is_refused) {
  static const net nets[] = {{{2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 2}, 100},
                             {{2, 100, 2}, 129},
                             {{65, 100, 2}, 100},
                             {{2, 100, 17}, 100},
                             {{2, 2049, 2}, 100},
                             {{2, 64, 2}, 100},
                             {{100, 2}, 100}};
  for (size_t i = 0; i < sizeof nets / sizeof *nets; i++) {
    ep_crews_plan plan;
    ck_assert(!plan_of(&nets[i], &plan));
  }
}
END_TEST

EP_SUITE("crews plan") {
  TCase *all = ep_suite_case(suite, "all");
  tcase_add_test(all, nothing_lies_on_anything_else);
  tcase_add_test(all, what_does_not_fit_is_refused);
}
