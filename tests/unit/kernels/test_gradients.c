/* Every layer, every loss and whole networks of both, against central differences in double. The
 * sources of cpu/reference are compiled again with EP_REAL=double for this program. The tests walk
 * the vocabulary: a new layer or loss is tested by existing. */
#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "kernels/cpu/reference/layers.h"
#include "kernels/cpu/reference/losses.h"
#include "kernels/cpu/reference/network.h"
#include "kernels/random.h"
#include "tests/unit/kernels/programs.h"

_Static_assert(sizeof(ep_real) == sizeof(double), "finite differences need double");

static const double EPSILON = 1e-5, TOLERANCE = 1e-7;

enum { ROWS = 4, IN = 5, OUT = 3, MOST = ROWS * IN };

/* Number `index` of a stream: uniform in [-1, 1), and at least 0.01 from 0, where relu has a kink.
 */
static double uniform(uint64_t stream, uint64_t index) {
  ep_random4 words = ep_random(11, EP_RANDOM_GENERATOR, stream, index);
  double number = 2 * ep_random_double(words.word[0], words.word[1]) - 1;
  return fabs(number) < 0.01 ? number + 0.05 : number;
}

static void fill(double *out, int count, uint64_t stream) {
  for (int i = 0; i < count; i++) out[i] = uniform(stream, (uint64_t)i);
}

/* NaN is not near. */
static bool near(double actual, double expected) {
  return fabs(actual - expected) <= TOLERANCE * fmax(1, fabs(expected));
}

/* A layer's output, weighted and summed to one number. */
typedef struct {
  ep_op op;
  double x[MOST], parameters[IN * OUT + OUT], weight[MOST];
} layer_case;

static double layer_value(const layer_case *test) {
  double y[MOST], sum = 0;
  ep_reference_layer_of(test->op.type)->forward(&test->op, test->parameters, test->x, ROWS, y);
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

static void check_layer(ep_layer_type type, bool bias) {
  layer_case test = {.op = {.type = type,
                            .in_features = IN,
                            .out_features = type == EP_LAYER_LINEAR ? OUT : IN,
                            .weight = type == EP_LAYER_LINEAR ? 0 : -1,
                            .bias = bias ? IN * OUT : -1,
                            .negative_slope = 0.1f}};
  int parameters = type == EP_LAYER_LINEAR ? IN * OUT + (bias ? OUT : 0) : 0;
  fill(test.x, MOST, 1);
  fill(test.weight, MOST, 2);
  fill(test.parameters, IN * OUT + OUT, 3);
  double y[MOST], grad_x[MOST], grad_parameters[IN * OUT + OUT] = {0};
  const ep_reference_layer *layer = ep_reference_layer_of(type);
  layer->forward(&test.op, test.parameters, test.x, ROWS, y);
  for (int i = 0; i < MOST; i++) grad_x[i] = NAN; /* written, not added to */
  layer->backward(&test.op, test.parameters, test.x, y, test.weight, ROWS, grad_x, grad_parameters);
  for (int i = 0; i < ROWS * IN; i++) {
    double slope = layer_slope(&test, &test.x[i]);
    ck_assert_msg(near(grad_x[i], slope), "%s: grad_x[%d] is %.12g, the slope %.12g",
                  ep_layer_type_name((int)type), i, grad_x[i], slope);
  }
  for (int i = 0; i < parameters; i++) {
    double slope = layer_slope(&test, &test.parameters[i]);
    ck_assert_msg(near(grad_parameters[i], slope), "%s: grad %d is %.12g, the slope %.12g",
                  ep_layer_type_name((int)type), i, grad_parameters[i], slope);
  }
}

START_TEST(a_layer_has_the_slope_it_says) {
  check_layer((ep_layer_type)_i, true);
}
END_TEST

START_TEST(linear_without_bias_has_the_slope_it_says) {
  check_layer(EP_LAYER_LINEAR, false);
}
END_TEST

START_TEST(a_gradient_is_added_to) {
  ep_op op = {.type = EP_LAYER_LINEAR, .in_features = 1, .out_features = 1, .weight = 0, .bias = 1};
  double parameters[2] = {2, 3}, x = 5, y = 13, grad_y = 7, grad[2] = {100, 200};
  ep_reference_layer_of(op.type)->backward(&op, parameters, &x, &y, &grad_y, 1, NULL, grad);
  ck_assert_double_eq(grad[0], 135);
  ck_assert_double_eq(grad[1], 207);
}
END_TEST

START_TEST(a_loss_has_the_slope_it_says) {
  ep_program program = {.out_features = OUT, .loss = (ep_loss_type)_i, .huber_delta = 0.5f};
  bool classes = ep_loss_takes_classes(program.loss);
  program.target_columns = classes ? 1 : OUT;
  int64_t count = ROWS * program.target_columns, errors = 0;
  double output[ROWS * OUT], grad[ROWS * OUT];
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
  ep_reference_loss(&program, output, target, ROWS, count, grad, &errors);
  for (int i = 0; i < ROWS * OUT; i++) {
    double kept = output[i];
    output[i] = kept + EPSILON;
    double above = ep_reference_loss(&program, output, target, ROWS, count, NULL, &errors);
    output[i] = kept - EPSILON;
    double below = ep_reference_loss(&program, output, target, ROWS, count, NULL, &errors);
    output[i] = kept;
    double slope = (above - below) / (2 * EPSILON) / (double)count;
    ck_assert_msg(near(grad[i], slope), "%s: grad[%d] is %.12g, the slope %.12g",
                  ep_loss_type_name(_i), i, grad[i], slope);
  }
}
END_TEST

/* A network's mean loss over a case's training rows; its gradient is left in the network. */
static double network_loss(ep_network *network, const ep_case *test, const double *parameters) {
  const ep_program *program = network->program;
  int64_t rows = test->rows[EP_SPLIT_TRAIN], errors = 0;
  for (int64_t i = 0; i < rows * program->in_features; i++) {
    network->values[0][i] = test->x[EP_SPLIT_TRAIN][i];
  }
  for (int64_t i = 0; i < program->parameters; i++) network->grad_parameters[i] = 0;
  const double *output = ep_network_forward(network, parameters, rows);
  int64_t count = rows * program->target_columns;
  double sum = ep_reference_loss(program, output, test->y[EP_SPLIT_TRAIN], rows, count,
                                 network->grad, &errors);
  ep_network_backward(network, parameters, rows);
  return sum / (double)count;
}

static void check_network(const ep_case *test) {
  const ep_program *program = &test->program;
  int64_t count = program->parameters;
  double *parameters = calloc((size_t)count, sizeof *parameters);
  double *grad = calloc((size_t)count, sizeof *grad);
  ck_assert(parameters && grad);
  ep_network network;
  ck_assert_int_eq(ep_network_init(&network, program, test->rows[EP_SPLIT_TRAIN], NULL), EP_OK);
  for (int64_t i = 0; i < count; i++) parameters[i] = test->parameters[i];
  network_loss(&network, test, parameters);
  for (int64_t i = 0; i < count; i++) grad[i] = network.grad_parameters[i];
  for (int64_t i = 0; i < count; i++) {
    double kept = parameters[i];
    parameters[i] = kept + EPSILON;
    double above = network_loss(&network, test, parameters);
    parameters[i] = kept - EPSILON;
    double below = network_loss(&network, test, parameters);
    parameters[i] = kept;
    double slope = (above - below) / (2 * EPSILON);
    ck_assert_msg(near(grad[i], slope), "%s: parameter %lld: %.12g, the slope %.12g", test->name,
                  (long long)i, grad[i], slope);
  }
  ep_network_deinit(&network);
  free(grad);
  free(parameters);
}

/* The first cases are every layer with every loss, last and inside. */
START_TEST(a_network_has_the_slope_it_says) {
  for (int i = 0; i < EP_LAYER_COUNT * EP_LOSS_COUNT * 2; i++) {
    ep_case *test = ep_case_create_number(i);
    check_network(test);
    ep_case_destroy(test);
  }
}
END_TEST

START_TEST(the_cases_walk_every_layer_and_loss) {
  bool seen[EP_LAYER_COUNT][EP_LOSS_COUNT] = {{false}};
  for (int i = 0; i < EP_LAYER_COUNT * EP_LOSS_COUNT * 2; i++) {
    ep_case *test = ep_case_create_number(i);
    for (int op = 0; op < test->program.ops_count; op++) {
      seen[test->ops[op].type][test->program.loss] = true;
    }
    ep_case_destroy(test);
  }
  for (int layer = 0; layer < EP_LAYER_COUNT; layer++) {
    for (int loss = 0; loss < EP_LOSS_COUNT; loss++) ck_assert(seen[layer][loss]);
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

int main(void) {
  Suite *suite = suite_create("gradients");
  TCase *slopes = tcase_create("slopes");
  tcase_set_timeout(slopes, 60);
  tcase_add_loop_test(slopes, a_layer_has_the_slope_it_says, 0, EP_LAYER_COUNT);
  tcase_add_test(slopes, linear_without_bias_has_the_slope_it_says);
  tcase_add_test(slopes, a_gradient_is_added_to);
  tcase_add_loop_test(slopes, a_loss_has_the_slope_it_says, 0, EP_LOSS_COUNT);
  tcase_add_test(slopes, a_network_has_the_slope_it_says);
  tcase_add_test(slopes, the_cases_walk_every_layer_and_loss);
  tcase_add_test(slopes, near_can_fail);
  suite_add_tcase(suite, slopes);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_ENV);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
