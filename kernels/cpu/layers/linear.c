/* linear: y = x W^T + b. */
#include "kernels/cpu/layers/layers.h"

/* Sums are taken BLOCK at a time, side by side: each still runs on in order, so that only the speed
 * depends on it. */
enum { BLOCK = 8 };

static int64_t block_at(int64_t first, int64_t count) {
  return count - first < BLOCK ? count - first : BLOCK;
}

/* y = x W^T + b; W: [out_features, in_features], b: [out_features] or none. */
static void forward_linear(const ep_reference_pass *pass, const ep_op *op,
                           const ep_real *const *inputs, ep_real *y) {
  const ep_real *x = inputs[0];
  int64_t in = op->in_features, out = op->out_features;
  for (int64_t row = 0; row < pass->rows; row++, x += in, y += out) {
    for (int64_t first = 0; first < out; first += BLOCK) {
      int64_t block = block_at(first, out);
      const ep_real *weight = pass->parameters + op->weight + first * in;
      double sum[BLOCK] = {0};
      for (int64_t o = 0; o < block && op->bias >= 0; o++) {
        sum[o] = pass->parameters[op->bias + first + o];
      }
      for (int64_t i = 0; i < in; i++) {
        for (int64_t o = 0; o < block; o++) sum[o] += (double)x[i] * weight[o * in + i];
      }
      for (int64_t o = 0; o < block; o++) y[first + o] = (ep_real)sum[o];
    }
  }
}

/* grad_W += grad_y^T x; grad_b += the columns of grad_y. */
static void backward_weight(const ep_reference_pass *pass, const ep_op *op, const ep_real *x,
                            const ep_real *grad_y, double *grad_parameters) {
  int64_t in = op->in_features, out = op->out_features;
  for (int64_t row = 0; row < pass->rows; row++, x += in, grad_y += out) {
    for (int64_t o = 0; o < out; o++) {
      double grad = grad_y[o], *grad_weight = grad_parameters + op->weight + o * in;
      for (int64_t i = 0; i < in; i++) grad_weight[i] += grad * x[i];
      if (op->bias >= 0) grad_parameters[op->bias + o] += grad;
    }
  }
}

/* The same, and grad_x = grad_y W. */
static void backward_linear(const ep_reference_pass *pass, const ep_op *op,
                            const ep_real *const *inputs, const ep_real *y, const ep_real *grad_y,
                            ep_real *const *grad_inputs, double *grad_parameters) {
  const ep_real *x = inputs[0];
  ep_real *grad_x = grad_inputs[0];
  (void)y;
  int64_t in = op->in_features, out = op->out_features;
  backward_weight(pass, op, x, grad_y, grad_parameters);
  if (!grad_x) return;
  for (int64_t row = 0; row < pass->rows; row++, grad_x += in, grad_y += out) {
    for (int64_t first = 0; first < in; first += BLOCK) {
      int64_t block = block_at(first, in);
      const ep_real *weight = pass->parameters + op->weight + first;
      double sum[BLOCK] = {0};
      for (int64_t o = 0; o < out; o++) {
        for (int64_t i = 0; i < block; i++) sum[i] += (double)grad_y[o] * weight[o * in + i];
      }
      for (int64_t i = 0; i < block; i++) grad_x[first + i] = (ep_real)sum[i];
    }
  }
}

EP_REFERENCE_LAYER(LINEAR, forward_linear, backward_linear);
