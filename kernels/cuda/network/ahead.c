#include "kernels/cuda/network/ahead.h"

#include <string.h>

/* Of a batch. Of more, the taking is a matter of bytes, and slows down what it runs beside. */
enum { BYTES_AT_MOST = 1 << 20 };

/* Whether the network gathers rows by itself, from where they lie on the device. */
static bool gathers_alone(const ep_cuda_network *network) {
  const ep_cuda_share *share = &network->share;
  return network->gathers && network->resident && !share->evaluates && !share->shares &&
         !share->train_x;
}

ep_status ep_cuda_ahead_enable(ep_cuda_network *network, int64_t columns, int64_t bytes,
                               bool by_turns, ep_error *error) {
  const int64_t rows = network->program->batch_size;
  network->ahead.enabled = gathers_alone(network) && rows <= BYTES_AT_MOST / bytes / columns;
  if (!network->ahead.enabled || !by_turns) return EP_OK;
  return ep_cuda_memory_take(&network->memory, &network->spare, rows, columns, bytes, error);
}

ep_status ep_cuda_ahead_prepare(ep_cuda_network *network, ep_error *error) {
  ep_cuda_ahead *ahead = &network->ahead;
  if (ahead->stream || !ahead->enabled) return EP_OK;
  cudaError_t code = cudaEventCreateWithFlags(&ahead->begun, cudaEventDisableTiming);
  if (code == cudaSuccess) code = cudaEventCreateWithFlags(&ahead->done, cudaEventDisableTiming);
  if (code == cudaSuccess) code = cudaStreamCreateWithFlags(&ahead->stream, cudaStreamNonBlocking);
  if (code == cudaSuccess) return EP_OK;
  ep_cuda_ahead_deinit(ahead);
  return ep_cuda_fail(error, code, "making a stream");
}

void ep_cuda_ahead_deinit(ep_cuda_ahead *ahead) {
  if (ahead->stream) cudaStreamDestroy(ahead->stream);
  if (ahead->done) cudaEventDestroy(ahead->done);
  if (ahead->begun) cudaEventDestroy(ahead->begun);
  memset(ahead, 0, sizeof *ahead);
}

void ep_cuda_ahead_step(ep_cuda_network *network, int64_t step, int64_t next_rows) {
  ep_cuda_ahead *ahead = &network->ahead;
  if (!ahead->stream) return;
  ahead->odd = step % 2 == 1;
  ahead->rows = next_rows;
  if (step == 0) ahead->taken = false;
}

ep_status ep_cuda_ahead_await(ep_cuda_network *network, const ep_cuda_batch *batch, int64_t rows,
                              ep_error *error) {
  if (network->ahead.taken)
    EP_CUDA_TRY(cudaStreamWaitEvent(network->stream, network->ahead.done, 0), "waiting for rows");
  else
    EP_CUDA_TRY(ep_cuda_batch_take(network->stream, batch, rows, network->clock), "a batch");
  network->ahead.taken = false;
  return EP_OK;
}

ep_status ep_cuda_ahead_queue(ep_cuda_network *network, const ep_cuda_batch *batch,
                              ep_error *error) {
  ep_cuda_ahead *ahead = &network->ahead;
  if (ahead->rows == 0) return EP_OK;
  EP_CUDA_TRY(cudaEventRecord(ahead->begun, network->stream), "recording an event");
  EP_CUDA_TRY(cudaStreamWaitEvent(ahead->stream, ahead->begun, 0), "waiting for an event");
  EP_CUDA_TRY(ep_cuda_batch_take(ahead->stream, batch, ahead->rows, network->clock), "a batch");
  EP_CUDA_TRY(cudaEventRecord(ahead->done, ahead->stream), "recording an event");
  ahead->taken = true;
  ahead->rows = 0;
  return EP_OK;
}
