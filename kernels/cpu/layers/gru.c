/* gru: r = sigmoid(W_ir x + b_ir + W_hr h + b_hr), z likewise, n = tanh(W_in x + b_in + r m), m =
 * W_hn h + b_hn; the next h = (1 - z) n + z h. */
#include <math.h>
#include <string.h>

#include "kernels/cpu/layers/layers.h"

enum { BY_INPUT, BY_STATE, INPUT_BIAS, STATE_BIAS, RESET = 0, UPDATE, NEW, GATES };

/* One step of one unit. */
typedef struct {
  double r, z, n, m;
} step;

/* Row `at` of a matrix times numbers that lie `apart`; with the bias, if there is one. */
static double product(const ep_reference_pass *pass, const ep_op *op, int weight, int64_t at,
                      const ep_real *from, int64_t count, int64_t apart) {
  const ep_real *row = pass->parameters + op->parameter[weight] + at * count;
  const int64_t bias = op->parameter[weight == BY_INPUT ? INPUT_BIAS : STATE_BIAS];
  double sum = bias < 0 ? 0 : pass->parameters[bias + at];
  for (int64_t i = 0; from && i < count; i++) sum += (double)row[i] * from[i * apart];
  return sum;
}

static double sigmoid(double v) {
  return 1 / (1 + exp(-v));
}

/* x, y: of one row; y holds the states of all steps before t. */
static step step_of(const ep_reference_pass *pass, const ep_op *op, const ep_real *x,
                    const ep_real *y, int64_t unit, int64_t t) {
  const int64_t length = op->in.width, units = op->out.channels;
  const ep_real *before = t > 0 ? y + t - 1 : NULL;
  double input[GATES], state[GATES];
  for (int gate = 0; gate < GATES; gate++) {
    const int64_t at = gate * units + unit;
    input[gate] = product(pass, op, BY_INPUT, at, x + t, op->in.channels, length);
    state[gate] = product(pass, op, BY_STATE, at, before, units, length);
  }
  step s = {.r = sigmoid(input[RESET] + state[RESET]),
            .z = sigmoid(input[UPDATE] + state[UPDATE]),
            .m = state[NEW]};
  s.n = tanh(input[NEW] + s.r * s.m);
  return s;
}

static double state_at(const ep_op *op, const ep_real *y, int64_t unit, int64_t t) {
  return t < 0 ? 0 : y[unit * op->out.width + t];
}

static void forward_gru(const ep_reference_pass *pass, const ep_op *op, const ep_real *const *x,
                        ep_real *y) {
  for (int64_t row = 0; row < pass->rows; row++, y += op->out_features)
    for (int64_t t = 0; t < op->in.width; t++)
      for (int64_t unit = 0; unit < op->out.channels; unit++) {
        const step s = step_of(pass, op, x[0] + row * op->in_features, y, unit, t);
        y[unit * op->out.width + t] =
            (ep_real)((1 - s.z) * s.n + s.z * state_at(op, y, unit, t - 1));
      }
}

/* The gradient's way through one gate of one unit: to its weights, to x and to the state before.
 * by_input, by_state: of what the gate makes of these. */
static void gate_backward(const ep_reference_pass *pass, const ep_op *op, const ep_real *x,
                          const ep_real *y, int64_t at, int64_t t, double by_input, double by_state,
                          ep_real *grad_x, double *grad_before, double *grad_parameters) {
  const int64_t length = op->in.width, channels = op->in.channels, units = op->out.channels;
  const int64_t input = op->parameter[BY_INPUT] + at * channels;
  const int64_t state = op->parameter[BY_STATE] + at * units;
  for (int64_t c = 0; c < channels; c++) {
    grad_parameters[input + c] += by_input * x[c * length + t];
    if (grad_x) grad_x[c * length + t] += (ep_real)(by_input * pass->parameters[input + c]);
  }
  for (int64_t k = 0; k < units; k++) {
    grad_parameters[state + k] += by_state * state_at(op, y, k, t - 1);
    grad_before[k] += by_state * pass->parameters[state + k];
  }
  if (op->parameter[INPUT_BIAS] >= 0) grad_parameters[op->parameter[INPUT_BIAS] + at] += by_input;
  if (op->parameter[STATE_BIAS] >= 0) grad_parameters[op->parameter[STATE_BIAS] + at] += by_state;
}

/* scratch: the gradient by the state after the step at hand, and by that before it. */
static void row_backward(const ep_reference_pass *pass, const ep_op *op, const ep_real *x,
                         const ep_real *y, const ep_real *grad_y, ep_real *grad_x,
                         double *grad_parameters) {
  const int64_t length = op->in.width, units = op->out.channels;
  double *after = pass->scratch, *before = after + units;
  for (int64_t k = 0; k < units; k++) after[k] = 0;
  for (int64_t t = length - 1; t >= 0; t--) {
    for (int64_t k = 0; k < units; k++) before[k] = 0;
    for (int64_t unit = 0; unit < units; unit++) {
      const step s = step_of(pass, op, x, y, unit, t);
      const double grad = after[unit] + grad_y[unit * length + t];
      const double n = grad * (1 - s.z) * (1 - s.n * s.n);
      const double r = n * s.m * s.r * (1 - s.r);
      const double z = grad * (state_at(op, y, unit, t - 1) - s.n) * s.z * (1 - s.z);
      before[unit] += grad * s.z;
      gate_backward(pass, op, x, y, RESET * units + unit, t, r, r, grad_x, before, grad_parameters);
      gate_backward(pass, op, x, y, UPDATE * units + unit, t, z, z, grad_x, before,
                    grad_parameters);
      gate_backward(pass, op, x, y, NEW * units + unit, t, n, n * s.r, grad_x, before,
                    grad_parameters);
    }
    memcpy(after, before, (size_t)units * sizeof *after);
  }
}

static void backward_gru(const ep_reference_pass *pass, const ep_op *op, const ep_real *const *x,
                         const ep_real *y, const ep_real *grad_y, ep_real *const *grad_x,
                         double *grad_parameters) {
  const size_t bytes = (size_t)(pass->rows * op->in_features) * sizeof(ep_real);
  if (grad_x[0]) memset(grad_x[0], 0, bytes);
  for (int64_t row = 0; row < pass->rows; row++)
    row_backward(pass, op, x[0] + row * op->in_features, y + row * op->out_features,
                 grad_y + row * op->out_features,
                 grad_x[0] ? grad_x[0] + row * op->in_features : NULL, grad_parameters);
}

static int64_t scratch_gru(const ep_op *op) {
  return 2 * op->out.channels;
}

const ep_reference_layer ep_reference_GRU = {forward_gru, backward_gru, scratch_gru};
