/* unfold: channel (c kernel height + i) kernel width + j of y has the pixel under tap (i, j) of
 * each window of channel c, or 0 in the padding. */
#include <string.h>

#include "kernels/cpu/layers/layers.h"
#include "kernels/formulas/pools.h"

/* Which pixel of a row of x number `at` of a row of y is; -1: of the padding. */
static int64_t pixel_of(const ep_op *op, int64_t at) {
  const int64_t windows =
      ep_window_count(op->in.width, op->kernel[1], op->stride[1], op->padding[1], op->dilation[1]);
  const int64_t tap = at / op->out.width % ((int64_t)op->kernel[0] * op->kernel[1]);
  const int64_t channel = at / op->out.width / ((int64_t)op->kernel[0] * op->kernel[1]);
  const int64_t window = at % op->out.width;
  const int64_t line =
      window / windows * op->stride[0] - op->padding[0] + tap / op->kernel[1] * op->dilation[0];
  const int64_t column =
      window % windows * op->stride[1] - op->padding[1] + tap % op->kernel[1] * op->dilation[1];
  if (line < 0 || line >= op->in.height || column < 0 || column >= op->in.width) return -1;
  return (channel * op->in.height + line) * op->in.width + column;
}

static void forward_unfold(const ep_reference_pass *pass, const ep_op *op, const ep_real *const *x,
                           ep_real *y) {
  for (int64_t i = 0; i < op->out_features; i++) {
    const int64_t from = pixel_of(op, i);
    for (int64_t row = 0; row < pass->rows; row++)
      y[row * op->out_features + i] = from < 0 ? 0 : x[0][row * op->in_features + from];
  }
}

static void backward_unfold(const ep_reference_pass *pass, const ep_op *op, const ep_real *const *x,
                            const ep_real *y, const ep_real *grad_y, ep_real *const *grad_x,
                            double *grad_parameters) {
  (void)x, (void)y, (void)grad_parameters;
  if (!grad_x[0]) return;
  memset(grad_x[0], 0, (size_t)(pass->rows * op->in_features) * sizeof **grad_x);
  for (int64_t i = 0; i < op->out_features; i++) {
    const int64_t to = pixel_of(op, i);
    for (int64_t row = 0; to >= 0 && row < pass->rows; row++)
      grad_x[0][row * op->in_features + to] += grad_y[row * op->out_features + i];
  }
}

EP_REFERENCE_LAYER(UNFOLD, forward_unfold, backward_unfold);
