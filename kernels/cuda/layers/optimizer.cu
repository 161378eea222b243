/* The update that ends a step. */
#include "kernels/cuda/layers/gradients.cuh"
#include "kernels/cuda/layers/kernels.h"
#include "kernels/cuda/layers/launch.cuh"

enum { THREADS = EP_CUDA_UPDATE_THREADS, SLOTS_MAX = 3 };

/* A block's row of the list: the last that begins at or before it. */
static __device__ int gradient_of(const ep_cuda_gradient *gradients, int count, int64_t block) {
  int low = 0, high = count - 1;
  while (low < high) {
    int middle = (low + high + 1) / 2;
    if (gradients[middle].first_block <= block)
      low = middle;
    else
      high = middle - 1;
  }
  return low;
}

/* A block of threads has this many of the list's blocks, and a thread as many parameters, all of
 * which it reads before it writes one. */
enum { EACH = 4, GROUP = THREADS / EACH };

/* The gradients of a thread's parameters at, at + GROUP, …: their slices, added up. */
static __device__ void gradients_read(const ep_cuda_gradient &of, int64_t at, float (&grad)[EACH]) {
#pragma unroll
  for (int i = 0; i < EACH; i++)
    grad[i] = at + i * GROUP < of.count ? of.gradient[at + i * GROUP] : 0;
#pragma unroll 4
  for (int slice = 1; slice < of.slices; slice++) {
    const float *from = of.gradient + slice * of.stride + at;
#pragma unroll
    for (int i = 0; i < EACH; i++)
      if (at + i * GROUP < of.count) grad[i] += from[i * GROUP];
  }
}

/* One optimizer's. */
template <ep_optimizer_type TYPE> static __global__ void step(ep_cuda_update update) {
  kernels_overlap();
  const int64_t block = (int64_t)blockIdx.x * EACH + threadIdx.x / GROUP;
  if (block >= update.blocks) return;
  const ep_cuda_gradient of =
      update.gradients[gradient_of(update.gradients, update.gradients_count, block)];
  const int64_t at = (block - of.first_block) * THREADS + threadIdx.x % GROUP;
  ep_optimizer optimizer = update.optimizer;
  optimizer.type = TYPE;
  const int slots = (int)ep_optimizer_slots(&optimizer);
  const float scale = optimizer.clip_norm > 0 ? update.clock->clip_scale : 1;
  const ep_optimizer_step now = update.clock->update;
  float grad[EACH], parameter[EACH], state[EACH][SLOTS_MAX];
  gradients_read(of, at, grad);
#pragma unroll
  for (int i = 0; i < EACH; i++) {
    if (at + i * GROUP >= of.count) break;
    const int64_t place = of.first + at + i * GROUP;
    parameter[i] = update.parameters[place];
#pragma unroll
    for (int slot = 0; slot < SLOTS_MAX; slot++)
      if (slot < slots) state[i][slot] = update.state[place + slot * update.state_stride];
  }
#pragma unroll
  for (int i = 0; i < EACH; i++) {
    if (at + i * GROUP >= of.count) break;
    const int64_t place = of.first + at + i * GROUP;
    update.parameters[place] =
        ep_optimizer_update(&optimizer, &now, of.weight_decay, parameter[i],
                            ep_clip(&optimizer, scale, grad[i]), state[i], 1);
#pragma unroll
    for (int slot = 0; slot < SLOTS_MAX; slot++)
      if (slot < slots) update.state[place + slot * update.state_stride] = state[i][slot];
  }
}

#define STEP_LAUNCH(code, ...)                                                     \
  case EP_OPTIMIZER_##code:                                                        \
    ep_cuda_queue(stream, blocks, THREADS, 0, step<EP_OPTIMIZER_##code>, *update); \
    break;

static void step_launch(cudaStream_t stream, const ep_cuda_update *update) {
  const unsigned int blocks = (unsigned int)((update->blocks + EACH - 1) / EACH);
  switch (update->optimizer.type) {
    EP_OPTIMIZERS(STEP_LAUNCH)
  case EP_OPTIMIZER_COUNT: break;
  }
}

/* Each block's share of the square of the gradients' norm. */
static __global__ void square(ep_cuda_update update) {
  kernels_overlap();
  const ep_cuda_gradient of =
      update.gradients[ep_cuda_gradient_of_block(update.gradients, update.gradients_count)];
  int64_t at = (blockIdx.x - of.first_block) * THREADS + threadIdx.x;
  double grad = at < of.count ? (double)ep_cuda_gradient_at(of, at) : 0;
  double sum = ep_cuda_block_sum(grad * grad);
  if (threadIdx.x == 0) update.squares[blockIdx.x] = sum;
}

/* One block adds them, always in the same order. */
static __global__ void norm(ep_cuda_update update, ep_cuda_other_squares others) {
  kernels_overlap();
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
  ep_cuda_queue(stream, (unsigned int)update->blocks, THREADS, 0, square, *update);
  return cudaGetLastError();
}

cudaError_t ep_cuda_optimizer_step(cudaStream_t stream, const ep_cuda_update *update,
                                   const ep_cuda_other_squares *others) {
  const ep_cuda_other_squares none = {};
  if (update->blocks == 0) return cudaSuccess;
  if (update->optimizer.clip_norm > 0) {
    if (others) /* it waits for other GPUs' kernels, too */
      norm<<<1, THREADS, 0, stream>>>(*update, *others);
    else
      ep_cuda_queue(stream, 1, THREADS, 0, norm, *update, none);
    cudaError_t code = cudaGetLastError();
    if (code != cudaSuccess) return code;
  }
  step_launch(stream, update);
  return cudaGetLastError();
}

cudaError_t ep_cuda_optimizer_run(cudaStream_t stream, const ep_cuda_update *update) {
  cudaError_t code = ep_cuda_optimizer_square(stream, update);
  return code == cudaSuccess ? ep_cuda_optimizer_step(stream, update, NULL) : code;
}

static __global__ void steps_make(ep_optimizer optimizer, int64_t first_step, int64_t steps,
                                  const float *lr, int64_t lr_count, ep_optimizer_step *out) {
  kernels_overlap();
  int64_t stride = (int64_t)gridDim.x * blockDim.x;
  for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < steps; i += stride)
    out[i] = ep_optimizer_step_make(&optimizer, lr[lr_count == 1 ? 0 : i], first_step + i + 1);
}

cudaError_t ep_cuda_optimizer_steps(cudaStream_t stream, const ep_optimizer *optimizer,
                                    int64_t first_step, int64_t steps, const float *lr,
                                    int64_t lr_count, ep_optimizer_step *out) {
  ep_cuda_queue(stream, ep_cuda_blocks(steps, EP_CUDA_UPDATE_THREADS), EP_CUDA_UPDATE_THREADS, 0,
                steps_make, *optimizer, first_step, steps, lr, lr_count, out);
  return cudaGetLastError();
}
