/* layers_pool.h: the pools. max_pool2d leaves on its way forward where each maximum was. */
#ifndef EP_KERNELS_CPU_EXECUTORS_BLOCKED_LAYERS_POOL_H
#define EP_KERNELS_CPU_EXECUTORS_BLOCKED_LAYERS_POOL_H

#include <math.h>
#include <string.h>

#include "kernels/cpu/executors/blocked/blocked.h"
#include "kernels/cpu/executors/blocked/layers_norm.h"
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
      lanes found = lanes_shuffle(a, b, even);
      lanes_int at = even + (int32_t)first;
      max_pool_take(lanes_shuffle(a, b, odd), odd + (int32_t)first, &found, &at);
      max_pool_take(lanes_shuffle(c, d, even), even + (int32_t)(first + width), &found, &at);
      max_pool_take(lanes_shuffle(c, d, odd), odd + (int32_t)(first + width), &found, &at);
      lanes_store_some(y + w, found, count);
      lanes_store_some((float *)(place + w), (lanes)at, count);
    }
}

/* The windows first … end - 1 of `count` whose tap at `offset` (from a window's first place, the
 * padding taken off) lies in 0 … size - 1. */
static void pool_inside(int64_t offset, int64_t stride, int64_t size, int64_t count, int64_t *first,
                        int64_t *end) {
  const int64_t from = offset < 0 ? (-offset + stride - 1) / stride : 0;
  const int64_t to = size - offset > 0 ? (size - offset + stride - 1) / stride : 0;
  *first = from < count ? from : count;
  *end = to < *first ? *first : to < count ? to : count;
}

/* EP_LANES numbers, `stride` apart, from `from` on. What it loads goes one number further: whoever
 * calls it has another window behind these. */
LANES_INLINE lanes pool_load(const float *from, const int64_t stride) {
  const lanes_int even = {LANES_EACH(POOL_EVEN, 0)};
  if (stride == 1) return lanes_load_loose(from);
  return lanes_shuffle(lanes_load_loose(from), lanes_load_loose(from + EP_LANES), even);
}

/* One tap of a line of windows: `from` is where the tap of window 0 lies, `at` its number; stride:
 * a constant at each call. */
LANES_INLINE void max_pool_line(const float *from, const int64_t stride, int32_t at, int64_t first,
                                int64_t end, float *y, int32_t *place) {
  const int64_t vectors_end = stride <= 2 ? end - 1 : first; /* see pool_load */
  int64_t w = first;
  while (w < vectors_end && vectors_end - first >= EP_LANES) {
    /* The last vector begins earlier: a tap may be taken twice. */
    if (w + EP_LANES > vectors_end) w = vectors_end - EP_LANES;
    const lanes value = pool_load(from + w * stride, stride), found = lanes_load_loose(y + w);
    const lanes_int number = at + (int32_t)stride * ((int32_t)w + lanes_iota);
    const lanes_int before = (lanes_int)lanes_load_loose((const float *)(place + w));
    const lanes_int takes =
        (lanes_int)(before < 0) | (lanes_int)(value > found) | (lanes_int)(value != value);
    lanes_store_loose(y + w, (lanes)((takes & (lanes_int)value) | (~takes & (lanes_int)found)));
    lanes_store_loose((float *)(place + w), (lanes)((takes & number) | (~takes & before)));
    w += EP_LANES;
  }
  for (; w < end; w++) {
    const float value = from[w * stride], found = y[w];
    const bool takes = place[w] < 0 || value > found || value != value;
    y[w] = takes ? value : found;
    place[w] = takes ? at + (int32_t)(w * stride) : place[w];
  }
}

/* Tap by tap, so that a line's windows are gone through together. A window without a tap on the
 * image gives -infinity. */
static void max_pool_any(const ep_op *op, const float *x, float *y, int32_t *place) {
  const int64_t out = op->out.width, width = op->in.width;
  for (int64_t h = 0; h < op->out.height; h++, y += out, place += out) {
    for (int64_t w = 0; w < out; w++) {
      y[w] = -INFINITY;
      place[w] = -1;
    }
    for (int64_t i = 0; i < op->kernel[0]; i++) {
      const int64_t line = h * op->stride[0] - op->padding[0] + i * op->dilation[0];
      if (line < 0 || line >= op->in.height) continue;
      for (int64_t j = 0; j < op->kernel[1]; j++) {
        const int64_t right = j * op->dilation[1] - op->padding[1];
        const int64_t at = line * width + right;
        int64_t first, end;
        pool_inside(right, op->stride[1], width, out, &first, &end);
        if (op->stride[1] == 1)
          max_pool_line(x + at, 1, (int32_t)at, first, end, y, place);
        else if (op->stride[1] == 2)
          max_pool_line(x + at, 2, (int32_t)at, first, end, y, place);
        else
          max_pool_line(x + at, op->stride[1], (int32_t)at, first, end, y, place);
      }
    }
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

/* avg_pool2d, tap by tap as above; padding is counted. `back`: from y to x. */
LANES_INLINE void avg_pool_plane(const ep_op *op, const float *restrict from, float *restrict to,
                                 const int64_t stride, const bool back) {
  const float share = 1.0f / (float)(op->kernel[0] * op->kernel[1]);
  const int64_t out = op->out.width, width = op->in.width;
  for (int64_t h = 0; h < op->out.height; h++)
    for (int64_t i = 0; i < op->kernel[0]; i++) {
      const int64_t line = h * op->stride[0] - op->padding[0] + i;
      if (line < 0 || line >= op->in.height) continue;
      for (int64_t j = 0; j < op->kernel[1]; j++) {
        const int64_t right = j - op->padding[1], at = line * width + right;
        int64_t first, end;
        pool_inside(right, stride, width, out, &first, &end);
        if (back)
          for (int64_t w = first; w < end; w++) to[at + w * stride] += from[h * out + w] * share;
        else
          for (int64_t w = first; w < end; w++) to[h * out + w] += from[at + w * stride] * share;
      }
    }
}

/* adaptive_avg_pool2d to one pixel. */
static void mean_pool_forward(const float *x, int64_t planes, int64_t pixels, float *y) {
  for (int64_t i = 0; i < planes; i++, x += pixels)
    y[i] = (float)(norm_sum(x, pixels) / (double)pixels);
}

static void mean_pool_backward(const float *grad_y, int64_t planes, int64_t pixels, float *grad_x) {
  for (int64_t i = 0; i < planes; i++, grad_x += pixels) {
    const float share = grad_y[i] / (float)pixels;
    for (int64_t j = 0; j < pixels; j++) grad_x[j] = share;
  }
}

static void avg_pool_planes(const ep_op *op, int64_t planes, const float *from, float *to,
                            bool back) {
  const int64_t pixels = op->in.height * op->in.width, windows = op->out.height * op->out.width;
  const int64_t reads = back ? windows : pixels, writes = back ? pixels : windows;
  memset(to, 0, (size_t)(planes * writes) * sizeof *to);
  for (int64_t i = 0; i < planes; i++, from += reads, to += writes) {
    if (op->stride[1] == 1)
      avg_pool_plane(op, from, to, 1, back);
    else if (op->stride[1] == 2 && back)
      avg_pool_plane(op, from, to, 2, true);
    else if (op->stride[1] == 2)
      avg_pool_plane(op, from, to, 2, false);
    else
      avg_pool_plane(op, from, to, op->stride[1], back);
  }
}

static void avg_pool_forward(const ep_blocked_call *call) {
  avg_pool_planes(call->op, call->rows * call->op->in.channels, call->x, call->y, false);
}

static void avg_pool_backward(const ep_blocked_call *call) {
  if (call->grad_x)
    avg_pool_planes(call->op, call->rows * call->op->in.channels, call->grad_y, call->grad_x, true);
}

/* adaptive_avg_pool2d: to one pixel, or window by window. */
static void adaptive_pool(const ep_blocked_call *call, bool back) {
  const ep_op *op = call->op;
  const int64_t pixels = op->in.height * op->in.width, windows = op->out.height * op->out.width;
  const int64_t planes = call->rows * op->in.channels, width = op->in.width;
  if (windows == 1 && back) {
    mean_pool_backward(call->grad_y, planes, pixels, call->grad_x);
    return;
  }
  if (windows == 1) {
    mean_pool_forward(call->x, planes, pixels, call->y);
    return;
  }
  if (back) memset(call->grad_x, 0, (size_t)(planes * pixels) * sizeof *call->grad_x);
  for (int64_t plane = 0; plane < planes; plane++)
    for (int64_t at = 0; at < windows; at++) {
      const int64_t h = at / op->out.width, w = at % op->out.width;
      const int64_t top = ep_adaptive_first(h, op->out.height, op->in.height);
      const int64_t bottom = ep_adaptive_end(h, op->out.height, op->in.height);
      const int64_t left = ep_adaptive_first(w, op->out.width, width);
      const int64_t right = ep_adaptive_end(w, op->out.width, width);
      const double count = (double)((bottom - top) * (right - left));
      double sum = 0;
      for (int64_t line = top; line < bottom; line++)
        for (int64_t column = left; column < right; column++) {
          const int64_t pixel = plane * pixels + line * width + column;
          if (back)
            call->grad_x[pixel] += (float)(call->grad_y[plane * windows + at] / count);
          else
            sum += call->x[pixel];
        }
      if (!back) call->y[plane * windows + at] = (float)(sum / count);
    }
}

static void adaptive_pool_forward(const ep_blocked_call *call) {
  adaptive_pool(call, false);
}

static void adaptive_pool_backward(const ep_blocked_call *call) {
  if (call->grad_x) adaptive_pool(call, true);
}

#endif
