#include "tests/unit/kernels/cuda/grid_plans.h"

#include "tests/unit/kernels/programs.h"

const ep_optimizer ep_grid_sgd = {.type = EP_OPTIMIZER_SGD};
const ep_optimizer ep_grid_adam = {
    .type = EP_OPTIMIZER_ADAM, .beta1 = 0.9f, .beta2 = 0.99f, .eps = 1e-8f};

/* Ends the case; the program is gone. */
static bool plan_make(ep_case *self, ep_precision precision, int64_t batch_size,
                      const ep_optimizer *optimizer, int multiprocessors, ep_grid_plan *out) {
  ep_case_add_linear(self, 2, true);
  ep_case_finish(self, &(ep_case_training){.rows = 1000,
                                           .batch_size = batch_size,
                                           .shuffle = true,
                                           .steps = 1,
                                           .lr = 0.1f,
                                           .optimizer = *optimizer});
  self->program.precision = precision;
  bool made = ep_grid_plan_make(&self->program, multiprocessors, out);
  ep_case_destroy(self);
  return made;
}

bool ep_grid_plan_doubling(int layers, int64_t batch_size, const ep_optimizer *optimizer,
                           int multiprocessors, ep_grid_plan *out) {
  ep_case *self = ep_case_create("doubling", 2, EP_LOSS_CROSS_ENTROPY);
  for (int i = 1; i < layers; i++) {
    ep_case_add_linear(self, INT64_C(2) << i, true);
    ep_case_add(self, EP_LAYER_RELU);
  }
  return plan_make(self, EP_PRECISION_TF32, batch_size, optimizer, multiprocessors, out);
}

bool ep_grid_plan_wide(ep_precision precision, int64_t batch_size, const ep_optimizer *optimizer,
                       int multiprocessors, ep_grid_plan *out) {
  ep_case *self = ep_case_create("wide", 300, EP_LOSS_CROSS_ENTROPY);
  for (int width = 400; width <= 600; width += 100) {
    ep_case_add_linear(self, width, true);
    ep_case_add(self, EP_LAYER_RELU);
  }
  return plan_make(self, precision, batch_size, optimizer, multiprocessors, out);
}
