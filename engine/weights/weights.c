/* weights.c: a plan's parameters and buffers as named tensors, and back. */
#include "engine/weights/weights.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/parallel.h"
#include "engine/weights/notes.h"
#include "kernels/operators/operator.h"

enum { TENSORS_PER_OP = EP_OP_PARAMETERS + 2 }; /* running mean and variance */
enum { COPIED_LEAST = 1 << 18 };

/* One more tensor, whose values start at `place` of state. */
static void tensor_add(ep_tensors *out, const char *layer, const char *part,
                       ep_parameter_shape shape, const float *state, int64_t place) {
  ep_tensor *tensor = &out->tensor[out->tensors_count++];
  snprintf(tensor->name, sizeof tensor->name, "%.100s.%s", layer, part);
  tensor->bytes = state ? (const uint8_t *)(state + place) : NULL;
  tensor->dimensions = shape.dimensions;
  tensor->values_count = 1;
  for (int i = 0; i < shape.dimensions; i++) {
    tensor->shape[i] = shape.size[i];
    tensor->values_count *= shape.size[i];
  }
}

static void op_list(const ep_op *op, const char *layer, const float *state, ep_tensors *out) {
  const ep_parameter *parameter;
  for (int k = 0; (parameter = ep_op_parameter(op, k)); k++)
    if (ep_op_own_count(op, k) > 0)
      tensor_add(out, layer, parameter->name, parameter->shape(op), state, op->parameter[k]);
}

/* Running statistics: buffers, behind all parameters. */
static void buffers_list(const ep_plan *plan, const ep_op *op, const char *layer,
                         const float *state, ep_tensors *out) {
  if (!ep_operator_of(op->type)->running) return;
  const ep_parameter_shape shape = ep_op_parameter(op, 0)->shape(op);
  int64_t place = plan->program.parameters + op->running;
  tensor_add(out, layer, "running_mean", shape, state, place);
  tensor_add(out, layer, "running_var", shape, state, place + ep_op_weights(op));
}

ep_status ep_weights_list(const ep_plan *plan, const float *state, ep_tensors *out,
                          ep_error *error) {
  const ep_program *program = &plan->program;
  *out = (ep_tensors){0};
  out->tensor = calloc(TENSORS_PER_OP * (size_t)program->ops_count + 1, sizeof *out->tensor);
  if (!out->tensor) return ep_fail_memory(error);
  for (int i = 0; i < program->ops_count; i++)
    op_list(&program->ops[i], plan->names[i], state, out);
  for (int i = 0; i < program->ops_count; i++)
    buffers_list(plan, &program->ops[i], plan->names[i], state, out);
  return EP_OK;
}

ep_status ep_weights_add(ep_durable_group *group, const char *path, const ep_plan *plan,
                         const float *state, const ep_scaling *scaling, const char *spec_text,
                         char sha256[EP_SHA256_HEX_BYTES], int64_t *bytes, ep_error *error) {
  ep_tensors tensors;
  ep_status status = ep_weights_list(plan, state, &tensors, error);
  if (status == EP_OK) status = ep_weights_notes_list(plan, scaling, spec_text, &tensors, error);
  if (status == EP_OK) status = ep_tensors_write(path, &tensors, group, sha256, bytes, error);
  ep_tensors_close(&tensors);
  return status;
}

ep_status ep_weights_write(const char *path, const ep_plan *plan, const float *state,
                           const ep_scaling *scaling, const char *spec_text,
                           char sha256[EP_SHA256_HEX_BYTES], int64_t *bytes, ep_error *error) {
  return ep_weights_add(NULL, path, plan, state, scaling, spec_text, sha256, bytes, error);
}

/* One expected tensor is in the file, in its shape. */
static ep_status tensor_check(const ep_tensors *file, const ep_tensor *expected, ep_error *error) {
  static const char pointer[] = "/model/init";
  char there[EP_TENSOR_SHAPE_BYTES], wanted[EP_TENSOR_SHAPE_BYTES];
  const ep_tensor *tensor = ep_tensors_find(file, expected->name);
  if (!tensor)
    return ep_fail_at(error, EP_INVALID, pointer, "the weights have no tensor \"%s\"%s%s",
                      expected->name, ", of shape ", ep_tensor_shape_format(expected, wanted));
  if (tensor->whole)
    return ep_fail_at(error, EP_INVALID, pointer, "the tensor \"%s\" has int64, not float32",
                      expected->name);
  if (ep_tensor_shape_same(tensor, expected)) return EP_OK;
  return ep_fail_at(error, EP_INVALID, pointer, "the tensor \"%s\" has shape %s, the model's is %s",
                    expected->name, ep_tensor_shape_format(tensor, there),
                    ep_tensor_shape_format(expected, wanted));
}

static ep_status all_check(const ep_tensors *file, const ep_tensors *expected, ep_error *error) {
  ep_status status = EP_OK;
  for (size_t i = 0; i < expected->tensors_count && status == EP_OK; i++)
    status = tensor_check(file, &expected->tensor[i], error);
  return status;
}

/* What lies in a file comes page by page, and several threads wait for pages at the same time. */
typedef struct {
  float *to;
  const uint8_t *from;
} tensor_copy;

static void values_copy(void *context, int64_t first, int64_t count) {
  const tensor_copy *copy = context;
  memcpy(copy->to + first, copy->from + (size_t)first * sizeof *copy->to,
         (size_t)count * sizeof *copy->to);
}

/* `expected` is listed from `state`, and says where in it each tensor has its place. */
static void all_copy(const ep_tensors *file, const ep_tensors *expected, float *state) {
  for (size_t i = 0; i < expected->tensors_count; i++) {
    const ep_tensor *to = &expected->tensor[i], *from = ep_tensors_find(file, to->name);
    float *place = state + ((const float *)(const void *)to->bytes - state);
    tensor_copy copy = {place, from->bytes};
    ep_parallel_run(to->values_count, COPIED_LEAST, values_copy, &copy);
  }
}

/* Tensors that are weights. */
static size_t weights_count(const ep_tensors *file) {
  size_t count = 0;
  for (size_t i = 0; i < file->tensors_count; i++)
    count += strncmp(file->tensor[i].name, EP_CHECKPOINT_TENSOR_PREFIX,
                     sizeof EP_CHECKPOINT_TENSOR_PREFIX - 1) != 0;
  return count;
}

/* state NULL: only looked at. `exact`: and no tensor more. */
static ep_status state_read(const ep_tensors *file, const ep_plan *plan, bool exact, float *state,
                            ep_error *error) {
  ep_tensors expected;
  ep_status status = ep_weights_list(plan, state, &expected, error);
  if (status == EP_OK && exact && weights_count(file) != expected.tensors_count)
    status = ep_fail(error, EP_DATA, "weights: %zu tensors, the model has %zu", weights_count(file),
                     expected.tensors_count);
  if (status == EP_OK) status = all_check(file, &expected, error);
  if (status == EP_OK && state) all_copy(file, &expected, state);
  ep_tensors_close(&expected);
  return status;
}

ep_status ep_weights_take(const ep_tensors *file, const ep_plan *plan, float *state,
                          ep_error *error) {
  return state_read(file, plan, true, state, error);
}

ep_status ep_weights_load_into(const char *path, const ep_plan *plan, float *state,
                               ep_error *error) {
  ep_tensors file;
  ep_status status = ep_tensors_open(path, &file, error);
  if (status != EP_OK) return status;
  status = state_read(&file, plan, false, state, error);
  ep_tensors_close(&file);
  return status;
}

ep_status ep_weights_check(const char *path, const ep_plan *plan, ep_error *error) {
  return ep_weights_load_into(path, plan, NULL, error);
}
