/* instance_norm: a set is a channel of a row, a warp's, or a block's where it has many pixels. Sums
 * are taken in double, as in batch_norm.cu. W and b are alike within a set: what its backward pass
 * sums is its share of their gradients, too. */
#include "kernels/cuda/layers/launch.cuh"
#include "kernels/cuda/layers/operator.h"

enum { THREADS = 256, WARP_PIXELS = 512 };

typedef struct {
  int64_t sets, channels, pixels;
  float eps;
  const float *x, *weight, *bias;
  float *y;
  float *mean, *inverse; /* [sets], 1 / deviation; NULL: not saved */
  /* The way back. */
  const float *grad;
  float *grad_x;          /* may be grad; NULL: nobody asks */
  float *products, *sums; /* [sets]: of grad times the normalized number, of grad */
  float *gradient;        /* [slices, weights then biases] */
} instances;

static instances instances_of(const ep_cuda_call *call) {
  const ep_op *op = call->op;
  const int64_t sets = call->rows * op->in.channels;
  instances of = {};
  of.sets = sets;
  of.channels = op->in.channels;
  of.pixels = op->in.height * op->in.width;
  of.eps = op->eps;
  of.x = call->x[0];
  of.weight = call->weight;
  of.bias = call->bias;
  of.y = call->y;
  if (!call->training) return of;
  of.mean = call->saved;
  of.inverse = of.mean + sets;
  of.products = of.inverse + sets;
  of.sums = of.products + sets;
  of.grad = call->grad;
  of.grad_x = call->grad_x[0];
  of.gradient = call->gradient;
  return of;
}

/* The sum over a set's threads, in all of them. */
template <int SHARERS> static __device__ double set_sum(double value) {
  if (SHARERS == WARP) return warp_sum(value);
  __shared__ double all;
  const double sum = ep_cuda_block_sum(value);
  __syncthreads(); /* it may still be read by an earlier call */
  if (threadIdx.x == 0) all = sum;
  __syncthreads();
  return all;
}

template <int SHARERS> static __global__ void __launch_bounds__(THREADS) forward(instances of) {
  const int64_t of_block = THREADS / SHARERS, step = gridDim.x * of_block;
  const int sharer = threadIdx.x % SHARERS;
  for (int64_t set = blockIdx.x * of_block + threadIdx.x / SHARERS; set < of.sets; set += step) {
    const int64_t channel = set % of.channels;
    const float *x = of.x + set * of.pixels;
    float *y = of.y + set * of.pixels;
    double sum = 0, square = 0;
    for (int64_t i = sharer; i < of.pixels; i += SHARERS) sum += (double)x[i];
    const double center = set_sum<SHARERS>(sum) / (double)of.pixels;
    for (int64_t i = sharer; i < of.pixels; i += SHARERS) {
      const double d = (double)x[i] - center;
      square += d * d;
    }
    const float mean = (float)center;
    const float variance = (float)(set_sum<SHARERS>(square) / (double)of.pixels);
    const float inverse = 1 / sqrtf(variance + of.eps);
    const float weight = of.weight ? of.weight[channel] : 1;
    const float bias = of.bias ? of.bias[channel] : 0;
    for (int64_t i = sharer; i < of.pixels; i += SHARERS)
      y[i] = (x[i] - mean) * inverse * weight + bias;
    if (sharer != 0 || !of.mean) continue;
    of.mean[set] = mean;
    of.inverse[set] = inverse;
  }
}

template <int SHARERS> static __global__ void __launch_bounds__(THREADS) backward(instances of) {
  const int64_t of_block = THREADS / SHARERS, step = gridDim.x * of_block;
  const int sharer = threadIdx.x % SHARERS;
  for (int64_t set = blockIdx.x * of_block + threadIdx.x / SHARERS; set < of.sets; set += step) {
    const float *x = of.x + set * of.pixels, *grad = of.grad + set * of.pixels;
    const float mean = of.mean[set], inverse = of.inverse[set];
    double sum = 0, product = 0;
    for (int64_t i = sharer; i < of.pixels; i += SHARERS) {
      sum += (double)grad[i];
      product += (double)grad[i] * (double)((x[i] - mean) * inverse);
    }
    sum = set_sum<SHARERS>(sum);
    product = set_sum<SHARERS>(product);
    if (sharer == 0) {
      of.products[set] = (float)product;
      of.sums[set] = (float)sum;
    }
    if (!of.grad_x) continue;
    const float of_sum = (float)(sum / (double)of.pixels);
    const float of_product = (float)(product / (double)of.pixels);
    const float scale = of.weight ? of.weight[set % of.channels] * inverse : inverse;
    float *grad_x = of.grad_x + set * of.pixels;
    for (int64_t i = sharer; i < of.pixels; i += SHARERS)
      grad_x[i] = scale * (grad[i] - of_sum - (x[i] - mean) * inverse * of_product);
  }
}

/* A thread a parameter: the sets' shares, over a slice of the rows. */
static __global__ void __launch_bounds__(THREADS) parameters(instances of) {
  const int64_t count = of.bias ? 2 * of.channels : of.channels;
  const int64_t at = (int64_t)blockIdx.x * THREADS + threadIdx.x;
  if (at >= count) return;
  const float *from = at < of.channels ? of.products + at : of.sums + (at - of.channels);
  int64_t first, last;
  slice_rows(of.sets / of.channels, blockIdx.y, gridDim.y, &first, &last);
  double sum = 0;
#pragma unroll 8
  for (int64_t row = first; row < last; row++) sum += (double)from[row * of.channels];
  of.gradient[blockIdx.y * count + at] = (float)sum;
}

static cudaError_t forward_run(const ep_cuda_call *call) {
  const instances of = instances_of(call);
  if (of.pixels <= WARP_PIXELS)
    forward<WARP><<<ep_cuda_blocks(of.sets, THREADS / WARP), THREADS, 0, call->stream>>>(of);
  else
    forward<THREADS><<<ep_cuda_blocks(of.sets, 1), THREADS, 0, call->stream>>>(of);
  return cudaGetLastError();
}

static cudaError_t backward_run(const ep_cuda_call *call) {
  const instances of = instances_of(call);
  if (of.pixels <= WARP_PIXELS)
    backward<WARP><<<ep_cuda_blocks(of.sets, THREADS / WARP), THREADS, 0, call->stream>>>(of);
  else
    backward<THREADS><<<ep_cuda_blocks(of.sets, 1), THREADS, 0, call->stream>>>(of);
  const cudaError_t code = cudaGetLastError();
  if (code != cudaSuccess || !of.gradient) return code;
  const unsigned int across = ep_cuda_blocks(2 * of.channels, THREADS);
  parameters<<<dim3(across, (unsigned int)call->slices), THREADS, 0, call->stream>>>(of);
  return cudaGetLastError();
}

/* Mean and deviation of each set, and its two sums on the way back. */
static int64_t saved_of(const ep_op *op, int64_t rows, int64_t batch) {
  (void)rows;
  return 4 * batch * op->in.channels;
}

static int slices_of(const ep_op *op, int64_t batch) {
  (void)op;
  return ep_cuda_column_slices(batch);
}

EP_CUDA_OPERATOR(INSTANCE_NORM, forward_run, backward_run, IN_PLACE, saved_of, slices_of);
