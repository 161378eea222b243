/* gemm.h: a matrix product by cuBLASLt, its algorithm chosen once, so that the same shapes on the
 * same device give the same bits: in plain float32 (no TF32) unless the shape says otherwise. */
#ifndef EP_KERNELS_CUDA_RUNTIME_GEMM_H
#define EP_KERNELS_CUDA_RUNTIME_GEMM_H

#include <stddef.h>

#include "kernels/cuda/runtime/device.h"

/* out = a b (+ bias), then, `relu`, cut off below 0. out: [rows, columns], written; a: [rows,
 * depth], or, transposed, [depth, rows]; b: [depth, columns], or, transposed, [columns, depth];
 * bias: [columns] of the result's type, added to each row, or NULL. Device memory, row-major; a
 * pitch is the numbers from one row to the next, 0 for rows without gaps. Sums are float32 in all
 * cases. */
typedef struct {
  int64_t rows, columns, depth;
  const void *a, *b, *bias;
  void *out;
  bool transpose_a, transpose_b;
  bool relu;
  bool tf32; /* float32 operands may lose all but ten bits of mantissa on their way */
  cudaDataType operands, result; /* 0: float32 */
  int64_t a_pitch, b_pitch, out_pitch;
  const float *scales; /* device [2]: out = scales[0] a b + scales[1] out; NULL: 1 and 0 */
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

/* The same, but tries the likeliest algorithms and keeps the fastest: in memory and on disk
 * (cache.h), so that all products of one shape and alignment are computed alike. A new shape takes
 * some milliseconds, a product of a tenth of a second some: it is computed often, which writes
 * `out` (without `scales`: the product, each time), and the stream is waited for. So a stream that
 * records a graph is only for shapes that were searched before. `workspace`: device
 * [workspace_bytes]. Thread-safe. */
ep_status ep_cuda_gemm_search(ep_backend *backend, const ep_cuda_gemm_shape *shape, void *workspace,
                              size_t workspace_bytes, cudaStream_t stream, ep_cuda_gemm *gemm,
                              ep_error *error);

/* The steps of both: a product without an algorithm; the likeliest algorithms, the best guess
 * first: at least one, at most `most`; one of them taken. */
ep_status ep_cuda_gemm_describe(const ep_cuda_gemm_shape *shape, ep_cuda_gemm *gemm,
                                ep_error *error);
ep_status ep_cuda_gemm_list(ep_backend *backend, const ep_cuda_gemm *gemm, size_t workspace_bytes,
                            int most, cublasLtMatmulHeuristicResult_t *found, int *count,
                            ep_error *error);
void ep_cuda_gemm_choose(ep_cuda_gemm *gemm, const cublasLtMatmulHeuristicResult_t *found);
/* What the address is a multiple of, 256 at most: a layer's weight begins wherever the one before
 * ended, and cuBLASLt would otherwise count on 256. */
uint32_t ep_cuda_gemm_alignment_bytes(const void *address);

void ep_cuda_gemm_deinit(ep_cuda_gemm *gemm); /* a zeroed one is allowed */

/* Queues it on the stream. `workspace` may be shared by all products of one stream. */
ep_status ep_cuda_gemm_run(ep_backend *backend, const ep_cuda_gemm *gemm, void *workspace,
                           cudaStream_t stream, ep_error *error);

#endif
