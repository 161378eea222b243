/* layers_pool.h: max_pool2d. Forward leaves where each maximum was. */
#ifndef EP_KERNELS_CPU_BLOCKED_LAYERS_POOL_H
#define EP_KERNELS_CPU_BLOCKED_LAYERS_POOL_H

#include <math.h>
#include <string.h>

#include "kernels/cpu/blocked/blocked.h"
#include "kernels/formulas/pools.h"

/* The most usual window: 2 by 2, side by side. One plane. */
static void max_pool_twos(const ep_op *op, const float *x, float *restrict y,
                          int32_t *restrict place) {
  const int64_t width = op->in.width, out = op->out.width;
  for (int64_t h = 0; h < op->out.height; h++, y += out, place += out) {
    const float *restrict upper = x + 2 * h * width, *restrict lower = upper + width;
    const int32_t first = (int32_t)(2 * h * width);
    for (int64_t w = 0; w < out; w++) {
      float found = upper[2 * w];
      int32_t at = 0;
      const float right = upper[2 * w + 1], below = lower[2 * w], last = lower[2 * w + 1];
      at = ep_max_takes(right, found) ? 1 : at;
      found = ep_max_takes(right, found) ? right : found;
      at = ep_max_takes(below, found) ? (int32_t)width : at;
      found = ep_max_takes(below, found) ? below : found;
      at = ep_max_takes(last, found) ? (int32_t)width + 1 : at;
      found = ep_max_takes(last, found) ? last : found;
      y[w] = found;
      place[w] = first + (int32_t)(2 * w) + at;
    }
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
