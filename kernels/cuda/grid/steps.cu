/* The kernel of cuda/grid: all steps of a segment in one launch, by blocks that stay. A step is a
 * row of phases with a barrier after each:
 *
 *   front     each block takes some rows through the front layers; when they are all there is, the
 *             loss and the way back as well
 *   forward   each wide layer
 *   head      the last layer, the loss, and the gradient by the last layer's input
 *   backward  each wide layer: the gradient by its input; and the weights of the layer behind it,
 *             which nobody needs any more, are summed and updated
 *   back      the front layers, backward, and the first wide layer's update
 *   update    the front layers
 */
#include "kernels/cuda/grid/steps.h"

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900

#include "kernels/cuda/grid/front.cuh"

static __device__ void blocks_wait(unsigned &target) {
  const span &s = span_of();
  copies_allow();
  if (s.cluster) {
    asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::
                     : "memory");
  } else {
    target += gridDim.x;
    counter_wait(s.barrier, target);
  }
}

/* This batch's rows in the training set, when they are shuffled. */
static __device__ void order_make(ep_permutation *permutation, long long &keyed, long long epoch) {
  const span &s = span_of();
  const now n = now_of();
  if (!n.ordered) return;
  if (epoch != keyed) {
    if (threadIdx.x == 0)
      *permutation = ep_permutation_make(s.seed, EP_RANDOM_SHUFFLE, epoch, s.train_rows);
    keyed = epoch;
    __syncthreads();
  }
#pragma unroll 1
  for (int i = threadIdx.x; i < n.rows; i += THREADS)
    order_of()[i] = (int)ep_permutation_at(permutation, (uint32_t)(n.first_row + i));
  __syncthreads();
}

/* One thread: starts the copy of what this step's rates come to. */
static __device__ void update_fetch(long long step) {
  const span &s = span_of();
  ep_optimizer_step *update = &state_of().update;
  if (s.plain_rate) {
    const float *lr = s.lr + (s.lr_count == 1 ? 0 : step);
    copy_one(&update->lr, lr, true);
    copy_one(&update->rate, lr, true);
  } else {
    for (int i = 0; i < (int)(sizeof *update / sizeof(float)); i++)
      copy_one((float *)update + i, (const float *)(s.update + step) + i, true);
  }
}

/* The last block: the step's loss and errors, from the rows'. */
static __device__ void loss_write(long long step) {
  __shared__ float of_warp[2][WARPS];
  const span &s = span_of();
  const now n = now_of();
  if (blockIdx.x != gridDim.x - 1) return;
  const float *rows = n.scratch + s.rows;
  float loss = 0, errors = 0;
#pragma unroll 4
  for (int row = threadIdx.x; row < n.rows; row += THREADS) {
    loss += rows[row];
    errors += rows[s.batch_rows + row];
  }
  loss = warp_sum(loss);
  errors = warp_sum(errors);
  if (threadIdx.x % WARP == 0) {
    of_warp[0][threadIdx.x / WARP] = loss;
    of_warp[1][threadIdx.x / WARP] = errors;
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  loss = errors = 0;
  for (int w = 0; w < WARPS; w++) {
    loss += of_warp[0][w];
    errors += of_warp[1][w];
  }
  s.loss[step] = loss * n.scale;
  s.errors[step] = (int)errors;
}

template <bool PRECISE>
static __device__ __forceinline__ void front_forward_run(unsigned long long *done,
                                                         unsigned parity) {
  if (span_of().tiles == 1)
    groups_forward<1, PRECISE>(done, parity);
  else
    groups_forward<2, PRECISE>(done, parity);
}

template <bool PRECISE> static __device__ __forceinline__ void front_backward_run() {
  if (span_of().tiles == 1)
    groups_backward<1, PRECISE>();
  else
    groups_backward<2, PRECISE>();
}

/* The wide layers, from the front's output and back to the gradient by it. */
template <bool PRECISE> static __device__ void wide_run(unsigned &target) {
  const span &s = span_of();
  int last = s.layers_count - 1;
  for (int l = s.front; l < last; l++) {
    forward<PRECISE>(l);
    blocks_wait(target);
  }
  head();
  blocks_wait(target);
  for (int l = last - 1; l > 0 && l >= s.front; l--) {
    int tasks = backward<PRECISE>(l);
    update<PRECISE>(l + 1, tasks);
    blocks_wait(target);
  }
}

/* The updates that wide_run left. */
template <bool PRECISE> static __device__ void rest_update(unsigned &target) {
  const span &s = span_of();
  int tasks = 0, last = s.front;
  if (s.front == 0) {
    last = 2;
  } else if (s.front < s.layers_count) {
    front_backward_run<PRECISE>();
    update<PRECISE>(s.front, (now_of().rows - 1) / (s.tiles * EP_GRID_GROUP) + 1);
    blocks_wait(target);
  }
  for (int l = 0; l < last; l++) tasks = update<PRECISE>(l, tasks);
}

/* The block's shared memory at the start of a launch. */
static __device__ void state_make(const span &s, unsigned long long *done) {
  block_state &state = state_of();
  for (int i = threadIdx.x; i < (int)(sizeof s / sizeof(int)); i += THREADS)
    ((int *)&state.s)[i] = ((const int *)&s)[i];
  if (threadIdx.x != 0) return;
  bool rmsprop = s.optimizer.type == EP_OPTIMIZER_RMSPROP;
  state.update = {0, 0, 1, 1 - s.optimizer.beta1,
                  1 - (rmsprop ? s.optimizer.alpha : s.optimizer.beta2)};
  asm volatile(
      "mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"((unsigned)__cvta_generic_to_shared(done))
      : "memory");
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

/* The next step, by one thread. */
static __device__ void now_make(long long step, int batch) {
  const span &s = span_of();
  long long first = (long long)batch * s.batch_rows, left = s.train_rows - first;
  int rows = (int)(left < s.batch_rows ? left : s.batch_rows);
  float scale = 1.0f / (float)((long long)rows * (s.takes_classes ? 1 : s.targets));
  state_of().n = {s.shuffles, first, rows, (unsigned)step + 1, scale, s.scratch};
}

template <bool PRECISE>
static __global__ void __launch_bounds__(THREADS, 1) grid(const __grid_constant__ span given) {
  __shared__ ep_permutation permutation;
  __shared__ __align__(8) unsigned long long done;
  const span &s = span_of();
  unsigned target = 0, parity = 0;
  state_make(given, &done);
  __syncthreads();
  image_make();
  blocks_wait(target);
  long long epoch = s.first_step / s.steps_per_epoch, keyed = -1;
  int batch = (int)(s.first_step % s.steps_per_epoch);
  for (long long step = 0; step < s.steps; step++) {
    if (threadIdx.x == 0) update_fetch(step);
    if (threadIdx.x == WARP) now_make(step, batch);
    __syncthreads();
    bool fetches =
        s.front > 0 && (s.cluster || (int)blockIdx.x * s.tiles * EP_GRID_GROUP < now_of().rows);
    if (fetches && threadIdx.x == THREADS - 1) image_fetch(&done);
    order_make(&permutation, keyed, epoch);
    if (fetches) {
      front_forward_run<PRECISE>(&done, parity);
      parity ^= 1;
    }
    if (s.front > 0) blocks_wait(target);
    if (s.front < s.layers_count) wide_run<PRECISE>(target);
    loss_write(step);
    rest_update<PRECISE>(target);
    blocks_wait(target);
    if (++batch == s.steps_per_epoch) {
      batch = 0;
      epoch++;
    }
  }
}

#else /* an older generation, which grid.c does not launch it on */

template <bool PRECISE> static __global__ void grid(const __grid_constant__ ep_grid_span) {}

#endif

static const void *kernel_of(bool precise) {
  return precise ? (const void *)grid<true> : (const void *)grid<false>;
}

cudaError_t ep_cuda_grid_prepare(bool precise, int shared_bytes) {
  const void *kernel = kernel_of(precise);
  cudaError_t code =
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes);
  if (code != cudaSuccess) return code;
  return cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
}

cudaError_t ep_cuda_grid_steps(cudaStream_t stream, const ep_grid_span *span, int blocks,
                               int shared_bytes) {
  cudaLaunchAttribute together = {};
  if (span->cluster) {
    together.id = cudaLaunchAttributeClusterDimension;
    together.val.clusterDim.x = (unsigned)blocks;
    together.val.clusterDim.y = together.val.clusterDim.z = 1;
  } else {
    together.id = cudaLaunchAttributeCooperative;
    together.val.cooperative = 1;
  }
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3((unsigned)blocks);
  config.blockDim = dim3(EP_GRID_THREADS);
  config.dynamicSmemBytes = (size_t)shared_bytes;
  config.stream = stream;
  config.attrs = &together;
  config.numAttrs = 1;
  void *arguments[] = {(void *)span};
  return cudaLaunchKernelExC(&config, kernel_of(span->precise), arguments);
}
