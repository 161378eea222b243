/* activations.h: the layers that act on one number at a time: y = f(x) and dy/dx, to torch.nn's
 * letter. Plain C that also compiles as CUDA. NaN goes in and comes out: no maximum hides it. */
#ifndef EP_KERNELS_FORMULAS_ACTIVATIONS_H
#define EP_KERNELS_FORMULAS_ACTIVATIONS_H

#include "kernels/formulas/real.h"
#include "kernels/program.h"
#include "kernels/random.h" /* EP_DEVICE_INLINE */

/* max(x, 0); its derivative at 0 is 0. */
EP_DEVICE_INLINE ep_real ep_relu(ep_real x) {
  return x <= 0 ? (ep_real)0 : x;
}
EP_DEVICE_INLINE ep_real ep_relu_derivative(ep_real x) {
  return x <= 0 ? (ep_real)0 : (ep_real)1;
}

/* x above 0, negative_slope * x elsewhere. */
EP_DEVICE_INLINE ep_real ep_leaky_relu(ep_real x, ep_real negative_slope) {
  return x > 0 ? x : negative_slope * x;
}
EP_DEVICE_INLINE ep_real ep_leaky_relu_derivative(ep_real x, ep_real negative_slope) {
  return x > 0 ? (ep_real)1 : negative_slope;
}

/* tanh x; its derivative from y = tanh x. */
EP_DEVICE_INLINE ep_real ep_tanh(ep_real x) {
  return tanh(x);
}
EP_DEVICE_INLINE ep_real ep_tanh_derivative(ep_real y) {
  return 1 - y * y;
}

/* 1 / (1 + e^-x); its derivative from y = sigmoid x. Where e^-x overflows, 1 / infinity is 0. */
EP_DEVICE_INLINE ep_real ep_sigmoid(ep_real x) {
  return ep_quotient(1, 1 + exp(-x));
}
EP_DEVICE_INLINE ep_real ep_sigmoid_derivative(ep_real y) {
  return y * (1 - y);
}

/* x * Phi(x), Phi the normal distribution: the exact form, torch's approximate="none". */
EP_DEVICE_INLINE ep_real ep_gelu(ep_real x) {
  const ep_real sqrt_half = (ep_real)0.70710678118654752440;
  return x * (ep_real)0.5 * (1 + erf(x * sqrt_half));
}
/* Phi(x) + x * phi(x), phi(x) = e^(-x^2/2) / sqrt(2 pi). */
EP_DEVICE_INLINE ep_real ep_gelu_derivative(ep_real x) {
  const ep_real sqrt_half = (ep_real)0.70710678118654752440;
  const ep_real inverse_sqrt_two_pi = (ep_real)0.39894228040143267794;
  ep_real cumulative = (ep_real)0.5 * (1 + erf(x * sqrt_half));
  return cumulative + x * (exp((ep_real)-0.5 * x * x) * inverse_sqrt_two_pi);
}

EP_DEVICE_INLINE ep_real ep_sine(ep_real x) {
  return sin(x);
}
EP_DEVICE_INLINE ep_real ep_sine_derivative(ep_real x) {
  return cos(x);
}

/* x above 0, alpha * (e^x - 1) elsewhere. */
EP_DEVICE_INLINE ep_real ep_elu(ep_real x, ep_real alpha) {
  return x <= 0 ? alpha * expm1(x) : x;
}
EP_DEVICE_INLINE ep_real ep_elu_derivative(ep_real x, ep_real alpha) {
  return x <= 0 ? alpha * exp(x) : (ep_real)1;
}

/* x * sigmoid(x) */
EP_DEVICE_INLINE ep_real ep_silu(ep_real x) {
  return ep_quotient(x, 1 + exp(-x));
}
/* s * (1 + x * (1 - s)), s = sigmoid(x) */
EP_DEVICE_INLINE ep_real ep_silu_derivative(ep_real x) {
  ep_real s = ep_sigmoid(x);
  return s * (1 + x * (1 - s));
}

/* ln(1 + e^(beta x)) / beta; x itself where beta x is above the threshold. */
EP_DEVICE_INLINE ep_real ep_softplus(ep_real x, ep_real beta, ep_real threshold) {
  return x * beta > threshold ? x : log1p(exp(x * beta)) / beta;
}
EP_DEVICE_INLINE ep_real ep_softplus_derivative(ep_real x, ep_real beta, ep_real threshold) {
  return x * beta > threshold ? (ep_real)1 : ep_sigmoid(x * beta);
}

/* x tanh(ln(1 + e^x)) = x n / (n + 2), n = e^x (e^x + 2); above 20 that is x, and e^x may overflow.
 */
EP_DEVICE_INLINE ep_real ep_mish(ep_real x) {
  if (x > 20) return x;
  ep_real e = exp(x), n = e * (e + 2);
  return x * ep_quotient(n, n + 2);
}
/* n / (n + 2) + x * 4 e^x (e^x + 1) / (n + 2)^2 */
EP_DEVICE_INLINE ep_real ep_mish_derivative(ep_real x) {
  if (x > 20) return 1;
  ep_real e = exp(x), n = e * (e + 2), whole = n + 2;
  return ep_quotient(n, whole) + x * ep_quotient(4 * e * (e + 1), whole * whole);
}

/* x min(max(x + 3, 0), 6) / 6; its derivative at -3 is 0, at 3 it is 1. */
EP_DEVICE_INLINE ep_real ep_hardswish(ep_real x) {
  if (x >= 3) return x;
  return x <= -3 ? (ep_real)0 : x * (x + 3) / 6;
}
EP_DEVICE_INLINE ep_real ep_hardswish_derivative(ep_real x) {
  if (x >= 3) return 1;
  return x <= -3 ? (ep_real)0 : x / 3 + (ep_real)0.5;
}

/* scale x above 0, scale alpha (e^x - 1) elsewhere: the figures with which a network keeps mean 0
 * and variance 1 (G. Klambauer et al., "Self-Normalizing Neural Networks", 2017). */
#define EP_SELU_ALPHA ((ep_real)1.6732632423543772848170429916717)
#define EP_SELU_SCALE ((ep_real)1.0507009873554804934193349852946)
EP_DEVICE_INLINE ep_real ep_selu(ep_real x) {
  return EP_SELU_SCALE * ep_elu(x, EP_SELU_ALPHA);
}
EP_DEVICE_INLINE ep_real ep_selu_derivative(ep_real x) {
  return EP_SELU_SCALE * ep_elu_derivative(x, EP_SELU_ALPHA);
}

/* min(max(x + 3, 0), 6) / 6; its derivative at -3 and at 3 is 0. */
EP_DEVICE_INLINE ep_real ep_hardsigmoid(ep_real x) {
  if (x >= 3) return 1;
  return x <= -3 ? (ep_real)0 : x / 6 + (ep_real)0.5;
}
EP_DEVICE_INLINE ep_real ep_hardsigmoid_derivative(ep_real x) {
  return x > -3 && x < 3 ? (ep_real)1 / 6 : (ep_real)0;
}

/* x / (1 + |x|) */
EP_DEVICE_INLINE ep_real ep_softsign(ep_real x) {
  return ep_quotient(x, 1 + fabs(x));
}
EP_DEVICE_INLINE ep_real ep_softsign_derivative(ep_real x) {
  ep_real whole = 1 + fabs(x);
  return ep_quotient((ep_real)1, whole * whole);
}

/* X(code, y, dy/dx, what the derivative is a formula of, what a value costs): the layers that act
 * on one number at a time, with their formulas of `op`, x and, for the derivative, y. SIGN: of x,
 * or of the sign of y (the two last columns are facts of kernels/operators/operator.h). A row here
 * is all that an executor needs that computes by this file. */
#define EP_ACTIVATIONS(X)                                                   \
  X(RELU, ep_relu(x), ep_relu_derivative(x), SIGN, 0.5)                     \
  X(LEAKY_RELU, ep_leaky_relu(x, op->negative_slope),                       \
    ep_leaky_relu_derivative(x, op->negative_slope), SIGN, 0.5)             \
  X(TANH, ep_tanh(x), ep_tanh_derivative(y), OUTPUT, 4)                     \
  X(SIGMOID, ep_sigmoid(x), ep_sigmoid_derivative(y), OUTPUT, 4)            \
  X(GELU, ep_gelu(x), ep_gelu_derivative(x), INPUT, 4)                      \
  X(SIN, ep_sine(x), ep_sine_derivative(x), INPUT, 4)                       \
  X(ELU, ep_elu(x, op->alpha), ep_elu_derivative(x, op->alpha), INPUT, 4)   \
  X(SILU, ep_silu(x), ep_silu_derivative(x), INPUT, 4)                      \
  X(SOFTPLUS, ep_softplus(x, op->beta, op->threshold),                      \
    ep_softplus_derivative(x, op->beta, op->threshold), INPUT, 4)           \
  X(MISH, ep_mish(x), ep_mish_derivative(x), INPUT, 4)                      \
  X(HARDSWISH, ep_hardswish(x), ep_hardswish_derivative(x), INPUT, 4)       \
  X(SELU, ep_selu(x), ep_selu_derivative(x), INPUT, 4)                      \
  X(HARDSIGMOID, ep_hardsigmoid(x), ep_hardsigmoid_derivative(x), INPUT, 1) \
  X(SOFTSIGN, ep_softsign(x), ep_softsign_derivative(x), INPUT, 2)

#define EP_ACTIVATION_OF_SIGN false
#define EP_ACTIVATION_OF_INPUT false
#define EP_ACTIVATION_OF_OUTPUT true
#define EP_ACTIVATION_KNOWS(code, value, derivative, of, cost) \
  case EP_LAYER_##code: return EP_ACTIVATION_OF_##of;

/* Whether the derivative is a formula of y; that of the others is one of x. */
EP_DEVICE_INLINE bool ep_activation_knows_by_output(ep_layer_type type) {
  switch (type) {
    EP_ACTIVATIONS(EP_ACTIVATION_KNOWS)
  default: return false;
  }
}

#define EP_ACTIVATION_IS(code, ...) \
  case EP_LAYER_##code: return true;

/* Whether a layer acts on one number at a time. */
EP_DEVICE_INLINE bool ep_activation_is(ep_layer_type type) {
  switch (type) {
    EP_ACTIVATIONS(EP_ACTIVATION_IS)
  default: return false;
  }
}

#define EP_ACTIVATION_VALUE(code, value, ...) \
  case EP_LAYER_##code: return value;

/* y = f(x) of the activation `op`; x itself for a layer that is none. */
EP_DEVICE_INLINE ep_real ep_activation(const ep_op *op, ep_real x) {
  switch (op->type) {
    EP_ACTIVATIONS(EP_ACTIVATION_VALUE)
  default: return x;
  }
}

#define EP_ACTIVATION_DERIVATIVE(code, value, derivative, ...) \
  case EP_LAYER_##code: return derivative;

/* dy/dx at x, where y = f(x) is known as well; 1 for a layer that is none. */
EP_DEVICE_INLINE ep_real ep_activation_derivative(const ep_op *op, ep_real x, ep_real y) {
  switch (op->type) {
    EP_ACTIVATIONS(EP_ACTIVATION_DERIVATIVE)
  default: return 1;
  }
}

#endif
