/* batch_norm, layer_norm and instance_norm: y = (x - mean) / sqrt(variance + eps) * W + b, over
 * different sets of numbers. W and b: [channels], [in_features] of layer_norm, or none. */
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

/* Of x - from, or of its squares. */
static double set_sum(set of, const ep_real *x, double from, bool squares) {
  double sum = 0;
  for (int64_t run = 0; run < of.runs; run++) {
    for (int64_t i = 0; i < of.length; i++) {
      double value = x[run * of.stride + i] - from;
      sum += squares ? value * value : value;
    }
  }
  return sum;
}

static statistics statistics_of(const ep_op *op, set of, const ep_real *x) {
  double count = (double)(of.runs * of.length);
  double mean = set_sum(of, x, 0, false) / count;
  double variance = set_sum(of, x, mean, true) / count;
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

/* Channels at a time: so many sums go over the replicas together. */
enum { CHANNELS = 64 };

/* Adds up what each replica has, where they sync. */
static void replicas_add(const ep_reference_pass *pass, const ep_op *op, double *values,
                         int64_t count) {
  if (op->sync && pass->replicas) pass->replicas->add(pass->replicas->context, values, count);
}

/* A replica without rows takes part in the sums of those that sync, and in nothing else. */
static bool takes_part(const ep_reference_pass *pass, const ep_op *op) {
  return pass->rows > 0 || (op->sync && pass->replicas);
}

/* The batch's statistics of channels first … first + count - 1 of x, and its numbers a channel. */
static double batch_statistics(const ep_reference_pass *pass, const ep_op *op, const ep_real *x,
                               int64_t first, int64_t count, statistics *out) {
  set of = channel_set(op, pass->rows);
  double values[CHANNELS + 1], numbers;
  for (int64_t c = 0; c < count; c++) {
    values[c] = set_sum(of, x + (first + c) * of.length, 0, false);
  }
  values[count] = (double)(of.runs * of.length);
  replicas_add(pass, op, values, count + 1);
  numbers = values[count];
  for (int64_t c = 0; c < count; c++) out[c].mean = numbers > 0 ? values[c] / numbers : 0;
  for (int64_t c = 0; c < count; c++) {
    values[c] = set_sum(of, x + (first + c) * of.length, out[c].mean, true);
  }
  replicas_add(pass, op, values, count);
  for (int64_t c = 0; c < count; c++) {
    out[c].variance = numbers > 0 ? values[c] / numbers : 0;
    out[c].factor = 1 / sqrt(out[c].variance + op->eps);
  }
  return numbers;
}

static void running_move(const ep_reference_pass *pass, const ep_op *op, int64_t c, statistics s,
                         double numbers) {
  ep_real *mean = running(pass, op, c), *variance = running(pass, op, op->in.channels + c);
  *mean = ep_running_mean(*mean, (ep_real)s.mean, op->momentum);
  *variance = ep_running_variance(*variance, (ep_real)s.variance, (int64_t)numbers, op->momentum);
}

/* In evaluation, of the running statistics; in training, of the batch, and moves those. */
static void channel_statistics(const ep_reference_pass *pass, const ep_op *op, const ep_real *x,
                               int64_t first, int64_t count, statistics *out) {
  if (pass->training) {
    double numbers = batch_statistics(pass, op, x, first, count, out);
    for (int64_t c = 0; numbers > 0 && c < count; c++)
      running_move(pass, op, first + c, out[c], numbers);
    return;
  }
  for (int64_t c = 0; c < count; c++) {
    ep_real mean = *running(pass, op, first + c);
    ep_real variance = *running(pass, op, op->in.channels + first + c);
    out[c] = (statistics){mean, variance, 1 / sqrt((double)variance + op->eps)};
  }
}

static int64_t channels_at(const ep_op *op, int64_t first) {
  return op->in.channels - first < CHANNELS ? op->in.channels - first : CHANNELS;
}

static void forward_batch_norm(const ep_reference_pass *pass, const ep_op *op,
                               const ep_real *const *inputs, ep_real *y) {
  const ep_real *x = inputs[0];
  set of = channel_set(op, pass->rows);
  statistics found[CHANNELS];
  if (!takes_part(pass, op)) return;
  for (int64_t c = 0; c < op->in.channels; c++, x += of.length, y += of.length) {
    int64_t first = c - c % CHANNELS;
    if (c == first)
      channel_statistics(pass, op, x - first * of.length, first, channels_at(op, first), found);
    statistics s = found[c - first];
    double weight = weight_of(pass, op, c), bias = bias_of(pass, op, c);
    for (int64_t run = 0; run < of.runs; run++) {
      for (int64_t i = run * of.stride; i < run * of.stride + of.length; i++) {
        y[i] = (ep_real)((x[i] - s.mean) * s.factor * weight + bias);
      }
    }
  }
}

/* The sums of grad_y, and of grad_y n, of one channel. */
static void channel_products(set of, const ep_real *x, const ep_real *grad_y, statistics s,
                             double *sum, double *product) {
  *sum = *product = 0;
  for (int64_t run = 0; run < of.runs; run++) {
    for (int64_t i = run * of.stride; i < run * of.stride + of.length; i++) {
      *sum += grad_y[i];
      *product += grad_y[i] * (x[i] - s.mean) * s.factor;
    }
  }
}

/* With n = (x - mean) * factor and g = grad_y * W:
 * grad_x = factor * (g - mean of g - n * mean of g n), the means over the channel; grad_W = the sum
 * of grad_y n, grad_b = the sum of grad_y. Those are of this replica's rows: the sums of gradients
 * over the replicas come later. */
static void backward_channels(const ep_reference_pass *pass, const ep_op *op, const ep_real *x,
                              const ep_real *grad_y, ep_real *grad_x, double *grad_parameters,
                              int64_t first) {
  set of = channel_set(op, pass->rows);
  int64_t count = channels_at(op, first);
  statistics found[CHANNELS];
  double sums[2 * CHANNELS], numbers = batch_statistics(pass, op, x, first, count, found);
  for (int64_t c = 0; c < count; c++) {
    int64_t at = (first + c) * of.length;
    channel_products(of, x + at, grad_y + at, found[c], &sums[2 * c], &sums[2 * c + 1]);
    if (op->weight >= 0) grad_parameters[op->weight + first + c] += sums[2 * c + 1];
    if (op->bias >= 0) grad_parameters[op->bias + first + c] += sums[2 * c];
  }
  if (!grad_x) return;
  replicas_add(pass, op, sums, 2 * count);
  for (int64_t c = 0; c < count; c++) {
    int64_t at = (first + c) * of.length;
    double weight = weight_of(pass, op, first + c), sum = sums[2 * c], product = sums[2 * c + 1];
    statistics s = found[c];
    for (int64_t run = 0; run < of.runs; run++) {
      for (int64_t i = at + run * of.stride; i < at + run * of.stride + of.length; i++) {
        double n = (x[i] - s.mean) * s.factor;
        grad_x[i] =
            (ep_real)(weight * s.factor * (grad_y[i] - sum / numbers - n * product / numbers));
      }
    }
  }
}

static void backward_batch_norm(const ep_reference_pass *pass, const ep_op *op,
                                const ep_real *const *inputs, const ep_real *y,
                                const ep_real *grad_y, ep_real *const *grad_inputs,
                                double *grad_parameters) {
  const ep_real *x = inputs[0];
  ep_real *grad_x = grad_inputs[0];
  (void)y;
  if (!takes_part(pass, op)) return;
  for (int64_t first = 0; first < op->in.channels; first += CHANNELS) {
    backward_channels(pass, op, x, grad_y, grad_x, grad_parameters, first);
  }
}

/* What layer_norm and instance_norm normalize together: all of a row, or a channel of it. */
static int64_t set_length(const ep_op *op) {
  return op->type == EP_LAYER_LAYER_NORM ? op->in_features : op->in.height * op->in.width;
}

/* Where in W and b number i of a set has its place. */
static int64_t place_of(const ep_op *op, int64_t number, int64_t i) {
  return op->type == EP_LAYER_LAYER_NORM ? i : number % op->in.channels;
}

static void forward_rows(const ep_reference_pass *pass, const ep_op *op,
                         const ep_real *const *inputs, ep_real *y) {
  const ep_real *x = inputs[0];
  const int64_t length = set_length(op), sets = pass->rows * op->in_features / length;
  for (int64_t at = 0; at < sets; at++, x += length, y += length) {
    statistics s = statistics_of(op, (set){1, length, length}, x);
    for (int64_t i = 0; i < length; i++) {
      const int64_t place = place_of(op, at, i);
      double n = (x[i] - s.mean) * s.factor;
      y[i] = (ep_real)(n * weight_of(pass, op, place) + bias_of(pass, op, place));
    }
  }
}

/* As batch_norm's, but that W and b may differ within the set: the means are over a set. */
static void backward_rows(const ep_reference_pass *pass, const ep_op *op,
                          const ep_real *const *inputs, const ep_real *y, const ep_real *grad_y,
                          ep_real *const *grad_inputs, double *grad_parameters) {
  const ep_real *x = inputs[0];
  ep_real *grad_x = grad_inputs[0];
  (void)y;
  const int64_t length = set_length(op), sets = pass->rows * op->in_features / length;
  for (int64_t at = 0; at < sets; at++, x += length, grad_y += length) {
    statistics s = statistics_of(op, (set){1, length, length}, x);
    double sum = 0, product = 0;
    for (int64_t i = 0; i < length; i++) {
      const int64_t place = place_of(op, at, i);
      double n = (x[i] - s.mean) * s.factor, g = grad_y[i] * weight_of(pass, op, place);
      sum += g;
      product += g * n;
      if (op->weight >= 0) grad_parameters[op->weight + place] += grad_y[i] * n;
      if (op->bias >= 0) grad_parameters[op->bias + place] += grad_y[i];
    }
    if (!grad_x) continue;
    for (int64_t i = 0; i < length; i++) {
      double n = (x[i] - s.mean) * s.factor;
      double g = grad_y[i] * weight_of(pass, op, place_of(op, at, i));
      grad_x[i] = (ep_real)(s.factor * (g - sum / (double)length - n * product / (double)length));
    }
    grad_x += length;
  }
}

EP_REFERENCE_LAYER(BATCH_NORM, forward_batch_norm, backward_batch_norm);
EP_REFERENCE_LAYER(LAYER_NORM, forward_rows, backward_rows);
EP_REFERENCE_LAYER(INSTANCE_NORM, forward_rows, backward_rows);
