/* pools.h: the windows of the pooling layers. Plain C that also compiles as CUDA. */
#ifndef EP_KERNELS_FORMULAS_POOLS_H
#define EP_KERNELS_FORMULAS_POOLS_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/formulas/real.h"
#include "kernels/random.h" /* EP_DEVICE_INLINE */

/* Whether `value` takes the maximum's place: the first of equals stays, a NaN goes before all. */
EP_DEVICE_INLINE bool ep_max_takes(ep_real value, ep_real maximum) {
  return value > maximum || value != value;
}

/* adaptive_avg_pool2d's window i of n over `size`: first … end - 1. */
EP_DEVICE_INLINE int64_t ep_adaptive_first(int64_t i, int64_t n, int64_t size) {
  return i * size / n;
}
EP_DEVICE_INLINE int64_t ep_adaptive_end(int64_t i, int64_t n, int64_t size) {
  return ((i + 1) * size + n - 1) / n;
}

/* The side of what a window of conv2d or a pool leaves of `size`; below 1 = it does not fit. */
EP_DEVICE_INLINE int64_t ep_window_count(int64_t size, int kernel, int stride, int padding,
                                         int dilation) {
  int64_t room = size + 2 * (int64_t)padding - (int64_t)dilation * (kernel - 1) - 1;
  return room < 0 ? 0 : room / stride + 1;
}

#endif
