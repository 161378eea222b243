/* activation.h: the layers without parameters, on one chunk: [features, stride], `vectors` of each
 * row in use. Backward works in place: on entry g is the gradient of the output, on return that of
 * the input. */
#ifndef EP_KERNELS_CPU_EXECUTORS_FUSED_ACTIVATION_H
#define EP_KERNELS_CPU_EXECUTORS_FUSED_ACTIVATION_H

#include "kernels/cpu/executors/fused/elementary.h"
#include "kernels/cpu/executors/fused/fused.h"

typedef struct {
  ep_layer_type type;
  int64_t features, vectors, stride;
  float negative_slope;
} activation;

#define GELU_SQRT_HALF 0x1.6a09e6p-1f /* sqrt(1/2) */
#define GELU_DENSITY_0 0x1.988454p-2f /* 1 / sqrt(2 pi) */

/* x Phi(x), Phi the normal distribution; -inf gives what x Phi(x) tends to in floats, NaN, as in
 * torch. */
LANES_INLINE lanes gelu_forward(lanes x) {
  return x * (0.5f + 0.5f * lanes_erf(x * GELU_SQRT_HALF));
}

LANES_INLINE lanes gelu_slope(lanes x) {
  return (0.5f + 0.5f * lanes_erf(x * GELU_SQRT_HALF)) +
         x * GELU_DENSITY_0 * lanes_exp(-0.5f * x * x);
}

#define ACTIVATION_EACH(p, expression)             \
  for (int64_t f = 0; f < (p)->features; f++)      \
    for (int64_t v = 0; v < (p)->vectors; v++) {   \
      int64_t at = f * (p)->stride + v * EP_LANES; \
      expression;                                  \
    }

/* Row by row of the samples: the greatest output, and the sum of exp(x - greatest). */
LANES_INLINE void softmax_sums(const activation *p, const float *x, int64_t at, lanes *greatest,
                               lanes *sum) {
  lanes top = lanes_load(x + at);
  for (int64_t f = 1; f < p->features; f++)
    top = lanes_max(top, lanes_load(x + at + f * p->stride));
  lanes total = lanes_set(0.0f);
  for (int64_t f = 0; f < p->features; f++)
    total += lanes_exp(lanes_load(x + at + f * p->stride) - top);
  *greatest = top;
  *sum = total;
}

static void softmax_forward(const activation *p, const float *x, float *y, bool logarithm) {
  for (int64_t v = 0; v < p->vectors; v++) {
    int64_t at = v * EP_LANES;
    lanes top, sum;
    softmax_sums(p, x, at, &top, &sum);
    lanes factor = logarithm ? lanes_log(sum) : lanes_inverse(sum);
    for (int64_t f = 0; f < p->features; f++, at += p->stride) {
      lanes centred = lanes_load(x + at) - top;
      lanes_store(y + at, logarithm ? centred - factor : lanes_exp(centred) * factor);
    }
  }
}

/* softmax: g = y (g - sum(g y)); log_softmax: g = g - exp(y) sum(g). */
static void softmax_backward(const activation *p, const float *y, float *g, bool logarithm) {
  for (int64_t v = 0; v < p->vectors; v++) {
    int64_t first = v * EP_LANES;
    lanes sum = lanes_set(0.0f);
    for (int64_t f = 0, at = first; f < p->features; f++, at += p->stride)
      sum += logarithm ? lanes_load(g + at) : lanes_load(g + at) * lanes_load(y + at);
    for (int64_t f = 0, at = first; f < p->features; f++, at += p->stride) {
      lanes out = lanes_load(y + at), slope = lanes_load(g + at);
      lanes_store(g + at, logarithm ? slope - lanes_exp(out) * sum : out * (slope - sum));
    }
  }
}

static void activation_forward(const activation *p, const float *x, float *y) {
  const lanes zero = lanes_set(0.0f);
  switch (p->type) {
  case EP_LAYER_RELU:
    ACTIVATION_EACH(p, lanes_store(y + at, lanes_max(zero, lanes_load(x + at))))
    break;
  case EP_LAYER_LEAKY_RELU:
    ACTIVATION_EACH(p, lanes in = lanes_load(x + at); lanes_store(
                        y + at, lanes_select(lanes_less(zero, in), in, in * p->negative_slope)))
    break;
  case EP_LAYER_TANH: ACTIVATION_EACH(p, lanes_store(y + at, lanes_tanh(lanes_load(x + at)))) break;
  case EP_LAYER_SIGMOID:
    ACTIVATION_EACH(p, lanes_store(y + at, lanes_sigmoid(lanes_load(x + at))))
    break;
  case EP_LAYER_GELU:
    ACTIVATION_EACH(p, lanes_store(y + at, gelu_forward(lanes_load(x + at))))
    break;
  case EP_LAYER_SILU:
    ACTIVATION_EACH(p, lanes in = lanes_load(x + at); lanes_store(y + at, in * lanes_sigmoid(in)))
    break;
  case EP_LAYER_SIN: ACTIVATION_EACH(p, lanes_store(y + at, lanes_sin(lanes_load(x + at)))) break;
  case EP_LAYER_SOFTMAX: softmax_forward(p, x, y, false); break;
  case EP_LAYER_LOG_SOFTMAX: softmax_forward(p, x, y, true); break;
  default: break; /* executor.c takes no other */
  }
}

static void activation_backward(const activation *p, const float *x, const float *y, float *g) {
  const lanes zero = lanes_set(0.0f);
  switch (p->type) {
  case EP_LAYER_RELU:
    ACTIVATION_EACH(p, lanes_store(g + at, lanes_select(lanes_less(zero, lanes_load(y + at)),
                                                        lanes_load(g + at), zero)))
    break;
  case EP_LAYER_LEAKY_RELU:
    ACTIVATION_EACH(p, lanes slope = lanes_load(g + at);
                    lanes_store(g + at, lanes_select(lanes_less(zero, lanes_load(x + at)), slope,
                                                     slope * p->negative_slope)))
    break;
  case EP_LAYER_TANH:
    ACTIVATION_EACH(p, lanes out = lanes_load(y + at);
                    lanes_store(g + at, lanes_load(g + at) * (1.0f - out * out)))
    break;
  case EP_LAYER_SIGMOID:
    ACTIVATION_EACH(p, lanes out = lanes_load(y + at);
                    lanes_store(g + at, lanes_load(g + at) * ((1.0f - out) * out)))
    break;
  case EP_LAYER_GELU:
    ACTIVATION_EACH(p, lanes_store(g + at, lanes_load(g + at) * gelu_slope(lanes_load(x + at))))
    break;
  case EP_LAYER_SILU:
    ACTIVATION_EACH(p, lanes in = lanes_load(x + at); lanes part = lanes_sigmoid(in);
                    lanes_store(g + at, lanes_load(g + at) * (part * (1.0f + in * (1.0f - part)))))
    break;
  case EP_LAYER_SIN:
    ACTIVATION_EACH(p, lanes_store(g + at, lanes_load(g + at) * lanes_cos(lanes_load(x + at))))
    break;
  case EP_LAYER_SOFTMAX: softmax_backward(p, y, g, false); break;
  case EP_LAYER_LOG_SOFTMAX: softmax_backward(p, y, g, true); break;
  default: break; /* executor.c takes no other */
  }
}

#endif
