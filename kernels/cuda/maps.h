/* maps.h: what the copy engine of GPUs of compute capability 9.0 and later is told of a matrix in
 * device memory, whose tiles it then copies (copies.cuh). */
#ifndef EP_KERNELS_CUDA_MAPS_H
#define EP_KERNELS_CUDA_MAPS_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* As the driver wrote it, a CUtensorMap: a kernel takes it from memory that begins on 64 bytes. */
typedef struct {
  uint64_t of[16];
} ep_cuda_map;

/* [rows, columns] of float32 or, half, bfloat16; a row begins `stride` numbers behind the last one.
 * Rows begin on 16 bytes. */
typedef struct {
  const void *numbers; /* lent: device memory */
  bool half;
  int64_t rows, columns, stride;
} ep_cuda_mapped;

/* Tiles are EP_CUDA_MAP_LINE_BYTES of a row by `tile_rows` rows, at most 256. In shared memory,
 * from a multiple of 1,024 bytes on, they are lines of as many bytes, whose pieces of 16 bytes have
 * changed places: piece p of line l is at p ^ l % 8. What lies outside of the matrix is read as
 * zero, and is not written. cudaErrorNotSupported where the driver knows of no maps. */
enum { EP_CUDA_MAP_LINE_BYTES = 128 };
cudaError_t ep_cuda_map_make(const ep_cuda_mapped *of, int tile_rows, ep_cuda_map *out);

/* Tiles of several such lines of a row, `tile_lines`, at most 256: [tile_lines, tile_rows, a line]
 * in shared memory. A row is a number of lines. */
cudaError_t ep_cuda_map_make_lines(const ep_cuda_mapped *of, int tile_rows, int tile_lines,
                                   ep_cuda_map *out);

#ifdef __cplusplus
}
#endif
#endif
