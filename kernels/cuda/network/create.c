#include "kernels/cuda/network/network.h"

#include <stdlib.h>

#include "kernels/cuda/network/ahead.h"
#include "kernels/cuda/network/layout.h"
#include "kernels/cuda/network/operator.h"

int64_t ep_cuda_row_bytes(const ep_program *program) {
  int64_t size = program->x_type == EP_X_UINT8 ? 1 : (int64_t)sizeof(float);
  return ep_shape_count(program->stored) * size;
}

int64_t ep_cuda_network_row_bytes(const ep_cuda_network *network) {
  return network->numbers ? network->program->in_features * (int64_t)sizeof(float)
                          : ep_cuda_row_bytes(network->program);
}

/* --- memory -------------------------------------------------------------------------------- */

/* Rows of a training pass at most. */
static int64_t passed_rows(const ep_cuda_network *network) {
  return network->share.evaluates ? 0 : network->program->batch_size;
}

static ep_status layer_take(ep_cuda_network *network, ep_cuda_layer *layer, ep_error *error) {
  const ep_op *op = layer->op;
  const ep_cuda_operator *row = ep_cuda_operator_of(op->type);
  const int64_t rows = network->capacity_rows, batch = network->program->batch_size;
  ep_status status =
      ep_cuda_memory_take(&network->memory, &layer->memory, layer->in_place ? 0 : rows,
                          op->out_features, sizeof(float), error);
  if (status != EP_OK) return status;
  if (row->network && row->network->take) return row->network->take(network, layer, error);
  layer->slices = row->slices ? row->slices(op, batch) : 1;
  const int64_t saved = row->saved ? row->saved(op, rows, passed_rows(network)) : 0;
  const ep_cuda_buffer buffers[] = {
      {&layer->saved, 1, saved, sizeof(float)},
      {&layer->gradient, layer->trained ? layer->slices : 0, ep_op_parameters(op), sizeof(float)}};
  return ep_cuda_memory_take_all(&network->memory, buffers, 2, error);
}

/* The loss writes a gradient in any case. */
static ep_status grads_take(ep_cuda_network *network, ep_error *error) {
  ep_status status = EP_OK;
  for (int i = 0; status == EP_OK && i < network->grads_count; i++)
    status = ep_cuda_memory_take(&network->memory, &network->grads[i].memory, passed_rows(network),
                                 network->grads[i].features, sizeof(float), error);
  network->grad = network->grads[0].memory;
  return status;
}

static ep_status memory_take(ep_cuda_network *network, ep_error *error) {
  const ep_program *program = network->program;
  const ep_cuda_share *share = &network->share;
  const bool own = !share->shares, last = share->end == program->ops_count;
  const bool stages = !share->train_x && !(network->plain && network->resident);
  const int64_t in_features =
      share->first == 0 ? program->in_features : program->ops[share->first].in_features;
  int64_t capacity = network->capacity_rows, batch = passed_rows(network);
  int64_t row_bytes = ep_cuda_row_bytes(program), resident_rows = 0;
  if (network->resident && !share->train_x) resident_rows = program->train_rows;
  const ep_cuda_buffer buffers[] = {
      {&network->parameters, own ? 1 : 0, ep_program_state_floats(program), sizeof(float)},
      {&network->state, own ? 1 : 0, program->optimizer_floats, sizeof(float)},
      {&network->train_x, resident_rows, ep_cuda_network_row_bytes(network), 1},
      {&network->train_y, resident_rows, program->target_columns, sizeof(float)},
      {&network->stage_x, stages ? capacity : 0, row_bytes, 1},
      {&network->stage_y, network->resident ? 0 : capacity, program->target_columns, sizeof(float)},
      {&network->input, capacity, in_features, sizeof(float)},
      {&network->batch_y, network->gathers && last ? batch : 0, program->target_columns,
       sizeof(float)},
      {&network->clock, own ? 1 : 0, 1, sizeof(ep_cuda_clock)},
      {&network->tally, own ? 1 : 0, 1, sizeof(ep_cuda_tally)},
      {&network->partials, 1, 1, sizeof(ep_cuda_partials)},
  };
  ep_status status =
      ep_cuda_memory_take_all(&network->memory, buffers, sizeof buffers / sizeof *buffers, error);
  int64_t channels = program->x_type == EP_X_UINT8 ? program->stored.channels : 0;
  int64_t classes = program->class_weights ? program->out_features : 0;
  for (int64_t i = 0; i < classes; i++) network->class_weights_sum += program->class_weights[i];
  if (!classes) network->class_weights_sum = (double)program->out_features;
  if (status == EP_OK)
    status = ep_cuda_memory_take_copy(&network->memory, &network->x_scale, program->x_scale,
                                      channels, sizeof(float), error);
  if (status == EP_OK)
    status = ep_cuda_memory_take_copy(&network->memory, &network->x_shift, program->x_shift,
                                      channels, sizeof(float), error);
  if (status == EP_OK)
    status = ep_cuda_memory_take_copy(&network->memory, &network->class_weights,
                                      program->class_weights, classes, sizeof(float), error);
  if (status == EP_OK) status = grads_take(network, error);
  for (int i = share->first; status == EP_OK && i < share->end; i++)
    status = layer_take(network, &network->layers[i], error);
  return status;
}

/* --- what the update sums ------------------------------------------------------------------ */

/* A list of gradients under way; with `rows` NULL it only counts. */
typedef struct {
  ep_cuda_network *network;
  ep_cuda_gradient *rows;
} gradient_list;

/* Adds what the groups make of parameters first … first + count - 1. */
static void gradients_add(gradient_list *list, int64_t first, int64_t count, int64_t stride,
                          const float *gradient, int slices) {
  ep_cuda_network *network = list->network;
  const ep_program *program = network->program;
  const ep_parameter_group all = {0, program->parameters, 0, false};
  const ep_parameter_group *groups = program->groups_count > 0 ? program->groups : &all;
  int groups_count = program->groups_count > 0 ? program->groups_count : 1;
  for (int i = 0; i < groups_count; i++) {
    int64_t from = groups[i].first > first ? groups[i].first : first;
    int64_t group_end = groups[i].first + groups[i].count, end = first + count;
    if (group_end < end) end = group_end;
    if (groups[i].frozen || from >= end) continue;
    if (list->rows)
      list->rows[network->gradients_count] =
          (ep_cuda_gradient){.first = from,
                             .count = end - from,
                             .stride = stride,
                             .first_block = network->update_blocks,
                             .gradient = gradient + (from - first),
                             .slices = slices,
                             .weight_decay = groups[i].weight_decay};
    network->gradients_count++;
    network->update_blocks += (end - from + EP_CUDA_UPDATE_THREADS - 1) / EP_CUDA_UPDATE_THREADS;
  }
}

static void gradients_walk(gradient_list *list) {
  ep_cuda_network *network = list->network;
  network->gradients_count = 0;
  network->update_blocks = 0;
  for (int i = network->share.first; i < network->share.end; i++) {
    const ep_cuda_layer *layer = &network->layers[i];
    const ep_op *op = layer->op;
    if (!layer->trained) continue;
    const bool apart = layer->bias_gradient != NULL;
    const int64_t biases = apart ? ep_op_own_biases(op) : 0, count = ep_op_parameters(op) - biases;
    gradients_add(list, ep_op_parameters_first(op), count, count, layer->gradient, layer->slices);
    if (apart)
      gradients_add(list, op->bias, biases, biases, layer->bias_gradient, layer->bias_slices);
  }
}

static ep_status gradients_list(ep_cuda_network *network, ep_error *error) {
  gradient_list list = {network, NULL};
  gradients_walk(&list);
  if (network->gradients_count == 0) return EP_OK;
  list.rows = calloc((size_t)network->gradients_count, sizeof *list.rows);
  if (!list.rows) return ep_fail(error, EP_NO_MEMORY, "no memory for the list of gradients");
  gradients_walk(&list);
  ep_status status = ep_cuda_memory_take_copy(&network->memory, &network->gradients, list.rows,
                                              network->gradients_count, sizeof *list.rows, error);
  free(list.rows);
  if (status == EP_OK && network->program->optimizer.clip_norm > 0)
    status = ep_cuda_memory_take(&network->memory, &network->squares, 1, network->update_blocks,
                                 sizeof(double), error);
  return status;
}

/* --- create, destroy ----------------------------------------------------------------------- */

/* Whether the training rows may lie on the device: within the program's limit, or, without one,
 * in nine tenths of what is free. */
static ep_status residence_decide(ep_cuda_network *network, ep_error *error) {
  const ep_program *program = network->program;
  int64_t row =
      ep_cuda_network_row_bytes(network) + program->target_columns * (int64_t)sizeof(float);
  int64_t most = program->data_bytes_max, bytes;
  network->resident = network->share.train_x != NULL;
  if (network->resident) return EP_OK;
  if (most <= 0) {
    size_t free_bytes, total_bytes;
    EP_CUDA_TRY(cudaMemGetInfo(&free_bytes, &total_bytes), "asking for the free memory");
    most = (int64_t)(free_bytes / 10 * 9);
  }
  network->resident = !__builtin_mul_overflow(program->train_rows, row, &bytes) && bytes <= most;
  return EP_OK;
}

/* What is another's. */
static void lent_take(ep_cuda_network *network) {
  ep_cuda_share *share = &network->share;
  const ep_cuda_network *of = share->shares;
  if (share->end == 0) share->end = network->program->ops_count;
  if (share->train_rows == 0) share->train_rows = network->program->train_rows;
  if (share->batch_size == 0) share->batch_size = network->program->batch_size;
  network->train_x = share->train_x;
  network->train_y = share->train_y;
  if (!of) return;
  network->stream = of->stream;
  network->parameters = of->parameters;
  network->state = of->state;
  network->clock = of->clock;
  network->tally = of->tally;
}

static ep_status network_build(ep_cuda_network *network, ep_error *error) {
  const ep_program *program = network->program;
  const ep_cuda_share *share = &network->share;
  const bool alone = share->train_rows == 0; /* no rank, beside which others are at work */
  if (!share->shares)
    EP_CUDA_TRY(cudaStreamCreateWithFlags(&network->stream, cudaStreamNonBlocking),
                "making a stream");
  lent_take(network);
  network->memory = (ep_cuda_memory){.backend = network->backend, .stream = network->stream};
  network->plain = ep_program_takes_plain_rows(program);
  network->numbers = network->plain || share->numbers;
  ep_status status = residence_decide(network, error);
  if (status != EP_OK) return status;
  network->capacity_rows = passed_rows(network);
  if (!share->train_x && program->max_predict_rows > network->capacity_rows)
    network->capacity_rows = program->max_predict_rows;
  network->gathers =
      !network->numbers || !network->resident || program->batch_size < share->train_rows;
  ep_cuda_layout_decide(network);
  ep_cuda_gradients_place(network);
  network->searches = alone && network->values[program->ops_count].learns;
  status = memory_take(network, error);
  if (status != EP_OK) return status;
  EP_CUDA_TRY(cudaStreamSynchronize(network->stream), "clearing device memory");
  return gradients_list(network, error);
}

ep_status ep_cuda_network_create(ep_backend *backend, const ep_program *program,
                                 const ep_cuda_share *share, ep_cuda_network **out,
                                 ep_error *error) {
  *out = NULL;
  ep_status status = ep_cuda_program_check(program, error);
  if (status != EP_OK) return status;
  ep_cuda_overlap_learn(backend->gpu.capability, backend->gpu.generation);
  ep_cuda_network *network = calloc(1, sizeof *network);
  if (!network) return ep_fail(error, EP_NO_MEMORY, "no memory for a network");
  network->backend = backend;
  network->program = program;
  network->share = *share;
  const size_t ops = (size_t)program->ops_count, inputs = ops * EP_OP_INPUTS;
  network->layers = calloc(ops, sizeof *network->layers);
  network->values = calloc(ops + 1, sizeof *network->values);
  network->grads = calloc(inputs + 1, sizeof *network->grads);
  network->part_sums = calloc(inputs, sizeof *network->part_sums);
  if (!network->layers || !network->values || !network->grads || !network->part_sums) {
    status = ep_fail(error, EP_NO_MEMORY, "no memory for a network's layers");
  } else {
    for (int i = 0; i < program->ops_count; i++) network->layers[i].op = &program->ops[i];
    status = network_build(network, error);
  }
  if (status != EP_OK) {
    ep_cuda_network_destroy(network);
    return status;
  }
  *out = network;
  return EP_OK;
}

static void products_deinit(ep_cuda_products *products) {
  for (int i = 0; i < EP_CUDA_PRODUCTS; i++) ep_cuda_gemm_deinit(&products->gemm[i]);
}

void ep_cuda_network_destroy(ep_cuda_network *network) {
  if (!network) return;
  for (int i = 0; network->layers && i < network->program->ops_count; i++) {
    products_deinit(&network->layers[i].forward);
    products_deinit(&network->layers[i].backward);
    products_deinit(&network->layers[i].weight);
  }
  ep_cuda_ahead_deinit(&network->ahead);
  ep_cuda_side_deinit(&network->side);
  ep_cuda_memory_deinit(&network->memory);
  if (network->stream && !network->share.shares) cudaStreamDestroy(network->stream);
  free(network->part_sums);
  free(network->grads);
  free(network->values);
  free(network->layers);
  free(network);
}
