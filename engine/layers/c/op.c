#include "engine/layers/c/op.h"

#include <stdio.h>
#include <string.h>

#include "kernels/operators/operator.h"

void ep_c_table(const ep_c_op *c, const char *part, const float *values, int64_t count) {
  char name[32];
  snprintf(name, sizeof name, "%s_%d", part, c->number);
  ep_c_add_floats(c->source, name, values, count);
}

void ep_c_parameter(const ep_c_op *c, const char *part, int64_t offset, int64_t count) {
  if (offset >= 0) ep_c_table(c, part, c->state + offset, count);
}

void ep_c_pass(const ep_c_op *c, const char *part, bool there) {
  if (there)
    ep_c_add(c->source, ", @_%s_%d", part, c->number);
  else
    ep_c_add_text(c->source, ", 0");
}

void ep_c_parameters(const ep_c_op *c) {
  const ep_parameter *parameter;
  for (int k = 0; (parameter = ep_op_parameter(c->op, k)); k++)
    ep_c_parameter(c, parameter->name, c->op->parameter[k], ep_op_parameter_count(c->op, k));
}

void ep_c_end_parameters(const ep_c_op *c) {
  const ep_parameter *parameter;
  for (int k = 0; (parameter = ep_op_parameter(c->op, k)); k++)
    ep_c_pass(c, parameter->name, ep_op_own_count(c->op, k) > 0);
  ep_c_end(c);
}

void ep_c_begin_in_place(const ep_c_op *c) {
  ep_c_add(c->source, "  @_%s(@_memory_%d, %lld", ep_layer_type_name((int)c->op->type), c->y,
           (long long)c->op->in_features);
  for (int i = 0; i < EP_C_NUMBERS && c->numbers[i]; i++) {
    float number;
    memcpy(&number, (const char *)c->op + c->numbers[i], sizeof number);
    ep_c_add_text(c->source, ", ");
    ep_c_add_float(c->source, number);
  }
}

void ep_c_end(const ep_c_op *c) {
  ep_c_add_text(c->source, ");\n");
}

void ep_c_call_in_place(const ep_c_op *c) {
  ep_c_begin_in_place(c);
  ep_c_end(c);
}

void ep_c_call_nothing(const ep_c_op *c) {
  (void)c;
}
