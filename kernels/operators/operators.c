#include "kernels/operators/operator.h"

#include <assert.h>

#include "api/limits.h"
#include "kernels/formulas/pools.h"

/* Of one value through a norm, forward: the sums of mean and variance, and the scaling. */
enum { NORM_OPERATIONS = 8 };

/* Words that become another operator: a block an add, a window along a series one of two sides. */
#define LOWERED(X) X(RESIDUAL, ADD) X(CONV1D, CONV2D)
#define ep_operator_RESIDUAL ep_operator_ADD
#define ep_operator_CONV1D ep_operator_CONV2D

ep_layer_type ep_layer_operator(ep_layer_type word) {
#define BECOMES(from, to) \
  if (word == EP_LAYER_##from) return EP_LAYER_##to;
  LOWERED(BECOMES)
  return word;
}

#define DECLARE(code, ...) extern const ep_operator ep_operator_##code;
EP_LAYER_TABLE(DECLARE)

#define ROW(code, ...) &ep_operator_##code,
static const ep_operator *const rows[EP_LAYER_COUNT] = {EP_LAYER_TABLE(ROW)};

const ep_operator *ep_operator_of(ep_layer_type type) {
  assert(type >= 0 && type < EP_LAYER_COUNT);
  return rows[type];
}

/* --- what rows are made of ----------------------------------------------------------------- */

bool ep_shapes_same(ep_shape a, ep_shape b) {
  return a.channels == b.channels && a.height == b.height && a.width == b.width;
}

bool ep_fits_same_shape(const ep_program *program, const ep_op *op) {
  (void)program;
  return ep_shapes_same(op->in, op->out);
}

bool ep_fits_inputs(const ep_program *program, const ep_op *op) {
  const bool joins = ep_operator_of(op->type)->joins;
  bool fits = joins ? op->inputs >= 2 && op->inputs <= EP_OP_INPUTS : op->inputs == 1;
  for (int k = 0; fits && k < op->inputs; k++)
    fits = op->input[k] >= 0 && op->input[k] <= op - program->ops;
  return fits;
}

static bool within(int number, int least) {
  return number >= least && number <= EP_LIMIT_KERNEL;
}

bool ep_fits_windows(const ep_op *op, bool dilates) {
  for (int axis = 0; axis < 2; axis++) {
    int64_t in = axis == 0 ? op->in.height : op->in.width;
    int64_t out = axis == 0 ? op->out.height : op->out.width;
    int dilation = dilates ? op->dilation[axis] : 1;
    /* all of the padding is on the left: windows that begin behind that are none */
    if (op->causal && axis == 1) in -= op->padding[axis];
    if (!within(op->kernel[axis], 1) || !within(op->stride[axis], 1) ||
        !within(op->padding[axis], 0) || !within(dilation, 1) ||
        ep_window_count(in, op->kernel[axis], op->stride[axis], op->padding[axis], dilation) !=
            out) {
      return false;
    }
  }
  return true;
}

bool ep_fits_pool(const ep_op *op, bool dilates) {
  bool fits = ep_fits_windows(op, dilates) && op->in.channels == op->out.channels;
  for (int axis = 0; axis < 2 && fits; axis++) {
    int64_t dilation = dilates ? op->dilation[axis] : 1;
    fits = 2 * op->padding[axis] <= dilation * (op->kernel[axis] - 1) + 1;
  }
  return fits;
}

ep_parameter_shape ep_shape_none(const ep_op *op) {
  (void)op;
  return (ep_parameter_shape){0};
}

ep_parameter_shape ep_shape_channels(const ep_op *op) {
  return (ep_parameter_shape){1, {op->out.channels}};
}

int64_t ep_operations_none(const ep_op *op) {
  (void)op;
  return 0;
}

int64_t ep_operations_each(const ep_op *op) {
  return op->out_features;
}

int64_t ep_operations_window(const ep_op *op) {
  return ep_multiply_saturated((int64_t)op->kernel[0] * op->kernel[1], op->out_features);
}

int64_t ep_operations_bias(const ep_op *op) {
  return op->bias >= 0 ? op->out_features : 0;
}

int64_t ep_operations_norm(const ep_op *op) {
  return ep_multiply_saturated(NORM_OPERATIONS, op->out_features);
}

/* --- what follows from a row --------------------------------------------------------------- */

static int64_t shape_count(ep_parameter_shape shape) {
  int64_t count = shape.dimensions > 0;
  for (int i = 0; i < shape.dimensions; i++) count = ep_multiply_saturated(count, shape.size[i]);
  return count;
}

const ep_parameter *ep_op_parameter(const ep_op *op, int k) {
  const ep_operator *row = ep_operator_of(op->type);
  return k < EP_OP_PARAMETERS && row->parameters[k].name ? &row->parameters[k] : NULL;
}

bool ep_op_parameter_is_bias(const ep_op *op, int k) {
  return k > 0 && ep_op_parameter(op, k)->shape(op).dimensions == 1;
}

int64_t ep_op_parameter_count(const ep_op *op, int k) {
  const ep_parameter *parameter = ep_op_parameter(op, k);
  return parameter ? shape_count(parameter->shape(op)) : 0;
}

int64_t ep_op_own_count(const ep_op *op, int k) {
  return op->parameter[k] < 0 ? 0 : ep_op_parameter_count(op, k);
}

int64_t ep_op_parameters(const ep_op *op) {
  int64_t count = 0;
  for (int k = 0; ep_op_parameter(op, k); k++)
    if (__builtin_add_overflow(count, ep_op_own_count(op, k), &count)) return INT64_MAX;
  return count;
}

int64_t ep_op_parameters_first(const ep_op *op) {
  for (int k = 0; ep_op_parameter(op, k); k++)
    if (ep_op_own_count(op, k) > 0) return op->parameter[k];
  return -1;
}

int64_t ep_op_buffers(const ep_op *op) {
  return ep_operator_of(op->type)->running ? ep_multiply_saturated(2, ep_op_weights(op)) : 0;
}

bool ep_op_learns(const ep_program *program, const ep_op *op) {
  for (int k = 0; ep_op_parameter(op, k); k++)
    if (ep_program_learns(program, op->parameter[k], ep_op_own_count(op, k))) return true;
  return false;
}

int ep_program_first_learned(const ep_program *program) {
  int i = 0;
  while (i < program->ops_count && !ep_op_learns(program, &program->ops[i])) i++;
  return i;
}

int64_t ep_op_products(const ep_op *op) {
  if (!ep_operator_of(op->type)->multiplies) return 0;
  int64_t pixels = ep_multiply_saturated(op->out.height, op->out.width), weights = 0;
  for (int k = 0; ep_op_parameter(op, k); k++)
    if (!ep_op_parameter_is_bias(op, k) &&
        __builtin_add_overflow(weights, ep_op_parameter_count(op, k), &weights))
      return INT64_MAX;
  return ep_multiply_saturated(weights, pixels);
}

double ep_op_value_work(const ep_op *op) {
  double cost = ep_operator_of(op->type)->cost;
  return cost == EP_COST_WINDOW ? (double)op->kernel[0] * op->kernel[1] : cost;
}

int64_t ep_op_saved(const ep_op *op) {
  switch (ep_operator_of(op->type)->saved) {
  case EP_SAVED_INDICES: return op->out_features;
  case EP_SAVED_MASK: return op->in_features;
  case EP_SAVED_CHANNEL_MASK: return op->in.channels;
  case EP_SAVED_STATISTICS: return 2;
  case EP_SAVED_GATES: return ep_multiply_saturated(4, op->out_features);
  case EP_SAVED_NOTHING: break;
  }
  return 0;
}

/* Whether an op may write over an input of which `kept` must stay. */
static bool writes_over(const ep_op *op, ep_reads reads, ep_keep kept) {
  const ep_operator *row = ep_operator_of(op->type);
  if (row->writes == EP_WRITES_NOTHING) return true;
  if (row->writes != EP_WRITES_EACH || reads == EP_READS_INPUT || reads == EP_READS_BOTH)
    return false;
  bool drops = row->saved == EP_SAVED_MASK || row->saved == EP_SAVED_CHANNEL_MASK;
  return kept <= (drops ? EP_KEEP_SIGN : EP_KEEP_NOTHING);
}

bool ep_op_keep(const ep_op *op, bool added, ep_keep *kept) {
  ep_reads reads = ep_operator_of(op->type)->reads;
  if (reads == EP_READS_SIGN && op->negative_slope < 0) reads = EP_READS_INPUT;
  bool over = writes_over(op, reads, *kept);
  ep_keep own = EP_KEEP_NOTHING;
  if (reads == EP_READS_SIGN && over) own = EP_KEEP_SIGN;
  if (reads == EP_READS_OUTPUT || reads == EP_READS_BOTH || added) own = EP_KEEP_ALL;
  *kept = over && *kept > own ? *kept : own;
  return over;
}
