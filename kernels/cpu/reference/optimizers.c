#include "kernels/cpu/reference/optimizers.h"

#include <assert.h>
#include <stddef.h>

#include "kernels/formulas/optimizers.h"

typedef void (*update_function)(const ep_optimizer *optimizer, ep_real lr, int64_t count,
                                ep_real *parameters, const double *grad, ep_real *state);

/* state: the velocity, [count] with momentum. */
static void update_sgd(const ep_optimizer *optimizer, ep_real lr, int64_t count,
                       ep_real *parameters, const double *grad, ep_real *state) {
  for (int64_t i = 0; i < count; i++) {
    ep_real *velocity = state ? &state[i] : NULL;
    parameters[i] = ep_sgd(optimizer, lr, parameters[i], (ep_real)grad[i], velocity);
  }
}

static const update_function updates[] = {[EP_OPTIMIZER_SGD] = update_sgd};
_Static_assert(sizeof updates / sizeof updates[0] == EP_OPTIMIZER_COUNT, "an optimizer has no row");

void ep_reference_update(const ep_optimizer *optimizer, ep_real lr, int64_t count,
                         ep_real *parameters, const double *grad, ep_real *state) {
  assert(optimizer->type < EP_OPTIMIZER_COUNT);
  updates[optimizer->type](optimizer, lr, count, parameters, grad, state);
}
