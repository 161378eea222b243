/* kernels.h: what ranks do beside training: the step begins, gradients are summed, it ends. All
 * pointers are device memory, of any GPU that this one may read. */
#ifndef EP_KERNELS_CUDA_EXECUTORS_RANKS_KERNELS_H
#define EP_KERNELS_CUDA_EXECUTORS_RANKS_KERNELS_H

#include "kernels/cuda/layers/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Where a rank's time went, in nanoseconds of its GPU's clock. */
typedef enum {
  EP_RANKS_COMPUTE,
  EP_RANKS_COMMUNICATION,
  EP_RANKS_IDLE,
  EP_RANKS_TIMES
} ep_cuda_ranks_time;
typedef struct {
  uint64_t last; /* the mark before */
  uint64_t nanoseconds[EP_RANKS_TIMES];
} ep_cuda_ranks_times;

/* A rank's step: its clock becomes the leader's, with the step's rates; its tally is cleared. */
cudaError_t ep_cuda_ranks_begin(cudaStream_t stream, const ep_cuda_clock *leader,
                                const ep_optimizer *optimizer, ep_cuda_clock *clock,
                                ep_cuda_tally *tally, ep_cuda_ranks_times *times);

/* The time since the last mark went into `kind`. */
cudaError_t ep_cuda_ranks_mark(cudaStream_t stream, ep_cuda_ranks_times *times,
                               ep_cuda_ranks_time kind);

/* sums = (sums +) the gradients of `count` lists, in their order. The lists are of the same tensors
 * and have the same blocks. tallies, with class weights: of all slices; a gradient was of the mean
 * of `batch_rows` rows that count once, and becomes that of the weighted mean. */
typedef struct {
  int count;
  const ep_cuda_gradient *lists[EP_LIMIT_RANKS]; /* [gradients_count] each */
  int gradients_count;
  int64_t blocks;
  bool adds;
  float *sums; /* [parameters] */
  int tallies_count;
  const ep_cuda_tally *tallies[EP_LIMIT_RANKS];
  int64_t batch_rows;
} ep_cuda_ranks_sum;
cudaError_t ep_cuda_ranks_sum_run(cudaStream_t stream, const ep_cuda_ranks_sum *sum);
/* The optimizer's step by that sum, which is not written. Without clip_norm, which is of sums. */
cudaError_t ep_cuda_ranks_sum_step(cudaStream_t stream, const ep_cuda_ranks_sum *sum,
                                   const ep_cuda_update *update);

/* The leader's: writes the step's loss and errors of all slices, and moves the clock on. */
typedef struct {
  int count;
  const ep_cuda_tally *tallies[EP_LIMIT_RANKS];
  ep_cuda_clock *clock;
} ep_cuda_ranks_end;
cudaError_t ep_cuda_ranks_end_run(cudaStream_t stream, const ep_cuda_ranks_end *end);

#ifdef __cplusplus
}
#endif
#endif
