/* tensor_map.h: describes a matrix in device memory to the TMA of GPUs of compute capability 9.0
 * and later, which then copies its tiles (kernels/cuda/device/tma.cuh). */
#ifndef EP_KERNELS_CUDA_RUNTIME_TENSOR_MAP_H
#define EP_KERNELS_CUDA_RUNTIME_TENSOR_MAP_H

#include <cuda_runtime_api.h>
#include <stdbool.h>

#include "kernels/cuda/device/tensor_map.h"

#ifdef __cplusplus
extern "C" {
#endif

/* [rows, columns] of float32 or, half, bfloat16; a row begins `stride` numbers behind the last one.
 * Rows begin on 16 bytes. */
typedef struct {
  const void *numbers; /* lent: device memory */
  bool half;
  int64_t rows, columns, stride;
} ep_cuda_tensor_map_source;

/* Tiles are EP_CUDA_TENSOR_MAP_LINE_BYTES of a row by `tile_rows` rows, at most 256. In shared
 * memory, from a multiple of 1,024 bytes on, they are lines of as many bytes, whose pieces of 16
 * bytes have changed places: piece p of line l is at p ^ l % 8. What lies outside of the matrix is
 * read as zero, and is not written. cudaErrorNotSupported where the driver has no tensor maps. */
cudaError_t ep_cuda_tensor_map_make(const ep_cuda_tensor_map_source *of, int tile_rows,
                                    ep_cuda_tensor_map *out);

/* Tiles of several such lines of a row, `tile_lines`, at most 256: [tile_lines, tile_rows, a line]
 * in shared memory. A row is a number of lines. */
cudaError_t ep_cuda_tensor_map_make_lines(const ep_cuda_tensor_map_source *of, int tile_rows,
                                          int tile_lines, ep_cuda_tensor_map *out);

#ifdef __cplusplus
}
#endif
#endif
