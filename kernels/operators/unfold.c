/* unfold: torch.nn.Unfold: the windows over an image, as columns. y: [channels kernel height kernel
 * width, 1, windows]. */
#include "kernels/formulas/pools.h"
#include "kernels/operators/operator.h"

static bool fits(const ep_program *program, const ep_op *op) {
  ep_op windows = *op;
  int64_t channels;
  (void)program;
  for (int i = 0; i < 2; i++)
    if (op->kernel[i] < 1 || op->stride[i] < 1 || op->padding[i] < 0 || op->dilation[i] < 1)
      return false;
  windows.out.height =
      ep_window_count(op->in.height, op->kernel[0], op->stride[0], op->padding[0], op->dilation[0]);
  windows.out.width =
      ep_window_count(op->in.width, op->kernel[1], op->stride[1], op->padding[1], op->dilation[1]);
  channels = ep_multiply_saturated(op->in.channels, (int64_t)op->kernel[0] * op->kernel[1]);
  return ep_fits_windows(&windows, true) && op->out.channels == channels && op->out.height == 1 &&
         op->out.width == ep_multiply_saturated(windows.out.height, windows.out.width);
}

EP_OPERATOR(UNFOLD, fits, EP_NO_PARAMETERS, EP_WORK(false, ep_operations_none, 1),
            EP_MEMORY(NOTHING, APART, NOTHING));
