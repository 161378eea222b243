/* layers_norm.h: batch_norm and layer_norm; sums are taken in double, PARTS of them side by side.
 */
#ifndef EP_KERNELS_CPU_EXECUTORS_BLOCKED_LAYERS_NORM_H
#define EP_KERNELS_CPU_EXECUTORS_BLOCKED_LAYERS_NORM_H

#include "kernels/cpu/executors/blocked/blocked.h"

enum { NORM_PARTS = 16 };

static double norm_total(const double *parts) {
  double sum = 0;
  for (int i = 0; i < NORM_PARTS; i++) sum += parts[i];
  return sum;
}

/* The sum of x - from. */
static double norm_sum(const float *x, int64_t count, double from) {
  double parts[NORM_PARTS] = {0};
  int64_t i = 0;
  for (; i + NORM_PARTS <= count; i += NORM_PARTS)
    for (int j = 0; j < NORM_PARTS; j++) parts[j] += x[i + j] - from;
  for (; i < count; i++) parts[0] += x[i] - from;
  return norm_total(parts);
}

static double norm_squares(const float *x, int64_t count, double from) {
  double parts[NORM_PARTS] = {0};
  int64_t i = 0;
  for (; i + NORM_PARTS <= count; i += NORM_PARTS)
    for (int j = 0; j < NORM_PARTS; j++) parts[j] += (x[i + j] - from) * (x[i + j] - from);
  for (; i < count; i++) parts[0] += (x[i] - from) * (x[i] - from);
  return norm_total(parts);
}

/* The sum of g (x - from). */
static double norm_products(const float *g, const float *x, int64_t count, double from) {
  double parts[NORM_PARTS] = {0};
  int64_t i = 0;
  for (; i + NORM_PARTS <= count; i += NORM_PARTS)
    for (int j = 0; j < NORM_PARTS; j++) parts[j] += g[i + j] * (x[i + j] - from);
  for (; i < count; i++) parts[0] += g[i] * (x[i] - from);
  return norm_total(parts);
}

/* Two sets' means and squares become those of both: T. Chan, G. Golub, R. LeVeque, "Updating
 * Formulae and a Pairwise Algorithm for Computing Sample Variances", 1979. */
static void moments_add(const ep_op *op, const float *x, int64_t rows,
                        ep_blocked_moments *moments) {
  const int64_t pixels = op->in.height * op->in.width;
  const double added = (double)(rows * pixels), had = moments->count, both = had + added;
  for (int64_t c = 0; c < op->in.channels; c++) {
    const float *channel = x + c * pixels;
    double sum = 0, squares = 0;
    for (int64_t row = 0; row < rows; row++)
      sum += norm_sum(channel + row * op->in_features, pixels, 0);
    const double mean = sum / added, apart = mean - moments->mean[c];
    for (int64_t row = 0; row < rows; row++)
      squares += norm_squares(channel + row * op->in_features, pixels, mean);
    if (had == 0) {
      moments->mean[c] = mean;
      moments->squares[c] = squares;
      continue;
    }
    moments->mean[c] += apart * (added / both);
    moments->squares[c] += squares + apart * apart * (had * added / both);
  }
  moments->count = both;
}

static void products_add(const ep_op *op, const float *x, const float *grad_y, int64_t rows,
                         const ep_blocked_moments *batch, ep_blocked_moments *moments) {
  const int64_t pixels = op->in.height * op->in.width;
  for (int64_t c = 0; c < op->in.channels; c++)
    for (int64_t row = 0; row < rows; row++) {
      const int64_t at = row * op->in_features + c * pixels;
      moments->sum[c] += norm_sum(grad_y + at, pixels, 0);
      moments->product[c] +=
          norm_products(grad_y + at, x + at, pixels, batch->mean[c]) * batch->factor[c];
    }
}

static double norm_weight(const ep_blocked_call *call, int64_t i) {
  return call->op->weight < 0 ? 1 : call->parameters[call->op->weight + i];
}

static double norm_bias(const ep_blocked_call *call, int64_t i) {
  return call->op->bias < 0 ? 0 : call->parameters[call->op->bias + i];
}

static void batch_norm_forward(const ep_blocked_call *call) {
  const ep_op *op = call->op;
  const int64_t pixels = op->in.height * op->in.width;
  for (int64_t i = 0; i < call->rows * op->in.channels; i++) {
    const int64_t c = i % op->in.channels;
    const double mean = call->moments->mean[c], bias = norm_bias(call, c);
    const double factor = call->moments->factor[c] * norm_weight(call, c);
    const float *restrict x = call->x + i * pixels;
    float *restrict y = call->y + i * pixels;
    for (int64_t j = 0; j < pixels; j++) y[j] = (float)((x[j] - mean) * factor + bias);
  }
}

/* With n = (x - mean) factor: grad_x = W factor (grad_y - mean of grad_y - n mean of grad_y n). The
 * gradients of W and b are the sums that moments hold. */
static void batch_norm_backward(const ep_blocked_call *call) {
  if (!call->grad_x) return;
  const ep_op *op = call->op;
  const ep_blocked_moments *moments = call->moments;
  const int64_t pixels = op->in.height * op->in.width;
  for (int64_t i = 0; i < call->rows * op->in.channels; i++) {
    const int64_t c = i % op->in.channels;
    const double mean = moments->mean[c], factor = moments->factor[c];
    const double all = norm_weight(call, c) * factor, flat = moments->sum[c] / moments->count;
    const double along = factor * (moments->product[c] / moments->count);
    const float *restrict x = call->x + i * pixels, *restrict g = call->grad_y + i * pixels;
    float *restrict grad_x = call->grad_x + i * pixels;
    for (int64_t j = 0; j < pixels; j++)
      grad_x[j] = (float)(all * (g[j] - flat - (x[j] - mean) * along));
  }
}

/* A row's mean and factor: what forward leaves. */
typedef struct {
  double mean, factor;
} norm_row;

static void layer_norm_forward(const ep_blocked_call *call) {
  const ep_op *op = call->op;
  const int64_t features = op->in_features;
  norm_row *rows = call->side;
  for (int64_t row = 0; row < call->rows; row++) {
    const float *x = call->x + row * features;
    float *y = call->y + row * features;
    const double mean = norm_sum(x, features, 0) / (double)features;
    const double variance = norm_squares(x, features, mean) / (double)features;
    const double factor = 1 / sqrt(variance + (double)op->eps);
    rows[row] = (norm_row){mean, factor};
    for (int64_t i = 0; i < features; i++)
      y[i] = (float)((x[i] - mean) * factor * norm_weight(call, i) + norm_bias(call, i));
  }
}

/* As batch_norm's, but that W differs within the set: with g = grad_y W, the means are a row's. */
static void layer_norm_backward(const ep_blocked_call *call) {
  const int64_t features = call->op->in_features;
  const norm_row *rows = call->side;
  for (int64_t row = 0; row < call->rows; row++) {
    const float *x = call->x + row * features, *grad_y = call->grad_y + row * features;
    const double mean = rows[row].mean, factor = rows[row].factor;
    double sum = 0, product = 0;
    for (int64_t i = 0; i < features; i++) {
      const double n = (x[i] - mean) * factor, g = grad_y[i] * norm_weight(call, i);
      sum += g;
      product += g * n;
      if (call->grad_weight) call->grad_weight[i] += (float)(grad_y[i] * n);
      if (call->grad_bias) call->grad_bias[i] += grad_y[i];
    }
    if (!call->grad_x) continue;
    float *grad_x = call->grad_x + row * features;
    for (int64_t i = 0; i < features; i++) {
      const double n = (x[i] - mean) * factor, g = grad_y[i] * norm_weight(call, i);
      grad_x[i] = (float)(factor * (g - (sum + n * product) / (double)features));
    }
  }
}

#endif
