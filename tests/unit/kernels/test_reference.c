/* cpu/reference against numbers worked out by hand: the formulas' values, the optimizer's steps,
 * which rows a batch holds, what evaluate and predict say. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/backend.h"
#include "kernels/cpu/reference/layers.h"
#include "kernels/cpu/reference/losses.h"
#include "kernels/cpu/reference/optimizers.h"
#include "kernels/formulas/losses.h"
#include "kernels/random.h"

#define ck_assert_near(actual, expected) \
  ck_assert_double_eq_tol(actual, expected, 2e-6 * fmax(1, fabs(expected)))

/* Values of torch.nn.functional, to the digits that single precision has. Each layer and loss has
 * at least one row: checked below. */
static const struct {
  ep_layer_type type;
  float x[3], y[3];
} layer_values[] = {
    {EP_LAYER_LINEAR, {1, 2, 3}, {1.5f, -2, 6}}, /* W = diag(1, -1, 2), b = (0.5, 0, 0) */
    {EP_LAYER_RELU, {-1, 0, 2}, {0, 0, 2}},
    {EP_LAYER_LEAKY_RELU, {-1, 0, 2}, {-0.25f, 0, 2}}, /* slope 0.25 */
    {EP_LAYER_TANH, {-1, 0, 0.5f}, {-0.76159416f, 0, 0.46211716f}},
    {EP_LAYER_SIGMOID, {-100, 0, 0.5f}, {0, 0.5f, 0.62245933f}},
    {EP_LAYER_GELU, {-1, 0, 0.5f}, {-0.15865525f, 0, 0.34573123f}},
    {EP_LAYER_SIN, {-1, 0, 0.5f}, {-0.84147098f, 0, 0.47942554f}},
    {EP_LAYER_SOFTMAX, {1, 2, 3}, {0.09003057f, 0.24472847f, 0.66524096f}},
    {EP_LAYER_SOFTMAX, {1000, 1000, -1000}, {0.5f, 0.5f, 0}},
    {EP_LAYER_LOG_SOFTMAX, {1, 2, 3}, {-2.40760596f, -1.40760596f, -0.40760596f}},
    {EP_LAYER_LOG_SOFTMAX, {1000, 1000, -1000}, {-0.69314718f, -0.69314718f, -2000.69314718f}},
};
enum { LAYER_VALUES = sizeof layer_values / sizeof layer_values[0] };

START_TEST(a_layer_gives_the_known_values) {
  const float parameters[12] = {1, 0, 0, 0, -1, 0, 0, 0, 2, 0.5f, 0, 0};
  ep_op op = {.type = layer_values[_i].type,
              .in_features = 3,
              .out_features = 3,
              .weight = 0,
              .bias = 9,
              .negative_slope = 0.25f};
  float y[3];
  ep_reference_layer_of(op.type)->forward(&op, parameters, layer_values[_i].x, 1, y);
  for (int i = 0; i < 3; i++) ck_assert_near(y[i], layer_values[_i].y[i]);
}
END_TEST

/* A maximum must not hide a NaN: the engine ends a job by it. */
START_TEST(a_layer_passes_nan_on) {
  ep_op op = {.type = (ep_layer_type)_i,
              .in_features = 3,
              .out_features = 3,
              .weight = 0,
              .bias = -1,
              .negative_slope = 0.25f};
  float parameters[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1}, y[3];
  for (int place = 0; place < 3; place++) {
    float x[3] = {1, 2, 3};
    x[place] = NAN;
    ep_reference_layer_of(op.type)->forward(&op, parameters, x, 1, y);
    ck_assert_msg(isnan(y[place]), "%s hides a NaN", ep_layer_type_name(_i));
  }
}
END_TEST

/* One row of three outputs; targets or, in the first, a class. The mean is over three or one. */
static const struct {
  ep_loss_type type;
  float output[3], target[3];
  double sum;
  int errors;
  float grad[3]; /* of the sum */
} loss_values[] = {
    {EP_LOSS_MSE, {1, 2, 3}, {1, 0, 4}, 5, 0, {0, 4, -2}},
    {EP_LOSS_MAE, {1, 2, 3}, {1, 0, 4}, 3, 0, {0, 1, -1}},
    {EP_LOSS_HUBER, {1, 2, 3}, {1, 0, 3.5f}, 1.28, 0, {0, 0.7f, -0.5f}}, /* delta 0.7 */
    {EP_LOSS_BCE, {0.5f, 0.2f, 0.9f}, {1, 1, 0}, 4.60517019, 3, {-2, -5, 10}},
    {EP_LOSS_BCE, {0, 1, 0}, {1, 0, 0}, 200, 2, {-1e12f, 1e12f, 0}},
    {EP_LOSS_BCE_WITH_LOGITS,
     {2, -1, 0},
     {0, 0, 1},
     3.13333696,
     2,
     {0.88079708f, 0.26894142f, -0.5f}},
    {EP_LOSS_BCE_WITH_LOGITS, {-200, 200, 200}, {1, 0, 1}, 400, 2, {-1, 1, 0}},
    {EP_LOSS_CROSS_ENTROPY,
     {1, 2, 3},
     {0},
     2.40760596,
     1,
     {-0.90996943f, 0.24472847f, 0.66524096f}},
    {EP_LOSS_CROSS_ENTROPY, {1000, -1000, 1000}, {2}, 0.69314718, 1, {0.5f, 0, -0.5f}},
    {EP_LOSS_CROSS_ENTROPY, {1000, -1000, 1000}, {0}, 0.69314718, 0, {-0.5f, 0, 0.5f}},
    {EP_LOSS_NLL, {-2.5f, -0.5f, -1}, {1}, 0.5, 0, {0, -1, 0}},
    {EP_LOSS_NLL, {-2.5f, -0.5f, -1}, {2}, 1, 1, {0, 0, -1}},
};
enum { LOSS_VALUES = sizeof loss_values / sizeof loss_values[0] };

START_TEST(a_loss_gives_the_known_values) {
  ep_program program = {.loss = loss_values[_i].type, .out_features = 3, .huber_delta = 0.7f};
  bool classes = ep_loss_takes_classes(program.loss);
  int32_t class = (int32_t)loss_values[_i].target[0];
  const void *target = classes ? (const void *)&class : loss_values[_i].target;
  int64_t count = classes ? 1 : 3, errors = 5; /* added to */
  float grad[3];
  double sum = ep_reference_loss(&program, loss_values[_i].output, target, 1, count, grad, &errors);
  ck_assert_near(sum, loss_values[_i].sum);
  ck_assert_int_eq(errors, 5 + loss_values[_i].errors);
  for (int i = 0; i < 3; i++) ck_assert_near(grad[i], loss_values[_i].grad[i] / (double)count);
}
END_TEST

START_TEST(a_loss_passes_nan_on) {
  ep_program program = {.loss = (ep_loss_type)_i, .out_features = 3, .huber_delta = 0.7f};
  bool classes = ep_loss_takes_classes(program.loss);
  float numbers[3] = {0, 1, 0}, output[3] = {0.2f, NAN, 0.3f};
  int32_t class = 1;
  int64_t errors = 0;
  double sum = ep_reference_loss(&program, output, classes ? (const void *)&class : numbers, 1, 3,
                                 NULL, &errors);
  ck_assert_msg(isnan(sum), "%s hides a NaN", ep_loss_type_name(_i));
}
END_TEST

START_TEST(every_word_has_a_known_value) {
  bool layers[EP_LAYER_COUNT] = {false}, losses[EP_LOSS_COUNT] = {false};
  for (int i = 0; i < LAYER_VALUES; i++) layers[layer_values[i].type] = true;
  for (int i = 0; i < LOSS_VALUES; i++) losses[loss_values[i].type] = true;
  for (int i = 0; i < EP_LAYER_COUNT; i++) ck_assert_msg(layers[i], "%s", ep_layer_type_name(i));
  for (int i = 0; i < EP_LOSS_COUNT; i++) ck_assert_msg(losses[i], "%s", ep_loss_type_name(i));
}
END_TEST

/* Two steps of lr 0.5 from p = 1 with gradients 1 and 2, by torch.optim.SGD's algorithm by hand.
 * momentum 0.5: v = 1, 2.5. decay 0.5: g = 1.5 at first. */
static const struct {
  ep_optimizer optimizer;
  float parameters[2], velocity[2];
} steps[] = {
    {{EP_OPTIMIZER_SGD, 0, 0, false}, {0.5f, -0.5f}, {0, 0}},
    {{EP_OPTIMIZER_SGD, 0, 0.5f, false}, {0.25f, -0.8125f}, {0, 0}},
    {{EP_OPTIMIZER_SGD, 0.5f, 0, false}, {0.5f, -0.75f}, {1, 2.5f}},
    {{EP_OPTIMIZER_SGD, 0.5f, 0, true}, {0.25f, -1.375f}, {1, 2.5f}},
    {{EP_OPTIMIZER_SGD, 0.5f, 0.5f, false}, {0.25f, -1.1875f}, {1.5f, 2.875f}},
    {{EP_OPTIMIZER_SGD, 0.5f, 0.5f, true}, {-0.125f, -1.765625f}, {1.5f, 2.6875f}},
};

START_TEST(sgd_takes_the_steps_worked_out_by_hand) {
  const ep_optimizer *optimizer = &steps[_i].optimizer;
  float parameter = 1, velocity = 0, *state = optimizer->momentum != 0 ? &velocity : NULL;
  for (int step = 0; step < 2; step++) {
    double grad = step + 1;
    ep_reference_update(optimizer, 0.5f, 1, &parameter, &grad, state);
    ck_assert_float_eq(parameter, steps[_i].parameters[step]);
    ck_assert_float_eq(velocity, steps[_i].velocity[step]);
  }
}
END_TEST

/* A net that tells which rows it saw: one weight w = 0 and no bias, mae, x = 1, targets above 0:
 * the batch's loss is the mean of its targets as long as w stays 0 (lr 0). Row i's target is 2^i.
 */
enum { ROWS = 11, BATCH = 4, STEPS_PER_EPOCH = 3, EPOCHS = 4 };

typedef struct {
  ep_op op;
  ep_program program;
  float x[ROWS], y[ROWS];
  const ep_backend_ops *ops;
  ep_backend *backend;
  ep_instance *instance;
} teller;

static teller teller_;

static void open_teller(bool shuffle, int64_t batch_size) {
  teller *t = &teller_;
  *t = (teller){.op = {.in_features = 1, .out_features = 1, .weight = 0, .bias = -1},
                .program = {.ops = &t->op,
                            .ops_count = 1,
                            .in_features = 1,
                            .out_features = 1,
                            .target_columns = 1,
                            .parameters = 1,
                            .loss = EP_LOSS_MAE,
                            .train_rows = ROWS,
                            .batch_size = batch_size,
                            .max_predict_rows = 3,
                            .shuffle = shuffle,
                            .seed = 99}};
  for (int i = 0; i < ROWS; i++) {
    t->x[i] = 1;
    t->y[i] = (float)(1 << i);
  }
  t->ops = ep_backend_cpu();
  ck_assert_int_eq(t->ops->open(0, &t->backend, NULL), EP_OK);
  ck_assert_int_eq(t->ops->compile(t->backend, &t->program, "cpu/reference", &t->instance, NULL),
                   EP_OK);
  ck_assert_int_eq(t->ops->load_data(t->instance, EP_SPLIT_TRAIN, t->x, t->y, ROWS, NULL), EP_OK);
}

static void close_teller(void) {
  teller_.ops->release(teller_.instance);
  teller_.ops->close(teller_.backend);
}

static void train_teller(int64_t first, int64_t count, float lr, float *loss) {
  int32_t errors[EPOCHS * STEPS_PER_EPOCH];
  ep_segment segment = {.first_step = first,
                        .steps = count,
                        .lr = &lr,
                        .lr_count = 1,
                        .loss = loss,
                        .errors = errors};
  ck_assert_int_eq(teller_.ops->train_segment(teller_.instance, &segment, NULL), EP_OK);
  for (int64_t i = 0; i < count; i++) ck_assert_int_eq(errors[i], 0);
}

static void check_batches(bool shuffle) {
  float loss[EPOCHS * STEPS_PER_EPOCH];
  bool moved = false;
  open_teller(shuffle, BATCH);
  train_teller(0, EPOCHS * STEPS_PER_EPOCH, 0, loss);
  for (int step = 0; step < EPOCHS * STEPS_PER_EPOCH; step++) {
    ep_permutation order =
        ep_permutation_make(99, EP_RANDOM_SHUFFLE, (uint64_t)(step / STEPS_PER_EPOCH), ROWS);
    uint32_t first = (uint32_t)(step % STEPS_PER_EPOCH * BATCH);
    uint32_t rows = first + BATCH > ROWS ? ROWS - first : BATCH, seen = 0;
    for (uint32_t i = first; i < first + rows; i++) {
      uint32_t row = shuffle ? ep_permutation_at(&order, i) : i;
      moved |= row != i;
      seen |= UINT32_C(1) << row;
    }
    ck_assert_uint_eq((uint32_t)lroundf(loss[step] * (float)rows), seen);
  }
  ck_assert(moved == shuffle);
  close_teller();
}

START_TEST(a_shuffled_batch_holds_the_rows_of_the_permutation) {
  check_batches(true);
}
END_TEST

START_TEST(an_unshuffled_batch_holds_the_rows_in_order) {
  check_batches(false);
}
END_TEST

START_TEST(evaluate_is_the_mean_loss_and_does_not_train) {
  double loss = 0;
  int64_t errors = -1;
  float first = 0, weight = 5;
  open_teller(true, ROWS);
  ck_assert_int_eq(teller_.ops->evaluate(teller_.instance, EP_SPLIT_TRAIN, &loss, &errors, NULL),
                   EP_OK);
  ck_assert_near(loss, ((1 << ROWS) - 1) / (double)ROWS);
  ck_assert_int_eq(errors, 0);
  train_teller(0, 1, 0.125f, &first);
  ck_assert_near(first, loss);
  ck_assert_int_eq(teller_.ops->export_state(teller_.instance, &weight, NULL, NULL), EP_OK);
  ck_assert_float_eq(weight, 0.125f); /* one step, from 0, up the slope of -1 */
  ck_assert_int_eq(
      teller_.ops->load_data(teller_.instance, EP_SPLIT_TEST, teller_.x, teller_.y, 2, NULL),
      EP_OK);
  ck_assert_int_eq(teller_.ops->evaluate(teller_.instance, EP_SPLIT_TEST, &loss, &errors, NULL),
                   EP_OK);
  ck_assert_near(loss, 1.5 - 0.125);
  close_teller();
}
END_TEST

/* More rows than the executor takes at a time, and two columns: y = (row, 3). From zero weights, by
 * hand: loss = (sum row^2 + 9 rows) / (2 rows), and a step of lr 1 leaves the bias at the columns'
 * mean, since d loss / d b_j = 2 / (2 rows) * sum -y_j. */
START_TEST(the_mean_is_over_rows_and_columns) {
  enum { MANY = 300 };
  static float x[MANY], y[MANY][2];
  double square = 0, loss = 0;
  for (int row = 0; row < MANY; row++) {
    y[row][0] = (float)row;
    y[row][1] = 3;
    square += row * row;
  }
  ep_op op = {.in_features = 1, .out_features = 2, .weight = 0, .bias = 2};
  ep_program program = {.ops = &op,
                        .ops_count = 1,
                        .in_features = 1,
                        .out_features = 2,
                        .target_columns = 2,
                        .parameters = 4,
                        .loss = EP_LOSS_MSE,
                        .train_rows = MANY,
                        .batch_size = MANY,
                        .max_predict_rows = 1};
  const ep_backend_ops *ops = ep_backend_cpu();
  ep_backend *backend;
  ep_instance *instance;
  int64_t misses;
  int32_t errors[1];
  float first[1], lr = 1, parameters[4];
  ep_segment segment = {.steps = 1, .lr = &lr, .lr_count = 1, .loss = first, .errors = errors};
  ck_assert_int_eq(ops->open(0, &backend, NULL), EP_OK);
  ck_assert_int_eq(ops->compile(backend, &program, "cpu/reference", &instance, NULL), EP_OK);
  ck_assert_int_eq(ops->load_data(instance, EP_SPLIT_TRAIN, x, y, MANY, NULL), EP_OK);
  ck_assert_int_eq(ops->evaluate(instance, EP_SPLIT_TRAIN, &loss, &misses, NULL), EP_OK);
  ck_assert_near(loss, (square + 9 * MANY) / (2 * MANY));
  ck_assert_int_eq(ops->train_segment(instance, &segment, NULL), EP_OK);
  ck_assert_near(first[0], loss);
  ck_assert_int_eq(ops->export_state(instance, parameters, NULL, NULL), EP_OK);
  ck_assert_float_eq(parameters[0], 0); /* x is zero */
  ck_assert_float_eq(parameters[1], 0);
  ck_assert_near(parameters[2], (MANY - 1) / 2.0);
  ck_assert_near(parameters[3], 3);
  ops->release(instance);
  ops->close(backend);
}
END_TEST

START_TEST(state_goes_out_and_in_and_back) {
  float weight = 3, out = 0, loss, y[ROWS];
  open_teller(false, ROWS);
  ck_assert_int_eq(teller_.ops->export_state(teller_.instance, &out, NULL, NULL), EP_OK);
  ck_assert_float_eq(out, 0); /* zero until import */
  ck_assert_int_eq(teller_.ops->rollback(teller_.instance, NULL), EP_CONFLICT);
  ck_assert_int_eq(teller_.ops->import_state(teller_.instance, &weight, NULL, NULL), EP_OK);
  ck_assert_int_eq(teller_.ops->snapshot(teller_.instance, NULL), EP_OK);
  train_teller(0, 1, 1, &loss);
  ck_assert_int_eq(teller_.ops->export_state(teller_.instance, &out, NULL, NULL), EP_OK);
  ck_assert_float_ne(out, 3);
  for (int again = 0; again < 2; again++) { /* a snapshot serves more than once */
    ck_assert_int_eq(teller_.ops->rollback(teller_.instance, NULL), EP_OK);
    ck_assert_int_eq(teller_.ops->export_state(teller_.instance, &out, NULL, NULL), EP_OK);
    ck_assert_float_eq(out, 3);
    train_teller(0, 1, 1, &loss);
  }
  ck_assert_int_eq(teller_.ops->rollback(teller_.instance, NULL), EP_OK);
  ck_assert_int_eq(teller_.ops->predict(teller_.instance, teller_.y, ROWS, y, NULL), EP_OK);
  for (int i = 0; i < ROWS; i++) ck_assert_float_eq(y[i], 3 * teller_.y[i]);
  close_teller();
}
END_TEST

int main(void) {
  Suite *suite = suite_create("reference");
  TCase *formulas = tcase_create("formulas");
  tcase_add_loop_test(formulas, a_layer_gives_the_known_values, 0, LAYER_VALUES);
  tcase_add_loop_test(formulas, a_layer_passes_nan_on, 0, EP_LAYER_COUNT);
  tcase_add_loop_test(formulas, a_loss_gives_the_known_values, 0, LOSS_VALUES);
  tcase_add_loop_test(formulas, a_loss_passes_nan_on, 0, EP_LOSS_COUNT);
  tcase_add_test(formulas, every_word_has_a_known_value);
  tcase_add_loop_test(formulas, sgd_takes_the_steps_worked_out_by_hand, 0,
                      sizeof steps / sizeof steps[0]);
  suite_add_tcase(suite, formulas);
  TCase *training = tcase_create("training");
  tcase_add_test(training, a_shuffled_batch_holds_the_rows_of_the_permutation);
  tcase_add_test(training, an_unshuffled_batch_holds_the_rows_in_order);
  tcase_add_test(training, evaluate_is_the_mean_loss_and_does_not_train);
  tcase_add_test(training, the_mean_is_over_rows_and_columns);
  tcase_add_test(training, state_goes_out_and_in_and_back);
  suite_add_tcase(suite, training);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_ENV);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
