/* tensor_map.h: a matrix in device memory, as the TMA is told of it; written by
 * kernels/cuda/runtime/tensor_map.h. */
#ifndef EP_KERNELS_CUDA_DEVICE_TENSOR_MAP_H
#define EP_KERNELS_CUDA_DEVICE_TENSOR_MAP_H

#include <stdint.h>

/* A CUtensorMap, as the driver wrote it: a kernel takes it from memory that begins on 64 bytes. */
typedef struct {
  uint64_t of[16];
} ep_cuda_tensor_map;

enum { EP_CUDA_TENSOR_MAP_LINE_BYTES = 128 }; /* of a tile's row, in shared memory */

#endif
