#include "kernels/cuda/executors/images/network.h"

#include <stdlib.h>

#include "kernels/cuda/network/layout.h"
#include "kernels/formulas/activations.h"

/* --- memory ---------------------------------------------------------------------------------- */

/* cuDNN is slow with few channels: the first convolution of such is one of a single pixel, on
 * windows that are laid out before. */
static bool is_patched(const ep_images_network *images) {
  const int64_t most = 128;
  const ep_images_part *first = &images->parts.rows[0];
  const int64_t pixels =
      first->out.height * first->out.width * images->network->program->batch_size;
  for (int i = 1; i < images->parts.count; i++)
    if (images->parts.rows[i].residual && images->parts.rows[i].past < 0) return false;
  return first->kind == EP_IMAGES_CONVOLUTION && first->in.channels <= EP_IMAGES_FEW &&
         ep_images_window(first->own) <= most && pixels <= INT32_MAX / most;
}

/* The numbers of an output's weights, as the convolution takes them. */
static int64_t weights_of(const ep_images_network *images, int i) {
  const ep_op *op = images->parts.rows[i].own;
  if (i == 0 && is_patched(images)) return ep_images_pitch(ep_images_window(op));
  return ep_images_pitch(op->in.channels) * op->kernel[0] * op->kernel[1];
}

static ep_status layer_take(ep_images_network *images, int i, ep_error *error) {
  const ep_images_part *part = &images->parts.rows[i];
  ep_images_layer *layer = &images->layers[i];
  const int64_t batch = images->network->program->batch_size, size = EP_IMAGES_NUMBER_BYTES;
  const int64_t in_pitch = ep_images_pitch(part->in.channels);
  const bool convolves = part->kind == EP_IMAGES_CONVOLUTION;
  const bool finds = part->kind == EP_IMAGES_POOL && part->own->type == EP_LAYER_MAX_POOL2D;
  const bool skips = part->residual && part->past >= images->first_trained;
  const int64_t outputs = ep_images_pitch(part->out.channels);
  const int64_t weights = convolves ? weights_of(images, i) : 0;
  const int64_t numbers = ep_images_numbers(part->out);
  const ep_cuda_buffer buffers[] = {
      {&layer->output, batch, numbers, size},
      {&layer->weight, convolves ? outputs : 0, weights, size},
      {&layer->weight_gradient, layer->trained ? outputs : 0, weights, size},
      {&layer->chosen, part->pool && part->norm && !part->residual ? batch : 0, numbers, size},
      {&layer->figures, part->norm ? EP_IMAGES_FIGURES : 0, in_pitch, sizeof(float)},
      {&layer->skip, skips ? batch : 0, ep_images_numbers(part->in), size},
      {&layer->places, finds ? batch : 0, numbers, 1},
  };
  return ep_cuda_memory_take_all(&images->network->memory, buffers,
                                 sizeof buffers / sizeof *buffers, error);
}

/* The most numbers of an image, and of a pixel. */
static void widest(const ep_images_network *images, int64_t *numbers, int64_t *pitch) {
  *numbers = *pitch = 0;
  for (int i = 0; i < images->parts.count; i++) {
    const ep_shape shapes[] = {images->parts.rows[i].in, images->parts.rows[i].out};
    for (int j = 0; j < 2; j++) {
      int64_t count = ep_images_numbers(shapes[j]);
      int64_t across = ep_images_pitch(shapes[j].channels);
      if (count > *numbers) *numbers = count;
      if (across > *pitch) *pitch = across;
    }
  }
}

static ep_status memory_take(ep_images_network *images, ep_error *error) {
  const ep_program *program = images->network->program;
  const ep_shape last = images->parts.rows[images->parts.count - 1].out;
  const int64_t batch = program->batch_size, size = EP_IMAGES_NUMBER_BYTES;
  const ep_shape first = images->parts.rows[0].out;
  const bool patched = is_patched(images);
  const int64_t window = patched ? weights_of(images, 0) : 0;
  images->in_pitch = patched ? (int64_t)EP_IMAGES_FEW : ep_images_pitch(program->in.channels);
  int64_t numbers, pitch;
  widest(images, &numbers, &pitch);
  const ep_cuda_buffer buffers[] = {
      {&images->input, batch, program->in.height * program->in.width * images->in_pitch, size},
      {&images->patches, window > 0 ? batch : 0, first.height * first.width * window, size},
      {&images->flat, batch, images->head ? images->head->out_features : ep_shape_count(last),
       sizeof(float)},
      {&images->grads[0], batch, numbers, size},
      {&images->grads[1], batch, numbers, size},
      {&images->sums, 2 * EP_IMAGES_SLICES, pitch, sizeof(float)},
      {&images->workspace, 1, EP_CONVOLUTION_WORKSPACE_BYTES, 1},
  };
  ep_status status = ep_cuda_memory_take_all(&images->network->memory, buffers,
                                             sizeof buffers / sizeof *buffers, error);
  for (int i = 0; status == EP_OK && i < images->parts.count; i++)
    status = layer_take(images, i, error);
  return status;
}

/* --- parts ----------------------------------------------------------------------------------- */

/* Whether an op, or none, has parameters that are not frozen. */
static bool trains(const ep_images_network *images, const ep_op *op) {
  return op && images->network->layers[op - images->network->program->ops].trained;
}

/* Which are trained, and where the gradients lie: a part's way back leaves them in the other place,
 * but for a dropout's. */
static void layers_decide(ep_images_network *images) {
  const ep_images_parts *parts = &images->parts;
  images->first_trained = parts->count;
  int grad = 0;
  for (int i = parts->count - 1; i >= 0; i--) {
    const ep_images_part *part = &parts->rows[i];
    ep_images_layer *layer = &images->layers[i];
    layer->grad = grad;
    if (part->kind != EP_IMAGES_DROPOUT) grad = 1 - grad;
    layer->trained = part->kind == EP_IMAGES_CONVOLUTION
                         ? trains(images, part->own)
                         : part->kind == EP_IMAGES_BLEND &&
                               (trains(images, part->biased) || trains(images, part->norm));
    if (layer->trained) images->first_trained = i;
  }
}

/* flatten, then a linear layer of few outputs, which nothing goes past, and without an activation,
 * which the shared network would expect of it. */
static const ep_op *head_find(const ep_images_network *images) {
  const ep_program *program = images->network->program;
  const int linear = images->parts.tail + 1;
  if (linear >= program->ops_count || program->ops[linear].type != EP_LAYER_LINEAR ||
      program->ops[linear].out_features > EP_CUDA_THIN_LINEAR_OUTPUTS)
    return NULL;
  if (linear + 1 < program->ops_count && ep_activation_is(program->ops[linear + 1].type))
    return NULL;
  for (int i = linear + 1; i < program->ops_count; i++)
    if (program->ops[i].type == EP_LAYER_RESIDUAL) return NULL;
  return &program->ops[linear];
}

static ep_status head_take(ep_images_network *images, ep_error *error) {
  const ep_shape last = images->parts.rows[images->parts.count - 1].out;
  const int64_t outputs = images->head->out_features, row = ep_images_numbers(last);
  const bool trained = trains(images, images->head);
  const ep_cuda_buffer buffers[] = {
      {&images->head_weight, outputs, row, sizeof(float)},
      {&images->head_gradient, trained ? EP_CUDA_LINEAR_SLICES : 0, outputs * row, sizeof(float)},
      {&images->head_bias_gradient, trained ? EP_CUDA_LINEAR_SLICES : 0, outputs, sizeof(float)},
  };
  return ep_cuda_memory_take_all(&images->network->memory, buffers,
                                 sizeof buffers / sizeof *buffers, error);
}

/* --- convolutions ---------------------------------------------------------------------------- */

static ep_shape padded(ep_shape shape) {
  shape.channels = ep_images_pitch(shape.channels);
  return shape;
}

static ep_status way_make(ep_images_network *images, int i, ep_convolution_way way, int kind,
                          int64_t rows, ep_error *error) {
  const ep_images_part *part = &images->parts.rows[i];
  ep_images_layer *layer = &images->layers[i];
  const ep_op *op = part->own;
  ep_convolution_shape shape = {.way = way,
                                .in = padded(part->in),
                                .out = padded(part->out),
                                .rows = rows,
                                .kernel = {op->kernel[0], op->kernel[1]},
                                .stride = {op->stride[0], op->stride[1]},
                                .padding = {op->padding[0], op->padding[1]},
                                .dilation = {op->dilation[0], op->dilation[1]}};
  const void *x = ep_images_output(images, i - 1);
  if (i == 0 && images->patches) {
    x = images->patches;
    shape.in = (ep_shape){weights_of(images, 0), part->out.height, part->out.width};
    for (int side = 0; side < 2; side++) {
      shape.kernel[side] = shape.stride[side] = shape.dilation[side] = 1;
      shape.padding[side] = 0;
    }
  }
  const void *grad = images->grads[layer->grad], *grad_x = images->grads[1 - layer->grad];
  const bool forward = way == EP_CONVOLUTION_FORWARD, back = way == EP_CONVOLUTION_BACK;
  return ep_convolution_init(
      images->network->backend, images->network->stream, &shape, back ? grad_x : x,
      way == EP_CONVOLUTION_WEIGHTS ? layer->weight_gradient : layer->weight,
      forward ? layer->output : grad, images->workspace, &layer->ways[way][kind], error);
}

static ep_status convolution_make(ep_images_network *images, int i, int kind, int64_t rows,
                                  ep_error *error) {
  ep_status status = way_make(images, i, EP_CONVOLUTION_FORWARD, kind, rows, error);
  if (status == EP_OK && images->layers[i].trained)
    status = way_make(images, i, EP_CONVOLUTION_WEIGHTS, kind, rows, error);
  if (status == EP_OK && i > images->first_trained)
    status = way_make(images, i, EP_CONVOLUTION_BACK, kind, rows, error);
  return status;
}

/* For a full batch and for an epoch's last, where that is smaller. */
static ep_status convolutions_make(ep_images_network *images, ep_error *error) {
  const ep_program *program = images->network->program;
  const int64_t last = ep_program_batch_rows(program, ep_program_steps_per_epoch(program) - 1);
  ep_status status = EP_OK;
  for (int i = 0; i < images->parts.count && status == EP_OK; i++) {
    if (images->parts.rows[i].kind != EP_IMAGES_CONVOLUTION) continue;
    status = convolution_make(images, i, 0, program->batch_size, error);
    if (status == EP_OK && last < program->batch_size)
      status = convolution_make(images, i, 1, last, error);
  }
  return status;
}

static ep_images_weight weight_of(const ep_images_network *images, int i) {
  const ep_op *op = images->parts.rows[i].own;
  const ep_images_layer *layer = &images->layers[i];
  const ep_cuda_network *network = images->network;
  return (ep_images_weight){.out = op->out.channels,
                            .in = op->in.channels,
                            .taps = (int64_t)op->kernel[0] * op->kernel[1],
                            .pitch = i == 0 && images->patches ? op->in.channels
                                                               : ep_images_pitch(op->in.channels),
                            .row = weights_of(images, i),
                            .slices = 1,
                            .parameters = network->parameters + op->weight,
                            .copy = layer->weight,
                            .copy_gradient = layer->weight_gradient,
                            .gradient = network->layers[op - network->program->ops].gradient};
}

/* The head's weight, and its bias, which needs no copy. */
static void head_weights(const ep_images_network *images,
                         ep_images_weight rows[EP_IMAGES_HEAD_WEIGHTS]) {
  const ep_op *op = images->head;
  const ep_cuda_network *network = images->network;
  const ep_cuda_layer *layer = &network->layers[op - network->program->ops];
  const ep_shape last = images->parts.rows[images->parts.count - 1].out;
  const int64_t row = ep_images_numbers(last), weights = ep_cuda_weights_count(op);
  rows[0] = (ep_images_weight){.out = op->out_features,
                               .in = last.channels,
                               .taps = last.height * last.width,
                               .pitch = ep_images_pitch(last.channels),
                               .row = row,
                               .stride = op->out_features * row,
                               .slices = EP_CUDA_LINEAR_SLICES,
                               .precise = true,
                               .parameters = network->parameters + op->weight,
                               .copy = images->head_weight,
                               .copy_gradient = images->head_gradient,
                               .gradient = layer->gradient};
  rows[1] =
      (ep_images_weight){.out = op->bias >= 0 ? op->out_features : 0,
                         .in = 1,
                         .taps = 1,
                         .pitch = 1,
                         .row = 1,
                         .stride = op->out_features,
                         .slices = EP_CUDA_LINEAR_SLICES,
                         .precise = true,
                         .copy_gradient = images->head_bias_gradient,
                         .gradient = layer->thin && layer->gradient ? layer->gradient + weights
                                                                    : layer->bias_gradient};
}

static ep_status weights_list(ep_images_network *images, ep_error *error) {
  const size_t most = (size_t)images->parts.count + EP_IMAGES_HEAD_WEIGHTS;
  ep_images_weight *rows = calloc(most, sizeof *rows);
  if (!rows) return ep_fail(error, EP_NO_MEMORY, "no memory for the list of weights");
  int count = 0;
  for (int i = 0; i < images->parts.count; i++)
    if (images->parts.rows[i].kind == EP_IMAGES_CONVOLUTION) rows[count++] = weight_of(images, i);
  if (images->head) {
    head_weights(images, &rows[count]);
    count += EP_IMAGES_HEAD_WEIGHTS;
  }
  for (int i = 0; i < count; i++) {
    const int64_t each = EP_IMAGES_WEIGHT_THREADS;
    rows[i].first_block = images->weights_blocks;
    images->weights_blocks += (rows[i].out * rows[i].in + each - 1) / each;
  }
  images->weights_count = count;
  ep_status status = ep_cuda_memory_take_copy(&images->network->memory, &images->weights, rows,
                                              count, sizeof *rows, error);
  free(rows);
  return status;
}

/* --- create, destroy ------------------------------------------------------------------------- */

static ep_status images_build(ep_images_network *images, ep_error *error) {
  layers_decide(images);
  images->head = head_find(images);
  ep_status status = memory_take(images, error);
  if (status == EP_OK && images->head) status = head_take(images, error);
  if (status == EP_OK) status = weights_list(images, error);
  if (status == EP_OK) status = convolutions_make(images, error);
  return status;
}

ep_status ep_images_network_create(ep_cuda_network *network, ep_images_network **out,
                                   ep_error *error) {
  const ep_program *program = network->program;
  const size_t most = 2 * (size_t)program->ops_count;
  *out = NULL;
  ep_images_network *images = calloc(1, sizeof *images);
  if (!images) return ep_fail(error, EP_NO_MEMORY, "no memory for an instance");
  images->network = network;
  images->parts.rows = calloc(most, sizeof *images->parts.rows);
  images->layers = calloc(most, sizeof *images->layers);
  ep_status status = EP_OK;
  if (!images->parts.rows || !images->layers)
    status = ep_fail(error, EP_NO_MEMORY, "no memory for a network's layers");
  else if (!ep_images_parts_find(program, &images->parts))
    status = ep_fail(error, EP_INTERNAL, "a network that is not one of images");
  if (status == EP_OK) status = images_build(images, error);
  if (status != EP_OK) {
    ep_images_network_destroy(images);
    return status;
  }
  *out = images;
  return EP_OK;
}

void ep_images_network_destroy(ep_images_network *images) {
  if (!images) return;
  for (int i = 0; images->layers && i < images->parts.count; i++)
    for (int way = 0; way < EP_IMAGES_WAYS; way++)
      for (int kind = 0; kind < 2; kind++)
        ep_convolution_deinit(&images->layers[i].ways[way][kind]);
  free(images->layers);
  free(images->parts.rows);
  free(images);
}
