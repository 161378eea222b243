/* Dropout: a mask that is never stored, since any thread can compute its own part of it. */
#include "kernels/cuda/layers/kernels.h"
#include "kernels/cuda/layers/launch.cuh"
#include "kernels/formulas/dropout.h"

enum { THREADS = 256, QUAD = 4 };

static __device__ int64_t step_of(const ep_cuda_clock *clock, bool backward) {
  return backward ? clock->current : clock->epoch * clock->steps_per_epoch + clock->batch;
}

/* A thread four elements, which one call of Philox decides; `first`: the batch's element that x
 * begins with. */
static __global__ void elements(ep_op op, int64_t first, int64_t count, uint64_t seed,
                                const ep_cuda_clock *clock, bool backward, const float *x,
                                float *y) {
  int64_t step = step_of(clock, backward), quads = (first + count + QUAD - 1) / QUAD;
  float scale = ep_dropout_scale(op.p);
  for (int64_t quad = first / QUAD + (int64_t)blockIdx.x * THREADS + threadIdx.x; quad < quads;
       quad += (int64_t)gridDim.x * THREADS) {
    ep_random4 words = ep_dropout_words(seed, step, op.layer, quad);
#pragma unroll
    for (int i = 0; i < QUAD; i++) {
      int64_t at = QUAD * quad + i - first;
      if (at >= 0 && at < count)
        y[at] = ep_dropout_word_keeps(words.word[i], op.p) ? scale * x[at] : 0;
    }
  }
}

/* A thread a number; those of a channel ask for the same word. `first`: the batch's channel that x
 * begins with. */
static __global__ void channels(ep_op op, int64_t first, int64_t count, uint32_t pixels,
                                uint64_t seed, const ep_cuda_clock *clock, bool backward,
                                const float *x, float *y) {
  int64_t step = step_of(clock, backward);
  float scale = ep_dropout_scale(op.p);
  for (int64_t at = (int64_t)blockIdx.x * THREADS + threadIdx.x; at < count;
       at += (int64_t)gridDim.x * THREADS) {
    int64_t element = at >> 32 ? at / pixels : (uint32_t)at / pixels; /* 64 bits divide slowly */
    y[at] = ep_dropout_keeps(seed, step, op.layer, first + element, op.p) ? scale * x[at] : 0;
  }
}

cudaError_t ep_cuda_dropout(cudaStream_t stream, const ep_op *op, int64_t first, int64_t rows,
                            uint64_t seed, const ep_cuda_clock *clock, bool backward,
                            const float *x, float *y) {
  int64_t count = rows * op->out_features, pixels = op->out.height * op->out.width;
  if (op->type == EP_LAYER_DROPOUT)
    elements<<<ep_cuda_blocks(count + QUAD, THREADS * QUAD), THREADS, 0, stream>>>(
        *op, first * op->out_features, count, seed, clock, backward, x, y);
  else
    channels<<<ep_cuda_blocks(count, THREADS), THREADS, 0, stream>>>(
        *op, first * (op->out_features / pixels), count, (uint32_t)pixels, seed, clock, backward, x,
        y);
  return cudaGetLastError();
}
