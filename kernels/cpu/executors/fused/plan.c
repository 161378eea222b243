#include "kernels/cpu/executors/fused/plan.h"

#include "kernels/operators/operator.h"
#include "kernels/plans/work.h"

/* --- how layers are cut -------------------------------------------------------------------- */

bool ep_fused_is_tiled(const ep_program *program, const ep_op *op) {
  return op->type == EP_LAYER_LINEAR && op->in_features >= EP_FUSED_TILED_IN_FEATURES &&
         op->out_features >= EP_FUSED_TILED_OUT_FEATURES &&
         program->batch_size >= EP_FUSED_TILED_BATCH_SIZE;
}

bool ep_fused_is_shared(const ep_program *program, const ep_op *op, bool tiles) {
  bool tiled = tiles && ep_fused_is_tiled(program, op);
  int64_t least = tiled ? EP_FUSED_SHARED_TILED_PRODUCTS : EP_FUSED_SHARED_PRODUCTS;
  int64_t rows = program->batch_size;
  if (rows > EP_FUSED_SHARED_ROWS) rows = EP_FUSED_SHARED_ROWS;
  return op->type == EP_LAYER_LINEAR && op->in_features <= EP_FUSED_FEATURES_MAX &&
         op->out_features <= EP_FUSED_FEATURES_MAX &&
         op->in_features * op->out_features * rows >= least;
}

int ep_fused_threads(const ep_program *program, bool tiles) {
  int64_t features = 0;
  for (int i = 0; i < program->ops_count; i++) {
    const ep_op *op = &program->ops[i];
    if (!ep_fused_is_shared(program, op, tiles)) continue;
    if (op->in_features > features) features = op->in_features;
    if (op->out_features > features) features = op->out_features;
  }
  return 1 + (int)(features / EP_FUSED_SHARED_FEATURES);
}

static bool any_is_shared(const ep_program *program, bool tiles) {
  for (int i = 0; i < program->ops_count; i++)
    if (ep_fused_is_shared(program, &program->ops[i], tiles)) return true;
  return false;
}

/* What a step takes of one core, about. */
static double step_us(const ep_program *program, bool tiles) {
  const double multiply_add_us = tiles ? 1e-5 : 3e-5, value_us = 3e-4;
  ep_network_work sum = ep_program_work(program);
  return (double)program->batch_size *
         (multiply_add_us * (sum.thin + sum.wide) + value_us * sum.values);
}

/* A part is worth a meeting of threads, some 3 us, and the adding up of its sums. */
static int parts_worth(const ep_program *program, bool tiles) {
  const double us = step_us(program, tiles), part_us = 20;
  const int64_t floats_most = 1 << 22, part_rows = 32, large_part_rows = 64;
  const bool shared = any_is_shared(program, tiles);
  int64_t most = program->batch_size / (shared || tiles ? large_part_rows : part_rows), parts = 1;
  if (most > floats_most / (program->parameters + 1))
    most = floats_most / (program->parameters + 1);
  if (most > EP_FUSED_PARTS_MAX) most = EP_FUSED_PARTS_MAX;
  while (2 * parts <= most && us >= 2 * (double)parts * part_us) parts *= 2;
  return shared && 2 * parts < ep_fused_threads(program, tiles) ? 1 : (int)parts;
}

int ep_fused_parts(const ep_program *program, bool tiles) {
  return program->buffers > 0 ? 1 : parts_worth(program, tiles);
}

/* --- which programs ------------------------------------------------------------------------ */

/* Whether a batch is worth one chunk of one thread, where a batch_norm needs that. */
static bool norms_pay(const ep_program *program, bool tiles) {
  if (program->buffers == 0) return true;
  if (program->batch_size <= EP_FUSED_SHARED_ROWS && parts_worth(program, tiles) == 1) return true;
  return program->batch_size <= EP_FUSED_NORM_ROWS && step_us(program, tiles) <= EP_FUSED_NORM_US;
}

/* Where it pays on some processor, so that all answer alike: a job keeps its executor where it is
 * resumed. */
static bool norms_fit(const ep_program *program) {
  for (int i = 0; i < program->ops_count; i++) {
    const ep_op *op = &program->ops[i];
    if (op->type == EP_LAYER_BATCH_NORM && op->in.channels != op->in_features) return false;
  }
  return norms_pay(program, true) || norms_pay(program, false);
}

static bool accepts(const ep_program *program, const ep_device_traits *device) {
  (void)device;
  const ep_optimizer *optimizer = &program->optimizer;
  bool loss = program->label_smoothing == 0 && !program->class_weights;
  bool clips = optimizer->clip_norm != 0 || optimizer->clip_value != 0;
  if (!ep_program_takes_numbers(program) || !loss || clips || !ep_program_is_uniform(program) ||
      !norms_fit(program) || program->parameters > EP_FUSED_PARAMETERS_MAX ||
      program->in_features > EP_FUSED_FEATURES_MAX)
    return false;
  for (int i = 0; i < program->ops_count; i++)
    if (program->ops[i].out_features > EP_FUSED_FEATURES_MAX) return false;
  return true;
}

static int cores(const ep_program *program, const ep_device_traits *device) {
  const int parts = ep_fused_parts(program, device->cpu.tiles);
  return parts > 1 ? parts : ep_fused_threads(program, device->cpu.tiles);
}

/* Beside cpu/blocked's, which are its multiply-adds: a quarter more where a layer has so many
 * weights that each chunk of rows reads them from a far cache, or a norm does not pay here, else a
 * tenth less. From how many on depends on how fast the products are read for. */
static double cycles(const ep_program *program, const ep_device_traits *device) {
  const int64_t rows = 128, narrow = 400000, wide = 2000000;
  const int64_t most = device->cpu.lanes > 8 ? wide : narrow;
  const ep_network_work sum = ep_program_work(program);
  bool far = false;
  for (int i = 0; i < program->ops_count; i++)
    far =
        far || (program->ops[i].type == EP_LAYER_LINEAR && ep_op_weights(&program->ops[i]) > most);
  far = far && !device->cpu.tiles && program->batch_size >= rows;
  const bool slower = far || !norms_pay(program, device->cpu.tiles);
  return (sum.thin + sum.wide) * (double)program->batch_size * (slower ? 1.25 : 0.9);
}

/* --- cost ---------------------------------------------------------------------------------- */

/* Wide layers of one row in turn: multiply-adds, those of the matrix unit apart; and of a chunk:
 * weights, of which each chunk reads its own, and features that threads read which another wrote.
 */
typedef struct {
  double lanes, tiles, weights, features;
  double transposed; /* inputs that are transposed for the gradients of weights, in whole vectors */
  bool large;        /* some layer is shared or the matrix unit's: chunks are larger */
} wide_work;

/* Threads take pieces of large products; some have one more than others. */
static double shared_at_once(const ep_cpu_traits *cpu, const ep_op *op) {
  double pieces = ceil((double)op->out_features / EP_FUSED_SHARED_FEATURES);
  return pieces / ceil(pieces / fmax(cpu->threads, 1));
}

static wide_work wide_work_of(const ep_program *program, const ep_cpu_traits *cpu, int parts) {
  wide_work sum = {0};
  bool first = true;
  for (int i = 0; i < program->ops_count; i++) {
    const ep_op *op = &program->ops[i];
    const double weights = (double)ep_op_products(op), times = first ? 2 : 3;
    const double inputs = ep_rounded_up((double)op->in_features, cpu->lanes);
    if (op->type != EP_LAYER_LINEAR) continue;
    bool tiled = cpu->tiles && ep_fused_is_tiled(program, op);
    bool shared = ep_fused_is_shared(program, op, cpu->tiles);
    double at_once = shared && parts == 1 ? shared_at_once(cpu, op) : 1;
    if (tiled)
      sum.tiles += weights * times / at_once;
    else if (ep_op_is_wide(op))
      sum.lanes += (weights * (times - 1) + inputs * (double)op->out_features) / at_once;
    if (ep_op_is_wide(op) && !tiled) sum.transposed += inputs;
    if (ep_op_is_wide(op)) sum.weights += weights / at_once;
    if (at_once > 1) sum.features += times * (double)(op->in_features + op->out_features);
    sum.large = sum.large || tiled || shared;
    first = false;
  }
  return sum;
}

/* Of a row: what is written on its way, with what drawing a dropout's mask is as dear as, and its
 * inputs, which are only read, from the caches near by or from beyond. */
static double row_values(const ep_program *program, const ep_network_work *sum,
                         const wide_work *wide) {
  const double near_values = 500000, near_read = 0.35, far_read = 1.5, mask_values = 3;
  double inputs = (double)program->in_features, masks = 0;
  bool near = (double)program->train_rows * inputs <= near_values;
  for (int i = 0; i < program->ops_count; i++)
    if (program->ops[i].type == EP_LAYER_DROPOUT) masks += (double)program->ops[i].out_features;
  return sum->values + mask_values * masks + wide->transposed - inputs +
         inputs * (near ? near_read : far_read);
}

/* Of rows in an order of their own: finding each is as dear as moving some values. */
static double shuffled_values(const ep_program *program, int64_t rows) {
  const double order_values = 16;
  if (!ep_program_shuffles(program)) return 0;
  return (double)rows * (order_values + (double)program->in_features);
}

/* Rows come in vectors, and vectors in chunks whose activations stay in the first cache; weights
 * that do not fit the second one are read again for each chunk. */
static void work(const ep_program *program, const ep_device_traits *device, int64_t rows,
                 double units[EP_LIMIT_COST_TERMS]) {
  const double chunk_values = 10240, most = 1024;
  const double cached_weights = 200000, near_weights = 2e6; /* of the second cache, the third */
  ep_network_work sum = ep_program_work(program);
  const int parts = ep_fused_parts(program, device->cpu.tiles);
  wide_work wide = wide_work_of(program, &device->cpu, parts);
  double padded = ep_rounded_up((double)rows, device->cpu.lanes);
  double chunk_rows = fmin(fmax(chunk_values / sum.values, wide.large ? 128 : 64), most);
  double chunks = ceil(padded / chunk_rows);
  units[0] = 1;
  units[1] = chunks * sum.stages;
  units[2] = padded * sum.thin;
  units[3] = padded * wide.lanes;
  units[4] =
      (sum.wide_weights > cached_weights ? chunks * wide.weights : 0) + padded * wide.features;
  units[5] = padded * row_values(program, &sum, &wide);
  units[6] = ep_program_updated(program);
  units[7] = sum.wide_weights > near_weights ? chunks * wide.weights : 0;
  units[8] = shuffled_values(program, rows);
  units[9] = padded * wide.tiles;
  const double at_once = fmin(parts, fmax(device->cpu.threads, 1));
  for (int i = 1; i < EP_LIMIT_COST_TERMS; i++)
    if (i != 6 && i != 8)
      units[i] /= at_once; /* the update and the order of rows are one thread's */
}

/* Small networks above all: there a CPU and a GPU are close. None is a cell of tests/bench/study.
 */
static const ep_calibration_program programs[] = {
    {.in_features = 10, .width = 5, .hidden = 1, .rows = 60},
    {.in_features = 12, .width = 6, .hidden = 2, .rows = 200},
    {.in_features = 8, .width = 8, .hidden = 2, .rows = 1000},
    {.in_features = 20, .width = 6, .hidden = 4, .rows = 700},
    {.in_features = 12, .width = 5, .hidden = 8, .rows = 150},
    {.in_features = 2, .width = 4, .hidden = 2, .rows = 8192},
    {.in_features = 2, .width = 2, .hidden = 8, .rows = 2048},
    {.in_features = 24, .width = 12, .hidden = 1, .rows = 120},
    {.in_features = 12, .width = 12, .hidden = 2, .rows = 90},
    {.in_features = 20, .width = 20, .hidden = 4, .rows = 200},
    {.in_features = 24, .width = 16, .hidden = 1, .rows = 2000},
    {.in_features = 8, .width = 16, .hidden = 8, .rows = 100},
    {.in_features = 12, .width = 24, .hidden = 8, .rows = 800},
    {.in_features = 32, .width = 48, .hidden = 1, .rows = 90},
    {.in_features = 20, .width = 48, .hidden = 2, .rows = 200},
    {.in_features = 24, .width = 80, .hidden = 4, .rows = 60},
    {.in_features = 32, .width = 64, .hidden = 1, .rows = 700},
    {.in_features = 20, .width = 200, .hidden = 1, .rows = 80},
    {.in_features = 32, .width = 256, .hidden = 1, .rows = 400},
    {.in_features = 24, .width = 256, .hidden = 2, .rows = 128},
    {.in_features = 32, .width = 128, .hidden = 4, .rows = 128},
    {.in_features = 24, .width = 768, .hidden = 1, .rows = 128},
    {.in_features = 24, .width = 512, .hidden = 2, .rows = 64},
    {.in_features = 32, .width = 1024, .hidden = 2, .rows = 64},
    {.in_features = 24, .width = 1024, .hidden = 4, .rows = 64},
    {.in_features = 16, .width = 16, .hidden = 2, .rows = 4096, .batch = 128},
};

const ep_executor_profile ep_cpu_fused_profile = {
    .name = "cpu/fused",
    .capabilities = {(EP_CAPABLE_DENSE_LAYERS | EP_CAPABLE_SOFTMAXES | EP_CAPABLE_LAYER(DROPOUT) |
                      EP_CAPABLE_LAYER(LAYER_NORM) | EP_CAPABLE_LAYER(BATCH_NORM)) &
                         ~(UINT64_C(0) EP_FUSED_NOT(EP_CAPABLE_ADD_LAYER)),
                     EP_CAPABLE_ELEMENT_LOSSES | EP_CAPABLE_CLASS_LOSSES, EP_CAPABLE_OPTIMIZERS},
    .accepts = accepts,
    .cycles = cycles,
    .work = work,
    .cores = cores,
    .terms = {{"step", 8e-9},
              {"stages of chunks", 7.3e-8},
              {"thin multiply-adds", 1.2e-11},
              {"wide multiply-adds", 1.3e-11},
              {"weights and features from another cache", 7.2e-10},
              {"values", 1.1e-10},
              {"updated parameters", 4.4e-10},
              {"weights from memory", 1.7e-9},
              {"shuffled values", 4.2e-10},
              {"multiply-adds of the matrix unit", 9.5e-12}},
    .start_seconds = 2e-4,
    .again_seconds = 1e-4,
    EP_CALIBRATION_PROGRAMS(programs),
};
