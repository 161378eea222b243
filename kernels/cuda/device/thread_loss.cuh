/* thread_loss.cuh: the loss of a row whose outputs a thread has in registers. For kernels that are
 * compiled for one program: constants.cuh. */
#ifndef EP_KERNELS_CUDA_DEVICE_THREAD_LOSS_CUH
#define EP_KERNELS_CUDA_DEVICE_THREAD_LOSS_CUH

#include "kernels/cuda/device/constants.cuh"

struct thread_loss {
  float value, misses;
};

/* Of a row of scores of classes. grad: the gradient by them, scaled, written. */
template <int COLUMNS>
static __device__ __forceinline__ thread_loss classes_loss(float parameter, float smoothing,
                                                           const float (&output)[COLUMNS],
                                                           int label, float scale,
                                                           float (&grad)[COLUMNS]) {
  float greatest = output[0], sum = 0, value = 0;
  int index = 0;
#pragma unroll
  for (int j = 1; j < COLUMNS; j++)
    if (ep_argmax_precedes(output[j], j, greatest, index)) {
      greatest = output[j];
      index = j;
    }
  if constexpr (ep_loss_normalizes(LOSS)) {
    float power[COLUMNS];
#pragma unroll
    for (int j = 0; j < COLUMNS; j++) sum += power[j] = expf(output[j] - greatest);
    float log_sum = logf(sum), of_label = output[0];
#pragma unroll
    for (int j = 1; j < COLUMNS; j++)
      if (j == label) of_label = output[j];
    ep_row_scales scales = ep_class_scales(LOSS, of_label - greatest - log_sum, parameter);
#pragma unroll
    for (int j = 0; j < COLUMNS; j++) {
      float t = ep_class_target(smoothing, COLUMNS, label, 1.0f, j, 1.0f);
      if (t != 0) value += scales.value * t * (log_sum + greatest - output[j]);
      grad[j] = scale * scales.grad * (power[j] / sum - t);
    }
  } else {
#pragma unroll
    for (int j = 0; j < COLUMNS; j++) {
      if (j == label) value = -output[j];
      grad[j] = j == label ? -scale : 0.0f;
    }
  }
  return {value, (float)(index != label)};
}

/* Of a row. parameter, smoothing: the loss's. target: [TARGETS], or the class's bits. grad: the
 * gradient by the outputs, scaled, written. */
template <int COLUMNS>
static __device__ __forceinline__ thread_loss loss_of(float parameter, float smoothing,
                                                      const float (&output)[COLUMNS],
                                                      const float *target, float scale,
                                                      float (&grad)[COLUMNS]) {
  if constexpr (TAKES_CLASSES) {
    return classes_loss(parameter, smoothing, output, __float_as_int(target[0]), scale, grad);
  } else {
    thread_loss loss = {0, 0};
#pragma unroll
    for (int j = 0; j < COLUMNS; j++) {
      loss.value += ep_loss_value(LOSS, output[j], target[j], parameter);
      loss.misses += ep_loss_misses(LOSS, output[j], target[j]);
      grad[j] = scale * ep_loss_derivative(LOSS, output[j], target[j], parameter);
    }
    return loss;
  }
}

#endif
