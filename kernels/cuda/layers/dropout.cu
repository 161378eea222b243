/* Dropout: a mask that is never stored, since any thread can compute its own part of it. */
#include "kernels/cuda/layers/launch.cuh"
#include "kernels/cuda/layers/operator.h"
#include "kernels/formulas/dropout.h"

enum { THREADS = 256, QUAD = 4 };

static __device__ int64_t step_of(const ep_cuda_clock *clock, bool backward) {
  return backward ? clock->current : clock->epoch * clock->steps_per_epoch + clock->batch;
}

/* A thread four elements, which one call of Philox decides; `first`: the batch's element that x
 * begins with. aligned: such four lie together in x and in y, where float4 may be read. */
static __global__ void elements(ep_op op, int64_t first, int64_t count, bool aligned, uint64_t seed,
                                const ep_cuda_clock *clock, bool backward, const float *x,
                                float *y) {
  kernels_overlap();
  int64_t step = step_of(clock, backward), quads = (first + count + QUAD - 1) / QUAD;
  float scale = ep_dropout_scale(op.p);
  for (int64_t quad = first / QUAD + (int64_t)blockIdx.x * THREADS + threadIdx.x; quad < quads;
       quad += (int64_t)gridDim.x * THREADS) {
    const ep_random4 words = ep_dropout_words(seed, step, op.layer, quad);
    const int64_t begin = QUAD * quad - first;
    if (aligned && begin + QUAD <= count) {
      float4 value = *(const float4 *)(x + begin);
      value.x = ep_dropout_word_keeps(words.word[0], op.p) ? scale * value.x : 0;
      value.y = ep_dropout_word_keeps(words.word[1], op.p) ? scale * value.y : 0;
      value.z = ep_dropout_word_keeps(words.word[2], op.p) ? scale * value.z : 0;
      value.w = ep_dropout_word_keeps(words.word[3], op.p) ? scale * value.w : 0;
      *(float4 *)(y + begin) = value;
      continue;
    }
#pragma unroll
    for (int i = 0; i < QUAD; i++) {
      int64_t at = begin + i;
      if (at >= 0 && at < count)
        y[at] = ep_dropout_word_keeps(words.word[i], op.p) ? scale * x[at] : 0;
    }
  }
}

/* `lanes` threads, a power of two, a channel: one word decides all its numbers. `first`: the
 * batch's channel that x begins with; count: channels. */
template <bool QUADS>
static __global__ void channels(ep_op op, int64_t first, int64_t count, int64_t pixels, int lanes,
                                uint64_t seed, const ep_cuda_clock *clock, bool backward,
                                const float *x, float *y) {
  kernels_overlap();
  const int64_t step = step_of(clock, backward);
  const int lane = threadIdx.x % lanes, lines = THREADS / lanes;
  const float scale = ep_dropout_scale(op.p);
  for (int64_t channel = (int64_t)blockIdx.x * lines + threadIdx.x / lanes; channel < count;
       channel += (int64_t)gridDim.x * lines) {
    const bool keeps = ep_dropout_keeps(seed, step, op.layer, first + channel, op.p);
    const float *from = x + channel * pixels;
    float *to = y + channel * pixels;
    if (QUADS) {
      for (int64_t i = lane; i < pixels / QUAD; i += lanes) {
        float4 value = {0, 0, 0, 0};
        if (keeps) {
          value = ((const float4 *)from)[i];
          value = {scale * value.x, scale * value.y, scale * value.z, scale * value.w};
        }
        ((float4 *)to)[i] = value;
      }
    } else {
      for (int64_t i = lane; i < pixels; i += lanes) to[i] = keeps ? scale * from[i] : 0;
    }
  }
}

enum { THREADS_ENOUGH = 1 << 18 }; /* they fill any device */

/* Threads for so many numbers, or fours of them, that lie side by side: at most a warp, or a block
 * where there are few `channels`. */
static int lanes_of(int64_t numbers, int64_t channels) {
  int lanes = 1;
  while (lanes < WARP && lanes < numbers) lanes *= 2;
  while (lanes < THREADS && lanes < numbers && lanes * channels < THREADS_ENOUGH) lanes *= 2;
  return lanes;
}

static cudaError_t run(const ep_cuda_call *call, bool backward, const float *x, float *y) {
  const ep_op *op = call->op;
  const cudaStream_t stream = call->stream;
  const int64_t first = call->first, rows = call->rows;
  const uint64_t seed = call->seed;
  const ep_cuda_clock *clock = call->clock;
  const int64_t features = op->out_features, pixels = op->out.height * op->out.width;
  const bool aligned = ep_cuda_has_quads(x) && ep_cuda_has_quads(y);
  if (op->type == EP_LAYER_DROPOUT) {
    const int64_t count = rows * features;
    ep_cuda_queue(stream, ep_cuda_blocks(count + QUAD, THREADS * QUAD), THREADS, 0, elements, *op,
                  first * features, count, aligned && first * features % QUAD == 0, seed, clock,
                  backward, x, y);
    return cudaGetLastError();
  }
  const bool quads = aligned && pixels % QUAD == 0;
  const int64_t each = features / pixels, count = rows * each;
  const int lanes = lanes_of(quads ? pixels / QUAD : pixels, count);
  const unsigned int blocks = ep_cuda_blocks(count, THREADS / lanes);
  if (quads)
    ep_cuda_queue(stream, blocks, THREADS, 0, channels<true>, *op, first * each, count, pixels,
                  lanes, seed, clock, backward, x, y);
  else
    ep_cuda_queue(stream, blocks, THREADS, 0, channels<false>, *op, first * each, count, pixels,
                  lanes, seed, clock, backward, x, y);
  return cudaGetLastError();
}

cudaError_t ep_cuda_dropout_forward(const ep_cuda_call *call) {
  if (call->training) return run(call, false, call->x[0], call->y);
  if (call->x[0] == call->y) return cudaSuccess;
  /* a copy: what follows may write over it */
  return cudaMemcpyAsync(call->y, call->x[0],
                         (size_t)(call->rows * call->op->out_features) * sizeof(float),
                         cudaMemcpyDeviceToDevice, call->stream);
}

cudaError_t ep_cuda_dropout_backward(const ep_cuda_call *call) {
  return run(call, true, call->grad, call->grad);
}

EP_CUDA_OPERATOR(DROPOUT2D, ep_cuda_dropout_forward, ep_cuda_dropout_backward, IN_PLACE, NULL,
                 NULL);
