/* estimate.c: how long a training would take on a kind of device: rough, and honest about the one
 * thing that decides: arithmetic on the CPU, launches on the GPU. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "engine/plan.h"

/* One core on small nets, samples across SIMD lanes: between the 10 GFLOP/s of a loop with AVX2 and
 * the 80 that AVX-512 reaches when all stays in registers. */
#define CPU_OPERATIONS_PER_SECOND 15e9
/* Plain loops, which take what cpu/fused leaves: the two limits are its own. */
#define CPU_WIDE_OPERATIONS_PER_SECOND 2e9
enum { CPU_FUSED_FEATURES_MAX = 1 << 14, CPU_FUSED_PARAMETERS_MAX = 1 << 24 };
/* Finding the rows of a batch and updating: what a step costs beside its arithmetic. */
#define CPU_STEP_SECONDS 0.2e-6
/* A launch from the host, and how many a linear layer needs: forward, and two gradients. */
#define CUDA_LAUNCH_SECONDS 4e-6
#define CUDA_LAUNCHES_PER_LINEAR 3
/* float32 without tensor cores at middle sizes, a third of an H200's peak of 67 TFLOP/s. */
#define CUDA_OPERATIONS_PER_SECOND 20e12

static int64_t widest(const ep_plan *plan) {
  int64_t width = plan->program.in_features;
  for (int i = 0; i < plan->program.ops_count; i++)
    if (plan->ops[i].out_features > width) width = plan->ops[i].out_features;
  return width;
}

static int linear_layers(const ep_plan *plan) {
  int count = 0;
  for (int i = 0; i < plan->program.ops_count; i++) count += plan->ops[i].type == EP_LAYER_LINEAR;
  return count;
}

ep_estimate ep_plan_estimate(const ep_plan *plan, const ep_job_spec *spec,
                             const char *device_kind) {
  ep_estimate estimate = {.seconds = INFINITY};
  double operations = (double)plan->operations * (double)spec->epochs;
  double steps = (double)ep_program_steps_per_epoch(&plan->program) * (double)spec->epochs;
  const char *executor = "";
  if (strcmp(device_kind, "cpu") == 0) {
    bool wide = widest(plan) > CPU_FUSED_FEATURES_MAX ||
                plan->parameters > CPU_FUSED_PARAMETERS_MAX ||
                strcmp(spec->executor, "cpu/reference") == 0;
    double rate = wide ? CPU_WIDE_OPERATIONS_PER_SECOND : CPU_OPERATIONS_PER_SECOND;
    executor = wide ? "cpu/reference" : "cpu/fused";
    estimate.seconds = operations / rate + steps * CPU_STEP_SECONDS;
  } else if (strcmp(device_kind, "cuda") == 0) {
    int launches = CUDA_LAUNCHES_PER_LINEAR * linear_layers(plan) + 1;
    executor = "cuda/general";
    estimate.seconds =
        operations / CUDA_OPERATIONS_PER_SECOND + steps * launches * CUDA_LAUNCH_SECONDS;
  }
  snprintf(estimate.device, sizeof estimate.device, "%s", device_kind);
  snprintf(estimate.executor, sizeof estimate.executor, "%s", executor);
  return estimate;
}
