/* max_pool2d, avg_pool2d, adaptive_avg_pool2d: each channel by itself. Where windows overlap, a
 * pixel's gradient is added up in its own precision: there are few to add. */
#include "kernels/cpu/layers/layers.h"
#include "kernels/formulas/pools.h"

/* Each function below does one image: [in height, in width] to [out height, out width]. */
typedef void (*image_forward)(const ep_op *op, const ep_real *x, ep_real *y);
typedef void (*image_backward)(const ep_op *op, const ep_real *x, const ep_real *grad_y,
                               ep_real *grad_x); /* added to */

/* Where the first maximum of the window at (h, w) is; -1 when no tap is on the image. */
static int64_t maximum_at(const ep_op *op, const ep_real *x, int64_t h, int64_t w) {
  int64_t found = -1;
  for (int64_t i = 0; i < op->kernel[0]; i++) {
    for (int64_t j = 0; j < op->kernel[1]; j++) {
      int64_t line = h * op->stride[0] - op->padding[0] + i * op->dilation[0];
      int64_t column = w * op->stride[1] - op->padding[1] + j * op->dilation[1];
      if (line < 0 || line >= op->in.height || column < 0 || column >= op->in.width) continue;
      int64_t at = line * op->in.width + column;
      if (found < 0 || ep_max_takes(x[at], x[found])) found = at;
    }
  }
  return found;
}

static void max_forward(const ep_op *op, const ep_real *x, ep_real *y) {
  for (int64_t i = 0; i < op->out.height * op->out.width; i++) {
    int64_t at = maximum_at(op, x, i / op->out.width, i % op->out.width);
    y[i] = at < 0 ? -(ep_real)INFINITY : x[at];
  }
}

static void max_backward(const ep_op *op, const ep_real *x, const ep_real *grad_y,
                         ep_real *grad_x) {
  for (int64_t i = 0; i < op->out.height * op->out.width; i++) {
    int64_t at = maximum_at(op, x, i / op->out.width, i % op->out.width);
    if (at >= 0) grad_x[at] += grad_y[i];
  }
}

/* The part of an averaging window that lies on the image, and what its sum is divided by. */
typedef struct {
  int64_t top, bottom, left, right; /* top … bottom - 1, left … right - 1 */
  double divisor;
} area;

static int64_t clamp(int64_t number, int64_t most) {
  return number < 0 ? 0 : number > most ? most : number;
}

/* Padding is counted. */
static area average_area(const ep_op *op, int64_t i) {
  int64_t top = i / op->out.width * op->stride[0] - op->padding[0];
  int64_t left = i % op->out.width * op->stride[1] - op->padding[1];
  return (area){.top = clamp(top, op->in.height),
                .bottom = clamp(top + op->kernel[0], op->in.height),
                .left = clamp(left, op->in.width),
                .right = clamp(left + op->kernel[1], op->in.width),
                .divisor = (double)op->kernel[0] * op->kernel[1]};
}

static area adaptive_area(const ep_op *op, int64_t i) {
  int64_t h = i / op->out.width, w = i % op->out.width;
  area of = {.top = ep_adaptive_first(h, op->out.height, op->in.height),
             .bottom = ep_adaptive_end(h, op->out.height, op->in.height),
             .left = ep_adaptive_first(w, op->out.width, op->in.width),
             .right = ep_adaptive_end(w, op->out.width, op->in.width)};
  of.divisor = (double)((of.bottom - of.top) * (of.right - of.left));
  return of;
}

static area area_of(const ep_op *op, int64_t i) {
  return op->type == EP_LAYER_AVG_POOL2D ? average_area(op, i) : adaptive_area(op, i);
}

static void avg_forward(const ep_op *op, const ep_real *x, ep_real *y) {
  for (int64_t i = 0; i < op->out.height * op->out.width; i++) {
    area of = area_of(op, i);
    double sum = 0;
    for (int64_t line = of.top; line < of.bottom; line++) {
      for (int64_t column = of.left; column < of.right; column++) {
        sum += x[line * op->in.width + column];
      }
    }
    y[i] = (ep_real)(sum / of.divisor);
  }
}

static void avg_backward(const ep_op *op, const ep_real *x, const ep_real *grad_y,
                         ep_real *grad_x) {
  (void)x;
  for (int64_t i = 0; i < op->out.height * op->out.width; i++) {
    area of = area_of(op, i);
    for (int64_t line = of.top; line < of.bottom; line++) {
      for (int64_t column = of.left; column < of.right; column++) {
        grad_x[line * op->in.width + column] += (ep_real)(grad_y[i] / of.divisor);
      }
    }
  }
}

static void forward_images(const ep_reference_pass *pass, const ep_op *op, image_forward forward,
                           const ep_real *x, ep_real *y) {
  for (int64_t i = 0; i < pass->rows * op->in.channels; i++) {
    forward(op, x + i * op->in.height * op->in.width, y + i * op->out.height * op->out.width);
  }
}

static void backward_images(const ep_reference_pass *pass, const ep_op *op, image_backward backward,
                            const ep_real *x, const ep_real *grad_y, ep_real *grad_x) {
  if (!grad_x) return;
  int64_t pixels = op->in.height * op->in.width, windows = op->out.height * op->out.width;
  for (int64_t i = 0; i < pass->rows * op->in_features; i++) grad_x[i] = 0;
  for (int64_t i = 0; i < pass->rows * op->in.channels; i++) {
    backward(op, x + i * pixels, grad_y + i * windows, grad_x + i * pixels);
  }
}

static void forward_max_pool2d(const ep_reference_pass *pass, const ep_op *op,
                               const ep_real *const *inputs, ep_real *y) {
  const ep_real *x = inputs[0];
  forward_images(pass, op, max_forward, x, y);
}

static void backward_max_pool2d(const ep_reference_pass *pass, const ep_op *op,
                                const ep_real *const *inputs, const ep_real *y,
                                const ep_real *grad_y, ep_real *const *grad_inputs,
                                double *grad_parameters) {
  const ep_real *x = inputs[0];
  ep_real *grad_x = grad_inputs[0];
  (void)y, (void)grad_parameters;
  backward_images(pass, op, max_backward, x, grad_y, grad_x);
}

static void forward_average(const ep_reference_pass *pass, const ep_op *op,
                            const ep_real *const *inputs, ep_real *y) {
  const ep_real *x = inputs[0];
  forward_images(pass, op, avg_forward, x, y);
}

static void backward_average(const ep_reference_pass *pass, const ep_op *op,
                             const ep_real *const *inputs, const ep_real *y, const ep_real *grad_y,
                             ep_real *const *grad_inputs, double *grad_parameters) {
  const ep_real *x = inputs[0];
  ep_real *grad_x = grad_inputs[0];
  (void)y, (void)grad_parameters;
  backward_images(pass, op, avg_backward, x, grad_y, grad_x);
}

EP_REFERENCE_LAYER(MAX_POOL2D, forward_max_pool2d, backward_max_pool2d);
EP_REFERENCE_LAYER(AVG_POOL2D, forward_average, backward_average);
EP_REFERENCE_LAYER(ADAPTIVE_AVG_POOL2D, forward_average, backward_average);
