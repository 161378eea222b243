#include "kernels/cuda/executors/gemm/network.h"

#include <stdlib.h>

#include "kernels/cuda/executors/gemm/plan.h"
#include "kernels/cuda/network/layout.h"
#include "kernels/operators/operator.h"

/* --- memory -------------------------------------------------------------------------------- */

static int64_t number_bytes(const ep_gemm_network *self) {
  return self->half ? 2 : sizeof(float);
}

/* Without rows: nothing. */
static int64_t rows_if(bool wanted, int64_t rows) {
  return wanted ? rows : 0;
}

static ep_status layer_take(ep_gemm_network *self, int i, ep_error *error) {
  ep_gemm_layer *layer = &self->layers[i];
  const ep_op *op = layer->linear;
  int64_t batch = self->network->program->batch_size;
  bool last = i == self->layers_count - 1, half = self->half;
  bool turns = !half && layer->trains_weight && !layer->thin && !layer->hopper_weight;
  bool masks =
      self->hopper && !last && !layer[1].thin && i >= self->first_trained && layer->activation;
  bool copies = !layer->thin && (half || self->hopper);
  int64_t gradient_rows = layer->thin ? op->out_features : layer->out_pitch;
  int64_t tiles = ep_gemm_hopper_tiles(batch, layer->out_pitch, EP_GEMM_TILE_COLUMNS);
  layer->slices = layer->thin ? self->slices : 1;
  layer->bias_slices = self->slices;
  if (self->hopper && !last && !layer[1].thin) /* one for each row of tiles */
    layer->bias_slices = (int)ep_gemm_hopper_tiles(batch, 1, EP_GEMM_TILE_COLUMNS);
  const ep_cuda_buffer buffers[] = {
      {&layer->weight, rows_if(copies, layer->out_pitch), layer->in_pitch, number_bytes(self)},
      {&layer->bias, rows_if(half && op->bias >= 0 && !last, 1), layer->out_pitch, 2},
      {&layer->derivative, rows_if(layer->activates, batch), layer->out_pitch, number_bytes(self)},
      {&layer->output, rows_if(!last, batch), layer->out_pitch, number_bytes(self)},
      {&layer->input_transposed, rows_if(turns, op->in_features), batch, sizeof(float)},
      {&layer->mask, rows_if(masks, tiles), EP_GEMM_TILE_MASK_BYTES, 1},
      {&layer->gradient,
       rows_if(layer->trains_weight && !layer->moves, layer->slices * gradient_rows),
       layer->in_pitch, sizeof(float)},
      {&layer->bias_gradient, rows_if(layer->trains_bias, layer->bias_slices), op->out_features,
       sizeof(float)},
  };
  return ep_cuda_memory_take_all(&self->network->memory, buffers, sizeof buffers / sizeof *buffers,
                                 error);
}

/* Of what goes back: the widest layer's. */
static int64_t widest(const ep_gemm_network *self) {
  int64_t most = 0;
  for (int i = 0; i < self->layers_count; i++)
    if (self->layers[i].out_pitch > most) most = self->layers[i].out_pitch;
  return most;
}

static ep_status memory_take(ep_gemm_network *self, ep_error *error) {
  const ep_cuda_network *network = self->network;
  const ep_program *program = network->program;
  const ep_gemm_layer *last = &self->layers[self->layers_count - 1];
  int64_t batch = program->batch_size;
  const ep_cuda_buffer buffers[] = {
      {&self->input, rows_if(self->half, batch), self->layers[0].in_pitch, 2},
      {&self->sums, rows_if(!last->thin, batch), last->out_pitch, sizeof(float)},
      {&self->output, batch, program->out_features, sizeof(float)},
      {&self->result, rows_if(self->tail, batch), program->out_features, sizeof(float)},
      {&self->grads[0], batch, widest(self), number_bytes(self)},
      {&self->grads[1], batch, widest(self), number_bytes(self)},
      {&self->grads_transposed[0], rows_if(!self->half, widest(self)), batch, sizeof(float)},
      {&self->grads_transposed[1], rows_if(!self->half && self->hopper, widest(self)), batch,
       sizeof(float)},
      {&self->workspace, 1, EP_CUDA_GEMM_WORKSPACE_BYTES, 1},
  };
  ep_status status = ep_cuda_memory_take_all(&self->network->memory, buffers,
                                             sizeof buffers / sizeof *buffers, error);
  for (int i = 0; status == EP_OK && i < self->layers_count; i++)
    status = layer_take(self, i, error);
  if (!self->half) self->input = network->gathers ? network->input : network->train_x;
  if (status != EP_OK || self->hopper) /* whose kernels begin before those before them end */
    return status;
  const ep_gemm_layer *first = &self->layers[0];
  const bool reads_input = first->thin || (first->trains_weight && !first->input_transposed);
  return ep_cuda_ahead_enable(self->network, first->in_pitch, number_bytes(self), reads_input,
                              error);
}

/* --- what the update works on -------------------------------------------------------------- */

static ep_gemm_tensor weight_tensor(const ep_gemm_network *self, const ep_gemm_layer *layer) {
  const ep_op *op = layer->linear;
  int64_t rows = layer->thin ? op->out_features : layer->out_pitch;
  bool trained;
  ep_gemm_tensor tensor = {.first = op->weight,
                           .rows = op->out_features,
                           .columns = op->in_features,
                           .pitch = layer->in_pitch,
                           .stride = rows * layer->in_pitch,
                           .gradient = layer->gradient,
                           .slices = layer->slices,
                           .copy = layer->weight,
                           .moved = layer->moves};
  ep_gemm_group_find(self->network->program, tensor.first, tensor.rows * tensor.columns, &trained,
                     &tensor.weight_decay);
  return tensor;
}

static ep_gemm_tensor bias_tensor(const ep_gemm_network *self, const ep_gemm_layer *layer) {
  int64_t count = layer->linear->out_features;
  bool trained;
  ep_gemm_tensor tensor = {.first = layer->linear->bias,
                           .rows = 1,
                           .columns = count,
                           .pitch = count,
                           .stride = count,
                           .gradient = layer->bias_gradient,
                           .slices = layer->bias_slices,
                           .copy = layer->bias};
  ep_gemm_group_find(self->network->program, tensor.first, count, &trained, &tensor.weight_decay);
  return tensor;
}

static void tensor_add(ep_gemm_network *self, ep_gemm_tensor *tensors, ep_gemm_tensor tensor) {
  const int64_t each = tensor.slices > 1 ? EP_GEMM_UPDATE_SLICED : self->update.each;
  int64_t count = tensor.rows * tensor.columns;
  tensor.first_block = self->update.blocks;
  self->update.blocks += (count + each - 1) / each;
  tensors[self->update.count++] = tensor;
}

/* Blocks that a multiprocessor has at once. */
enum { UPDATE_RESIDENT = 8 };

/* Parameters of a block: as few as leave no block waiting for another to end, since each has a way
 * to memory to wait for. */
static int64_t update_each(const ep_gemm_network *self) {
  const ep_cuda_network *network = self->network;
  const int64_t blocks = (int64_t)UPDATE_RESIDENT * network->backend->gpu.multiprocessors;
  int64_t each = EP_GEMM_UPDATE_FEWEST;
  while (each < EP_GEMM_UPDATE_MOST && network->program->parameters > each * blocks) each *= 2;
  return each;
}

/* For an update that is not this one's: tensors as rows of numbers without gaps. */
static ep_status gradients_list(ep_gemm_network *self, const ep_gemm_tensor *tensors,
                                ep_error *error) {
  ep_cuda_network *network = self->network;
  ep_cuda_gradient *rows = calloc((size_t)self->update.count + 1, sizeof *rows);
  if (!rows) return ep_fail(error, EP_NO_MEMORY, "no memory for the list of gradients");
  int64_t blocks = 0;
  int found = 0;
  ep_status status = EP_OK;
  for (int i = 0; i < self->update.count && status == EP_OK; i++) {
    const ep_gemm_tensor *tensor = &tensors[i];
    const int64_t count = tensor->rows * tensor->columns;
    if (!tensor->gradient) continue;
    if (tensor->pitch != tensor->columns || (tensor->slices > 1 && tensor->stride != count))
      status = ep_fail(error, EP_UNSUPPORTED, "the gradients have gaps");
    rows[found++] = (ep_cuda_gradient){.first = tensor->first,
                                       .count = count,
                                       .stride = tensor->stride,
                                       .first_block = blocks,
                                       .gradient = tensor->gradient,
                                       .slices = tensor->slices,
                                       .weight_decay = tensor->weight_decay};
    blocks += (count + EP_CUDA_UPDATE_THREADS - 1) / EP_CUDA_UPDATE_THREADS;
  }
  if (status == EP_OK)
    status = ep_cuda_memory_take_copy(&network->memory, &network->gradients, rows, found,
                                      sizeof *rows, error);
  if (status == EP_OK) {
    network->gradients_count = found;
    network->update_blocks = blocks;
  }
  free(rows);
  return status;
}

static ep_status update_prepare(ep_gemm_network *self, ep_error *error) {
  ep_cuda_network *network = self->network;
  const ep_program *program = network->program;
  ep_gemm_tensor *tensors = calloc((size_t)self->layers_count, 2 * sizeof *tensors), *device = NULL;
  if (!tensors) return ep_fail(error, EP_NO_MEMORY, "no memory for the list of parameters");
  self->update = (ep_gemm_update){.optimizer = program->optimizer,
                                  .each = update_each(self),
                                  .clock = network->clock,
                                  .half = self->half,
                                  .parameters = network->parameters,
                                  .state = network->state,
                                  .state_stride = program->parameters};
  for (int turn = 0; turn < 2; turn++) { /* last, what a step has no more to do for */
    if (turn == 1) self->update.step_blocks = self->update.blocks;
    for (int i = 0; i < self->layers_count; i++) {
      const ep_gemm_layer *layer = &self->layers[i];
      bool done = layer->moves && layer->hopper_weight;
      if (done == (turn == 1)) tensor_add(self, tensors, weight_tensor(self, layer));
      if (layer->linear->bias >= 0 && turn == 0)
        tensor_add(self, tensors, bias_tensor(self, layer));
    }
  }
  ep_status status = ep_cuda_memory_take_copy(&self->network->memory, &device, tensors,
                                              self->update.count, sizeof *device, error);
  self->update.tensors = device;
  if (status == EP_OK && self->slice) status = gradients_list(self, tensors, error);
  free(tensors);
  return status;
}

/* --- create, destroy ----------------------------------------------------------------------- */

static int64_t pitch_of(const ep_gemm_network *self, int64_t columns) {
  return self->half ? (columns + 7) / 8 * 8 : columns;
}

/* How long a side of a matrix may be for our own kernels. */
enum { HOPPER_SIDE = 1 << 24 };

/* p = (1 - lr decay) p - lr g: no more than a product can do on its way out. */
static bool descends_plainly(const ep_optimizer *optimizer) {
  return optimizer->type == EP_OPTIMIZER_SGD && optimizer->momentum == 0 &&
         !(optimizer->clip_value > 0);
}

/* Whether our own kernels have work for most multiprocessors with this result: two take 256 rows.
 */
static bool fills(const ep_gemm_network *self, int64_t rows, int64_t columns) {
  return 4 * ep_gemm_hopper_tiles(rows, columns, EP_GEMM_TILE_COLUMNS) >=
         3 * self->network->backend->gpu.multiprocessors;
}

/* What a copy of tiles asks of a matrix: that its rows and its beginning are on 16 bytes. */
static bool is_aligned(const ep_gemm_network *self, const ep_gemm_layer *layer) {
  const ep_op *op = layer->linear;
  return op->weight % 4 == 0 &&
         (self->half || layer->thin || (op->in_features % 4 == 0 && op->out_features % 4 == 0));
}

/* Whether all layers suit our own kernels. They are decided on but for this. */
static bool suits_hopper(const ep_gemm_network *self) {
  const ep_program *program = self->network->program;
  int64_t full = program->batch_size;
  int64_t tail = ep_program_batch_rows(program, ep_program_steps_per_epoch(program) - 1);
  bool suits = (ep_gpu_features(self->network->backend->gpu.capability) & EP_GPU_WGMMA) &&
               full % 8 == 0 && tail % 8 == 0 && full <= HOPPER_SIDE;
  for (int i = 0; i < self->layers_count && suits; i++) {
    const ep_gemm_layer *layer = &self->layers[i];
    bool last = i == self->layers_count - 1;
    suits = is_aligned(self, layer) && layer->linear->in_features <= HOPPER_SIDE &&
            layer->linear->out_features <= HOPPER_SIDE &&
            (last || (!layer->activates && fills(self, full, layer->out_pitch)));
  }
  return suits && self->layers_count > 1;
}

static void layers_decide(ep_gemm_network *self) {
  const ep_program *program = self->network->program;
  const ep_op *last = self->layers[self->layers_count - 1].linear;
  self->slices = ep_cuda_thin_linear_slices(program->batch_size, last->in_features);
  self->first_trained = self->layers_count;
  for (int i = self->layers_count - 1; i >= 0; i--) {
    ep_gemm_layer *layer = &self->layers[i];
    const ep_op *op = layer->linear;
    float decay; /* a bias's */
    layer->in_pitch = pitch_of(self, op->in_features);
    layer->out_pitch = pitch_of(self, op->out_features);
    ep_gemm_group_find(program, op->weight, ep_op_own_weights(op), &layer->trains_weight,
                       &layer->decay);
    if (op->bias >= 0)
      ep_gemm_group_find(program, op->bias, ep_op_own_biases(op), &layer->trains_bias, &decay);
    layer->thin = i == self->layers_count - 1 && op->out_features <= EP_CUDA_THIN_LINEAR_OUTPUTS;
    layer->bare = !self->half && i + 1 < self->layers_count && layer[1].thin && op->bias >= 0 &&
                  !layer->dropout && layer->activation && layer->activation->type == EP_LAYER_RELU;
    layer->activates =
        layer->dropout || (layer->activation && layer->activation->type != EP_LAYER_RELU);
    layer->moves = !self->slice && descends_plainly(&program->optimizer) && layer->trains_weight &&
                   !layer->thin && layer->in_pitch == op->in_features &&
                   layer->out_pitch == op->out_features;
    if (layer->trains_weight || layer->trains_bias) self->first_trained = i;
  }
  self->hopper = suits_hopper(self);
  for (int i = 0; i < self->layers_count && self->hopper; i++) {
    ep_gemm_layer *layer = &self->layers[i];
    layer->bare = false;
    layer->hopper_weight =
        layer->trains_weight && !layer->thin && fills(self, layer->out_pitch, layer->in_pitch);
  }
}

/* For the layers that move by their products. */
static ep_status scales_prepare(ep_gemm_network *self, ep_error *error) {
  bool any = false;
  for (int i = 0; i < self->layers_count; i++)
    any |= self->layers[i].moves && !self->layers[i].hopper_weight;
  if (!any) return EP_OK;
  float *decay = calloc((size_t)self->layers_count, sizeof *decay);
  if (!decay) return ep_fail(error, EP_NO_MEMORY, "no memory for the layers' decay");
  for (int i = 0; i < self->layers_count; i++) decay[i] = self->layers[i].decay;
  ep_status status = ep_cuda_memory_take(&self->network->memory, &self->scales, self->layers_count,
                                         2, sizeof(float), error);
  if (status == EP_OK)
    status = ep_cuda_memory_take_copy(&self->network->memory, &self->decay, decay,
                                      self->layers_count, sizeof *decay, error);
  free(decay);
  return status;
}

static ep_status network_build(ep_gemm_network *self, ep_error *error) {
  layers_decide(self);
  ep_status status = memory_take(self, error);
  if (status == EP_OK) status = update_prepare(self, error);
  if (status == EP_OK) status = scales_prepare(self, error);
  if (status == EP_OK) status = ep_gemm_products_make(self, error);
  return status;
}

static ep_status layers_take(ep_gemm_network *self, ep_error *error) {
  const ep_program *program = self->network->program;
  ep_gemm_plan plan = {.layers = calloc((size_t)program->ops_count, sizeof *plan.layers)};
  if (!plan.layers) return ep_fail(error, EP_NO_MEMORY, "no memory for a network's layers");
  ep_status status = EP_OK;
  if (!ep_gemm_plan_make(program, &plan))
    status = ep_fail(error, EP_INTERNAL, "a network that is not one of linear layers");
  self->layers_count = plan.layers_count;
  self->tail = plan.tail;
  for (int i = 0; status == EP_OK && i < plan.layers_count; i++) {
    self->layers[i].linear = plan.layers[i].linear;
    self->layers[i].activation = plan.layers[i].activation;
    self->layers[i].dropout = plan.layers[i].dropout;
  }
  free(plan.layers);
  return status;
}

ep_status ep_gemm_network_create(ep_cuda_network *network, ep_gemm_network **out, ep_error *error) {
  *out = NULL;
  const ep_program *program = network->program;
  ep_gemm_network *self = calloc(1, sizeof *self);
  if (!self) return ep_fail(error, EP_NO_MEMORY, "no memory for an instance");
  self->network = network;
  self->half = program->precision == EP_PRECISION_BF16;
  self->slice = network->share.batch_size != program->batch_size;
  ep_cuda_gradient *gradients = network->gradients;
  const int gradients_count = network->gradients_count;
  const int64_t update_blocks = network->update_blocks;
  self->layers = calloc((size_t)program->ops_count, sizeof *self->layers);
  ep_status status = EP_OK;
  if (!self->layers)
    status = ep_fail(error, EP_NO_MEMORY, "no memory for a network's layers");
  else
    status = layers_take(self, error);
  if (status == EP_OK) status = network_build(self, error);
  if (status != EP_OK) { /* another way of training it takes the network as it was */
    network->gradients = gradients;
    network->gradients_count = gradients_count;
    network->update_blocks = update_blocks;
    ep_gemm_network_destroy(self);
    return status;
  }
  *out = self;
  return EP_OK;
}

void ep_gemm_network_destroy(ep_gemm_network *self) {
  if (!self) return;
  for (int i = 0; i < self->layers_count; i++)
    for (int kind = 0; kind < 2; kind++) {
      ep_cuda_gemm_deinit(&self->layers[i].forward[kind].gemm);
      ep_cuda_gemm_deinit(&self->layers[i].back[kind].gemm);
      ep_cuda_gemm_deinit(&self->layers[i].weight_product[kind].gemm);
    }
  free(self->layers);
  free(self);
}
