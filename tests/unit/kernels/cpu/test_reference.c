/* cpu/reference against numbers worked out by hand: the losses' values, the optimizers' steps,
 * which rows a batch holds, what evaluate and predict say. test_layers.c has the layers. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/backend.h"
#include "kernels/cpu/layers/losses.h"
#include "kernels/cpu/layers/optimizers.h"
#include "kernels/formulas/losses.h"
#include "kernels/random.h"
#include "tests/suite.h"

#define ck_assert_near(actual, expected) \
  ck_assert_double_eq_tol(actual, expected, 2e-6 * fmax(1, fabs(expected)))

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
    {EP_LOSS_QUANTILE, {1, 2, 3}, {1, 0, 3.5f}, 0.95, 0, {0, 0.3f, -0.7f}}, /* q 0.7 */
    {EP_LOSS_HUBER, {1, 2, 3}, {1, 0, 3.5f}, 1.28, 0, {0, 0.7f, -0.5f}},    /* delta 0.7 */
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
    {EP_LOSS_FOCAL, /* gamma 0.7 */
     {1, 2, 3},
     {1},
     1.15652035,
     1,
     {0.09758801f, -0.81867130f, 0.72108328f}},
    {EP_LOSS_FOCAL, {1000, 1000, -1000}, {0}, 0.42668214, 0, {-0.45712485f, 0.45712485f, 0}},
    {EP_LOSS_NLL, {-2.5f, -0.5f, -1}, {1}, 0.5, 0, {0, -1, 0}},
    {EP_LOSS_NLL, {-2.5f, -0.5f, -1}, {2}, 1, 1, {0, 0, -1}},
};
enum { LOSS_VALUES = sizeof loss_values / sizeof loss_values[0] };

START_TEST(a_loss_gives_the_known_values) {
  ep_program program = {.loss = loss_values[_i].type, .out_features = 3, .loss_parameter = 0.7f};
  bool classes = ep_loss_takes_classes(program.loss);
  if (program.loss == EP_LOSS_BCE || program.loss == EP_LOSS_BCE_WITH_LOGITS)
    program.loss_parameter = 1;
  int32_t class = (int32_t)loss_values[_i].target[0];
  const void *target = classes ? (const void *)&class : loss_values[_i].target;
  int64_t errors = 5; /* added to */
  double count = classes ? 1 : 3;
  float grad[3];
  double sum = ep_reference_loss(&program, loss_values[_i].output, target, 1, count, grad, &errors);
  ck_assert_near(sum, loss_values[_i].sum);
  ck_assert_int_eq(errors, 5 + loss_values[_i].errors);
  for (int i = 0; i < 3; i++) ck_assert_near(grad[i], loss_values[_i].grad[i] / count);
}
END_TEST

/* torch.nn.functional.binary_cross_entropy_with_logits of (2, -1, 0.5) and (0, 1, 1) with
 * pos_weight 3 is the sum of ln(1 + e^2) = 2.12692801, 3 ln(1 + e) = 3.93978506 and 3 ln(1 +
 * e^-0.5) = 1.42223092; the same of probabilities (0.5, 0.25): ln 2 and 3 ln 4. */
START_TEST(a_positive_weight_gives_the_known_values) {
  ep_program program = {.loss = EP_LOSS_BCE_WITH_LOGITS, .out_features = 3, .loss_parameter = 3};
  const float output[3] = {2, -1, 0.5f}, target[3] = {0, 1, 1};
  int64_t errors = 0;
  float grad[3];
  ck_assert_near(ep_reference_loss(&program, output, target, 1, 1, grad, &errors),
                 2.12692801 + 3.93978506 + 1.42223092);
  ck_assert_int_eq(errors, 2);
  ck_assert_near(grad[0], 0.88079708);
  ck_assert_near(grad[1], 3 * (0.26894142 - 1));
  ck_assert_near(grad[2], 3 * (0.62245933 - 1));
  const float probabilities[2] = {0.5f, 0.25f}, classes[2] = {0, 1};
  program.loss = EP_LOSS_BCE;
  program.out_features = 2;
  ck_assert_near(ep_reference_loss(&program, probabilities, classes, 1, 1, grad, &errors),
                 0.69314718 + 3 * 1.38629436);
  ck_assert_near(grad[0], 2);
  ck_assert_near(grad[1], -12);
}
END_TEST

/* Classes 0 and 2 of three with weights 1, 2, 4. Log-probabilities of (1, 2, 3): -2.40760596,
 * -1.40760596, -0.40760596. Smoothing 0.3: 0.7 of the class's own, 0.1 of each; by torch's formula:
 * 0.7 * (1 * 2.40760596 + 4 * 0.40760596) + 2 * 0.1 * (2.40760596 + 2 * 1.40760596 + 4 *
 * 0.40760596), over 1 + 4. */
START_TEST(smoothing_and_class_weights_give_the_known_values) {
  const float weights[3] = {1, 2, 4};
  const float output[6] = {1, 2, 3, 1, 2, 3};
  const int32_t classes[2] = {0, 2};
  ep_program program = {.loss = EP_LOSS_CROSS_ENTROPY,
                        .out_features = 3,
                        .target_columns = 1,
                        .label_smoothing = 0.3f,
                        .class_weights = weights};
  double divisor = ep_reference_loss_share(&program, &classes[0]) +
                   ep_reference_loss_share(&program, &classes[1]);
  int64_t errors = 0;
  ck_assert_double_eq(divisor, 5);
  double own = 0.7 * (2.40760596 + 4 * 0.40760596);
  double spread = 0.1 * (2.40760596 + 2 * 1.40760596 + 4 * 0.40760596);
  ck_assert_near(ep_reference_loss(&program, output, classes, 2, divisor, NULL, &errors),
                 own + 2 * spread);
  ck_assert_int_eq(errors, 1);
  program.label_smoothing = 0;
  ck_assert_near(ep_reference_loss(&program, output, classes, 2, divisor, NULL, &errors),
                 own / 0.7);
  program.loss = EP_LOSS_NLL;
  ck_assert_near(ep_reference_loss(&program, output, classes, 2, divisor, NULL, &errors),
                 -1 - 4 * 3);
}
END_TEST

START_TEST(a_loss_passes_nan_on) {
  ep_program program = {.loss = (ep_loss_type)_i, .out_features = 3, .loss_parameter = 0.7f};
  bool classes = ep_loss_takes_classes(program.loss);
  float numbers[3] = {0, 1, 0}, output[3] = {0.2f, NAN, 0.3f};
  int32_t class = 1;
  int64_t errors = 0;
  double sum = ep_reference_loss(&program, output, classes ? (const void *)&class : numbers, 1, 3,
                                 NULL, &errors);
  ck_assert_msg(isnan(sum), "%s hides a NaN", ep_loss_type_name(_i));
}
END_TEST

/* Two steps of lr 0.5 from p = 1 with gradients 1 and 2, by torch.optim's algorithms by hand (lion:
 * by its paper's). sgd: momentum 0.5: v = 1, 2.5; decay 0.5: g = 1.5 at first. All but lion: eps
 * 0.125; betas 0.5 and 0.75, alpha 0.75. */
#define SGD EP_OPTIMIZER_SGD
#define BETAS .beta1 = 0.5f, .beta2 = 0.75f, .eps = 0.125f
#define RMSPROP EP_OPTIMIZER_RMSPROP, .alpha = 0.75f, .eps = 0.125f
static const struct {
  ep_optimizer optimizer;
  float decay;
  float parameters[2];
  float state[3]; /* after both */
} steps[] = {
    {{SGD}, 0, {0.5f, -0.5f}, {0}},
    {{SGD}, 0.5f, {0.25f, -0.8125f}, {0}},
    {{SGD, .momentum = 0.5f}, 0, {0.5f, -0.75f}, {2.5f}},
    {{SGD, .momentum = 0.5f, .nesterov = true}, 0, {0.25f, -1.375f}, {2.5f}},
    {{SGD, .momentum = 0.5f}, 0.5f, {0.25f, -1.1875f}, {2.875f}},
    {{SGD, .momentum = 0.5f, .nesterov = true}, 0.5f, {-0.125f, -1.765625f}, {2.6875f}},
    {{EP_OPTIMIZER_ADAM, BETAS}, 0, {0.555555556f, 0.0854121822f}, {1.25f, 1.1875f}},
    {{EP_OPTIMIZER_ADAM, BETAS}, 0.5f, {0.538461538f, 0.059575186f}, {1.50961538f, 1.70922707f}},
    {{EP_OPTIMIZER_ADAMW, BETAS}, 0.5f, {0.305555556f, -0.240976707f}, {1.25f, 1.1875f}},
    {{RMSPROP}, 0, {0.2f, -0.623231775f}, {1.1875f}},
    {{RMSPROP, .momentum = 0.5f}, 0.5f, {0.142857143f, -1.05431643f}, {1.49457908f, 2.39434715f}},
    {{RMSPROP, .centered = true}, 0, {0.103963049f, -0.926450292f}, {1.1875f, 0.6875f}},
    {{RMSPROP, .momentum = 0.5f, .centered = true},
     0,
     {0.103963049f, -1.37446877f},
     {1.1875f, 0.6875f, 2.95686363f}},
    {{EP_OPTIMIZER_ADAGRAD, .eps = 0.125f}, 0, {0.555555556f, 0.132018406f}, {5}},
    {{EP_OPTIMIZER_ADAGRAD, .eps = 0.125f, .decay = 0.5f},
     0.5f,
     {0.538461538f, 0.272605306f},
     {7.39940828f}},
    {{EP_OPTIMIZER_NADAM, BETAS, .decay = 0.5f},
     0,
     {0.493674225f, -0.0485215444f},
     {1.25f, 1.1875f, 0.933686733f}},
    {{EP_OPTIMIZER_NADAM, BETAS},
     0.5f,
     {0.476923077f, -0.04441922f},
     {1.49423077f, 1.67455251f, 0.9375f}},
    {{EP_OPTIMIZER_ADAMAX, BETAS}, 0, {0.555555556f, 0.163398693f}, {1.25f, 2.125f}},
    {{EP_OPTIMIZER_ADAMAX, BETAS}, 0.5f, {0.538461538f, 0.118113480f}, {1.50961538f, 2.39423077f}},
    {{EP_OPTIMIZER_LION, BETAS}, 0, {0.5f, 0}, {0.6875f}},
    {{EP_OPTIMIZER_LION, BETAS}, 0.5f, {0.25f, -0.3125f}, {0.6875f}},
};
enum { STEPS = sizeof steps / sizeof steps[0] };

START_TEST(an_optimizer_takes_the_steps_worked_out_by_hand) {
  ep_parameter_group group = {.count = 1, .weight_decay = steps[_i].decay};
  ep_program program = {
      .parameters = 1, .groups = &group, .groups_count = 1, .optimizer = steps[_i].optimizer};
  float parameter = 1, state[3] = {0};
  for (int step = 0; step < 2; step++) {
    double grad = step + 1;
    ep_reference_update(&program, step, 0.5f, &parameter, &grad, state);
    ck_assert_near(parameter, steps[_i].parameters[step]);
  }
  for (int i = 0; i < 3; i++) ck_assert_near(state[i], steps[_i].state[i]);
}
END_TEST

/* Plain SGD of lr 1 from zero shows what is left of the gradients. */
static void check_clipped(float clip_norm, float clip_value, bool frozen, const float expected[4]) {
  ep_parameter_group groups[3] = {{0, 1, 0, false}, {1, 1, 0, frozen}, {2, 2, 0, false}};
  ep_program program = {.parameters = 4,
                        .groups = groups,
                        .groups_count = 3,
                        .optimizer = {.clip_norm = clip_norm, .clip_value = clip_value}};
  const double grad[4] = {3, 4, 0, -12};
  float parameters[4] = {0}, none;
  ep_reference_update(&program, 0, 1, parameters, grad, &none);
  for (int i = 0; i < 4; i++) ck_assert_near(parameters[i], expected[i]);
}

START_TEST(gradients_are_clipped_by_norm_then_by_value) {
  check_clipped(0, 0, false, (float[]){-3, -4, 0, 12});
  check_clipped(6.5f, 0, false, (float[]){-1.5f, -2, 0, 6}); /* the norm is 13 */
  check_clipped(14, 0, false, (float[]){-3, -4, 0, 12});
  check_clipped(0, 3.5f, false, (float[]){-3, -3.5f, 0, 3.5f});
  check_clipped(6.5f, 3, false, (float[]){-1.5f, -2, 0, 3});
  float half = sqrtf(3 * 3 + 12 * 12) / 2; /* without the frozen one */
  check_clipped(half, 0, true, (float[]){-1.5f, 0, 0, 6});
}
END_TEST

/* What is frozen keeps its optimizer's state as well. */
START_TEST(groups_decay_and_freeze) {
  ep_parameter_group groups[3] = {{0, 1, 0.5f, false}, {1, 1, 0, false}, {2, 1, 0.5f, true}};
  ep_program program = {
      .parameters = 3, .groups = groups, .groups_count = 3, .optimizer = {.momentum = 0.5f}};
  const double grad[3] = {1, 1, 1};
  float parameters[3] = {2, 2, 2}, state[3] = {0};
  ep_reference_update(&program, 0, 1, parameters, grad, state);
  const float moved[3] = {0, 1, 2}, velocity[3] = {2, 1, 0};
  for (int i = 0; i < 3; i++) {
    ck_assert_float_eq(parameters[i], moved[i]);
    ck_assert_float_eq(state[i], velocity[i]);
  }
}
END_TEST

START_TEST(every_loss_and_optimizer_has_a_known_value) {
  bool losses[EP_LOSS_COUNT] = {false}, optimizers[EP_OPTIMIZER_COUNT] = {false};
  for (int i = 0; i < LOSS_VALUES; i++) losses[loss_values[i].type] = true;
  for (int i = 0; i < STEPS; i++) optimizers[steps[i].optimizer.type] = true;
  for (int i = 0; i < EP_LOSS_COUNT; i++) ck_assert_msg(losses[i], "%s", ep_loss_type_name(i));
  for (int i = 0; i < EP_OPTIMIZER_COUNT; i++) {
    ck_assert_msg(optimizers[i], "%s", ep_optimizer_type_name(i));
  }
}
END_TEST

/* A net that tells which rows it saw: one weight w = 0 and no bias, mae, x = 1, targets above 0:
 * the batch's loss is the mean of its targets as long as w stays 0 (lr 0). Row i's target is 2^i.
 */
enum { ROWS = 11, BATCH = 4, STEPS_PER_EPOCH = 3, EPOCHS = 4 };

typedef struct {
  ep_op op;
  ep_parameter_group group;
  ep_program program;
  float x[ROWS], y[ROWS];
  const ep_backend_ops *ops;
  ep_backend *backend;
  ep_instance *instance;
} teller;

static teller teller_;

static void open_teller(bool shuffle, int64_t batch_size) {
  teller *t = &teller_;
  *t = (teller){.op = {.inputs = 1,
                       .in = {1, 1, 1},
                       .out = {1, 1, 1},
                       .in_features = 1,
                       .out_features = 1,
                       .weight = 0,
                       .bias = -1},
                .group = {.count = 1},
                .program = {.ops = &t->op,
                            .ops_count = 1,
                            .stored = {1, 1, 1},
                            .in = {1, 1, 1},
                            .groups = &t->group,
                            .groups_count = 1,
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
  ep_op op = {.inputs = 1,
              .in = {1, 1, 1},
              .out = {2, 1, 1},
              .in_features = 1,
              .out_features = 2,
              .weight = 0,
              .bias = 2};
  ep_parameter_group group = {.count = 4};
  ep_program program = {.ops = &op,
                        .ops_count = 1,
                        .stored = {1, 1, 1},
                        .in = {1, 1, 1},
                        .groups = &group,
                        .groups_count = 1,
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

EP_SUITE("reference") {
  TCase *formulas = ep_suite_case(suite, "formulas");
  tcase_add_test(formulas, smoothing_and_class_weights_give_the_known_values);
  tcase_add_test(formulas, a_positive_weight_gives_the_known_values);
  tcase_add_loop_test(formulas, a_loss_gives_the_known_values, 0, LOSS_VALUES);
  tcase_add_loop_test(formulas, a_loss_passes_nan_on, 0, EP_LOSS_COUNT);
  tcase_add_test(formulas, every_loss_and_optimizer_has_a_known_value);
  tcase_add_loop_test(formulas, an_optimizer_takes_the_steps_worked_out_by_hand, 0, STEPS);
  tcase_add_test(formulas, gradients_are_clipped_by_norm_then_by_value);
  tcase_add_test(formulas, groups_decay_and_freeze);
  TCase *training = ep_suite_case(suite, "training");
  tcase_add_test(training, a_shuffled_batch_holds_the_rows_of_the_permutation);
  tcase_add_test(training, an_unshuffled_batch_holds_the_rows_in_order);
  tcase_add_test(training, evaluate_is_the_mean_loss_and_does_not_train);
  tcase_add_test(training, the_mean_is_over_rows_and_columns);
  tcase_add_test(training, state_goes_out_and_in_and_back);
}
