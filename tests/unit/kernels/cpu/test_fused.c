/* cpu/fused beyond its agreement with cpu/reference (test_cpu.c): its own elementary functions
 * against libm at the ends of their ranges, NaN and infinities, the shuffle, the limits of what it
 * takes. All of it at each instruction set that this machine has. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/executors/fused/fused.h"
#include "kernels/cpu/executors/fused/plan.h"
#include "tests/suite.h"
#include "tests/unit/kernels/compare.h"
#include "tests/unit/kernels/programs.h"

static ep_backend *backend;
static const ep_backend_ops *ops;
static int best_level;

static void setup(void) {
  ops = ep_backend_cpu();
  ck_assert_int_eq(ops->open(0, &backend, NULL), EP_OK);
  best_level = (int)backend->instruction_set;
}

static void teardown(void) {
  ops->close(backend);
}

static ep_instance *compile(const ep_program *program, int level) {
  ep_instance *instance;
  ep_error error;
  backend->instruction_set = (ep_instruction_set)level;
  ck_assert_msg(ops->compile(backend, program, "cpu/fused", &instance, &error) == EP_OK, "%s",
                error.message);
  return instance;
}

/* A network of one layer without parameters, `features` wide. */
static ep_program layer_program(ep_op *op) {
  op->in = (ep_shape){op->in_features, 1, 1};
  op->out = (ep_shape){op->out_features, 1, 1};
  op->running = -1;
  return (ep_program){.ops = op,
                      .ops_count = 1,
                      .stored = op->in,
                      .in = op->in,
                      .in_features = op->in_features,
                      .out_features = op->in_features,
                      .target_columns = op->in_features,
                      .train_rows = 1,
                      .batch_size = 1,
                      .max_predict_rows = 1000};
}

enum { POINTS = 20000, EXTREMES = 26 };
static const float extremes[EXTREMES] = {
    0.0f,     -0.0f,    1e-45f,   -1e-45f,  1e-38f,  -1e-38f, 1e-20f,   -1e-20f,  0.624999f,
    0.625f,   -0.625f,  1.4142f,  87.9f,    -87.9f,  88.8f,   -88.8f,   103.9f,   -103.9f,
    8191.99f, 8192.01f, -1000000, -FLT_MAX, FLT_MAX, 1e10f,   INFINITY, -INFINITY};

/* x: dense within ±12, where all of them bend, sparse to ±10,000, then the extremes. */
static void fill_points(float *x) {
  for (int i = 0; i < POINTS / 2; i++) x[i] = 24.0f * (float)i / (POINTS / 2) - 12.0f;
  for (int i = POINTS / 2; i < POINTS; i++) x[i] = 4.0f * (float)i / POINTS - 3.0f;
  for (int i = POINTS / 2; i < POINTS; i++) x[i] = 10000 * x[i] * x[i] * x[i];
  memcpy(x, extremes, sizeof extremes);
  x[EXTREMES] = NAN;
}

/* The allowed error is `relative` of the truth plus `absolute`. */
typedef struct {
  ep_layer_type type;
  double (*truth)(double x);
  double relative, absolute;
} function;

static double truth_sigmoid(double x) {
  return 1 / (1 + exp(-x));
}

/* torch's form gives NaN at -inf, and so does this. */
static double truth_gelu(double x) {
  return x * 0.5 * (isinf(x) ? (x > 0 ? 2 : 0) : erfc(-x * 0.70710678118654752440));
}

static const function functions[] = {
    {EP_LAYER_TANH, tanh, 2 * 0x1p-23, 0},
    {EP_LAYER_SIGMOID, truth_sigmoid, 2 * 0x1p-23, 0},
    {EP_LAYER_GELU, truth_gelu, 0x1p-23, 0x1p-22},
    {EP_LAYER_SIN, sin, 0x1p-23, 0x1p-23},
};
enum { FUNCTIONS = sizeof functions / sizeof functions[0] };

static void check_function(const function *f, int level, const float *x, float *y) {
  ep_op op = {
      .type = f->type, .inputs = 1, .in_features = 1, .out_features = 1, .weight = -1, .bias = -1};
  ep_program program = layer_program(&op);
  ep_instance *instance = compile(&program, level);
  double worst = 0;
  ck_assert_int_eq(ops->predict(instance, x, POINTS, y, NULL), EP_OK);
  ops->release(instance);
  for (int i = 0; i < POINTS; i++) {
    double expected = f->truth((double)x[i]), error = fabs((double)y[i] - expected);
    if (isnan(expected)) {
      ck_assert_msg(isnan(y[i]), "%s(%g) is %g", ep_layer_type_name((int)f->type), x[i], y[i]);
    } else if (!(y[i] == (float)expected)) {
      double allowed = f->relative * fabs(expected) + f->absolute + 1e-44;
      ck_assert_msg(error <= allowed, "%s(%.9g) is %.9g, not %.9g; %s",
                    ep_layer_type_name((int)f->type), x[i], y[i], expected,
                    ep_instruction_set_name((ep_instruction_set)level));
      if (error / allowed > worst) worst = error / allowed;
    }
  }
  printf("%-8s %-8s worst error %.2f of what is allowed\n", ep_layer_type_name((int)f->type),
         ep_instruction_set_name((ep_instruction_set)level), worst);
}

START_TEST(functions_are_close_to_libm) {
  float *x = malloc(POINTS * sizeof *x), *y = malloc(POINTS * sizeof *y);
  fill_points(x);
  for (int level = 0; level <= best_level; level++) check_function(&functions[_i], level, x, y);
  free(x);
  free(y);
}
END_TEST

/* Two outputs, x and 0: softmax is exp(-log(1 + exp(-x))), log_softmax its logarithm. */
START_TEST(softmax_is_exact_from_end_to_end) {
  for (int level = 0; level <= best_level; level++)
    for (int logarithm = 0; logarithm < 2; logarithm++) {
      ep_op op = {.inputs = 1,
                  .type = logarithm ? EP_LAYER_LOG_SOFTMAX : EP_LAYER_SOFTMAX,
                  .in_features = 2,
                  .out_features = 2,
                  .weight = -1,
                  .bias = -1};
      ep_program program = layer_program(&op);
      ep_instance *instance = compile(&program, level);
      for (double x = -120; x <= 120; x += 0.37) {
        float in[2] = {(float)x, 0}, out[2];
        ck_assert_int_eq(ops->predict(instance, in, 1, out, NULL), EP_OK);
        double logarithms[2] = {-log1p(exp(-(double)in[0])), -log1p(exp((double)in[0]))};
        for (int i = 0; i < 2; i++) {
          double expected = logarithm ? logarithms[i] : exp(logarithms[i]);
          double allowed =
              4 * 0x1p-23 * fabs(expected) + (logarithm ? 0x1p-23 : FLT_MIN); /* below: 0 */
          ck_assert_msg(fabs((double)out[i] - expected) <= allowed, "%g: %.9g, not %.9g", x, out[i],
                        expected);
        }
      }
      ops->release(instance);
    }
}
END_TEST

/* bce of one output and one target: the logarithms, from denormals to 1, clamped at -100. */
static double bce_loss(int level, float output, float target) {
  ep_op op = {.type = EP_LAYER_RELU,
              .inputs = 1,
              .in_features = 1,
              .out_features = 1,
              .weight = -1,
              .bias = -1};
  ep_program program = layer_program(&op);
  program.loss = EP_LOSS_BCE;
  program.loss_parameter = 1;
  ep_instance *instance = compile(&program, level);
  double loss = 0;
  int64_t errors;
  ck_assert_int_eq(ops->load_data(instance, EP_SPLIT_TEST, &output, &target, 1, NULL), EP_OK);
  ck_assert_int_eq(ops->evaluate(instance, EP_SPLIT_TEST, &loss, &errors, NULL), EP_OK);
  ops->release(instance);
  return loss;
}

START_TEST(logarithms_are_close_to_libm) {
  for (int level = 0; level <= best_level; level++) {
    for (float x = 1; x > 1e-43f; x *= 0.83f) {
      double one = bce_loss(level, x, 1), zero = bce_loss(level, x, 0);
      ck_assert_double_le(fabs(one + log((double)x)), 2 * 0x1p-23 * -log((double)x));
      if (x < 1)
        ck_assert_double_le(fabs(zero + log1p(-(double)x)), 4 * 0x1p-23 * -log1p(-(double)x));
    }
    ck_assert_double_eq(bce_loss(level, 0, 1), 100);
    ck_assert_double_eq(bce_loss(level, 1, 0), 100);
    ck_assert_double_eq(bce_loss(level, 1, 1), 0);
    ck_assert_double_eq(bce_loss(level, 0, 0), 0);
  }
}
END_TEST

/* One weight is NaN: so are the training loss and the loss of a split, whatever lies between. */
static void check_nan(ep_layer_type layer, ep_loss_type loss, int level) {
  ep_case *test = ep_case_create("nan", 3, loss);
  ep_case_add_linear(test, 5, true);
  if (layer == EP_LAYER_DROPOUT)
    ep_case_add_dropout(test, layer, 0.3f);
  else if (layer == EP_LAYER_BATCH_NORM || layer == EP_LAYER_LAYER_NORM)
    ep_case_add_norm(test, layer, true);
  else if (layer != EP_LAYER_LINEAR)
    ep_case_add(test, layer);
  ep_case_add_linear(test, 2, true);
  ep_case_finish(test, &(ep_case_training){.rows = 37, .steps = 2, .lr = 0.1f});
  for (int64_t i = 0; i < 3; i++) test->parameters[i] = NAN;
  ep_instance *instance = compile(&test->program, level);
  float losses[2] = {0, 0};
  int32_t wrong[2];
  double mean = 0;
  int64_t errors;
  ck_assert_int_eq(ops->import_state(instance, test->parameters, NULL, NULL), EP_OK);
  ck_assert_int_eq(ops->load_data(instance, EP_SPLIT_TRAIN, test->x[EP_SPLIT_TRAIN],
                                  test->y[EP_SPLIT_TRAIN], 37, NULL),
                   EP_OK);
  ck_assert_int_eq(ops->evaluate(instance, EP_SPLIT_TRAIN, &mean, &errors, NULL), EP_OK);
  ck_assert_int_eq(
      ops->train_segment(instance, &(ep_segment){0, 2, test->lr, 1, losses, wrong}, NULL), EP_OK);
  ck_assert_msg(isnan(mean) && isnan(losses[0]) && isnan(losses[1]), "%s, %s: %g, then %g and %g",
                ep_layer_type_name((int)layer), ep_loss_type_name((int)loss), mean, losses[0],
                losses[1]);
  ops->release(instance);
  ep_case_destroy(test);
}

START_TEST(a_nan_is_never_hidden) {
  for (int level = 0; level <= best_level; level++)
    for (int layer = 0; layer < EP_LAYER_COUNT; layer++)
      for (int loss = 0;
           ep_cpu_fused_profile.capabilities.layers >> layer & 1 && loss < EP_LOSS_COUNT; loss++)
        check_nan((ep_layer_type)layer, (ep_loss_type)loss, level);
}
END_TEST

START_TEST(the_shuffle_is_that_of_random_h) {
  static const uint32_t sizes[] = {1, 2, 3, 4, 5, 15, 16, 17, 31, 100, 1000, 4096, 4097};
  uint32_t *order = malloc((4097 + EP_FUSED_PAD) * sizeof *order);
  for (int level = 0; level <= best_level; level++)
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
      ep_permutation permutation = ep_permutation_make(7, EP_RANDOM_SHUFFLE, i, sizes[i]);
      ep_fused_variant_of((ep_instruction_set)level)->permute(&permutation, order, sizes[i]);
      for (uint32_t j = 0; j < sizes[i]; j++)
        ck_assert_uint_eq(order[j], ep_permutation_at(&permutation, j));
    }
  free(order);
}
END_TEST

START_TEST(rows_are_packed_across_the_lanes) {
  enum { ROWS = 40, FEATURES = 37 };
  float *from = malloc(sizeof(float) * ROWS * FEATURES);
  for (int i = 0; i < ROWS * FEATURES; i++) from[i] = (float)i;
  for (int level = 0; level <= best_level; level++) {
    const int lanes = ep_fused_variant_of((ep_instruction_set)level)->lanes, stride = 3 * lanes;
    float *to = aligned_alloc(EP_FUSED_ALIGN_BYTES, sizeof(float) * FEATURES * 48);
    uint32_t rows_from[48];
    for (int i = 0; i < stride; i++) {
      rows_from[i] = (uint32_t)(i * 7 % ROWS);
      for (int f = 0; f < FEATURES; f++) to[f * stride + i] = NAN;
    }
    ep_fused_variant_of((ep_instruction_set)level)->pack(to, stride, from, FEATURES, rows_from, 2);
    for (int f = 0; f < FEATURES; f++) {
      for (int i = 0; i < 2 * lanes; i++)
        ck_assert_float_eq(to[f * stride + i], from[rows_from[i] * FEATURES + (uint32_t)f]);
      for (int i = 2 * lanes; i < stride; i++) ck_assert_float_nan(to[f * stride + i]);
    }
    free(to);
  }
  free(from);
}
END_TEST

/* A batch in many chunks, the last one short, in the net's own rows and from gathered ones. */
START_TEST(a_split_may_be_longer_than_a_batch) {
  for (int level = 0; level <= best_level; level++) {
    ep_case *test = ep_case_create("long", 3, EP_LOSS_MSE);
    ep_case_add_linear(test, 1, true);
    ep_case_finish(test,
                   &(ep_case_training){.rows = 1201, .batch_size = 2, .steps = 1, .lr = 0.1f});
    ep_instance *instance = compile(&test->program, level);
    float *output = malloc(1201 * sizeof *output);
    double loss = 0, expected = 0;
    int64_t errors;
    const float *x = test->x[EP_SPLIT_TRAIN], *y = test->y[EP_SPLIT_TRAIN], *w = test->parameters;
    ck_assert_int_eq(ops->import_state(instance, w, NULL, NULL), EP_OK);
    ck_assert_int_eq(ops->load_data(instance, EP_SPLIT_TRAIN, x, y, 1201, NULL), EP_OK);
    ck_assert_int_eq(ops->evaluate(instance, EP_SPLIT_TRAIN, &loss, &errors, NULL), EP_OK);
    ck_assert_int_eq(ops->predict(instance, x, 1201, output, NULL), EP_OK);
    for (int i = 0; i < 1201; i++) {
      double out = (double)w[0] * x[3 * i] + (double)w[1] * x[3 * i + 1] +
                   (double)w[2] * x[3 * i + 2] + (double)w[3];
      ck_assert_double_le(fabs(out - (double)output[i]), 1e-6);
      expected += (out - y[i]) * (out - y[i]) / 1201;
    }
    ck_assert_double_le(fabs(loss - expected), 1e-6 * expected);
    free(output);
    ops->release(instance);
    ep_case_destroy(test);
  }
}
END_TEST

/* Wide enough for the matrix unit, with and without neighbours to its tiles: batches of one chunk,
 * of several; few rows, or none, beyond what fills a tile. */
START_TEST(large_layers_agree_with_the_reference) {
  static const int64_t widths[][3] = {
      {64, 32, 3}, {65, 33, 40}, {79, 96, 33}, {130, 193, 48}, {94, 154, 57}};
  static const int64_t batches[] = {32, 33, 37, 52, 100, 112, 300};
  const ep_subject reference = {ops, backend, "cpu/reference"}, fused = {ops, backend, "cpu/fused"};
  for (int level = 0; level <= best_level; level++)
    for (size_t i = 0; i < sizeof widths / sizeof widths[0]; i++)
      for (size_t j = 0; j < sizeof batches / sizeof batches[0]; j++) {
        ep_case *test = ep_case_create("large", 5, EP_LOSS_CROSS_ENTROPY);
        for (int layer = 0; layer < 3; layer++) {
          if (layer) ep_case_add(test, layer == 1 ? EP_LAYER_RELU : EP_LAYER_TANH);
          ep_case_add_linear(test, widths[i][layer], layer != 1);
        }
        ep_case_finish(test, &(ep_case_training){.rows = batches[j] + 2 + 3 * (int64_t)(i % 2),
                                                 .batch_size = batches[j],
                                                 .shuffle = true,
                                                 .seed = 1,
                                                 .steps = 4,
                                                 .lr = 0.1f});
        ep_comparison result = {0};
        backend->instruction_set = (ep_instruction_set)level;
        ep_compare_case(&fused, &reference, test, EP_COMPARE_TOLERANCE, &result, stderr);
        ck_assert_int_eq(result.agreed, 1);
        ep_case_destroy(test);
      }
}
END_TEST

static void check_against_reference(const ep_case *test, int level) {
  const ep_subject reference = {ops, backend, "cpu/reference"}, fused = {ops, backend, "cpu/fused"};
  ep_comparison result = {0};
  backend->instruction_set = (ep_instruction_set)level;
  ep_compare_case(&fused, &reference, test, EP_COMPARE_TOLERANCE, &result, stderr);
  ck_assert_msg(result.agreed == 1, "%s, %s", test->name,
                ep_instruction_set_name((ep_instruction_set)level));
}

/* The draws of a case: one after the other. */
typedef struct {
  uint64_t seed, next;
} chance;

static int64_t chance_below(chance *of, int64_t end) {
  return ep_random(of->seed, EP_RANDOM_GENERATOR, 0, of->next++).word[0] % (uint64_t)end;
}

enum { DRAWN = 150, MASKS = 4 };
static const float masks[MASKS] = {0, 0.1f, 0.5f, 1};
static const ep_layer_type smooth[] = {EP_LAYER_TANH, EP_LAYER_SIGMOID, EP_LAYER_GELU,
                                       EP_LAYER_SILU, EP_LAYER_SIN};
static const ep_loss_type losses[] = {EP_LOSS_MSE, EP_LOSS_CROSS_ENTROPY, EP_LOSS_BCE_WITH_LOGITS};

/* Norms and dropouts anywhere, beside one another too; without parameters, with some and all. */
static void add_drawn_layers(ep_case *test, chance *of, ep_layer_type norm) {
  const int64_t dropout = chance_below(of, 3);
  if (chance_below(of, 2)) ep_case_add_norm(test, norm, chance_below(of, 3) > 0);
  if (chance_below(of, 3)) ep_case_add(test, smooth[chance_below(of, 5)]);
  if (dropout) ep_case_add_dropout(test, EP_LAYER_DROPOUT, masks[chance_below(of, MASKS - 1)]);
  if (dropout > 1 && chance_below(of, 4) == 0)
    ep_case_add_dropout(test, EP_LAYER_DROPOUT, masks[chance_below(of, MASKS)]);
}

/* Five features and more: of two, a norm's numbers are 1 and -1, or their difference's rounding. */
static ep_case *drawn_case(int number) {
  chance of = {(uint64_t)number, 0};
  char name[128];
  snprintf(name, sizeof name, "drawn %d", number);
  const ep_layer_type norm = chance_below(&of, 2) ? EP_LAYER_LAYER_NORM : EP_LAYER_BATCH_NORM;
  const int64_t batch = 6 + chance_below(&of, chance_below(&of, 2) ? 200 : 30);
  const int64_t widest = chance_below(&of, 3) ? 20 : 100;
  ep_case *test = ep_case_create(name, 5 + chance_below(&of, widest), losses[chance_below(&of, 3)]);
  if (chance_below(&of, 4) == 0) add_drawn_layers(test, &of, norm);
  for (int64_t layers = 1 + chance_below(&of, 3); layers > 0; layers--) {
    ep_case_add_linear(test, 5 + chance_below(&of, widest), chance_below(&of, 2));
    add_drawn_layers(test, &of, norm);
  }
  if (chance_below(&of, 4)) ep_case_add_linear(test, 2 + chance_below(&of, 6), true);
  ep_case_finish(test, &(ep_case_training){.rows = batch + 5 + chance_below(&of, 2 * batch),
                                           .batch_size = batch,
                                           .shuffle = number % 2,
                                           .seed = (uint64_t)number << 30,
                                           .steps = 4,
                                           .lr = 0.01f,
                                           .optimizer = {.momentum = number % 3 ? 0 : 0.5f}});
  return test;
}

START_TEST(drawn_norms_and_dropouts_agree_with_the_reference) {
  int taken = 0;
  for (int number = 0; number < DRAWN; number++) {
    ep_case *test = drawn_case(number);
    const ep_device_traits amx = {.cpu = {.tiles = true}}, other = {.cpu = {.tiles = false}};
    const bool takes = ep_cpu_fused_profile.accepts(&test->program, &amx);
    /* a job keeps its executor where it is resumed on another processor */
    ck_assert_int_eq(takes, ep_cpu_fused_profile.accepts(&test->program, &other));
    taken += takes;
    for (int level = 0; takes && level <= best_level; level++) check_against_reference(test, level);
    ep_case_destroy(test);
  }
  ck_assert_int_gt(taken, DRAWN * 3 / 4);
}
END_TEST

/* Numbers about 100, whose squares leave no digit for their variance. */
START_TEST(norms_are_exact_far_from_zero) {
  for (int layer = 0; layer < 2; layer++)
    for (int level = 0; level <= best_level; level++) {
      ep_case *test = ep_case_create("far from zero", 37, EP_LOSS_MSE);
      ep_case_add_norm(test, layer ? EP_LAYER_LAYER_NORM : EP_LAYER_BATCH_NORM, true);
      ep_case_add_linear(test, 3, true);
      ep_case_finish(test, &(ep_case_training){.rows = 100, .steps = 3, .lr = 0.1f});
      for (int split = 0; split < EP_SPLIT_COUNT; split++)
        for (int64_t i = 0; i < 37 * test->rows[split]; i++) ((float *)test->x[split])[i] += 100;
      check_against_reference(test, level);
      ep_case_destroy(test);
    }
}
END_TEST

/* Sums of 256 products of numbers with all their bits, at scales of 1e-6 to 1e6: as far from the
 * truth as float32 may be. */
START_TEST(products_have_the_precision_of_float32) {
  enum { IN = 256, OUT = 32, ROWS = 68 };
  ep_case *test = ep_case_create("precision", IN, EP_LOSS_MSE);
  ep_case_add_linear(test, OUT, false);
  ep_case_finish(test, &(ep_case_training){.rows = ROWS, .steps = 1, .lr = 0.1f});
  float *x = malloc(sizeof *x * ROWS * IN), *y = malloc(sizeof *y * ROWS * OUT);
  const float *given = test->x[EP_SPLIT_TRAIN];
  for (int64_t i = 0; i < ROWS * IN; i++) x[i] = ldexpf(given[i], (int)(i % 41) - 20);
  for (int level = 0; level <= best_level; level++) {
    ep_instance *instance = compile(&test->program, level);
    double worst = 0;
    ck_assert_int_eq(ops->import_state(instance, test->parameters, NULL, NULL), EP_OK);
    ck_assert_int_eq(ops->predict(instance, x, ROWS, y, NULL), EP_OK);
    ops->release(instance);
    for (int64_t i = 0; i < ROWS * OUT; i++) {
      double sum = 0, size = 0;
      for (int64_t k = 0; k < IN; k++) {
        double product = (double)x[i / OUT * IN + k] * test->parameters[i % OUT * IN + k];
        sum += product;
        size += fabs(product);
      }
      ck_assert(!isnan(y[i]));
      worst = fmax(worst, fabs((double)y[i] - sum) / size);
    }
    printf("products %-8s worst error %.2f x 2^-24 of the sum of sizes\n",
           ep_instruction_set_name((ep_instruction_set)level), worst * 0x1p24);
    ck_assert_double_le(worst, 8 * 0x1p-24);
  }
  free(y);
  free(x);
  ep_case_destroy(test);
}
END_TEST

/* The thread sanitizer looks for races, slowly, and not for numbers. */
#ifdef __SANITIZE_THREAD__
#define FIRST_LEVEL best_level
#else
#define FIRST_LEVEL 0
#endif

enum { WIDE = 523, FEW_ROWS = 64, PART_ROWS = 203 };

/* A product that is shared among threads, one that is not, and an optimizer with state. */
static ep_case *shared_case(bool norm) {
  ck_assert_int_ge(WIDE * WIDE * FEW_ROWS, EP_FUSED_SHARED_TILED_PRODUCTS);
  ep_case *test = ep_case_create("threads", 10, EP_LOSS_CROSS_ENTROPY);
  ep_case_add_linear(test, WIDE, true);
  if (norm) ep_case_add_norm(test, EP_LAYER_BATCH_NORM, true);
  ep_case_add(test, norm ? EP_LAYER_TANH : EP_LAYER_RELU);
  ep_case_add_linear(test, WIDE, true);
  ep_case_add(test, EP_LAYER_TANH);
  ep_case_add_linear(test, 5, true);
  ep_case_finish(test, &(ep_case_training){.rows = 3 * FEW_ROWS - 5,
                                           .batch_size = FEW_ROWS,
                                           .shuffle = true,
                                           .seed = 3,
                                           .steps = 5,
                                           .lr = 0.001f,
                                           .optimizer = {EP_OPTIMIZER_ADAGRAD, .eps = 1e-3f}});
  ck_assert_int_eq(ep_fused_parts(&test->program, false), 1);
  return test;
}

/* Threads take parts of the batch; the last batch is too small for each part to have a chunk. */
static ep_case *parts_case(bool norm) {
  ep_case *test = ep_case_create("parts", 7, EP_LOSS_MSE);
  ep_case_add_linear(test, 97, true);
  if (norm) ep_case_add_norm(test, EP_LAYER_LAYER_NORM, true);
  ep_case_add(test, EP_LAYER_GELU);
  if (norm) ep_case_add_dropout(test, EP_LAYER_DROPOUT, 0.2f);
  ep_case_add_linear(test, 61, true);
  ep_case_add(test, EP_LAYER_TANH);
  ep_case_add_linear(test, 3, true);
  ep_case_finish(test, &(ep_case_training){.rows = 2 * PART_ROWS + 51,
                                           .batch_size = PART_ROWS,
                                           .shuffle = true,
                                           .seed = 3,
                                           .steps = 5,
                                           .lr = 0.01f,
                                           .optimizer = {EP_OPTIMIZER_SGD, .momentum = 0.5f}});
  ck_assert_int_gt(ep_fused_parts(&test->program, false), 2);
  return test;
}

START_TEST(the_number_of_threads_changes_no_bit) {
  ep_case *test = _i % 2 ? parts_case(_i > 1) : shared_case(_i > 1);
  const ep_subject fused = {ops, backend, "cpu/fused"}, reference = {ops, backend, "cpu/reference"};
  for (int level = FIRST_LEVEL; level <= best_level; level++) {
    ep_run one, more;
    ep_comparison result = {0};
    backend->instruction_set = (ep_instruction_set)level;
    backend->threads = 1;
    ck_assert_int_eq(ep_run_case(&fused, test, EP_RUN_WHOLE, &one, stderr), EP_OK);
    for (int threads = 2; threads <= 5; threads++) {
      backend->threads = threads;
      ep_run_mode mode = threads % 2 ? EP_RUN_WHOLE : EP_RUN_CUT;
      ck_assert_int_eq(ep_run_case(&fused, test, mode, &more, stderr), EP_OK);
      ck_assert_msg(ep_runs_same(test, &more, &one, stderr), "%d threads", threads);
      ep_run_deinit(&more);
    }
    ep_run_deinit(&one);
    ep_compare_case(&fused, &reference, test, EP_COMPARE_TOLERANCE, &result, stderr);
    ck_assert_int_eq(result.agreed, 1);
  }
  ep_case_destroy(test);
}
END_TEST

static bool takes(int64_t in_features, int64_t out_features) {
  ep_op op = {.type = EP_LAYER_LINEAR,
              .inputs = 1,
              .in_features = in_features,
              .out_features = out_features,
              .bias = -1};
  ep_program program = layer_program(&op);
  program.out_features = program.target_columns = out_features;
  program.parameters = in_features * out_features;
  return ep_cpu_fused_profile.accepts(&program, &(ep_device_traits){.cpu = {.threads = 1}});
}

/* Whether it takes 4-width-2 with a batch_norm. */
static bool takes_norm(int64_t width, int64_t rows) {
  ep_case *test = ep_case_create("norm", 4, EP_LOSS_MSE);
  ep_case_add_linear(test, width, true);
  ep_case_add_norm(test, EP_LAYER_BATCH_NORM, true);
  ep_case_add_linear(test, 2, true);
  ep_case_finish(test, &(ep_case_training){.rows = rows, .steps = 1, .lr = 0.1f});
  bool takes =
      ep_cpu_fused_profile.accepts(&test->program, &(ep_device_traits){.cpu = {.threads = 1}});
  ep_case_destroy(test);
  return takes;
}

START_TEST(a_batch_with_a_norm_is_one_chunk) {
  ck_assert(takes_norm(8, EP_FUSED_NORM_ROWS));
  ck_assert(!takes_norm(8, EP_FUSED_NORM_ROWS + 1));
  ck_assert(takes_norm(4000, 40));   /* too few rows for parts */
  ck_assert(!takes_norm(4000, 200)); /* too long a step for one */
}
END_TEST

START_TEST(it_takes_what_is_small_enough_and_no_more) {
  const int64_t most = EP_FUSED_FEATURES_MAX, rows = EP_FUSED_PARAMETERS_MAX / most;
  ck_assert(takes(most, 2));
  ck_assert(!takes(most + 1, 2));
  ck_assert(takes(2, most));
  ck_assert(!takes(2, most + 1));
  ck_assert_int_lt(rows, most);
  ck_assert(takes(most, rows));
  ck_assert(!takes(most, rows + 1));
}
END_TEST

EP_SUITE("cpu_fused") {
  TCase *tests = ep_suite_case(suite, "fused");
  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_set_timeout(tests, 60);
  tcase_add_loop_test(tests, functions_are_close_to_libm, 0, FUNCTIONS);
  tcase_add_test(tests, softmax_is_exact_from_end_to_end);
  tcase_add_test(tests, logarithms_are_close_to_libm);
  tcase_add_test(tests, a_nan_is_never_hidden);
  tcase_add_test(tests, the_shuffle_is_that_of_random_h);
  tcase_add_test(tests, rows_are_packed_across_the_lanes);
  tcase_add_test(tests, a_split_may_be_longer_than_a_batch);
  tcase_add_test(tests, large_layers_agree_with_the_reference);
  tcase_add_loop_test(tests, the_number_of_threads_changes_no_bit, 0, 4);
  tcase_add_test(tests, products_have_the_precision_of_float32);
  tcase_add_test(tests, it_takes_what_is_small_enough_and_no_more);
  tcase_add_test(tests, drawn_norms_and_dropouts_agree_with_the_reference);
  tcase_add_test(tests, norms_are_exact_far_from_zero);
  tcase_add_test(tests, a_batch_with_a_norm_is_one_chunk);
}
