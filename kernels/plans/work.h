/* work.h: a network in numbers, for the costs of steps: how many weights, multiply-adds and values
 * its layers have. */
#ifndef EP_KERNELS_PLANS_WORK_H
#define EP_KERNELS_PLANS_WORK_H

#include <math.h>

#include "kernels/program.h"

/* --- a layer ------------------------------------------------------------------------------- */

/* a * b, or INT64_MAX. Both are at least 0. */
static inline int64_t ep_multiply_saturated(int64_t a, int64_t b) {
  int64_t product;
  return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

/* Values that a layer of this type and shape has as weight and as bias, saturated at INT64_MAX. */
int64_t ep_op_weights(const ep_op *op);
int64_t ep_op_biases(const ep_op *op);

/* Multiply-adds of one row, forward, saturated; 0 for what has no weights to multiply with. */
int64_t ep_op_products(const ep_op *op);

/* How dear an output of the layer is, in values that are written: an activation computes, and a
 * function of the library's costs as much as writing several values. */
double ep_op_value_work(const ep_op *op);

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
