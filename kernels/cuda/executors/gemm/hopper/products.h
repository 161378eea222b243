/* products.h: the matrix products of a wide network with what follows each of them done while its
 * result is still in registers: for GPUs of compute capability 9.0, by kernels of our own.
 *
 * A block takes [128, 256 or less] of the result, two blocks of a cluster share what they read of
 * b. Numbers are bfloat16 or, as TF32, float32; sums are float32, each in one fixed order. */
#ifndef EP_KERNELS_CUDA_EXECUTORS_GEMM_HOPPER_PRODUCTS_H
#define EP_KERNELS_CUDA_EXECUTORS_GEMM_HOPPER_PRODUCTS_H

#include "kernels/cuda/layers/kernels.h"
#include "kernels/cuda/runtime/tensor_map.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum { EP_GEMM_FORWARD, EP_GEMM_BACKWARD, EP_GEMM_WEIGHT } ep_gemm_kind;

enum {
  EP_GEMM_TILE_ROWS = 128,
  EP_GEMM_TILE_COLUMNS = 256,
  EP_GEMM_TILE_COLUMNS_LESS = 208, /* for weights of fewer inputs, where it comes out better */
  EP_GEMM_TILE_MASK_BYTES = EP_GEMM_TILE_ROWS * EP_GEMM_TILE_COLUMNS / 8
};

/* Device memory, row-major without gaps, each row a multiple of 16 bytes, all on 16 bytes. `batch`
 * is the rows of a batch, `in` and `out` a layer's sides, with the padding of bfloat16. FORWARD: y
 * = x W^T + bias, then, `relu`, cut off below 0. first: x [batch, in]; second: W [out, in]; result:
 * y [batch, out], written; bias: [width], or NULL; mask: written for the way back: where y > 0; or
 * NULL. BACK: grad_x = grad W where the mask of the layer below says so. Of bfloat16, first: grad
 * [batch, out]; second: W [out, in]; result: grad_x [batch, in], written. Of float32, first: W;
 * second: grad; result: grad_x, or NULL; transposed: grad_x^T [in, batch], or NULL. sums: float32
 * [slices, width], written: grad_x's columns, or NULL. WEIGHT: gradient = grad^T x. Of bfloat16,
 * first: grad; second: x. Of float32, first: x; second: grad^T. To gradient: float32 [out, in]; or,
 * when there is `weight`, float32 [out, in], weight -= lr (gradient + decay weight) with the
 * clock's learning rate, and copy: numbers, float32 rounded to TF32, or NULL, is the new weight. */
typedef struct {
  ep_gemm_kind kind;
  bool half, relu;
  int batch, in, out;
  int width;  /* columns of the result without padding */
  int slices; /* for each 128 of the largest batch's rows, rounded up to an even number */
  const void *first, *second;
  void *result;
  float *transposed;
  const float *bias;
  uint32_t *mask; /* EP_GEMM_TILE_MASK_BYTES a tile, of ep_gemm_hopper_tiles(batch, out) */
  float *sums;
  float *gradient, *weight;
  void *copy;
  const ep_cuda_clock *clock;
  float decay;

  /* By prepare: what is computed are tiles of [rows, columns], over `depth`; the driver's
   * descriptions of both factors. */
  int rows, columns, depth, tile_columns, blocks;
  ep_cuda_tensor_map tensor_maps[2];
} ep_gemm_hopper_product;

/* Tiles of a result, of which there are two for each 256 rows. */
int64_t ep_gemm_hopper_tiles(int64_t rows, int64_t columns, int tile_columns);

/* Fills in what says so. Host. */
cudaError_t ep_gemm_hopper_prepare(int multiprocessors, ep_gemm_hopper_product *product);
cudaError_t ep_gemm_hopper_run(cudaStream_t stream, const ep_gemm_hopper_product *product);

#ifdef __cplusplus
}
#endif
#endif
