#include "kernels/operators/values.h"

#include <assert.h>

ep_shape ep_value_shape(const ep_program *program, int value) {
  return value == 0 ? program->in : program->ops[value - 1].out;
}

int64_t ep_value_data_column(const ep_program *program, int value) {
  int64_t column = 0;
  while (value > 0) {
    const ep_op *op = &program->ops[value - 1];
    const bool cuts = op->type == EP_LAYER_SLICE && op->in_features == op->in.channels;
    if (!cuts && ep_operator_of(op->type)->writes != EP_WRITES_NOTHING) return -1;
    if (cuts) column += op->start;
    value = op->input[0];
  }
  return column;
}

static void read_note(ep_value *values, int value, int op, bool behind) {
  ep_value *base = &values[values[value].base];
  values[value].shared = values[value].shared || !behind;
  if (base->last_read < op) base->last_read = op;
}

void ep_values_find(const ep_program *program, int first, ep_value *values) {
  values[0] = (ep_value){.features = program->in_features, .last_read = -1, .gradient = -1};
  for (int i = 0; i < program->ops_count; i++) {
    const ep_op *op = &program->ops[i];
    ep_value *made = &values[i + 1];
    *made = (ep_value){.features = op->out_features,
                       .base = i + 1,
                       .last_read = -1,
                       .learns = ep_op_learns(program, op),
                       .gradient = -1};
    if (i + 1 != first && ep_operator_of(op->type)->writes == EP_WRITES_NOTHING)
      made->base = values[op->input[0]].base;
    for (int k = 0; k < op->inputs; k++) {
      read_note(values, op->input[k], i, k == 0 && op->input[k] == i);
      made->learns = made->learns || values[op->input[k]].learns;
    }
  }
}

int ep_program_unread(const ep_program *program) {
  bool read[EP_LIMIT_LAYERS + 2] = {false};
  assert(program->ops_count <= EP_LIMIT_LAYERS + 1);
  for (int i = 0; i < program->ops_count; i++)
    for (int k = 0; k < program->ops[i].inputs; k++) read[program->ops[i].input[k]] = true;
  for (int value = 1; value < program->ops_count; value++)
    if (!read[value]) return value;
  return -1;
}

bool ep_program_divides_at(const ep_program *program, int number) {
  for (int i = number; i < program->ops_count; i++)
    for (int k = 0; k < program->ops[i].inputs; k++)
      if (program->ops[i].input[k] < number) return false;
  return true;
}

int ep_program_part(const ep_program *program, int last, ep_op *ops) {
  bool needed[EP_LIMIT_LAYERS + 2] = {false};
  int number[EP_LIMIT_LAYERS + 2] = {0}, count = 0;
  assert(program->ops_count <= EP_LIMIT_LAYERS + 1);
  needed[last + 1] = true;
  for (int i = last; i >= 0; i--)
    for (int k = 0; needed[i + 1] && k < program->ops[i].inputs; k++)
      needed[program->ops[i].input[k]] = true;
  for (int i = 0; i <= last; i++) {
    if (!needed[i + 1]) continue;
    ops[count] = program->ops[i];
    for (int k = 0; k < ops[count].inputs; k++) ops[count].input[k] = number[ops[count].input[k]];
    number[i + 1] = ++count;
  }
  return count;
}

/* The first memory that no gradient of values first … end has. */
static int gradient_take(const ep_value *values, const bool *live, int first, int end) {
  for (int memory = 0;; memory++) {
    bool taken = false;
    for (int value = first; value <= end && !taken; value++)
      taken = live[value] && values[value].gradient == memory;
    if (!taken) return memory;
  }
}

/* Where gradients are handed out: from the last op to the first. */
typedef struct {
  ep_value *values;
  int first, end, count;
  bool live[EP_LIMIT_LAYERS + 2];
} gradients;

/* The value's gradient lives from here on, towards the first op. */
static void gradient_begin(gradients *g, int value) {
  ep_value *base = &g->values[g->values[value].base];
  const int number = (int)(base - g->values);
  if (number < g->first || g->live[number] || !base->learns) return;
  base->gradient = gradient_take(g->values, g->live, g->first, g->end);
  g->live[number] = true;
  if (base->gradient >= g->count) g->count = base->gradient + 1;
}

int ep_values_gradients(const ep_program *program, int first, int end, ep_value *values) {
  gradients g = {.values = values, .first = first, .end = end};
  assert(program->ops_count <= EP_LIMIT_LAYERS + 1);
  values[values[end].base].learns = true;
  gradient_begin(&g, end);
  for (int i = end - 1; i >= first; i--) {
    for (int k = 0; k < program->ops[i].inputs; k++) gradient_begin(&g, program->ops[i].input[k]);
    g.live[i + 1] = g.live[i + 1] && values[i + 1].base != i + 1;
  }
  for (int value = first; value <= end; value++)
    values[value].gradient = values[values[value].base].gradient;
  return g.count;
}

bool ep_values_begin(const ep_program *program, const ep_value *values, int i, int k) {
  const ep_op *op = &program->ops[i];
  const int base = values[op->input[k]].base;
  for (int before = 0; before < k; before++)
    if (values[op->input[before]].base == base) return false;
  return values[base].last_read == i;
}

int ep_values_added(const ep_program *program, const ep_value *values, int first, int end) {
  int most = 0;
  for (int i = first; i < end; i++) {
    int added = 0;
    for (int k = 0; k < program->ops[i].inputs; k++)
      added += !ep_values_begin(program, values, i, k);
    if (added > most) most = added;
  }
  return most;
}

void ep_values_in_place(const ep_program *program, const ep_value *values, int first, ep_keep input,
                        bool *in_place) {
  ep_keep kept[EP_LIMIT_LAYERS + 2];
  assert(program->ops_count <= EP_LIMIT_LAYERS + 1);
  kept[0] = input;
  for (int i = 0; i < program->ops_count; i++) {
    const ep_op *op = &program->ops[i];
    if (i == first) kept[i] = input;
    kept[i + 1] = kept[op->input[0]];
    in_place[i] = ep_op_keep(op, values[i + 1].shared, &kept[i + 1]);
  }
}
