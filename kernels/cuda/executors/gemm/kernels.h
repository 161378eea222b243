/* kernels.h: what cuda/gemm does between two matrix products, behind C functions as those of
 * kernels/cuda/kernels.h. "Numbers" are bfloat16 or float32, as `half` says; each row of them takes
 * `pitch`, and what stands beyond the columns meets only zeros of the weights' copies. */
#ifndef EP_KERNELS_CUDA_EXECUTORS_GEMM_KERNELS_H
#define EP_KERNELS_CUDA_EXECUTORS_GEMM_KERNELS_H

#include "kernels/cuda/layers/kernels.h"
#include "kernels/cuda/layers/thin_linear.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Parameters that a block updates: from FEWEST on, more as there are more in all; of a gradient in
 * slices, SLICED. */
enum { EP_GEMM_UPDATE_FEWEST = 1024, EP_GEMM_UPDATE_MOST = 4096, EP_GEMM_UPDATE_SLICED = 256 };

/* A dropout behind an activation, for the step that the clock is at. */
typedef struct {
  bool drops; /* false: there is none, and nothing else counts */
  float p;
  int layer;              /* that keys the mask */
  int64_t first, columns; /* the batch's row that row 0 is; the mask's columns */
  uint64_t seed;
  const ep_cuda_clock *clock;
} ep_gemm_dropout;

/* y = f(x) for each number, dropped or kept, and dy/dx in the place of x. x, y: [rows, pitch]. */
cudaError_t ep_gemm_activate(cudaStream_t stream, bool half, const ep_op *op,
                             const ep_gemm_dropout *dropout, int64_t rows, int64_t pitch, void *x,
                             void *y);

/* output = sums + bias. sums: float32 [rows, pitch]; bias: float32 [columns] or NULL; output:
 * float32 [rows, columns], written. */
cudaError_t ep_gemm_finish(cudaStream_t stream, int64_t rows, int64_t columns, int64_t pitch,
                           const float *sums, const float *bias, float *output);

/* transposed = x^T, float32. x: [rows, pitch]; transposed: [columns, rows], written. */
cudaError_t ep_gemm_transpose(cudaStream_t stream, int64_t rows, int64_t columns, int64_t pitch,
                              const float *x, float *transposed);

/* A gradient by a layer's output becomes that by what its linear part came to: grad = from dy/dx.
 * from: float32 without gaps when `plain`, else numbers of [rows, pitch], and then grad may be it;
 * derivative: dy/dx, as ep_gemm_activate left it; NULL: that of relu, from the output y; both NULL:
 * 1. grad: numbers [rows, pitch], written. sums: [slices, columns], written: grad's columns, each
 * slice of the rows apart; NULL when nobody asks. transposed: float32 [columns, rows], written, or
 * NULL; when it is not, grad may be NULL, and there are no bfloat16. */
typedef struct {
  bool half, plain;
  int64_t rows, columns, pitch;
  const void *from, *y, *derivative;
  int slices; /* of the rows */
  void *grad;
  float *sums, *transposed;
} ep_gemm_derivation;
cudaError_t ep_gemm_derive(cudaStream_t stream, const ep_gemm_derivation *derivation);

/* One weight or bias: its parameters first … first + rows * columns - 1; their gradient, the sum of
 * `slices` arrays of [rows, pitch], `stride` floats apart; and a copy of the parameters,
 * numbers [rows, pitch], or NULL. Blocks from first_block on work on it. gradient NULL: it is not
 * trained. */
typedef struct {
  int64_t first, rows, columns, pitch, stride, first_block;
  const float *gradient;
  int slices;
  float weight_decay;
  void *copy;
  bool moved; /* by its own product, before the update: the copy alone is left to do */
} ep_gemm_tensor;

typedef struct {
  ep_optimizer optimizer;
  const ep_gemm_tensor *tensors; /* device [count], by first_block */
  int count;
  int64_t each;                /* parameters of a block, unless the gradient is in slices */
  int64_t blocks, step_blocks; /* in all; those of a step */
  bool half;                   /* the copies are bfloat16; else float32, rounded to TF32 */
  const ep_cuda_clock *clock;
  float *parameters, *state;
  int64_t state_stride;
} ep_gemm_update;
/* One step with the clock's learning rate, and the copies with it. */
cudaError_t ep_gemm_update_step(cudaStream_t stream, const ep_gemm_update *update);
/* What plain gradient descent makes of a product: weight = scales[0] grad^T x + scales[1] weight.
 * decay: [count], the weights'; scales: [count, 2], written for the clock's learning rate. */
cudaError_t ep_gemm_scale(cudaStream_t stream, const ep_cuda_clock *clock, int count,
                          const float *decay, float *scales);
/* The copies alone. */
cudaError_t ep_gemm_copy(cudaStream_t stream, const ep_gemm_update *update);

#ifdef __cplusplus
}
#endif
#endif
