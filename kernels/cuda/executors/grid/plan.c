#include "kernels/cuda/executors/grid/plan.h"

#include <string.h>

#include "kernels/cuda/executors/dense.h"
#include "kernels/cuda/executors/grid/offsets.h"
#include "kernels/cuda/executors/grid/phases.h"

enum {
  CLUSTER_BLOCKS = 16,
  CLUSTER_GROUPS = 32,       /* more rows are worth all multiprocessors */
  WIDE_FRONT_FLOATS = 12288, /* of an image before wide layers: those are worth all blocks */
  FRONT_SHARE = 4,   /* one of these blocks has the front, the others update the wide layers */
  MIDDLE_SHARE = 2,  /* one of these blocks has the middle layers, likewise */
  MIDDLE_GRAIN = 16, /* tasks are a multiple of as many */
  MIDDLE_BEHIND = 1 << 21, /* weights of a layer before which they pay … */
  MIDDLE_PANELS = 1 << 17, /* … and of one of them that is updated by panels */
  ROWS_MAX = 16384,
  WIDE_ROWS_MAX = 1024,
  FEATURES_MAX = 1 << 20,
  WARPS = EP_GRID_THREADS / 32
};
static const int64_t PARAMETERS_MAX = INT64_C(1) << 26;

static int64_t up(int64_t count, int64_t multiple) {
  return (count + multiple - 1) / multiple * multiple;
}

static int64_t least(int64_t a, int64_t b) {
  return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b) {
  return a > b ? a : b;
}

/* As line_of in narrow.cuh. */
static int64_t line_of(int64_t count) {
  return up(count, 8) + 4;
}

/* --- layers ---------------------------------------------------------------------------------- */

static ep_grid_layer layer_of(const ep_program *program, const ep_cuda_dense_layer *dense) {
  const ep_op *op = dense->linear, activation = ep_cuda_dense_activation(dense);
  return (ep_grid_layer){.in = (int32_t)op->in_features,
                         .out = (int32_t)op->out_features,
                         .stride = (int32_t)up(op->out_features, 4),
                         .weight = op->weight,
                         .bias = op->bias,
                         .image_stride = (int32_t)up(op->in_features, 4),
                         .mirror = -1,
                         .activation = (int32_t)activation.type,
                         .negative_slope = activation.negative_slope,
                         .alpha = activation.alpha,
                         .beta = activation.beta,
                         .threshold = activation.threshold,
                         .weight_decay = ep_program_decay_at(program, op->weight),
                         .bias_decay = op->bias < 0 ? -1 : ep_program_decay_at(program, op->bias)};
}

static bool layers_take(const ep_program *program, ep_grid_args *args) {
  ep_cuda_dense_layer dense[EP_GRID_LAYERS_MAX];
  args->layers_count = ep_cuda_dense_layers(program, FEATURES_MAX, EP_GRID_LAYERS_MAX, dense);
  for (int l = 0; l < args->layers_count; l++) args->layers[l] = layer_of(program, &dense[l]);
  return args->layers_count > 0;
}

/* --- how products are cut -------------------------------------------------------------------- */

typedef struct {
  int m, n, k; /* of a tile */
} tile_size;

static const tile_size forward_sizes[] = {{EP_GRID_SMALL_M, EP_GRID_SMALL_N, EP_GRID_SMALL_K},
                                          {EP_GRID_LARGE_M, EP_GRID_LARGE_N, EP_GRID_LARGE_K}};
static const tile_size weights_sizes[] = {
    {EP_GRID_WEIGHTS_SMALL_M, EP_GRID_WEIGHTS_SMALL_N, EP_GRID_WEIGHTS_K},
    {EP_GRID_WEIGHTS_LARGE_M, EP_GRID_WEIGHTS_LARGE_N, EP_GRID_WEIGHTS_K}};

typedef struct {
  int64_t m, n, terms;
  bool weights; /* their gradient: the tile is read and written at the end */
  bool small;   /* there is room for the small tiles alone */
  bool precise;
} product_size;

static tile_size tile_of(const product_size *size, bool large) {
  tile_size tile = (size->weights ? weights_sizes : forward_sizes)[large];
  if (large && !size->weights) tile.m = ep_grid_large_m(size->precise);
  return tile;
}

static ep_grid_cut cut_of(const product_size *size, bool large, int64_t splits) {
  tile_size tile = tile_of(size, large);
  int64_t chunk = up((size->terms + splits - 1) / splits, tile.k);
  return (ep_grid_cut){.large = large,
                       .across = (uint16_t)((size->m + tile.m - 1) / tile.m),
                       .down = (uint16_t)((size->n + tile.n - 1) / tile.n),
                       .splits = (uint16_t)((size->terms + chunk - 1) / chunk),
                       .chunk = (int32_t)chunk};
}

/* Cycles that a cut is expected to take: rounds of tasks, each of a latency and of bytes through
 * the L2 cache or products, whichever is more; and a meeting where sums are shared. The figures
 * are an H200's: 24 bytes a cycle for each of all multiprocessors, half as much more for a few. */
static double cut_cycles(const product_size *size, const ep_grid_cut *cut, int blocks) {
  tile_size tile = tile_of(size, cut->large);
  double terms = (double)least(cut->chunk, size->terms), area = (double)tile.m * tile.n;
  double bytes = (double)(tile.m + tile.n) * terms * 4 + area * 8 / cut->splits;
  if (cut->splits > 1) bytes += area * 8;
  int64_t tasks = ep_grid_cut_tasks(cut), rounds = (tasks + blocks - 1) / blocks;
  double rate = 3000.0 / (double)least(tasks, blocks);
  if (rate > 36) rate = 36;
  double moving = bytes / rate, multiplying = area * terms / 400 * (size->precise ? 3 : 1);
  double cycles = (double)rounds * (1200 + (moving > multiplying ? moving : multiplying));
  return cut->splits > 1 ? cycles + 4000 : cycles;
}

static ep_grid_cut cut_choose(const product_size *size, int blocks) {
  ep_grid_cut best = cut_of(size, false, 1);
  for (int large = 0; large <= !size->small; large++)
    for (int64_t splits = 1; splits <= least(64, blocks); splits *= 2) { /* a block each */
      ep_grid_cut cut = cut_of(size, large, splits);
      if (cut_cycles(size, &cut, blocks) < cut_cycles(size, &best, blocks)) best = cut;
    }
  return best;
}

/* Instead of a cut into small tiles that are no part of a sum: tiles of all terms, one a block,
 * with as many outputs as that takes. Other cuts stay. */
static void cut_make_whole(const product_size *size, ep_grid_cut *cut, int blocks) {
  if (cut->large || cut->splits > 1 || size->precise) return;
  if (size->m % EP_GRID_LINE != 0 || size->terms % EP_GRID_LINE != 0) return;
  const int64_t part = ep_grid_whole_lines((int)size->terms) * EP_GRID_LINE,
                all = up(size->terms, part), rows = 2 * EP_GRID_WHOLE_N * part,
                down = (size->n + EP_GRID_WHOLE_N - 1) / EP_GRID_WHOLE_N;
  for (int64_t m = EP_GRID_WHOLE_M; m <= 2 * EP_GRID_WHOLE_M; m *= 2) {
    const int64_t across = (size->m + m - 1) / m;
    if (across * down > blocks) continue;
    if (m * all + rows + 8 * EP_GRID_LINE > EP_GRID_WIDE_AREA) return;
    *cut = (ep_grid_cut){.across = (uint16_t)across,
                         .down = (uint16_t)down,
                         .splits = 1,
                         .whole_m = (uint16_t)m,
                         .chunk = (int32_t)size->terms};
    return;
  }
}

/* Whether the last layer adds up the parts of what layer `layer`, the one before it, gives: of two
 * or four fours a thread, all rows in one tile, and where its own weights fit shared memory. */
static bool cut_left_in_parts(const ep_grid_args *args, const ep_grid_layer *layer,
                              const ep_grid_cut *cut) {
  const int64_t fours = layer->out / (4 * EP_GRID_THREADS);
  if (!cut->large || cut->splits == 1 || cut->down > 1 || args->precise) return false;
  if (layer->out % (4 * EP_GRID_THREADS) != 0 || (fours != 2 && fours != 4)) return false;
  if (cut->splits * fours % EP_GRID_PARTS != 0) return false;
  if (layer[1].weight % 4 != 0 || (layer->bias >= 0 && layer->bias % 4 != 0)) return false;
  return layer->activation == EP_LAYER_RELU &&
         (int64_t)layer[1].out * layer->out <= EP_GRID_WIDE_AREA;
}

/* Floats of a task's sums; the biases' too. */
static int64_t tile_sums(tile_size tile, bool weights) {
  return (int64_t)tile.m * tile.n + (weights ? tile.m : 0);
}

/* Counters, and floats of partial sums. */
static int64_t cut_reserve(const product_size *size, ep_grid_cut *cut, int64_t *counters) {
  if (cut->splits == 1) return 0;
  tile_size tile = tile_of(size, cut->large);
  cut->counters = (int32_t)*counters;
  *counters += (int64_t)cut->across * cut->down * 2; /* the halves of a tile may meet apart */
  return ep_grid_cut_tasks(cut) * tile_sums(tile, size->weights);
}

static int64_t update_cut(const ep_grid_args *args, ep_grid_layer *layer, bool small, int blocks,
                          int64_t *counters) {
  product_size size = {layer->out, layer->in, args->batch_rows, true, small, args->precise};
  layer->update = cut_choose(&size, blocks);
  return cut_reserve(&size, &layer->update, counters);
}

/* --- what lies where ------------------------------------------------------------------------- */

static bool front_is_all(const ep_grid_args *args) {
  return args->front == args->layers_count;
}

/* The image of the front layers. */
static void image_place(ep_grid_args *args) {
  int64_t at = 0;
  for (int l = 0; l < args->front; l++) {
    ep_grid_layer *layer = &args->layers[l];
    layer->image = (int32_t)at;
    layer->image_stride = (int32_t)line_of(layer->in);
    at += up((int64_t)layer->out * layer->image_stride + (layer->bias >= 0 ? layer->out : 0), 4);
  }
  args->image_floats = (int32_t)at;
  args->narrow = 0;
  for (int l = 0; l < args->front && l < args->layers_count - 1 &&
                  most(args->layers[l].in, args->layers[l].out) <= EP_GRID_NARROW;)
    args->narrow = ++l;
}

/* Returns floats of shared memory. Between the way through the front and the way back only the
 * slopes stay: the products of wide layers, and those of the update, take the place of the rest. */
static int64_t shared_place(ep_grid_args *args) {
  int64_t at = EP_GRID_STATE, rows = args->tiles * EP_GRID_GROUP,
          wide = args->front > 0 ? line_of(args->layers[0].in) : 0;
  for (int l = 0; l < args->front; l++) {
    args->layers[l].slopes = (int32_t)at;
    if (l < args->layers_count - 1) at += rows * line_of(args->layers[l].out);
    wide = most(wide, line_of(args->layers[l].out));
  }
  args->area_at = (int32_t)at;
  int64_t area = front_is_all(args) ? EP_GRID_WEIGHTS_SMALL_AREA : EP_GRID_WIDE_AREA;
  args->image_at = (int32_t)at;
  at += args->image_floats;
  args->narrow_at = (int32_t)at;
  if (args->narrow > 0) at += rows * 2 * EP_GRID_NARROW_LINE;
  args->rows_at = (int32_t)at;
  args->rows_floats = (int32_t)(rows * wide);
  at += 2 * rows * wide;
  args->sums_at = (int32_t)at;
  if (args->front > 0) at += (int64_t)WARPS * args->tiles * 128;
  return most(at, args->area_at + area);
}

/* The same of a front that one block has with all rows: of each layer the input (the first one's
 * twice: of this step and of the next), slopes and then gradients, weights, biases, and the weights
 * an input a line; all padded to eights. */
static int64_t chain_place(ep_grid_args *args) {
  int64_t at = EP_GRID_STATE + EP_GRID_CHAIN_TABLES;
  args->chain_rows = (int32_t)up(args->batch_rows, 2 * EP_GRID_GROUP);
  args->chain_room = (int32_t)least(args->chain_rows + 2 * EP_GRID_GROUP, EP_GRID_CHAIN_ROWS);
  for (int l = 0; l < args->front; l++) {
    ep_grid_layer *layer = &args->layers[l];
    int64_t inputs = up(layer->in, 8), outputs = up(layer->out, 8);
    at += (l == 0 ? 2 : 1) * inputs * args->chain_room;
    layer->slopes = (int32_t)at;
    at += outputs * args->chain_room;
    layer->image = (int32_t)at;
    layer->image_stride = ep_grid_chain_line((int)inputs);
    at += outputs * (layer->image_stride + 1) + inputs * ep_grid_chain_line((int)outputs);
  }
  args->chain_end = (int32_t)(at + EP_GRID_CHAIN_SPARE);
  return args->chain_end;
}

static bool shared_fits(int64_t floats) {
  return floats * (int64_t)sizeof(float) <= EP_GRID_SHARED_BYTES;
}

/* Whether warpgroups may update the weights: all rows are in one tile, fours begin on 16 bytes, and
 * there is room for what the optimizer keeps. */
static bool layer_by_panels(const ep_grid_args *args, const ep_grid_layer *layer) {
  const int64_t weights = (int64_t)layer->in * layer->out;
  return args->slots <= EP_GRID_PANEL_SLOTS && layer->mirror < 0 && !args->precise &&
         layer->weight_decay >= 0 && args->batch_rows <= EP_GRID_LARGE_N &&
         (layer->backward.large || (args->middle_blocks > 0 && weights >= MIDDLE_PANELS));
}

/* Panels by outputs, `stages` at a time. */
static ep_grid_cut panels_cut(const ep_grid_layer *layer, int64_t stages) {
  const int64_t chunk = stages * EP_GRID_LARGE_K;
  return (ep_grid_cut){.large = true,
                       .across = (uint16_t)(up(layer->in, EP_GRID_LARGE_M) / EP_GRID_LARGE_M),
                       .down = 1,
                       .splits = (uint16_t)(up(layer->out, chunk) / chunk),
                       .chunk = (int32_t)chunk};
}

/* All layers' from one up to the other together: as few stages a task that each block has one task,
 * since a task's start, in which a panel is turned, costs as much as two of its stages. */
static void panels_share(ep_grid_args *args, int from, int to, int blocks) {
  bool fits = false, more = true;
  for (int64_t stages = 1; !fits && more; stages++) {
    int64_t tasks = 0;
    more = false;
    for (int l = from; l < to; l++) {
      ep_grid_layer *layer = &args->layers[l];
      if (!layer_by_panels(args, layer)) continue;
      layer->panels = panels_cut(layer, stages);
      tasks += ep_grid_cut_tasks(&layer->panels);
      more = more || layer->panels.splits > 1;
    }
    fits = tasks <= blocks;
  }
}

/* Each middle layer's panels for those that update it, the others' together. */
static void panels_place(ep_grid_args *args) {
  if (args->middle_blocks == 0) return panels_share(args, 0, args->layers_count, args->workers);
  ep_grid_share shares[EP_GRID_LAYERS_MAX];
  panels_share(args, args->front, args->middle + 1, INT32_MAX);
  ep_grid_middle_shares(args, shares);
  for (int l = args->front; l <= args->middle; l++)
    panels_share(args, l, l + 1, shares[l].to - shares[l].from);
  panels_share(args, args->middle + 1, args->layers_count, args->workers - args->middle_blocks);
}

/* How many blocks update a layer. */
static int update_blocks(const ep_grid_plan *plan, int l) {
  const ep_grid_args *args = &plan->args;
  if (args->chained)
    return l <= args->middle ? args->middle_blocks : args->workers - args->middle_blocks;
  if (args->front == 0 || front_is_all(args) || args->front_blocks == plan->blocks)
    return args->workers;
  return l <= args->front ? args->front_blocks : plan->blocks - args->front_blocks;
}

/* Where the parameters of the front end. */
static int64_t front_parameters(const ep_grid_args *args) {
  int64_t end = 0;
  for (int l = 0; l < args->front; l++) {
    const ep_grid_layer *layer = &args->layers[l];
    end = most(end, layer->weight + (int64_t)layer->out * layer->in);
    if (layer->bias >= 0) end = most(end, layer->bias + layer->out);
  }
  return end;
}

/* Blocks that have no row of the batch in the last layer turn inputs for panels meanwhile, those of
 * the widest layers: blocks that have a task of the phase behind it, by which the others know. */
static void turned_place(ep_grid_args *args, int64_t *at) {
  const int last = args->layers_count - 1;
  int64_t block = args->batch_rows, end = 0;
  if (last > 0) end = least(ep_grid_cut_tasks(&args->layers[last - 1].backward), args->workers);
  for (int l = last; l >= 0; l--) {
    ep_grid_layer *layer = &args->layers[l];
    const int64_t panels = layer->panels.across;
    layer->turned = -1;
    if (l == last || l <= args->front || layer->panels.splits == 0 || block + panels > end)
      continue;
    layer->turned = *at;
    layer->turned_by = (int32_t)block;
    block += panels;
    *at += panels * EP_GRID_PANEL_FLOATS;
  }
}

static void scratch_place(ep_grid_plan *plan) {
  ep_grid_args *args = &plan->args;
  int64_t rows = up(args->batch_rows, 2 * EP_GRID_GROUP), at = 0, partials = 0;
  for (int l = 0; l < args->layers_count; l++) {
    ep_grid_layer *layer = &args->layers[l];
    layer->after = at;
    layer->grad = at + rows * layer->stride;
    at = layer->grad + rows * layer->stride;
  }
  if (args->chained) {
    args->front_turn = at - args->layers[args->front - 1].after;
    at += rows * args->layers[args->front - 1].stride;
    args->front_grad = at;
    at += up(args->layers[args->front - 1].out, 8) * args->chain_rows;
    args->front_sums = at;
    at += up(front_parameters(args), 4);
  }
  args->rows = at;
  at += up(2 * args->batch_rows, 4);
  args->image = at;
  at += args->image_floats;
  args->order = at;
  at += args->shuffles ? up(2 * args->train_rows, 4) : 0;
  args->inputs = at;
  args->inputs_stride = (int32_t)up(args->layers[0].in, 4);
  at += rows * args->inputs_stride;
  for (int l = 0; l < args->layers_count; l++) {
    ep_grid_layer *layer = &args->layers[l];
    if (l < args->front && args->chained) continue;
    if (l < args->front) {
      layer->mirror = args->image + layer->image;
    } else if (layer->in % 4 != 0 || layer->weight % 4 != 0) {
      layer->image_stride = (int32_t)up(layer->in, 4);
      layer->mirror = at;
      at += up((int64_t)layer->out * layer->image_stride + layer->out, 4);
    }
    layer->partials = at;
    at += update_cut(args, layer, front_is_all(args), update_blocks(plan, l), &plan->counters);
    if (l < args->front || l == args->layers_count - 1) continue;
    product_size forward = {layer->out, args->batch_rows, layer->in, false, false, args->precise};
    layer->forward_blocks = l + 1 < args->middle ? args->middle_blocks : args->workers;
    layer->forward = cut_choose(&forward, layer->forward_blocks);
    cut_make_whole(&forward, &layer->forward, layer->forward_blocks);
    if (l == args->layers_count - 2)
      layer->forward.left_in_parts = cut_left_in_parts(args, layer, &layer->forward);
    partials = most(partials, cut_reserve(&forward, &layer->forward, &plan->counters));
    if (l == 0) continue;
    product_size backward = {layer->in, args->batch_rows, layer->out, false, false, args->precise};
    layer->backward_blocks = l < args->middle ? args->middle_blocks : args->workers;
    layer->backward = cut_choose(&backward, layer->backward_blocks);
    cut_make_whole(&backward, &layer->backward, layer->backward_blocks);
    partials = most(partials, cut_reserve(&backward, &layer->backward, &plan->counters));
  }
  panels_place(args);
  turned_place(args, &at);
  args->partials = at;
  plan->scratch_floats = at + up(partials, 4);
}

/* --- the choice ------------------------------------------------------------------------------ */

static int64_t groups_count(const ep_grid_args *args) {
  int64_t rows = args->tiles * EP_GRID_GROUP;
  return (args->batch_rows + rows - 1) / rows;
}

/* Which layers behind a chained front are the middle ones, and whose: up to the second before the
 * widest, if that is wide enough to take long, and is most of all: half of the blocks take twice as
 * long for other layers as wide. */
static void middle_take(ep_grid_args *args) {
  int64_t most_weights = 0, all_weights = 0;
  int widest = 0;
  for (int l = args->front; l < args->layers_count - 1; l++) {
    const int64_t weights = (int64_t)args->layers[l].in * args->layers[l].out;
    if (weights > most_weights) widest = l, most_weights = weights;
    all_weights += weights;
  }
  if (most_weights < MIDDLE_BEHIND || 2 * most_weights < all_weights) return;
  if (widest - 1 <= args->front || args->workers < MIDDLE_SHARE) return;
  args->middle = widest - 1;
  args->middle_blocks = args->workers / MIDDLE_SHARE;
  if (args->middle_blocks > MIDDLE_GRAIN) args->middle_blocks -= args->middle_blocks % MIDDLE_GRAIN;
}

/* A block takes all rows through the front, while the others update the wide layers. false: there
 * is no such front before a wide layer. */
static bool front_chained(ep_grid_plan *plan, int multiprocessors) {
  ep_grid_args *args = &plan->args;
  int last = args->layers_count - 1;
  if (args->batch_rows > EP_GRID_CHAIN_ROWS || last < 2 || multiprocessors < 2) return false;
  int64_t shared = 0;
  for (args->front = 0; args->front < last - 1; args->front++) {
    const ep_grid_layer *layer = &args->layers[args->front];
    if (most(layer->in, layer->out) > EP_GRID_CHAIN_WIDTH) break;
  }
  for (; args->front > 0; args->front--)
    if (shared_fits(shared = chain_place(args))) break;
  if (args->front == 0) return false;
  args->chained = true;
  args->cluster = false;
  args->tiles = 1;
  args->narrow = 0;
  args->image_floats = 0;
  args->area_at = EP_GRID_STATE;
  plan->blocks = multiprocessors;
  args->workers = multiprocessors - 1;
  middle_take(args);
  args->pair_at = args->area_at + EP_GRID_WIDE_AREA;
  plan->shared_bytes = (int)most(shared, args->pair_at + EP_GRID_PAIR_AREA) * (int)sizeof(float);
  return true;
}

/* All layers in the front: a cluster of few blocks, or all multiprocessors for many rows. */
static bool front_alone(ep_grid_plan *plan, int multiprocessors) {
  ep_grid_args *args = &plan->args;
  int64_t tasks = 0;
  args->front = args->layers_count;
  image_place(args);
  for (int l = 0; l < args->layers_count; l++)
    tasks += up(args->layers[l].out, EP_GRID_WEIGHTS_SMALL_M) / EP_GRID_WEIGHTS_SMALL_M *
             (up(args->layers[l].in, EP_GRID_WEIGHTS_SMALL_N) / EP_GRID_WEIGHTS_SMALL_N);
  args->tiles = 1;
  args->cluster = true;
  if (groups_count(args) > CLUSTER_BLOCKS) {
    args->tiles = 2;
    if (!shared_fits(shared_place(args))) args->tiles = 1;
    args->cluster = groups_count(args) <= CLUSTER_GROUPS;
    if (!args->cluster)
      args->tiles = args->batch_rows <= multiprocessors * EP_GRID_GROUP ? 1 : args->tiles;
  }
  int64_t shared = shared_place(args), wanted = most(groups_count(args), tasks);
  if (!shared_fits(shared)) return false;
  plan->shared_bytes = (int)shared * (int)sizeof(float);
  plan->blocks = (int)least(wanted, multiprocessors);
  if (args->cluster)
    for (plan->blocks = 1; plan->blocks < least(wanted, CLUSTER_BLOCKS);) plan->blocks *= 2;
  args->workers = plan->blocks;
  return true;
}

/* A few layers in the front, the others by all multiprocessors. */
static bool front_and_wide(ep_grid_plan *plan, int multiprocessors) {
  ep_grid_args *args = &plan->args;
  if (args->layers_count < 2 || args->batch_rows > WIDE_ROWS_MAX) return false;
  args->cluster = false;
  args->workers = plan->blocks = multiprocessors;
  args->tiles = args->batch_rows <= multiprocessors * EP_GRID_GROUP ? 1 : 2;
  int64_t shared = 0;
  for (args->front = args->layers_count - 1; args->front >= 0; args->front--) {
    image_place(args);
    shared = shared_place(args);
    if (args->image_floats <= WIDE_FRONT_FLOATS && shared_fits(shared) &&
        (args->front == 0 || groups_count(args) <= multiprocessors))
      break;
  }
  plan->shared_bytes = (int)shared * (int)sizeof(float);
  int groups = args->front > 0 ? (int)groups_count(args) : 0;
  args->front_blocks =
      groups > plan->blocks / 2 ? plan->blocks : (int)most(groups, plan->blocks / FRONT_SHARE);
  return args->front >= 0;
}

static bool program_fits(const ep_program *program) {
  return program->parameters > 0 && program->parameters <= PARAMETERS_MAX &&
         program->batch_size <= ROWS_MAX && program->out_features <= EP_GRID_OUTPUTS_MAX &&
         program->train_rows <= INT32_MAX;
}

static void program_take(const ep_program *program, ep_grid_args *args) {
  const ep_optimizer *optimizer = &program->optimizer;
  args->seed = program->seed;
  args->optimizer = *optimizer;
  args->first_update = ep_optimizer_step_make(optimizer, 0, 1);
  args->loss_parameter = program->loss_parameter;
  args->label_smoothing = program->label_smoothing;
  args->loss_type = (int32_t)program->loss;
  args->train_rows = program->train_rows;
  args->batch_rows = program->batch_size;
  args->steps_per_epoch = ep_program_steps_per_epoch(program);
  args->targets = (int32_t)program->target_columns;
  args->slots = (int32_t)ep_optimizer_slots(optimizer);
  args->state_stride = args->slots > 1 ? up(program->parameters, 4) : program->parameters;
  args->shuffles = ep_program_shuffles(program);
  args->takes_classes = ep_loss_takes_classes(program->loss);
  args->plain_rate = ep_optimizer_is_plain(optimizer->type);
  args->precise = program->precision == EP_PRECISION_FP32;
}

/* Whether neighbouring blocks have sums to add up. */
static bool blocks_pair(const ep_grid_plan *plan) {
  const ep_grid_args *args = &plan->args;
  bool pair = false;
  for (int l = args->front; l < args->layers_count - 1; l++) {
    const ep_grid_layer *layer = &args->layers[l];
    pair = pair || ep_grid_cut_pairs(&layer->forward, layer->forward_blocks) ||
           ep_grid_cut_pairs(&layer->backward, layer->backward_blocks);
  }
  return pair && args->chained && !args->precise && plan->blocks % 2 == 0;
}

bool ep_grid_plan_make(const ep_program *program, int multiprocessors, ep_grid_plan *out) {
  memset(out, 0, sizeof *out);
  if (!program_fits(program)) return false;
  program_take(program, &out->args);
  if (!layers_take(program, &out->args)) return false;
  if (!front_alone(out, multiprocessors) && !front_chained(out, multiprocessors) &&
      !front_and_wide(out, multiprocessors))
    return false;
  scratch_place(out);
  out->args.paired = blocks_pair(out);
  if (!front_is_all(&out->args)) ep_grid_phases_make(&out->args);
  return true;
}
