/* work.h: a network in numbers, for the costs of steps: how many multiply-adds and values its
 * layers have. */
#ifndef EP_KERNELS_PLANS_WORK_H
#define EP_KERNELS_PLANS_WORK_H

#include <math.h>

#include "kernels/operators/operator.h"

/* --- a layer ------------------------------------------------------------------------------- */

/* Whether a linear layer's inputs fill vectors. */
bool ep_op_is_wide(const ep_op *op);

/* Whether a GPU's library of products has nothing to tile in a linear layer of so many rows: a few
 * weights, or little work. */
bool ep_op_is_thin(const ep_op *op, int64_t rows);

/* --- a network ----------------------------------------------------------------------------- */

/* Of one row, forward and back. */
typedef struct {
  double stages;           /* layers that do something */
  double thin, wide, conv; /* multiply-adds: of linear layers by width, and of convolutions */
  double wide_weights;
  double values; /* written on the way: outputs, and what is as dear as writing some */
} ep_network_work;

ep_network_work ep_program_work(const ep_program *program);

/* Parameters as the update sees them: each with the optimizer's slots. */
double ep_program_updated(const ep_program *program);

/* Launches of a step that goes layer by layer: the update, and each layer's; activations go with
 * the layer before them. */
double ep_program_launches(const ep_program *program);

static inline double ep_rounded_up(double value, double unit) {
  return ceil(value / unit) * unit;
}

#endif
