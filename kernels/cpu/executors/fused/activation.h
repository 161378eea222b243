/* activation.h: the layers without parameters, on one chunk: [features, stride], `vectors` of each
 * row in use. Backward works in place: on entry g is the gradient of the output, on return that of
 * the input. */
#ifndef EP_KERNELS_CPU_EXECUTORS_FUSED_ACTIVATION_H
#define EP_KERNELS_CPU_EXECUTORS_FUSED_ACTIVATION_H

#include "kernels/cpu/executors/fused/elementary.h"
#include "kernels/cpu/executors/fused/fused.h"
#include "kernels/cpu/executors/fused/plan.h"
#include "kernels/formulas/activations.h"

typedef struct {
  ep_layer_type type;
  int64_t features, vectors, stride;
  float negative_slope; /* op's, which no store can change here */
  const ep_op *op;      /* lent */
} activation;

#define GELU_SQRT_HALF 0x1.6a09e6p-1f /* sqrt(1/2) */
#define GELU_DENSITY_0 0x1.988454p-2f /* 1 / sqrt(2 pi) */

/* In all that follows, of one vector: y = f(x), and g f'(x), where y = f(x) is known as well. */
LANES_INLINE lanes relu_forward(const activation *p, lanes x) {
  (void)p;
  return lanes_max(lanes_set(0.0f), x);
}

LANES_INLINE lanes relu_backward(const activation *p, lanes x, lanes y, lanes g) {
  (void)p, (void)x;
  const lanes zero = lanes_set(0.0f);
  return lanes_select(lanes_less(zero, y), g, zero);
}

LANES_INLINE lanes leaky_relu_forward(const activation *p, lanes x) {
  return lanes_select(lanes_less(lanes_set(0.0f), x), x, x * p->negative_slope);
}

LANES_INLINE lanes leaky_relu_backward(const activation *p, lanes x, lanes y, lanes g) {
  (void)y;
  return lanes_select(lanes_less(lanes_set(0.0f), x), g, g * p->negative_slope);
}

LANES_INLINE lanes tanh_forward(const activation *p, lanes x) {
  (void)p;
  return lanes_tanh(x);
}

LANES_INLINE lanes tanh_backward(const activation *p, lanes x, lanes y, lanes g) {
  (void)p, (void)x;
  return g * (1.0f - y * y);
}

LANES_INLINE lanes sigmoid_forward(const activation *p, lanes x) {
  (void)p;
  return lanes_sigmoid(x);
}

LANES_INLINE lanes sigmoid_backward(const activation *p, lanes x, lanes y, lanes g) {
  (void)p, (void)x;
  return g * ((1.0f - y) * y);
}

/* x Phi(x), Phi the normal distribution; -inf gives what x Phi(x) tends to in floats, NaN, as in
 * torch. */
LANES_INLINE lanes gelu_forward(const activation *p, lanes x) {
  (void)p;
  return x * (0.5f + 0.5f * lanes_erf(x * GELU_SQRT_HALF));
}

LANES_INLINE lanes gelu_backward(const activation *p, lanes x, lanes y, lanes g) {
  (void)p, (void)y;
  return g * ((0.5f + 0.5f * lanes_erf(x * GELU_SQRT_HALF)) +
              x * GELU_DENSITY_0 * lanes_exp(-0.5f * x * x));
}

LANES_INLINE lanes sin_forward(const activation *p, lanes x) {
  (void)p;
  return lanes_sin(x);
}

LANES_INLINE lanes sin_backward(const activation *p, lanes x, lanes y, lanes g) {
  (void)p, (void)y;
  return g * lanes_cos(x);
}

LANES_INLINE lanes silu_forward(const activation *p, lanes x) {
  (void)p;
  return x * lanes_sigmoid(x);
}

LANES_INLINE lanes silu_backward(const activation *p, lanes x, lanes y, lanes g) {
  (void)p, (void)y;
  lanes part = lanes_sigmoid(x);
  return g * (part * (1.0f + x * (1.0f - part)));
}

/* Those without vectors of their own. */
LANES_INLINE lanes any_forward(const activation *p, lanes x) {
  lanes y;
  for (int i = 0; i < EP_LANES; i++) y[i] = ep_activation(p->op, x[i]);
  return y;
}

LANES_INLINE lanes any_backward(const activation *p, lanes x, lanes y, lanes g) {
  for (int i = 0; i < EP_LANES; i++) g[i] *= ep_activation_derivative(p->op, x[i], y[i]);
  return g;
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

#define ACTIVATION_FORWARD(code, name)                                             \
  case EP_LAYER_##code:                                                            \
    ACTIVATION_EACH(p, lanes_store(y + at, name##_forward(p, lanes_load(x + at)))) \
    break;

static void activation_forward(const activation *p, const float *x, float *y) {
  switch (p->type) {
    EP_FUSED_ACTIVATIONS(ACTIVATION_FORWARD)
  case EP_LAYER_SOFTMAX: softmax_forward(p, x, y, false); break;
  case EP_LAYER_LOG_SOFTMAX: softmax_forward(p, x, y, true); break;
  default: ACTIVATION_EACH(p, lanes_store(y + at, any_forward(p, lanes_load(x + at))))
  }
}

#define ACTIVATION_BACKWARD(code, name)                                                            \
  case EP_LAYER_##code:                                                                            \
    ACTIVATION_EACH(p,                                                                             \
                    lanes_store(g + at, name##_backward(p, lanes_load(x + at), lanes_load(y + at), \
                                                        lanes_load(g + at))))                      \
    break;

static void activation_backward(const activation *p, const float *x, const float *y, float *g) {
  switch (p->type) {
    EP_FUSED_ACTIVATIONS(ACTIVATION_BACKWARD)
  case EP_LAYER_SOFTMAX: softmax_backward(p, y, g, false); break;
  case EP_LAYER_LOG_SOFTMAX: softmax_backward(p, y, g, true); break;
  default:
    ACTIVATION_EACH(p, lanes_store(g + at, any_backward(p, lanes_load(x + at), lanes_load(y + at),
                                                        lanes_load(g + at))))
  }
}

#endif
