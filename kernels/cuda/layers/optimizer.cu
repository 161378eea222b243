/* The update that ends a step: a thread a parameter, which first adds up the slices of its
 * gradient. */
#include "kernels/cuda/layers/gradients.cuh"
#include "kernels/cuda/layers/kernels.h"
#include "kernels/cuda/layers/launch.cuh"

enum { THREADS = EP_CUDA_UPDATE_THREADS };

static __global__ void step(ep_cuda_update update) {
  const ep_cuda_gradient of =
      update.gradients[ep_cuda_gradient_of_block(update.gradients, update.gradients_count)];
  const int64_t at = (blockIdx.x - of.first_block) * THREADS + threadIdx.x;
  if (at < of.count) ep_cuda_parameter_step(update, of, at, ep_cuda_gradient_at(of, at));
}

/* Each block's share of the square of the gradients' norm. */
static __global__ void square(ep_cuda_update update) {
  const ep_cuda_gradient of =
      update.gradients[ep_cuda_gradient_of_block(update.gradients, update.gradients_count)];
  int64_t at = (blockIdx.x - of.first_block) * THREADS + threadIdx.x;
  double grad = at < of.count ? (double)ep_cuda_gradient_at(of, at) : 0;
  double sum = ep_cuda_block_sum(grad * grad);
  if (threadIdx.x == 0) update.squares[blockIdx.x] = sum;
}

/* One block adds them, always in the same order. */
static __global__ void norm(ep_cuda_update update, ep_cuda_other_squares others) {
  double sum = 0;
  for (int64_t i = threadIdx.x; i < update.blocks; i += THREADS) sum += update.squares[i];
  for (int part = 0; part < others.count; part++)
    for (int64_t i = threadIdx.x; i < others.part[part].blocks; i += THREADS)
      sum += others.part[part].squares[i];
  sum = ep_cuda_block_sum(sum);
  if (threadIdx.x == 0) update.clock->clip_scale = ep_clip_scale(&update.optimizer, sqrt(sum));
}

cudaError_t ep_cuda_optimizer_square(cudaStream_t stream, const ep_cuda_update *update) {
  if (update->optimizer.clip_norm == 0 || update->blocks == 0) return cudaSuccess;
  square<<<(unsigned int)update->blocks, THREADS, 0, stream>>>(*update);
  return cudaGetLastError();
}

cudaError_t ep_cuda_optimizer_step(cudaStream_t stream, const ep_cuda_update *update,
                                   const ep_cuda_other_squares *others) {
  const ep_cuda_other_squares none = {};
  if (update->blocks == 0) return cudaSuccess;
  if (update->optimizer.clip_norm > 0) {
    norm<<<1, THREADS, 0, stream>>>(*update, others ? *others : none);
    cudaError_t code = cudaGetLastError();
    if (code != cudaSuccess) return code;
  }
  step<<<(unsigned int)update->blocks, THREADS, 0, stream>>>(*update);
  return cudaGetLastError();
}

cudaError_t ep_cuda_optimizer_run(cudaStream_t stream, const ep_cuda_update *update) {
  cudaError_t code = ep_cuda_optimizer_square(stream, update);
  return code == cudaSuccess ? ep_cuda_optimizer_step(stream, update, NULL) : code;
}

static __global__ void steps_make(ep_optimizer optimizer, int64_t first_step, int64_t steps,
                                  const float *lr, int64_t lr_count, ep_optimizer_step *out) {
  int64_t stride = (int64_t)gridDim.x * blockDim.x;
  for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < steps; i += stride)
    out[i] = ep_optimizer_step_make(&optimizer, lr[lr_count == 1 ? 0 : i], first_step + i + 1);
}

cudaError_t ep_cuda_optimizer_steps(cudaStream_t stream, const ep_optimizer *optimizer,
                                    int64_t first_step, int64_t steps, const float *lr,
                                    int64_t lr_count, ep_optimizer_step *out) {
  steps_make<<<ep_cuda_blocks(steps, EP_CUDA_UPDATE_THREADS), EP_CUDA_UPDATE_THREADS, 0, stream>>>(
      *optimizer, first_step, steps, lr, lr_count, out);
  return cudaGetLastError();
}
