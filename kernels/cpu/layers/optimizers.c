#include "kernels/cpu/layers/optimizers.h"

#include "kernels/formulas/optimizers.h"

/* Of all gradients that are not frozen. */
static double gradient_norm(const ep_program *program, const double *grad) {
  double squares = 0;
  for (int g = 0; g < program->groups_count; g++) {
    const ep_parameter_group *group = &program->groups[g];
    if (group->frozen) continue;
    for (int64_t i = group->first; i < group->first + group->count; i++) {
      squares += grad[i] * grad[i];
    }
  }
  return sqrt(squares);
}

void ep_reference_update(const ep_program *program, int64_t step, float lr, ep_real *parameters,
                         const double *grad, ep_real *state) {
  const ep_optimizer *optimizer = &program->optimizer;
  ep_optimizer_step constants = ep_optimizer_step_make(optimizer, lr, step + 1);
  ep_real scale =
      optimizer->clip_norm > 0 ? ep_clip_scale(optimizer, gradient_norm(program, grad)) : 1;
  for (int g = 0; g < program->groups_count; g++) {
    const ep_parameter_group *group = &program->groups[g];
    if (group->frozen) continue;
    for (int64_t i = group->first; i < group->first + group->count; i++) {
      parameters[i] = ep_optimizer_update(optimizer, &constants, group->weight_decay, parameters[i],
                                          ep_clip(optimizer, scale, (ep_real)grad[i]), state + i,
                                          program->parameters);
    }
  }
}
