#include "kernels/cuda/executors/gemm/wide.h"

#include <stdlib.h>

#include "kernels/cuda/network/layout.h"
#include "kernels/formulas/activations.h"

/* --- the shape of a network ---------------------------------------------------------------- */

static bool is_tail(ep_layer_type type) {
  return ep_activation_is(type) || type == EP_LAYER_SOFTMAX || type == EP_LAYER_LOG_SOFTMAX;
}

/* Adds op to the layers found so far: a linear one, its activation, or, after the last, the tail.
 * layers: [*count] and room for one more, or NULL to count alone. */
static bool op_add(const ep_op *op, bool last, ep_wide_layer *layers, int *count, bool *activated,
                   const ep_op **tail) {
  if (op->type == EP_LAYER_FLATTEN) return true;
  if (op->type == EP_LAYER_LINEAR) {
    if (layers) layers[*count].linear = op;
    ++*count;
    *activated = false;
    return true;
  }
  if (*count == 0 || *activated) return false;
  *activated = true;
  if (last) {
    *tail = op;
    return is_tail(op->type);
  }
  if (layers) layers[*count - 1].activation = op;
  return ep_activation_is(op->type);
}

/* Whether it is linear layers with at most one activation after each. */
static bool layers_find(const ep_program *program, ep_wide_layer *layers, int *count,
                        const ep_op **tail) {
  bool activated = false;
  int last = program->ops_count - 1;
  *count = 0;
  *tail = NULL;
  while (last > 0 && program->ops[last].type == EP_LAYER_FLATTEN) last--;
  for (int i = 0; i <= last; i++) {
    bool ends = true; /* no linear layer comes after it */
    for (int j = i + 1; j <= last && ends; j++) ends = program->ops[j].type != EP_LAYER_LINEAR;
    if (!op_add(&program->ops[i], ends && i == last, layers, count, &activated, tail)) return false;
    if (ends && i < last && program->ops[i].type != EP_LAYER_LINEAR &&
        program->ops[i].type != EP_LAYER_FLATTEN)
      return false; /* two after the last linear layer */
  }
  return *count > 0;
}

/* The group that holds all of count parameters from first; false when there is none. NULL groups:
 * all are trained, without decay. */
static bool group_find(const ep_program *program, int64_t first, int64_t count, bool *trained,
                       float *decay) {
  *trained = true;
  *decay = 0;
  if (program->groups_count == 0) return true;
  for (int i = 0; i < program->groups_count; i++) {
    const ep_parameter_group *group = &program->groups[i];
    if (first < group->first || first + count > group->first + group->count) continue;
    *trained = !group->frozen;
    *decay = group->weight_decay;
    return true;
  }
  return false;
}

bool ep_wide_takes(const ep_program *program) {
  const ep_op *tail;
  int count;
  bool trained;
  float decay;
  if (!layers_find(program, NULL, &count, &tail)) return false;
  for (int i = 0; i < program->ops_count; i++) {
    const ep_op *op = &program->ops[i];
    if (op->type != EP_LAYER_LINEAR) continue;
    if (!group_find(program, op->weight, ep_cuda_weights_count(op), &trained, &decay)) return false;
    if (op->bias >= 0 && !group_find(program, op->bias, ep_cuda_biases_count(op), &trained, &decay))
      return false;
  }
  return true;
}

/* --- memory -------------------------------------------------------------------------------- */

static int64_t number_bytes(const ep_wide *wide) {
  return wide->half ? 2 : sizeof(float);
}

/* Without rows: nothing. */
static int64_t rows_if(bool wanted, int64_t rows) {
  return wanted ? rows : 0;
}

static ep_status layer_take(ep_wide *wide, int i, ep_error *error) {
  ep_wide_layer *layer = &wide->layers[i];
  const ep_op *op = layer->linear;
  int64_t batch = wide->network->program->batch_size;
  bool last = i == wide->layers_count - 1, half = wide->half;
  bool turns = !half && layer->trains_weight && !layer->thin && !layer->fused_weight;
  bool masks =
      wide->fused && !last && !layer[1].thin && i >= wide->first_trained && layer->activation;
  bool copies = !layer->thin && (half || wide->fused);
  int64_t gradient_rows = layer->thin ? op->out_features : layer->out_pitch;
  int64_t tiles = ep_wide_fused_tiles(batch, layer->out_pitch, EP_WIDE_TILE_COLUMNS);
  layer->slices = layer->thin ? EP_WIDE_SLICES : 1;
  layer->bias_slices = EP_WIDE_SLICES;
  if (wide->fused && !last && !layer[1].thin) /* one for each row of tiles */
    layer->bias_slices = (int)ep_wide_fused_tiles(batch, 1, EP_WIDE_TILE_COLUMNS);
  const ep_cuda_buffer buffers[] = {
      {&layer->weight, rows_if(copies, layer->out_pitch), layer->in_pitch, number_bytes(wide)},
      {&layer->bias, rows_if(half && op->bias >= 0 && !last, 1), layer->out_pitch, 2},
      {&layer->before, rows_if(layer->asks_before, batch), layer->out_pitch, number_bytes(wide)},
      {&layer->output, rows_if(!last, batch), layer->out_pitch, number_bytes(wide)},
      {&layer->input_turned, rows_if(turns, op->in_features), batch, sizeof(float)},
      {&layer->mask, rows_if(masks, tiles), EP_WIDE_TILE_MASK_BYTES, 1},
      {&layer->gradient,
       rows_if(layer->trains_weight && !layer->moves, layer->slices * gradient_rows),
       layer->in_pitch, sizeof(float)},
      {&layer->bias_gradient, rows_if(layer->trains_bias, layer->bias_slices), op->out_features,
       sizeof(float)},
  };
  return ep_cuda_memory_take_all(&wide->network->memory, buffers, sizeof buffers / sizeof *buffers,
                                 error);
}

/* Of what goes back: the widest layer's. */
static int64_t widest(const ep_wide *wide) {
  int64_t most = 0;
  for (int i = 0; i < wide->layers_count; i++)
    if (wide->layers[i].out_pitch > most) most = wide->layers[i].out_pitch;
  return most;
}

static ep_status memory_take(ep_wide *wide, ep_error *error) {
  const ep_cuda_network *network = wide->network;
  const ep_program *program = network->program;
  const ep_wide_layer *last = &wide->layers[wide->layers_count - 1];
  int64_t batch = program->batch_size;
  const ep_cuda_buffer buffers[] = {
      {&wide->input, rows_if(wide->half, batch), wide->layers[0].in_pitch, 2},
      {&wide->sums, rows_if(!last->thin, batch), last->out_pitch, sizeof(float)},
      {&wide->output, batch, program->out_features, sizeof(float)},
      {&wide->result, rows_if(wide->tail, batch), program->out_features, sizeof(float)},
      {&wide->grads[0], batch, widest(wide), number_bytes(wide)},
      {&wide->grads[1], batch, widest(wide), number_bytes(wide)},
      {&wide->grads_turned[0], rows_if(!wide->half, widest(wide)), batch, sizeof(float)},
      {&wide->grads_turned[1], rows_if(!wide->half && wide->fused, widest(wide)), batch,
       sizeof(float)},
      {&wide->workspace, 1, EP_CUDA_GEMM_WORKSPACE_BYTES, 1},
  };
  ep_status status = ep_cuda_memory_take_all(&wide->network->memory, buffers,
                                             sizeof buffers / sizeof *buffers, error);
  for (int i = 0; status == EP_OK && i < wide->layers_count; i++)
    status = layer_take(wide, i, error);
  if (!wide->half) wide->input = network->gathers ? network->input : network->train_x;
  return status;
}

/* --- what the update works on -------------------------------------------------------------- */

static ep_wide_tensor weight_tensor(const ep_wide *wide, const ep_wide_layer *layer) {
  const ep_op *op = layer->linear;
  int64_t rows = layer->thin ? op->out_features : layer->out_pitch;
  bool trained;
  ep_wide_tensor tensor = {.first = op->weight,
                           .rows = op->out_features,
                           .columns = op->in_features,
                           .pitch = layer->in_pitch,
                           .stride = rows * layer->in_pitch,
                           .gradient = layer->gradient,
                           .slices = layer->slices,
                           .copy = layer->weight,
                           .moved = layer->moves};
  group_find(wide->network->program, tensor.first, tensor.rows * tensor.columns, &trained,
             &tensor.weight_decay);
  return tensor;
}

static ep_wide_tensor bias_tensor(const ep_wide *wide, const ep_wide_layer *layer) {
  int64_t count = layer->linear->out_features;
  bool trained;
  ep_wide_tensor tensor = {.first = layer->linear->bias,
                           .rows = 1,
                           .columns = count,
                           .pitch = count,
                           .stride = count,
                           .gradient = layer->bias_gradient,
                           .slices = layer->bias_slices,
                           .copy = layer->bias};
  group_find(wide->network->program, tensor.first, count, &trained, &tensor.weight_decay);
  return tensor;
}

static void tensor_add(ep_wide *wide, ep_wide_tensor *tensors, ep_wide_tensor tensor) {
  int64_t each = tensor.slices > 1 ? EP_WIDE_UPDATE_SLICED : EP_WIDE_UPDATE_PARAMETERS;
  int64_t count = tensor.rows * tensor.columns;
  tensor.first_block = wide->update.blocks;
  wide->update.blocks += (count + each - 1) / each;
  tensors[wide->update.count++] = tensor;
}

static ep_status update_prepare(ep_wide *wide, ep_error *error) {
  ep_cuda_network *network = wide->network;
  const ep_program *program = network->program;
  ep_wide_tensor *tensors = calloc((size_t)wide->layers_count, 2 * sizeof *tensors), *device = NULL;
  if (!tensors) return ep_fail(error, EP_NO_MEMORY, "no memory for the list of parameters");
  wide->update = (ep_wide_update){.optimizer = program->optimizer,
                                  .clock = network->clock,
                                  .half = wide->half,
                                  .parameters = network->parameters,
                                  .state = network->state,
                                  .state_stride = program->parameters};
  for (int turn = 0; turn < 2; turn++) { /* last, what a step has no more to do for */
    if (turn == 1) wide->update.step_blocks = wide->update.blocks;
    for (int i = 0; i < wide->layers_count; i++) {
      const ep_wide_layer *layer = &wide->layers[i];
      bool done = layer->moves && layer->fused_weight;
      if (done == (turn == 1)) tensor_add(wide, tensors, weight_tensor(wide, layer));
      if (layer->linear->bias >= 0 && turn == 0)
        tensor_add(wide, tensors, bias_tensor(wide, layer));
    }
  }
  ep_status status = ep_cuda_memory_take_copy(&wide->network->memory, &device, tensors,
                                              wide->update.count, sizeof *device, error);
  wide->update.tensors = device;
  free(tensors);
  return status;
}

/* --- create, destroy ----------------------------------------------------------------------- */

static int64_t pitch_of(const ep_wide *wide, int64_t columns) {
  return wide->half ? (columns + 7) / 8 * 8 : columns;
}

/* The GPUs that our own kernels are for, and how long a matrix's sides may be for them. */
enum { FUSED_CAPABILITY = 90, FUSED_SIDE = 1 << 24 };

/* p = (1 - lr decay) p - lr g: no more than a product can do on its way out. */
static bool descends_plainly(const ep_optimizer *optimizer) {
  return optimizer->type == EP_OPTIMIZER_SGD && optimizer->momentum == 0 &&
         !(optimizer->clip_value > 0);
}

/* Whether our own kernels have work for most multiprocessors with this result: two take 256 rows.
 */
static bool fills(const ep_wide *wide, int64_t rows, int64_t columns) {
  return 4 * ep_wide_fused_tiles(rows, columns, EP_WIDE_TILE_COLUMNS) >=
         3 * wide->network->backend->multiprocessors;
}

/* What a copy of tiles asks of a matrix: that its rows and its beginning are on 16 bytes. */
static bool is_aligned(const ep_wide *wide, const ep_wide_layer *layer) {
  const ep_op *op = layer->linear;
  return op->weight % 4 == 0 &&
         (wide->half || layer->thin || (op->in_features % 4 == 0 && op->out_features % 4 == 0));
}

/* Whether all layers suit our own kernels. They are decided on but for this. */
static bool is_fused(const ep_wide *wide) {
  const ep_program *program = wide->network->program;
  int64_t full = program->batch_size;
  int64_t tail = ep_program_batch_rows(program, ep_program_steps_per_epoch(program) - 1);
  bool suits = wide->network->backend->capability == FUSED_CAPABILITY && full % 8 == 0 &&
               tail % 8 == 0 && full <= FUSED_SIDE;
  for (int i = 0; i < wide->layers_count && suits; i++) {
    const ep_wide_layer *layer = &wide->layers[i];
    bool last = i == wide->layers_count - 1;
    suits = is_aligned(wide, layer) && layer->linear->in_features <= FUSED_SIDE &&
            layer->linear->out_features <= FUSED_SIDE &&
            (last || (!layer->asks_before && fills(wide, full, layer->out_pitch)));
  }
  return suits && wide->layers_count > 1;
}

static void layers_decide(ep_wide *wide) {
  const ep_program *program = wide->network->program;
  wide->first_trained = wide->layers_count;
  for (int i = wide->layers_count - 1; i >= 0; i--) {
    ep_wide_layer *layer = &wide->layers[i];
    const ep_op *op = layer->linear;
    float decay; /* a bias's */
    layer->in_pitch = pitch_of(wide, op->in_features);
    layer->out_pitch = pitch_of(wide, op->out_features);
    group_find(program, op->weight, ep_cuda_weights_count(op), &layer->trains_weight,
               &layer->decay);
    if (op->bias >= 0)
      group_find(program, op->bias, ep_cuda_biases_count(op), &layer->trains_bias, &decay);
    layer->thin = i == wide->layers_count - 1 && op->out_features <= EP_WIDE_THIN_OUTPUTS;
    layer->bare = !wide->half && i + 1 < wide->layers_count && layer[1].thin && op->bias >= 0 &&
                  layer->activation && layer->activation->type == EP_LAYER_RELU;
    layer->asks_before = layer->activation && layer->activation->type != EP_LAYER_RELU;
    layer->moves = descends_plainly(&program->optimizer) && layer->trains_weight && !layer->thin &&
                   layer->in_pitch == op->in_features && layer->out_pitch == op->out_features;
    if (layer->trains_weight || layer->trains_bias) wide->first_trained = i;
  }
  wide->fused = is_fused(wide);
  for (int i = 0; i < wide->layers_count && wide->fused; i++) {
    ep_wide_layer *layer = &wide->layers[i];
    layer->bare = false;
    layer->fused_weight =
        layer->trains_weight && !layer->thin && fills(wide, layer->out_pitch, layer->in_pitch);
  }
}

/* For the layers that move by their products. */
static ep_status scales_prepare(ep_wide *wide, ep_error *error) {
  bool any = false;
  for (int i = 0; i < wide->layers_count; i++)
    any |= wide->layers[i].moves && !wide->layers[i].fused_weight;
  if (!any) return EP_OK;
  float *decay = calloc((size_t)wide->layers_count, sizeof *decay);
  if (!decay) return ep_fail(error, EP_NO_MEMORY, "no memory for the layers' decay");
  for (int i = 0; i < wide->layers_count; i++) decay[i] = wide->layers[i].decay;
  ep_status status = ep_cuda_memory_take(&wide->network->memory, &wide->scales, wide->layers_count,
                                         2, sizeof(float), error);
  if (status == EP_OK)
    status = ep_cuda_memory_take_copy(&wide->network->memory, &wide->decay, decay,
                                      wide->layers_count, sizeof *decay, error);
  free(decay);
  return status;
}

static ep_status wide_build(ep_wide *wide, ep_error *error) {
  layers_decide(wide);
  ep_status status = memory_take(wide, error);
  if (status == EP_OK) status = update_prepare(wide, error);
  if (status == EP_OK) status = scales_prepare(wide, error);
  if (status == EP_OK) status = ep_wide_products_make(wide, error);
  return status;
}

ep_status ep_wide_create(ep_cuda_network *network, ep_wide **out, ep_error *error) {
  *out = NULL;
  const ep_program *program = network->program;
  ep_wide *wide = calloc(1, sizeof *wide);
  if (!wide) return ep_fail(error, EP_NO_MEMORY, "no memory for an instance");
  wide->network = network;
  wide->half = program->precision == EP_PRECISION_BF16;
  wide->layers = calloc((size_t)program->ops_count, sizeof *wide->layers);
  ep_status status = EP_OK;
  if (!wide->layers)
    status = ep_fail(error, EP_NO_MEMORY, "no memory for a network's layers");
  else if (!layers_find(program, wide->layers, &wide->layers_count, &wide->tail))
    status = ep_fail(error, EP_INTERNAL, "a network that is not one of linear layers");
  if (status == EP_OK) status = wide_build(wide, error);
  if (status != EP_OK) {
    ep_wide_destroy(wide);
    return status;
  }
  *out = wide;
  return EP_OK;
}

void ep_wide_destroy(ep_wide *wide) {
  if (!wide) return;
  for (int i = 0; i < wide->layers_count; i++)
    for (int kind = 0; kind < 2; kind++) {
      ep_cuda_gemm_deinit(&wide->layers[i].forward[kind].gemm);
      ep_cuda_gemm_deinit(&wide->layers[i].back[kind].gemm);
      ep_cuda_gemm_deinit(&wide->layers[i].weight_product[kind].gemm);
    }
  free(wide->layers);
  free(wide);
}
