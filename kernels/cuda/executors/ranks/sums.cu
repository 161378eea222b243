/* What ranks do beside training. Sums go over the ranks in their order, whoever is ready first: the
 * same bits in every run, and on every rank. */
#include "kernels/cuda/executors/ranks/kernels.h"
#include "kernels/cuda/layers/gradients.cuh"
#include "kernels/cuda/layers/launch.cuh"

enum { THREADS = EP_CUDA_UPDATE_THREADS };

static __device__ uint64_t nanoseconds_now(void) {
  uint64_t now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  return now;
}

static __global__ void begin(const ep_cuda_clock *leader, ep_optimizer optimizer,
                             ep_cuda_clock *clock, ep_cuda_tally *tally,
                             ep_cuda_ranks_times *times) {
  ep_cuda_clock now = *leader;
  now.current = now.epoch * now.steps_per_epoch + now.batch;
  now.update =
      ep_optimizer_step_make(&optimizer, now.lr[now.lr_count == 1 ? 0 : now.step], now.current + 1);
  *clock = now;
  *tally = ep_cuda_tally{};
  times->last = nanoseconds_now();
}

cudaError_t ep_cuda_ranks_begin(cudaStream_t stream, const ep_cuda_clock *leader,
                                const ep_optimizer *optimizer, ep_cuda_clock *clock,
                                ep_cuda_tally *tally, ep_cuda_ranks_times *times) {
  begin<<<1, 1, 0, stream>>>(leader, *optimizer, clock, tally, times);
  return cudaGetLastError();
}

static __global__ void mark(ep_cuda_ranks_times *times, ep_cuda_ranks_time kind) {
  const uint64_t now = nanoseconds_now();
  times->nanoseconds[kind] += now - times->last;
  times->last = now;
}

cudaError_t ep_cuda_ranks_mark(cudaStream_t stream, ep_cuda_ranks_times *times,
                               ep_cuda_ranks_time kind) {
  mark<<<1, 1, 0, stream>>>(times, kind);
  return cudaGetLastError();
}

/* From a mean of rows that count once to one of rows that weigh. */
static __device__ float weight_scale(const ep_cuda_ranks_sum &sum) {
  double weight = 0;
  if (sum.tallies_count == 0) return 1;
  for (int i = 0; i < sum.tallies_count; i++) weight += sum.tallies[i]->weight;
  return (float)((double)sum.batch_rows / weight);
}

/* Of all lists, the gradient of parameter `at` of a row. */
static __device__ float total_at(const ep_cuda_ranks_sum &sum, int row, int64_t at) {
  float total = ep_cuda_gradient_at(sum.lists[0][row], at);
  for (int i = 1; i < sum.count; i++) total += ep_cuda_gradient_at(sum.lists[i][row], at);
  return total * weight_scale(sum);
}

static __global__ void __launch_bounds__(THREADS) add(ep_cuda_ranks_sum sum) {
  const int row = ep_cuda_gradient_of_block(sum.lists[0], sum.gradients_count);
  const ep_cuda_gradient of = sum.lists[0][row];
  const int64_t at = (blockIdx.x - of.first_block) * THREADS + threadIdx.x;
  if (at >= of.count) return;
  float *to = sum.sums + of.first + at;
  const float total = total_at(sum, row, at);
  *to = sum.adds ? *to + total : total;
}

static __global__ void __launch_bounds__(THREADS)
    step(ep_cuda_ranks_sum sum, ep_cuda_update update) {
  const int row = ep_cuda_gradient_of_block(sum.lists[0], sum.gradients_count);
  const ep_cuda_gradient of = sum.lists[0][row];
  const int64_t at = (blockIdx.x - of.first_block) * THREADS + threadIdx.x;
  if (at < of.count) ep_cuda_parameter_step(update, of, at, total_at(sum, row, at));
}

cudaError_t ep_cuda_ranks_sum_run(cudaStream_t stream, const ep_cuda_ranks_sum *sum) {
  if (sum->blocks == 0) return cudaSuccess;
  add<<<(unsigned int)sum->blocks, THREADS, 0, stream>>>(*sum);
  return cudaGetLastError();
}

cudaError_t ep_cuda_ranks_sum_step(cudaStream_t stream, const ep_cuda_ranks_sum *sum,
                                   const ep_cuda_update *update) {
  if (sum->blocks == 0) return cudaSuccess;
  step<<<(unsigned int)sum->blocks, THREADS, 0, stream>>>(*sum, *update);
  return cudaGetLastError();
}

static __global__ void end(ep_cuda_ranks_end of) {
  double loss = 0, weight = 0;
  int64_t errors = 0;
  for (int i = 0; i < of.count; i++) {
    loss += of.tallies[i]->loss;
    weight += of.tallies[i]->weight;
    errors += of.tallies[i]->errors;
  }
  ep_cuda_clock *clock = of.clock;
  clock->loss[clock->step] = (float)(loss / weight);
  clock->errors[clock->step] = (int32_t)errors;
  clock->step++;
  if (++clock->batch < clock->steps_per_epoch) return;
  clock->batch = 0;
  clock->epoch++;
}

cudaError_t ep_cuda_ranks_end_run(cudaStream_t stream, const ep_cuda_ranks_end *of) {
  end<<<1, 1, 0, stream>>>(*of);
  return cudaGetLastError();
}
