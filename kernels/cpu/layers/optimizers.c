#include "kernels/cpu/layers/optimizers.h"

#include "kernels/formulas/optimizers.h"

/* The part of a group within first … end - 1. */
static ep_parameter_group group_within(const ep_parameter_group *group, int64_t first,
                                       int64_t end) {
  ep_parameter_group part = *group;
  int64_t group_end = group->first + group->count;
  if (part.first < first) part.first = first;
  if (group_end > end) group_end = end;
  part.count = group_end > part.first ? group_end - part.first : 0;
  return part;
}

double ep_reference_squares(const ep_program *program, const double *grad, int64_t first,
                            int64_t end) {
  double squares = 0;
  for (int g = 0; g < program->groups_count; g++) {
    const ep_parameter_group group = group_within(&program->groups[g], first, end);
    if (group.frozen) continue;
    for (int64_t i = group.first; i < group.first + group.count; i++) {
      squares += grad[i] * grad[i];
    }
  }
  return squares;
}

void ep_reference_update_range(const ep_program *program, int64_t step, float lr, double squares,
                               int64_t first, int64_t end, ep_real *parameters, const double *grad,
                               ep_real *state) {
  const ep_optimizer *optimizer = &program->optimizer;
  ep_optimizer_step constants = ep_optimizer_step_make(optimizer, lr, step + 1);
  ep_real scale = optimizer->clip_norm > 0 ? ep_clip_scale(optimizer, sqrt(squares)) : 1;
  for (int g = 0; g < program->groups_count; g++) {
    const ep_parameter_group group = group_within(&program->groups[g], first, end);
    if (group.frozen) continue;
    for (int64_t i = group.first; i < group.first + group.count; i++) {
      parameters[i] = ep_optimizer_update(optimizer, &constants, group.weight_decay, parameters[i],
                                          ep_clip(optimizer, scale, (ep_real)grad[i]), state + i,
                                          program->parameters);
    }
  }
}

void ep_reference_update(const ep_program *program, int64_t step, float lr, ep_real *parameters,
                         const double *grad, ep_real *state) {
  double squares = program->optimizer.clip_norm > 0
                       ? ep_reference_squares(program, grad, 0, program->parameters)
                       : 0;
  ep_reference_update_range(program, step, lr, squares, 0, program->parameters, parameters, grad,
                            state);
}
