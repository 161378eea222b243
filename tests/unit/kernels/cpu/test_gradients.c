/* Every layer, every loss and whole networks of both, against central differences in double. The
 * sources of cpu/reference are compiled again with EP_REAL=double for this program. The tests walk
 * the vocabulary: a new layer or loss is tested by existing. */
#include <math.h>
#include <stdlib.h>

#include "kernels/cpu/layers/batch.h"
#include "kernels/cpu/layers/layers.h"
#include "kernels/cpu/layers/losses.h"
#include "kernels/cpu/layers/network.h"
#include "kernels/formulas/activations.h"
#include "kernels/random.h"
#include "tests/suite.h"
#include "tests/unit/kernels/cases_images.h"
#include "tests/unit/kernels/programs.h"

_Static_assert(sizeof(ep_real) == sizeof(double), "finite differences need double");

static const double EPSILON = 1e-6, TOLERANCE = 1e-7;

enum { ROWS = 4, OUT = 3, MOST = ROWS * 128, MOST_PARAMETERS = 256 };

/* Number `index` of a stream: uniform in [-1, 1), and at least 0.01 from 0, where relu has a kink.
 */
static double uniform(uint64_t stream, uint64_t index) {
  ep_random4 words = ep_random(11, EP_RANDOM_GENERATOR, stream, index);
  double number = 2 * ep_random_double(words.word[0], words.word[1]) - 1;
  return fabs(number) < 0.01 ? number + 0.05 : number;
}

static void fill(double *out, int64_t count, uint64_t stream) {
  for (int64_t i = 0; i < count; i++) out[i] = uniform(stream, (uint64_t)i);
}

/* NaN is not near. */
static bool near(double actual, double expected) {
  return fabs(actual - expected) <= TOLERANCE * fmax(1, fabs(expected));
}

/* The layers that are tried by themselves: each of the vocabulary, and again with other settings.
 */
#define ACTIVATION(code, ...) \
  {.type = EP_LAYER_##code, .negative_slope = 0.1f, .alpha = 0.7f, .beta = 3, .threshold = 1.5f},
static const ep_op ops[] = {
    {.type = EP_LAYER_LINEAR, .in = {5, 1, 1}, .out = {OUT, 1, 1}, .bias = 15},
    {.type = EP_LAYER_LINEAR, .in = {5, 1, 1}, .out = {OUT, 1, 1}, .bias = -1},
    EP_ACTIVATIONS(ACTIVATION){.type = EP_LAYER_SOFTMAX},
    {.type = EP_LAYER_LOG_SOFTMAX},
    {.type = EP_LAYER_FLATTEN, .in = {2, 3, 2}, .out = {12, 1, 1}},
    {.type = EP_LAYER_CONV2D,
     .in = {2, 6, 5},
     .out = {3, 3, 4},
     .bias = 36,
     .kernel = {3, 2},
     .stride = {2, 1},
     .padding = {1, 0},
     .dilation = {1, 1},
     .groups = 1},
    {.type = EP_LAYER_CONV2D,
     .in = {4, 5, 6},
     .out = {6, 3, 2},
     .bias = -1,
     .kernel = {2, 3},
     .stride = {1, 2},
     .padding = {0, 1},
     .dilation = {2, 2},
     .groups = 2},
    {.type = EP_LAYER_MAX_POOL2D,
     .in = {2, 5, 6},
     .out = {2, 3, 4},
     .kernel = {3, 2},
     .stride = {2, 1},
     .padding = {1, 0},
     .dilation = {1, 2}},
    {.type = EP_LAYER_AVG_POOL2D,
     .in = {2, 5, 6},
     .out = {2, 3, 5},
     .kernel = {3, 2},
     .stride = {2, 1},
     .padding = {1, 0},
     .dilation = {1, 1}},
    {.type = EP_LAYER_ADAPTIVE_AVG_POOL2D, .in = {2, 5, 3}, .out = {2, 3, 4}},
    {.type = EP_LAYER_DROPOUT, .in = {2, 3, 2}, .out = {2, 3, 2}, .p = 0.3f, .layer = 4},
    {.type = EP_LAYER_DROPOUT2D, .in = {5, 3, 2}, .out = {5, 3, 2}, .p = 0.3f, .layer = 5},
    {.type = EP_LAYER_BATCH_NORM, .bias = 5, .eps = 1e-3f, .momentum = 0.1f},
    {.type = EP_LAYER_BATCH_NORM,
     .in = {3, 2, 4},
     .out = {3, 2, 4},
     .bias = 3,
     .eps = 1e-3f,
     .momentum = 0.1f},
    {.type = EP_LAYER_BATCH_NORM, .weight = -1, .bias = -1, .eps = 1e-3f},
    {.type = EP_LAYER_LAYER_NORM, .in = {2, 3, 2}, .out = {2, 3, 2}, .bias = 12, .eps = 1e-3f},
    {.type = EP_LAYER_LAYER_NORM, .weight = -1, .bias = -1, .eps = 1e-3f},
    {.type = EP_LAYER_EMBEDDING, .in = {2, 1, 1}, .out = {6, 1, 1}, .embeddings = 5},
    {.type = EP_LAYER_EMBEDDING, .in = {3, 1, 1}, .out = {5, 1, 1}, .embeddings = 5, .numbers = 1},
    {.type = EP_LAYER_CONV2D,
     .in = {3, 1, 5},
     .out = {2, 1, 5},
     .bias = 18,
     .kernel = {1, 3},
     .stride = {1, 1},
     .padding = {0, 2},
     .dilation = {1, 1},
     .groups = 1,
     .is_1d = true,
     .causal = true},
    {.type = EP_LAYER_ADD, .inputs = 3},
    {.type = EP_LAYER_MUL, .inputs = 3},
    {.type = EP_LAYER_CONCAT,
     .in = {2, 1, 2},
     .out = {2, 3, 2},
     .inputs = 2,
     .axis = 1,
     .length = {1, 2}},
    {.type = EP_LAYER_SLICE, .in = {2, 3, 2}, .out = {2, 2, 2}, .axis = 1, .start = 1},
    {.type = EP_LAYER_RESHAPE, .in = {2, 3, 2}, .out = {4, 1, 3}},
    {.type = EP_LAYER_PERMUTE, .in = {2, 3, 4}, .out = {4, 2, 3}, .order = {2, 0, 1}},
    {.type = EP_LAYER_UNFOLD,
     .in = {2, 4, 5},
     .out = {12, 1, 8},
     .kernel = {3, 2},
     .stride = {2, 1},
     .padding = {1, 1},
     .dilation = {1, 3}},
    {.type = EP_LAYER_INSTANCE_NORM, .in = {3, 2, 4}, .out = {3, 2, 4}, .bias = 3, .eps = 1e-3f},
    {.type = EP_LAYER_INSTANCE_NORM,
     .in = {2, 1, 5},
     .out = {2, 1, 5},
     .weight = -1,
     .bias = -1,
     .eps = 1e-3f},
    {.type = EP_LAYER_GRU, .in = {2, 1, 4}, .out = {3, 1, 4}, .parameter = {0, 18, 45, 54}},
    {.type = EP_LAYER_GRU, .in = {3, 1, 3}, .out = {2, 1, 3}, .parameter = {0, 18, -1, -1}},
};
enum { OPS = sizeof ops / sizeof ops[0] };

/* A layer's output in training, weighted and summed to one number. */
typedef struct {
  ep_op op;
  double x[MOST], parameters[MOST_PARAMETERS], weight[MOST], buffers[16], scratch[16];
  ep_reference_pass pass;
} layer_case;

/* Numbers of input k; the inputs lie one behind the other. */
static int64_t input_count(const ep_op *op, int k) {
  const ep_shape_runs runs = ep_shape_runs_along(op->axis, op->out);
  return ROWS *
         (op->type == EP_LAYER_CONCAT ? runs.count * runs.place * op->length[k] : op->in_features);
}

static int64_t inputs_count(const ep_op *op) {
  int64_t count = 0;
  for (int k = 0; k < op->inputs; k++) count += input_count(op, k);
  return count;
}

static void inputs_find(const ep_op *op, double *all, double **inputs) {
  for (int k = 0; k < op->inputs; k++) {
    inputs[k] = all;
    all += input_count(op, k);
  }
}

static double layer_value(const layer_case *test) {
  double y[MOST], sum = 0, *inputs[EP_OP_INPUTS];
  inputs_find(&test->op, (double *)test->x, inputs);
  ep_reference_layer_of(test->op.type)
      ->forward(&test->pass, &test->op, (const double *const *)inputs, y);
  for (int64_t i = 0; i < ROWS * test->op.out_features; i++) sum += test->weight[i] * y[i];
  return sum;
}

/* The central difference of the value by one of its numbers. */
static double layer_slope(const layer_case *test, double *number) {
  double kept = *number;
  *number = kept + EPSILON;
  double above = layer_value(test);
  *number = kept - EPSILON;
  double below = layer_value(test);
  *number = kept;
  return (above - below) / (2 * EPSILON);
}

/* Whether number i of x is one that an embedding looks up: they have no slope. */
static bool is_whole(const ep_op *op, int64_t i) {
  return op->type == EP_LAYER_EMBEDDING && i % op->in_features >= op->numbers;
}

/* Row `number` of the table, its shape that of 5 numbers where it says none. Dropout's masks stay
 * the same, since the step does. */
static void layer_init(layer_case *test, int number) {
  *test = (layer_case){.op = ops[number]};
  ep_op *op = &test->op;
  if (op->in.channels == 0) op->in = op->out = (ep_shape){5, 1, 1};
  if (op->inputs == 0) op->inputs = 1;
  op->in_features = ep_shape_count(op->in);
  op->out_features = ep_shape_count(op->out);
  test->pass = (ep_reference_pass){.parameters = test->parameters,
                                   .buffers = test->buffers,
                                   .scratch = test->scratch,
                                   .rows = ROWS,
                                   .first_row = 3,
                                   .step = 7,
                                   .seed = 12,
                                   .training = true};
  fill(test->x, MOST, 1);
  fill(test->weight, MOST, 2);
  fill(test->parameters, MOST_PARAMETERS, 3);
  for (int64_t i = 0; i < MOST; i++)
    if (is_whole(op, i)) test->x[i] = (double)(i % 4);
}

START_TEST(a_layer_has_the_slope_it_says) {
  layer_case test;
  layer_init(&test, _i);
  const char *name = ep_layer_type_name((int)test.op.type);
  double y[MOST], grad_x[MOST], grad[MOST_PARAMETERS] = {0};
  const ep_reference_layer *layer = ep_reference_layer_of(test.op.type);
  ck_assert_int_le(inputs_count(&test.op), MOST);
  ck_assert_int_le(ROWS * test.op.out_features, MOST);
  double *x[EP_OP_INPUTS], *grads[EP_OP_INPUTS];
  inputs_find(&test.op, test.x, x);
  inputs_find(&test.op, grad_x, grads);
  layer->forward(&test.pass, &test.op, (const double *const *)x, y);
  for (int i = 0; i < MOST; i++) grad_x[i] = NAN; /* written, not added to */
  layer->backward(&test.pass, &test.op, (const double *const *)x, y, test.weight, grads, grad);
  for (int64_t i = 0; i < inputs_count(&test.op); i++) {
    double slope = is_whole(&test.op, i) ? 0 : layer_slope(&test, &test.x[i]);
    ck_assert_msg(near(grad_x[i], slope), "%s: grad_x[%d] is %.12g, the slope %.12g", name, (int)i,
                  grad_x[i], slope);
  }
  for (int i = 0; i < MOST_PARAMETERS; i++) { /* those that it does not have: 0 and 0 */
    double slope = layer_slope(&test, &test.parameters[i]);
    ck_assert_msg(near(grad[i], slope), "%s: grad %d is %.12g, the slope %.12g", name, i, grad[i],
                  slope);
  }
}
END_TEST

START_TEST(the_table_walks_every_layer) {
  bool seen[EP_LAYER_COUNT] = {false};
  for (int i = 0; i < OPS; i++) seen[ops[i].type] = true;
  for (int i = 0; i < EP_LAYER_COUNT; i++)
    ck_assert_msg(seen[ep_layer_operator(i)], "%s", ep_layer_type_name(i));
}
END_TEST

START_TEST(a_gradient_is_added_to) {
  ep_op op = {.type = EP_LAYER_LINEAR,
              .inputs = 1,
              .in_features = 1,
              .out_features = 1,
              .weight = 0,
              .bias = 1};
  double parameters[2] = {2, 3}, x = 5, y = 13, grad_y = 7, grad[2] = {100, 200};
  const double *inputs[] = {&x};
  double *none[] = {NULL};
  ep_reference_pass pass = {.parameters = parameters, .rows = 1, .training = true};
  ep_reference_layer_of(op.type)->backward(&pass, &op, inputs, &y, &grad_y, none, grad);
  ck_assert_double_eq(grad[0], 135);
  ck_assert_double_eq(grad[1], 207);
}
END_TEST

/* What the classifiers can be told, taking turns; the others do not look at it. */
static ep_program loss_program(int number) {
  static const float weights[OUT] = {0.5f, 2, 1.25f};
  ep_program program = {.out_features = OUT,
                        .loss = (ep_loss_type)(number % EP_LOSS_COUNT),
                        .loss_parameter = 0.5f,
                        .class_weights = number / EP_LOSS_COUNT / 2 ? weights : NULL};
  if (program.loss == EP_LOSS_CROSS_ENTROPY && number / EP_LOSS_COUNT % 2)
    program.label_smoothing = 0.3f;
  program.target_columns = ep_loss_takes_classes(program.loss) ? 1 : OUT;
  return program;
}

START_TEST(a_loss_has_the_slope_it_says) {
  ep_program program = loss_program(_i);
  bool classes = ep_loss_takes_classes(program.loss);
  int64_t errors = 0;
  double output[ROWS * OUT], grad[ROWS * OUT], divisor = 0;
  float numbers[ROWS * OUT];
  int32_t class[ROWS] = {0, 2, 1, 2};
  for (int i = 0; i < ROWS * OUT; i++) {
    output[i] = uniform(4, (uint64_t)i);
    numbers[i] = (float)uniform(5, (uint64_t)i);
    if (ep_loss_is_classifier(program.loss)) numbers[i] = numbers[i] > 0;
    if (program.loss == EP_LOSS_BCE) output[i] = 0.5 + 0.45 * output[i];
    grad[i] = NAN;
  }
  const void *target = classes ? (const void *)class : numbers;
  for (int i = 0; i < ROWS; i++) divisor += ep_reference_loss_share(&program, &class[i]);
  ep_reference_loss(&program, output, target, ROWS, divisor, grad, &errors);
  for (int i = 0; i < ROWS * OUT; i++) {
    double kept = output[i];
    output[i] = kept + EPSILON;
    double above = ep_reference_loss(&program, output, target, ROWS, divisor, NULL, &errors);
    output[i] = kept - EPSILON;
    double below = ep_reference_loss(&program, output, target, ROWS, divisor, NULL, &errors);
    output[i] = kept;
    double slope = (above - below) / (2 * EPSILON) / divisor;
    ck_assert_msg(near(grad[i], slope), "%s: grad[%d] is %.12g, the slope %.12g",
                  ep_loss_type_name((int)program.loss), i, grad[i], slope);
  }
}
END_TEST

/* A network's mean loss over a case's first batch, in the order of the data, and its gradient. */
static double network_loss(ep_network *network, const ep_case *test, const double *parameters,
                           double *grad) {
  const ep_program *program = network->program;
  int64_t rows = program->batch_size, errors = 0;
  double divisor = 0, buffers[64];
  const int32_t *y = test->y[EP_SPLIT_TRAIN];
  for (int64_t i = 0; i < rows; i++) {
    ep_reference_read_training_row(program, test->x[EP_SPLIT_TRAIN], i, 2,
                                   network->values[0] + i * program->in_features);
    divisor += ep_reference_loss_share(program, y + i * program->target_columns);
  }
  for (int64_t i = 0; i < program->buffers; i++) buffers[i] = 1;
  for (int64_t i = 0; i < program->parameters; i++) grad[i] = 0;
  ep_reference_pass pass = {.parameters = parameters,
                            .buffers = buffers,
                            .rows = rows,
                            .step = 3,
                            .seed = program->seed,
                            .training = true};
  const double *output = ep_network_forward(network, &pass);
  double sum = ep_reference_loss(program, output, test->y[EP_SPLIT_TRAIN], rows, divisor,
                                 network->grad, &errors);
  ep_network_backward(network, &pass, grad);
  return sum / divisor;
}

/* `most` of a case's parameters, spread over all. */
static void check_network(const ep_case *test, int64_t most) {
  const ep_program *program = &test->program;
  int64_t count = program->parameters, stride = count / most + 1;
  double *parameters = calloc((size_t)count + 1, sizeof *parameters);
  double *grad = calloc((size_t)count + 1, sizeof *grad);
  double *other = calloc((size_t)count + 1, sizeof *other);
  ck_assert(parameters && grad && other && program->buffers <= 64);
  ep_network network;
  ck_assert_int_eq(
      ep_network_init(&network, program, 0, program->ops_count, program->batch_size, true, NULL),
      EP_OK);
  for (int64_t i = 0; i < count; i++) parameters[i] = test->parameters[i];
  network_loss(&network, test, parameters, grad);
  for (int64_t i = 0; i < count; i += stride) {
    double kept = parameters[i];
    parameters[i] = kept + EPSILON;
    double above = network_loss(&network, test, parameters, other);
    parameters[i] = kept - EPSILON;
    double below = network_loss(&network, test, parameters, other);
    parameters[i] = kept;
    double slope = (above - below) / (2 * EPSILON);
    ck_assert_msg(near(grad[i], slope), "%s: parameter %lld: %.12g, the slope %.12g", test->name,
                  (long long)i, grad[i], slope);
  }
  ep_network_deinit(&network);
  free(other);
  free(grad);
  free(parameters);
}

/* The first cases are every layer with every loss, last and inside. */
START_TEST(a_network_has_the_slope_it_says) {
  for (int i = 0; i < EP_CASE_VOCABULARY; i++) {
    ep_case *test = ep_case_create_number(i);
    check_network(test, 100);
    ep_case_destroy(test);
  }
}
END_TEST

/* Windows at awkward sizes, residual and normalized nets, augmented bytes. */
START_TEST(an_image_network_has_the_slope_it_says) {
  for (int i = 0; i < EP_CASE_WINDOWS; i++) {
    ep_case *test = ep_case_create_window(i);
    check_network(test, 40);
    ep_case_destroy(test);
  }
  for (int i = 0; i < EP_CASE_IMAGE_NETS; i++) {
    ep_case *test = ep_case_create_image_net(i);
    check_network(test, 60);
    ep_case_destroy(test);
  }
}
END_TEST

START_TEST(the_cases_walk_every_layer_and_loss) {
  bool seen[EP_LAYER_COUNT][EP_LOSS_COUNT] = {{false}};
  for (int i = 0; i < EP_CASE_VOCABULARY; i++) {
    ep_case *test = ep_case_create_number(i);
    for (int op = 0; op < test->program.ops_count; op++) {
      seen[test->ops[op].type][test->program.loss] = true;
    }
    ep_case_destroy(test);
  }
  for (int layer = 0; layer < EP_LAYER_COUNT; layer++) {
    for (int loss = 0; loss < EP_LOSS_COUNT; loss++)
      ck_assert(seen[ep_layer_operator(layer)][loss]);
  }
}
END_TEST

START_TEST(near_can_fail) {
  ck_assert(near(1, 1));
  ck_assert(!near(1 + 2e-7, 1));
  ck_assert(!near(NAN, 1));
  ck_assert(!near(1, NAN));
  ck_assert(!near(NAN, NAN));
}
END_TEST

EP_SUITE("gradients") {
  TCase *slopes = ep_suite_case(suite, "slopes");
  tcase_set_timeout(slopes, 60);
  tcase_add_loop_test(slopes, a_layer_has_the_slope_it_says, 0, OPS);
  tcase_add_test(slopes, the_table_walks_every_layer);
  tcase_add_test(slopes, a_gradient_is_added_to);
  tcase_add_loop_test(slopes, a_loss_has_the_slope_it_says, 0, 4 * EP_LOSS_COUNT);
  tcase_add_test(slopes, a_network_has_the_slope_it_says);
  tcase_add_test(slopes, an_image_network_has_the_slope_it_says);
  tcase_add_test(slopes, the_cases_walk_every_layer_and_loss);
  tcase_add_test(slopes, near_can_fail);
}
