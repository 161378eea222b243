#include "kernels/cuda/runtime/memory.h"

#include <stdlib.h>
#include <string.h>

/* Takes the block, also where it fails. */
static ep_status keep(ep_cuda_memory *memory, void *block, ep_error *error) {
  size_t count = (size_t)memory->blocks_count + 1;
  void **blocks = realloc(memory->blocks, count * sizeof *blocks);
  if (!blocks) {
    ep_cuda_free(block);
    return ep_fail(error, EP_NO_MEMORY, "no memory for a list of device memory");
  }
  blocks[memory->blocks_count++] = block;
  memory->blocks = blocks;
  return EP_OK;
}

ep_status ep_cuda_memory_take(ep_cuda_memory *memory, void *out, int64_t rows, int64_t columns,
                              int64_t bytes, ep_error *error) {
  void *block = NULL;
  int64_t row_bytes;
  if (__builtin_mul_overflow(columns, bytes, &row_bytes))
    return ep_fail(error, EP_NO_MEMORY, "a row of %lld numbers does not fit on a GPU",
                   (long long)columns);
  ep_status status =
      ep_cuda_allocate(memory->backend, &block, rows, row_bytes, &memory->bytes, error);
  if (status == EP_OK && block) status = keep(memory, block, error);
  if (status != EP_OK || !block) return status;
  memcpy(out, &block, sizeof block);
  EP_CUDA_TRY(cudaMemsetAsync(block, 0, (size_t)(rows * row_bytes), memory->stream),
              "clearing device memory");
  return EP_OK;
}

ep_status ep_cuda_memory_take_all(ep_cuda_memory *memory, const ep_cuda_buffer *buffers,
                                  size_t count, ep_error *error) {
  ep_status status = EP_OK;
  for (size_t i = 0; status == EP_OK && i < count; i++)
    status = ep_cuda_memory_take(memory, buffers[i].out, buffers[i].rows, buffers[i].columns,
                                 buffers[i].bytes, error);
  return status;
}

ep_status ep_cuda_memory_take_copy(ep_cuda_memory *memory, void *out, const void *from,
                                   int64_t count, int64_t bytes, ep_error *error) {
  ep_status status = ep_cuda_memory_take(memory, out, 1, count, bytes, error);
  if (status != EP_OK || count == 0) return status;
  void *to;
  memcpy(&to, out, sizeof to);
  EP_CUDA_TRY(
      cudaMemcpyAsync(to, from, (size_t)(count * bytes), cudaMemcpyHostToDevice, memory->stream),
      "copying to the device");
  EP_CUDA_TRY(cudaStreamSynchronize(memory->stream), "copying to the device");
  return EP_OK;
}

void ep_cuda_memory_give_back(ep_cuda_memory *memory, const ep_cuda_memory *before) {
  cudaStreamSynchronize(memory->stream); /* which clears them; a failure comes up again */
  while (memory->blocks_count > before->blocks_count)
    ep_cuda_free(memory->blocks[--memory->blocks_count]);
  memory->bytes = before->bytes;
}

void ep_cuda_memory_deinit(ep_cuda_memory *memory) {
  for (int i = 0; i < memory->blocks_count; i++) ep_cuda_free(memory->blocks[i]);
  free(memory->blocks);
  *memory = (ep_cuda_memory){.blocks = NULL};
}
