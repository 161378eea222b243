/* conv2d: y[o][h][w] = b[o] + the sum over the window at (h, w) of x times W[o], where output
 * channel o sees the input channels of its own group. x outside the image is 0. */
#include "kernels/cpu/layers/layers.h"

/* Input channels of a group: a filter is [group_channels, kernel height, kernel width]. */
static int64_t group_channels(const ep_op *op) {
  return op->in.channels / op->groups;
}

static int64_t filter_count(const ep_op *op) {
  return group_channels(op) * op->kernel[0] * op->kernel[1];
}

/* The first of the input channels that output channel `o` sees. */
static int64_t first_channel(const ep_op *op, int64_t o) {
  return o / (op->out.channels / op->groups) * group_channels(op);
}

/* Where tap `i` of the window at `at` looks along an axis (0: height, 1: width) of `size`; -1 =
 * outside. */
static int64_t tap(const ep_op *op, int axis, int64_t size, int64_t at, int64_t i) {
  int64_t place = at * op->stride[axis] - op->padding[axis] + i * op->dilation[axis];
  return place >= 0 && place < size ? place : -1;
}

/* Which of `count` windows has its tap `i` on `place`; -1 = none. */
static int64_t window(const ep_op *op, int axis, int64_t count, int64_t place, int64_t i) {
  int64_t from = place + op->padding[axis] - i * op->dilation[axis];
  if (from < 0 || from % op->stride[axis] != 0) return -1;
  return from / op->stride[axis] < count ? from / op->stride[axis] : -1;
}

/* The window at (h, w) of `channels` images, times a filter. */
static double window_sum(const ep_op *op, const ep_real *channels, const ep_real *filter, int64_t h,
                         int64_t w, double sum) {
  for (int64_t c = 0; c < group_channels(op); c++) {
    for (int64_t i = 0; i < op->kernel[0]; i++) {
      for (int64_t j = 0; j < op->kernel[1]; j++, filter++) {
        int64_t y = tap(op, 0, op->in.height, h, i), x = tap(op, 1, op->in.width, w, j);
        if (y < 0 || x < 0) continue;
        sum += (double)channels[(c * op->in.height + y) * op->in.width + x] * *filter;
      }
    }
  }
  return sum;
}

static void forward_conv2d(const ep_reference_pass *pass, const ep_op *op,
                           const ep_real *const *inputs, ep_real *y) {
  const ep_real *x = inputs[0];
  int64_t pixels = op->in.height * op->in.width;
  for (int64_t row = 0; row < pass->rows; row++, x += op->in_features) {
    for (int64_t o = 0; o < op->out.channels; o++) {
      const ep_real *filter = pass->parameters + op->weight + o * filter_count(op);
      double bias = op->bias < 0 ? 0 : pass->parameters[op->bias + o];
      for (int64_t h = 0; h < op->out.height; h++) {
        for (int64_t w = 0; w < op->out.width; w++) {
          *y++ = (ep_real)window_sum(op, x + first_channel(op, o) * pixels, filter, h, w, bias);
        }
      }
    }
  }
}

/* The sum over all windows of grad_y times what tap (i, j) saw there. */
static double tap_sum(const ep_op *op, const ep_real *image, const ep_real *grad_y, int64_t i,
                      int64_t j, double sum) {
  for (int64_t h = 0; h < op->out.height; h++) {
    int64_t y = tap(op, 0, op->in.height, h, i);
    if (y < 0) continue;
    for (int64_t w = 0; w < op->out.width; w++) {
      int64_t x = tap(op, 1, op->in.width, w, j);
      if (x >= 0) sum += (double)grad_y[h * op->out.width + w] * image[y * op->in.width + x];
    }
  }
  return sum;
}

/* One row's and one output channel's share of the parameters' gradient. grad_y: [out height, out
 * width] */
static void backward_filter(const ep_op *op, const ep_real *x, const ep_real *grad_y, int64_t o,
                            double *grad_parameters) {
  double *grad_filter = grad_parameters + op->weight + o * filter_count(op);
  for (int64_t c = 0; c < group_channels(op); c++) {
    const ep_real *image = x + (first_channel(op, o) + c) * op->in.height * op->in.width;
    for (int64_t i = 0; i < op->kernel[0]; i++) {
      for (int64_t j = 0; j < op->kernel[1]; j++, grad_filter++) {
        *grad_filter = tap_sum(op, image, grad_y, i, j, *grad_filter);
      }
    }
  }
  for (int64_t i = 0; op->bias >= 0 && i < op->out.height * op->out.width; i++) {
    grad_parameters[op->bias + o] += grad_y[i];
  }
}

/* The gradient of pixel (y, x) of channel c: from every window that sees it. grad_y: of one row */
static double backward_pixel(const ep_op *op, const ep_real *weight, const ep_real *grad_y,
                             int64_t c, int64_t y, int64_t x) {
  int64_t group = c / group_channels(op), outputs = op->out.channels / op->groups;
  double sum = 0;
  for (int64_t o = group * outputs; o < (group + 1) * outputs; o++) {
    const ep_real *filter =
        weight + o * filter_count(op) + c % group_channels(op) * op->kernel[0] * op->kernel[1];
    for (int64_t i = 0; i < op->kernel[0]; i++) {
      for (int64_t j = 0; j < op->kernel[1]; j++, filter++) {
        int64_t h = window(op, 0, op->out.height, y, i), w = window(op, 1, op->out.width, x, j);
        if (h < 0 || w < 0) continue;
        sum += (double)grad_y[(o * op->out.height + h) * op->out.width + w] * *filter;
      }
    }
  }
  return sum;
}

static void backward_conv2d(const ep_reference_pass *pass, const ep_op *op,
                            const ep_real *const *inputs, const ep_real *y, const ep_real *grad_y,
                            ep_real *const *grad_inputs, double *grad_parameters) {
  const ep_real *x = inputs[0];
  ep_real *grad_x = grad_inputs[0];
  (void)y;
  int64_t windows = op->out.height * op->out.width;
  for (int64_t row = 0; row < pass->rows; row++) {
    for (int64_t o = 0; o < op->out.channels; o++) {
      backward_filter(op, x, grad_y + o * windows, o, grad_parameters);
    }
    for (int64_t i = 0; grad_x && i < op->in_features; i++) {
      int64_t column = i % op->in.width, line = i / op->in.width;
      grad_x[i] = (ep_real)backward_pixel(op, pass->parameters + op->weight, grad_y,
                                          line / op->in.height, line % op->in.height, column);
    }
    x += op->in_features;
    grad_y += op->out_features;
    if (grad_x) grad_x += op->in_features;
  }
}

EP_REFERENCE_LAYER(CONV2D, forward_conv2d, backward_conv2d);
