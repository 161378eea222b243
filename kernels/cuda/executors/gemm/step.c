/* step.c: what one step queues. */
#include "kernels/cuda/executors/gemm/network.h"

/* Where a step stands. */
typedef struct {
  ep_gemm_network *gemm;
  int64_t rows;
  int kind; /* of its products: 0 for a full batch, 1 for an epoch's last */
} pass;

static cudaStream_t stream_of(const pass *p) {
  return p->gemm->network->stream;
}

/* Products are made for the input that is not the spare one, which is aligned alike: the same
 * algorithm takes either. */
static const void *operand_of(const pass *p, const void *operand) {
  return operand == p->gemm->input ? ep_gemm_input(p->gemm, 0) : operand;
}

static ep_status multiply(const pass *p, const ep_gemm_product *product, ep_error *error) {
  const ep_cuda_network *network = p->gemm->network;
  if (!product->hopper) {
    ep_cuda_gemm gemm = product->gemm;
    gemm.shape.a = operand_of(p, gemm.shape.a);
    gemm.shape.b = operand_of(p, gemm.shape.b);
    return ep_cuda_gemm_run(network->backend, &gemm, p->gemm->workspace, network->stream, error);
  }
  EP_CUDA_TRY(ep_gemm_hopper_run(network->stream, &product->own), "a matrix product");
  return EP_OK;
}

/* --- the batch ----------------------------------------------------------------------------- */

/* Rows that already lie in the network's input, in float32. */
static ep_status input_convert(const pass *p, const float *x, ep_error *error) {
  const ep_gemm_layer *first = &p->gemm->layers[0];
  ep_gemm_derivation convert = {.half = true,
                                .plain = true,
                                .rows = p->rows,
                                .columns = first->linear->in_features,
                                .pitch = first->in_pitch,
                                .slices = p->gemm->slices,
                                .from = x,
                                .grad = p->gemm->input};
  EP_CUDA_TRY(ep_gemm_derive(stream_of(p), &convert), "a batch");
  return EP_OK;
}

/* The rows of the step at hand, or, `next`, of the one after it. */
static ep_cuda_batch batch_of(const pass *p, bool next) {
  const ep_gemm_network *self = p->gemm;
  const ep_cuda_network *network = self->network;
  void *input = ep_cuda_ahead_input(network, self->input, next);
  ep_cuda_batch batch =
      ep_cuda_network_batch(network, network->train_x, network->train_y, NULL, true);
  batch.batch_x = input;
  if (self->half) batch.batch_half = input;
  batch.half_pitch = self->layers[0].in_pitch;
  return batch;
}

static ep_status batch_take(const pass *p, ep_error *error) {
  const ep_gemm_network *self = p->gemm;
  ep_cuda_network *network = self->network;
  if (network->gathers && network->resident) {
    const ep_cuda_batch batch = batch_of(p, false);
    return ep_cuda_ahead_await(network, &batch, p->rows, error);
  }
  if (self->half)
    return input_convert(p, network->gathers ? network->input : network->train_x, error);
  return EP_OK;
}

static ep_status next_take(const pass *p, ep_error *error) {
  const ep_cuda_batch batch = batch_of(p, true);
  return ep_cuda_ahead_queue(p->gemm->network, &batch, error);
}

/* --- forward ------------------------------------------------------------------------------- */

static ep_status input_turn(const pass *p, int i, ep_error *error) {
  const ep_gemm_layer *layer = &p->gemm->layers[i];
  if (!layer->input_transposed) return EP_OK;
  EP_CUDA_TRY(ep_gemm_transpose(stream_of(p), p->rows, layer->linear->in_features, layer->in_pitch,
                                ep_gemm_input(p->gemm, i), layer->input_transposed),
              "transposing");
  return EP_OK;
}

/* What a layer that has none goes through. */
static ep_op activation_of(const ep_gemm_layer *layer) {
  return layer->activation ? *layer->activation : (ep_op){.type = (ep_layer_type)-1};
}

static ep_gemm_dropout dropout_of(const pass *p, const ep_gemm_layer *layer) {
  const ep_cuda_network *network = p->gemm->network;
  if (!layer->dropout) return (ep_gemm_dropout){.drops = false};
  return (ep_gemm_dropout){.drops = true,
                           .p = layer->dropout->p,
                           .layer = layer->dropout->layer,
                           .first = network->slice_first,
                           .columns = layer->linear->out_features,
                           .seed = network->program->seed,
                           .clock = network->clock};
}

static ep_status layer_forward(const pass *p, int i, ep_error *error) {
  const ep_gemm_layer *layer = &p->gemm->layers[i];
  ep_status status = input_turn(p, i, error);
  if (status == EP_OK) status = multiply(p, &layer->forward[p->kind], error);
  if (status != EP_OK || !layer->derivative) return status;
  const ep_op activation = activation_of(layer);
  const ep_gemm_dropout dropout = dropout_of(p, layer);
  EP_CUDA_TRY(ep_gemm_activate(stream_of(p), p->gemm->half, &activation, &dropout, p->rows,
                               layer->out_pitch, layer->derivative, layer->output),
              "an activation");
  return EP_OK;
}

static const float *bias_of(const pass *p, const ep_gemm_layer *layer) {
  return ep_cuda_parameters_at(p->gemm->network, layer->linear->bias);
}

/* What both ways of a thin last layer, layer i, have in common. */
static ep_cuda_thin_linear thin_of(const pass *p, int i) {
  const ep_gemm_network *self = p->gemm;
  const ep_gemm_layer *layer = &self->layers[i];
  return (ep_cuda_thin_linear){.half = self->half,
                               .slices = self->slices,
                               .rows = p->rows,
                               .in = layer->linear->in_features,
                               .out = layer->linear->out_features,
                               .pitch = layer->in_pitch,
                               .weight = self->network->parameters + layer->linear->weight,
                               .x = ep_gemm_input(self, i),
                               .x_bias = i > 0 && layer[-1].bare ? bias_of(p, layer - 1) : NULL};
}

/* To self->output. */
static ep_status last_forward(const pass *p, int i, ep_error *error) {
  ep_gemm_network *self = p->gemm;
  const ep_gemm_layer *last = &self->layers[i];
  if (last->thin) {
    ep_cuda_thin_linear thin = thin_of(p, i);
    EP_CUDA_TRY(ep_cuda_thin_linear_forward(stream_of(p), &thin, bias_of(p, last), self->output),
                "a linear layer");
    return EP_OK;
  }
  ep_status status = layer_forward(p, i, error);
  if (status != EP_OK) return status;
  EP_CUDA_TRY(ep_gemm_finish(stream_of(p), p->rows, last->linear->out_features, last->out_pitch,
                             self->sums, bias_of(p, last), self->output),
              "a bias");
  return EP_OK;
}

/* *output: of the network. */
static ep_status forward(const pass *p, const float **output, ep_error *error) {
  ep_gemm_network *self = p->gemm;
  ep_status status = EP_OK;
  for (int i = 0; i < self->layers_count - 1 && status == EP_OK; i++)
    status = layer_forward(p, i, error);
  if (status == EP_OK) status = last_forward(p, self->layers_count - 1, error);
  if (status != EP_OK) return status;
  *output = self->output;
  if (!self->tail) return EP_OK;
  EP_CUDA_TRY(
      ep_cuda_activation_forward(stream_of(p), self->tail, p->rows, self->output, self->result),
      "an activation");
  *output = self->result;
  return EP_OK;
}

/* --- backward ------------------------------------------------------------------------------ */

/* Whether layer i's way back ends with the gradient by the linear part of the layer under it. */
static bool derives(const ep_gemm_network *self, int i) {
  const ep_gemm_layer *layer = &self->layers[i];
  return layer->thin || layer->back[0].hopper;
}

/* A thin last layer, with the activation before it. */
static ep_status thin_back(const pass *p, int i, ep_error *error) {
  ep_gemm_network *self = p->gemm;
  const ep_gemm_layer *layer = &self->layers[i], *under = i > 0 ? layer - 1 : NULL;
  bool goes_on = i > self->first_trained;
  ep_cuda_thin_linear thin = thin_of(p, i);
  thin.grad = self->network->grad;
  thin.gradient = layer->trains_weight ? layer->gradient : NULL;
  thin.bias_sums = layer->trains_bias ? layer->bias_gradient : NULL;
  if (goes_on) {
    thin.grad_x = ep_gemm_grad(self, i - 1);
    thin.transposed =
        under->trains_weight && !self->half ? ep_gemm_grad_transposed(self, i - 1) : NULL;
    thin.x_sums = under->trains_bias ? under->bias_gradient : NULL;
    thin.derived = under->activation != NULL;
    thin.derivative = under->derivative;
  }
  EP_CUDA_TRY(ep_cuda_thin_linear_backward(stream_of(p), &thin), "a linear layer, backward");
  return EP_OK;
}

/* The gradient by the output of layer i becomes that by its linear part, in its place. */
static ep_status derive(const pass *p, int i, ep_error *error) {
  ep_gemm_network *self = p->gemm;
  const ep_gemm_layer *layer = &self->layers[i];
  bool last = i == self->layers_count - 1;
  ep_gemm_derivation d = {.half = self->half,
                          .plain = last,
                          .rows = p->rows,
                          .columns = layer->linear->out_features,
                          .pitch = layer->out_pitch,
                          .slices = self->slices,
                          .from = last ? self->network->grad : ep_gemm_grad(self, i),
                          .grad = ep_gemm_grad(self, i),
                          .sums = layer->trains_bias ? layer->bias_gradient : NULL,
                          .transposed =
                              layer->trains_weight ? ep_gemm_grad_transposed(self, i) : NULL};
  if (d.transposed && i == self->first_trained) d.grad = NULL; /* nobody multiplies by it */
  if (!last && layer->activation) d.y = layer->output;
  if (!last) d.derivative = layer->derivative;
  EP_CUDA_TRY(ep_gemm_derive(stream_of(p), &d), "a derivative");
  return EP_OK;
}

static ep_status weight_found(const pass *p, int i, ep_error *error) {
  const ep_gemm_layer *layer = &p->gemm->layers[i];
  if (!layer->trains_weight) return EP_OK;
  ep_status status = multiply(p, &layer->weight_product[p->kind], error);
  if (status != EP_OK) return status;
  return ep_cuda_network_found(p->gemm->network, layer->linear->weight, error);
}

static ep_status backward(const pass *p, ep_error *error) {
  ep_gemm_network *self = p->gemm;
  int i = self->layers_count - 1;
  bool ready = false; /* the gradient by layer i's linear part is there, and its bias's too */
  ep_status status = EP_OK;
  if (self->layers[i].thin) {
    status = thin_back(p, i, error);
    ready = derives(self, i--);
  }
  for (; i >= self->first_trained && status == EP_OK; i--) {
    const ep_gemm_layer *layer = &self->layers[i];
    if (!ready) status = derive(p, i, error);
    ready = derives(self, i);
    if (status == EP_OK && self->slice) status = weight_found(p, i, error); /* others wait for it */
    if (status == EP_OK && i > self->first_trained)
      status = multiply(p, &layer->back[p->kind], error);
    if (status == EP_OK && !self->slice) /* after it: this may change the weight */
      status = weight_found(p, i, error);
  }
  return status;
}

/* --- the step ------------------------------------------------------------------------------ */

static ep_status loss(const pass *p, const float *output, ep_error *error) {
  ep_gemm_network *self = p->gemm;
  ep_cuda_network *network = self->network;
  const void *y = network->gathers ? network->batch_y : network->train_y;
  ep_status status = ep_cuda_network_loss(network, output, y, p->rows, error);
  if (status != EP_OK || !self->tail) return status;
  EP_CUDA_TRY(ep_cuda_activation_backward(stream_of(p), self->tail, p->rows, self->output,
                                          self->result, network->grad),
              "an activation, backward");
  return EP_OK;
}

ep_status ep_gemm_gradients_queue(ep_gemm_network *self, int64_t rows, ep_error *error) {
  const ep_program *program = self->network->program;
  const pass p = {self, rows, rows < program->batch_size};
  const float *output = NULL;
  ep_status status = batch_take(&p, error);
  if (status == EP_OK) status = forward(&p, &output, error);
  if (status == EP_OK) status = loss(&p, output, error);
  if (status == EP_OK) status = next_take(&p, error);
  if (status == EP_OK && self->scales)
    EP_CUDA_TRY(ep_gemm_scale(stream_of(&p), self->network->clock, self->layers_count, self->decay,
                              self->scales),
                "a learning rate");
  return status == EP_OK ? backward(&p, error) : status;
}

ep_status ep_gemm_step_queue(ep_gemm_network *self, int64_t rows, ep_error *error) {
  ep_status status = ep_gemm_gradients_queue(self, rows, error);
  if (status != EP_OK) return status;
  EP_CUDA_TRY(ep_gemm_update_step(self->network->stream, &self->update), "the optimizer's step");
  return EP_OK;
}
