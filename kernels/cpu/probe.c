#include "kernels/cpu/probe.h"

#include <math.h>

#include "kernels/cpu/executors/list.h"
#include "kernels/cpu/runtime/cpu.h"

/* y = 2 x + 1 at x = -1, 0, 1, 2 from w = b = 0, full batch, lr 0.25. By hand:
 * loss (1 + 1 + 9 + 25) / 4 = 9, grad w = 2/4 * -(1 + 0 + 3 + 10) = -7, grad b = 2/4 * -8 = -4:
 * the first step leaves w = 1.75, b = 1, and 200 find w = 2, b = 1: 21 at x = 10. */
enum { ROWS = 4, STEPS = 200 };
static const float x[ROWS] = {-1, 0, 1, 2}, y[ROWS] = {-1, 1, 3, 5};

static bool near(double number, double expected) {
  return fabs(number - expected) <= 1e-4; /* NaN is not near */
}

static const ep_op linear = {.type = EP_LAYER_LINEAR,
                             .inputs = 1,
                             .in = {1, 1, 1},
                             .out = {1, 1, 1},
                             .in_features = 1,
                             .out_features = 1,
                             .weight = 0,
                             .bias = 1,
                             .running = -1};
static const ep_parameter_group both = {.first = 0, .count = 2};
static const ep_program program = {.ops = &linear,
                                   .ops_count = 1,
                                   .stored = {1, 1, 1},
                                   .in = {1, 1, 1},
                                   .in_features = 1,
                                   .out_features = 1,
                                   .target_columns = 1,
                                   .parameters = 2,
                                   .groups = &both,
                                   .groups_count = 1,
                                   .loss = EP_LOSS_MSE,
                                   .train_rows = ROWS,
                                   .batch_size = ROWS,
                                   .max_predict_rows = ROWS};

/* Trains `self`; *right becomes whether all numbers are those worked out above. */
static ep_status train_and_check(const ep_executor *executor, void *self, bool *right,
                                 ep_error *error) {
  float loss[STEPS] = {0}, parameters[2] = {0, 0}, lr = 0.25f, output = 0, ten = 10;
  int32_t errors[STEPS];
  ep_segment first = {.steps = 1, .lr = &lr, .lr_count = 1, .loss = loss, .errors = errors};
  ep_segment rest = {.first_step = 1,
                     .steps = STEPS - 1,
                     .lr = &lr,
                     .lr_count = 1,
                     .loss = loss + 1,
                     .errors = errors + 1};
  ep_status status = executor->import_state(self, parameters, NULL, error);
  if (status == EP_OK) status = executor->load_data(self, EP_SPLIT_TRAIN, x, y, ROWS, error);
  if (status == EP_OK) status = executor->train_segment(self, &first, error);
  if (status == EP_OK) status = executor->export_state(self, parameters, NULL, error);
  *right = near(loss[0], 9) && near(parameters[0], 1.75) && near(parameters[1], 1);
  if (status == EP_OK) status = executor->train_segment(self, &rest, error);
  if (status == EP_OK) status = executor->predict(self, &ten, 1, &output, error);
  *right = *right && near(loss[STEPS - 1], 0) && near(output, 21);
  return status;
}

ep_status ep_cpu_probe_executor(ep_backend *backend, const ep_executor *executor, ep_error *error) {
  const ep_device_traits device = {.cpu = {.threads = backend->threads}};
  if (!ep_executor_can(executor->profile, &program, &device)) return EP_OK;
  void *self = NULL;
  bool right = false;
  ep_status status = executor->create(backend, &program, &self, error);
  if (status != EP_OK) return status;
  status = train_and_check(executor, self, &right, error);
  executor->destroy(self);
  if (status != EP_OK || right) return status;
  return ep_fail(error, EP_DEVICE, "%s computes wrong results on this processor (%s)",
                 executor->profile->name, ep_instruction_set_name(backend->instruction_set));
}

ep_status ep_cpu_probe(ep_backend *backend, ep_error *error) {
  int count;
  const ep_executor *const *executors = ep_cpu_executors(&count);
  ep_status status = EP_OK;
  for (int i = 0; i < count && status == EP_OK; i++) {
    status = ep_cpu_probe_executor(backend, executors[i], error);
  }
  return status;
}
