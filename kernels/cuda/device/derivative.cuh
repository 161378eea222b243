/* derivative.cuh: an activation's derivative for kernels that unroll. */
#ifndef EP_KERNELS_CUDA_DEVICE_DERIVATIVE_CUH
#define EP_KERNELS_CUDA_DEVICE_DERIVATIVE_CUH

#include "kernels/formulas/activations.h"

/* Of any activation, once for all: as many copies of its code as a kernel unrolls would exceed the
 * instruction cache, and each be run once. */
static __device__ __noinline__ float other_derivative(ep_layer_type type, float negative_slope,
                                                      float alpha, float beta, float threshold,
                                                      float x, float y) {
  ep_op op = {};
  op.type = type;
  op.negative_slope = negative_slope;
  op.alpha = alpha;
  op.beta = beta;
  op.threshold = threshold;
  return ep_activation_derivative(&op, x, y);
}

/* dy/dx, from y alone where there is no `before`; relu is told apart early, as the most usual. */
template <bool relu>
static __device__ inline float derivative_of(const ep_op &op, float y, const float *before) {
  if (relu) return ep_relu_derivative(y);
  return other_derivative(op.type, op.negative_slope, op.alpha, op.beta, op.threshold,
                          before ? *before : y, y);
}

#endif
