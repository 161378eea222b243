/* cpu/blocked's own: batches that many threads share give the reference's numbers, and the same
 * bits however many threads there are; the crew does each task once; products of all forms. The
 * cases of programs.h are small: test_cpu.c holds it to them. */
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "kernels/cpu/executors/blocked/product.h"
#include "kernels/cpu/runtime/cpu.h"
#include "kernels/cpu/runtime/crew.h"
#include "tests/suite.h"
#include "tests/unit/kernels/compare.h"

static const ep_backend_ops *ops;
static ep_backend *backend;

static void setup(void) {
  ops = ep_backend_cpu();
  ck_assert_int_eq(ops->open(0, &backend, NULL), EP_OK);
}

static void teardown(void) {
  ops->close(backend);
}

static const ep_case_window three = {.kernel = {3, 3}, .padding = {1, 1}};
static const ep_case_window strided = {
    .kernel = {3, 2}, .stride = {2, 3}, .padding = {1, 0}, .dilation = {1, 2}, .groups = 2};
static const ep_case_window two = {.kernel = {2, 2}};
static const ep_case_window overlapping = {.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}};

/* Images through all that has parameters of its own in each slot. */
static ep_case *images_case(void) {
  ep_case *self = ep_case_create_image("images", (ep_shape){2, 14, 13}, EP_LOSS_CROSS_ENTROPY);
  ep_case_store_bytes(self);
  ep_case_add_conv2d(self, 8, &three, true);
  ep_case_add_pool(self, EP_LAYER_MAX_POOL2D, &two);
  ep_case_add(self, EP_LAYER_LEAKY_RELU);
  ep_case_add_dropout(self, EP_LAYER_DROPOUT2D, 0.3f);
  ep_case_add_conv2d(self, 10, &strided, true);
  ep_case_add(self, EP_LAYER_TANH);
  ep_case_add(self, EP_LAYER_FLATTEN);
  ep_case_add_norm(self, EP_LAYER_LAYER_NORM, true);
  ep_case_add_dropout(self, EP_LAYER_DROPOUT, 0.2f);
  ep_case_add_linear(self, 11, true);
  return self;
}

/* Spans: batch_norm, within a block, twice, and at the end. */
static ep_case *norms_case(void) {
  ep_case *self = ep_case_create_image("norms", (ep_shape){3, 12, 12}, EP_LOSS_CROSS_ENTROPY);
  ep_case_add_conv2d(self, 8, &three, false);
  ep_case_add_norm(self, EP_LAYER_BATCH_NORM, true);
  ep_case_add(self, EP_LAYER_TANH);
  int source = ep_case_last(self);
  ep_case_add_conv2d(self, 8, &three, false);
  ep_case_add_norm(self, EP_LAYER_BATCH_NORM, true);
  ep_case_add_residual(self, source);
  ep_case_add(self, EP_LAYER_SILU);
  ep_case_add_dropout(self, EP_LAYER_DROPOUT, 0.1f);
  ep_case_add_pool(self, EP_LAYER_MAX_POOL2D, &overlapping);
  ep_case_add(self, EP_LAYER_FLATTEN);
  ep_case_add_linear(self, 5, false);
  ep_case_add_norm(self, EP_LAYER_BATCH_NORM, true);
  return self;
}

/* Convolutions whose channels a dropout2d takes away: few of them, nearly all, and, where a
 * residual has the output as well, none before it is added. */
static ep_case *dropped_case(void) {
  static const ep_case_window five = {.kernel = {5, 5}}, small = {.kernel = {3, 3}},
                              loose = {.kernel = {2, 3}, .dilation = {2, 2}};
  ep_case *self = ep_case_create_image("dropped", (ep_shape){2, 14, 15}, EP_LOSS_CROSS_ENTROPY);
  ep_case_add_conv2d(self, 19, &five, true);
  ep_case_add_dropout(self, EP_LAYER_DROPOUT2D, 0.1f);
  ep_case_add(self, EP_LAYER_TANH);
  ep_case_add_conv2d(self, 6, &small, false);
  int source = ep_case_last(self);
  ep_case_add_dropout(self, EP_LAYER_DROPOUT2D, 0.5f);
  ep_case_add_residual(self, source);
  ep_case_add_conv2d(self, 7, &loose, true);
  ep_case_add_dropout(self, EP_LAYER_DROPOUT2D, 0.9f);
  ep_case_add(self, EP_LAYER_FLATTEN);
  ep_case_add_linear(self, 5, true);
  return self;
}

/* Weights too large for a copy a slot, and one that is not, with a flatten between. */
static ep_case *wide_case(void) {
  ep_case *self = ep_case_create("wide", 260, EP_LOSS_MSE);
  ep_case_add_linear(self, 257, true);
  ep_case_add(self, EP_LAYER_FLATTEN);
  ep_case_add(self, EP_LAYER_SIGMOID);
  int source = ep_case_last(self);
  ep_case_add_linear(self, 257, false);
  ep_case_add_residual(self, source);
  ep_case_add_linear(self, 3, true);
  return self;
}

static ep_case *embedding_case(void) {
  ep_case *self = ep_case_create("embedding", 9, EP_LOSS_BCE_WITH_LOGITS);
  ep_case_add_embedding(self, 2, 31, 12);
  ep_case_add_linear(self, 97, true);
  ep_case_add(self, EP_LAYER_TANH);
  ep_case_add_linear(self, 4, true);
  return self;
}

/* A table too large for a copy a slot. */
static ep_case *table_case(void) {
  ep_case *self = ep_case_create("table", 5, EP_LOSS_MSE);
  ep_case_add_embedding(self, 1, 4001, 17);
  ep_case_add(self, EP_LAYER_TANH);
  ep_case_add_linear(self, 33, true);
  ep_case_add_norm(self, EP_LAYER_LAYER_NORM, true);
  ep_case_add_linear(self, 4, true);
  return self;
}

typedef struct {
  ep_case *(*create)(void);
  ep_optimizer optimizer;
  float lr;
  uint32_t frozen; /* ep_case_training's */
} large_case;

static const large_case large_cases[] = {
    {images_case, {.type = EP_OPTIMIZER_SGD, .momentum = 0.9f}, 0.01f, 0},
    {images_case, {.type = EP_OPTIMIZER_SGD, .clip_norm = 0.1f}, 0.05f, 0},
    {norms_case, {.type = EP_OPTIMIZER_SGD, .momentum = 0.5f, .nesterov = true}, 0.02f, 0},
    {wide_case, {.type = EP_OPTIMIZER_SGD, .clip_norm = 0.5f, .clip_value = 0.01f}, 0.02f, 0},
    {wide_case, {.type = EP_OPTIMIZER_ADAGRAD, .eps = 1e-3f}, 0.001f, 0},
    {embedding_case, {.type = EP_OPTIMIZER_SGD}, 0.05f, 0},
    {table_case, {.type = EP_OPTIMIZER_SGD, .momentum = 0.5f}, 0.05f, 0},
    {images_case, {.type = EP_OPTIMIZER_SGD, .clip_norm = 0.1f}, 0.05f, 1 << 0 | 1 << 8},
    {norms_case, {.type = EP_OPTIMIZER_SGD, .momentum = 0.5f}, 0.02f, 1 << 0 | 1 << 1},
    {wide_case, {.type = EP_OPTIMIZER_SGD, .clip_norm = 0.5f}, 0.02f, 1 << 0},
};
enum { LARGE_CASES = sizeof large_cases / sizeof large_cases[0] };

static ep_case *large_case_create(int number) {
  const large_case *of = &large_cases[number];
  ep_case *test = of->create();
  ep_case_finish(test, &(ep_case_training){.rows = 331,
                                           .batch_size = 163,
                                           .shuffle = true,
                                           .seed = 5,
                                           .steps = 5,
                                           .lr = of->lr,
                                           .optimizer = of->optimizer,
                                           .frozen = of->frozen});
  return test;
}

/* Many slots, the last batch of a few rows alone, cut and whole. */
START_TEST(large_batches_agree_with_the_reference) {
  ep_case *test = large_case_create(_i);
  ep_subject blocked = {ops, backend, "cpu/blocked"}, reference = {ops, backend, "cpu/reference"};
  ep_comparison result = {0};
  backend->threads = 3;
  ep_compare_case(&blocked, &reference, test, EP_COMPARE_TOLERANCE, &result, stderr);
  ck_assert_int_eq(result.agreed, 1);
  ep_case_destroy(test);
}
END_TEST

START_TEST(dropped_channels_agree_at_each_instruction_set) {
  const int best = (int)backend->instruction_set;
  ep_subject blocked = {ops, backend, "cpu/blocked"}, reference = {ops, backend, "cpu/reference"};
  ep_case *test = dropped_case();
  ep_case_finish(test, &(ep_case_training){.rows = 45,
                                           .batch_size = 21,
                                           .shuffle = true,
                                           .seed = 5,
                                           .steps = 5,
                                           .lr = 0.02f,
                                           .optimizer = {EP_OPTIMIZER_SGD, .momentum = 0.5f}});
  for (int level = 0; level <= best; level++) {
    ep_comparison result = {0};
    backend->instruction_set = (ep_instruction_set)level;
    ep_compare_case(&blocked, &reference, test, EP_COMPARE_TOLERANCE, &result, stderr);
    ck_assert_int_eq(result.agreed, 1);
  }
  ep_case_destroy(test);
}
END_TEST

/* Of convolutions whose taps are loads from planes: tiles of all numbers of rows, phases, groups,
 * planes of less than a vector, and blocks of several images. */
static const struct {
  ep_shape in;
  int64_t first, second; /* channels that come out */
  ep_case_window window, pool;
  ep_layer_type pool_type;
} plane_cases[] = {
    {{1, 11, 9},
     5,
     7,
     {.kernel = {3, 3}, .padding = {1, 1}},
     {.kernel = {2, 2}},
     EP_LAYER_AVG_POOL2D},
    {{3, 9, 17},
     8,
     13,
     {.kernel = {5, 5}, .padding = {2, 2}, .stride = {2, 2}},
     {.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}},
     EP_LAYER_AVG_POOL2D},
    {{2, 8, 16},
     3,
     9,
     {.kernel = {1, 1}, .stride = {2, 2}},
     {.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}},
     EP_LAYER_MAX_POOL2D},
    {{2, 6, 7},
     12,
     12,
     {.kernel = {3, 3}, .padding = {1, 1}, .groups = 12},
     {.kernel = {2, 3}, .stride = {1, 3}},
     EP_LAYER_MAX_POOL2D},
    {{2, 3, 3},
     6,
     10,
     {.kernel = {3, 2}, .padding = {2, 1}, .stride = {3, 2}, .dilation = {2, 1}, .groups = 2},
     {.kernel = {1, 1}},
     EP_LAYER_AVG_POOL2D},
    {{2, 5, 16},
     3,
     7,
     {.kernel = {3, 3}, .padding = {1, 1}},
     {.kernel = {2, 2}},
     EP_LAYER_MAX_POOL2D},
    {{4, 2, 2}, 4, 11, {.kernel = {1, 1}}, {.kernel = {2, 1}}, EP_LAYER_AVG_POOL2D},
};
enum { PLANE_CASES = sizeof plane_cases / sizeof plane_cases[0] };

static ep_case *planes_case(int number) {
  static const ep_case_window padded = {.kernel = {3, 3}, .padding = {1, 1}};
  ep_case *self = ep_case_create_image("planes", plane_cases[number].in, EP_LOSS_CROSS_ENTROPY);
  ep_case_add_conv2d(self, plane_cases[number].first, &padded, true);
  ep_case_add_norm(self, EP_LAYER_BATCH_NORM, true);
  ep_case_add(self, EP_LAYER_GELU);
  ep_case_add_conv2d(self, plane_cases[number].second, &plane_cases[number].window, true);
  ep_case_add_norm(self, EP_LAYER_LAYER_NORM, true);
  ep_case_add(self, EP_LAYER_SILU);
  ep_case_add_pool(self, plane_cases[number].pool_type, &plane_cases[number].pool);
  ep_case_add_dropout(self, EP_LAYER_DROPOUT, 0.3f);
  ep_case_add_adaptive_pool(self, 1, number % 2 ? 1 : 2);
  ep_case_add(self, EP_LAYER_FLATTEN);
  ep_case_add_linear(self, 19, false);
  ep_case_add_norm(self, EP_LAYER_BATCH_NORM, true);
  ep_case_add(self, EP_LAYER_TANH);
  ep_case_add_linear(self, 5, true);
  ep_case_finish(self, &(ep_case_training){.rows = 53,
                                           .batch_size = 29,
                                           .shuffle = true,
                                           .seed = 5,
                                           .steps = 4,
                                           .lr = 0.02f,
                                           .optimizer = {EP_OPTIMIZER_SGD, .momentum = 0.5f}});
  return self;
}

START_TEST(planes_agree_at_each_instruction_set) {
  const int best = (int)backend->instruction_set;
  ep_subject blocked = {ops, backend, "cpu/blocked"}, reference = {ops, backend, "cpu/reference"};
  ep_case *test = planes_case(_i);
  backend->threads = 2;
  for (int level = 0; level <= best; level++) {
    ep_comparison result = {0};
    backend->instruction_set = (ep_instruction_set)level;
    ep_compare_case(&blocked, &reference, test, EP_COMPARE_TOLERANCE, &result, stderr);
    ck_assert_int_eq(result.agreed, 1);
  }
  ep_case_destroy(test);
}
END_TEST

START_TEST(the_number_of_threads_changes_no_bit) {
  ep_case *test = large_case_create(_i);
  ep_subject blocked = {ops, backend, "cpu/blocked"};
  ep_run one, more;
  backend->threads = 1;
  ck_assert_int_eq(ep_run_case(&blocked, test, EP_RUN_WHOLE, &one, stderr), EP_OK);
  for (int threads = 2; threads <= 5; threads++) {
    backend->threads = threads;
    ep_run_mode mode = threads % 2 ? EP_RUN_WHOLE : EP_RUN_CUT;
    ck_assert_int_eq(ep_run_case(&blocked, test, mode, &more, stderr), EP_OK);
    ck_assert_msg(ep_runs_same(test, &more, &one, stderr), "%d threads", threads);
    ep_run_deinit(&more);
  }
  ep_run_deinit(&one);
  ep_case_destroy(test);
}
END_TEST

static const char *chosen(const ep_case *test, const char *name) {
  ep_instance *instance;
  ep_instance_info info;
  ck_assert_int_eq(ops->compile(backend, &test->program, name, &instance, NULL), EP_OK);
  ops->instance_info(instance, &info);
  ops->release(instance);
  return info.executor;
}

START_TEST(it_is_taken_where_fused_is_not) {
  ep_case *images = large_case_create(0), *small = ep_case_create("small", 3, EP_LOSS_MSE);
  ep_case_add_linear(small, 2, true);
  ep_case_finish(small, &(ep_case_training){.rows = 4, .steps = 1, .lr = 0.1f});
  ck_assert_str_eq(chosen(images, NULL), "cpu/blocked");
  ck_assert_str_eq(chosen(images, "cpu/reference"), "cpu/reference");
  ck_assert_str_eq(chosen(small, NULL), "cpu/fused");
  ck_assert_str_eq(chosen(small, "cpu/blocked"), "cpu/blocked");
  ep_case_destroy(images);
  ep_case_destroy(small);
}
END_TEST

enum { TASKS = 100 };

static void count_task(void *context, int64_t number, int member) {
  atomic_int *counts = context;
  atomic_fetch_add(&counts[number], 1);
  atomic_fetch_add(&counts[TASKS + member], 1);
}

/* Many runs, one right after the other, of many tasks and of few. */
/* The columns of this convolution's windows would take a terabyte. */
START_TEST(more_memory_than_there_is_is_refused) {
  enum { CHANNELS = 16, KERNEL = 511, SIDE = 256, WEIGHTS = CHANNELS * KERNEL * KERNEL };
  const ep_op op = {.type = EP_LAYER_CONV2D,
                    .inputs = 1,
                    .in = {CHANNELS, 32, 32},
                    .out = {1, SIDE, SIDE},
                    .in_features = CHANNELS * 32 * 32,
                    .out_features = SIDE * SIDE,
                    .bias = -1,
                    .running = -1,
                    .kernel = {KERNEL, KERNEL},
                    .stride = {1, 1},
                    .padding = {367, 367},
                    .dilation = {1, 1},
                    .groups = 1};
  const ep_parameter_group group = {.count = WEIGHTS};
  const ep_program program = {.ops = &op,
                              .ops_count = 1,
                              .stored = op.in,
                              .in = op.in,
                              .in_features = op.in_features,
                              .out_features = op.out_features,
                              .target_columns = op.out_features,
                              .parameters = WEIGHTS,
                              .groups = &group,
                              .groups_count = 1,
                              .train_rows = 1,
                              .batch_size = 1,
                              .max_predict_rows = 1};
  ep_instance *instance = NULL;
  ep_error error = {0};
  ck_assert_int_eq(ops->compile(backend, &program, "cpu/blocked", &instance, &error), EP_NO_MEMORY);
  ck_assert_ptr_null(instance);
}
END_TEST

START_TEST(a_crew_does_each_task_once) {
  const int members = _i + 1;
  ep_crew *crew;
  ck_assert_int_eq(ep_crew_create(members, &crew, NULL), EP_OK);
  for (int run = 0; run < 300; run++) {
    atomic_int counts[TASKS + 8] = {0};
    const int tasks = run % 3 ? TASKS : run % 5;
    ep_crew_run(crew, count_task, counts, tasks);
    int done = 0;
    for (int i = 0; i < TASKS; i++) ck_assert_int_eq(counts[i], i < tasks);
    for (int i = 0; i < members; i++) done += counts[TASKS + i];
    ck_assert_int_eq(done, tasks); /* no member of a higher number */
  }
  ep_crew_destroy(crew);
}
END_TEST

static float a_number(int64_t i) {
  return (float)(i * 7 % 11) - 5;
}

/* Small whole numbers: exact in any order. All arrays are wider than what they hold. */
static void check_product(int64_t rows, int64_t columns, int64_t depth, int form) {
  enum { STRIDE = 80, FLOATS = STRIDE * STRIDE };
  static float a[FLOATS], b[FLOATS], c[FLOATS];
  const bool a_transposed = form & 1, b_transposed = form & 2, add = form & 4;
  for (int64_t i = 0; i < FLOATS; i++) {
    a[i] = a_number(i);
    b[i] = a_number(3 * i + 1);
    c[i] = add ? a_number(5 * i + 2) : NAN;
  }
  ep_product_run(&(ep_product){rows, columns, depth, a, b, c, STRIDE, STRIDE, STRIDE, a_transposed,
                               b_transposed, add});
  for (int64_t row = 0; row < rows; row++)
    for (int64_t column = 0; column < STRIDE; column++) {
      const int64_t at = row * STRIDE + column;
      float expected = add ? a_number(5 * at + 2) : 0;
      for (int64_t k = 0; column < columns && k < depth; k++)
        expected += a[a_transposed ? k * STRIDE + row : row * STRIDE + k] *
                    b[b_transposed ? column * STRIDE + k : k * STRIDE + column];
      if (column < columns || add)
        ck_assert_float_eq(c[at], expected);
      else
        ck_assert_float_nan(c[at]);
    }
}

START_TEST(products_of_all_forms) {
  static const int64_t sizes[] = {1, 2, 5, 16, 31, 33, 64, 79};
  enum { SIZES = sizeof sizes / sizeof sizes[0] };
  ep_product_prepare();
  for (int form = 0; form < 8; form++)
    for (int i = 0; i < SIZES; i++)
      for (int j = 0; j < SIZES; j++)
        check_product(sizes[i], sizes[j], sizes[(i + 3 * j) % SIZES], form);
}
END_TEST

EP_SUITE("cpu_blocked") {
  TCase *tests = ep_suite_case(suite, "blocked");
  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_set_timeout(tests, 120);
  tcase_add_loop_test(tests, large_batches_agree_with_the_reference, 0, LARGE_CASES);
  tcase_add_test(tests, dropped_channels_agree_at_each_instruction_set);
  tcase_add_loop_test(tests, planes_agree_at_each_instruction_set, 0, PLANE_CASES);
  tcase_add_loop_test(tests, the_number_of_threads_changes_no_bit, 0, LARGE_CASES);
  tcase_add_test(tests, it_is_taken_where_fused_is_not);
  tcase_add_test(tests, more_memory_than_there_is_is_refused);
  tcase_add_loop_test(tests, a_crew_does_each_task_once, 0, 5);
  tcase_add_test(tests, products_of_all_forms);
}
