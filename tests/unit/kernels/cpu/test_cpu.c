/* The CPU backend: every executor of its table against cpu/reference, and what the table, the
 * checks and the probe answer. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/executors/list.h"
#include "kernels/cpu/probe.h"
#include "kernels/cpu/runtime/cpu.h"
#include "tests/suite.h"
#include "tests/unit/kernels/compare.h"

static ep_backend *backend;
static const ep_backend_ops *ops;

static void setup(void) {
  ep_error error;
  ops = ep_backend_cpu();
  ck_assert_int_eq(ops->open(0, &backend, &error), EP_OK);
}

static void teardown(void) {
  ops->close(backend);
}

static ep_subject subject_of(const char *executor) {
  return (ep_subject){ops, backend, executor};
}

/* Holds one executor to the reference at one instruction set. */
static void compare_executor(const char *name, ep_instruction_set instruction_set) {
  ep_instruction_set found = backend->instruction_set;
  backend->instruction_set = instruction_set;
  ep_subject reference = subject_of("cpu/reference"), subject = subject_of(name);
  ep_comparison result = ep_compare_all(&subject, &reference, EP_COMPARE_TOLERANCE, stderr);
  printf("%s, %s: %d agree, %d not for it, %d failed; worst %.2g (%s)\n", name,
         ep_instruction_set_name(instruction_set), result.agreed, result.unsupported, result.failed,
         result.worst, result.worst_name);
  backend->instruction_set = found;
  ck_assert_int_eq(result.failed, 0);
  ck_assert_int_gt(result.agreed, 0);
}

/* The thread sanitizer slows threads down many times, and looks for races, not for numbers: there
 * the machine's own instruction set is enough. */
#ifdef __SANITIZE_THREAD__
enum { EVERY_INSTRUCTION_SET = 0, AGREE_SECONDS = 400 };
#else
enum { EVERY_INSTRUCTION_SET = 1, AGREE_SECONDS = 120 };
#endif

/* What takes no program of one rank has test_ranks.c. */
START_TEST(every_executor_agrees_with_the_reference) {
  int count;
  const ep_executor *const *executors = ep_cpu_executors(&count);
  if (executors[_i]->profile->ranks) return;
  int first = EVERY_INSTRUCTION_SET ? 0 : (int)backend->instruction_set;
  for (int level = first; level <= (int)backend->instruction_set; level++) {
    compare_executor(executors[_i]->profile->name, (ep_instruction_set)level);
    if (executors[_i] == &ep_cpu_reference) break; /* the same on all */
  }
}
END_TEST

START_TEST(the_reference_takes_every_case) {
  ep_subject reference = subject_of("cpu/reference");
  for (int i = 0; i < ep_case_count(); i++) {
    ep_case *test = ep_case_create_number(i);
    ep_instance *instance;
    ck_assert_int_eq(ops->compile(backend, &test->program, reference.executor, &instance, NULL),
                     EP_OK);
    ops->release(instance);
    ep_case_destroy(test);
  }
}
END_TEST

START_TEST(errors_follow_argmax_where_outputs_are_equal_or_nan) {
  int count;
  const ep_executor *const *executors = ep_cpu_executors(&count);
  ep_instruction_set found = backend->instruction_set;
  if (executors[_i]->profile->ranks) return;
  ep_subject subject = subject_of(executors[_i]->profile->name);
  for (int level = 0; level <= (int)found; level++) {
    backend->instruction_set = (ep_instruction_set)level;
    ck_assert_int_eq(ep_compare_argmax(&subject, stderr), EP_OK);
  }
  backend->instruction_set = found;
}
END_TEST

START_TEST(the_comparison_can_fail) {
  ep_subject reference = subject_of("cpu/reference");
  ck_assert(ep_compare_canary(&reference, stderr));
}
END_TEST

START_TEST(floats_compare_by_scale_and_nan_differs) {
  float expected[] = {100, 1, INFINITY}, actual[] = {100.01f, 1, INFINITY};
  ck_assert_double_eq_tol(ep_compare_floats(actual, expected, 3, 0), 1e-4, 1e-6);
  actual[2] = -INFINITY;
  ck_assert(isinf(ep_compare_floats(actual, expected, 3, 0)));
  actual[2] = NAN;
  ck_assert(isinf(ep_compare_floats(actual, expected, 3, 0)));
  expected[2] = NAN; /* not even against itself: nobody should expect one */
  ck_assert(isinf(ep_compare_floats(actual, expected, 3, 0)));
  ck_assert_double_eq(ep_compare_floats(actual, expected, 0, 0), 0);
  float small = 1e-5f, zero = 0;
  ck_assert_double_eq_tol(ep_compare_floats(&small, &zero, 1, 1e-2), 1e-3, 1e-9);
}
END_TEST

START_TEST(the_reference_comes_last_and_names_are_apart) {
  int count;
  const ep_executor *const *executors = ep_cpu_executors(&count);
  ck_assert_ptr_eq(executors[count - 1], &ep_cpu_reference);
  for (int i = 0; i < count; i++) {
    ck_assert_int_eq(strncmp(executors[i]->profile->name, "cpu/", 4), 0);
    for (int j = 0; j < i; j++)
      ck_assert_str_ne(executors[i]->profile->name, executors[j]->profile->name);
  }
}
END_TEST

START_TEST(there_is_one_device) {
  ep_backend *other = NULL;
  ep_error error;
  ck_assert_int_eq(ops->open(1, &other, &error), EP_NOT_FOUND);
  ck_assert_ptr_null(other);
  ck_assert_int_eq(ops->version, EP_BACKEND_VERSION);
  ck_assert_str_eq(ops->name, "cpu");
}
END_TEST

START_TEST(info_names_the_processor) {
  ep_backend_info info;
  ck_assert_int_eq(ops->info(backend, &info, NULL), EP_OK);
  ck_assert_int_gt((int)strlen(info.name), 0);
  ck_assert_str_eq(info.instruction_set, ep_instruction_set_name(backend->instruction_set));
  ck_assert_int_gt(info.memory_bytes, 1 << 20);
  ck_assert_int_gt(info.memory_free_bytes, 0);
  ck_assert_int_le(info.memory_free_bytes, info.memory_bytes);
  ck_assert_int_ge(info.threads, 1);
}
END_TEST

/* An executor that predicts one percent too much. */
static ep_status predict_badly(void *self, const void *x, int64_t rows, float *output,
                               ep_error *error) {
  ep_status status = ep_cpu_reference.predict(self, x, rows, output, error);
  output[0] *= 1.01f;
  return status;
}

START_TEST(the_probe_passes_and_can_fail) {
  ep_error error = {.message = ""};
  for (int level = 0; level <= (int)backend->instruction_set; level++) {
    ep_backend lowered = *backend;
    lowered.instruction_set = (ep_instruction_set)level;
    ck_assert_int_eq(ops->probe(&lowered, &error), EP_OK);
  }
  ep_executor broken = ep_cpu_reference;
  broken.predict = predict_badly;
  ck_assert_int_eq(ep_cpu_probe_executor(backend, &broken, &error), EP_DEVICE);
  ck_assert_ptr_nonnull(strstr(error.message, "cpu/reference"));
}
END_TEST

static ep_case *small_case(ep_loss_type loss) {
  ep_case *test = ep_case_create("small", 4, loss);
  ep_case_add_linear(test, 3, true);
  ep_case_finish(test, &(ep_case_training){.rows = 6, .batch_size = 4, .steps = 4, .lr = 0.1f});
  return test;
}

START_TEST(compile_chooses_by_name_or_says_which_there_are) {
  ep_case *test = small_case(EP_LOSS_MSE);
  ep_instance *instance = NULL;
  ep_instance_info info;
  ep_error error = {.message = ""};
  ck_assert_int_eq(ops->compile(backend, &test->program, "cpu/reference", &instance, &error),
                   EP_OK);
  ops->instance_info(instance, &info);
  ck_assert_str_eq(info.executor, "cpu/reference");
  ck_assert_int_gt(info.bytes, 0);
  int64_t empty = info.bytes;
  ck_assert_int_eq(ops->load_data(instance, EP_SPLIT_TRAIN, test->x[0], test->y[0], 6, &error),
                   EP_OK);
  ops->instance_info(instance, &info);
  ck_assert_int_eq(info.bytes - empty, 6 * (4 + 3) * 4); /* data included once loaded */
  ops->release(instance);
  ops->release(NULL);
  ck_assert_int_eq(ops->compile(backend, &test->program, "cpu/none", &instance, &error),
                   EP_NOT_FOUND);
  ck_assert_ptr_nonnull(strstr(error.message, "cpu/none"));
  ck_assert_ptr_nonnull(strstr(error.message, "cpu/reference"));
  ep_case_destroy(test);
}
END_TEST

/* Spoils one field of a good program, which must then be refused. */
#define ck_assert_refused(test, field, value)                                          \
  do {                                                                                 \
    ep_case *spoilt_ = (test);                                                         \
    ep_instance *instance_ = NULL;                                                     \
    spoilt_->field = (value);                                                          \
    ck_assert_int_eq(ops->compile(backend, &spoilt_->program, NULL, &instance_, NULL), \
                     EP_INVALID);                                                      \
    ep_case_destroy(spoilt_);                                                          \
  } while (0)

START_TEST(a_program_that_does_not_fit_is_refused) {
  ck_assert_refused(small_case(EP_LOSS_MSE), ops[0].in_features, 5);
  ck_assert_refused(small_case(EP_LOSS_MSE), ops[0].out_features, 0);
  ck_assert_refused(small_case(EP_LOSS_MSE), ops[0].out_features, 1 << 20);
  ck_assert_refused(small_case(EP_LOSS_MSE), ops[0].weight, 4);
  ck_assert_refused(small_case(EP_LOSS_MSE), ops[0].weight, -1);
  ck_assert_refused(small_case(EP_LOSS_MSE), ops[0].bias, 13);
  ck_assert_refused(small_case(EP_LOSS_MSE), ops[0].bias, -2);
  ck_assert_refused(small_case(EP_LOSS_MSE), ops[0].type, EP_LAYER_RELU);
  ck_assert_refused(small_case(EP_LOSS_MSE), ops[0].type, EP_LAYER_COUNT);
  ck_assert_refused(small_case(EP_LOSS_MSE), program.in_features, 0);
  ck_assert_refused(small_case(EP_LOSS_MSE), program.out_features, 4);
  ck_assert_refused(small_case(EP_LOSS_MSE), program.target_columns, 1);
  ck_assert_refused(small_case(EP_LOSS_CROSS_ENTROPY), program.target_columns, 3);
  ck_assert_refused(small_case(EP_LOSS_MSE), program.parameters, 14);
  ck_assert_refused(small_case(EP_LOSS_MSE), program.optimizer_floats, 15);
  ck_assert_refused(small_case(EP_LOSS_MSE), program.optimizer.momentum, 0.9f);
  ck_assert_refused(small_case(EP_LOSS_MSE), program.loss, EP_LOSS_COUNT);
  ck_assert_refused(small_case(EP_LOSS_MSE), program.optimizer.type, EP_OPTIMIZER_COUNT);
  ck_assert_refused(small_case(EP_LOSS_MSE), program.optimizer.type, EP_OPTIMIZER_ADAM);
  ck_assert_refused(small_case(EP_LOSS_MSE), program.stored.channels, 5);
  ck_assert_refused(small_case(EP_LOSS_MSE), program.stored.height, 0);
  ck_assert_refused(small_case(EP_LOSS_MSE), program.in.width, 2);
  ck_assert_refused(small_case(EP_LOSS_MSE), program.x_type, EP_X_UINT8); /* without scale */
  ck_assert_refused(small_case(EP_LOSS_MSE), program.augment.shift, -1);
  ck_assert_refused(small_case(EP_LOSS_MSE), program.groups_count, 1);
  ck_assert_refused(small_case(EP_LOSS_MSE), groups[0].first, 1);
  ck_assert_refused(small_case(EP_LOSS_MSE), groups[1].count, 4);
  ck_assert_refused(small_case(EP_LOSS_MSE), groups[1].count, INT64_MAX);
  ck_assert_refused(small_case(EP_LOSS_MSE), program.train_rows, 0);
  ck_assert_refused(small_case(EP_LOSS_MSE), program.batch_size, 0);
  ck_assert_refused(small_case(EP_LOSS_MSE), program.batch_size, 7);
}
END_TEST

/* conv, pool, batch_norm, residual, linear: ops 0 … 4. */
static ep_case *image_case(void) {
  ep_case *test = ep_case_create_image("image", (ep_shape){2, 6, 6}, EP_LOSS_MSE);
  ep_case_add_conv2d(test, 4, &(ep_case_window){.kernel = {3, 3}, .groups = 2}, true);
  ep_case_add_pool(test, EP_LAYER_MAX_POOL2D, &(ep_case_window){.kernel = {2, 2}});
  ep_case_add_norm(test, EP_LAYER_BATCH_NORM, true);
  ep_case_add_residual(test, 1);
  ep_case_add_linear(test, 2, true);
  ep_case_finish(test, &(ep_case_training){.rows = 6, .batch_size = 4, .steps = 4, .lr = 0.1f});
  return test;
}

static ep_case *embedding_case(void) {
  ep_case *test = ep_case_create("embedding", 2, EP_LOSS_MSE);
  ep_case_add_embedding(test, 0, 5, 3);
  ep_case_add_linear(test, 2, true);
  ep_case_finish(test, &(ep_case_training){.rows = 6, .batch_size = 4, .steps = 4, .lr = 0.1f});
  return test;
}

START_TEST(an_image_program_that_does_not_fit_is_refused) {
  ck_assert_refused(image_case(), ops[0].kernel[0], 0);
  ck_assert_refused(image_case(), ops[0].kernel[0], 2);
  ck_assert_refused(image_case(), ops[0].kernel[1], 7);
  ck_assert_refused(image_case(), ops[0].kernel[1], INT32_MAX);
  ck_assert_refused(image_case(), ops[0].stride[1], 0);
  ck_assert_refused(image_case(), ops[0].padding[0], 1);
  ck_assert_refused(image_case(), ops[0].padding[0], -1);
  ck_assert_refused(image_case(), ops[0].dilation[0], 0);
  ck_assert_refused(image_case(), ops[0].groups, 0);
  ck_assert_refused(image_case(), ops[0].groups, 4);
  ck_assert_refused(image_case(), ops[0].out.width, 3);
  ck_assert_refused(image_case(), ops[0].weight, 1000);
  ck_assert_refused(image_case(), ops[1].out.channels, 3);
  ck_assert_refused(image_case(), ops[2].running, -1);
  ck_assert_refused(image_case(), ops[2].running, 1);
  ck_assert_refused(image_case(), program.buffers, 7);
  ck_assert_refused(image_case(), ops[1].running, 9); /* it has none; a stage would begin there */
  ck_assert_refused(image_case(), ops[1].weight, INT64_MAX);
  ck_assert_refused(image_case(), ops[3].running, INT64_MAX);
  ck_assert_refused(image_case(), ops[3].bias, 1);
  ck_assert_refused(image_case(), ops[3].input[1], 4);
  ck_assert_refused(image_case(), ops[3].input[1], 1);
  ck_assert_refused(image_case(), ops[3].input[1], -1);
  ck_assert_refused(embedding_case(), ops[0].embeddings, 0);
  ck_assert_refused(embedding_case(), ops[0].embeddings, 50);
  ck_assert_refused(embedding_case(), ops[0].embeddings, INT64_MAX);
}
END_TEST

/* [2, 1, 6] to [3, 1, 6]: parameters of 18, 27, 9 and 9 numbers behind those of a linear layer. */
static ep_case *gru_case(void) {
  ep_case *test = ep_case_create("gru", 3, EP_LOSS_MSE);
  ep_case_add_linear(test, 12, true);
  ep_case_add_reshape(test, (ep_shape){2, 1, 6});
  ep_case_add_gru(test, 3, true);
  ep_case_add(test, EP_LAYER_FLATTEN);
  ep_case_add_linear(test, 2, true);
  ep_case_finish(test, &(ep_case_training){.rows = 6, .batch_size = 4, .steps = 4, .lr = 0.1f});
  return test;
}

START_TEST(parameters_that_do_not_follow_one_another_are_refused) {
  ck_assert_refused(gru_case(), ops[2].parameter[0], -1);
  ck_assert_refused(gru_case(), ops[2].parameter[0], 49);
  ck_assert_refused(gru_case(), ops[2].parameter[1], -1);
  ck_assert_refused(gru_case(), ops[2].parameter[1], 48);
  ck_assert_refused(gru_case(), ops[2].parameter[2], 94);
  ck_assert_refused(gru_case(), ops[2].parameter[3], -2);
  ck_assert_refused(gru_case(), ops[2].parameter[3], INT64_MAX);
  ck_assert_refused(gru_case(), ops[2].out.width, 5);
}
END_TEST

START_TEST(an_embedding_takes_whole_numbers_that_it_has) {
  ep_case *test = embedding_case();
  ep_instance *instance;
  ep_error error;
  float *x = test->x[0], output[12];
  const float outside[] = {-1, 5, 2.5f, 1e20f, INFINITY, NAN};
  ck_assert_int_eq(ops->compile(backend, &test->program, NULL, &instance, NULL), EP_OK);
  for (int i = 0; i < 6; i++) {
    float kept = x[7];
    x[7] = outside[i];
    ck_assert_int_eq(ops->load_data(instance, EP_SPLIT_TRAIN, x, test->y[0], 6, &error), EP_DATA);
    ck_assert_ptr_nonnull(strstr(error.message, "row 3"));
    ck_assert_int_eq(ops->predict(instance, x, 6, output, &error), EP_DATA);
    x[7] = kept;
  }
  x[7] = 4;
  ck_assert_int_eq(ops->load_data(instance, EP_SPLIT_TRAIN, x, test->y[0], 6, &error), EP_OK);
  ck_assert_int_eq(ops->predict(instance, x, 6, output, &error), EP_OK);
  ops->release(instance);
  ep_case_destroy(test);
}
END_TEST

/* What the executor holds of rows of bytes is counted: six numbers of four bytes each. */
START_TEST(bytes_become_numbers_where_they_are_loaded) {
  ep_case *test = ep_case_create("bytes", 6, EP_LOSS_MSE);
  ep_instance *instance;
  ep_instance_info before, after;
  ep_case_store_bytes(test);
  ep_case_add_linear(test, 2, true);
  ep_case_finish(test, &(ep_case_training){
                           .rows = 10, .batch_size = 5, .shuffle = true, .steps = 1, .lr = 0.1f});
  ck_assert_int_eq(ops->compile(backend, &test->program, "cpu/fused", &instance, NULL), EP_OK);
  ops->instance_info(instance, &before);
  for (int turn = 0; turn < 2; turn++) /* the second takes the place of the first */
    ck_assert_int_eq(ops->load_data(instance, EP_SPLIT_TRAIN, test->x[0], test->y[0], 10, NULL),
                     EP_OK);
  ops->instance_info(instance, &after);
  ck_assert_int_eq(after.bytes - before.bytes, 10 * 6 * 4);
  ops->release(instance);
  ep_case_destroy(test);
}
END_TEST

/* Bytes stay bytes: a row of 6 costs 6, and its two targets 8. */
START_TEST(bytes_cost_a_byte_each) {
  ep_case *test = ep_case_create("bytes", 6, EP_LOSS_MSE);
  ep_instance *instance;
  ep_instance_info before, after;
  ep_case_store_bytes(test);
  ep_case_add_linear(test, 2, true);
  ep_case_finish(test, &(ep_case_training){.rows = 10, .steps = 1, .lr = 0.1f});
  ck_assert_int_eq(ops->compile(backend, &test->program, "cpu/reference", &instance, NULL), EP_OK);
  ops->instance_info(instance, &before);
  ck_assert_int_eq(ops->load_data(instance, EP_SPLIT_TRAIN, test->x[0], test->y[0], 10, NULL),
                   EP_OK);
  ops->instance_info(instance, &after);
  ck_assert_int_eq(after.bytes - before.bytes, 10 * (6 + 8));
  ops->release(instance);
  ep_case_destroy(test);
}
END_TEST

enum { TINY_FEATURES = 64, TINY_ROWS = 4096 }; /* enough rows for all threads */

/* 64 products of 1e-30 and 1e-10 are below the least normal number, in each thread that predicts.
 * They are so even after a sum. */
START_TEST(numbers_below_the_normal_ones_are_zeros) {
  int count;
  const ep_executor *const *executors = ep_cpu_executors(&count);
  if (executors[_i]->profile->ranks) return;
  ep_case *test = ep_case_create("tiny", TINY_FEATURES, EP_LOSS_MSE);
  ep_case_add_linear(test, TINY_FEATURES, false);
  ep_case_finish(test, &(ep_case_training){.rows = TINY_ROWS, .steps = 1, .lr = 0.1f});
  const ep_program *program = &test->program;
  float *weights = malloc((size_t)program->parameters * sizeof *weights);
  float *x = malloc(sizeof *x * TINY_ROWS * TINY_FEATURES);
  float *output = malloc(sizeof *output * TINY_ROWS * TINY_FEATURES);
  for (int64_t i = 0; i < program->parameters; i++) weights[i] = 1e-30f;
  for (int i = 0; i < TINY_ROWS * TINY_FEATURES; i++) x[i] = 1e-10f;
  ep_instance *instance;
  ck_assert_int_eq(ops->compile(backend, program, executors[_i]->profile->name, &instance, NULL),
                   EP_OK);
  ck_assert_int_eq(ops->import_state(instance, weights, NULL, NULL), EP_OK);
  ck_assert_int_eq(ops->predict(instance, x, TINY_ROWS, output, NULL), EP_OK);
  for (int i = 0; i < TINY_ROWS * TINY_FEATURES; i++) {
    uint32_t bits; /* a comparison of floats would flush, too */
    memcpy(&bits, &output[i], sizeof bits);
    ck_assert_uint_eq(bits, 0);
  }
  ops->release(instance);
  free(output);
  free(x);
  free(weights);
  ep_case_destroy(test);
}
END_TEST

START_TEST(data_that_does_not_fit_is_refused) {
  ep_case *test = small_case(EP_LOSS_CROSS_ENTROPY);
  ep_instance *instance;
  float *x = test->x[0], loss[1], lr = 0.1f;
  int32_t *classes = test->y[0], errors[1];
  double mean;
  int64_t misses;
  ck_assert_int_eq(ops->compile(backend, &test->program, NULL, &instance, NULL), EP_OK);
  ep_segment segment = {.steps = 1, .lr = &lr, .lr_count = 1, .loss = loss, .errors = errors};
  ck_assert_int_eq(ops->train_segment(instance, &segment, NULL), EP_CONFLICT);
  ck_assert_int_eq(ops->evaluate(instance, EP_SPLIT_TEST, &mean, &misses, NULL), EP_CONFLICT);
  ck_assert_int_eq(ops->load_data(instance, EP_SPLIT_TRAIN, x, classes, 5, NULL), EP_INVALID);
  ck_assert_int_eq(ops->load_data(instance, EP_SPLIT_TEST, x, classes, 0, NULL), EP_INVALID);
  ep_error error;
  int32_t outside[] = {-1, 3, INT32_MIN, INT32_MAX};
  for (int i = 0; i < 4; i++) {
    int32_t kept = classes[5];
    classes[5] = outside[i];
    ck_assert_int_eq(ops->load_data(instance, EP_SPLIT_TRAIN, x, classes, 6, &error), EP_DATA);
    ck_assert_ptr_nonnull(strstr(error.message, "row 5"));
    classes[5] = kept;
  }
  ck_assert_int_eq(ops->train_segment(instance, &segment, NULL), EP_CONFLICT);
  ck_assert_int_eq(ops->load_data(instance, EP_SPLIT_TRAIN, x, classes, 6, NULL), EP_OK);
  ck_assert_int_eq(ops->train_segment(instance, &segment, NULL), EP_OK);
  segment.lr_count = 2;
  ck_assert_int_eq(ops->train_segment(instance, &segment, NULL), EP_INVALID);
  segment.lr_count = 1;
  segment.first_step = -1;
  ck_assert_int_eq(ops->train_segment(instance, &segment, NULL), EP_INVALID);
  ops->release(instance);
  ep_case_destroy(test);
}
END_TEST

/* What the user sets stays; nothing is named that the processor lacks; once it is set, all is
 * there. */
START_TEST(the_environment_lacks_at_most_the_processor) {
  const char *name, *value;
  setenv("OPENBLAS_CORETYPE", "Nehalem", 1);
  ck_assert(!ep_backend_cpu_lacks(&name, &value));
  unsetenv("OPENBLAS_CORETYPE");
  setenv("EPOCHD_TEST_INSTRUCTION_SET", "baseline", 1);
  ck_assert(!ep_backend_cpu_lacks(&name, &value));
  unsetenv("EPOCHD_TEST_INSTRUCTION_SET");
  if (!ep_backend_cpu_lacks(&name, &value)) return;
  ck_assert_int_ge(ep_instruction_set_detect(), EP_CPU_AVX2);
  setenv(name, value, 1);
  ck_assert(!ep_backend_cpu_lacks(&name, &value));
}
END_TEST

EP_SUITE("cpu") {
  int count;
  ep_cpu_executors(&count);
  TCase *agree = ep_suite_case(suite, "agree");
  tcase_add_checked_fixture(agree, setup, teardown);
  tcase_set_timeout(agree, AGREE_SECONDS);
  tcase_add_loop_test(agree, every_executor_agrees_with_the_reference, 0, count);
  tcase_add_loop_test(agree, errors_follow_argmax_where_outputs_are_equal_or_nan, 0, count);
  tcase_add_test(agree, the_reference_takes_every_case);
  tcase_add_test(agree, the_comparison_can_fail);
  tcase_add_test(agree, floats_compare_by_scale_and_nan_differs);
  tcase_add_test(ep_suite_case(suite, "environment"), the_environment_lacks_at_most_the_processor);
  TCase *backend_case = ep_suite_case(suite, "backend");
  tcase_add_checked_fixture(backend_case, setup, teardown);
  tcase_add_test(backend_case, the_reference_comes_last_and_names_are_apart);
  tcase_add_test(backend_case, there_is_one_device);
  tcase_add_test(backend_case, info_names_the_processor);
  tcase_add_test(backend_case, the_probe_passes_and_can_fail);
  tcase_add_test(backend_case, compile_chooses_by_name_or_says_which_there_are);
  tcase_add_test(backend_case, a_program_that_does_not_fit_is_refused);
  tcase_add_test(backend_case, an_image_program_that_does_not_fit_is_refused);
  tcase_add_test(backend_case, parameters_that_do_not_follow_one_another_are_refused);
  tcase_add_test(backend_case, an_embedding_takes_whole_numbers_that_it_has);
  tcase_add_test(backend_case, bytes_cost_a_byte_each);
  tcase_add_test(backend_case, bytes_become_numbers_where_they_are_loaded);
  tcase_add_test(backend_case, data_that_does_not_fit_is_refused);
  tcase_add_loop_test(backend_case, numbers_below_the_normal_ones_are_zeros, 0, count);
}
