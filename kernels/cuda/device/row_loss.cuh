/* row_loss.cuh: what a warp's eight rows should come to, and their loss. For cuda/crews,
 * whose network.cuh, which says what a row_set is, comes first. */
#ifndef EP_KERNELS_CUDA_DEVICE_ROW_LOSS_CUH
#define EP_KERNELS_CUDA_DEVICE_ROW_LOSS_CUH

constexpr int HALVES = (OUT + 7) / 8; /* of the tiles of outputs, as far as there are any */

/* A lane's part of the loss and of the errors of the warp's rows. */
struct row_metrics {
  float loss, errors;
};

/* Of a lane's row r, whose outputs are scores of classes: whether another class than `label` is the
 * first in the order of ep_argmax_precedes. asked: the label's score, written. */
static __device__ __forceinline__ bool classes_miss(const float (&y)[tiles_down(LAST)][4], int r,
                                                    int label, float &asked) {
  int lane = threadIdx.x % WARP, g = lane / 4;
  unsigned better = 0;
  asked = 0;
#pragma unroll
  for (int h = 0; h < HALVES; h++) {
    float of_half = __shfl_sync(ALL_LANES, y[h / 2][h % 2 * 2 + r], label % 8 * 4 + lane % 4);
    asked = label / 8 == h ? of_half : asked;
  }
#pragma unroll
  for (int h = 0; h < HALVES; h++) {
    float score = y[h / 2][h % 2 * 2 + r];
    int j = h * 8 + g;
    better |= __ballot_sync(ALL_LANES, j < OUT && ep_argmax_precedes(score, j, asked, label));
  }
  return better >> lane % 4 & 0x11111111u;
}

/* The softmax of a lane's two rows: the greatest score, the scores' powers and their sum. */
struct softmax {
  float greatest[2], power[HALVES][2], sum[2];
};

static __device__ __forceinline__ softmax softmax_of(const float (&y)[tiles_down(LAST)][4]) {
  const float least = -__int_as_float(0x7f800000); /* minus infinity */
  int g = threadIdx.x % WARP / 4;
  softmax of;
#pragma unroll
  for (int r = 0; r < 2; r++) {
    of.greatest[r] = least;
#pragma unroll
    for (int h = 0; h < HALVES; h++)
      of.greatest[r] = fmaxf(of.greatest[r], h * 8 + g < OUT ? y[h / 2][h % 2 * 2 + r] : least);
  }
#pragma unroll
  for (int distance = WARP / 2; distance >= 4; distance /= 2)
#pragma unroll
    for (int r = 0; r < 2; r++)
      of.greatest[r] = fmaxf(of.greatest[r], __shfl_xor_sync(ALL_LANES, of.greatest[r], distance));
#pragma unroll
  for (int r = 0; r < 2; r++) {
    of.sum[r] = 0;
#pragma unroll
    for (int h = 0; h < HALVES; h++) {
      float power = expf(y[h / 2][h % 2 * 2 + r] - of.greatest[r]);
      of.power[h][r] = h * 8 + g < OUT ? power : 0;
      of.sum[r] += of.power[h][r];
    }
  }
#pragma unroll
  for (int distance = WARP / 2; distance >= 4; distance /= 2)
#pragma unroll
    for (int r = 0; r < 2; r++) of.sum[r] += __shfl_xor_sync(ALL_LANES, of.sum[r], distance);
  return of;
}

/* The gradient by a lane's scores of classes, to grad. */
static __device__ __forceinline__ void classes_take(const row_set &rows, const int (&label)[2],
                                                    const float (&y)[tiles_down(LAST)][4],
                                                    float (&grad)[tiles_down(LAST)][4],
                                                    row_metrics &out) {
  int lane = threadIdx.x % WARP, g = lane / 4;
  softmax of;
  if constexpr (ep_loss_normalizes(LOSS)) of = softmax_of(y);
#pragma unroll
  for (int r = 0; r < 2; r++) {
    float asked, value = 0;
    bool counts = 2 * (lane % 4) + r < rows.valid, misses = classes_miss(y, r, label[r], asked);
    if constexpr (ep_loss_normalizes(LOSS)) {
      float log_sum = logf(of.sum[r]) + of.greatest[r], share = __fdividef(1, of.sum[r]);
      ep_row_scales scales = ep_class_scales(LOSS, asked - log_sum, rows.s.loss_parameter);
#pragma unroll
      for (int h = 0; h < HALVES; h++) {
        int j = h * 8 + g;
        float t = j == label[r];
        if (SMOOTHS) t = ep_class_target(rows.s.label_smoothing, OUT, label[r], 1.0f, j, 1.0f);
        float of_class = t * (log_sum - y[h / 2][h % 2 * 2 + r]);
        value += j < OUT && t != 0 ? scales.value * of_class : 0;
        grad[h / 2][h % 2 * 2 + r] = rows.scale * scales.grad * (of.power[h][r] * share - t);
      }
    } else {
      value = g == 0 ? -asked : 0;
#pragma unroll
      for (int h = 0; h < HALVES; h++)
        grad[h / 2][h % 2 * 2 + r] = h * 8 + g == label[r] ? -rows.scale : 0;
    }
    out.loss += counts ? value : 0;
    out.errors += counts && g == 0 && misses ? 1 : 0;
  }
}

/* wanted: of this warp's rows, [8, OUT]. */
static __device__ __forceinline__ void values_take(const row_set &rows, const float *wanted,
                                                   const float (&y)[tiles_down(LAST)][4],
                                                   float (&grad)[tiles_down(LAST)][4],
                                                   row_metrics &out) {
  int lane = threadIdx.x % WARP, g = lane / 4;
#pragma unroll
  for (int i = 0; i < tiles_down(LAST); i++)
#pragma unroll
    for (int q = 0; q < 4; q++) {
      int column = i * 16 + q / 2 * 8 + g, row = 2 * (lane % 4) + q % 2;
      float target = column < OUT ? wanted[row * OUT + column] : 0;
      grad[i][q] = rows.scale * ep_loss_derivative(LOSS, y[i][q], target, rows.s.loss_parameter);
      if (column >= OUT || row >= rows.valid) continue;
      out.loss += ep_loss_value(LOSS, y[i][q], target, rows.s.loss_parameter);
      out.errors += (float)ep_loss_misses(LOSS, y[i][q], target);
    }
}

/* z, what the last layer gives before its activation, becomes the gradient by it. */
static __device__ __forceinline__ void
loss_take(const row_set &rows, float (&z)[tiles_down(LAST)][4], row_metrics &out) {
  const ep_op about = activation_of<LAST>();
  int lane = threadIdx.x % WARP, g = lane / 4;
  float y[tiles_down(LAST)][4], grad[tiles_down(LAST)][4] = {};
#pragma unroll
  for (int i = 0; i < tiles_down(LAST); i++)
#pragma unroll
    for (int q = 0; q < 4; q++) y[i][q] = ep_activation(&about, z[i][q]);
  const float *wanted = memory + TARGETS_AT + (rows.parity * ROWS + rows.first) * TARGETS;
  if constexpr (TAKES_CLASSES) {
    int2 label = *(const int2 *)(wanted + 2 * (lane % 4));
    const int labels[2] = {label.x, label.y};
    classes_take(rows, labels, y, grad, out);
  } else {
    values_take(rows, wanted, y, grad, out);
  }
#pragma unroll
  for (int i = 0; i < tiles_down(LAST); i++)
#pragma unroll
    for (int q = 0; q < 4; q++) {
      bool there = i * 16 + q / 2 * 8 + g < OUT && 2 * (lane % 4) + q % 2 < rows.valid;
      float slope = ep_activation_derivative(&about, z[i][q], y[i][q]);
      z[i][q] = there ? grad[i][q] * slope : 0;
    }
}

#endif
