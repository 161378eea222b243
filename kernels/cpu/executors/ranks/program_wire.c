#include "kernels/cpu/executors/ranks/program_wire.h"

#include <string.h>

#include "api/limits.h"

/* The arrays, longest alignment first, so that each begins where its elements may. */
static void counts_find(const ep_program *program, size_t count[EP_PROGRAM_PARTS]) {
  size_t floats = sizeof(float);
  count[0] = sizeof *program;
  count[1] = (size_t)program->ops_count * sizeof *program->ops;
  count[2] = (size_t)program->groups_count * sizeof *program->groups;
  count[3] = program->class_weights ? (size_t)program->out_features * floats : 0;
  count[4] = program->x_scale ? (size_t)program->stored.channels * floats : 0;
  count[5] = program->x_shift ? (size_t)program->stored.channels * floats : 0;
}

void ep_program_parts(const ep_program *program, const void *parts[EP_PROGRAM_PARTS],
                      size_t count[EP_PROGRAM_PARTS]) {
  counts_find(program, count);
  parts[0] = program;
  parts[1] = program->ops;
  parts[2] = program->groups;
  parts[3] = program->class_weights;
  parts[4] = program->x_scale;
  parts[5] = program->x_shift;
}

/* Whether no product of counts_find overflows. */
static bool counts_fit(const ep_program *program) {
  return program->ops_count >= 1 && program->ops_count <= EP_LIMIT_FEATURES &&
         program->groups_count >= 0 && program->groups_count <= EP_LIMIT_FEATURES &&
         program->out_features >= 1 && program->out_features <= EP_LIMIT_FEATURES &&
         program->stored.channels >= 1 && program->stored.channels <= EP_LIMIT_FEATURES;
}

/* A byte that is neither 0 nor 1 is no bool, and may not be read as one. */
static bool is_bool(const bool *value) {
  unsigned char byte;
  memcpy(&byte, value, sizeof byte);
  return byte <= 1;
}

static bool bools_fit(const ep_program *program) {
  bool fit = is_bool(&program->shuffle) && is_bool(&program->augment.flip) &&
             is_bool(&program->optimizer.nesterov) && is_bool(&program->optimizer.centered);
  for (int i = 0; fit && i < program->ops_count; i++)
    fit = is_bool(&program->ops[i].sync) && is_bool(&program->ops[i].is_1d) &&
          is_bool(&program->ops[i].causal);
  for (int i = 0; fit && i < program->groups_count; i++) fit = is_bool(&program->groups[i].frozen);
  return fit;
}

ep_status ep_program_unpack(void *bytes, size_t count, ep_program **out, ep_error *error) {
  size_t part[EP_PROGRAM_PARTS], sum = 0;
  ep_program *program = bytes;
  _Static_assert(sizeof *program % 8 == 0 && sizeof *program->ops % 8 == 0 &&
                     sizeof *program->groups % 8 == 0,
                 "what follows is aligned");
  if (count < sizeof *program || !counts_fit(program))
    return ep_fail(error, EP_MALFORMED, "no program");
  counts_find(program, part);
  for (int i = 0; i < EP_PROGRAM_PARTS; i++) sum += part[i];
  if (sum != count) return ep_fail(error, EP_MALFORMED, "a program of another length");
  char *at = (char *)bytes + part[0];
  program->ops = (const ep_op *)(void *)at;
  at += part[1];
  program->groups = part[2] ? (const ep_parameter_group *)(void *)at : NULL;
  at += part[2];
  program->class_weights = part[3] ? (const float *)(void *)at : NULL;
  at += part[3];
  program->x_scale = part[4] ? (const float *)(void *)at : NULL;
  at += part[4];
  program->x_shift = part[5] ? (const float *)(void *)at : NULL;
  if (!bools_fit(program)) return ep_fail(error, EP_MALFORMED, "a program of other values");
  *out = program;
  return EP_OK;
}
