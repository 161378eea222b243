/* The layers of cpu/reference, and how rows come in, against numbers worked out by hand. */
#include <math.h>
#include <stdlib.h>

#include "kernels/cpu/layers/batch.h"
#include "kernels/cpu/layers/layers.h"
#include "kernels/operators/operator.h"
#include "kernels/random.h"
#include "tests/suite.h"

#define ck_assert_near(actual, expected) \
  ck_assert_double_eq_tol(actual, expected, 2e-6 * fmax(1, fabs(expected)))

/* Runs one layer forwards on one row, its parameters and buffers those given (its weight first, its
 * bias, if any, where the op says). */
static void forward(const ep_op *op, const float *parameters, float *buffers, bool training,
                    int64_t rows, const float *x, float *y) {
  ep_reference_pass pass = {
      .parameters = parameters, .buffers = buffers, .rows = rows, .training = training};
  const float *inputs[EP_OP_INPUTS] = {x, x, x, x};
  ep_reference_layer_of(op->type)->forward(&pass, op, inputs, y);
}

/* Values of torch.nn.functional, to the digits that single precision has. Each layer has at
 * least one row here or in image_values: checked below. */
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
    {EP_LAYER_ELU, {-1, 0, 2}, {-1.26424112f, 0, 2}}, /* alpha 2 */
    {EP_LAYER_ELU, {-200, 1e-6f, -1e-6f}, {-2, 1e-6f, -2e-6f}},
    {EP_LAYER_HARDSWISH, {-4, 0, 4}, {0, 0, 4}},
    {EP_LAYER_HARDSWISH, {-1.5f, -200, 1}, {-0.375f, 0, 0.66666667f}},
    {EP_LAYER_SELU, {-1, 0, 2}, {-1.11133073f, 0, 2.10140197f}},
    {EP_LAYER_SELU, {-200, 1e-6f, -1e-6f}, {-1.75809934f, 1.05070099e-6f, -1.75809846e-6f}},
    {EP_LAYER_HARDSIGMOID, {-1, 0, 2}, {0.33333333f, 0.5f, 0.83333333f}},
    {EP_LAYER_HARDSIGMOID, {-3, 3, 200}, {0, 1, 1}},
    {EP_LAYER_SOFTSIGN, {-1, 0, 3}, {-0.5f, 0, 0.75f}},
    {EP_LAYER_SOFTSIGN, {-1e30f, 1e30f, 1e-6f}, {-1, 1, 9.99999e-7f}},
    {EP_LAYER_MISH, {-1, 0, 2}, {-0.30340146f, 0, 1.9439590f}},
    {EP_LAYER_MISH, {-200, 200, 1}, {0, 200, 0.86509839f}},
    {EP_LAYER_SILU, {-1, 0, 2}, {-0.26894142f, 0, 1.76159416f}},
    {EP_LAYER_SILU, {-200, 200, 1}, {0, 200, 0.73105858f}},
    {EP_LAYER_SOFTPLUS, {-1, 0, 2}, {0.06346401f, 0.34657359f, 2}}, /* beta 2, threshold 3 */
    {EP_LAYER_SOFTPLUS, {-200, 1.5f, 1.51f}, {0, 1.52429365f, 1.51f}},
    {EP_LAYER_FLATTEN, {1, 2, 3}, {1, 2, 3}},
    {EP_LAYER_DROPOUT, {1, 2, 3}, {1, 2, 3}}, /* in evaluation */
    {EP_LAYER_DROPOUT2D, {1, 2, 3}, {1, 2, 3}},
    {EP_LAYER_ADD, {1, 2, 3}, {2, 4, 6}}, /* both inputs are x */
    {EP_LAYER_MUL, {1, 2, 3}, {1, 4, 9}},
    {EP_LAYER_CONCAT, {1, 2, 3}, {1, 2, 1}}, /* two of the one, one of the other */
    {EP_LAYER_SLICE, {1, 2, 3}, {1, 2, 3}},
    {EP_LAYER_RESHAPE, {1, 2, 3}, {1, 2, 3}},
    {EP_LAYER_PERMUTE, {1, 2, 3}, {1, 2, 3}},
    {EP_LAYER_LAYER_NORM, {1, 2, 6}, {-0.9258201f, 0.46291005f, 2.7774603f}},
    {EP_LAYER_BATCH_NORM, {3, 0, 1}, {1, -2, 0}}, /* means 1, -2, 1, variances 4, 1, 9 */
};
enum { LAYER_VALUES = sizeof layer_values / sizeof layer_values[0] };

/* A layer between two rows of three, with some of everything. */
static ep_op three_features(ep_layer_type type) {
  return (ep_op){
      .type = type,
      .in = {3, 1, 1},
      .out = {3, 1, 1},
      .in_features = 3,
      .out_features = 3,
      .weight = 0,
      .bias = 9,
      .negative_slope = 0.25f,
      .alpha = 2,
      .beta = 2,
      .threshold = 3,
      .p = 0.5f,
      .kernel = {1, 1},
      .stride = {1, 1},
      .dilation = {1, 1},
      .groups = 1,
      .order = {0, 1, 2},
      .length = {2, 1},
      .inputs = type == EP_LAYER_ADD || type == EP_LAYER_MUL || type == EP_LAYER_CONCAT ? 2 : 1,
      .embeddings = 3};
}

START_TEST(a_layer_gives_the_known_values) {
  const float diagonal[12] = {1, 0, 0, 0, -1, 0, 0, 0, 2, 0.5f, 0, 0};
  const float norm[12] = {1, -1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  float buffers[6] = {1, -2, 1, 4, 1, 9}, y[3];
  ep_op op = three_features(layer_values[_i].type);
  bool is_norm = op.type == EP_LAYER_BATCH_NORM || op.type == EP_LAYER_LAYER_NORM;
  forward(&op, is_norm ? norm : diagonal, buffers, false, 1, layer_values[_i].x, y);
  for (int i = 0; i < 3; i++) ck_assert_near(y[i], layer_values[_i].y[i]);
}
END_TEST

/* A maximum must not hide a NaN: the engine ends a job by it. An embedding has no row for one: it
 * is refused at the door (test_cpu.c). */
START_TEST(a_layer_passes_nan_on) {
  ep_op op = three_features((ep_layer_type)_i);
  float parameters[64], buffers[6] = {0, 0, 0, 1, 1, 1};
  for (int i = 0; i < 64; i++) parameters[i] = 1;
  if (op.type == EP_LAYER_EMBEDDING || ep_layer_operator(op.type) != op.type) return;
  for (int place = 0; place < 3; place++) {
    float x[3] = {1, 2, 3}, y[3];
    x[place] = NAN;
    forward(&op, parameters, buffers, false, 1, x, y);
    const int first = op.type == EP_LAYER_CONCAT ? place % 2 : place;
    if (op.type == EP_LAYER_CONCAT && place == 2) continue; /* it is not there */
    ck_assert_msg(isnan(y[first]), "%s hides a NaN", ep_layer_type_name(_i));
  }
}
END_TEST

START_TEST(a_maximum_passes_nan_on) {
  ep_op op = three_features(EP_LAYER_MAX_POOL2D);
  op.in = (ep_shape){1, 1, 3};
  op.out = (ep_shape){1, 1, 1};
  op.kernel[1] = 3;
  for (int place = 0; place < 3; place++) {
    float x[3] = {1, 2, 3}, y;
    x[place] = NAN;
    forward(&op, NULL, NULL, true, 1, x, &y);
    ck_assert(isnan(y));
  }
}
END_TEST

/* x is 1, 2, 3 …, W is 1, 2, 3 …; by hand. */
static const struct {
  ep_op op;
  float sign; /* of x */
  float y[12];
} image_values[] = {
    {{EP_LAYER_CONV2D,
      {1, 3, 3},
      {1, 2, 2},
      .kernel = {2, 2},
      .stride = {1, 1},
      .dilation = {1, 1},
      .groups = 1,
      .bias = 4},
     1,
     {42, 52, 72, 82}}, /* 1 + 4 + 12 + 20 and so on, and b = 5 */
    {{EP_LAYER_CONV2D,
      {1, 3, 3},
      {1, 2, 2},
      .kernel = {2, 2},
      .stride = {2, 2},
      .padding = {1, 1},
      .dilation = {1, 1},
      .groups = 1,
      .bias = -1},
     1,
     {4, 18, 36, 77}},
    {{EP_LAYER_CONV2D,
      {1, 3, 3},
      {1, 1, 1},
      .kernel = {2, 2},
      .stride = {1, 1},
      .dilation = {2, 2},
      .groups = 1,
      .bias = -1},
     1,
     {64}},
    {{EP_LAYER_CONV2D,
      {2, 1, 2},
      {4, 1, 2},
      .kernel = {1, 1},
      .stride = {1, 1},
      .dilation = {1, 1},
      .groups = 2,
      .bias = -1},
     1,
     {1, 2, 2, 4, 9, 12, 12, 16}},
    {{EP_LAYER_CONV2D,
      {2, 1, 2},
      {2, 1, 1},
      .kernel = {1, 2},
      .stride = {1, 1},
      .dilation = {1, 1},
      .groups = 1,
      .bias = 8},
     1,
     {39, 80}}, /* 1 + 4 + 9 + 16 + 9, 5 + 12 + 21 + 32 + 10 */
    {{EP_LAYER_MAX_POOL2D,
      {1, 3, 3},
      {1, 2, 2},
      .kernel = {2, 2},
      .stride = {1, 1},
      .dilation = {1, 1}},
     1,
     {5, 6, 8, 9}},
    {{EP_LAYER_MAX_POOL2D,
      {1, 3, 3},
      {1, 2, 2},
      .kernel = {2, 2},
      .stride = {2, 2},
      .padding = {1, 1},
      .dilation = {1, 1}},
     -1,
     {-1, -2, -4, -5}}, /* padding is no 0 */
    {{EP_LAYER_MAX_POOL2D,
      {1, 3, 3},
      {1, 1, 1},
      .kernel = {2, 2},
      .stride = {1, 1},
      .dilation = {2, 2}},
     -1,
     {-1}},
    {{EP_LAYER_AVG_POOL2D,
      {1, 3, 3},
      {1, 2, 2},
      .kernel = {2, 2},
      .stride = {2, 2},
      .padding = {1, 1}},
     1,
     {0.25f, 1.25f, 2.75f, 7}}, /* padding is counted */
    {{EP_LAYER_ADAPTIVE_AVG_POOL2D, {1, 3, 3}, {1, 2, 2}, .bias = -1}, 1, {3, 4, 6, 7}},
    {{EP_LAYER_ADAPTIVE_AVG_POOL2D, {2, 2, 2}, {2, 1, 1}, .bias = -1}, 1, {2.5f, 6.5f}},
    {{EP_LAYER_ADAPTIVE_AVG_POOL2D, {1, 1, 2}, {1, 1, 3}, .bias = -1}, 1, {1, 1.5f, 2}},
    {{EP_LAYER_EMBEDDING, {2, 1, 1}, {4, 1, 1}, .embeddings = 3}, 1, {3, 4, 5, 6}},
    {{EP_LAYER_EMBEDDING, {2, 1, 1}, {3, 1, 1}, .embeddings = 3, .numbers = 1}, 1, {1, 5, 6}},
    {{EP_LAYER_UNFOLD,
      {1, 2, 3},
      {2, 1, 4},
      .kernel = {1, 2},
      .stride = {1, 1},
      .dilation = {1, 1}},
     1,
     {1, 2, 4, 5, 2, 3, 5, 6}},
    {{EP_LAYER_INSTANCE_NORM, {2, 1, 2}, {2, 1, 2}, .bias = 2, .eps = 0.75f},
     1,
     {2.5f, 3.5f, 3, 5}}, /* of -0.5 and 0.5 */
    {{EP_LAYER_GRU, {1, 1, 2}, {1, 1, 2}, .parameter = {0, 3, -1, -1}},
     -1,
     {-0.87644132f, -0.99995995f}}, /* weights 1, 2, 3 and 4, 5, 6 */
};
enum { IMAGE_VALUES = sizeof image_values / sizeof image_values[0] };

START_TEST(an_image_gives_the_known_values) {
  ep_op op = image_values[_i].op;
  float x[12], parameters[12], y[12];
  op.in_features = ep_shape_count(op.in);
  op.out_features = ep_shape_count(op.out);
  for (int i = 0; i < 12; i++) {
    x[i] = image_values[_i].sign * (float)(i + 1);
    parameters[i] = (float)(i + 1);
  }
  forward(&op, parameters, NULL, true, 1, x, y);
  for (int i = 0; i < op.out_features; i++) ck_assert_near(y[i], image_values[_i].y[i]);
}
END_TEST

/* Two rows of two channels of one pixel: 1 and 3, 5 and 5. Momentum 0.25 from mean 10, variance 4:
 * the means are 2 and 5, the unbiased variances 2 and 0. */
START_TEST(batch_norm_moves_its_running_statistics) {
  ep_op op = {EP_LAYER_BATCH_NORM, {2, 1, 1},  {2, 1, 1}, .in_features = 2, .out_features = 2,
              .weight = -1,        .bias = -1, .eps = 1,  .momentum = 0.25f};
  const float x[4] = {1, 5, 3, 5};
  float buffers[4] = {10, 10, 4, 4}, y[4];
  forward(&op, NULL, buffers, true, 2, x, y);
  const float expected[4] = {-0.70710678f, 0, 0.70710678f, 0}, moved[4] = {8, 8.75f, 3.5f, 3};
  for (int i = 0; i < 4; i++) {
    ck_assert_near(y[i], expected[i]);
    ck_assert_near(buffers[i], moved[i]);
  }
  forward(&op, NULL, buffers, false, 2, x, y); /* evaluation moves nothing */
  for (int i = 0; i < 4; i++) ck_assert_near(buffers[i], moved[i]);
  ck_assert_near(y[0], (1 - 8) / sqrt(3.5 + 1));
  forward(&op, NULL, buffers, true, 1, x, y); /* one number has no variance to move to */
  ck_assert_near(buffers[0], 0.75 * 8 + 0.25);
  ck_assert_near(buffers[2], 3.5);
}
END_TEST

/* program.h's words: word element % 4 of (seed, DROPOUT, step, layer << 40 | element / 4), as a
 * float, is at least p. `channels` of `pixels` numbers each; a piece that begins at row 3. */
static void check_masks(ep_layer_type type, int64_t channels, int64_t pixels, float p) {
  enum { MASK_ROWS = 5, FIRST = 3 };
  ep_op op = {.type = type,
              .in = {channels, 1, pixels},
              .out = {channels, 1, pixels},
              .in_features = channels * pixels,
              .out_features = channels * pixels,
              .p = p,
              .layer = 6};
  float x[MASK_ROWS * 24], y[MASK_ROWS * 24];
  ep_reference_pass pass = {
      .rows = MASK_ROWS, .first_row = FIRST, .step = 1234, .seed = 77, .training = true};
  int kept = 0, count = (int)(MASK_ROWS * channels * pixels);
  for (int i = 0; i < count; i++) x[i] = (float)(i + 1);
  const float *inputs[] = {x};
  ep_reference_layer_of(type)->forward(&pass, &op, inputs, y);
  for (int i = 0; i < count; i++) {
    uint64_t number = (uint64_t)FIRST * (uint64_t)op.in_features + (uint64_t)i;
    uint64_t element = type == EP_LAYER_DROPOUT2D ? number / (uint64_t)pixels : number;
    ep_random4 words = ep_random(77, EP_RANDOM_DROPOUT, 1234, UINT64_C(6) << 40 | element / 4);
    bool keep = ep_random_float(words.word[element % 4]) >= p;
    if (keep) ck_assert_near(y[i], (double)x[i] / (1 - (double)p));
    if (!keep) ck_assert_float_eq(y[i], 0);
    kept += keep;
  }
  if (p == 0) ck_assert_int_eq(kept, count);
  if (p == 1) ck_assert_int_eq(kept, 0);
  if (p == 0.5f) ck_assert(kept > 0 && kept < count);
}

START_TEST(dropout_has_the_mask_that_is_written) {
  const float p[] = {0, 0.25f, 0.5f, 1};
  for (int i = 0; i < 4; i++) {
    check_masks(EP_LAYER_DROPOUT, 7, 1, p[i]);
    check_masks(EP_LAYER_DROPOUT, 3, 8, p[i]);
    check_masks(EP_LAYER_DROPOUT2D, 6, 4, p[i]);
    check_masks(EP_LAYER_DROPOUT2D, 7, 1, p[i]);
  }
}
END_TEST

/* A row augmented in three plain steps, each on a whole image, as program.h says them. */
static void augment_plainly(const ep_program *program, const float *x, ep_random4 words,
                            float *out) {
  int height = (int)program->stored.height, width = (int)program->stored.width;
  int shift = program->augment.shift, side = 2 * shift + 1;
  int down = (int)((uint64_t)words.word[0] * (uint64_t)side >> 32) - shift;
  int right = (int)((uint64_t)words.word[1] * (uint64_t)side >> 32) - shift;
  float moved[64] = {0}, flipped[64];
  for (int y = 0; y < height; y++) {
    for (int at = 0; at < width; at++) {
      if (y + down < 0 || y + down >= height || at + right < 0 || at + right >= width) continue;
      moved[(y + down) * width + at + right] = x[y * width + at];
    }
  }
  bool flip = program->augment.flip && words.word[2] % 2 == 1;
  for (int i = 0; i < height * width; i++) {
    flipped[i] = moved[flip ? i / width * width + width - 1 - i % width : i];
  }
  int top = (int)((words.word[3] >> 16) * (uint32_t)(height - (int)program->in.height + 1) >> 16);
  int left = (int)((words.word[3] & 0xFFFF) * (uint32_t)(width - (int)program->in.width + 1) >> 16);
  for (int y = 0; y < program->in.height; y++) {
    for (int at = 0; at < program->in.width; at++) *out++ = flipped[(top + y) * width + left + at];
  }
}

START_TEST(augmentation_is_shift_flip_crop) {
  ep_program program = {.stored = {1, 7, 6},
                        .in = {1, 4, 5},
                        .in_features = 20,
                        .augment = {.shift = 2, .flip = true},
                        .seed = 5};
  float x[3 * 42], y[20], expected[20];
  bool moved = false;
  for (int i = 0; i < 3 * 42; i++) x[i] = (float)(i + 1);
  for (int epoch = 0; epoch < 40; epoch++) {
    for (int row = 0; row < 3; row++) {
      ep_reference_read_training_row(&program, x, row, epoch, y);
      ep_random4 words = ep_random(5, EP_RANDOM_AUGMENT, (uint64_t)epoch, (uint64_t)row);
      augment_plainly(&program, x + row * 42, words, expected);
      for (int i = 0; i < 20; i++) ck_assert_float_eq(y[i], expected[i]);
      moved |= y[0] != x[row * 42 + 6];
    }
  }
  ck_assert(moved);
  ep_reference_read_evaluation_row(&program, x, 1, y); /* the middle: one down, none right */
  for (int i = 0; i < 20; i++) ck_assert_float_eq(y[i], x[42 + 6 * (i / 5 + 1) + i % 5]);
}
END_TEST

/* What comes in is byte 0, which is no 0 to the network. */
START_TEST(bytes_are_scaled_by_channel) {
  const float scale[2] = {0.5f, 2}, shift[2] = {-1, 3};
  ep_program program = {.stored = {2, 1, 2},
                        .in = {2, 1, 2},
                        .in_features = 4,
                        .x_type = EP_X_UINT8,
                        .x_scale = scale,
                        .x_shift = shift,
                        .augment = {.shift = 9}};
  const uint8_t x[8] = {9, 9, 9, 9, 0, 255, 1, 100};
  float y[4];
  ep_reference_read_evaluation_row(&program, x, 1, y);
  const float expected[4] = {-1, 126.5f, 5, 203};
  for (int i = 0; i < 4; i++) ck_assert_float_eq(y[i], expected[i]);
  bool out_of_sight = false;
  for (int epoch = 0; epoch < 20; epoch++) {
    ep_reference_read_training_row(&program, x, 1, epoch, y);
    out_of_sight |= y[0] == -1 && y[1] == -1 && y[2] == 3 && y[3] == 3;
  }
  ck_assert(out_of_sight);
}
END_TEST

START_TEST(every_layer_has_a_known_value) {
  bool seen[EP_LAYER_COUNT] = {false};
  for (int i = 0; i < LAYER_VALUES; i++) seen[layer_values[i].type] = true;
  for (int i = 0; i < IMAGE_VALUES; i++) seen[image_values[i].op.type] = true;
  for (int i = 0; i < EP_LAYER_COUNT; i++)
    ck_assert_msg(seen[ep_layer_operator(i)], "%s", ep_layer_type_name(i));
}
END_TEST

EP_SUITE("layers") {
  TCase *values = ep_suite_case(suite, "values");
  tcase_add_loop_test(values, a_layer_gives_the_known_values, 0, LAYER_VALUES);
  tcase_add_loop_test(values, a_layer_passes_nan_on, 0, EP_LAYER_COUNT);
  tcase_add_test(values, a_maximum_passes_nan_on);
  tcase_add_loop_test(values, an_image_gives_the_known_values, 0, IMAGE_VALUES);
  tcase_add_test(values, batch_norm_moves_its_running_statistics);
  tcase_add_test(values, dropout_has_the_mask_that_is_written);
  tcase_add_test(values, every_layer_has_a_known_value);
  TCase *rows = ep_suite_case(suite, "rows");
  tcase_add_test(rows, augmentation_is_shift_flip_crop);
  tcase_add_test(rows, bytes_are_scaled_by_channel);
}
