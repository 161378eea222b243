/* blocks.c: the plan of blocks.cuh: what lies where in a block's shared memory, and how many blocks
 * a multiprocessor has. */
#include "kernels/cuda/population/plan.h"
#include "kernels/formulas/losses.h"
#include "kernels/formulas/optimizers.h"
#include "kernels/random.h"

enum {
  WARP = EP_GPU_WARP,
  TILE_ROWS = 16,
  STAGE_STRIDE = 40,      /* as in network.cuh */
  GATHERED_COLUMNS = 16,  /* rows of the data are read by as many, where they lie */
  WHOLE_ROWS_MAX = 128,   /* of a batch that goes through the network at once … */
  CHUNK_ROWS_LEAST = 32,  /* of a part, while the optimizer's state may go elsewhere */
  CHUNK_ROWS = 64,        /* … and of a part of one that is longer, at first */
  DEVICE_ROWS_MAX = 1024, /* of a batch whose activations lie in device memory */
  CLASSES_MAX = 32,       /* a thread has a row's scores in registers */
  WIDTH_MAX = 2048,       /* of a layer: more is trained faster alone */
  BLOCKS_MAX = 8,         /* of a multiprocessor */
  WARPS_MAX = 16,         /* of a block */
  WARPS_LEAST = 2,
  WARPS_EACH = 32, /* of a multiprocessor where blocks are small, with 64 registers a thread … */
  LARGE_WARPS_EACH = 16,       /* … and where they are large, with 128 */
  BLOCKS_OF_LARGE = 3,         /* of a multiprocessor, at most, for these */
  BLOCK_DECLARED_BYTES = 1024, /* of shared memory, that each block takes besides */
  FLOATS_MAX = 1 << 24         /* of anything of a block: fits an int */
};

static int up(int64_t count, int multiple) {
  return (int)((count + multiple - 1) / multiple) * multiple;
}

/* Odd multiples of 8: eight rows of four lanes are then in different banks, along the rows by twos
 * and down the columns. */
static int stride_of(int64_t columns) {
  return up(columns, 8) / 8 % 2 ? up(columns, 8) : up(columns, 8) + 8;
}

/* --- layers -------------------------------------------------------------------------------- */

/* An odd multiple of 16: the same by fours, for rows that are multiplied with rows of the data
 * where these lie. */
static int quad_stride_of(int64_t columns) {
  return up(columns, 16) / 16 % 2 ? up(columns, 16) : up(columns, 16) + 16;
}

static void layer_add(const ep_program *program, int i, ep_population_blocks *out) {
  const ep_op *op = &program->ops[i];
  const bool gathers = out->layers_count == 0 && !out->x_staged;
  ep_population_layer *layer = &out->layers[out->layers_count++];
  *layer = (ep_population_layer){
      .op = i,
      .end = i + 1,
      .in = (int)op->in_features,
      .out = (int)op->out_features,
      .in_stride = gathers ? quad_stride_of(op->in_features) : stride_of(op->in_features),
      .out_stride = stride_of(op->out_features),
      .weight = (int)op->weight,
      .bias = (int)op->bias,
      .weights = out->weight_floats,
      .trains_weight = ep_program_learns(program, op->weight, op->weight >= 0),
      .trains_bias = ep_program_learns(program, op->bias, op->bias >= 0)};
  layer->biases = layer->weights + up(layer->out, 8) * layer->in_stride;
  out->weight_floats = layer->biases + (op->bias >= 0 ? up(layer->out, 8) : 0);
}

/* false: a layer is too wide, or there is none. */
static bool layers_make(const ep_program *program, bool x_staged, ep_population_blocks *out) {
  *out = (ep_population_blocks){.x_staged = x_staged};
  for (int i = 0; i < program->ops_count; i++) {
    const ep_op *op = &program->ops[i];
    if (op->in_features > WIDTH_MAX || op->out_features > WIDTH_MAX) return false;
    if (op->type == EP_LAYER_LINEAR)
      layer_add(program, i, out);
    else if (out->layers_count > 0)
      out->layers[out->layers_count - 1].end = i + 1;
    if (out->weight_floats > FLOATS_MAX) return false;
  }
  while (out->first_layer < out->layers_count && !out->layers[out->first_layer].trains_weight &&
         !out->layers[out->first_layer].trains_bias)
    out->first_layer++;
  return out->first_layer < out->layers_count;
}

/* --- shared memory ------------------------------------------------------------------------- */

static void activations_place(ep_population_blocks *out) {
  out->activation_floats = 0;
  for (int l = 0; l < out->layers_count; l++) {
    ep_population_layer *layer = &out->layers[l];
    const int floats = out->chunk_rows * layer->out_stride;
    layer->sums = layer->features = out->activation_floats;
    out->activation_floats += floats;
    if (layer->end == layer->op + 1) continue;
    layer->features = out->activation_floats;
    out->activation_floats += floats;
  }
  out->activation_floats += TILE_ROWS; /* a tile reads beyond the last row */
}

/* Takes `floats`, and returns where they lie. */
static int take(int64_t *at, int64_t floats) {
  const int place = (int)*at;
  *at += up(floats, 4);
  return place;
}

/* All offsets; sets shared_bytes. Fields that say what lies where are set. */
static void shared_place(const ep_program *program, ep_population_plan *plan) {
  ep_population_blocks *out = &plan->blocks;
  const int64_t slots = ep_optimizer_slots(&program->optimizer);
  int64_t at = up(out->weight_floats, 4);
  activations_place(out);
  out->grads = take(&at, out->gathers_grads ? out->weight_floats : 0);
  out->state = take(&at, out->state_shared ? slots * out->weight_floats : 0);
  out->x = take(&at, out->x_staged ? (int64_t)out->chunk_rows * out->layers[0].in_stride : 0);
  out->activations = take(&at, out->activations_shared ? out->activation_floats : 0);
  out->stage = take(&at, out->x_staged ? 0 : (int64_t)out->chunk_rows * STAGE_STRIDE);
  out->targets = take(&at, out->chunk_rows * program->target_columns);
  out->numbers = take(&at, out->x_staged ? 0 : out->chunk_rows);
  out->sums = take(&at, 3 * WARPS_MAX + 1);
  out->permutation = take(&at, (int64_t)(sizeof(ep_permutation) / sizeof(float)) + 1);
  plan->shared_bytes = at * (int64_t)sizeof(float);
  plan->activation_floats = out->activations_shared ? 0 : out->activation_floats;
}

static int rows_whole(const ep_program *program) {
  return up(program->batch_size, TILE_ROWS);
}

/* Whether the block fits with chunks of so many rows. */
static bool fits(const ep_program *program, int64_t shared_bytes, int rows,
                 ep_population_plan *plan) {
  ep_population_blocks *out = &plan->blocks;
  out->chunk_rows = rows;
  out->gathers_grads = program->optimizer.clip_norm > 0 || program->batch_size > rows;
  shared_place(program, plan);
  return plan->shared_bytes <= shared_bytes;
}

static bool ops_precede(const ep_program *program) {
  bool precede = false;
  for (int i = 0; i < program->ops_count && program->ops[i].type != EP_LAYER_LINEAR; i++)
    precede |= program->ops[i].type != EP_LAYER_FLATTEN;
  return precede;
}

/* Whether there is room for a batch, or for chunks of at least `least` rows. */
static bool chunks_make(const ep_program *program, int64_t shared_bytes, int least,
                        ep_population_plan *plan) {
  const int whole = rows_whole(program);
  if (whole <= WHOLE_ROWS_MAX && fits(program, shared_bytes, whole, plan)) return true;
  for (int rows = CHUNK_ROWS; rows >= least; rows /= 2)
    if (rows < whole && fits(program, shared_bytes, rows, plan)) return true;
  return false;
}

/* The first way that fits: all in shared memory; all but the optimizer's state; activations and
 * rows in device memory too. */
static bool shared_make(const ep_program *program, int64_t shared_bytes, ep_population_plan *plan) {
  ep_population_blocks *out = &plan->blocks;
  const int whole = rows_whole(program);
  if (!layers_make(program, true, out)) return false;
  out->activations_shared = out->state_shared = true;
  if (chunks_make(program, shared_bytes, CHUNK_ROWS_LEAST, plan)) return true;
  out->state_shared = false;
  if (chunks_make(program, shared_bytes, TILE_ROWS, plan)) return true;
  out->activations_shared = false;
  if (whole > DEVICE_ROWS_MAX) return false;
  if (fits(program, shared_bytes, whole, plan)) return true;
  return program->in_features % GATHERED_COLUMNS == 0 && !ops_precede(program) &&
         layers_make(program, false, out) && fits(program, shared_bytes, whole, plan);
}

/* --- threads ------------------------------------------------------------------------------- */

/* Tiles of the product that has the most of them. */
static int64_t tiles_most(const ep_population_blocks *blocks) {
  int64_t most = 1;
  for (int l = 0; l < blocks->layers_count; l++) {
    const ep_population_layer *layer = &blocks->layers[l];
    const int64_t forward = (int64_t)(blocks->chunk_rows / TILE_ROWS) * (up(layer->out, 8) / 8),
                  back = (int64_t)(up(layer->out, 16) / 16) * (up(layer->in, 8) / 8);
    if (forward > most) most = forward;
    if (back > most) most = back;
  }
  return most;
}

static void threads_choose(int64_t shared_bytes, ep_population_plan *plan) {
  const int64_t all = shared_bytes + 2 * BLOCK_DECLARED_BYTES, tiles = tiles_most(&plan->blocks);
  int64_t blocks = all / (plan->shared_bytes + BLOCK_DECLARED_BYTES);
  if (blocks > BLOCKS_MAX) blocks = BLOCKS_MAX;
  if (blocks < 1) blocks = 1;
  const int64_t warps_each = blocks > BLOCKS_OF_LARGE ? WARPS_EACH : LARGE_WARPS_EACH;
  int64_t warps = WARPS_MAX;
  while (warps > WARPS_LEAST && (warps * blocks > warps_each || warps > tiles)) warps /= 2;
  plan->threads = (int)warps * WARP;
  plan->blocks.blocks_each = (int)blocks;
}

bool ep_population_blocks_make(const ep_program *program, const ep_gpu_traits *gpu,
                               ep_population_plan *out) {
  const int64_t shared_bytes = ep_gpu_shared_bytes(gpu->capability);
  *out = (ep_population_plan){.file = "kernels/cuda/population/blocks.cuh",
                              .kernel = "blocks",
                              .members = 1,
                              .has_blocks = true};
  if (!(ep_gpu_features(gpu->capability) & EP_GPU_AMPERE) ||
      (ep_loss_takes_classes(program->loss) && program->out_features > CLASSES_MAX) ||
      !shared_make(program, shared_bytes, out))
    return false;
  threads_choose(shared_bytes, out);
  out->residents = out->blocks.blocks_each * gpu->multiprocessors;
  return true;
}
