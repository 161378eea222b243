#include "kernels/plans/work.h"

#include "kernels/formulas/optimizers.h"

enum { WIDE_IN_FEATURES = 16, WIDE_OUT_FEATURES = 4 };
enum { THIN_WEIGHTS = 256, THIN_PRODUCTS = 1 << 20 };

/* --- a layer ------------------------------------------------------------------------------- */

bool ep_op_is_wide(const ep_op *op) {
  return op->in_features >= WIDE_IN_FEATURES && op->out_features >= WIDE_OUT_FEATURES;
}

bool ep_op_is_thin(const ep_op *op, int64_t rows) {
  const int64_t weights = ep_op_weights(op);
  return weights <= THIN_WEIGHTS || rows <= THIN_PRODUCTS / weights;
}

/* Products of a layer that goes from step to step, in others': nobody has fast loops for it. */
enum { STATE_PRODUCTS = 30 };

/* --- a network ----------------------------------------------------------------------------- */

ep_network_work ep_program_work(const ep_program *program) {
  ep_network_work sum = {.values = (double)program->in_features};
  bool first = true;
  for (int i = 0; i < program->ops_count; i++) {
    const ep_op *op = &program->ops[i];
    double products = (double)ep_op_products(op) * (first ? 2 : 3);
    bool wide = ep_op_is_wide(op);
    if (ep_operator_of(op->type)->start == EP_START_STATE) products *= STATE_PRODUCTS;
    sum.stages +=
        ep_operator_of(op->type)->writes != EP_WRITES_NOTHING && op->type != EP_LAYER_RELU;
    sum.values += ep_op_value_work(op) * (double)op->out_features;
    if (op->type == EP_LAYER_CONV2D)
      sum.conv += products;
    else if (wide)
      sum.wide += products;
    else
      sum.thin += products;
    if (wide) sum.wide_weights += (double)ep_op_weights(op);
    first = first && op->weight < 0;
  }
  return sum;
}

double ep_program_updated(const ep_program *program) {
  return (double)program->parameters * (1 + 0.5 * (double)ep_optimizer_slots(&program->optimizer));
}

double ep_program_launches(const ep_program *program) {
  double launches = 1;
  for (int i = 0; i < program->ops_count; i++) {
    const ep_op *op = &program->ops[i];
    bool moves = op->in_features != op->out_features || op->weight >= 0;
    if (ep_operator_of(op->type)->writes == EP_WRITES_NOTHING) continue;
    if (ep_op_products(op) > 0)
      launches += 3;
    else if (moves || op->inputs > 1)
      launches += 2;
  }
  return launches;
}
