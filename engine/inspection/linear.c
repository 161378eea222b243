#include "engine/inspection/linear.h"

#include <string.h>

enum { LANES = 16 }; /* sums side by side: what a compiler makes vectors of */

static float dot(const float *a, const float *b, int64_t count) {
  float sums[LANES] = {0}, sum = 0;
  int64_t i = 0;
  for (; i + LANES <= count; i += LANES)
    for (int lane = 0; lane < LANES; lane++) sums[lane] += a[i + lane] * b[i + lane];
  for (; i < count; i++) sum += a[i] * b[i];
  for (int lane = 0; lane < LANES; lane++) sum += sums[lane];
  return sum;
}

void ep_linear_forward(const ep_op *op, const float *parameters, int64_t rows, const float *x,
                       float *y) {
  int64_t in = op->in_features, out = op->out_features;
  for (int64_t o = 0; o < out; o++) { /* a row of W is read once */
    const float *weight = parameters + op->weight + o * in;
    float bias = op->bias >= 0 ? parameters[op->bias + o] : 0;
    for (int64_t row = 0; row < rows; row++)
      y[row * out + o] = dot(x + row * in, weight, in) + bias;
  }
}

void ep_linear_backward(const ep_op *op, const float *parameters, int64_t rows, const float *grad_y,
                        float *grad_x) {
  int64_t in = op->in_features, out = op->out_features;
  memset(grad_x, 0, (size_t)(rows * in) * sizeof *grad_x);
  for (int64_t o = 0; o < out; o++) {
    const float *weight = parameters + op->weight + o * in;
    for (int64_t row = 0; row < rows; row++) {
      float grad = grad_y[row * out + o], *to = grad_x + row * in;
      if (grad == 0) continue; /* behind a relu, half of them */
      for (int64_t i = 0; i < in; i++) to[i] += grad * weight[i];
    }
  }
}

double ep_linear_grad_square(const ep_op *op, int64_t rows, const float *x, const float *grad_y) {
  int64_t in = op->in_features, out = op->out_features;
  double sum = 0, bias = op->bias >= 0 ? 1 : 0;
  for (int64_t a = 0; a < rows; a++)
    for (int64_t b = 0; b <= a; b++) {
      double grads = (double)dot(grad_y + a * out, grad_y + b * out, out);
      if (grads == 0) continue;
      double both = grads * ((double)dot(x + a * in, x + b * in, in) + bias);
      sum += a == b ? both : 2 * both;
    }
  return sum > 0 ? sum : 0;
}
