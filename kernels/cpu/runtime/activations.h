/* activations.h: the activations that have vectors of their own: y = f(x) of a vector, and g f'(x).
 */
#ifndef EP_KERNELS_CPU_RUNTIME_ACTIVATIONS_H
#define EP_KERNELS_CPU_RUNTIME_ACTIVATIONS_H

#include "kernels/cpu/runtime/elementary.h"

/* X(code, name): lanes_<name>_forward and lanes_<name>_backward. Of the others a number is computed
 * at a time, by kernels/formulas. */
#define LANES_ACTIVATIONS(X) \
  X(RELU, relu)              \
  X(LEAKY_RELU, leaky_relu)  \
  X(TANH, tanh)              \
  X(SIGMOID, sigmoid)        \
  X(GELU, gelu)              \
  X(SIN, sin)                \
  X(SILU, silu)

/* The layer's numbers. */
typedef struct {
  float negative_slope;
} lanes_activation;

#define GELU_SQRT_HALF 0x1.6a09e6p-1f /* sqrt(1/2) */
#define GELU_DENSITY_0 0x1.988454p-2f /* 1 / sqrt(2 pi) */

/* In all that follows, of one vector: y = f(x), and g f'(x), where y = f(x) is known as well. */
LANES_INLINE lanes lanes_relu_forward(lanes_activation p, lanes x) {
  (void)p;
  return lanes_max(lanes_set(0.0f), x);
}

LANES_INLINE lanes lanes_relu_backward(lanes_activation p, lanes x, lanes y, lanes g) {
  (void)p, (void)x;
  const lanes zero = lanes_set(0.0f);
  return lanes_select(lanes_less(zero, y), g, zero);
}

LANES_INLINE lanes lanes_leaky_relu_forward(lanes_activation p, lanes x) {
  return lanes_select(lanes_less(lanes_set(0.0f), x), x, x * p.negative_slope);
}

LANES_INLINE lanes lanes_leaky_relu_backward(lanes_activation p, lanes x, lanes y, lanes g) {
  (void)y;
  return lanes_select(lanes_less(lanes_set(0.0f), x), g, g * p.negative_slope);
}

LANES_INLINE lanes lanes_tanh_forward(lanes_activation p, lanes x) {
  (void)p;
  return lanes_tanh(x);
}

LANES_INLINE lanes lanes_tanh_backward(lanes_activation p, lanes x, lanes y, lanes g) {
  (void)p, (void)x;
  return g * (1.0f - y * y);
}

LANES_INLINE lanes lanes_sigmoid_forward(lanes_activation p, lanes x) {
  (void)p;
  return lanes_sigmoid(x);
}

LANES_INLINE lanes lanes_sigmoid_backward(lanes_activation p, lanes x, lanes y, lanes g) {
  (void)p, (void)x;
  return g * ((1.0f - y) * y);
}

/* x Phi(x), Phi the normal distribution; -inf gives what x Phi(x) tends to in floats, NaN, as in
 * torch. */
LANES_INLINE lanes lanes_gelu_forward(lanes_activation p, lanes x) {
  (void)p;
  return x * (0.5f + 0.5f * lanes_erf(x * GELU_SQRT_HALF));
}

LANES_INLINE lanes lanes_gelu_backward(lanes_activation p, lanes x, lanes y, lanes g) {
  (void)p, (void)y;
  return g * ((0.5f + 0.5f * lanes_erf(x * GELU_SQRT_HALF)) +
              x * GELU_DENSITY_0 * lanes_exp(-0.5f * x * x));
}

LANES_INLINE lanes lanes_sin_forward(lanes_activation p, lanes x) {
  (void)p;
  return lanes_sin(x);
}

LANES_INLINE lanes lanes_sin_backward(lanes_activation p, lanes x, lanes y, lanes g) {
  (void)p, (void)y;
  return g * lanes_cos(x);
}

LANES_INLINE lanes lanes_silu_forward(lanes_activation p, lanes x) {
  (void)p;
  return x * lanes_sigmoid(x);
}

LANES_INLINE lanes lanes_silu_backward(lanes_activation p, lanes x, lanes y, lanes g) {
  (void)p, (void)y;
  lanes part = lanes_sigmoid(x);
  return g * (part * (1.0f + x * (1.0f - part)));
}

#endif
