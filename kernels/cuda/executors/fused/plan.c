#include "kernels/cuda/executors/fused/plan.h"

#include "kernels/cuda/executors/dense.h"
#include "kernels/plans/work.h"

enum {
  PIECE = 16, /* the side of a piece of a product */
  GAP = 8,    /* numbers behind a row of a matrix */
  TILE_ROWS_MAX = 128,
  THREADS = 256,
  QUAD_BYTES = 16,
  OWNED_LEAST = 8, /* quads that are worth a block of their own */
  /* Of a warp that shares out the rows of 16 by 16 weights and their biases; the update's shares
   * are less. */
  SUMS_BYTES = (2 * 32 + 4) * QUAD_BYTES
};

static int parts(int64_t whole, int64_t part) {
  return (int)((whole + part - 1) / part);
}

static int padded(int64_t count) {
  return parts(count, PIECE) * PIECE;
}

/* As pitch_of in fragments.cuh. */
static int pitch(const ep_program *program, int64_t count) {
  bool gap = program->precision == EP_PRECISION_BF16 || padded(count) % 32 != 0;
  return padded(count) + (gap ? GAP : 0);
}

static int number_bytes(const ep_program *program) {
  return program->precision == EP_PRECISION_BF16 ? 2 : 4;
}

/* --- layers ---------------------------------------------------------------------------------- */

static bool layers_take(const ep_program *program, ep_cuda_fused_plan *plan) {
  ep_cuda_dense_layer dense[EP_CUDA_FUSED_LAYERS_MAX];
  plan->layers_count =
      ep_cuda_dense_layers(program, EP_CUDA_FUSED_WIDTH_MAX, EP_CUDA_FUSED_LAYERS_MAX, dense);
  for (int l = 0; l < plan->layers_count; l++) {
    plan->layers[l].op = dense[l].linear;
    plan->layers[l].activation = dense[l].activation;
  }
  return plan->layers_count > 0;
}

/* Whether an activation's slopes cannot be told from its outputs as they are kept. */
static bool slopes_kept(const ep_program *program, const ep_op *activation) {
  if (!activation || activation->type == EP_LAYER_RELU) return false;
  bool told = activation->type == EP_LAYER_TANH || activation->type == EP_LAYER_SIGMOID;
  return !told || program->precision == EP_PRECISION_BF16;
}

/* --- what lies where ------------------------------------------------------------------------- */

static void image_place(const ep_program *program, ep_cuda_fused_plan *plan) {
  for (int l = 0; l < plan->layers_count; l++) {
    ep_cuda_fused_layer *layer = &plan->layers[l];
    const ep_op *op = layer->op;
    int outs = padded(op->out_features), tiles = outs / 16 * (padded(op->in_features) / 8);
    layer->image = plan->image_bytes;
    layer->quads = plan->quads;
    plan->image_bytes += outs * pitch(program, op->in_features) * number_bytes(program) + outs * 4;
    plan->quads += tiles * 32 + (op->bias >= 0 ? outs / 4 : 0);
  }
}

/* Takes a place behind all others. */
static int place(ep_cuda_fused_plan *plan, int bytes) {
  int at = plan->shared_bytes;
  plan->shared_bytes += parts(bytes, QUAD_BYTES) * QUAD_BYTES;
  return at;
}

/* Rows on their way into a tile of halved numbers: where nothing lies between two tiles but what is
 * behind the first layer's inputs. */
static void stage_place(const ep_program *program, ep_cuda_fused_plan *plan) {
  if (program->precision != EP_PRECISION_BF16) return;
  plan->stage = plan->layers_count > 1 ? plan->layers[1].x : plan->last;
  int missing = plan->stage + plan->tile_rows * (int)program->in_features * 4 - plan->shared_bytes;
  if (missing > 0) place(plan, missing);
}

static void shared_place(const ep_program *program, ep_cuda_fused_plan *plan) {
  const int rows = plan->tile_rows, size = number_bytes(program);
  const int slots = (int)ep_optimizer_slots(&program->optimizer);
  plan->shared_bytes = plan->image_bytes;
  for (int l = 0; l < plan->layers_count; l++) {
    ep_cuda_fused_layer *layer = &plan->layers[l];
    bool keeps = l < plan->layers_count - 1 && slopes_kept(program, layer->activation);
    layer->x = place(plan, rows * pitch(program, layer->op->in_features) * size);
    layer->slopes = keeps ? place(plan, rows * pitch(program, layer->op->out_features) * size) : -1;
  }
  int outputs = (padded(program->out_features) + 2) * 4;
  int grads = pitch(program, program->out_features) * size;
  plan->last = place(plan, rows * (outputs > grads ? outputs : grads));
  stage_place(program, plan);
  int targets = (int)program->target_columns;
  plan->targets = place(plan, rows * (targets % 4 == 0 ? targets + 4 : targets | 1) * 4);
  plan->order = place(plan, 2 * rows * 4);
  plan->sums_bytes = plan->threads / 32 * SUMS_BYTES;
  plan->sums = place(plan, plan->sums_bytes);
  plan->owned_bytes = plan->owned * 16 * (4 + (slots > 0 ? slots : 1));
  plan->owned_at = place(plan, plan->owned_bytes);
}

/* --- the choice ------------------------------------------------------------------------------ */

/* What a step takes with tiles of tile_rows. */
static void work_count(const ep_program *program, int tile_rows, int multiprocessors,
                       const ep_cuda_fused_plan *plan, ep_cuda_fused_work *work) {
  int tiles = parts(program->batch_size, tile_rows);
  int workers = tiles < multiprocessors ? tiles : multiprocessors;
  double turns = parts(tiles, workers), products = 0;
  for (int l = 0; l < plan->layers_count; l++) {
    const ep_op *op = plan->layers[l].op;
    products += 3.0 * padded(op->in_features) * padded(op->out_features);
  }
  if (program->precision == EP_PRECISION_BF16) products /= 4;
  if (program->precision == EP_PRECISION_TF32) products /= 2;
  /* An H200's: two barriers and a trip through its cache; what a layer waits for; products. */
  double cycles = 8000 + 1900 * turns * plan->layers_count + turns * tile_rows * products / 96;
  *work = (ep_cuda_fused_work){.cycles = cycles,
                               .turns = turns * plan->layers_count,
                               .products = turns * tile_rows * products,
                               .rows = turns * tile_rows};
}

static void blocks_choose(const ep_program *program, int multiprocessors,
                          ep_cuda_fused_plan *plan) {
  int tiles = parts(program->batch_size, plan->tile_rows);
  int wanted = parts(plan->quads, OWNED_LEAST);
  if (wanted < tiles) wanted = tiles;
  plan->blocks = wanted < multiprocessors ? wanted : multiprocessors;
  plan->owned = parts(plan->quads, plan->blocks);
}

bool ep_cuda_fused_plan_make(const ep_program *program, const ep_gpu_traits *gpu,
                             ep_cuda_fused_plan *plan) {
  const int64_t rows_max = 1 << 30, shared_bytes = ep_gpu_shared_bytes(gpu->capability);
  *plan = (ep_cuda_fused_plan){.threads = THREADS};
  if (program->train_rows > rows_max || program->optimizer.clip_norm != 0 ||
      !ep_program_is_resident(program) || !ep_program_takes_numbers(program) ||
      !ep_program_trains(program) || !layers_take(program, plan))
    return false;
  image_place(program, plan);
  int best = 0;
  for (int rows = PIECE; rows <= TILE_ROWS_MAX; rows *= 2) {
    ep_cuda_fused_work found;
    plan->tile_rows = rows;
    blocks_choose(program, gpu->multiprocessors, plan);
    shared_place(program, plan);
    if (plan->owned > plan->threads || plan->shared_bytes > shared_bytes) continue;
    work_count(program, rows, gpu->multiprocessors, plan, &found);
    if (best > 0 && found.cycles >= plan->work.cycles) continue;
    best = rows;
    plan->work = found;
  }
  plan->tile_rows = best;
  if (best == 0) return false;
  blocks_choose(program, gpu->multiprocessors, plan);
  shared_place(program, plan);
  return true;
}

/* --- the profile ----------------------------------------------------------------------------- */

/* A kernel is compiled for it, and all multiprocessors wait for each other: few rows are not worth
 * that. */
static bool accepts(const ep_program *program, const ep_device_traits *device) {
  const int64_t rows_least = 256;
  ep_cuda_fused_plan plan;
  return program->batch_size >= rows_least && ep_cuda_fused_plan_make(program, &device->gpu, &plan);
}

/* On many rows a step takes a tenth to a sixth more. */
static double cycles(const ep_program *program, const ep_device_traits *device) {
  ep_cuda_fused_plan plan;
  return ep_cuda_fused_plan_make(program, &device->gpu, &plan) ? plan.work.cycles
                                                               : (double)INFINITY;
}

/* Two barriers and the sums of all blocks; tiles of rows through all layers. */
static void work(const ep_program *program, const ep_device_traits *device, int64_t rows,
                 double units[EP_LIMIT_COST_TERMS]) {
  ep_cuda_fused_plan plan;
  ep_program step = *program;
  step.batch_size = rows;
  units[0] = 1;
  if (!ep_cuda_fused_plan_make(&step, &device->gpu, &plan)) return;
  units[1] = plan.work.turns;
  units[2] = plan.work.products;
  units[3] = plan.work.rows * ep_program_work(program).values;
}

static const ep_calibration_program programs[] = {
    {.in_features = 24, .width = 64, .hidden = 2, .rows = 1500},
    {.in_features = 24, .width = 48, .hidden = 4, .rows = 20000},
    {.in_features = 12, .width = 64, .hidden = 1, .rows = 65536},
    {.in_features = 2, .width = 32, .hidden = 8, .rows = 4096},
};

const ep_executor_profile ep_cuda_fused_profile = {
    .name = "cuda/fused",
    .capabilities = {EP_CAPABLE_DENSE_LAYERS, EP_CAPABLE_ELEMENT_LOSSES | EP_CAPABLE_CLASS_LOSSES,
                     EP_CAPABLE_OPTIMIZERS},
    .gpu_features = EP_GPU_AMPERE,
    .accepts = accepts,
    .cycles = cycles,
    .work = work,
    .terms = {{"step", 3.05e-6},
              {"turns of layers", 1e-6},
              {"multiply-adds of a block", 1e-11},
              {"values of a block", 3.5e-11}},
    .start_seconds = 1,
    .again_seconds = 3e-3,
    EP_CALIBRATION_PROGRAMS(programs),
};
