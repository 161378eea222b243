#include "kernels/cuda/population/plan.h"

#include "kernels/plans/capabilities.h"

enum {
  WARP = EP_GPU_WARP,
  LANES_PARAMETERS_MAX = 96, /* weights and sums: 192 of a thread's 255 registers */
  WIDTHS_MAX = 96,           /* what a row holds on its way, in registers as well */
  LANES_LEAST = 4,           /* of a member */
  LANE_ROWS = 16,            /* of a batch, that are worth a lane's share of the sums */
  REGISTERS_MORE = 44,       /* of a thread, beside weights, sums and a row */
  PERMUTATION_BYTES = 112
};

static int64_t up(int64_t count, int64_t multiple) {
  return (count + multiple - 1) / multiple * multiple;
}

/* --- what both ways ask -------------------------------------------------------------------- */

/* Bytes become numbers when they come to the device, so they may be stored as either. */
static bool takes(const ep_program *program) {
  const ep_capabilities can = {EP_CAPABLE_DENSE_LAYERS | EP_CAPABLE_LAYER(DROPOUT),
                               EP_CAPABLE_ELEMENT_LOSSES | EP_CAPABLE_CLASS_LOSSES,
                               EP_CAPABLE_OPTIMIZERS};
  return ep_capabilities_cover(can, ep_program_needs(program)) && ep_program_is_resident(program) &&
         !ep_program_augments(&program->augment, program->stored, program->in) &&
         ep_program_trains(program) && program->ops_count <= EP_POPULATION_OPS_MAX &&
         program->train_rows <= INT32_MAX / 2;
}

/* --- lanes --------------------------------------------------------------------------------- */

static int64_t widths_of(const ep_program *program) {
  int64_t widths = program->in_features + program->target_columns;
  for (int i = 0; i < program->ops_count; i++) widths += program->ops[i].out_features;
  return widths;
}

/* Threads of a multiprocessor, as far as their registers go. */
static int lanes_threads(const ep_program *program) {
  int64_t registers = 2 * program->parameters + widths_of(program) + REGISTERS_MORE;
  int threads = 512;
  while (threads > 256 && threads * registers > EP_GPU_REGISTERS) threads -= 128;
  return threads;
}

/* See `block_memory` in lanes.cuh. */
static int64_t lanes_shared_bytes(const ep_program *program, const ep_population_plan *plan) {
  int64_t spread = up(up(program->parameters + 1, plan->lanes), 4) * (int64_t)sizeof(float);
  int64_t order = ep_program_shuffles(program) ? PERMUTATION_BYTES * plan->members : 0;
  if (order == 0) order = PERMUTATION_BYTES;
  return up(spread * plan->members + order, 16);
}

static bool lanes_make(const ep_program *program, const ep_gpu_traits *gpu,
                       ep_population_plan *plan) {
  if (program->parameters > LANES_PARAMETERS_MAX || widths_of(program) > WIDTHS_MAX) return false;
  plan->file = "kernels/cuda/population/lanes.cuh";
  plan->kernel = "lanes";
  plan->lanes = LANES_LEAST;
  while (plan->lanes < WARP && program->batch_size >= 2 * plan->lanes * LANE_ROWS) plan->lanes *= 2;
  plan->threads = lanes_threads(program);
  plan->members = plan->threads / plan->lanes;
  plan->residents = plan->members * gpu->multiprocessors;
  plan->shared_bytes = lanes_shared_bytes(program, plan);
  int64_t rows = program->train_rows * up(program->in_features + program->target_columns, 4) * 4;
  plan->rows_shared = plan->shared_bytes + rows <= ep_gpu_shared_bytes(gpu->capability);
  if (plan->rows_shared) plan->shared_bytes += rows;
  return plan->shared_bytes <= ep_gpu_shared_bytes(gpu->capability);
}

bool ep_population_plan_make(const ep_program *program, const ep_gpu_traits *gpu,
                             ep_population_plan *out) {
  *out = (ep_population_plan){.threads = 0};
  return takes(program) &&
         (lanes_make(program, gpu, out) || ep_population_blocks_make(program, gpu, out));
}
