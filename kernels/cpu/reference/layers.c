#include "kernels/cpu/reference/layers.h"

#include <assert.h>

#include "kernels/formulas/activations.h"

/* Sums are taken BLOCK at a time, side by side: each still runs on in order, so that only the speed
 * depends on it. */
enum { BLOCK = 8 };

static int64_t block_at(int64_t first, int64_t count) {
  return count - first < BLOCK ? count - first : BLOCK;
}

/* y = x W^T + b; W: [out_features, in_features], b: [out_features] or none. */
static void forward_linear(const ep_op *op, const ep_real *parameters, const ep_real *x,
                           int64_t rows, ep_real *y) {
  int64_t in = op->in_features, out = op->out_features;
  for (int64_t row = 0; row < rows; row++, x += in, y += out) {
    for (int64_t first = 0; first < out; first += BLOCK) {
      int64_t block = block_at(first, out);
      const ep_real *weight = parameters + op->weight + first * in;
      double sum[BLOCK] = {0};
      for (int64_t o = 0; o < block && op->bias >= 0; o++) {
        sum[o] = parameters[op->bias + first + o];
      }
      for (int64_t i = 0; i < in; i++) {
        for (int64_t o = 0; o < block; o++) sum[o] += (double)x[i] * weight[o * in + i];
      }
      for (int64_t o = 0; o < block; o++) y[first + o] = (ep_real)sum[o];
    }
  }
}

/* grad_W += grad_y^T x; grad_b += the columns of grad_y. */
static void backward_weight(const ep_op *op, const ep_real *x, const ep_real *grad_y, int64_t rows,
                            double *grad_parameters) {
  int64_t in = op->in_features, out = op->out_features;
  for (int64_t row = 0; row < rows; row++, x += in, grad_y += out) {
    for (int64_t o = 0; o < out; o++) {
      double grad = grad_y[o], *grad_weight = grad_parameters + op->weight + o * in;
      for (int64_t i = 0; i < in; i++) grad_weight[i] += grad * x[i];
      if (op->bias >= 0) grad_parameters[op->bias + o] += grad;
    }
  }
}

/* The same, and grad_x = grad_y W. */
static void backward_linear(const ep_op *op, const ep_real *parameters, const ep_real *x,
                            const ep_real *y, const ep_real *grad_y, int64_t rows, ep_real *grad_x,
                            double *grad_parameters) {
  (void)y;
  int64_t in = op->in_features, out = op->out_features;
  backward_weight(op, x, grad_y, rows, grad_parameters);
  if (!grad_x) return;
  for (int64_t row = 0; row < rows; row++, grad_x += in, grad_y += out) {
    for (int64_t first = 0; first < in; first += BLOCK) {
      int64_t block = block_at(first, in);
      const ep_real *weight = parameters + op->weight + first;
      double sum[BLOCK] = {0};
      for (int64_t o = 0; o < out; o++) {
        for (int64_t i = 0; i < block; i++) sum[i] += (double)grad_y[o] * weight[o * in + i];
      }
      for (int64_t i = 0; i < block; i++) grad_x[first + i] = (ep_real)sum[i];
    }
  }
}

/* One number at a time: relu, leaky_relu, tanh, sigmoid, gelu, sin. */
static void forward_activation(const ep_op *op, const ep_real *parameters, const ep_real *x,
                               int64_t rows, ep_real *y) {
  (void)parameters;
  for (int64_t i = 0; i < rows * op->in_features; i++) {
    y[i] = ep_activation(op->type, x[i], op->negative_slope);
  }
}

/* grad_x = grad_y * f'(x) */
static void backward_activation(const ep_op *op, const ep_real *parameters, const ep_real *x,
                                const ep_real *y, const ep_real *grad_y, int64_t rows,
                                ep_real *grad_x, double *grad_parameters) {
  (void)parameters, (void)grad_parameters;
  if (!grad_x) return;
  for (int64_t i = 0; i < rows * op->in_features; i++) {
    grad_x[i] = grad_y[i] * ep_activation_derivative(op->type, x[i], y[i], op->negative_slope);
  }
}

/* The largest of a row; NaN when it has one. */
static ep_real largest(const ep_real *row, int64_t columns) {
  ep_real found = row[0];
  for (int64_t j = 1; j < columns; j++) {
    if (!(row[j] <= found)) found = row[j];
  }
  return found;
}

/* s = sum e^(x_j - m), m the largest: at least 1, so that neither e^ nor ln overflows. */
static double sum_of_exponentials(const ep_real *row, int64_t columns, ep_real m) {
  double sum = 0;
  for (int64_t j = 0; j < columns; j++) sum += exp(row[j] - m);
  return sum;
}

/* y_j = e^(x_j - m) / s over the columns of a row. */
static void forward_softmax(const ep_op *op, const ep_real *parameters, const ep_real *x,
                            int64_t rows, ep_real *y) {
  (void)parameters;
  int64_t columns = op->in_features;
  for (int64_t row = 0; row < rows; row++, x += columns, y += columns) {
    ep_real m = largest(x, columns);
    double sum = sum_of_exponentials(x, columns, m);
    for (int64_t j = 0; j < columns; j++) y[j] = (ep_real)(exp(x[j] - m) / sum);
  }
}

/* grad_x_j = y_j * (grad_y_j - sum grad_y_k y_k) */
static void backward_softmax(const ep_op *op, const ep_real *parameters, const ep_real *x,
                             const ep_real *y, const ep_real *grad_y, int64_t rows, ep_real *grad_x,
                             double *grad_parameters) {
  (void)parameters, (void)x, (void)grad_parameters;
  if (!grad_x) return;
  int64_t columns = op->in_features;
  for (int64_t row = 0; row < rows; row++, y += columns, grad_y += columns, grad_x += columns) {
    double sum = 0;
    for (int64_t j = 0; j < columns; j++) sum += (double)grad_y[j] * y[j];
    for (int64_t j = 0; j < columns; j++) grad_x[j] = (ep_real)(y[j] * (grad_y[j] - sum));
  }
}

/* y_j = x_j - m - ln s over the columns of a row. */
static void forward_log_softmax(const ep_op *op, const ep_real *parameters, const ep_real *x,
                                int64_t rows, ep_real *y) {
  (void)parameters;
  int64_t columns = op->in_features;
  for (int64_t row = 0; row < rows; row++, x += columns, y += columns) {
    ep_real m = largest(x, columns);
    double log_sum = log(sum_of_exponentials(x, columns, m));
    for (int64_t j = 0; j < columns; j++) y[j] = (ep_real)(x[j] - m - log_sum);
  }
}

/* grad_x_j = grad_y_j - e^y_j * sum grad_y_k */
static void backward_log_softmax(const ep_op *op, const ep_real *parameters, const ep_real *x,
                                 const ep_real *y, const ep_real *grad_y, int64_t rows,
                                 ep_real *grad_x, double *grad_parameters) {
  (void)parameters, (void)x, (void)grad_parameters;
  if (!grad_x) return;
  int64_t columns = op->in_features;
  for (int64_t row = 0; row < rows; row++, y += columns, grad_y += columns, grad_x += columns) {
    double sum = 0;
    for (int64_t j = 0; j < columns; j++) sum += grad_y[j];
    for (int64_t j = 0; j < columns; j++) grad_x[j] = (ep_real)(grad_y[j] - exp(y[j]) * sum);
  }
}

static const ep_reference_layer layers[] = {
    [EP_LAYER_LINEAR] = {forward_linear, backward_linear},
    [EP_LAYER_RELU] = {forward_activation, backward_activation},
    [EP_LAYER_LEAKY_RELU] = {forward_activation, backward_activation},
    [EP_LAYER_TANH] = {forward_activation, backward_activation},
    [EP_LAYER_SIGMOID] = {forward_activation, backward_activation},
    [EP_LAYER_GELU] = {forward_activation, backward_activation},
    [EP_LAYER_SIN] = {forward_activation, backward_activation},
    [EP_LAYER_SOFTMAX] = {forward_softmax, backward_softmax},
    [EP_LAYER_LOG_SOFTMAX] = {forward_log_softmax, backward_log_softmax},
};
_Static_assert(sizeof layers / sizeof layers[0] == EP_LAYER_COUNT, "a layer has no row");

const ep_reference_layer *ep_reference_layer_of(ep_layer_type type) {
  assert(type < EP_LAYER_COUNT && layers[type].forward);
  return &layers[type];
}
