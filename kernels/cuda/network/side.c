#include "kernels/cuda/network/side.h"

#include <string.h>

static bool stream_make(ep_cuda_side *side) {
  return cudaEventCreateWithFlags(&side->begun, cudaEventDisableTiming) == cudaSuccess &&
         cudaEventCreateWithFlags(&side->done, cudaEventDisableTiming) == cudaSuccess &&
         cudaStreamCreateWithFlags(&side->stream, cudaStreamNonBlocking) == cudaSuccess;
}

ep_status ep_cuda_side_enable(ep_cuda_network *network, ep_error *error) {
  const ep_cuda_share *share = &network->share;
  const ep_cuda_memory before = network->memory;
  ep_cuda_side *side = &network->side;
  if (share->evaluates || share->shares || share->train_x || side->stream) return EP_OK;
  const ep_cuda_buffer buffers[] = {
      {&side->workspace, network->workspace ? 1 : 0, EP_CUDA_GEMM_WORKSPACE_BYTES, 1},
      {&side->padded_out, network->padded_floats > 0 ? 1 : 0, network->padded_floats,
       sizeof(float)}};
  const ep_status status = ep_cuda_memory_take_all(&network->memory, buffers, 2, error);
  if (status == EP_OK && stream_make(side)) return EP_OK;
  ep_cuda_side_deinit(side);
  ep_cuda_memory_give_back(&network->memory, &before);
  return status == EP_NO_MEMORY ? EP_OK : status;
}

void ep_cuda_side_deinit(ep_cuda_side *side) {
  if (side->stream) cudaStreamSynchronize(side->stream);
  if (side->stream) cudaStreamDestroy(side->stream);
  if (side->done) cudaEventDestroy(side->done);
  if (side->begun) cudaEventDestroy(side->begun);
  memset(side, 0, sizeof *side);
}

/* The network's own for the second ones, or back. */
static void change(ep_cuda_network *network) {
  ep_cuda_side *side = &network->side;
  cudaStream_t stream = network->stream;
  void *workspace = network->workspace;
  float *padded_out = network->padded_out;
  network->stream = side->stream;
  network->workspace = side->workspace;
  network->padded_out = side->padded_out;
  side->stream = stream;
  side->workspace = workspace;
  side->padded_out = padded_out;
}

ep_status ep_cuda_side_begin(ep_cuda_network *network, int reads, ep_error *error) {
  ep_cuda_side *side = &network->side;
  if (!side->stream) return EP_OK;
  EP_CUDA_TRY(cudaEventRecord(side->begun, network->stream), "recording an event");
  EP_CUDA_TRY(cudaStreamWaitEvent(side->stream, side->begun, 0), "waiting for an event");
  side->reads = reads;
  change(network);
  return EP_OK;
}

ep_status ep_cuda_side_end(ep_cuda_network *network, ep_status status, ep_error *error) {
  ep_cuda_side *side = &network->side;
  if (!side->stream) return status;
  const cudaError_t code = cudaEventRecord(side->done, network->stream);
  change(network);
  if (status != EP_OK) return status;
  EP_CUDA_TRY(code, "recording an event");
  side->busy = true;
  return EP_OK;
}

ep_status ep_cuda_side_join(ep_cuda_network *network, ep_error *error) {
  if (network->side.busy)
    EP_CUDA_TRY(cudaStreamWaitEvent(network->stream, network->side.done, 0),
                "waiting for gradients");
  network->side.busy = false;
  return EP_OK;
}
