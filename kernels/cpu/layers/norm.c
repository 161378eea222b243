/* batch_norm and layer_norm: y = (x - mean) / sqrt(variance + eps) * W + b, over different sets of
 * numbers. W and b: [channels] of batch_norm, [in_features] of layer_norm, or none. */
#include "kernels/cpu/layers/layers.h"
#include "kernels/formulas/norms.h"

typedef struct {
  double mean, variance; /* population */
  double factor;         /* 1 / sqrt(variance + eps) */
} statistics;

/* The numbers that are normalized together: `runs` runs of `length` neighbours, `stride` apart. */
typedef struct {
  int64_t runs, length, stride;
} set;

/* A channel of a batch: its pixels in each row. */
static set channel_set(const ep_op *op, int64_t rows) {
  return (set){rows, op->in.height * op->in.width, op->in_features};
}

static statistics statistics_of(const ep_op *op, set of, const ep_real *x) {
  double count = (double)(of.runs * of.length), sum = 0, squares = 0;
  for (int64_t run = 0; run < of.runs; run++) {
    for (int64_t i = 0; i < of.length; i++) sum += x[run * of.stride + i];
  }
  double mean = sum / count;
  for (int64_t run = 0; run < of.runs; run++) {
    for (int64_t i = 0; i < of.length; i++) {
      double from = x[run * of.stride + i] - mean;
      squares += from * from;
    }
  }
  double variance = squares / count;
  return (statistics){mean, variance, 1 / sqrt(variance + op->eps)};
}

static double weight_of(const ep_reference_pass *pass, const ep_op *op, int64_t i) {
  return op->weight < 0 ? 1 : pass->parameters[op->weight + i];
}

static double bias_of(const ep_reference_pass *pass, const ep_op *op, int64_t i) {
  return op->bias < 0 ? 0 : pass->parameters[op->bias + i];
}

/* Number `i` of the running statistics: the means, then the variances. */
static ep_real *running(const ep_reference_pass *pass, const ep_op *op, int64_t i) {
  return pass->buffers + op->running + i;
}

/* In evaluation, of the running statistics; in training, of the batch, and moves those. */
static statistics channel_statistics(const ep_reference_pass *pass, const ep_op *op, int64_t c,
                                     const ep_real *x) {
  ep_real *mean = running(pass, op, c), *variance = running(pass, op, op->in.channels + c);
  if (!pass->training) {
    return (statistics){*mean, *variance, 1 / sqrt((double)*variance + op->eps)};
  }
  set of = channel_set(op, pass->rows);
  statistics batch = statistics_of(op, of, x);
  *mean = ep_running_mean(*mean, (ep_real)batch.mean, op->momentum);
  *variance =
      ep_running_variance(*variance, (ep_real)batch.variance, of.runs * of.length, op->momentum);
  return batch;
}

static void forward_batch_norm(const ep_reference_pass *pass, const ep_op *op, const ep_real *x,
                               ep_real *y) {
  set of = channel_set(op, pass->rows);
  for (int64_t c = 0; c < op->in.channels; c++, x += of.length, y += of.length) {
    statistics s = channel_statistics(pass, op, c, x);
    double weight = weight_of(pass, op, c), bias = bias_of(pass, op, c);
    for (int64_t run = 0; run < of.runs; run++) {
      for (int64_t i = run * of.stride; i < run * of.stride + of.length; i++) {
        y[i] = (ep_real)((x[i] - s.mean) * s.factor * weight + bias);
      }
    }
  }
}

/* With n = (x - mean) * factor and g = grad_y * W:
 * grad_x = factor * (g - mean of g - n * mean of g n), the means over the channel; grad_W = the sum
 * of grad_y n, grad_b = the sum of grad_y. */
static void backward_batch_norm(const ep_reference_pass *pass, const ep_op *op, const ep_real *x,
                                const ep_real *y, const ep_real *grad_y, ep_real *grad_x,
                                double *grad_parameters) {
  (void)y;
  set of = channel_set(op, pass->rows);
  double count = (double)(of.runs * of.length);
  for (int64_t c = 0; c < op->in.channels; c++, x += of.length, grad_y += of.length) {
    statistics s = statistics_of(op, of, x);
    double sum = 0, product = 0, weight = weight_of(pass, op, c);
    for (int64_t run = 0; run < of.runs; run++) {
      for (int64_t i = run * of.stride; i < run * of.stride + of.length; i++) {
        sum += grad_y[i];
        product += grad_y[i] * (x[i] - s.mean) * s.factor;
      }
    }
    if (op->weight >= 0) grad_parameters[op->weight + c] += product;
    if (op->bias >= 0) grad_parameters[op->bias + c] += sum;
    if (!grad_x) continue;
    for (int64_t run = 0; run < of.runs; run++) {
      for (int64_t i = run * of.stride; i < run * of.stride + of.length; i++) {
        double n = (x[i] - s.mean) * s.factor;
        grad_x[i] = (ep_real)(weight * s.factor * (grad_y[i] - sum / count - n * product / count));
      }
    }
    grad_x += of.length;
  }
}

static void forward_layer_norm(const ep_reference_pass *pass, const ep_op *op, const ep_real *x,
                               ep_real *y) {
  int64_t features = op->in_features;
  for (int64_t row = 0; row < pass->rows; row++, x += features, y += features) {
    statistics s = statistics_of(op, (set){1, features, features}, x);
    for (int64_t i = 0; i < features; i++) {
      double n = (x[i] - s.mean) * s.factor;
      y[i] = (ep_real)(n * weight_of(pass, op, i) + bias_of(pass, op, i));
    }
  }
}

/* As batch_norm's, but that W and b differ within the set: the means are over a row. */
static void backward_layer_norm(const ep_reference_pass *pass, const ep_op *op, const ep_real *x,
                                const ep_real *y, const ep_real *grad_y, ep_real *grad_x,
                                double *grad_parameters) {
  (void)y;
  int64_t features = op->in_features;
  for (int64_t row = 0; row < pass->rows; row++, x += features, grad_y += features) {
    statistics s = statistics_of(op, (set){1, features, features}, x);
    double sum = 0, product = 0;
    for (int64_t i = 0; i < features; i++) {
      double n = (x[i] - s.mean) * s.factor, g = grad_y[i] * weight_of(pass, op, i);
      sum += g;
      product += g * n;
      if (op->weight >= 0) grad_parameters[op->weight + i] += grad_y[i] * n;
      if (op->bias >= 0) grad_parameters[op->bias + i] += grad_y[i];
    }
    if (!grad_x) continue;
    for (int64_t i = 0; i < features; i++) {
      double n = (x[i] - s.mean) * s.factor, g = grad_y[i] * weight_of(pass, op, i);
      grad_x[i] =
          (ep_real)(s.factor * (g - sum / (double)features - n * product / (double)features));
    }
    grad_x += features;
  }
}

const ep_reference_layer ep_reference_batch_norm = {forward_batch_norm, backward_batch_norm};
const ep_reference_layer ep_reference_layer_norm = {forward_layer_norm, backward_layer_norm};
