/* thin_linear.h: a linear layer of few outputs, as a network's last one is, behind C functions as
 * those of kernels.h. "Numbers" are bfloat16 or float32, as `half` says; each row of them takes
 * `pitch`. */
#ifndef EP_KERNELS_CUDA_LAYERS_THIN_LINEAR_H
#define EP_KERNELS_CUDA_LAYERS_THIN_LINEAR_H

#include "kernels/cuda/layers/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
  EP_CUDA_LINEAR_SLICES = 128,
  EP_CUDA_WIDE_LINEAR_SLICES = 32,
  EP_CUDA_WIDE_LINEAR_INPUTS = 1024, /* a wide one has more */
  EP_CUDA_THIN_LINEAR_OUTPUTS = 16
};

/* A last layer of at most EP_CUDA_THIN_LINEAR_OUTPUTS outputs. weight: float32 [out, in]; x:
 * numbers [rows, pitch], the layer's input; derivative: numbers [rows, pitch], dy/dx of what made
 * it; NULL: relu's where `derived`, else 1; x_bias: [in], when the input is relu(x + x_bias)
 * instead; else NULL. Backward. grad: float32 [rows, out]. gradient: [slices, out, pitch],
 * written: grad^T x, or NULL; bias_sums: [slices, out], of grad's columns, or NULL. grad_x: numbers
 * [rows, pitch], written: grad W dy/dx; or NULL; x_sums: [slices, in], written: grad_x's columns;
 * or NULL; transposed: float32 [in, rows], written: grad_x transposed; or NULL, as always in
 * bfloat16. */
typedef struct {
  bool half, derived;
  int slices; /* of the rows, for the sums below */
  int64_t rows, in, out, pitch;
  const float *weight;
  const void *x, *derivative;
  const float *x_bias;
  const float *grad;
  float *gradient, *bias_sums, *x_sums;
  void *grad_x;
  float *transposed;
} ep_cuda_thin_linear;
/* A slice has sixteen rows or more. Wide layers have blocks enough with few. */
static inline int ep_cuda_thin_linear_slices(int64_t rows, int64_t in) {
  const int64_t sixteens = (rows + 15) / 16;
  const bool wide = in > EP_CUDA_WIDE_LINEAR_INPUTS;
  const int most = wide ? EP_CUDA_WIDE_LINEAR_SLICES : EP_CUDA_LINEAR_SLICES;
  return sixteens < most ? (int)sixteens : most;
}

/* bias: [out] or NULL; output: float32 [rows, out], written. */
cudaError_t ep_cuda_thin_linear_forward(cudaStream_t stream, const ep_cuda_thin_linear *thin,
                                        const float *bias, float *output);
cudaError_t ep_cuda_thin_linear_backward(cudaStream_t stream, const ep_cuda_thin_linear *thin);

#ifdef __cplusplus
}
#endif
#endif
