/* usual_activations.cuh: kernels that are compiled for each of the usual activations, and once for
 * any other: to choose among all formulas for each number takes longer than most of them. */
#ifndef EP_KERNELS_CUDA_LAYERS_USUAL_ACTIVATIONS_CUH
#define EP_KERNELS_CUDA_LAYERS_USUAL_ACTIVATIONS_CUH

#include "kernels/formulas/activations.h"

/* A type as a constant; EP_LAYER_COUNT: any, which the op says. */
template <ep_layer_type TYPE> struct activation_type {
  static constexpr ep_layer_type value = TYPE;
};

/* run(activation_type<…>()) of a layer's type. */
template <class RUN> static inline void activation_choose(ep_layer_type type, RUN run) {
  switch (type) {
  case EP_LAYER_RELU: return run(activation_type<EP_LAYER_RELU>());
  case EP_LAYER_TANH: return run(activation_type<EP_LAYER_TANH>());
  case EP_LAYER_SIGMOID: return run(activation_type<EP_LAYER_SIGMOID>());
  case EP_LAYER_GELU: return run(activation_type<EP_LAYER_GELU>());
  case EP_LAYER_SILU: return run(activation_type<EP_LAYER_SILU>());
  default: return run(activation_type<EP_LAYER_COUNT>());
  }
}

/* The op, of which the compiler knows the type. */
template <ep_layer_type TYPE> static __device__ __forceinline__ ep_op activation_of(ep_op op) {
  if (TYPE != EP_LAYER_COUNT) op.type = TYPE;
  return op;
}

#endif
