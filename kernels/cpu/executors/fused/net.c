/* Laying a program out for cpu/fused: stages, the order of parameters, and one block of memory. */
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/executors/fused/fused.h"
#include "kernels/cpu/executors/fused/plan.h"
#include "kernels/formulas/optimizers.h"

/* Activations of a chunk are meant to stay in the first level cache, 32 KiB or more. A chunk of a
 * larger network has CHUNK_LEAST_ROWS even so: fewer would not be worth the loads of a product. */
enum {
  CHUNK_BYTES = 40 << 10,
  CHUNK_LEAST_ROWS = 64,
  CHUNK_TILED_ROWS = 128,
  CHUNK_MOST_ROWS = EP_FUSED_NORM_ROWS
};

/* From here on the inputs of a layer fill vectors of their own. */
enum { WIDE_IN_FEATURES = 16, WIDE_OUT_FEATURES = 4 };

enum { TILE_SIDE = 32 };

static int64_t round_up(int64_t value, int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

static int64_t at_most(int64_t value, int64_t limit) {
  return value < limit ? value : limit;
}

/* Sums sizes and remembers an overflow. */
typedef struct {
  int64_t floats;
  bool overflow;
} tally;

/* Returns where rows * columns floats begin. */
static int64_t tally_add_tight(tally *self, int64_t rows, int64_t columns) {
  int64_t begin = self->floats, size;
  self->overflow |= __builtin_mul_overflow(rows, columns, &size);
  self->overflow |= __builtin_add_overflow(begin, size, &self->floats);
  self->overflow |= self->floats > INT64_MAX - EP_FUSED_PAD;
  if (self->overflow) self->floats = 0;
  return begin;
}

/* The same, padded. */
static int64_t tally_add(tally *self, int64_t rows, int64_t columns) {
  int64_t begin = tally_add_tight(self, rows, columns);
  self->floats = round_up(self->floats, EP_FUSED_PAD);
  return begin;
}

static bool is_norm(const ep_fused_stage *stage) {
  return stage->type == EP_LAYER_LAYER_NORM || stage->type == EP_LAYER_BATCH_NORM;
}

/* An elementwise layer may overwrite the linear layer or norm before it where its own output is
 * enough to go back. */
static bool works_in_place(const ep_fused_stage *stage, const ep_fused_stage *before) {
  if (!before || before->relu || (before->type != EP_LAYER_LINEAR && !is_norm(before)))
    return false;
  return stage->type == EP_LAYER_RELU || stage->type == EP_LAYER_TANH ||
         stage->type == EP_LAYER_SIGMOID || stage->type == EP_LAYER_SOFTMAX ||
         stage->type == EP_LAYER_LOG_SOFTMAX;
}

static bool is_trained(const ep_fused_stage *stage) {
  return stage->weight >= 0 || stage->bias >= 0;
}

/* Layers to stages: a relu joins the linear layer before it, flatten does nothing. */
static void make_stages(ep_fused_net *net) {
  const ep_program *program = net->program;
  for (int i = 0; i < program->ops_count; i++) {
    const ep_op *op = &program->ops[i];
    ep_fused_stage *before = net->stages_count ? &net->stages[net->stages_count - 1] : NULL;
    if (op->type == EP_LAYER_FLATTEN) continue; /* rows are flat already */
    if (op->type == EP_LAYER_RELU && before && before->type == EP_LAYER_LINEAR && !before->relu) {
      before->relu = true;
      continue;
    }
    ep_fused_stage *stage = &net->stages[net->stages_count++];
    *stage = (ep_fused_stage){.type = op->type,
                              .in_features = op->in_features,
                              .out_features = op->out_features,
                              .weight = op->weight,
                              .bias = op->bias,
                              .weight_rows = op->type == EP_LAYER_LINEAR ? op->out_features : 1,
                              .op = op};
    stage->in_place = works_in_place(stage, before);
    stage->wide = op->type == EP_LAYER_LINEAR && op->in_features >= WIDE_IN_FEATURES &&
                  op->out_features >= WIDE_OUT_FEATURES;
    stage->tiled = net->variant->tiles && ep_fused_is_tiled(program, op);
    stage->shared =
        stage->wide && net->parts == 1 && ep_fused_is_shared(program, op, net->variant->tiles);
    net->tiled = net->tiled || stage->tiled;
    net->shared = net->shared || stage->shared;
  }
  net->first_trained = 0;
  while (net->first_trained < net->stages_count && !is_trained(&net->stages[net->first_trained]))
    net->first_trained++;
}

/* Offsets of the parameters: those that are summed by lane first, then the wide weights. */
static void place_parameters(ep_fused_net *net, tally *total) {
  tally summed = {0};
  for (int i = 0; i < net->stages_count; i++) {
    ep_fused_stage *stage = &net->stages[i];
    stage->weight_stride =
        stage->wide ? round_up(stage->in_features, EP_FUSED_PAD) : stage->in_features;
    if (stage->weight >= 0 && !stage->wide)
      stage->weight = tally_add_tight(&summed, stage->weight_rows, stage->in_features);
    if (stage->bias >= 0) stage->bias = tally_add_tight(&summed, stage->out_features, 1);
  }
  tally_add(&summed, 0, 0);
  net->summed = summed.floats;
  for (int i = 0; i < net->stages_count; i++) {
    ep_fused_stage *stage = &net->stages[i];
    if (stage->wide) stage->weight = tally_add(&summed, stage->out_features, stage->weight_stride);
  }
  net->floats = summed.floats;
  total->overflow |= summed.overflow;
}

/* Rows of a chunk, and with them the size of everything. `values`: floats a row needs in all. */
static void choose_chunk(ep_fused_net *net, int64_t values) {
  int64_t most = CHUNK_BYTES / (4 * at_most(values, CHUNK_BYTES));
  if (most > CHUNK_MOST_ROWS) most = CHUNK_MOST_ROWS;
  if (most < CHUNK_LEAST_ROWS) most = CHUNK_LEAST_ROWS;
  if ((net->tiled || net->shared) && most < CHUNK_TILED_ROWS) most = CHUNK_TILED_ROWS;
  if (net->program->buffers > 0) most = CHUNK_MOST_ROWS; /* as many as a batch has */
  int64_t rows = round_up(net->program->batch_size, net->lanes);
  int64_t chunks = (rows + most - 1) / most;
  if (net->parts > 1) {
    chunks = round_up(chunks, net->parts); /* as many for each part */
    rows = round_up((rows + chunks - 1) / chunks, net->lanes);
  } else {
    rows = round_up((rows + chunks - 1) / chunks, chunks > 1 ? CHUNK_LEAST_ROWS : net->lanes);
  }
  net->stride = rows;
  net->chunk_vectors = rows / net->lanes;
}

typedef struct {
  int64_t values;     /* floats of all outputs of one row */
  int64_t widest;     /* layer */
  int64_t wide_input; /* features of the widest wide layer's input; 0 = none */
  int64_t tiled;      /* features of the widest side of a tiled layer; 0 = none */
} extent;

static extent measure(const ep_fused_net *net) {
  extent size = {.widest = net->program->out_features};
  if (net->program->in_features > size.widest) size.widest = net->program->in_features;
  for (int i = 0; i < net->stages_count; i++) {
    const ep_fused_stage *stage = &net->stages[i];
    if (!stage->in_place) size.values += stage->out_features;
    if (i > 0 && stage->in_features > size.widest) size.widest = stage->in_features;
    if (stage->out_features > size.widest) size.widest = stage->out_features;
    if (stage->wide && stage->in_features > size.wide_input) size.wide_input = stage->in_features;
    if (stage->tiled && stage->in_features > size.tiled) size.tiled = stage->in_features;
    if (stage->tiled && stage->out_features > size.tiled) size.tiled = stage->out_features;
  }
  return size;
}

static void place_activations(ep_fused_net *net) {
  float *next = net->activations, *output = NULL;
  for (int i = 0; i < net->stages_count; i++) {
    ep_fused_stage *stage = &net->stages[i];
    stage->input = output;
    stage->output = stage->in_place ? output : next;
    if (!stage->in_place) next += stage->out_features * net->stride;
    output = stage->output;
  }
  net->output = output;
}

/* Numbers that a norm has a mean and a factor for. */
static int64_t moments_of(const ep_fused_net *net, const ep_fused_stage *stage) {
  if (stage->type == EP_LAYER_LAYER_NORM) return net->stride;
  if (stage->type == EP_LAYER_BATCH_NORM) return round_up(stage->out_features, EP_FUSED_PAD);
  return 0;
}

static int64_t tally_moments(tally *self, const ep_fused_net *net) {
  const int64_t begin = self->floats;
  for (int i = 0; i < net->stages_count; i++) tally_add(self, 2, moments_of(net, &net->stages[i]));
  return begin;
}

static void place_moments(ep_fused_net *net, float *next) {
  for (int i = 0; i < net->stages_count; i++) {
    ep_fused_stage *stage = &net->stages[i];
    stage->mean = next;
    stage->factor = next + moments_of(net, stage);
    next += round_up(2 * moments_of(net, stage), EP_FUSED_PAD);
  }
}

/* Room for a matrix in tiles. */
static int64_t tally_tiles(tally *self, int64_t rows, int64_t columns) {
  return tally_add(self, round_up(rows, TILE_SIDE),
                   round_up(columns, TILE_SIDE) / 2 * EP_FUSED_TILE_PARTS);
}

static int64_t place_tiles(ep_fused_net *net, tally *total) {
  const int64_t begin = total->floats;
  for (int i = 0; i < net->stages_count; i++) {
    ep_fused_stage *stage = &net->stages[i];
    if (stage->tiled) stage->tiles = tally_tiles(total, stage->in_features, net->stride) - begin;
  }
  return begin;
}

/* Sizes first, then the one allocation, then the pointers into it. whole: whose parameters and
 * state it has; NULL: its own. */
static ep_status place_arrays(ep_fused_net *net, const ep_fused_net *whole, ep_error *error) {
  const ep_program *program = net->program;
  tally total = {0};
  if (!whole) place_parameters(net, &total);
  extent size = measure(net);
  int64_t row_values = program->in_features + program->target_columns;
  if (!whole) choose_chunk(net, row_values + size.values + 2 * size.widest);
  net->slots = ep_optimizer_slots(&program->optimizer);
  int64_t parameters = whole ? 0 : tally_add(&total, net->floats, 1);
  int64_t state = whole ? 0 : tally_add(&total, net->floats, net->slots);
  int64_t buffers = whole ? 0 : tally_add(&total, program->buffers, 1);
  int64_t saved = whole ? 0 : tally_add(&total, net->floats, 1 + net->slots);
  if (!whole) tally_add(&total, program->buffers, 1);
  int64_t gradients = tally_add(&total, net->floats, 1);
  int64_t sums = tally_add(&total, net->summed, net->lanes);
  int64_t activations = tally_add(&total, size.values, net->stride);
  int64_t moments = tally_moments(&total, net);
  int64_t gradient = tally_add(&total, size.widest, net->stride);
  int64_t spare = tally_add(&total, size.widest, net->stride);
  int64_t transposed = tally_add(&total, round_up(size.wide_input, EP_FUSED_PANEL), net->stride);
  int64_t gathered = tally_add(&total, row_values, net->stride);
  int64_t input_tiles = place_tiles(net, &total);
  int64_t right_tiles = tally_tiles(&total, size.tiled, net->stride);
  if (total.overflow || __builtin_mul_overflow(total.floats, 4, &net->arena_bytes)) {
    return ep_fail(error, EP_NO_MEMORY, "the network is larger than any memory");
  }
  net->arena = aligned_alloc(EP_FUSED_ALIGN_BYTES, (size_t)net->arena_bytes);
  if (!net->arena) {
    return ep_fail(error, EP_NO_MEMORY, "no memory for a network of %lld bytes",
                   (long long)net->arena_bytes);
  }
  float *base = memset(net->arena, 0, (size_t)net->arena_bytes);
  net->parameters = whole ? whole->parameters : base + parameters;
  net->state = whole ? whole->state : net->slots ? base + state : NULL;
  net->buffers = whole ? whole->buffers : base + buffers;
  net->saved = whole ? NULL : base + saved;
  net->gradients = base + gradients;
  net->sums = base + sums;
  net->activations = base + activations;
  net->gradient = base + gradient;
  net->spare = base + spare;
  net->transposed = base + transposed;
  net->gathered = base + gathered;
  net->input_tiles = base + input_tiles;
  net->right_tiles = base + right_tiles;
  place_activations(net);
  place_moments(net, base + moments);
  return EP_OK;
}

ep_status ep_fused_net_init(ep_fused_net *net, const ep_program *program,
                            const ep_fused_variant *variant, ep_error *error) {
  *net = (ep_fused_net){.program = program, .variant = variant, .lanes = variant->lanes};
  net->stages = calloc((size_t)program->ops_count + 1, sizeof *net->stages);
  if (!net->stages) return ep_fail(error, EP_NO_MEMORY, "no memory for the layers");
  net->parts = ep_fused_parts(program, variant->tiles);
  make_stages(net);
  ep_status status = place_arrays(net, NULL, error);
  if (status != EP_OK) ep_fused_net_deinit(net);
  return status;
}

ep_status ep_fused_net_init_part(ep_fused_net *net, const ep_fused_net *whole, ep_error *error) {
  const size_t bytes = ((size_t)whole->program->ops_count + 1) * sizeof *net->stages;
  *net = *whole;
  net->crew = NULL;
  net->arena = NULL;
  net->stages = malloc(bytes);
  if (!net->stages) return ep_fail(error, EP_NO_MEMORY, "no memory for the layers");
  memcpy(net->stages, whole->stages, bytes);
  ep_status status = place_arrays(net, whole, error);
  if (status != EP_OK) ep_fused_net_deinit(net);
  return status;
}

void ep_fused_net_deinit(ep_fused_net *net) {
  free(net->arena);
  free(net->stages);
  *net = (ep_fused_net){0};
}

void ep_fused_net_put(const ep_fused_net *net, const float *flat, float *own) {
  memset(own, 0, (size_t)net->floats * sizeof *own);
  for (int i = 0; i < net->stages_count; i++) {
    const ep_fused_stage *stage = &net->stages[i];
    const ep_op *op = stage->op;
    for (int64_t row = 0; stage->weight >= 0 && row < stage->weight_rows; row++)
      memcpy(own + stage->weight + row * stage->weight_stride,
             flat + op->weight + row * op->in_features, (size_t)op->in_features * sizeof *own);
    if (stage->bias >= 0)
      memcpy(own + stage->bias, flat + op->bias, (size_t)op->out_features * sizeof *own);
  }
}

void ep_fused_net_get(const ep_fused_net *net, const float *own, float *flat) {
  for (int i = 0; i < net->stages_count; i++) {
    const ep_fused_stage *stage = &net->stages[i];
    const ep_op *op = stage->op;
    for (int64_t row = 0; stage->weight >= 0 && row < stage->weight_rows; row++)
      memcpy(flat + op->weight + row * op->in_features,
             own + stage->weight + row * stage->weight_stride,
             (size_t)op->in_features * sizeof *own);
    if (stage->bias >= 0)
      memcpy(flat + op->bias, own + stage->bias, (size_t)op->out_features * sizeof *own);
  }
}
