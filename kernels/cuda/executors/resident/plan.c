#include "kernels/cuda/executors/resident/plan.h"

#include "kernels/operators/operator.h"
#include "kernels/plans/work.h"

enum {
  WARP = EP_GPU_WARP,
  BLOCK_THREADS = 128, /* a warp for each of a multiprocessor's four schedulers */
  BLOCKS_MAX = EP_GPU_CLUSTER_BLOCKS,
  THREAD_ROWS = 4,    /* at most, where another block would take some */
  REGISTERS = 192,    /* of a thread, for parameters, sums and rows */
  WIDTHS_MAX = 96,    /* what a row holds on its way, in registers as well */
  ROWS_MAX = 32768,   /* the order of an epoch lies in shared memory … */
  SUMS_BYTES = 14336, /* … beside what the warps exchange, at most so much */
  FUSED_ROWS = 8192,  /* from here on few multiprocessors are not enough */
  SUMS_MAX = (EP_RESIDENT_PARAMETERS_MAX + 2 + WARP - 1) / WARP * WARP
};
_Static_assert((3 * BLOCK_THREADS / WARP + 2 * BLOCKS_MAX) * SUMS_MAX * sizeof(float) <= SUMS_BYTES,
               "what the order of an epoch leaves room for");

/* --- the plan ------------------------------------------------------------------------------ */

/* As few blocks as give a thread no more than four rows: another block costs a barrier of the
 * cluster, which is as much as some twenty rows of a small network. */
static ep_resident_plan plan_choose(const ep_program *program, const ep_gpu_traits *gpu) {
  ep_resident_plan plan = {1, BLOCK_THREADS};
  while (plan.threads > WARP && program->batch_size <= plan.threads / 2) plan.threads /= 2;
  int most = ep_gpu_features(gpu->capability) & EP_GPU_CLUSTERS ? BLOCKS_MAX : 1;
  while (plan.blocks < most &&
         program->batch_size > (int64_t)plan.blocks * plan.threads * THREAD_ROWS)
    plan.blocks *= 2;
  return plan;
}

static bool order_fits(const ep_program *program, const ep_gpu_traits *gpu) {
  int64_t bytes = ep_gpu_shared_bytes(gpu->capability) - SUMS_BYTES;
  return !ep_program_shuffles(program) || (program->train_rows <= ROWS_MAX &&
                                           program->train_rows * (int64_t)sizeof(int32_t) <= bytes);
}

bool ep_resident_plan_make(const ep_program *program, const ep_gpu_traits *gpu,
                           ep_resident_plan *out) {
  int64_t widths = program->in_features + program->target_columns;
  for (int i = 0; i < program->ops_count; i++) widths += program->ops[i].out_features;
  *out = plan_choose(program, gpu);
  return ep_program_is_resident(program) && ep_program_takes_numbers(program) &&
         ep_program_trains(program) && program->parameters <= EP_RESIDENT_PARAMETERS_MAX &&
         widths <= WIDTHS_MAX && order_fits(program, gpu);
}

static int64_t sums_of(const ep_program *program) {
  return (program->parameters + 2 + WARP - 1) / WARP * WARP;
}

int64_t ep_resident_plan_shared_bytes(const ep_program *program, const ep_resident_plan *plan) {
  const int64_t sums = sums_of(program), warps = plan->threads / WARP, blocks = plan->blocks;
  const int64_t floats = 2 * warps * sums + (blocks > 1 ? 2 : 1) * blocks * sums + warps * sums;
  const int64_t order = ep_program_shuffles(program) ? program->train_rows : 0;
  return (floats + order) * (int64_t)sizeof(float);
}

/* --- the profile --------------------------------------------------------------------------- */

static bool accepts(const ep_program *program, const ep_device_traits *device) {
  ep_resident_plan plan;
  return ep_resident_plan_make(program, &device->gpu, &plan);
}

/* Whoever waits for all multiprocessors is slower, until a batch has many rows. */
static double cycles(const ep_program *program, const ep_device_traits *device) {
  const double few_multiprocessors = 4; /* what the usual costs do not tell */
  if (program->batch_size < FUSED_ROWS) return 0;
  return few_multiprocessors * ep_executor_usual_cycles(&ep_cuda_resident_profile, program, device);
}

/* Multiply-adds of a row, one after the other, and what is as dear: one with fewer than four beside
 * it waits for the one before. */
static double row_products(const ep_program *program) {
  const double beside = 4, value = 5;
  double sum = 0;
  bool first = true;
  for (int i = 0; i < program->ops_count; i++) {
    const ep_op *op = &program->ops[i];
    double in = (double)op->in_features, out = (double)op->out_features;
    if (op->type != EP_LAYER_LINEAR) {
      sum += value * ep_op_value_work(op) * out;
      continue;
    }
    sum += in * fmax(out, beside) + in * out + (first ? 0 : out * fmax(in, beside));
    first = false;
  }
  return sum;
}

/* A few rows a thread, one after the other, then the sums of all threads, whose exchange within a
 * warp is the multiprocessor's. Rows that a thread has no registers for are read again in each
 * step, each lane from a line of its own. */
static void work(const ep_program *program, const ep_device_traits *device, int64_t rows,
                 double units[EP_LIMIT_COST_TERMS]) {
  const ep_resident_plan plan = plan_choose(program, &device->gpu);
  const double blocks = plan.blocks, warps = plan.threads / WARP;
  const double turns = ceil((double)rows / (blocks * plan.threads));
  const double row_values = (double)(program->in_features + program->target_columns);
  const double sums = (double)sums_of(program);
  const bool kept = !ep_program_shuffles(program) && program->batch_size == program->train_rows &&
                    turns * row_values + (double)program->parameters + sums <= REGISTERS;
  units[0] = 1;
  units[1] = turns * row_products(program);
  units[2] = ep_program_work(program).stages;
  units[3] = sums * warps;
  units[4] = blocks > 1;
  units[5] = blocks > 1 ? blocks : 0;
  units[6] = kept ? 0 : turns * warps * row_values;
}

static const ep_calibration_program programs[] = {
    {.in_features = 2, .width = 2, .hidden = 1, .rows = 4},
    {.in_features = 6, .width = 6, .hidden = 1, .rows = 321},
    {.in_features = 12, .width = 5, .hidden = 1, .rows = 1000},
    {.in_features = 16, .width = 2, .hidden = 2, .rows = 8192},
};

const ep_executor_profile ep_cuda_resident_profile = {
    .name = "cuda/resident",
    .capabilities = {EP_CAPABLE_DENSE_LAYERS, EP_CAPABLE_ELEMENT_LOSSES | EP_CAPABLE_CLASS_LOSSES,
                     EP_CAPABLE_OPTIMIZERS},
    .accepts = accepts,
    .cycles = cycles,
    .work = work,
    .terms = {{"step", 2.4e-7},
              {"multiply-adds in turn", 8.4e-10},
              {"stages", 4.8e-8},
              {"sums of warps", 6.9e-10},
              {"barrier of a cluster", 3e-7},
              {"blocks of a cluster", 5e-8},
              {"values read by warps", 8.3e-9}},
    .start_seconds = 0.35,
    .again_seconds = 3e-3,
    EP_CALIBRATION_PROGRAMS(programs),
};
