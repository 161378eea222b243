/* activation.h: the layers without parameters, on one chunk: [features, stride], `vectors` of each
 * row in use. Backward works in place: on entry g is the gradient of the output, on return that of
 * the input. */
#ifndef EP_KERNELS_CPU_EXECUTORS_FUSED_ACTIVATION_H
#define EP_KERNELS_CPU_EXECUTORS_FUSED_ACTIVATION_H

#include "kernels/cpu/executors/fused/fused.h"
#include "kernels/cpu/runtime/activations.h"
#include "kernels/formulas/activations.h"

typedef struct {
  ep_layer_type type;
  int64_t features, vectors, stride;
  float negative_slope; /* op's, which no store can change here */
  const ep_op *op;      /* lent */
} activation;

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

#define ACTIVATION_FORWARD(code, name)                                                       \
  case EP_LAYER_##code:                                                                      \
    ACTIVATION_EACH(p, lanes_store(y + at, lanes_##name##_forward(own, lanes_load(x + at)))) \
    break;

static void activation_forward(const activation *p, const float *x, float *y) {
  const lanes_activation own = {p->negative_slope};
  switch (p->type) {
    LANES_ACTIVATIONS(ACTIVATION_FORWARD)
  case EP_LAYER_SOFTMAX: softmax_forward(p, x, y, false); break;
  case EP_LAYER_LOG_SOFTMAX: softmax_forward(p, x, y, true); break;
  default: ACTIVATION_EACH(p, lanes_store(y + at, any_forward(p, lanes_load(x + at))))
  }
}

#define ACTIVATION_BACKWARD(code, name)                                                          \
  case EP_LAYER_##code:                                                                          \
    ACTIVATION_EACH(                                                                             \
        p, lanes_store(g + at, lanes_##name##_backward(own, lanes_load(x + at),                  \
                                                       lanes_load(y + at), lanes_load(g + at)))) \
    break;

static void activation_backward(const activation *p, const float *x, const float *y, float *g) {
  const lanes_activation own = {p->negative_slope};
  switch (p->type) {
    LANES_ACTIVATIONS(ACTIVATION_BACKWARD)
  case EP_LAYER_SOFTMAX: softmax_backward(p, y, g, false); break;
  case EP_LAYER_LOG_SOFTMAX: softmax_backward(p, y, g, true); break;
  default:
    ACTIVATION_EACH(p, lanes_store(g + at, any_backward(p, lanes_load(x + at), lanes_load(y + at),
                                                        lanes_load(g + at))))
  }
}

#endif
