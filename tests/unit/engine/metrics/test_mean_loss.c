/* The loss that is taken from outputs agrees with what a backend's evaluate says. */
#include "engine/metrics/mean_loss.h"

#include <math.h>

#include "kernels/backend.h"
#include "tests/suite.h"

enum { ROWS = 37, COLUMNS = 5 };

static const float weights[COLUMNS] = {0.5f, 3, 1, 0, 2.25f};

static const struct {
  ep_loss_type loss;
  float smoothing;
  const float *weights;
} cases[] = {
    {EP_LOSS_MSE, 0, NULL},
    {EP_LOSS_MAE, 0, NULL},
    {EP_LOSS_HUBER, 0, NULL},
    {EP_LOSS_BCE, 0, NULL},
    {EP_LOSS_BCE_WITH_LOGITS, 0, NULL},
    {EP_LOSS_CROSS_ENTROPY, 0, NULL},
    {EP_LOSS_CROSS_ENTROPY, 0.2f, NULL},
    {EP_LOSS_CROSS_ENTROPY, 0, weights},
    {EP_LOSS_CROSS_ENTROPY, 0.2f, weights},
    {EP_LOSS_NLL, 0, NULL},
    {EP_LOSS_NLL, 0, weights},
    {EP_LOSS_FOCAL, 0, NULL},
    {EP_LOSS_FOCAL, 0, weights},
};
enum { CASES = sizeof cases / sizeof cases[0] };

static ep_program program_of(int number) {
  ep_shape row = {COLUMNS, 1, 1};
  ep_loss_type loss = cases[number].loss;
  return (ep_program){.stored = row,
                      .in = row,
                      .in_features = COLUMNS,
                      .out_features = COLUMNS,
                      .target_columns = ep_loss_takes_classes(loss) ? 1 : COLUMNS,
                      .loss = loss,
                      .loss_parameter = 0.7f,
                      .label_smoothing = cases[number].smoothing,
                      .class_weights = cases[number].weights,
                      .optimizer = {.type = EP_OPTIMIZER_SGD},
                      .train_rows = ROWS,
                      .batch_size = ROWS,
                      .max_predict_rows = ROWS};
}

/* Numbers in (0, 1), which every loss takes; log-probabilities are below 0. */
static void values_make(float *x, float *y, int32_t *classes, bool negative) {
  for (int i = 0; i < ROWS * COLUMNS; i++) {
    float value = 0.5f + 0.49f * (float)sin(1.7 * i);
    x[i] = negative ? -3 * value : value;
    y[i] = (float)(i % 3 == 0);
  }
  for (int i = 0; i < ROWS; i++) classes[i] = i * 7 % COLUMNS;
}

/* A network without layers gives back its rows. */
START_TEST(outputs_have_the_loss_that_evaluate_gives) {
  static const char *const executors[] = {"cpu/reference", "cpu/blocked"};
  float x[ROWS * COLUMNS], y[ROWS * COLUMNS], outputs[ROWS * COLUMNS];
  int32_t classes[ROWS];
  const ep_backend_ops *ops = ep_backend_cpu();
  ep_program program = program_of(_i);
  ep_backend *backend = NULL;
  ep_error error = {0};
  values_make(x, y, classes, program.loss == EP_LOSS_NLL);
  const void *targets = ep_loss_takes_classes(program.loss) ? (const void *)classes : y;
  ck_assert_int_eq(ops->open(0, &backend, &error), EP_OK);
  for (int i = 0; i < 2; i++) {
    ep_instance *instance = NULL;
    double loss;
    int64_t errors;
    ck_assert_msg(ops->compile(backend, &program, executors[i], &instance, &error) == EP_OK, "%s",
                  error.message);
    ck_assert_int_eq(ops->load_data(instance, EP_SPLIT_TRAIN, x, targets, ROWS, &error), EP_OK);
    ck_assert_int_eq(ops->evaluate(instance, EP_SPLIT_TRAIN, &loss, &errors, &error), EP_OK);
    ck_assert_int_eq(ops->predict(instance, x, ROWS, outputs, &error), EP_OK);
    ck_assert_double_gt(loss, 0.01);
    ck_assert_double_eq_tol(ep_mean_loss(&program, outputs, targets, ROWS), loss, 1e-6 * loss);
    ops->release(instance);
  }
  ops->close(backend);
}
END_TEST

START_TEST(large_logits_do_not_overflow) {
  const float logits[2 * COLUMNS] = {1000, -1000, 1000, -2000, -INFINITY, 0, 0, 0, 0, 0};
  const int32_t classes[2] = {0, 1};
  ep_program program = {.loss = EP_LOSS_CROSS_ENTROPY, .out_features = COLUMNS};
  ck_assert_double_eq_tol(ep_mean_loss(&program, logits, classes, 2), 0.5 * (log(2) + log(5)),
                          1e-12);
}
END_TEST

EP_SUITE("mean_loss") {
  TCase *tests = ep_suite_case(suite, "mean_loss");
  tcase_add_loop_test(tests, outputs_have_the_loss_that_evaluate_gives, 0, CASES);
  tcase_add_test(tests, large_logits_do_not_overflow);
}
