/* How a population would be trained, told without a GPU: by which kernel, what lies where in a
 * block's shared memory, and that as many blocks as are counted on have room. */
#include <string.h>

#include "kernels/cuda/population/plan.h"
#include "kernels/formulas/optimizers.h"
#include "tests/suite.h"
#include "tests/unit/kernels/programs.h"

enum { H100 = 90, TURING = 75, MULTIPROCESSORS = 132, MULTIPROCESSOR_BYTES = 233472 };

typedef struct {
  int64_t in, widths[5]; /* ends with 0 */
  int64_t rows, batch_size;
  ep_loss_type loss;
  ep_optimizer optimizer;
  float dropout;
} net;

static bool plan_of(const net *row, int capability, ep_case **test, ep_population_plan *plan) {
  const ep_gpu_traits gpu = {capability, capability, MULTIPROCESSORS};
  *test = ep_case_create("population", row->in, row->loss);
  for (int l = 0; row->widths[l] > 0; l++) {
    if (l > 0) ep_case_add(*test, EP_LAYER_RELU);
    if (l > 0 && row->dropout > 0) ep_case_add_dropout(*test, EP_LAYER_DROPOUT, row->dropout);
    ep_case_add_linear(*test, row->widths[l], true);
  }
  ep_case_finish(*test, &(ep_case_training){.rows = row->rows,
                                            .batch_size = row->batch_size,
                                            .optimizer = row->optimizer});
  return ep_population_plan_make(&(*test)->program, &gpu, plan);
}

static const char *kernel_of(const net *row, int capability) {
  ep_case *test;
  ep_population_plan plan;
  const char *kernel = plan_of(row, capability, &test, &plan) ? plan.kernel : "none";
  ep_case_destroy(test);
  return kernel;
}

static const net table = {.in = 6, .widths = {6, 1}, .rows = 442};
static const net classes = {
    .in = 13, .widths = {32, 16, 3}, .rows = 128, .batch_size = 32, .loss = EP_LOSS_CROSS_ENTROPY};
static const net digits = {
    .in = 784, .widths = {64, 10}, .rows = 500, .batch_size = 100, .loss = EP_LOSS_CROSS_ENTROPY};
static const net wide = {.in = 784, .widths = {128, 10}, .rows = 500, .batch_size = 100};

START_TEST(the_kernel_is_chosen_by_size) {
  ck_assert_str_eq(kernel_of(&table, H100), "lanes");
  ck_assert_str_eq(kernel_of(&classes, H100), "blocks");
  ck_assert_str_eq(kernel_of(&digits, H100), "blocks");
  ck_assert_str_eq(kernel_of(&wide, H100), "none"); /* its weights have no room */
  ck_assert_str_eq(kernel_of(&table, TURING), "lanes");
  ck_assert_str_eq(kernel_of(&classes, TURING), "none"); /* no TF32 */
}
END_TEST

/* --- shared memory --------------------------------------------------------------------------- */

typedef struct {
  int64_t at, floats;
} piece;

static void piece_follows(int64_t *end, piece next) {
  ck_assert_int_eq(next.at % 4, 0);
  ck_assert_int_ge(next.at, *end);
  *end = next.at + next.floats;
}

static void layers_check(const ep_population_blocks *blocks) {
  int64_t weights = 0, activations = 0;
  for (int l = 0; l < blocks->layers_count; l++) {
    const ep_population_layer *layer = &blocks->layers[l];
    const int64_t each = (int64_t)blocks->chunk_rows * layer->out_stride;
    ck_assert_int_ge(layer->in_stride, layer->in);
    ck_assert_int_eq(layer->in_stride % 8, 0);
    if (l > 0) ck_assert_int_eq(layer->in_stride, blocks->layers[l - 1].out_stride);
    piece_follows(&weights, (piece){layer->weights, (int64_t)layer->out * layer->in_stride});
    if (layer->bias >= 0) piece_follows(&weights, (piece){layer->biases, layer->out});
    piece_follows(&activations, (piece){layer->sums, each});
    if (layer->features != layer->sums) piece_follows(&activations, (piece){layer->features, each});
  }
  ck_assert_int_le(weights, blocks->weight_floats);
  ck_assert_int_le(activations, blocks->activation_floats);
}

static void blocks_check(const ep_program *program, const ep_population_plan *plan) {
  const ep_population_blocks *blocks = &plan->blocks;
  const int64_t rows = blocks->chunk_rows, weights = blocks->weight_floats,
                slots = ep_optimizer_slots(&program->optimizer);
  int64_t end = weights;
  layers_check(blocks);
  ck_assert_int_eq(rows % 16, 0);
  ck_assert(blocks->gathers_grads ||
            (rows >= program->batch_size && !(program->optimizer.clip_norm > 0)));
  piece_follows(&end, (piece){blocks->grads, blocks->gathers_grads ? weights : 0});
  piece_follows(&end, (piece){blocks->state, blocks->state_shared ? slots * weights : 0});
  piece_follows(&end, (piece){blocks->x, blocks->x_staged ? rows * program->in_features : 0});
  piece_follows(&end, (piece){blocks->activations,
                              blocks->activations_shared ? blocks->activation_floats : 0});
  piece_follows(&end, (piece){blocks->stage, blocks->x_staged ? 0 : rows * 40});
  piece_follows(&end, (piece){blocks->targets, rows * program->target_columns});
  piece_follows(&end, (piece){blocks->numbers, blocks->x_staged ? 0 : rows});
  piece_follows(&end, (piece){blocks->sums, 3 * plan->threads / EP_GPU_WARP + 1});
  piece_follows(&end, (piece){blocks->permutation, 28});
  ck_assert_int_le(end * (int64_t)sizeof(float), plan->shared_bytes);
  ck_assert_int_le(plan->shared_bytes, EP_GPU_LARGE_BLOCK_BYTES);
  ck_assert_int_le(blocks->blocks_each * (plan->shared_bytes + 1024), MULTIPROCESSOR_BYTES);
  ck_assert_int_eq(plan->residents, blocks->blocks_each * MULTIPROCESSORS);
}

static const net nets[] = {
    {.in = 1, .widths = {97}, .rows = 1},
    {.in = 8, .widths = {40, 40, 5}, .rows = 442, .loss = EP_LOSS_CROSS_ENTROPY},
    {.in = 700, .widths = {20, 12}, .rows = 300, .batch_size = 50, .dropout = 0.5f},
    {.in = 90,
     .widths = {192, 70, 2},
     .rows = 70,
     .batch_size = 40,
     .optimizer = {.type = EP_OPTIMIZER_ADAM, .beta1 = 0.9f, .beta2 = 0.99f}},
    {.in = 64,
     .widths = {128, 64, 10},
     .rows = 5000,
     .batch_size = 256,
     .loss = EP_LOSS_CROSS_ENTROPY,
     .optimizer = {.momentum = 0.9f, .clip_norm = 1}},
    {.in = 31, .widths = {33, 32}, .rows = 4000, .batch_size = 3999},
};

START_TEST(nothing_lies_on_anything_else) {
  const net *const rows[] = {&classes, &digits,  &nets[0], &nets[1],
                             &nets[2], &nets[3], &nets[4], &nets[5]};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    ep_case *test;
    ep_population_plan plan;
    ck_assert(plan_of(rows[i], H100, &test, &plan));
    ck_assert_str_eq(plan.kernel, "blocks");
    blocks_check(&test->program, &plan);
    ep_case_destroy(test);
  }
}
END_TEST

/* One launch of tests/bench/population's 1,024 members. */
START_TEST(eight_small_blocks_share_a_multiprocessor) {
  ep_case *test;
  ep_population_plan plan;
  ck_assert(plan_of(&classes, H100, &test, &plan));
  ck_assert_int_ge(plan.residents, 1024);
  ep_case_destroy(test);
}
END_TEST

EP_SUITE("cuda/population plan") {
  TCase *cases = ep_suite_case(suite, "plans");
  tcase_add_test(cases, the_kernel_is_chosen_by_size);
  tcase_add_test(cases, nothing_lies_on_anything_else);
  tcase_add_test(cases, eight_small_blocks_share_a_multiprocessor);
}
