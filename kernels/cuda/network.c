#include "kernels/cuda/network.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/formulas/activations.h"

/* A linear layer is thin when cuBLASLt has nothing to tile: a few weights, or little work in all.
 */
enum { THIN_WEIGHTS = 256, THIN_PRODUCTS = 1 << 20 };
/* Rows that are summed apart: a warp goes along a slice, or, where a row is wide enough for
 * neighbouring threads to read neighbouring inputs, one thread does. */
enum { SLICE_ROWS = 512, THREAD_SLICE_ROWS = 32, SLICES_AT_MOST = 64, WIDE_INPUTS = 32 };

static bool is_thin(const ep_op *op, int64_t rows) {
  int64_t weights = op->in_features * op->out_features; /* checked with the parameters */
  return weights <= THIN_WEIGHTS || rows <= THIN_PRODUCTS / weights;
}

static bool by_thread(const ep_op *op) {
  return op->in_features >= WIDE_INPUTS;
}

static int slices_of(int64_t rows, int64_t slice_rows) {
  int64_t slices = (rows + slice_rows - 1) / slice_rows;
  return (int)(slices < SLICES_AT_MOST ? slices : SLICES_AT_MOST);
}

static bool takes_gathering(const ep_program *program) {
  return program->batch_size < program->train_rows;
}

/* --- memory -------------------------------------------------------------------------------- */

/* Zeroed device memory [rows, columns] of `bytes` each, owned by the network. `out` is the address
 * of a pointer. */
static ep_status take(ep_cuda_network *network, void *out, int64_t rows, int64_t columns,
                      size_t bytes, ep_error *error) {
  void *block = NULL;
  int64_t row_bytes;
  memcpy(out, &block, sizeof block);
  if (__builtin_mul_overflow(columns, (int64_t)bytes, &row_bytes))
    return ep_fail(error, EP_NO_MEMORY, "a row of %lld numbers is more than a GPU can hold",
                   (long long)columns);
  ep_status status =
      ep_cuda_allocate(network->backend, &block, rows, row_bytes, &network->bytes, error);
  if (status != EP_OK || !block) return status;
  if (network->blocks_count == network->blocks_capacity) {
    ep_cuda_free(block);
    return ep_fail(error, EP_INTERNAL, "more blocks of device memory than were counted");
  }
  network->blocks[network->blocks_count++] = block;
  memcpy(out, &block, sizeof block);
  EP_CUDA_TRY(cudaMemsetAsync(block, 0, (size_t)(rows * row_bytes), network->stream),
              "clearing device memory");
  return EP_OK;
}

static ep_status layer_take(ep_cuda_network *network, ep_cuda_layer *layer, ep_error *error) {
  const ep_op *op = layer->op;
  const size_t size = sizeof(float);
  ep_status status =
      take(network, &layer->output, network->capacity_rows, op->out_features, size, error);
  if (status != EP_OK || op->type != EP_LAYER_LINEAR) return status;
  int64_t weights, batch = network->program->batch_size;
  if (__builtin_mul_overflow(op->in_features, op->out_features, &weights))
    return ep_fail(error, EP_NO_MEMORY, "a layer has more weights than a GPU can hold");
  layer->thin = is_thin(op, batch);
  layer->slices =
      layer->thin ? slices_of(batch, by_thread(op) ? THREAD_SLICE_ROWS : SLICE_ROWS) : 1;
  layer->bias_slices = slices_of(batch, SLICE_ROWS);
  int64_t count = weights + (layer->thin && op->bias >= 0 ? op->out_features : 0);
  status = take(network, &layer->gradient, layer->slices, count, size, error);
  if (status == EP_OK && !layer->thin && op->bias >= 0)
    status =
        take(network, &layer->bias_gradient, layer->bias_slices, op->out_features, size, error);
  if (status == EP_OK && !layer->thin && !network->workspace)
    status = take(network, &network->workspace, 1, EP_CUDA_GEMM_WORKSPACE_BYTES, 1, error);
  return status;
}

static int64_t widest(const ep_cuda_network *network) {
  int64_t most = 0;
  for (int i = network->first_linear; i < network->program->ops_count; i++) {
    const ep_op *op = &network->program->ops[i];
    if (op->in_features > most) most = op->in_features;
    if (op->out_features > most) most = op->out_features;
  }
  return most;
}

static ep_status buffers_take(ep_cuda_network *network, ep_error *error) {
  const ep_program *program = network->program;
  const struct {
    void *out;
    int64_t rows, columns;
    size_t bytes;
  } buffers[] = {
      {&network->parameters, 1, program->parameters, sizeof(float)},
      {&network->velocity, 1, program->optimizer_floats, sizeof(float)},
      {&network->train_x, program->train_rows, program->in_features, sizeof(float)},
      {&network->train_y, program->train_rows, program->target_columns, sizeof(float)},
      {&network->input, network->capacity_rows, program->in_features, sizeof(float)},
      {&network->batch_y, takes_gathering(program) ? program->batch_size : 0,
       program->target_columns, sizeof(float)},
      {&network->grad[0], program->batch_size, widest(network), sizeof(float)},
      {&network->grad[1], program->batch_size, widest(network), sizeof(float)},
      {&network->gradients, 2, program->ops_count, sizeof(ep_cuda_gradient)},
      {&network->clock, 1, 1, sizeof(ep_cuda_clock)},
      {&network->tally, 1, 1, sizeof(ep_cuda_tally)},
      {&network->partials, 1, 1, sizeof(ep_cuda_partials)},
  };
  ep_status status = EP_OK;
  for (size_t i = 0; status == EP_OK && i < sizeof buffers / sizeof *buffers; i++)
    status =
        take(network, buffers[i].out, buffers[i].rows, buffers[i].columns, buffers[i].bytes, error);
  for (int i = 0; status == EP_OK && i < program->ops_count; i++)
    status = layer_take(network, &network->layers[i], error);
  return status;
}

/* --- what the update sums ------------------------------------------------------------------ */

static void gradient_add(ep_cuda_network *network, ep_cuda_gradient *gradients, int64_t first,
                         int64_t count, const float *gradient, int slices) {
  gradients[network->gradients_count++] =
      (ep_cuda_gradient){first, count, network->update_blocks, gradient, slices};
  network->update_blocks += (count + EP_CUDA_UPDATE_THREADS - 1) / EP_CUDA_UPDATE_THREADS;
}

static ep_status gradients_list(ep_cuda_network *network, ep_error *error) {
  const ep_program *program = network->program;
  ep_cuda_gradient *gradients = calloc((size_t)program->ops_count, 2 * sizeof *gradients);
  if (!gradients) return ep_fail(error, EP_NO_MEMORY, "no memory for the list of gradients");
  for (int i = 0; i < program->ops_count; i++) {
    const ep_cuda_layer *layer = &network->layers[i];
    const ep_op *op = layer->op;
    if (op->type != EP_LAYER_LINEAR) continue;
    int64_t weights = op->in_features * op->out_features;
    int64_t biases = op->bias >= 0 ? op->out_features : 0;
    gradient_add(network, gradients, op->weight, weights + (layer->thin ? biases : 0),
                 layer->gradient, layer->slices);
    if (!layer->thin && biases)
      gradient_add(network, gradients, op->bias, biases, layer->bias_gradient, layer->bias_slices);
  }
  cudaError_t code =
      cudaMemcpy(network->gradients, gradients,
                 (size_t)network->gradients_count * sizeof *gradients, cudaMemcpyHostToDevice);
  free(gradients);
  EP_CUDA_TRY(code, "writing the list of gradients");
  return EP_OK;
}

/* --- create, destroy ----------------------------------------------------------------------- */

static ep_status program_check(const ep_program *program, ep_error *error) {
  if (program->ops_count < 1) return ep_fail(error, EP_INVALID, "a network needs a layer");
  if (program->precision != EP_PRECISION_FP32)
    return ep_fail(error, EP_UNSUPPORTED, "cuda/general computes in fp32 alone");
  for (int i = 0; i < program->ops_count; i++) {
    const ep_op *op = &program->ops[i];
    if (op->in_features < 1 || op->out_features < 1)
      return ep_fail(error, EP_INVALID, "layer %d has no features", i);
    if (op->type == EP_LAYER_LINEAR && op->bias >= 0 &&
        op->bias != op->weight + op->in_features * op->out_features)
      return ep_fail(error, EP_INTERNAL, "layer %d: the bias does not follow the weight", i);
  }
  return EP_OK;
}

static ep_status network_build(ep_cuda_network *network, ep_error *error) {
  const ep_program *program = network->program;
  EP_CUDA_TRY(cudaStreamCreateWithFlags(&network->stream, cudaStreamNonBlocking),
              "making a stream");
  network->capacity_rows = program->max_predict_rows > program->batch_size
                               ? program->max_predict_rows
                               : program->batch_size;
  network->first_linear = program->ops_count;
  for (int i = program->ops_count - 1; i >= 0; i--)
    if (program->ops[i].type == EP_LAYER_LINEAR) network->first_linear = i;
  ep_status status = buffers_take(network, error);
  if (status != EP_OK) return status;
  for (int i = 0; i < program->ops_count; i++)
    network->layers[i].forward_fused = i > 0 && ep_activation_is(program->ops[i].type) &&
                                       program->ops[i - 1].type == EP_LAYER_LINEAR &&
                                       network->layers[i - 1].thin;
  EP_CUDA_TRY(cudaStreamSynchronize(network->stream), "clearing device memory");
  return gradients_list(network, error);
}

ep_status ep_cuda_network_create(ep_backend *backend, const ep_program *program,
                                 ep_cuda_network **out, ep_error *error) {
  *out = NULL;
  ep_status status = program_check(program, error);
  if (status != EP_OK) return status;
  ep_cuda_network *network = calloc(1, sizeof *network);
  if (!network) return ep_fail(error, EP_NO_MEMORY, "no memory for a network");
  network->backend = backend;
  network->program = program;
  network->blocks_capacity = 16 + 3 * program->ops_count;
  network->blocks = calloc((size_t)network->blocks_capacity, sizeof *network->blocks);
  network->layers = calloc((size_t)program->ops_count, sizeof *network->layers);
  if (!network->blocks || !network->layers) {
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
  for (int i = 0; i < network->blocks_count; i++) ep_cuda_free(network->blocks[i]);
  if (network->stream) cudaStreamDestroy(network->stream);
  free(network->layers);
  free(network->blocks);
  free(network);
}

/* --- one pass ------------------------------------------------------------------------------ */

/* Queues a product, choosing its algorithm when this shape is new. */
static ep_status multiply(ep_cuda_network *network, ep_cuda_products *products,
                          const ep_cuda_gemm_shape *shape, ep_error *error) {
  ep_cuda_gemm *gemm = NULL;
  for (int i = 0; i < EP_CUDA_PRODUCTS && !gemm; i++) {
    const ep_cuda_gemm_shape *kept = &products->gemm[i].shape;
    if (products->gemm[i].product && kept->rows == shape->rows && kept->depth == shape->depth &&
        kept->a == shape->a && kept->b == shape->b)
      gemm = &products->gemm[i];
  }
  if (!gemm) {
    gemm = &products->gemm[products->next];
    products->next = (products->next + 1) % EP_CUDA_PRODUCTS;
    ep_cuda_gemm_deinit(gemm);
    ep_status status =
        ep_cuda_gemm_init(network->backend, shape, EP_CUDA_GEMM_WORKSPACE_BYTES, gemm, error);
    if (status != EP_OK) {
      ep_cuda_gemm_deinit(gemm);
      return status;
    }
  }
  return ep_cuda_gemm_run(network->backend, gemm, network->workspace, network->stream, error);
}

/* The input of layer i, when the network's is x. */
static const float *layer_input(const ep_cuda_network *network, int i, const float *x) {
  return i == 0 ? x : network->layers[i - 1].output;
}

static ep_status linear_forward(ep_cuda_network *network, int i, const float *x, int64_t rows,
                                ep_error *error) {
  ep_cuda_layer *layer = &network->layers[i];
  const ep_op *op = layer->op;
  const float *weight = network->parameters + op->weight;
  const float *bias = op->bias >= 0 ? network->parameters + op->bias : NULL;
  if (!layer->thin) {
    ep_cuda_gemm_shape shape = {.rows = rows,
                                .columns = op->out_features,
                                .depth = op->in_features,
                                .a = x,
                                .b = weight,
                                .bias = bias,
                                .out = layer->output,
                                .transpose_b = true};
    return multiply(network, &layer->forward, &shape, error);
  }
  ep_cuda_linear_forward linear = {.rows = rows,
                                   .in = op->in_features,
                                   .out = op->out_features,
                                   .x = x,
                                   .weight = weight,
                                   .bias = bias,
                                   .output = layer->output};
  if (i + 1 < network->program->ops_count && layer[1].forward_fused) {
    linear.activated = layer[1].output;
    linear.activation = layer[1].op->type;
    linear.negative_slope = layer[1].op->negative_slope;
  }
  EP_CUDA_TRY(ep_cuda_linear_forward_run(network->stream, &linear), "a linear layer");
  return EP_OK;
}

ep_status ep_cuda_network_forward(ep_cuda_network *network, const float *x, int64_t rows,
                                  const float **output, ep_error *error) {
  for (int i = 0; i < network->program->ops_count; i++) {
    ep_cuda_layer *layer = &network->layers[i];
    const float *from = layer_input(network, i, x);
    if (layer->op->type == EP_LAYER_LINEAR) {
      ep_status status = linear_forward(network, i, from, rows, error);
      if (status != EP_OK) return status;
    } else if (!layer->forward_fused) {
      EP_CUDA_TRY(ep_cuda_activation_forward(network->stream, layer->op, rows, from, layer->output),
                  "an activation");
    }
  }
  *output = network->layers[network->program->ops_count - 1].output;
  return EP_OK;
}

static ep_status loss_run(ep_cuda_network *network, const float *output, const void *y,
                          int64_t rows, bool training, ep_error *error) {
  const ep_program *program = network->program;
  ep_cuda_loss loss = {.type = program->loss,
                       .huber_delta = program->huber_delta,
                       .rows = rows,
                       .columns = program->out_features,
                       .output = output,
                       .y = y,
                       .grad = training ? network->grad[0] : NULL,
                       .partials = network->partials,
                       .clock = training ? network->clock : NULL,
                       .steps_per_epoch = ep_program_steps_per_epoch(program),
                       .tally = training ? NULL : network->tally};
  EP_CUDA_TRY(ep_cuda_loss_run(network->stream, &loss), "a loss");
  return EP_OK;
}

ep_status ep_cuda_network_tally(ep_cuda_network *network, const float *x, const void *y,
                                int64_t rows, ep_error *error) {
  const float *output;
  ep_status status = ep_cuda_network_forward(network, x, rows, &output, error);
  if (status != EP_OK) return status;
  return loss_run(network, output, y, rows, false, error);
}

/* Back through a linear layer by cuBLASLt. x: [rows, in], grad: [rows, out]; grad_x: [rows, in] or
 * NULL. */
static ep_status wide_backward(ep_cuda_network *network, ep_cuda_layer *layer, const float *x,
                               int64_t rows, const float *grad, float *grad_x, ep_error *error) {
  const ep_op *op = layer->op;
  if (op->bias >= 0)
    EP_CUDA_TRY(ep_cuda_column_sums(network->stream, rows, op->out_features, grad,
                                    layer->bias_slices, layer->bias_gradient),
                "a bias's gradient");
  ep_cuda_gemm_shape of_weight = {.rows = op->out_features,
                                  .columns = op->in_features,
                                  .depth = rows,
                                  .a = grad,
                                  .b = x,
                                  .out = layer->gradient,
                                  .transpose_a = true};
  ep_cuda_gemm_shape of_x = {.rows = rows,
                             .columns = op->in_features,
                             .depth = op->out_features,
                             .a = grad,
                             .b = network->parameters + op->weight,
                             .out = grad_x};
  ep_status status = multiply(network, &layer->weight, &of_weight, error);
  if (status == EP_OK && grad_x) status = multiply(network, &layer->backward, &of_x, error);
  return status;
}

/* Back through linear layer i: the gradient of its parameters, and, grad_x not NULL, that by its
 * input; from: its input. When an activation comes before a thin layer, grad_x is by that one's
 * input, and *next the index below it. x: the network's input. */
static ep_status linear_backward(ep_cuda_network *network, int i, const float *x, int64_t rows,
                                 const float *grad, float *grad_x, int *next, ep_error *error) {
  ep_cuda_layer *layer = &network->layers[i];
  const ep_op *op = layer->op;
  const float *from = layer_input(network, i, x);
  *next = i - 1;
  if (!layer->thin) return wide_backward(network, layer, from, rows, grad, grad_x, error);
  ep_cuda_linear_backward linear = {.rows = rows,
                                    .in = op->in_features,
                                    .out = op->out_features,
                                    .x = from,
                                    .grad = grad,
                                    .weight = network->parameters + op->weight,
                                    .gradient = layer->gradient,
                                    .slices = layer->slices,
                                    .by_thread = by_thread(op),
                                    .with_bias = op->bias >= 0,
                                    .grad_x = grad_x};
  if (grad_x && ep_activation_is(layer[-1].op->type)) {
    linear.before = layer_input(network, i - 1, x);
    linear.activation = layer[-1].op->type;
    linear.negative_slope = layer[-1].op->negative_slope;
    *next = i - 2;
  }
  EP_CUDA_TRY(ep_cuda_linear_backward_run(network->stream, &linear), "a linear layer, backward");
  return EP_OK;
}

/* grad[0] holds the gradient by the network's output. x: the network's input. */
static ep_status backward(ep_cuda_network *network, const float *x, int64_t rows, ep_error *error) {
  float *grad = network->grad[0], *other = network->grad[1];
  for (int i = network->program->ops_count - 1, next; i >= network->first_linear; i = next) {
    const ep_cuda_layer *layer = &network->layers[i];
    next = i - 1;
    if (layer->op->type != EP_LAYER_LINEAR) {
      EP_CUDA_TRY(ep_cuda_activation_backward(network->stream, layer->op, rows,
                                              layer_input(network, i, x), layer->output, grad),
                  "an activation, backward");
      continue;
    }
    float *grad_x = i > network->first_linear ? other : NULL;
    ep_status status = linear_backward(network, i, x, rows, grad, grad_x, &next, error);
    if (status != EP_OK) return status;
    other = grad;
    grad = grad_x;
  }
  return EP_OK;
}

ep_status ep_cuda_network_step(ep_cuda_network *network, int64_t rows, ep_error *error) {
  const ep_program *program = network->program;
  const float *x = network->train_x, *output;
  const void *y = network->train_y;
  if (takes_gathering(program)) {
    ep_cuda_batch batch = {.train_rows = program->train_rows,
                           .batch_size = program->batch_size,
                           .x_columns = program->in_features,
                           .y_columns = program->target_columns,
                           .shuffle = program->shuffle,
                           .seed = program->seed,
                           .x = x,
                           .y = y,
                           .batch_x = network->input,
                           .batch_y = network->batch_y};
    EP_CUDA_TRY(ep_cuda_batch_take(network->stream, &batch, rows, network->clock), "a batch");
    x = network->input;
    y = network->batch_y;
  }
  ep_status status = ep_cuda_network_forward(network, x, rows, &output, error);
  if (status == EP_OK) status = loss_run(network, output, y, rows, true, error);
  if (status == EP_OK) status = backward(network, x, rows, error);
  if (status != EP_OK || network->gradients_count == 0) return status;
  EP_CUDA_TRY(ep_cuda_optimizer_step(network->stream, &program->optimizer, network->gradients,
                                     network->gradients_count, network->update_blocks,
                                     network->clock, network->parameters, network->velocity),
              "the optimizer's step");
  return EP_OK;
}
