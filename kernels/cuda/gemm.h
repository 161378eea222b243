/* gemm.h: a matrix product by cuBLASLt in plain float32 (no TF32), its algorithm chosen once, so
 * that the same shapes on the same device give the same bits. */
#ifndef EP_KERNELS_CUDA_GEMM_H
#define EP_KERNELS_CUDA_GEMM_H

#include <stddef.h>

#include "kernels/cuda/device.h"

/* out = a b (+ bias). out: [rows, columns], written; a: [rows, depth], or, transposed,
 * [depth, rows]; b: [depth, columns], or, transposed, [columns, depth]; bias: [columns], added to
 * each row, or NULL. Device memory, row-major float32. */
typedef struct {
  int64_t rows, columns, depth;
  const float *a, *b, *bias;
  float *out;
  bool transpose_a, transpose_b;
} ep_cuda_gemm_shape;

typedef struct {
  ep_cuda_gemm_shape shape;
  cublasLtMatmulDesc_t product;
  cublasLtMatrixLayout_t first, second, out; /* as cuBLASLt sees them: column-major */
  cublasLtMatmulAlgo_t algorithm;
  size_t workspace_bytes;
} ep_cuda_gemm;

enum { EP_CUDA_GEMM_WORKSPACE_BYTES = 32 << 20 }; /* what NVIDIA advises for Hopper */

/* Picks the algorithm for exactly this shape and these addresses, with at most `workspace_bytes` of
 * scratch. *gemm is for ep_cuda_gemm_deinit, also after a failure. */
ep_status ep_cuda_gemm_init(ep_backend *backend, const ep_cuda_gemm_shape *shape,
                            size_t workspace_bytes, ep_cuda_gemm *gemm, ep_error *error);
void ep_cuda_gemm_deinit(ep_cuda_gemm *gemm); /* a zeroed one is allowed */

/* Queues it on the stream. `workspace` may be shared by all products of one stream. */
ep_status ep_cuda_gemm_run(ep_backend *backend, const ep_cuda_gemm *gemm, void *workspace,
                           cudaStream_t stream, ep_error *error);

#endif
