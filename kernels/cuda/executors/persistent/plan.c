#include "kernels/cuda/executors/persistent/plan.h"

#include <limits.h>
#include <string.h>

#include "kernels/formulas/activations.h"

enum {
  ROWS_MIN = 16,
  ROWS_MAX = 128, /* of a micro-batch of several, of any */
  MICRO_BATCHES_MAX = 64,
  SLICED_MICRO_BATCHES_MAX = 2, /* of more, the exchanges take longer than launches */
  ELEMENTS_MAX = 1 << 23,       /* of a step's outputs: errors are counted in float32, with a tag */
  WIDTH_MAX = 8192,
  CELLS_MAX = 8192,       /* of a batch, which each shard looks through */
  SHARD_WORDS_MAX = 65535 /* of a table */
};

/* --- stages ---------------------------------------------------------------------------------- */

static bool is_core(ep_layer_type type) {
  return type == EP_LAYER_LINEAR || type == EP_LAYER_EMBEDDING || ep_persistent_normalizes(type);
}

/* nll of log_softmax is trained as cross_entropy. */
static bool is_of_loss(const ep_program *program, int op) {
  return op + 1 == program->ops_count && ep_persistent_loss(program) != program->loss;
}

static bool tail_add(ep_persistent_stage *stage, const ep_op *op) {
  const bool is_dropout = op->type == EP_LAYER_DROPOUT;
  if (stage->tails == EP_PERSISTENT_TAILS_MAX || !(is_dropout || ep_activation_is(op->type)))
    return false;
  stage->tail[stage->tails++] = op;
  stage->dropouts += is_dropout;
  return true;
}

/* A norm is by feature: of what has one number a channel. An embedding looks up what the data
 * hold, and only the first core does. */
static bool core_fits(const ep_op *op, bool first) {
  return op->in_features <= WIDTH_MAX && op->out_features <= WIDTH_MAX &&
         (first ? !ep_persistent_normalizes(op->type) : op->type != EP_LAYER_EMBEDDING) &&
         (op->type != EP_LAYER_BATCH_NORM || op->in.channels == op->in_features);
}

bool ep_persistent_stages_make(const ep_program *program, ep_persistent_plan *plan) {
  memset(plan, 0, sizeof *plan);
  for (int i = 0; i < program->ops_count; i++) {
    const ep_op *op = &program->ops[i];
    if (!ep_op_is_in_line(op, i) || op->inputs != 1) return false;
    if (op->type == EP_LAYER_FLATTEN || is_of_loss(program, i)) continue;
    if (!is_core(op->type)) {
      if (plan->stages_count == 0 || !tail_add(&plan->stages[plan->stages_count - 1], op))
        return false;
      continue;
    }
    if (plan->stages_count == EP_PERSISTENT_STAGES_MAX || !core_fits(op, plan->stages_count == 0))
      return false;
    plan->stages[plan->stages_count++] =
        (ep_persistent_stage){.core = op, .in = (int)op->in_features, .out = (int)op->out_features};
  }
  plan->half = program->precision == EP_PRECISION_BF16;
  for (int i = 0; i < plan->stages_count; i++) /* others compute in float32 */
    plan->half = plan->half && ep_persistent_is_linear(&plan->stages[i]);
  /* A loss is of what a linear layer or a norm makes. */
  return plan->stages_count > 0 &&
         !ep_persistent_is_embedding(&plan->stages[plan->stages_count - 1]);
}

/* --- what a block has ------------------------------------------------------------------------ */

/* Words from one line of a matrix to the next, so that the lanes of a fragment meet other banks. */
static int weight_line(int outputs) {
  if (outputs == 1) return 1;
  if (outputs < 32) return ep_persistent_up(outputs, 2);
  int line = ep_persistent_up(outputs, 8);
  while (line % 32 != 8 && line % 32 != 24) line += 8;
  return line;
}

void ep_persistent_stage_cut(ep_persistent_plan *plan, int i) {
  ep_persistent_stage *stage = &plan->stages[i];
  stage->slice = stage->sliced ? ep_persistent_parts(stage->out, plan->slices) : stage->out;
  if (!ep_persistent_is_linear(stage)) return;
  const ep_persistent_stage *before = i > 0 ? stage - 1 : NULL;
  const bool takes_slice = ep_persistent_takes_slice(stage);
  stage->inputs = takes_slice ? ep_persistent_parts(stage->in, plan->slices) : stage->in;
  stage->outputs = stage->mode == EP_PERSISTENT_COLUMN ? stage->slice : stage->out;
  stage->line = weight_line(stage->outputs);
  stage->share = ep_persistent_parts(stage->out, plan->slices);
  stage->share_back = ep_persistent_parts(stage->in, plan->slices);
  const bool takes_own = stage->mode == EP_PERSISTENT_WHOLE && before && before->sliced;
  stage->forward = ep_persistent_tile(plan, stage->outputs, stage->inputs);
  stage->backward =
      ep_persistent_tile(plan, takes_own ? stage->share_back : stage->inputs, stage->outputs);
  stage->gradient = ep_persistent_tile_gradient(plan, stage->inputs, stage->outputs);
}

/* --- modes ----------------------------------------------------------------------------------- */

/* The best of what leads to a stage's value, sliced or not: which mode, from which value. */
typedef struct {
  double cycles; /* INFINITY: there is nothing */
  ep_persistent_mode mode;
  bool sliced_in, back_by_all;
} step_choice;

/* Words of shared memory that a stage takes, roughly, times what a word counts. */
static double stage_price(const ep_persistent_plan *plan, const ep_persistent_stage *stage,
                          double price) {
  const bool linear = ep_persistent_is_linear(stage), takes = ep_persistent_takes_slice(stage);
  double features = 2.0 * stage->slice;
  if (linear && !takes && stage->sliced_in) features += stage->in;
  if (linear && stage->mode == EP_PERSISTENT_ROW_SLICED) features += stage->out;
  return price * (features * plan->row_line + (double)stage->inputs * stage->line);
}

static bool mode_slices(ep_persistent_mode mode) {
  return mode == EP_PERSISTENT_COLUMN || mode == EP_PERSISTENT_ROW_SLICED;
}

/* Whether a stage may take a value that is sliced or not, in a mode, and make the other. */
static bool choice_exists(const ep_program *program, const ep_persistent_plan *plan, int i,
                          const step_choice *of, bool sliced) {
  const ep_persistent_stage *stage = &plan->stages[i];
  const bool last = i + 1 == plan->stages_count;
  if (plan->slices == 1) return of->mode == EP_PERSISTENT_WHOLE && !sliced && !of->sliced_in;
  if (sliced && last && ep_loss_takes_classes(program->loss)) return false;
  if (!ep_persistent_is_linear(stage))
    return of->mode == EP_PERSISTENT_WHOLE && sliced == of->sliced_in;
  if (mode_slices(of->mode) != sliced || (i == 0 && of->sliced_in) ||
      (last && of->mode == EP_PERSISTENT_ROW_SLICED))
    return false;
  if (of->mode >= EP_PERSISTENT_ROW_SLICED) return of->sliced_in;
  return true;
}

/* The cycles of stage i as `of` says; sets the plan's stage. */
static double choice_try(const ep_program *program, ep_persistent_plan *plan, int i,
                         const step_choice *of, bool sliced, double price) {
  ep_persistent_stage *stage = &plan->stages[i];
  stage->mode = of->mode;
  stage->sliced_in = of->sliced_in;
  stage->sliced = sliced;
  stage->back_by_all = of->back_by_all;
  if (i > 0) stage[-1].sliced = of->sliced_in;
  ep_persistent_stage_cut(plan, i);
  return ep_persistent_stage_cycles(program, plan, i) + stage_price(plan, stage, price);
}

/* Instead of cycles: unrelated to them. */
static double chance(unsigned variant, int stage, int mode, int sliced_in, int sliced) {
  const unsigned key = ((variant * 64 + (unsigned)stage) * 8 + (unsigned)mode) * 4 +
                       (unsigned)(sliced_in * 2 + sliced);
  return 1 + (key * 2654435761u >> 20);
}

static void choices_make(const ep_program *program, ep_persistent_plan *plan, int i, double price,
                         unsigned variant, const step_choice before[2], step_choice out[2]) {
  for (int sliced = 0; sliced < 2; sliced++) {
    out[sliced].cycles = (double)INFINITY;
    for (int mode = 0; mode < EP_PERSISTENT_MODES; mode++)
      for (int sliced_in = 0; sliced_in < 2; sliced_in++)
        for (int by_all = 0; by_all < 2; by_all++) {
          const step_choice of = {0, (ep_persistent_mode)mode, sliced_in != 0, by_all != 0};
          if (!choice_exists(program, plan, i, &of, sliced != 0) ||
              (by_all && (sliced_in || mode != EP_PERSISTENT_COLUMN)) ||
              !(before[sliced_in].cycles < (double)INFINITY))
            continue;
          const double cycles =
              before[sliced_in].cycles +
              (variant > 0 ? chance(variant, i, mode, sliced_in, sliced)
                           : choice_try(program, plan, i, &of, sliced != 0, price));
          if (!(cycles < out[sliced].cycles)) continue;
          out[sliced] = of;
          out[sliced].cycles = cycles;
        }
  }
}

bool ep_persistent_modes_choose(const ep_program *program, ep_persistent_plan *plan, double price,
                                unsigned variant) {
  step_choice best[EP_PERSISTENT_STAGES_MAX + 1][2];
  const int count = plan->stages_count;
  best[0][0] = (step_choice){.cycles = 0};
  best[0][1] = (step_choice){.cycles = (double)INFINITY}; /* the input is whole */
  for (int i = 0; i < count; i++)
    choices_make(program, plan, i, price, variant, best[i], best[i + 1]);
  bool sliced = best[count][1].cycles < best[count][0].cycles;
  if (!(best[count][sliced].cycles < (double)INFINITY)) return false;
  for (int i = count - 1; i >= 0; i--) {
    const step_choice *of = &best[i + 1][sliced];
    plan->stages[i].mode = of->mode;
    plan->stages[i].sliced_in = of->sliced_in;
    plan->stages[i].back_by_all = of->back_by_all;
    plan->stages[i].sliced = sliced;
    sliced = of->sliced_in;
  }
  for (int i = 0; i < count; i++) ep_persistent_stage_cut(plan, i);
  plan->cycles = ep_persistent_step_cycles(program, plan);
  for (int i = 0; i < count; i++) plan->cycles += ep_persistent_stage_cycles(program, plan, i);
  return true;
}

/* --- groups, slices and warps ---------------------------------------------------------------- */

/* Whether a micro-batch has an exchange behind which each block has heard of all others, so that
 * none gets two ahead: one in which each gives to all, or gives to some who then give to all. */
static bool slices_meet(const ep_persistent_plan *plan) {
  const int others = plan->slices - 1;
  bool meet = plan->slices == 1 || plan->shards.blocks > 0; /* whose steps' ends meet */
  for (int i = 0; i < plan->stages_count && !meet; i++) {
    const ep_persistent_stage *stage = &plan->stages[i];
    const bool linear = ep_persistent_is_linear(stage);
    meet = (!linear && stage->sliced && stage->core->type == EP_LAYER_LAYER_NORM) ||
           (linear &&
            (stage->mode == EP_PERSISTENT_ROW_ALL || stage->mode == EP_PERSISTENT_ROW_GATHERED ||
             (ep_persistent_takes_slice(stage) && others * stage->share < stage->out))) ||
           (ep_persistent_sums_back(plan, i) &&
            (!stage->sliced_in || others * stage->share_back < stage->in)) ||
           (ep_persistent_gathers_value(plan, i) && others * stage->slice < stage->out);
  }
  return meet;
}

static int row_line(int rows) {
  int line = rows;
  while (line % 32 != 8 && line % 32 != 24) line += 8;
  return line;
}

/* Cuts the batch. */
static void rows_cut(const ep_program *program, ep_persistent_plan *plan, int groups,
                     int micro_batches) {
  const int batch = (int)program->batch_size;
  plan->rows = ep_persistent_up(ep_persistent_parts(batch, groups * micro_batches), 8);
  plan->micro_batches = micro_batches;
  plan->groups = ep_persistent_parts(batch, plan->rows * micro_batches);
  plan->row_line = row_line(plan->rows);
}

/* The statistics of a batch are those of its rows at once. */
static bool takes_micro_batches(const ep_persistent_plan *plan) {
  for (int i = 0; i < plan->stages_count; i++)
    if (plan->stages[i].core->type == EP_LAYER_BATCH_NORM) return false;
  return true;
}

/* The more a word of shared memory counts, the sooner a plan fits. Returns false where more
 * micro-batches might fit. */
static bool shape_try(const ep_program *program, ep_persistent_plan *plan, unsigned variant,
                      ep_persistent_plan *best) {
  static const double prices[] = {0, 0.02, 0.1, 0.5};
  bool meet = false;
  for (size_t p = 0; p < sizeof prices / sizeof *prices; p++) {
    if (!ep_persistent_modes_choose(program, plan, prices[p], variant) ||
        (best->cycles > 0 && plan->cycles >= best->cycles))
      return true;
    if (!slices_meet(plan)) continue;
    meet = true;
    for (int thrift = (int)variant % EP_PERSISTENT_THRIFTS; thrift < EP_PERSISTENT_THRIFTS;
         thrift++) {
      if (!ep_persistent_memory_place(program, plan, (ep_persistent_thrift)thrift)) continue;
      plan->cycles += ep_persistent_thrift_cycles(program, plan);
      if (best->cycles == 0 || plan->cycles < best->cycles) *best = *plan;
      return true;
    }
  }
  return !meet;
}

enum { MULTIPROCESSORS = 132 }; /* of a GPU that is not known yet */

static int multiprocessors_of(const ep_gpu_traits *gpu) {
  return gpu->multiprocessors > 0 ? gpu->multiprocessors : MULTIPROCESSORS;
}

/* The stages, and what does not depend on the shape. */
static bool plan_begin(const ep_program *program, const ep_gpu_traits *gpu,
                       ep_persistent_plan *plan) {
  const bool made = ep_persistent_stages_make(program, plan);
  plan->memory_words_max = (int)(ep_gpu_shared_bytes(gpu->capability) / (int64_t)sizeof(float));
  plan->has_clusters = ep_gpu_features(gpu->capability) & EP_GPU_LARGE_BLOCKS;
  return made;
}

/* Gives an embedding's table to so many blocks. false: there is none, or too few of them. */
static bool shards_take(const ep_program *program, ep_persistent_plan *plan, int shards) {
  const ep_persistent_stage *first = &plan->stages[0];
  const int64_t cells = program->batch_size * ep_op_columns(first->core);
  plan->shards = (ep_persistent_shards){.blocks = 0};
  if (!ep_persistent_is_embedding(first) || shards < 1 || cells > CELLS_MAX ||
      first->core->embeddings > (int64_t)shards * SHARD_WORDS_MAX)
    return false;
  plan->shards.blocks = shards;
  plan->shards.words = (int)((first->core->embeddings + shards - 1) / shards);
  plan->shards.listed = ep_persistent_up(ep_persistent_parts((int)cells, plan->warps), EP_GPU_WARP);
  return true;
}

bool ep_persistent_plan_shape(const ep_program *program, const ep_gpu_traits *gpu,
                              const ep_persistent_shape *shape, unsigned variant,
                              ep_persistent_plan *out) {
  ep_persistent_plan plan;
  memset(out, 0, sizeof *out);
  if (!plan_begin(program, gpu, &plan) || (shape->micro_batches > 1 && !takes_micro_batches(&plan)))
    return false;
  rows_cut(program, &plan, shape->groups, shape->micro_batches);
  plan.slices = shape->slices;
  plan.warps = shape->warps;
  if (shape->shards > 0 &&
      (shape->micro_batches > 1 || !shards_take(program, &plan, shape->shards)))
    return false;
  if (plan.rows <= ROWS_MAX) shape_try(program, &plan, variant, out);
  return out->cycles > 0;
}

/* The fewest micro-batches that fit. */
static void micro_batches_try(const ep_program *program, ep_persistent_plan *plan, int groups,
                              ep_persistent_plan *best) {
  const int rows = ep_persistent_parts((int)program->batch_size, groups);
  const int most = !takes_micro_batches(plan) || plan->shards.blocks > 0 ? 1
                   : plan->slices > 1                                    ? SLICED_MICRO_BATCHES_MAX
                                                                         : MICRO_BATCHES_MAX;
  for (int count = ep_persistent_parts(rows, ROWS_MAX); count <= most; count *= 2) {
    if (count > 1 && rows < count * ROWS_MIN) return;
    rows_cut(program, plan, groups, count);
    if (shape_try(program, plan, 0, best)) return;
  }
}

static void slices_try(const ep_program *program, int multiprocessors, int groups,
                       ep_persistent_plan *plan, ep_persistent_plan *best) {
  static const int slices[] = {1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 112, 128};
  for (size_t s = 0; s < sizeof slices / sizeof *slices; s++) {
    plan->slices = slices[s];
    if (groups * plan->slices > multiprocessors) return;
    for (plan->warps = 8; plan->warps <= 16; plan->warps *= 2) {
      plan->shards.blocks = 0;
      micro_batches_try(program, plan, groups, best);
      if (shards_take(program, plan, multiprocessors - groups * plan->slices))
        micro_batches_try(program, plan, groups, best);
    }
  }
}

static bool plan_search(const ep_program *program, const ep_gpu_traits *gpu, bool clusters,
                        ep_persistent_plan *out) {
  static const int groups[] = {1, 2, 4, 8, 12, 16, 18, 27, 40, 60, 90, INT_MAX};
  ep_persistent_plan plan;
  const int multiprocessors = multiprocessors_of(gpu);
  memset(out, 0, sizeof *out);
  if (program->batch_size > (int64_t)multiprocessors * ROWS_MAX * MICRO_BATCHES_MAX ||
      program->parameters > INT32_MAX / 64 ||
      program->batch_size * program->target_columns > ELEMENTS_MAX ||
      program->train_rows > INT32_MAX / 2 || !plan_begin(program, gpu, &plan))
    return false;
  plan.has_clusters = plan.has_clusters && clusters;
  for (size_t i = 0, tried = 0; i < sizeof groups / sizeof *groups; i++) {
    const int most = groups[i] < multiprocessors ? groups[i] : multiprocessors;
    rows_cut(program, &plan, most, 1);
    if ((size_t)plan.groups == tried) continue;
    tried = (size_t)plan.groups;
    slices_try(program, multiprocessors, plan.groups, &plan, out);
  }
  return out->cycles > 0;
}

bool ep_persistent_plan_make(const ep_program *program, const ep_gpu_traits *gpu,
                             ep_persistent_plan *out) {
  return plan_search(program, gpu, true, out);
}

bool ep_persistent_plan_apart(const ep_program *program, const ep_gpu_traits *gpu,
                              ep_persistent_plan *out) {
  return plan_search(program, gpu, false, out);
}

void ep_persistent_decays(const ep_program *program, const ep_persistent_plan *plan,
                          float decay[][2]) {
  for (int i = 0; i < plan->stages_count; i++) {
    decay[i][0] = ep_program_decay_at(program, plan->stages[i].core->weight);
    decay[i][1] = ep_program_decay_at(program, plan->stages[i].core->bias);
  }
}

/* --- the profile ----------------------------------------------------------------------------- */

static bool plan_make(const ep_program *program, const ep_device_traits *device,
                      ep_persistent_plan *plan) {
  return program->data_bytes_max == 0 && !program->class_weights &&
         ep_program_takes_numbers(program) && program->optimizer.clip_norm == 0 &&
         ep_program_trains(program) && ep_persistent_plan_make(program, &device->gpu, plan);
}

static bool accepts(const ep_program *program, const ep_device_traits *device) {
  ep_persistent_plan plan;
  return plan_make(program, device, &plan);
}

static double cycles(const ep_program *program, const ep_device_traits *device) {
  ep_persistent_plan plan;
  return plan_make(program, device, &plan) ? plan.cycles : (double)INFINITY;
}

static void work(const ep_program *program, const ep_device_traits *device, int64_t rows,
                 double units[EP_LIMIT_COST_TERMS]) {
  ep_persistent_plan plan;
  ep_program step = *program;
  step.batch_size = rows;
  if (!plan_make(&step, device, &plan)) return;
  units[0] = 1;
  units[1] = plan.cycles;
}

static const ep_calibration_program programs[] = {
    {.in_features = 16, .width = 256, .hidden = 2, .rows = 320, .batch = 32},
    {.in_features = 100, .width = 512, .hidden = 3, .rows = 640, .batch = 64},
    {.in_features = 32, .width = 64, .hidden = 3, .rows = 4096, .batch = 1024},
    {.in_features = 200, .width = 300, .hidden = 2, .rows = 2560, .batch = 256},
};

const ep_executor_profile ep_cuda_persistent_profile = {
    .name = "cuda/persistent",
    .capabilities = {EP_CAPABLE_DENSE_LAYERS | EP_CAPABLE_LAYER(LAYER_NORM) |
                         EP_CAPABLE_LAYER(BATCH_NORM) | EP_CAPABLE_LAYER(DROPOUT) |
                         EP_CAPABLE_LAYER(EMBEDDING) | EP_CAPABLE_LAYER(LOG_SOFTMAX),
                     EP_CAPABLE_ELEMENT_LOSSES | EP_CAPABLE_CLASS_LOSSES, EP_CAPABLE_OPTIMIZERS},
    .gpu_features = EP_GPU_AMPERE,
    .accepts = accepts,
    .cycles = cycles,
    .work = work,
    .terms = {{"step", 5e-7}, {"expected cycles", 1 / EP_GPU_CYCLES_PER_SECOND}},
    .start_seconds = 2.5,
    .again_seconds = 4e-3,
    EP_CALIBRATION_PROGRAMS(programs),
};
