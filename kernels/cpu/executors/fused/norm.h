/* norm.h: layer_norm and batch_norm on one chunk: y = n W + b, n = (x - mean) factor, factor = 1 /
 * sqrt(variance + eps). Of layer_norm, a row's mean and variance are sums over vectors, lane by
 * lane. Of batch_norm, a feature's are sums over vectors and lanes, of EP_LANES features together:
 * the chunk is the batch, but for the lanes beyond its rows. */
#ifndef EP_KERNELS_CPU_EXECUTORS_FUSED_NORM_H
#define EP_KERNELS_CPU_EXECUTORS_FUSED_NORM_H

#include "kernels/cpu/executors/fused/fused.h"
#include "kernels/cpu/runtime/lanes.h"
#include "kernels/formulas/norms.h"

typedef struct {
  int64_t features, rows, vectors, stride;
  const float *weight, *bias;     /* [features]; NULL: 1, and 0 */
  float *mean, *factor;           /* of each row, or, of batch_norm, each feature */
  float *weight_sums, *bias_sums; /* [features, EP_LANES]; NULL: not wanted */
  bool first;                     /* sums = …, not += */
  float eps, momentum;
  float *running; /* batch_norm: [2, features], means and variances */
} norm;

LANES_INLINE float norm_weight(const norm *p, int64_t f) {
  return p->weight ? p->weight[f] : 1.0f;
}

LANES_INLINE float norm_bias(const norm *p, int64_t f) {
  return p->bias ? p->bias[f] : 0.0f;
}

LANES_INLINE lanes norm_factor(const norm *p, lanes variance) {
  return 1.0f / lanes_sqrt(variance + p->eps);
}

/* From the mean square of x - middle; the mean is middle + left. */
LANES_INLINE lanes norm_variance(lanes square, lanes left) {
  return lanes_max(lanes_set(0.0f), square - left * left);
}

LANES_INLINE void norm_add_to(const norm *p, float *sums, int64_t f, lanes sum) {
  if (!sums) return;
  float *to = sums + f * EP_LANES;
  lanes_store(to, p->first ? sum : lanes_load(to) + sum);
}

/* Adds to the gradients of W and b: the sums of g n, and of g. */
LANES_INLINE void norm_add(const norm *p, int64_t f, lanes product, lanes sum) {
  norm_add_to(p, p->weight_sums, f, product);
  norm_add_to(p, p->bias_sums, f, sum);
}

/* --- layer_norm ---------------------------------------------------------------------------- */

enum { NORM_SUMS = 4 }; /* that are added up side by side: one would wait for itself */

/* For each feature f + i: `at` is where its vector is, i the sum that it belongs to. */
#define NORM_EACH(p, statement)                                                                 \
  do {                                                                                          \
    int64_t f = 0, at = 0;                                                                      \
    for (; f + NORM_SUMS <= (p)->features; f += NORM_SUMS)                                      \
      _Pragma("GCC unroll 4") for (int i = 0; i < NORM_SUMS; i++, at += (p)->stride) statement; \
    _Pragma("GCC unroll 4") for (int i = 0; i < NORM_SUMS - 1;                                  \
                                 i++, at += (p)->stride) if (f + i < (p)->features) statement;  \
  } while (0)

LANES_INLINE lanes norm_total(const lanes sum[NORM_SUMS]) {
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

/* The mean is what a first sum says and what is left of the differences from that. */
LANES_INLINE void layer_norm_moments(const norm *p, const float *x, lanes *mean, lanes *factor) {
  const float share = 1.0f / (float)p->features;
  lanes sum[NORM_SUMS] = {{0}}, rest[NORM_SUMS] = {{0}}, squares[NORM_SUMS] = {{0}};
  NORM_EACH(p, { sum[i] += lanes_load(x + at); });
  const lanes middle = norm_total(sum) * share;
  NORM_EACH(p, {
    const lanes apart = lanes_load(x + at) - middle;
    rest[i] += apart;
    squares[i] += apart * apart;
  });
  const lanes left = norm_total(rest) * share;
  *mean = middle + left;
  *factor = norm_factor(p, norm_variance(norm_total(squares) * share, left));
}

static void layer_norm_forward(const norm *given, const float *x, float *y) {
  const norm own = *given, *p = &own; /* own: no store can change it */
  for (int64_t v = 0; v < p->vectors; v++, x += EP_LANES, y += EP_LANES) {
    lanes mean, factor;
    layer_norm_moments(p, x, &mean, &factor);
    lanes_store(p->mean + v * EP_LANES, mean);
    lanes_store(p->factor + v * EP_LANES, factor);
    for (int64_t f = 0; f < p->features; f++) {
      const int64_t at = f * p->stride;
      lanes_store(y + at,
                  (lanes_load(x + at) - mean) * factor * norm_weight(p, f) + norm_bias(p, f));
    }
  }
}

static void layer_norm_parameters(const norm *p, const float *x, const float *g) {
  for (int64_t f = 0; f < p->features; f++, x += p->stride, g += p->stride) {
    lanes sum = lanes_set(0.0f), product = lanes_set(0.0f);
    for (int64_t v = 0, at = 0; v < p->vectors; v++, at += EP_LANES) {
      const lanes n = (lanes_load(x + at) - lanes_load(p->mean + at)) * lanes_load(p->factor + at);
      sum += lanes_load(g + at);
      product += lanes_load(g + at) * n;
    }
    norm_add(p, f, product, sum);
  }
}

/* In place: g = factor (g W - mean of g W - n mean of g W n), the means over the row. */
static void layer_norm_input(const norm *p, const float *x, float *g) {
  const float share = 1.0f / (float)p->features;
  for (int64_t v = 0; v < p->vectors; v++, x += EP_LANES, g += EP_LANES) {
    const lanes mean = lanes_load(p->mean + v * EP_LANES);
    const lanes factor = lanes_load(p->factor + v * EP_LANES);
    lanes sum[NORM_SUMS] = {{0}}, product[NORM_SUMS] = {{0}};
    NORM_EACH(p, {
      const lanes slope = lanes_load(g + at) * norm_weight(p, f + i);
      sum[i] += slope;
      product[i] += slope * ((lanes_load(x + at) - mean) * factor);
    });
    const lanes flat = norm_total(sum) * share, along = norm_total(product) * share * factor;
    for (int64_t f = 0; f < p->features; f++) {
      const int64_t at = f * p->stride;
      const lanes slope = lanes_load(g + at) * norm_weight(p, f) - flat;
      lanes_store(g + at, factor * (slope - (lanes_load(x + at) - mean) * along));
    }
  }
}

/* In place. further: whether the gradient of the input is wanted. */
static void layer_norm_backward(const norm *given, const float *x, float *g, bool further) {
  const norm own = *given, *p = &own;
  if (p->weight_sums || p->bias_sums) layer_norm_parameters(p, x, g);
  if (further) layer_norm_input(p, x, g);
}

/* --- batch_norm ---------------------------------------------------------------------------- */

/* A sum by lane of each of EP_LANES features; lanes_reduce adds the lanes up. */
typedef struct {
  _Alignas(LANES_BYTES) float lane[EP_LANES * EP_LANES];
} norm_sums;

/* `value` in the lanes of vector v that are rows, 0 in the others. */
LANES_INLINE lanes norm_inside(const norm *p, int64_t v, lanes value) {
  const lanes_int left = lanes_int_set((int32_t)(p->rows - v * EP_LANES));
  return lanes_select(lanes_int_less(lanes_iota, left), value, lanes_set(0.0f));
}

/* Of features first … first + count - 1, at x. Their mean is found as layer_norm's is. */
static void batch_norm_moments(const norm *p, int64_t first, int64_t count, const float *x) {
  const float share = 1.0f / (float)p->rows;
  norm_sums sums = {{0}}, squares = {{0}};
  for (int64_t j = 0; j < count; j++) {
    lanes sum = lanes_set(0.0f);
    for (int64_t v = 0; v < p->vectors; v++)
      sum += norm_inside(p, v, lanes_load(x + j * p->stride + v * EP_LANES));
    lanes_store(sums.lane + j * EP_LANES, sum);
  }
  const lanes middle = lanes_reduce(sums.lane) * share;
  for (int64_t j = 0; j < count; j++) {
    lanes sum = lanes_set(0.0f), square = lanes_set(0.0f);
    for (int64_t v = 0; v < p->vectors; v++) {
      const lanes apart = lanes_load(x + j * p->stride + v * EP_LANES) - middle[j];
      sum += norm_inside(p, v, apart);
      square += norm_inside(p, v, apart * apart);
    }
    lanes_store(sums.lane + j * EP_LANES, sum);
    lanes_store(squares.lane + j * EP_LANES, square);
  }
  const lanes left = lanes_reduce(sums.lane) * share, mean = middle + left;
  const lanes variance = norm_variance(lanes_reduce(squares.lane) * share, left);
  lanes_store(p->mean + first, mean);
  lanes_store(p->factor + first, norm_factor(p, variance));
  for (int64_t j = 0; j < count; j++) {
    float *running = p->running + first + j;
    running[0] = ep_running_mean(running[0], mean[j], p->momentum);
    running[p->features] =
        ep_running_variance(running[p->features], variance[j], p->rows, p->momentum);
  }
}

/* Those of evaluation. */
static void batch_norm_running(const norm *p, int64_t first, int64_t count) {
  const float *running = p->running + first;
  lanes_store(p->mean + first, lanes_load_most(running, count));
  lanes_store(p->factor + first, norm_factor(p, lanes_load_most(running + p->features, count)));
}

static void batch_norm_forward(const norm *given, const float *x, float *y, bool training) {
  const norm own = *given, *p = &own;
  for (int64_t f = 0; f < p->features; f++, x += p->stride, y += p->stride) {
    const int64_t left = p->features - f, count = left < EP_LANES ? left : EP_LANES;
    if (f % EP_LANES == 0 && training) batch_norm_moments(p, f, count, x);
    if (f % EP_LANES == 0 && !training) batch_norm_running(p, f, count);
    const float mean = p->mean[f], scale = p->factor[f] * norm_weight(p, f), bias = norm_bias(p, f);
    for (int64_t v = 0; v < p->vectors; v++)
      lanes_store(y + v * EP_LANES, (lanes_load(x + v * EP_LANES) - mean) * scale + bias);
  }
}

/* Of EP_LANES features, or those that are left: adds to the gradients of W and b, and leaves the
 * means of g n and of g. */
static void batch_norm_slopes(const norm *p, int64_t first, const float *x, const float *g,
                              float *along, float *flat) {
  const float share = 1.0f / (float)p->rows;
  norm_sums products = {{0}}, sums = {{0}};
  for (int64_t j = 0; j < EP_LANES && first + j < p->features;
       j++, x += p->stride, g += p->stride) {
    const float mean = p->mean[first + j], factor = p->factor[first + j];
    lanes product = lanes_set(0.0f), sum = lanes_set(0.0f);
    for (int64_t v = 0, at = 0; v < p->vectors; v++, at += EP_LANES) {
      sum += lanes_load(g + at);
      product += lanes_load(g + at) * ((lanes_load(x + at) - mean) * factor);
    }
    norm_add(p, first + j, product, sum);
    lanes_store(products.lane + j * EP_LANES, product);
    lanes_store(sums.lane + j * EP_LANES, sum);
  }
  lanes_store(along, lanes_reduce(products.lane) * share);
  lanes_store(flat, lanes_reduce(sums.lane) * share);
}

/* In place: g = W factor (g - mean of g - n mean of g n), the means over the batch; 0 beyond its
 * rows. */
static void batch_norm_backward(const norm *given, const float *x, float *g, bool further) {
  const norm own = *given, *p = &own;
  _Alignas(LANES_BYTES) float along[EP_LANES], flat[EP_LANES];
  for (int64_t f = 0; f < p->features; f++, x += p->stride, g += p->stride) {
    const int64_t j = f % EP_LANES;
    if (j == 0) batch_norm_slopes(p, f, x, g, along, flat);
    const float mean = p->mean[f], scale = p->factor[f] * norm_weight(p, f);
    const float level = flat[j], tilt = p->factor[f] * along[j];
    for (int64_t v = 0, at = 0; further && v < p->vectors; v++, at += EP_LANES) {
      const lanes slope = lanes_load(g + at) - level - (lanes_load(x + at) - mean) * tilt;
      lanes_store(g + at, norm_inside(p, v, scale * slope));
    }
  }
}

#endif
