/* The plan: shapes, faults, counts, first weights, estimates. */
#include "api/responses/validation.h"
#include "engine/plan/plan.h"
#include "tests/suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A network, its job and its data, valid until a test breaks one of them. */
typedef struct {
  ep_layer_spec layers[8];
  ep_job_spec spec;
  ep_data_shape shape;
} fixture;

static ep_layer_spec linear(int64_t out_features) {
  return (ep_layer_spec){.type = EP_LAYER_LINEAR, .out_features = out_features, .bias = true};
}

static ep_layer_spec activation(ep_layer_type type) {
  return (ep_layer_spec){.type = type};
}

/* 13-6-relu-1 with mse on 321 + 93 rows. */
static void house(fixture *f) {
  *f = (fixture){
      .layers = {linear(6), activation(EP_LAYER_RELU), linear(1)},
      .spec = {.layers_count = 3,
               .loss = EP_LOSS_MSE,
               .loss_parameter = 1,
               .epochs = 100,
               .optimizer = {.lr = 0.01},
               .seed = 1,
               .shuffle = true},
      .shape = {.train_rows = 321,
                .test_rows = 93,
                .features = 13,
                .target_columns = 1,
                .target_min = -3,
                .target_max = 50},
  };
  f->spec.layers = f->layers;
}

static ep_plan *plan_of(const fixture *f) {
  ep_problem problem = {0};
  ep_plan *plan;
  ck_assert_msg(ep_plan_create(&f->spec, &f->shape, &plan, &problem) == EP_OK, "%s",
                problem.detail);
  ck_assert_ptr_nonnull(plan);
  return plan;
}

/* The plan is refused with one error at `pointer` that says `detail`. */
static void assert_refused(const fixture *f, const char *pointer, const char *detail) {
  ep_problem problem = {0};
  ep_plan *plan = (ep_plan *)1;
  ck_assert_int_eq(ep_plan_create(&f->spec, &f->shape, &plan, &problem), EP_INVALID);
  ck_assert_ptr_null(plan);
  ck_assert_str_eq(problem.errors[0].pointer, pointer);
  ck_assert_msg(strstr(problem.errors[0].detail, detail) != NULL, "%s", problem.errors[0].detail);
  ck_assert_int_eq(problem.errors_count, 1);
}

START_TEST(shapes_and_offsets) {
  fixture f;
  house(&f);
  f.layers[2].bias = false;
  f.spec.optimizer.momentum = 0.5;
  ep_plan *plan = plan_of(&f);
  const ep_program *program = &plan->program;
  ck_assert_int_eq(plan->parameters, 13 * 6 + 6 + 6);
  ck_assert_int_eq(program->parameters, plan->parameters);
  ck_assert_int_eq(program->optimizer_floats, plan->parameters);
  ck_assert_int_eq(program->ops_count, 3);
  ck_assert_ptr_eq(program->ops, plan->ops);
  ck_assert_int_eq(program->in_features, 13);
  ck_assert_int_eq(program->out_features, 1);
  ck_assert_int_eq(program->target_columns, 1);
  ck_assert_int_eq(plan->ops[0].in_features, 13);
  ck_assert_int_eq(plan->ops[0].weight, 0);
  ck_assert_int_eq(plan->ops[0].bias, 78);
  ck_assert_int_eq(plan->ops[1].in_features, 6);
  ck_assert_int_eq(plan->ops[1].out_features, 6);
  ck_assert_int_eq(plan->ops[1].weight, -1);
  ck_assert_int_eq(plan->ops[1].bias, -1);
  ck_assert_int_eq(plan->ops[2].weight, 84);
  ck_assert_int_eq(plan->ops[2].bias, -1);
  ck_assert(program->shuffle);
  ck_assert_uint_eq(program->seed, 1);
  ck_assert_int_ge(program->max_predict_rows, 1);
  ep_layer_view rows[3];
  ep_plan_layers(plan, &f.spec, rows);
  ck_assert_str_eq(rows[0].type, "linear");
  ck_assert_int_eq(rows[0].parameters, 84);
  ck_assert_int_eq(rows[1].parameters, 0);
  ck_assert_int_eq(rows[2].in_features, 6);
  ck_assert_int_eq(rows[2].parameters, 6);
  ep_plan_destroy(plan);
  ep_plan_destroy(NULL);
}
END_TEST

START_TEST(operations_by_hand) {
  fixture f;
  house(&f);
  ep_plan *plan = plan_of(&f);
  /* First linear: forward and weight gradient; second: those and the input's gradient. Biases and
   * the relu: one forward, one backward. */
  int64_t a_row = 2 * (2 * 13 * 6) + 2 * 6 + 2 * 6 + 3 * (2 * 6 * 1) + 2 * 1;
  ck_assert_int_eq(plan->operations, 321 * a_row);
  ep_plan_destroy(plan);
}
END_TEST

START_TEST(bytes_by_hand) {
  fixture f;
  house(&f);
  for (int momentum = 0; momentum < 2; momentum++) {
    f.spec.optimizer.momentum = momentum * 0.5;
    ep_plan *plan = plan_of(&f);
    int64_t state = 91 * (1 + momentum), passed = plan->program.max_predict_rows;
    ck_assert_int_eq(passed, 4096);
    ck_assert_int_eq(plan->parameters, 91);
    /* State and snapshot, the gradient; input and outputs of a pass, relu's over its input; for the
     * batch of 321 two gradients and the target; the rows. */
    int64_t floats = 2 * state + 91 + passed * (13 + 6 + 1) + 321 * (2 * 6 + 1) + (321 + 93) * 14;
    ck_assert_int_eq(plan->bytes, 4 * floats);
    ep_plan_destroy(plan);
  }
}
END_TEST

START_TEST(batches) {
  static const struct {
    int64_t asked, wanted, steps;
  } rows[] = {{0, 321, 1},   {1, 1, 321},   {320, 320, 2},
              {321, 321, 1}, {322, 321, 1}, {1 << 30, 321, 1}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    fixture f;
    house(&f);
    f.spec.batch_size = rows[i].asked;
    ep_plan *plan = plan_of(&f);
    ck_assert_int_eq(plan->program.batch_size, rows[i].wanted);
    ck_assert_int_eq(ep_program_steps_per_epoch(&plan->program), rows[i].steps);
    ep_plan_destroy(plan);
  }
}
END_TEST

START_TEST(in_features_are_checked) {
  fixture f;
  house(&f);
  f.layers[0].in_features = 13;
  f.layers[2].in_features = 6;
  ep_plan_destroy(plan_of(&f));
  f.layers[2].in_features = 784;
  assert_refused(&f, "/model/layers/2/in_features",
                 "layer 2 expects 784 inputs, layer 1 outputs 6");
  f.layers[2].in_features = 0;
  f.layers[0].in_features = 12;
  assert_refused(&f, "/model/layers/0/in_features",
                 "layer 0 expects 12 inputs, the data has 13 columns");
}
END_TEST

START_TEST(all_faults_are_listed) {
  fixture f;
  house(&f);
  f.layers[0].in_features = 12;
  f.layers[2].out_features = 3;
  f.spec.optimizer.nesterov = true;
  ep_problem problem = {0};
  ep_plan *plan;
  ck_assert_int_eq(ep_plan_create(&f.spec, &f.shape, &plan, &problem), EP_INVALID);
  ck_assert_int_eq(problem.errors_count, 3);
  ck_assert_str_eq(problem.errors[0].pointer, "/model/layers/0/in_features");
  ck_assert_str_eq(problem.errors[1].pointer, "/model/layers/2/out_features");
  ck_assert_str_eq(problem.errors[2].pointer, "/optimizer/nesterov");
}
END_TEST

START_TEST(columns_must_match) {
  static const ep_loss_type losses[] = {EP_LOSS_MSE, EP_LOSS_MAE, EP_LOSS_HUBER,
                                        EP_LOSS_BCE_WITH_LOGITS};
  for (size_t i = 0; i < sizeof losses / sizeof losses[0]; i++) {
    fixture f;
    house(&f);
    f.shape.target_min = 0;
    f.shape.target_max = 1;
    f.spec.loss = losses[i];
    f.layers[2].out_features = 3;
    assert_refused(&f, "/model/layers/2/out_features",
                   "output size, 3, differs from the number of target columns, 1");
    f.shape.target_columns = 3;
    ep_plan_destroy(plan_of(&f));
  }
}
END_TEST

START_TEST(a_network_without_linear_layers) {
  fixture f;
  house(&f);
  f.layers[0] = activation(EP_LAYER_TANH);
  f.spec.layers_count = 1;
  assert_refused(&f, "/model/layers", "last layer's output size, 13,");
  f.shape.target_columns = 13;
  ep_plan *plan = plan_of(&f);
  ck_assert_int_eq(plan->parameters, 0);
  ep_plan_destroy(plan);
}
END_TEST

START_TEST(classes_are_checked) {
  static const ep_loss_type losses[] = {EP_LOSS_CROSS_ENTROPY, EP_LOSS_NLL};
  for (size_t i = 0; i < sizeof losses / sizeof losses[0]; i++) {
    fixture f;
    house(&f);
    f.spec.loss = losses[i];
    f.layers[2].out_features = 3;
    f.shape.classes = 3;
    ep_plan *plan = plan_of(&f);
    ck_assert_int_eq(plan->program.target_columns, 1);
    ck_assert_int_eq(plan->program.out_features, 3);
    ep_plan_destroy(plan);
    f.shape.classes = 4;
    assert_refused(&f, "/model/layers/2/out_features",
                   "the largest target class is 3: the last layer's output size is 3");
    f.shape.classes = 0;
    assert_refused(&f, "/loss", "expects classes 0, 1, 2");
    f.shape.target_columns = 2;
    assert_refused(&f, "/loss", "expects one class per row, the target has 2 columns");
  }
}
END_TEST

START_TEST(classes_have_a_limit) {
  fixture f;
  house(&f);
  f.spec.loss = EP_LOSS_CROSS_ENTROPY;
  f.shape.classes = 2;
  f.layers[2].out_features = EP_LIMIT_CLASSES;
  ep_plan_destroy(plan_of(&f));
  f.layers[2].out_features = EP_LIMIT_CLASSES + 1;
  assert_refused(&f, "/model/layers/2/out_features", "1025 classes: the limit is 1024");
  f.spec.loss = EP_LOSS_MSE; /* no classes, no limit */
  f.shape.target_columns = EP_LIMIT_CLASSES + 1;
  ep_plan_destroy(plan_of(&f));
}
END_TEST

START_TEST(bce_is_checked) {
  fixture f;
  house(&f);
  f.spec.loss = EP_LOSS_BCE;
  f.layers[3] = activation(EP_LAYER_SIGMOID);
  f.spec.layers_count = 4;
  f.shape.target_min = 0;
  f.shape.target_max = 1;
  ep_plan_destroy(plan_of(&f));
  f.layers[3] = activation(EP_LAYER_SOFTMAX);
  ep_plan_destroy(plan_of(&f));
  f.layers[3] = activation(EP_LAYER_TANH);
  assert_refused(&f, "/loss", "end with a sigmoid layer, or use bce_with_logits");
  f.spec.loss = EP_LOSS_BCE_WITH_LOGITS;
  ep_plan_destroy(plan_of(&f));
  f.shape.target_max = 1.5;
  assert_refused(&f, "/loss",
                 "bce_with_logits expects targets from 0 to 1, these range from 0 to 1.5");
  f.shape.target_max = 1;
  f.shape.target_min = -0.5;
  assert_refused(&f, "/loss", "these range from -0.5 to 1");
  f.shape.target_min = NAN;
  assert_refused(&f, "/loss", "expects targets from 0 to 1");
  f.shape.target_min = 0;
  f.spec.data.standardize_y = true;
  assert_refused(&f, "/data/standardize", "y cannot be standardized for bce_with_logits");
}
END_TEST

START_TEST(nesterov_needs_momentum) {
  fixture f;
  house(&f);
  f.spec.optimizer.nesterov = true;
  assert_refused(&f, "/optimizer/nesterov", "momentum above 0");
  f.spec.optimizer.momentum = 0.1;
  ep_plan_destroy(plan_of(&f));
}
END_TEST

START_TEST(a_momentum_that_is_zero_in_float32_has_no_state) {
  fixture f;
  house(&f);
  f.spec.optimizer.momentum = 1e-50;
  ep_plan *plan = plan_of(&f);
  ck_assert_float_eq(plan->program.optimizer.momentum, 0);
  ck_assert_int_eq(plan->program.optimizer_floats, 0);
  ep_plan_destroy(plan);
}
END_TEST

START_TEST(rows_and_columns_are_checked) {
  fixture f;
  house(&f);
  f.shape.train_rows = 0;
  assert_refused(&f, "/data", "no rows are left to train on");
  f.shape.train_rows = EP_LIMIT_ROWS;
  ep_plan_destroy(plan_of(&f));
  f.shape.train_rows = EP_LIMIT_ROWS + 1;
  assert_refused(&f, "/data", "2147483649 rows: the limit is 2147483648");
  house(&f);
  f.shape.features = 0;
  assert_refused(&f, "/data", "x has 0 columns");
  house(&f);
  f.shape.target_columns = INT64_MAX;
  assert_refused(&f, "/data", "y has 9223372036854775807 columns");
}
END_TEST

START_TEST(parameters_have_a_limit) {
  fixture f;
  house(&f);
  f.shape.features = 1 << 15;
  f.shape.target_columns = 1 << 16;
  f.layers[0] = linear(1 << 16);
  f.layers[0].bias = false;
  f.spec.layers_count = 1;
  ep_plan *plan = plan_of(&f); /* 2^31 exactly */
  ck_assert_int_eq(plan->parameters, EP_LIMIT_PARAMETERS);
  ck_assert_int_gt(plan->bytes, 8 * EP_LIMIT_PARAMETERS);
  ep_plan_destroy(plan);
  f.layers[0].bias = true;
  assert_refused(&f, "/model/layers", "the model has 2147549184 parameters: the limit is");
}
END_TEST

/* Counts beyond any integer are refused, not wrapped. */
START_TEST(huge_models_do_not_overflow) {
  fixture f;
  house(&f);
  f.layers[0] = linear(INT64_C(1) << 30);
  f.layers[1] = linear(INT64_C(1) << 30);
  f.layers[2] = linear(1);
  assert_refused(&f, "/model/layers", "the model has 1152921");
  f.layers[0] = linear(INT64_C(1) << 40);
  f.layers[1] = linear(INT64_C(1) << 40);
  ep_problem problem = {0};
  ep_plan *plan;
  ck_assert_int_eq(ep_plan_create(&f.spec, &f.shape, &plan, &problem), EP_INVALID);
  ck_assert_ptr_nonnull(strstr(problem.errors[0].detail, "over 2^63 parameters"));
}
END_TEST

START_TEST(steps_have_a_limit) {
  fixture f;
  house(&f);
  f.spec.batch_size = 1;
  f.shape.train_rows = 1 << 30;
  f.spec.epochs = 1 << 22;
  ep_plan_destroy(plan_of(&f)); /* 2^52 exactly */
  f.spec.epochs++;
  assert_refused(&f, "/epochs", "steps exceed the limit of 4503599627370496");
}
END_TEST

START_TEST(layers_have_a_limit) {
  fixture f;
  house(&f);
  f.spec.layers_count = 0;
  assert_refused(&f, "/model/layers", "1 to 256");
}
END_TEST

/* Mean, variance and range of the first layer's weights (or biases), and what they should be. */
typedef struct {
  double mean, variance, least, greatest;
} figures;

static figures figures_of(const float *values, int64_t count) {
  figures f = {.least = INFINITY, .greatest = -INFINITY};
  for (int64_t i = 0; i < count; i++) {
    ck_assert(isfinite(values[i]));
    f.mean += values[i] / (double)count;
    if (values[i] < f.least) f.least = values[i];
    if (values[i] > f.greatest) f.greatest = values[i];
  }
  for (int64_t i = 0; i < count; i++)
    f.variance += (values[i] - f.mean) * (values[i] - f.mean) / (double)count;
  return f;
}

/* Is it U(-bound, bound)? Five deviations of the mean and of the variance are allowed. */
static bool is_uniform(figures f, double bound, int64_t count) {
  double variance = bound * bound / 3;
  return f.least >= -bound && f.greatest <= bound && f.least < -0.95 * bound &&
         f.greatest > 0.95 * bound && fabs(f.mean) < 5 * sqrt(variance / (double)count) &&
         fabs(f.variance / variance - 1) < 5 * sqrt(0.8 / (double)count);
}

static bool is_normal(figures f, double deviation, int64_t count) {
  double variance = deviation * deviation;
  return f.least < -2.5 * deviation && f.greatest > 2.5 * deviation && f.greatest < 7 * deviation &&
         f.least > -7 * deviation && fabs(f.mean) < 5 * deviation / sqrt((double)count) &&
         fabs(f.variance / variance - 1) < 5 * sqrt(2.0 / (double)count);
}

enum { IN = 60, OUT = 300 };

static float *first_weights(ep_init_type init, uint64_t seed, ep_plan **plan) {
  fixture f;
  house(&f);
  f.shape.features = IN;
  f.layers[0] = linear(OUT);
  f.layers[0].init = init;
  f.spec.seed = seed;
  *plan = plan_of(&f);
  float *parameters = malloc(sizeof(float) * (size_t)((*plan)->parameters + 1));
  ck_assert_ptr_nonnull(parameters);
  for (int64_t i = 0; i <= (*plan)->parameters; i++) parameters[i] = 777;
  ep_plan_initialize(*plan, &f.spec, parameters);
  ck_assert_float_eq(parameters[(*plan)->parameters], 777); /* the sentinel */
  for (int64_t i = 0; i < (*plan)->parameters; i++) ck_assert_float_ne(parameters[i], 777);
  return parameters;
}

START_TEST(first_weights_by_figures) {
  const double bounds[EP_INIT_COUNT] = {[EP_INIT_DEFAULT] = 1 / sqrt(IN),
                                        [EP_INIT_XAVIER] = sqrt(6.0 / (IN + OUT)),
                                        [EP_INIT_KAIMING] = sqrt(6.0 / IN)};
  for (int init = 0; init < EP_INIT_COUNT; init++) {
    ep_plan *plan;
    float *parameters = first_weights((ep_init_type)init, 1, &plan);
    figures weights = figures_of(parameters, IN * OUT);
    figures biases = figures_of(parameters + IN * OUT, OUT);
    if (init == EP_INIT_ZEROS) {
      ck_assert(weights.least == 0 && weights.greatest == 0);
    } else if (init == EP_INIT_NORMAL) {
      ck_assert(is_normal(weights, 0.01, IN * OUT));
      ck_assert(!is_normal(weights, 0.0105, IN * OUT)); /* canaries */
      ck_assert(!is_uniform(weights, 0.01, IN * OUT));
    } else {
      ck_assert(is_uniform(weights, bounds[init], IN * OUT));
      ck_assert(!is_uniform(weights, 1.05 * bounds[init], IN * OUT)); /* canaries */
      ck_assert(!is_normal(weights, bounds[init] / sqrt(3), IN * OUT));
    }
    if (init == EP_INIT_DEFAULT)
      ck_assert(is_uniform(biases, bounds[init], OUT));
    else
      ck_assert(biases.least == 0 && biases.greatest == 0);
    free(parameters);
    ep_plan_destroy(plan);
  }
}
END_TEST

START_TEST(first_weights_by_seed) {
  ep_plan *plan, *again, *other;
  float *a = first_weights(EP_INIT_DEFAULT, 1, &plan);
  float *b = first_weights(EP_INIT_DEFAULT, 1, &again);
  float *c = first_weights(EP_INIT_DEFAULT, 2, &other);
  size_t bytes = sizeof(float) * (size_t)plan->parameters;
  ck_assert_mem_eq(a, b, bytes);
  ck_assert_mem_ne(a, c, bytes);
  int same = 0;
  for (int64_t i = 0; i < plan->parameters; i++) same += a[i] == c[i];
  ck_assert_int_lt(same, 20);
  /* The bias draws on where the weight stopped, and layers draw apart. */
  ck_assert_float_ne(a[0], a[IN * OUT]);
  ck_assert_float_ne(a[0] * (float)sqrt(IN), a[plan->ops[2].weight] * (float)sqrt(OUT));
  free(a);
  free(b);
  free(c);
  ep_plan_destroy(plan);
  ep_plan_destroy(again);
  ep_plan_destroy(other);
}
END_TEST

/* On a device of which only the id is known. */
static ep_estimate estimate_on(const ep_plan *plan, const ep_job_spec *spec, const char *id) {
  ep_device_info device = {0};
  snprintf(device.id, sizeof device.id, "%s", id);
  return ep_plan_estimate(plan, spec, &device, NULL, NULL);
}

START_TEST(small_nets_belong_on_the_cpu) {
  fixture f;
  house(&f);
  f.spec.epochs = 40000;
  ep_plan *plan = plan_of(&f);
  ep_estimate cpu = estimate_on(plan, &f.spec, "cpu");
  ep_estimate cuda = estimate_on(plan, &f.spec, "cuda:1");
  ck_assert_str_eq(cpu.device, "cpu");
  ck_assert_str_eq(cpu.executor, "cpu/fused");
  ck_assert_str_eq(cuda.device, "cuda:1");
  ck_assert_str_eq(cuda.executor, "cuda/resident");
  ck_assert_double_gt(cpu.seconds, cpu.start_seconds);
  ck_assert_double_lt(cpu.seconds, cuda.seconds);
  ck_assert(!cpu.calibrated && !cuda.calibrated);
  f.spec.epochs = 80000;
  ep_estimate twice = estimate_on(plan, &f.spec, "cpu");
  ck_assert_double_eq_tol(twice.seconds - twice.start_seconds,
                          2 * (cpu.seconds - cpu.start_seconds), 1e-9 * cpu.seconds);
  ck_assert(isinf(estimate_on(plan, &f.spec, "abacus").seconds));
  ep_plan_destroy(plan);
}
END_TEST

START_TEST(wide_nets_belong_on_the_gpu) {
  fixture f;
  house(&f);
  f.shape.train_rows = 60000;
  f.spec.batch_size = 4096;
  f.layers[0] = linear(4096);
  ep_plan *plan = plan_of(&f);
  ep_estimate cpu = estimate_on(plan, &f.spec, "cpu");
  ck_assert_double_lt(estimate_on(plan, &f.spec, "cuda:0").seconds, cpu.seconds);
  ep_plan_destroy(plan);
}
END_TEST

/* What cpu/fused takes and what it leaves to cpu/blocked. */
static void assert_cpu_executor(int64_t first, int64_t second, const char *asked,
                                const char *wanted) {
  fixture f;
  house(&f);
  f.layers[0] = linear(first);
  f.layers[1] = linear(second);
  snprintf(f.spec.executor, sizeof f.spec.executor, "%s", asked);
  ep_plan *plan = plan_of(&f);
  ck_assert_str_eq(estimate_on(plan, &f.spec, "cpu").executor, wanted);
  ep_plan_destroy(plan);
}

START_TEST(the_cpu_has_three_executors) {
  assert_cpu_executor(1 << 14, 1, "", "cpu/fused");
  assert_cpu_executor((1 << 14) + 1, 1, "", "cpu/blocked");
  assert_cpu_executor(1400, 1400, "", "cpu/fused");
  assert_cpu_executor(4000, 4000, "", "cpu/blocked"); /* is faster there */
  assert_cpu_executor(4000, 4000, "cpu/fused", "cpu/fused");
  assert_cpu_executor(4200, 4200, "", "cpu/blocked"); /* over 2^24 parameters */
  assert_cpu_executor(6, 6, "cpu/reference", "cpu/reference");
}
END_TEST

EP_SUITE("engine/plan") {
  TCase *tests = ep_suite_case(suite, "plan");
  tcase_add_test(tests, shapes_and_offsets);
  tcase_add_test(tests, operations_by_hand);
  tcase_add_test(tests, bytes_by_hand);
  tcase_add_test(tests, batches);
  tcase_add_test(tests, in_features_are_checked);
  tcase_add_test(tests, all_faults_are_listed);
  tcase_add_test(tests, columns_must_match);
  tcase_add_test(tests, a_network_without_linear_layers);
  tcase_add_test(tests, classes_are_checked);
  tcase_add_test(tests, classes_have_a_limit);
  tcase_add_test(tests, bce_is_checked);
  tcase_add_test(tests, nesterov_needs_momentum);
  tcase_add_test(tests, a_momentum_that_is_zero_in_float32_has_no_state);
  tcase_add_test(tests, rows_and_columns_are_checked);
  tcase_add_test(tests, parameters_have_a_limit);
  tcase_add_test(tests, huge_models_do_not_overflow);
  tcase_add_test(tests, steps_have_a_limit);
  tcase_add_test(tests, layers_have_a_limit);
  tcase_add_test(tests, first_weights_by_figures);
  tcase_add_test(tests, first_weights_by_seed);
  tcase_add_test(tests, small_nets_belong_on_the_cpu);
  tcase_add_test(tests, wide_nets_belong_on_the_gpu);
  tcase_add_test(tests, the_cpu_has_three_executors);
}
