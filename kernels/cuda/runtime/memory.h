/* memory.h: device memory that is taken zeroed, piece by piece, and freed all at once. */
#ifndef EP_KERNELS_CUDA_RUNTIME_MEMORY_H
#define EP_KERNELS_CUDA_RUNTIME_MEMORY_H

#include "kernels/cuda/runtime/device.h"

typedef struct {
  const ep_backend *backend; /* lent */
  cudaStream_t stream;       /* lent: what clears and copies */
  void **blocks;             /* [blocks_count]; owned */
  int blocks_count;
  int64_t bytes; /* of all blocks */
} ep_cuda_memory;

/* Takes [rows, columns] of `bytes` each, and queues their zeroing. out: the address of a pointer to
 * them, written; nothing is taken, and it is left alone, where one of the three is 0. */
ep_status ep_cuda_memory_take(ep_cuda_memory *memory, void *out, int64_t rows, int64_t columns,
                              int64_t bytes, ep_error *error);

/* The same of a list. What was taken before a failure is freed with the rest. */
typedef struct {
  void *out;
  int64_t rows, columns, bytes;
} ep_cuda_buffer;
ep_status ep_cuda_memory_take_all(ep_cuda_memory *memory, const ep_cuda_buffer *buffers,
                                  size_t count, ep_error *error);

/* Takes memory for `count` things of `bytes` each, with those of the host in it: waits for the
 * copy. */
ep_status ep_cuda_memory_take_copy(ep_cuda_memory *memory, void *out, const void *from,
                                   int64_t count, int64_t bytes, ep_error *error);

/* Frees what was taken since `before`, a copy of it as it was; no work of the stream uses that. */
void ep_cuda_memory_give_back(ep_cuda_memory *memory, const ep_cuda_memory *before);

/* Frees all. The stream's work must be done. */
void ep_cuda_memory_deinit(ep_cuda_memory *memory);

#endif
