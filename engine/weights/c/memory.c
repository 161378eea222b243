#include "engine/weights/c/memory.h"
#include "kernels/operators/operator.h"

bool ep_c_is_in_place(ep_layer_type type) {
  return ep_operator_of(type)->writes != EP_WRITES_APART;
}

/* The last op that reads each value; ops_count: the caller does. */
static void last_reads_find(const ep_program *program, int *last) {
  for (int i = 0; i < program->ops_count; i++) {
    const ep_op *op = &program->ops[i];
    for (int k = 0; k < op->inputs; k++) last[op->input[k]] = i;
  }
  last[program->ops_count] = program->ops_count;
}

/* An array that no value needs which is read by op `now` or later; a new one if there is none. */
static int array_take(ep_c_memory *memory, const int *last, int values, int now) {
  for (int array = 0; array < memory->arrays; array++) {
    bool taken = false;
    for (int value = 0; value < values && !taken; value++)
      taken = memory->array[value] == array && last[value] >= now;
    if (!taken) return array;
  }
  return memory->arrays++;
}

static void value_place(ep_c_memory *memory, int value, int array, int64_t floats) {
  memory->array[value] = array;
  if (memory->floats[array] < floats) memory->floats[array] = floats;
}

ep_status ep_c_memory_plan(const ep_program *program, ep_c_memory *out, ep_error *error) {
  int last[EP_C_VALUES] = {0};
  *out = (ep_c_memory){0};
  if (program->ops_count + 1 > EP_C_VALUES)
    return ep_fail(error, EP_INTERNAL, "%d layers", program->ops_count);
  last_reads_find(program, last);
  value_place(out, 0, array_take(out, last, 0, 0), program->in_features);
  for (int i = 0; i < program->ops_count; i++) {
    const ep_op *op = &program->ops[i];
    const int from = op->input[0];
    bool stays = ep_c_is_in_place(op->type) && last[from] == i;
    for (int k = 1; k < op->inputs; k++) /* what it writes over is read again */
      stays = stays && out->array[op->input[k]] != out->array[from];
    value_place(out, i + 1, stays ? out->array[from] : array_take(out, last, i + 1, i),
                op->out_features);
  }
  return EP_OK;
}
