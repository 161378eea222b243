/* layers_pool.h: max_pool2d. Forward leaves where each maximum was. */
#ifndef EP_KERNELS_CPU_EXECUTORS_BLOCKED_LAYERS_POOL_H
#define EP_KERNELS_CPU_EXECUTORS_BLOCKED_LAYERS_POOL_H

#include <math.h>
#include <string.h>

#include "kernels/cpu/executors/blocked/blocked.h"
#include "kernels/cpu/runtime/lanes.h"
#include "kernels/formulas/pools.h"

/* Lane j of the result: element 2 j, or 2 j + 1, of the 2 * EP_LANES floats in `first` and
 * `second`.
 */
#define POOL_EVEN(v, j) 2 * (j)
#define POOL_ODD(v, j) 2 * (j) + 1

/* `value` and its place where it is the greater one, as ep_max_takes has it. */
LANES_INLINE void max_pool_take(lanes value, lanes_int at, lanes *found, lanes_int *place) {
  const lanes_int takes = (lanes_int)(value > *found) | (lanes_int)(value != value);
  *found = (lanes)((takes & (lanes_int)value) | (~takes & (lanes_int)*found));
  *place = (takes & at) | (~takes & *place);
}

/* The most usual window: 2 by 2, side by side. One plane. */
static void max_pool_twos(const ep_op *op, const float *x, float *y, int32_t *place) {
  const lanes_int even = {LANES_EACH(POOL_EVEN, 0)}, odd = {LANES_EACH(POOL_ODD, 0)};
  const int64_t width = op->in.width, out = op->out.width;
  for (int64_t h = 0; h < op->out.height; h++, y += out, place += out)
    for (int64_t w = 0; w < out; w += EP_LANES) {
      const int64_t count = out - w < EP_LANES ? out - w : EP_LANES, first = 2 * (h * width + w);
      const int64_t low = 2 * count < EP_LANES ? 2 * count : EP_LANES, high = 2 * count - low;
      const float *upper = x + first, *lower = upper + width;
      lanes a = lanes_load_some(upper, low), b = lanes_load_some(upper + low, high);
      lanes c = lanes_load_some(lower, low), d = lanes_load_some(lower + low, high);
      lanes found = __builtin_shuffle(a, b, even);
      lanes_int at = even + (int32_t)first;
      max_pool_take(__builtin_shuffle(a, b, odd), odd + (int32_t)first, &found, &at);
      max_pool_take(__builtin_shuffle(c, d, even), even + (int32_t)(first + width), &found, &at);
      max_pool_take(__builtin_shuffle(c, d, odd), odd + (int32_t)(first + width), &found, &at);
      lanes_store_some(y + w, found, count);
      lanes_store_some((float *)(place + w), (lanes)at, count);
    }
}

/* Where the first maximum of the window at (h, w) is; -1 = no tap lies on the image. */
static int32_t max_pool_find(const ep_op *op, const float *x, int64_t h, int64_t w) {
  int64_t found = -1;
  for (int64_t i = 0; i < op->kernel[0]; i++) {
    int64_t line = h * op->stride[0] - op->padding[0] + i * op->dilation[0];
    if (line < 0 || line >= op->in.height) continue;
    for (int64_t j = 0; j < op->kernel[1]; j++) {
      int64_t column = w * op->stride[1] - op->padding[1] + j * op->dilation[1];
      if (column < 0 || column >= op->in.width) continue;
      int64_t at = line * op->in.width + column;
      if (found < 0 || ep_max_takes(x[at], x[found])) found = at;
    }
  }
  return (int32_t)found;
}

static void max_pool_any(const ep_op *op, const float *x, float *y, int32_t *place) {
  for (int64_t h = 0; h < op->out.height; h++)
    for (int64_t w = 0; w < op->out.width; w++, y++, place++) {
      *place = max_pool_find(op, x, h, w);
      *y = *place < 0 ? -INFINITY : x[*place];
    }
}

static bool max_pool_is_twos(const ep_op *op) {
  for (int axis = 0; axis < 2; axis++)
    if (op->kernel[axis] != 2 || op->stride[axis] != 2 || op->padding[axis] != 0 ||
        op->dilation[axis] != 1)
      return false;
  return true;
}

static void max_pool_forward(const ep_blocked_call *call) {
  const ep_op *op = call->op;
  const int64_t pixels = op->in.height * op->in.width, windows = op->out.height * op->out.width;
  const bool twos = max_pool_is_twos(op);
  int32_t *place = call->side;
  for (int64_t i = 0; i < call->rows * op->in.channels; i++) {
    const float *x = call->x + i * pixels;
    float *y = call->y + i * windows;
    if (twos)
      max_pool_twos(op, x, y, place + i * windows);
    else
      max_pool_any(op, x, y, place + i * windows);
  }
}

static void max_pool_backward(const ep_blocked_call *call) {
  if (!call->grad_x) return;
  const ep_op *op = call->op;
  const int64_t pixels = op->in.height * op->in.width, windows = op->out.height * op->out.width;
  const int32_t *place = call->side;
  const float *grad_y = call->grad_y;
  float *grad_x = call->grad_x;
  memset(grad_x, 0, (size_t)(call->rows * op->in_features) * sizeof *grad_x);
  for (int64_t i = 0; i < call->rows * op->in.channels; i++, grad_x += pixels)
    for (int64_t w = 0; w < windows; w++, place++, grad_y++)
      if (*place >= 0) grad_x[*place] += *grad_y;
}

#endif
