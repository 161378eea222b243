/* layers_norm.h: batch_norm and layer_norm. Sums are taken in vectors of float32, a few hundred
 * numbers a lane at most, and these sums are added up in double. */
#ifndef EP_KERNELS_CPU_EXECUTORS_BLOCKED_LAYERS_NORM_H
#define EP_KERNELS_CPU_EXECUTORS_BLOCKED_LAYERS_NORM_H

#include <math.h>

#include "kernels/cpu/executors/blocked/blocked.h"
#include "kernels/cpu/runtime/lanes.h"

enum {
  NORM_SUMS = 4, /* vectors that are added up side by side: one would wait for itself */
  NORM_BLOCK = 256 * EP_LANES, /* numbers whose sum is taken in float32 */
  NORM_ROWS = 256              /* the same, down the rows of a channel without pixels */
};

/* Of the numbers i … i + EP_LANES - 1 (`count` of them at most, the others 0): a term of a sum. */
typedef struct {
  const float *x, *g, *w;
  float mean;
} norm_terms;

LANES_INLINE lanes norm_inside(lanes value, int64_t count) {
  return count >= EP_LANES ? value
                           : lanes_select(lanes_int_less(lanes_iota, lanes_int_set((int32_t)count)),
                                          value, lanes_set(0.0f));
}

LANES_INLINE lanes norm_plain(const norm_terms *t, int64_t i, int64_t count) {
  return lanes_load_most(t->x + i, count);
}

LANES_INLINE lanes norm_square(const norm_terms *t, int64_t i, int64_t count) {
  const lanes apart = lanes_load_most(t->x + i, count) - t->mean;
  return norm_inside(apart * apart, count);
}

LANES_INLINE lanes norm_slope(const norm_terms *t, int64_t i, int64_t count) {
  const lanes g = lanes_load_most(t->g + i, count);
  return t->w ? g * lanes_load_most(t->w + i, count) : g;
}

LANES_INLINE lanes norm_product(const norm_terms *t, int64_t i, int64_t count) {
  return norm_slope(t, i, count) * (lanes_load_most(t->x + i, count) - t->mean);
}

/* The sum of `count` terms; `term` is one of the above at each call. */
LANES_INLINE double norm_total(const norm_terms *given, int64_t count,
                               lanes (*term)(const norm_terms *, int64_t, int64_t)) {
  const norm_terms own = *given, *t = &own;
  double total = 0;
  for (int64_t first = 0; first < count; first += NORM_BLOCK) {
    const int64_t end = count - first < NORM_BLOCK ? count : first + NORM_BLOCK;
    lanes sum[NORM_SUMS] = {{0}};
    int64_t i = first;
    for (; i + NORM_SUMS * EP_LANES <= end; i += NORM_SUMS * EP_LANES)
#pragma GCC unroll 4
      for (int j = 0; j < NORM_SUMS; j++) sum[j] += term(t, i + j * EP_LANES, EP_LANES);
    for (; i < end; i += EP_LANES) sum[0] += term(t, i, end - i);
    total += lanes_total((sum[0] + sum[1]) + (sum[2] + sum[3]));
  }
  return total;
}

static double norm_sum(const float *x, int64_t count) {
  return norm_total(&(norm_terms){.x = x}, count, norm_plain);
}

static double norm_squares(const float *x, int64_t count, double mean) {
  return norm_total(&(norm_terms){.x = x, .mean = (float)mean}, count, norm_square);
}

/* The sum of g (x - mean). */
static double norm_products(const float *g, const float *x, int64_t count, double mean) {
  return norm_total(&(norm_terms){.x = x, .g = g, .mean = (float)mean}, count, norm_product);
}

/* What a vector's lanes add to doubles. */
LANES_INLINE void norm_spread(lanes sum, double *to, int64_t count) {
  for (int64_t j = 0; j < count; j++) to[j] += (double)sum[j];
}

/* Two sets' means and squares become those of both: T. Chan, G. Golub, R. LeVeque, "Updating
 * Formulae and a Pairwise Algorithm for Computing Sample Variances", 1979. */
static void norm_merge(ep_blocked_moments *moments, int64_t c, double added, double mean,
                       double squares) {
  const double had = moments->count, both = had + added, apart = mean - moments->mean[c];
  if (had == 0) {
    moments->mean[c] = mean;
    moments->squares[c] = squares;
    return;
  }
  moments->mean[c] += apart * (added / both);
  moments->squares[c] += squares + apart * apart * (had * added / both);
}

/* Channels first … first + EP_LANES - 1 of rows without pixels. */
static void moments_add_flat(const ep_op *op, const float *x, int64_t rows, int64_t first,
                             ep_blocked_moments *moments) {
  const int64_t stride = op->in_features;
  const int64_t count = stride - first < EP_LANES ? stride - first : EP_LANES;
  double sums[EP_LANES] = {0}, squares[EP_LANES] = {0};
  lanes mean = lanes_set(0.0f);
  for (int64_t begin = 0; begin < rows; begin += NORM_ROWS) {
    lanes sum = lanes_set(0.0f);
    for (int64_t row = begin; row < rows && row < begin + NORM_ROWS; row++)
      sum += lanes_load_most(x + row * stride + first, count);
    norm_spread(sum, sums, count);
  }
  for (int64_t j = 0; j < count; j++) mean[j] = (float)(sums[j] / (double)rows);
  for (int64_t begin = 0; begin < rows; begin += NORM_ROWS) {
    lanes sum = lanes_set(0.0f);
    for (int64_t row = begin; row < rows && row < begin + NORM_ROWS; row++) {
      const lanes apart = lanes_load_most(x + row * stride + first, count) - mean;
      sum += apart * apart;
    }
    norm_spread(sum, squares, count);
  }
  for (int64_t j = 0; j < count; j++)
    norm_merge(moments, first + j, (double)rows, sums[j] / (double)rows, squares[j]);
}

static void moments_add(const ep_op *op, const float *x, int64_t rows,
                        ep_blocked_moments *moments) {
  const int64_t pixels = op->in.height * op->in.width;
  const double added = (double)(rows * pixels);
  if (pixels == 1)
    for (int64_t c = 0; c < op->in.channels; c += EP_LANES)
      moments_add_flat(op, x, rows, c, moments);
  for (int64_t c = 0; pixels > 1 && c < op->in.channels; c++) {
    const float *channel = x + c * pixels;
    double sum = 0, squares = 0;
    for (int64_t row = 0; row < rows; row++)
      sum += norm_sum(channel + row * op->in_features, pixels);
    for (int64_t row = 0; row < rows; row++)
      squares += norm_squares(channel + row * op->in_features, pixels, sum / added);
    norm_merge(moments, c, added, sum / added, squares);
  }
  moments->count += added;
}

static void products_add_flat(const ep_op *op, const float *x, const float *grad_y, int64_t rows,
                              int64_t first, const ep_blocked_moments *batch,
                              ep_blocked_moments *moments) {
  const int64_t stride = op->in_features;
  const int64_t count = stride - first < EP_LANES ? stride - first : EP_LANES;
  double sums[EP_LANES] = {0}, products[EP_LANES] = {0};
  lanes mean = lanes_set(0.0f);
  for (int64_t j = 0; j < count; j++) mean[j] = (float)batch->mean[first + j];
  for (int64_t begin = 0; begin < rows; begin += NORM_ROWS) {
    lanes sum = lanes_set(0.0f), product = lanes_set(0.0f);
    for (int64_t row = begin; row < rows && row < begin + NORM_ROWS; row++) {
      const lanes g = lanes_load_most(grad_y + row * stride + first, count);
      sum += g;
      product += g * (lanes_load_most(x + row * stride + first, count) - mean);
    }
    norm_spread(sum, sums, count);
    norm_spread(product, products, count);
  }
  for (int64_t j = 0; j < count; j++) {
    moments->sum[first + j] += sums[j];
    moments->product[first + j] += products[j] * batch->factor[first + j];
  }
}

static void products_add(const ep_op *op, const float *x, const float *grad_y, int64_t rows,
                         const ep_blocked_moments *batch, ep_blocked_moments *moments) {
  const int64_t pixels = op->in.height * op->in.width;
  if (pixels == 1) {
    for (int64_t c = 0; c < op->in.channels; c += EP_LANES)
      products_add_flat(op, x, grad_y, rows, c, batch, moments);
    return;
  }
  for (int64_t c = 0; c < op->in.channels; c++)
    for (int64_t row = 0; row < rows; row++) {
      const int64_t at = row * op->in_features + c * pixels;
      moments->sum[c] += norm_sum(grad_y + at, pixels);
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

/* What batch_norm does to a number of a channel: y = (x - mean) factor + bias; back, grad_x = all
 * (grad_y - flat - (x - mean) along). With n = (x - mean) factor this is W factor (grad_y - mean of
 * grad_y - n mean of grad_y n). The gradients of W and b are the sums that moments hold. */
typedef struct {
  float mean, factor, bias, flat, along;
} norm_channel;

static norm_channel norm_channel_of(const ep_blocked_call *call, int64_t c) {
  const ep_blocked_moments *moments = call->moments;
  const double factor = moments->factor[c];
  norm_channel own = {.mean = (float)moments->mean[c],
                      .factor = (float)(factor * norm_weight(call, c)),
                      .bias = (float)norm_bias(call, c)};
  if (call->grad_y) {
    own.flat = (float)(moments->sum[c] / moments->count);
    own.along = (float)(factor * (moments->product[c] / moments->count));
  }
  return own;
}

/* EP_LANES channels of rows without pixels. */
LANES_INLINE void norm_flat(const ep_blocked_call *call, int64_t first, const bool back) {
  const int64_t stride = call->op->in_features;
  const int64_t count = stride - first < EP_LANES ? stride - first : EP_LANES;
  lanes mean = {0}, factor = {0}, bias = {0}, flat = {0}, along = {0};
  for (int64_t j = 0; j < count; j++) {
    const norm_channel own = norm_channel_of(call, first + j);
    mean[j] = own.mean, factor[j] = own.factor, bias[j] = own.bias;
    flat[j] = own.flat, along[j] = own.along;
  }
  for (int64_t row = 0, at = first; row < call->rows; row++, at += stride) {
    const lanes apart = lanes_load_most(call->x + at, count) - mean;
    if (back)
      lanes_store_most(call->grad_x + at,
                       factor * (lanes_load_most(call->grad_y + at, count) - flat - apart * along),
                       count);
    else
      lanes_store_most(call->y + at, apart * factor + bias, count);
  }
}

LANES_INLINE void norm_planes(const ep_blocked_call *call, const bool back) {
  const ep_op *op = call->op;
  const int64_t pixels = op->in.height * op->in.width;
  for (int64_t i = 0; i < call->rows * op->in.channels; i++) {
    const norm_channel own = norm_channel_of(call, i % op->in.channels);
    const float *x = call->x + i * pixels;
    for (int64_t j = 0; j < pixels; j += EP_LANES) {
      const int64_t count = pixels - j;
      const lanes apart = lanes_load_most(x + j, count) - own.mean;
      if (back) {
        const lanes g = lanes_load_most(call->grad_y + i * pixels + j, count);
        lanes_store_most(call->grad_x + i * pixels + j,
                         own.factor * (g - own.flat - apart * own.along), count);
      } else {
        lanes_store_most(call->y + i * pixels + j, apart * own.factor + own.bias, count);
      }
    }
  }
}

static void batch_norm_forward(const ep_blocked_call *call) {
  const ep_op *op = call->op;
  if (op->in.height * op->in.width > 1)
    norm_planes(call, false);
  else
    for (int64_t c = 0; c < op->in_features; c += EP_LANES) norm_flat(call, c, false);
}

static void batch_norm_backward(const ep_blocked_call *call) {
  const ep_op *op = call->op;
  if (!call->grad_x) return;
  if (op->in.height * op->in.width > 1)
    norm_planes(call, true);
  else
    for (int64_t c = 0; c < op->in_features; c += EP_LANES) norm_flat(call, c, true);
}

/* A row's mean and factor: what forward leaves. */
typedef struct {
  double mean, factor;
} norm_row;

LANES_INLINE lanes norm_parameter(const ep_blocked_call *call, int64_t offset, float none,
                                  int64_t i, int64_t count) {
  return offset < 0 ? lanes_set(none) : lanes_load_most(call->parameters + offset + i, count);
}

static void layer_norm_forward(const ep_blocked_call *call) {
  const ep_op *op = call->op;
  const int64_t features = op->in_features;
  norm_row *rows = call->side;
  for (int64_t row = 0; row < call->rows; row++) {
    const float *x = call->x + row * features;
    float *y = call->y + row * features;
    const double mean = norm_sum(x, features) / (double)features;
    const double variance = norm_squares(x, features, mean) / (double)features;
    const double factor = 1 / sqrt(variance + (double)op->eps);
    const float centre = (float)mean, scale = (float)factor;
    rows[row] = (norm_row){mean, factor};
    for (int64_t i = 0; i < features; i += EP_LANES) {
      const int64_t count = features - i;
      const lanes n = (lanes_load_most(x + i, count) - centre) * scale;
      lanes_store_most(y + i,
                       n * norm_parameter(call, op->weight, 1, i, count) +
                           norm_parameter(call, op->bias, 0, i, count),
                       count);
    }
  }
}

LANES_INLINE void norm_gather(float *to, lanes value, int64_t count) {
  lanes_store_most(to, lanes_load_most(to, count) + value, count);
}

/* As batch_norm's, but that W differs within the set: with g = grad_y W, the means are a row's. */
static void layer_norm_backward(const ep_blocked_call *call) {
  const ep_op *op = call->op;
  const int64_t features = op->in_features;
  const float *w = op->weight < 0 ? NULL : call->parameters + op->weight;
  const norm_row *rows = call->side;
  for (int64_t row = 0; row < call->rows; row++) {
    const float *x = call->x + row * features, *grad_y = call->grad_y + row * features;
    const float mean = (float)rows[row].mean, factor = (float)rows[row].factor;
    const norm_terms terms = {.x = x, .g = grad_y, .w = w, .mean = mean};
    for (int64_t i = 0; i < features; i += EP_LANES) {
      const int64_t count = features - i;
      const lanes g = lanes_load_most(grad_y + i, count);
      const lanes n = (lanes_load_most(x + i, count) - mean) * factor;
      if (call->grad_weight) norm_gather(call->grad_weight + i, g * n, count);
      if (call->grad_bias) norm_gather(call->grad_bias + i, g, count);
    }
    if (!call->grad_x) continue;
    const double sum = norm_total(&terms, features, norm_slope);
    const double product = norm_total(&terms, features, norm_product) * rows[row].factor;
    const float flat = (float)(sum / (double)features);
    const float along = (float)(product / (double)features) * factor;
    float *grad_x = call->grad_x + row * features;
    for (int64_t i = 0; i < features; i += EP_LANES) {
      const int64_t count = features - i;
      const lanes apart = lanes_load_most(x + i, count) - mean;
      lanes_store_most(grad_x + i, factor * (norm_slope(&terms, i, count) - flat - apart * along),
                       count);
    }
  }
}

#endif
