#include "kernels/plans/agreement.h"

static bool is_frozen(const ep_program *program, int64_t offset) {
  return ep_program_decay_at(program, offset) < 0;
}

static bool ops_agree(const ep_program *a, const ep_program *b) {
  for (int i = 0; i < a->ops_count; i++) {
    const ep_op *x = &a->ops[i], *y = &b->ops[i];
    if (x->type != y->type || x->in_features != y->in_features ||
        x->out_features != y->out_features || x->weight != y->weight || x->bias != y->bias ||
        x->layer != y->layer || is_frozen(a, x->weight) != is_frozen(b, y->weight) ||
        is_frozen(a, x->bias) != is_frozen(b, y->bias))
      return false;
  }
  return true;
}

bool ep_programs_agree(const ep_program *a, const ep_program *b) {
  return a->ops_count == b->ops_count && a->in_features == b->in_features &&
         a->out_features == b->out_features && a->target_columns == b->target_columns &&
         a->parameters == b->parameters && a->loss == b->loss &&
         a->optimizer.type == b->optimizer.type && a->optimizer_floats == b->optimizer_floats &&
         a->optimizer.centered == b->optimizer.centered && a->train_rows == b->train_rows &&
         a->batch_size == b->batch_size && a->shuffle == b->shuffle && a->x_type == b->x_type &&
         a->precision == b->precision && ep_program_ranks(a) == ep_program_ranks(b) &&
         ops_agree(a, b);
}
