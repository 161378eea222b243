/* estimate.c: how long a training would take on a device, all in all: what its executor needs to
 * start, and its steps. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "api/responses/validation.h"
#include "engine/plan/cost.h"
#include "engine/plan/parts.h"
#include "kernels/formulas/optimizers.h"

/* Rows on their way to a GPU: a PCIe link's, and less for what is not pinned. */
#define COPY_BYTES_PER_SECOND 5e9
/* A validation split is looked at between two segments; what the end and the beginning of one cost.
 */
#define CPU_SEGMENT_SECONDS 2e-6
#define CUDA_SEGMENT_SECONDS 80e-6

/* What the executor costs on the device; false when the device has none. A CPU has all of them: a
 * calibration without one is older than it. */
static bool cost_find(const ep_executor_profile *executor, const ep_calibration *calibration,
                      ep_executor_cost *out) {
  const ep_executor_cost *found =
      calibration ? ep_calibration_find(calibration, executor->name) : NULL;
  *out = found ? *found : ep_cost_usual(executor);
  return found || !calibration || strncmp(executor->name, "cpu/", 4) == 0;
}

/* The executor that the job names, or the one that the device would choose, and its cost; NULL when
 * the device has none. */
static const ep_executor_profile *executor_choose(const ep_plan *plan, const ep_job_spec *spec,
                                                  const ep_device_info *device,
                                                  const ep_calibration *calibration,
                                                  ep_executor_cost *cost) {
  int count;
  const ep_executor_profile *const *executors = ep_cost_executors(device->id, &count);
  for (int i = 0; i < count; i++) {
    bool named = spec->executor[0] != 0;
    if (named && strcmp(spec->executor, executors[i]->name) != 0) continue;
    if ((named ? ep_cost_executor_can : ep_cost_executor_takes)(executors[i], plan, device) &&
        cost_find(executors[i], calibration, cost))
      return executors[i];
  }
  return NULL;
}

/* Steps of all epochs. The last batch of an epoch may be smaller. */
static double steps_seconds(const ep_executor_profile *executor, const ep_executor_cost *cost,
                            const ep_plan *plan, const ep_device_info *device, double epochs) {
  const ep_program *program = &plan->program;
  int64_t last = ep_program_steps_per_epoch(program) - 1;
  double full = ep_cost_step_seconds(executor, cost, plan, device, program->batch_size);
  double rest =
      ep_cost_step_seconds(executor, cost, plan, device, ep_program_batch_rows(program, last));
  return epochs * ((double)last * full + rest);
}

/* The validation split, at each report: a third of what a step of as many rows takes. */
static double validation_seconds(const ep_executor_profile *executor, const ep_executor_cost *cost,
                                 const ep_plan *plan, const ep_device_info *device,
                                 const ep_job_spec *spec) {
  int64_t rows = plan->shape.validation_rows;
  if (rows == 0 || spec->report_every < 1) return 0;
  bool cpu = strcmp(device->id, "cpu") == 0;
  double reports = ceil((double)spec->epochs / (double)spec->report_every);
  if (spec->report_every > 1) reports++; /* the first epoch */
  double forward = ep_cost_step_seconds(executor, cost, plan, device, rows) / 3;
  return reports * (forward + (cpu ? CPU_SEGMENT_SECONDS : CUDA_SEGMENT_SECONDS));
}

static double copy_seconds(const ep_plan *plan, const ep_device_info *device) {
  const ep_data_shape *shape = &plan->shape;
  if (strcmp(device->id, "cpu") == 0) return 0;
  double rows = (double)(shape->train_rows + shape->validation_rows + shape->test_rows);
  double x_bytes = plan->program.x_type == EP_X_UINT8 ? 1 : sizeof(float);
  return rows * ((double)shape->features * x_bytes + sizeof(float)) / COPY_BYTES_PER_SECOND;
}

/* Compiling is paid once, however many jobs come: each of those that came counts a share of it, so
 * that a program which is asked for again and again is given to the device in the end. */
static double start_seconds(const ep_executor_cost *cost, const ep_program_past *past) {
  double compiling = fmax(0, cost->start_seconds - cost->again_seconds);
  if (past && past->compiled) compiling = 0;
  return cost->again_seconds + compiling / (double)(past ? past->asked + 1 : 1);
}

/* Whether a program is compiled for the executor before its first step. */
static bool compiles(const ep_executor_profile *executor) {
  const double loading_seconds = 0.1;
  return executor->start_seconds > executor->again_seconds + loading_seconds;
}

void ep_program_past_note(ep_program_past *past, const char *executor, double epoch_seconds) {
  const ep_executor_profile *profile = ep_cost_executor_find(executor);
  if (!profile) return;
  float *least = &past->epoch_seconds[ep_cost_executor_index(profile)];
  if (*least == 0 || epoch_seconds < *least) *least = (float)epoch_seconds;
}

/* Of a training by an executor of this cost. */
static ep_estimate executor_estimate(const ep_executor_profile *executor,
                                     const ep_executor_cost *cost, const ep_plan *plan,
                                     const ep_job_spec *spec, const ep_device_info *device,
                                     const ep_calibration *calibration,
                                     const ep_program_past *past) {
  ep_estimate estimate = {.calibrated = calibration != NULL};
  snprintf(estimate.device, sizeof estimate.device, "%s", device->id);
  snprintf(estimate.executor, sizeof estimate.executor, "%s", executor->name);
  estimate.cores = ep_cost_cores(executor, plan, device);
  double past_seconds = past ? past->epoch_seconds[ep_cost_executor_index(executor)] : 0;
  estimate.measured = past_seconds > 0;
  estimate.start_seconds = start_seconds(cost, past) + copy_seconds(plan, device);
  estimate.model_seconds = steps_seconds(executor, cost, plan, device, (double)spec->epochs);
  double epochs_seconds = estimate.model_seconds * (cost->drift > 0 ? cost->drift : 1);
  if (estimate.measured) epochs_seconds = (double)spec->epochs * past_seconds;
  estimate.seconds = estimate.start_seconds + epochs_seconds +
                     validation_seconds(executor, cost, plan, device, spec);
  return estimate;
}

/* Takes it over the best where an executor that need not be compiled has ended sooner. */
static void sooner_take(const ep_plan *plan, const ep_job_spec *spec, const ep_device_info *device,
                        const ep_calibration *calibration, const ep_program_past *past,
                        ep_estimate *best) {
  int count;
  const ep_executor_profile *const *executors = ep_cost_executors(device->id, &count);
  for (int i = 0; i < count; i++) {
    ep_executor_cost cost;
    if (compiles(executors[i]) || !ep_cost_executor_can(executors[i], plan, device) ||
        !cost_find(executors[i], calibration, &cost))
      continue;
    const ep_estimate of =
        executor_estimate(executors[i], &cost, plan, spec, device, calibration, past);
    if (of.seconds < best->seconds) *best = of;
  }
}

ep_estimate ep_plan_estimate(const ep_plan *plan, const ep_job_spec *spec,
                             const ep_device_info *device, const ep_calibration *calibration,
                             const ep_program_past *past) {
  ep_estimate estimate = {.seconds = INFINITY, .calibrated = calibration != NULL};
  snprintf(estimate.device, sizeof estimate.device, "%s", device->id);
  ep_executor_cost cost;
  const ep_executor_profile *executor = executor_choose(plan, spec, device, calibration, &cost);
  if (!executor) return estimate;
  estimate = executor_estimate(executor, &cost, plan, spec, device, calibration, past);
  if (!spec->executor[0] && compiles(executor) && !(past && past->compiled))
    sooner_take(plan, spec, device, calibration, past, &estimate);
  return estimate;
}

/* FNV-1a, 64 bits (Fowler, Noll, Vo), of a number's bytes. */
static uint64_t mixed(uint64_t hash, int64_t value) {
  for (int shift = 0; shift < 64; shift += 8)
    hash = (hash ^ ((uint64_t)value >> shift & 0xFF)) * UINT64_C(1099511628211);
  return hash;
}

/* Counts of features alone do not tell convolutions apart: 16 channels at stride 1 have as many
 * outputs as 64 at stride 2, and the next layer four times the products. */
static uint64_t op_mixed(uint64_t hash, const ep_op *op) {
  hash = mixed(hash, op->type);
  hash = mixed(hash, op->in_features);
  hash = mixed(hash, op->out_features);
  hash = mixed(hash, op->in.channels);
  hash = mixed(hash, op->out.channels);
  for (int i = 0; i < 2; i++) {
    hash = mixed(hash, op->kernel[i]);
    hash = mixed(hash, op->stride[i]);
    hash = mixed(hash, op->padding[i]);
    hash = mixed(hash, op->dilation[i]);
  }
  hash = mixed(hash, op->groups);
  hash = mixed(hash, op->embeddings);
  hash = mixed(hash, op->numbers);
  for (int k = 0; k < op->inputs; k++) hash = mixed(hash, op->input[k]);
  hash = mixed(hash, op->axis);
  hash = mixed(hash, op->start);
  for (int side = 0; side < EP_SHAPE_SIDES; side++) hash = mixed(hash, op->order[side]);
  hash = mixed(hash, op->causal);
  hash = mixed(hash, op->sync);
  for (int k = 2; ep_op_parameter(op, k); k++) hash = mixed(hash, ep_op_own_count(op, k));
  return mixed(hash, op->bias >= 0);
}

/* Rows on their way into a batch. */
static uint64_t rows_mixed(uint64_t hash, const ep_program *program) {
  hash = mixed(hash, program->train_rows);
  hash = mixed(hash, program->batch_size);
  hash = mixed(hash, program->x_type);
  hash = mixed(hash, ep_shape_count(program->stored));
  hash = mixed(hash, program->augment.shift > 0);
  hash = mixed(hash, program->augment.flip);
  return mixed(hash, ep_program_shuffles(program));
}

static uint64_t ranks_mixed(uint64_t hash, const ep_program *program) {
  const ep_parallel *parallel = &program->parallel;
  int stages = ep_program_stages(program);
  hash = mixed(hash, ep_program_replicas(program));
  hash = mixed(hash, parallel->micro_batches);
  for (int i = 0; i < stages; i++) hash = mixed(hash, parallel->stage_first[i]);
  return hash;
}

uint64_t ep_plan_signature(const ep_plan *plan) {
  const ep_program *program = &plan->program;
  uint64_t hash = UINT64_C(14695981039346656037);
  for (int i = 0; i < program->ops_count; i++) hash = op_mixed(hash, &program->ops[i]);
  hash = mixed(hash, program->loss);
  hash = mixed(hash, program->optimizer.type);
  hash = mixed(hash, ep_optimizer_slots(&program->optimizer));
  hash = mixed(hash, program->optimizer.clip_norm > 0);
  hash = mixed(hash, program->optimizer.clip_value > 0);
  for (int i = 0; i < program->groups_count; i++) hash = mixed(hash, program->groups[i].frozen);
  hash = mixed(hash, program->precision);
  hash = rows_mixed(hash, program);
  hash = ranks_mixed(hash, program);
  return hash ? hash : 1;
}
