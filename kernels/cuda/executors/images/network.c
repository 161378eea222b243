#include "kernels/cuda/executors/images/network.h"

#include <stdlib.h>

#include "kernels/cuda/network/layout.h"
#include "kernels/cuda/network/side.h"
#include "kernels/formulas/activations.h"
#include "kernels/operators/operator.h"

/* --- memory ---------------------------------------------------------------------------------- */

/* cuDNN is slow with few channels: the first convolution of such is one of a single pixel, on
 * windows that are laid out before. In three parts the channels are three times as many. */
static bool is_patched(const ep_images_network *images) {
  if (images->splits) return false;
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
  if (i == 0 && is_patched(images)) return ep_images_across(images, ep_images_window(op));
  return ep_images_across(images, op->in.channels) * op->kernel[0] * op->kernel[1];
}

/* Where cuDNN is slower: in parts, or with few channels. */
static bool is_summed(const ep_images_network *images, const ep_images_part *part) {
  const int64_t many = 64;
  if (images->half) return false;
  return images->splits || part->out.channels <= many || part->in.channels < many;
}

/* How the gradient by the weights comes about, but for where its numbers are. */
static ep_images_weight_sums sums_of(const ep_images_network *images, int i) {
  const ep_images_part *part = &images->parts.rows[i];
  const ep_op *op = part->own;
  const bool patched = i == 0 && images->patches;
  ep_images_weight_sums of = {.precise = images->splits,
                              .rows = images->network->program->batch_size,
                              .shared_bytes =
                                  ep_gpu_shared_bytes(images->network->backend->gpu.capability),
                              .outputs = part->out.channels,
                              .in = ep_images_read_shape(images, i),
                              .out = part->out};
  of.out.channels = ep_images_across(images, part->out.channels);
  for (int side = 0; side < 2; side++) {
    of.kernel[side] = patched ? 1 : op->kernel[side];
    of.stride[side] = patched ? 1 : op->stride[side];
    of.padding[side] = patched ? 0 : op->padding[side];
    of.dilation[side] = patched ? 1 : op->dilation[side];
  }
  of.slices = ep_images_weight_slices(&of, images->network->backend->gpu.multiprocessors);
  return of;
}

static ep_status layer_take(ep_images_network *images, int i, ep_error *error) {
  const ep_images_part *part = &images->parts.rows[i];
  ep_images_layer *layer = &images->layers[i];
  const int64_t batch = images->network->program->batch_size;
  const int64_t size = ep_images_number_bytes(images->half);
  const int64_t in_pitch = ep_images_across(images, part->in.channels);
  const bool convolves = part->kind == EP_IMAGES_CONVOLUTION;
  const bool finds = part->kind == EP_IMAGES_POOL && part->own->type == EP_LAYER_MAX_POOL2D;
  const bool skips = part->residual && part->past >= images->first_trained;
  const bool biased = part->kind == EP_IMAGES_BLEND && layer->trained && !part->norm;
  const bool direct = ep_images_norm_is_direct(images, part);
  const bool normed = direct && part->own->weight >= 0;
  const ep_cuda_layer *own =
      part->own ? &images->network->layers[part->own - images->network->program->ops] : NULL;
  const bool splits = convolves && images->splits, sums = convolves && is_summed(images, part);
  const int64_t outputs = ep_images_across(images, part->out.channels);
  const int64_t weights = convolves ? weights_of(images, i) : 0;
  const int64_t numbers = ep_images_numbers(images, part->out);
  if (sums) layer->sums = sums_of(images, i);
  if (biased)
    layer->bias_slices =
        ep_images_slices(images->half, in_pitch, batch * part->in.height * part->in.width);
  const ep_cuda_buffer buffers[] = {
      {&layer->output, batch, numbers, size},
      {&layer->weight, convolves ? outputs : 0, (splits ? EP_IMAGES_PARTS : 1) * weights, size},
      {&layer->back_weight, splits && i > images->first_trained ? EP_IMAGES_PARTS : 0,
       outputs * weights, size},
      {&layer->weight_gradient, layer->trained ? outputs * (sums ? layer->sums.slices : 1) : 0,
       weights, size},
      {&layer->chosen, part->pool && part->norm && !part->residual ? batch : 0, numbers, size},
      {&layer->figures, part->norm ? EP_IMAGES_FIGURES : 0, in_pitch, sizeof(float)},
      {&layer->bias_sums, layer->bias_slices, in_pitch, sizeof(float)},
      {&layer->skip, skips ? batch : 0, ep_images_numbers(images, part->in), size},
      {&layer->places, finds ? batch : 0, numbers, 1},
      {&layer->plain, part->kind == EP_IMAGES_LAYER_NORM && !direct ? batch : 0,
       ep_shape_count(part->in), sizeof(float)},
      {&layer->norm_weights, normed ? 2 : 0, ep_shape_count(part->in), sizeof(float)},
      {&layer->norm_gradient, normed && layer->trained ? own->slices : 0,
       2 * ep_shape_count(part->in), sizeof(float)},
  };
  return ep_cuda_memory_take_all(&images->network->memory, buffers,
                                 sizeof buffers / sizeof *buffers, error);
}

/* The most numbers of an image, and of a pixel, and those of what is taken for a while. */
typedef struct {
  int64_t numbers, pitch, plain, split_x, split_y;
} extent;

static int64_t greater(int64_t a, int64_t b) {
  return a > b ? a : b;
}

static extent extent_of(const ep_images_network *images) {
  extent most = {0, 0, 0, 0, 0};
  for (int i = 0; i < images->parts.count; i++) {
    const ep_images_part *part = &images->parts.rows[i];
    const ep_shape shapes[] = {part->in, part->out};
    for (int j = 0; j < 2; j++) {
      most.numbers = greater(most.numbers, ep_images_numbers(images, shapes[j]));
      most.pitch = greater(most.pitch, ep_images_across(images, shapes[j].channels));
    }
    if (part->kind == EP_IMAGES_LAYER_NORM && !ep_images_norm_is_direct(images, part))
      most.plain = greater(most.plain, ep_shape_count(part->in));
    if (!images->splits || part->kind != EP_IMAGES_CONVOLUTION) continue;
    most.split_x = greater(most.split_x, ep_images_numbers(images, part->in));
    most.split_y = greater(most.split_y, ep_images_numbers(images, part->out));
  }
  return most;
}

/* Whether the last part's output is what the shared network takes: one pixel without a gap. */
static bool is_flat(const ep_images_network *images) {
  const ep_shape last = images->parts.rows[images->parts.count - 1].out;
  return !images->head && !images->half && last.height * last.width == 1 &&
         ep_images_across(images, last.channels) == last.channels;
}

static ep_status memory_take(ep_images_network *images, ep_error *error) {
  const ep_program *program = images->network->program;
  const ep_shape last = images->parts.rows[images->parts.count - 1].out;
  const int64_t batch = program->batch_size, size = ep_images_number_bytes(images->half);
  const ep_shape first = images->parts.rows[0].out;
  const bool patched = is_patched(images);
  const int64_t window = patched ? weights_of(images, 0) : 0;
  images->in_pitch =
      patched ? (int64_t)EP_IMAGES_FEW : ep_images_across(images, program->in.channels);
  const extent most = extent_of(images);
  const bool beside = images->network->side.stream != NULL;
  const ep_cuda_buffer buffers[] = {
      {&images->input, batch, program->in.height * program->in.width * images->in_pitch, size},
      {&images->patches, window > 0 ? batch : 0, first.height * first.width * window, size},
      {&images->flat, is_flat(images) ? 0 : batch,
       images->head ? images->head->out_features : ep_shape_count(last), sizeof(float)},
      {&images->grads[0], batch, most.numbers, size},
      {&images->grads[1], batch, most.numbers, size},
      {&images->grads[2], beside ? batch : 0, most.numbers, size},
      {&images->sums, 2 * EP_IMAGES_SLICES, most.pitch, sizeof(float)},
      {&images->plain, batch, most.plain, sizeof(float)},
      {&images->split_x, batch * EP_IMAGES_PARTS, most.split_x, sizeof(float)},
      {&images->split_y, batch * EP_IMAGES_PARTS, most.split_y, sizeof(float)},
      {&images->workspace, 1, EP_CONVOLUTION_WORKSPACE_BYTES, 1},
      {&images->weights_workspace, beside ? 1 : 0, EP_CONVOLUTION_WORKSPACE_BYTES, 1},
  };
  ep_status status = ep_cuda_memory_take_all(&images->network->memory, buffers,
                                             sizeof buffers / sizeof *buffers, error);
  for (int i = 0; status == EP_OK && i < images->parts.count; i++)
    status = layer_take(images, i, error);
  if (is_flat(images)) images->flat = images->layers[images->parts.count - 1].output;
  return status;
}

/* --- parts ----------------------------------------------------------------------------------- */

/* Whether an op, or none, has parameters that are not frozen. */
static bool trains(const ep_images_network *images, const ep_op *op) {
  return op && images->network->layers[op - images->network->program->ops].trained;
}

/* Which are trained, and where the gradients lie: a part's way back leaves them in the next place,
 * but for a dropout's and that of a norm of the images as they lie. */
static void layers_decide(ep_images_network *images) {
  const ep_images_parts *parts = &images->parts;
  images->first_trained = parts->count;
  const int places = images->network->side.stream ? EP_IMAGES_GRADS : 2;
  int grad = 0;
  for (int i = parts->count - 1; i >= 0; i--) {
    const ep_images_part *part = &parts->rows[i];
    ep_images_layer *layer = &images->layers[i];
    layer->grad = grad;
    if (part->kind != EP_IMAGES_DROPOUT && !ep_images_norm_is_direct(images, part))
      grad = (grad + 1) % places;
    layer->grad_x = grad;
    layer->trained = part->kind == EP_IMAGES_BLEND
                         ? trains(images, part->biased) || trains(images, part->norm)
                         : trains(images, part->own);
    if (layer->trained) images->first_trained = i;
  }
}

/* flatten, then a linear layer of few outputs, which nothing goes past, and without an activation,
 * which the shared network would expect of it. Its products are not float32's. */
static const ep_op *head_find(const ep_images_network *images) {
  const ep_program *program = images->network->program;
  const int linear = images->parts.tail + 1;
  if (images->splits) return NULL;
  if (linear >= program->ops_count || program->ops[linear].type != EP_LAYER_LINEAR ||
      program->ops[linear].out_features > EP_CUDA_THIN_LINEAR_OUTPUTS)
    return NULL;
  if (linear + 1 < program->ops_count && ep_activation_is(program->ops[linear + 1].type))
    return NULL;
  for (int i = linear + 1; i < program->ops_count; i++)
    if (program->ops[i].type == EP_LAYER_ADD) return NULL;
  return &program->ops[linear];
}

static ep_status head_take(ep_images_network *images, ep_error *error) {
  const ep_shape last = images->parts.rows[images->parts.count - 1].out;
  const int64_t outputs = images->head->out_features, row = ep_images_numbers(images, last);
  const bool trained = trains(images, images->head);
  images->head_slices = ep_cuda_thin_linear_slices(images->network->program->batch_size, row);
  const ep_cuda_buffer buffers[] = {
      {&images->head_weight, outputs, row, sizeof(float)},
      {&images->head_gradient, trained ? images->head_slices : 0, outputs * row, sizeof(float)},
      {&images->head_bias_gradient, trained ? images->head_slices : 0, outputs, sizeof(float)},
  };
  return ep_cuda_memory_take_all(&images->network->memory, buffers,
                                 sizeof buffers / sizeof *buffers, error);
}

/* --- convolutions ---------------------------------------------------------------------------- */

static ep_status way_make(ep_images_network *images, int i, ep_convolution_way way, int kind,
                          int64_t rows, ep_error *error) {
  const ep_images_part *part = &images->parts.rows[i];
  ep_images_layer *layer = &images->layers[i];
  const ep_op *op = part->own;
  const bool forward = way == EP_CONVOLUTION_FORWARD, back = way == EP_CONVOLUTION_BACK;
  const bool patched = i == 0 && images->patches;
  ep_convolution_shape shape = {.way = way,
                                .half = images->half,
                                .in = ep_images_read_shape(images, i),
                                .out = part->out,
                                .rows = rows};
  shape.out.channels = ep_images_across(images, part->out.channels);
  for (int side = 0; side < 2; side++) {
    shape.kernel[side] = patched ? 1 : op->kernel[side];
    shape.stride[side] = patched ? 1 : op->stride[side];
    shape.padding[side] = patched ? 0 : op->padding[side];
    shape.dilation[side] = patched ? 1 : op->dilation[side];
  }
  const void *x = patched ? images->patches : ep_images_output(images, i - 1);
  const void *w = way == EP_CONVOLUTION_WEIGHTS ? layer->weight_gradient : layer->weight;
  const void *y = forward ? layer->output : images->grads[layer->grad];
  if (back) x = images->grads[layer->grad_x];
  if (images->splits) { /* the depth of the product has three parts */
    if (forward) shape.in.channels *= EP_IMAGES_PARTS;
    if (back) shape.out.channels *= EP_IMAGES_PARTS;
    if (forward) x = images->split_x;
    if (back) y = images->split_y;
    if (back) w = layer->back_weight;
  }
  const bool beside = way == EP_CONVOLUTION_WEIGHTS && images->network->side.stream;
  return ep_convolution_init(
      images->network->backend, beside ? images->network->side.stream : images->network->stream,
      &shape, x, w, y, beside ? images->weights_workspace : images->workspace,
      &layer->ways[way][kind], error);
}

static ep_status convolution_make(ep_images_network *images, int i, int kind, int64_t rows,
                                  ep_error *error) {
  ep_status status = way_make(images, i, EP_CONVOLUTION_FORWARD, kind, rows, error);
  if (status == EP_OK && images->layers[i].trained && images->layers[i].sums.slices == 0)
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
  const int64_t taps = (int64_t)op->kernel[0] * op->kernel[1], row = weights_of(images, i);
  const int64_t across = ep_images_across(images, op->in.channels);
  const bool patched = i == 0 && images->patches;
  const int64_t pitch = patched ? op->in.channels : across;
  const int64_t outputs = ep_images_across(images, op->out.channels);
  const int64_t parts = images->splits ? EP_IMAGES_PARTS : 1;
  const int64_t part = images->splits ? across : 0;
  return (ep_images_weight){
      .out = op->out.channels,
      .in = op->in.channels / op->groups,
      .taps = taps,
      .group_outputs = op->out.channels / op->groups,
      .slices = layer->sums.slices,
      .half = images->half,
      .single = taps > EP_IMAGES_WEIGHT_TAPS,
      .parameters = network->parameters + op->weight,
      .copy = {layer->weight, parts * row, patched ? pitch : parts * pitch, part},
      .back_copy = {layer->back_weight, row, pitch, outputs * row},
      .copy_gradient = {layer->weight_gradient, row, pitch, op->out.channels * row},
      .gradient = network->layers[op - network->program->ops].gradient};
}

/* The bias of a blend, whose gradient is summed up as a weight's is, and which needs no copy. */
static ep_images_weight bias_of(const ep_images_network *images, int i) {
  const ep_images_part *part = &images->parts.rows[i];
  const ep_images_layer *layer = &images->layers[i];
  const ep_cuda_network *network = images->network;
  const int64_t pitch = ep_images_across(images, part->in.channels);
  return (ep_images_weight){.out = part->in.channels,
                            .in = 1,
                            .taps = 1,
                            .group_outputs = part->in.channels,
                            .slices = layer->bias_slices,
                            .single = true,
                            .copy_gradient = {layer->bias_sums, 1, 1, pitch},
                            .gradient =
                                network->layers[part->biased - network->program->ops].gradient +
                                ep_op_own_weights(part->biased)};
}

/* A layer_norm's weight and the bias behind it, each a number for each channel of each pixel. */
static ep_images_weight norm_weights_of(const ep_images_network *images, int i) {
  const ep_images_part *part = &images->parts.rows[i];
  const ep_images_layer *layer = &images->layers[i];
  const ep_cuda_network *network = images->network;
  const ep_cuda_layer *own = &network->layers[part->own - network->program->ops];
  const int64_t features = ep_shape_count(part->in), channels = part->in.channels;
  return (ep_images_weight){
      .out = 2,
      .in = channels,
      .taps = part->in.height * part->in.width,
      .group_outputs = 2,
      .slices = own->slices,
      .single = true,
      .parameters = network->parameters + part->own->weight,
      .copy = {layer->norm_weights, features, channels, 0},
      .copy_gradient = {layer->norm_gradient, features, channels, 2 * features},
      .gradient = own->gradient};
}

/* The head's weight, and its bias, which needs no copy. */
static void head_weights(const ep_images_network *images,
                         ep_images_weight rows[EP_IMAGES_HEAD_WEIGHTS]) {
  const ep_op *op = images->head;
  const ep_cuda_network *network = images->network;
  const ep_cuda_layer *layer = &network->layers[op - network->program->ops];
  const ep_shape last = images->parts.rows[images->parts.count - 1].out;
  const int64_t row = ep_images_numbers(images, last), weights = ep_op_own_weights(op);
  const int64_t pitch = ep_images_across(images, last.channels);
  rows[0] = (ep_images_weight){
      .out = op->out_features,
      .in = last.channels,
      .taps = last.height * last.width,
      .group_outputs = op->out_features,
      .slices = images->head_slices,
      .single = true,
      .parameters = network->parameters + op->weight,
      .copy = {images->head_weight, row, pitch, 0},
      .copy_gradient = {images->head_gradient, row, pitch, op->out_features * row},
      .gradient = layer->gradient};
  rows[1] =
      (ep_images_weight){.out = op->bias >= 0 ? op->out_features : 0,
                         .in = 1,
                         .taps = 1,
                         .group_outputs = op->out_features,
                         .slices = images->head_slices,
                         .single = true,
                         .copy_gradient = {images->head_bias_gradient, 1, 1, op->out_features},
                         .gradient = layer->thin && layer->gradient ? layer->gradient + weights
                                                                    : layer->bias_gradient};
}

static ep_status weights_list(ep_images_network *images, ep_error *error) {
  const size_t most = (size_t)images->parts.count + EP_IMAGES_HEAD_WEIGHTS;
  ep_images_weight *rows = calloc(most, sizeof *rows);
  if (!rows) return ep_fail(error, EP_NO_MEMORY, "no memory for the list of weights");
  int count = 0;
  for (int i = 0; i < images->parts.count; i++) {
    if (images->parts.rows[i].kind == EP_IMAGES_CONVOLUTION) rows[count++] = weight_of(images, i);
    if (images->layers[i].bias_sums) rows[count++] = bias_of(images, i);
    if (images->layers[i].norm_weights) rows[count++] = norm_weights_of(images, i);
  }
  if (images->head) {
    head_weights(images, &rows[count]);
    count += EP_IMAGES_HEAD_WEIGHTS;
  }
  images->weights.count = count;
  ep_images_weights_share(rows, &images->weights);
  ep_status status = ep_cuda_memory_take_copy(&images->network->memory, &images->weights.rows, rows,
                                              count, sizeof *rows, error);
  free(rows);
  return status;
}

/* --- create, destroy ------------------------------------------------------------------------- */

/* All but the convolutions. */
static ep_status layers_take(ep_images_network *images, ep_error *error) {
  layers_decide(images);
  images->head = head_find(images);
  ep_status status = memory_take(images, error);
  if (status == EP_OK && images->head) status = head_take(images, error);
  return status == EP_OK ? weights_list(images, error) : status;
}

/* With a second stream, or, where memory is short, without. */
static ep_status images_build(ep_images_network *images, ep_error *error) {
  ep_cuda_network *network = images->network;
  const ep_cuda_memory before = network->memory;
  ep_status status = ep_cuda_side_enable(network, error);
  if (status == EP_OK) status = layers_take(images, error);
  if (status == EP_NO_MEMORY && network->side.stream) {
    ep_cuda_side_deinit(&network->side);
    ep_cuda_memory_give_back(&network->memory, &before);
    images->grads[2] = images->weights_workspace = NULL;
    status = layers_take(images, error);
  }
  return status == EP_OK ? convolutions_make(images, error) : status;
}

ep_status ep_images_network_create(ep_cuda_network *network, ep_images_network **out,
                                   ep_error *error) {
  const ep_program *program = network->program;
  const size_t most = 2 * (size_t)program->ops_count;
  *out = NULL;
  ep_images_network *images = calloc(1, sizeof *images);
  if (!images) return ep_fail(error, EP_NO_MEMORY, "no memory for an instance");
  images->network = network;
  images->half = program->precision == EP_PRECISION_BF16;
  images->splits = program->precision == EP_PRECISION_FP32;
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
