/* activation_chains.h: an activation of one number at a time with what stands behind it and before
 * it, in one launch each way: behind C functions as those of kernels.h. */
#ifndef EP_KERNELS_CUDA_LAYERS_ACTIVATION_CHAINS_H
#define EP_KERNELS_CUDA_LAYERS_ACTIVATION_CHAINS_H

#include "kernels/cuda/layers/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The activation with the dropout behind it, as dropout.cu has it. y = f(x); z: what is left
 * of it; z may be y, and y x. */
cudaError_t ep_cuda_activation_drop(cudaStream_t stream, const ep_op *op, const ep_op *dropout,
                                    int64_t first, int64_t rows, uint64_t seed,
                                    const ep_cuda_clock *clock, const float *x, float *y, float *z);

/* The way back through both, and to the biases of a linear layer before them. dropout: NULL for
 * none. sums: [slices, columns], written: grad's columns as they are afterwards, each slice of the
 * rows apart; NULL when nobody asks. */
cudaError_t ep_cuda_activation_undo(cudaStream_t stream, const ep_op *op, const ep_op *dropout,
                                    int64_t first, int64_t rows, uint64_t seed,
                                    const ep_cuda_clock *clock, const float *x, const float *y,
                                    float *grad, int slices, float *sums);

#ifdef __cplusplus
}
#endif
#endif
