/* layers_product.h: linear and conv2d: what is done by matrix products. */
#ifndef EP_KERNELS_CPU_EXECUTORS_BLOCKED_LAYERS_PRODUCT_H
#define EP_KERNELS_CPU_EXECUTORS_BLOCKED_LAYERS_PRODUCT_H

#include <string.h>

#include "kernels/cpu/executors/blocked/blocked.h"
#include "kernels/cpu/executors/blocked/layers_direct.h"
#include "kernels/cpu/executors/blocked/layers_planes.h"
#include "kernels/cpu/executors/blocked/product.h"

/* y = x W^T + b */
static void linear_forward(const ep_blocked_call *call) {
  const ep_op *op = call->op;
  const int64_t out = op->out_features;
  if (op->bias >= 0)
    for (int64_t row = 0; row < call->rows; row++)
      memcpy(call->y + row * out, call->parameters + op->bias, (size_t)out * sizeof(float));
  ep_product_run(&(ep_product){.rows = call->rows,
                               .columns = out,
                               .depth = op->in_features,
                               .a = call->x,
                               .a_stride = op->in_features,
                               .b = call->parameters + op->weight,
                               .b_stride = op->in_features,
                               .b_transposed = true,
                               .c = call->y,
                               .c_stride = out,
                               .add = op->bias >= 0});
}

/* grad_W += grad_y^T x, grad_b += the columns of grad_y, grad_x = grad_y W */
static void linear_backward(const ep_blocked_call *call) {
  const ep_op *op = call->op;
  const int64_t in = op->in_features, out = op->out_features;
  if (call->grad_weight)
    ep_product_run(&(ep_product){.rows = out,
                                 .columns = in,
                                 .depth = call->rows,
                                 .a = call->grad_y,
                                 .a_stride = out,
                                 .a_transposed = true,
                                 .b = call->x,
                                 .b_stride = in,
                                 .c = call->grad_weight,
                                 .c_stride = in,
                                 .add = true});
  for (int64_t row = 0; call->grad_bias && row < call->rows; row++)
    for (int64_t o = 0; o < out; o++) call->grad_bias[o] += call->grad_y[row * out + o];
  if (call->grad_x)
    ep_product_run(&(ep_product){.rows = call->rows,
                                 .columns = in,
                                 .depth = out,
                                 .a = call->grad_y,
                                 .a_stride = out,
                                 .b = call->parameters + op->weight,
                                 .b_stride = in,
                                 .c = call->grad_x,
                                 .c_stride = in});
}

/* The windows first … end - 1 of `count` whose tap at `offset` (from a window's first place, the
 * padding taken off) lies in 0 … size - 1. */
static void conv_inside(int64_t offset, int64_t stride, int64_t size, int64_t count, int64_t *first,
                        int64_t *end) {
  int64_t from = offset < 0 ? (-offset + stride - 1) / stride : 0;
  int64_t to = size - offset > 0 ? (size - offset + stride - 1) / stride : 0;
  *first = from < count ? from : count;
  *end = to < *first ? *first : to < count ? to : count;
}

/* What conv_columns and conv_scatter do for one tap: a plane of the columns, [out height, out
 * width], from an image's plane, or added to it. */
static void conv_tap_read(const ep_op *op, const float *plane, int64_t down, int64_t right,
                          float *to) {
  const int64_t width = op->out.width, stride = op->stride[1];
  int64_t top, bottom, left, end;
  conv_inside(down, op->stride[0], op->in.height, op->out.height, &top, &bottom);
  conv_inside(right, stride, op->in.width, width, &left, &end);
  memset(to, 0, (size_t)(top * width) * sizeof *to);
  for (int64_t h = top; h < bottom; h++) {
    const float *from = plane + (h * op->stride[0] + down) * op->in.width + right;
    float *restrict line = to + h * width;
    for (int64_t w = 0; w < left; w++) line[w] = 0;
    if (stride == 1)
      for (int64_t w = left; w < end; w++) line[w] = from[w];
    else
      for (int64_t w = left; w < end; w++) line[w] = from[w * stride];
    for (int64_t w = end; w < width; w++) line[w] = 0;
  }
  memset(to + bottom * width, 0, (size_t)((op->out.height - bottom) * width) * sizeof *to);
}

static void conv_tap_add(const ep_op *op, float *plane, int64_t down, int64_t right,
                         const float *from) {
  const int64_t width = op->out.width, stride = op->stride[1];
  int64_t top, bottom, left, end;
  conv_inside(down, op->stride[0], op->in.height, op->out.height, &top, &bottom);
  conv_inside(right, stride, op->in.width, width, &left, &end);
  for (int64_t h = top; h < bottom; h++) {
    float *restrict to = plane + (h * op->stride[0] + down) * op->in.width + right;
    const float *line = from + h * width;
    if (stride == 1)
      for (int64_t w = left; w < end; w++) to[w] += line[w];
    else
      for (int64_t w = left; w < end; w++) to[w * stride] += line[w];
  }
}

/* Columns: [channels of a group * kernel, windows]; `image`: the group's channels. */
static void conv_columns(const ep_op *op, const float *image, float *columns) {
  const int64_t pixels = op->in.height * op->in.width, windows = op->out.height * op->out.width;
  for (int64_t c = 0; c < op->in.channels / op->groups; c++, image += pixels)
    for (int64_t i = 0; i < op->kernel[0]; i++)
      for (int64_t j = 0; j < op->kernel[1]; j++, columns += windows)
        conv_tap_read(op, image, i * op->dilation[0] - op->padding[0],
                      j * op->dilation[1] - op->padding[1], columns);
}

/* The way back: image += what its taps gave. */
static void conv_scatter(const ep_op *op, const float *columns, float *image) {
  const int64_t pixels = op->in.height * op->in.width, windows = op->out.height * op->out.width;
  for (int64_t c = 0; c < op->in.channels / op->groups; c++, image += pixels)
    for (int64_t i = 0; i < op->kernel[0]; i++)
      for (int64_t j = 0; j < op->kernel[1]; j++, columns += windows)
        conv_tap_add(op, image, i * op->dilation[0] - op->padding[0],
                     j * op->dilation[1] - op->padding[1], columns);
}

/* A kernel of one pixel, one by one: the image is its own columns. */
static bool conv_is_plain(const ep_op *op) {
  return op->kernel[0] == 1 && op->kernel[1] == 1 && op->stride[0] == 1 && op->stride[1] == 1 &&
         op->padding[0] == 0 && op->padding[1] == 0;
}

/* One group of channels. */
typedef struct {
  int64_t in, out;         /* channels */
  int64_t taps;            /* in * kernel: the columns' rows */
  int64_t windows, pixels; /* of a plane that comes out, that goes in */
} conv_group;

static conv_group conv_group_of(const ep_op *op) {
  int64_t in = op->in.channels / op->groups;
  return (conv_group){.in = in,
                      .out = op->out.channels / op->groups,
                      .taps = in * op->kernel[0] * op->kernel[1],
                      .windows = op->out.height * op->out.width,
                      .pixels = op->in.height * op->in.width};
}

/* An image at a time: y = W columns + b. */
static void conv_forward(const ep_blocked_call *call) {
  const ep_op *op = call->op;
  const conv_group group = conv_group_of(op);
  const bool plain = conv_is_plain(op);
  if (ep_direct_takes(op)) {
    direct_forward(call);
    return;
  }
  if (ep_planes_takes(op)) {
    planes_forward(call);
    return;
  }
  for (int64_t i = 0; i < call->rows * op->groups; i++) {
    const int64_t g = i % op->groups;
    const float *image = call->x + i * group.in * group.pixels;
    float *y = call->y + i * group.out * group.windows;
    if (!plain) conv_columns(op, image, call->columns);
    for (int64_t o = 0; op->bias >= 0 && o < group.out; o++) {
      const float bias = call->parameters[op->bias + g * group.out + o];
      for (int64_t w = 0; w < group.windows; w++) y[o * group.windows + w] = bias;
    }
    ep_product_run(&(ep_product){.rows = group.out,
                                 .columns = group.windows,
                                 .depth = group.taps,
                                 .a = call->parameters + op->weight + g * group.out * group.taps,
                                 .a_stride = group.taps,
                                 .b = plain ? image : call->columns,
                                 .b_stride = group.windows,
                                 .c = y,
                                 .c_stride = group.windows,
                                 .add = op->bias >= 0});
  }
}

static void conv_bias_backward(const conv_group *group, const float *grad_y, float *grad_bias) {
  enum { PARTS = 16 };
  for (int64_t o = 0; o < group->out; o++, grad_y += group->windows) {
    float parts[PARTS] = {0}, sum = 0;
    int64_t w = 0;
    for (; w + PARTS <= group->windows; w += PARTS)
      for (int i = 0; i < PARTS; i++) parts[i] += grad_y[w + i];
    for (int i = 0; i < PARTS; i++) sum += parts[i];
    for (; w < group->windows; w++) sum += grad_y[w];
    grad_bias[o] += sum;
  }
}

/* grad_columns = W^T grad_y, and from there to the image. */
static void conv_image_backward(const ep_blocked_call *call, const conv_group *group, int64_t i,
                                const float *grad_y) {
  const ep_op *op = call->op;
  const bool plain = conv_is_plain(op);
  float *grad_x = call->grad_x + i * group->in * group->pixels;
  ep_product_run(
      &(ep_product){.rows = group->taps,
                    .columns = group->windows,
                    .depth = group->out,
                    .a = call->parameters + op->weight + i % op->groups * group->out * group->taps,
                    .a_stride = group->taps,
                    .a_transposed = true,
                    .b = grad_y,
                    .b_stride = group->windows,
                    .c = plain ? grad_x : call->columns,
                    .c_stride = group->windows});
  if (plain) return;
  memset(grad_x, 0, (size_t)(group->in * group->pixels) * sizeof *grad_x);
  conv_scatter(op, call->columns, grad_x);
}

/* grad_W += grad_y columns^T */
static void conv_backward(const ep_blocked_call *call) {
  const ep_op *op = call->op;
  const conv_group group = conv_group_of(op);
  const bool plain = conv_is_plain(op);
  if (ep_direct_takes(op)) {
    for (int64_t i = 0; call->grad_bias && i < call->rows; i++)
      conv_bias_backward(&group, call->grad_y + i * group.out * group.windows, call->grad_bias);
    direct_backward(call);
    return;
  }
  if (ep_planes_takes(op)) {
    for (int64_t i = 0; call->grad_bias && i < call->rows * op->groups; i++)
      conv_bias_backward(&group, call->grad_y + i * group.out * group.windows,
                         call->grad_bias + i % op->groups * group.out);
    planes_backward(call);
    return;
  }
  for (int64_t i = 0; i < call->rows * op->groups; i++) {
    const int64_t g = i % op->groups;
    const float *image = call->x + i * group.in * group.pixels;
    const float *grad_y = call->grad_y + i * group.out * group.windows;
    if (call->grad_weight) {
      if (!plain) conv_columns(op, image, call->columns);
      ep_product_run(&(ep_product){.rows = group.out,
                                   .columns = group.taps,
                                   .depth = group.windows,
                                   .a = grad_y,
                                   .a_stride = group.windows,
                                   .b = plain ? image : call->columns,
                                   .b_stride = group.windows,
                                   .b_transposed = true,
                                   .c = call->grad_weight + g * group.out * group.taps,
                                   .c_stride = group.taps,
                                   .add = true});
    }
    if (call->grad_bias) conv_bias_backward(&group, grad_y, call->grad_bias + g * group.out);
    if (call->grad_x) conv_image_backward(call, &group, i, grad_y);
  }
}

#endif
