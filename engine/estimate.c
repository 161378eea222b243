/* estimate.c: how long a training would take on a kind of device: rough, and honest about the one
 * thing that decides: arithmetic on the CPU, launches on the GPU. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "engine/plan_parts.h"

/* One core on small nets, samples across SIMD lanes: between the 10 GFLOP/s of a loop with AVX2 and
 * the 80 that AVX-512 reaches when all stays in registers. */
#define FUSED_OPERATIONS_PER_SECOND 15e9
/* Matrix products of a BLAS on a few cores, and what lies between them in loops. */
#define BLOCKED_OPERATIONS_PER_SECOND 40e9
/* Plain loops. */
#define REFERENCE_OPERATIONS_PER_SECOND 1e9
/* What cpu/fused takes: its own limits. */
enum { FUSED_FEATURES_MAX = 1 << 14, FUSED_PARAMETERS_MAX = 1 << 24 };
#define LAYER(type) (UINT64_C(1) << EP_LAYER_##type)
#define FUSED_LAYERS                                                                              \
  (LAYER(LINEAR) | LAYER(RELU) | LAYER(LEAKY_RELU) | LAYER(TANH) | LAYER(SIGMOID) | LAYER(GELU) | \
   LAYER(SIN) | LAYER(SOFTMAX) | LAYER(LOG_SOFTMAX) | LAYER(SILU) | LAYER(FLATTEN))
/* Finding the rows of a batch and updating: what a step costs beside its arithmetic; and waking the
 * threads where there are more than one. */
#define FUSED_STEP_SECONDS 0.2e-6
#define BLOCKED_STEP_SECONDS 50e-6
/* A launch from a graph, and how many a layer needs: forward, and one or two gradients. */
#define CUDA_LAUNCH_SECONDS 4e-6
/* float32 without tensor cores at middle sizes, a third of an H200's peak of 67 TFLOP/s. */
#define CUDA_OPERATIONS_PER_SECOND 20e12

static bool fused_takes(const ep_plan *plan) {
  const ep_program *program = &plan->program;
  bool plain = program->x_type == EP_X_FLOAT32 && !program->augment.shift &&
               !program->augment.flip && ep_shape_count(program->stored) == program->in_features &&
               program->label_smoothing == 0 && !program->class_weights &&
               program->optimizer.clip_norm == 0 && program->optimizer.clip_value == 0 &&
               program->groups_count <= 1 && !(program->groups_count && program->groups[0].frozen);
  if (!plain || plan->parameters > FUSED_PARAMETERS_MAX ||
      program->in_features > FUSED_FEATURES_MAX)
    return false;
  for (int i = 0; i < program->ops_count; i++)
    if (!(FUSED_LAYERS >> plan->ops[i].type & 1) || plan->ops[i].out_features > FUSED_FEATURES_MAX)
      return false;
  return true;
}

/* Launches of one step: the update, and each layer's; activations go with the layer before them. */
static int launches_count(const ep_plan *plan) {
  int launches = 1;
  for (int i = 0; i < plan->program.ops_count; i++) {
    const ep_op *op = &plan->ops[i];
    bool moves = op->in_features != op->out_features || op->weight >= 0;
    if (op->type == EP_LAYER_FLATTEN) continue;
    if (ep_op_products(op) > 0)
      launches += 3;
    else if (moves || op->type == EP_LAYER_RESIDUAL)
      launches += 2;
  }
  return launches;
}

static const char *cpu_executor(const ep_plan *plan, const ep_job_spec *spec) {
  if (strncmp(spec->executor, "cpu/", 4) == 0) return spec->executor;
  return fused_takes(plan) ? "cpu/fused" : "cpu/blocked";
}

static double cpu_seconds(const char *executor, double operations, double steps) {
  if (strcmp(executor, "cpu/fused") == 0)
    return operations / FUSED_OPERATIONS_PER_SECOND + steps * FUSED_STEP_SECONDS;
  if (strcmp(executor, "cpu/reference") == 0)
    return operations / REFERENCE_OPERATIONS_PER_SECOND + steps * FUSED_STEP_SECONDS;
  return operations / BLOCKED_OPERATIONS_PER_SECOND + steps * BLOCKED_STEP_SECONDS;
}

ep_estimate ep_plan_estimate(const ep_plan *plan, const ep_job_spec *spec,
                             const char *device_kind) {
  ep_estimate estimate = {.seconds = INFINITY};
  double operations = (double)plan->operations * (double)spec->epochs;
  double steps = (double)ep_program_steps_per_epoch(&plan->program) * (double)spec->epochs;
  const char *executor = "";
  if (strcmp(device_kind, "cpu") == 0) {
    executor = cpu_executor(plan, spec);
    estimate.seconds = cpu_seconds(executor, operations, steps);
  } else if (strcmp(device_kind, "cuda") == 0) {
    executor = "cuda/general";
    estimate.seconds = operations / CUDA_OPERATIONS_PER_SECOND +
                       steps * launches_count(plan) * CUDA_LAUNCH_SECONDS;
  }
  snprintf(estimate.device, sizeof estimate.device, "%s", device_kind);
  snprintf(estimate.executor, sizeof estimate.executor, "%s", executor);
  return estimate;
}
