/* step.c: what one step queues. */
#include "kernels/cuda/executors/images/network.h"
#include "kernels/cuda/network/layout.h"
#include "kernels/cuda/network/side.h"

/* Where a step stands. */
typedef struct {
  ep_images_network *images;
  int64_t rows;
  int kind; /* of its convolutions: 0 for a full batch, 1 for an epoch's last */
} pass;

static cudaStream_t stream_of(const pass *p) {
  return p->images->network->stream;
}

static int64_t pixels_of(const pass *p, ep_shape shape) {
  return p->rows * shape.height * shape.width;
}

static ep_cuda_layer *layer_of(const pass *p, const ep_op *op) {
  const ep_cuda_network *network = p->images->network;
  return &network->layers[op - network->program->ops];
}

/* What convolution i reads, forward. */
static const void *read_of(const pass *p, int i) {
  const ep_images_network *images = p->images;
  return i == 0 && images->patches ? images->patches : ep_images_output(images, i - 1);
}

/* The operand of a way that comes from images, in three parts. */
static ep_status operand_split(const pass *p, int i, ep_convolution_way way, ep_error *error) {
  const ep_images_network *images = p->images;
  const bool forward = way == EP_CONVOLUTION_FORWARD;
  ep_shape shape = images->parts.rows[i].out;
  shape.channels = ep_images_across(images, shape.channels);
  if (forward) shape = ep_images_read_shape(images, i);
  EP_CUDA_TRY(ep_images_split(stream_of(p), pixels_of(p, shape), shape.channels,
                              forward ? read_of(p, i) : images->grads[images->layers[i].grad],
                              forward ? images->split_x : images->split_y),
              "splitting numbers");
  return EP_OK;
}

/* Whether what stands next to convolution i, the layout of its windows or a blend, leaves that
 * operand in three parts, and nothing is added to it after that. */
static bool is_split_before(const ep_images_network *images, int i, ep_convolution_way way) {
  const ep_images_part *parts = images->parts.rows;
  if (!images->splits || parts[i].kind != EP_IMAGES_CONVOLUTION) return false;
  if (way == EP_CONVOLUTION_FORWARD) return i > 0 && parts[i - 1].kind == EP_IMAGES_BLEND;
  if (i <= images->first_trained || i + 1 == images->parts.count ||
      parts[i + 1].kind != EP_IMAGES_BLEND)
    return false;
  for (int j = i + 1; j < images->parts.count; j++)
    if (images->layers[j].skip && parts[j].past == i) return false;
  return true;
}

static ep_status convolve(const pass *p, int i, ep_convolution_way way, ep_error *error) {
  const ep_images_layer *layer = &p->images->layers[i];
  const bool splits = p->images->splits && !is_split_before(p->images, i, way);
  ep_status status = splits ? operand_split(p, i, way, error) : EP_OK;
  return status == EP_OK ? ep_convolution_run(&layer->ways[way][p->kind], error) : status;
}

/* The gradient by the weights. */
static ep_status weights_back(const pass *p, int i, ep_error *error) {
  const ep_images_network *images = p->images;
  const ep_images_layer *layer = &images->layers[i];
  if (layer->sums.slices == 0)
    return ep_convolution_run(&layer->ways[EP_CONVOLUTION_WEIGHTS][p->kind], error);
  ep_images_weight_sums sums = layer->sums;
  sums.rows = p->rows;
  sums.x = read_of(p, i);
  sums.grad = images->grads[layer->grad];
  sums.sums = layer->weight_gradient;
  EP_CUDA_TRY(ep_images_weight_sums_run(stream_of(p), &sums), "a convolution's weights");
  return EP_OK;
}

/* --- the batch ------------------------------------------------------------------------------- */

static ep_status batch_take(const pass *p, ep_error *error) {
  const ep_images_network *images = p->images;
  ep_cuda_network *network = images->network;
  const ep_shape in = network->program->in;
  if (network->gathers && network->resident) {
    ep_cuda_batch batch =
        ep_cuda_network_batch(network, network->train_x, network->train_y, NULL, true);
    batch.batch_pixels = images->input;
    batch.pixel_pitch = images->in_pitch;
    batch.pixels_half = images->half;
    EP_CUDA_TRY(ep_cuda_batch_take(network->stream, &batch, p->rows, network->clock), "a batch");
    return EP_OK;
  }
  const float *x = network->gathers ? network->input : network->train_x;
  EP_CUDA_TRY(ep_images_take(network->stream, images->half, p->rows, in.channels, images->in_pitch,
                             in.height * in.width, x, images->input),
              "a batch");
  return EP_OK;
}

/* --- forward --------------------------------------------------------------------------------- */

/* What both ways of a blend have in common. */
static ep_images_blend blend_of(const pass *p, int i) {
  const ep_images_network *images = p->images;
  const ep_images_part *part = &images->parts.rows[i];
  ep_images_blend blend = {.half = images->half,
                           .rows = p->rows,
                           .pitch = ep_images_across(images, part->in.channels),
                           .in = part->in,
                           .out = part->out,
                           .kernel = {1, 1},
                           .x = ep_images_output(images, i - 1),
                           .figures = images->layers[i].figures,
                           .y = images->layers[i].output,
                           .chosen = images->layers[i].chosen};
  if (part->residual) blend.past = ep_images_output(images, part->past);
  if (part->biased) blend.bias = ep_cuda_parameters_at(images->network, part->biased->bias);
  if (part->activation) {
    blend.activates = true;
    blend.activation = *part->activation;
  }
  for (int side = 0; part->pool && side < 2; side++) blend.kernel[side] = part->pool->kernel[side];
  return blend;
}

/* Of the sums over an image's pixels, as part i takes them. */
static int slices_of(const pass *p, int i, ep_shape shape) {
  const ep_images_network *images = p->images;
  const int64_t pitch = ep_images_across(images, images->parts.rows[i].in.channels);
  return ep_images_slices(images->half, pitch, pixels_of(p, shape));
}

static ep_images_norm norm_of(const pass *p, int i) {
  const ep_images_network *images = p->images;
  const ep_cuda_network *network = images->network;
  const ep_images_part *part = &images->parts.rows[i];
  ep_images_norm norm = {.half = images->half,
                         .pixels = pixels_of(p, part->in),
                         .channels = part->in.channels,
                         .pitch = ep_images_across(images, part->in.channels),
                         .x = ep_images_output(images, i - 1),
                         .sums = images->sums,
                         .figures = images->layers[i].figures,
                         .slices = slices_of(p, i, part->in)};
  if (part->biased) norm.x_bias = ep_cuda_parameters_at(network, part->biased->bias);
  norm.eps = part->norm->eps;
  norm.momentum = part->norm->momentum;
  norm.weight = ep_cuda_parameters_at(network, part->norm->weight);
  norm.bias = ep_cuda_parameters_at(network, part->norm->bias);
  norm.running = network->parameters + network->program->parameters + part->norm->running;
  return norm;
}

static ep_status blend_forward(const pass *p, int i, ep_error *error) {
  if (p->images->parts.rows[i].norm) {
    const ep_images_norm norm = norm_of(p, i);
    EP_CUDA_TRY(ep_images_norm_forward(stream_of(p), &norm), "a norm");
  }
  ep_images_blend blend = blend_of(p, i);
  if (i + 1 < p->images->parts.count && is_split_before(p->images, i + 1, EP_CONVOLUTION_FORWARD))
    blend.split = p->images->split_x;
  EP_CUDA_TRY(ep_images_blend_forward(stream_of(p), &blend), "what follows a convolution");
  return EP_OK;
}

/* By the shared network's kernel, in its order, or as the images lie. */
static ep_cuda_norm layer_norm_of(const pass *p, int i) {
  const ep_images_network *images = p->images;
  const ep_images_part *part = &images->parts.rows[i];
  const ep_images_layer *own = &images->layers[i];
  const ep_op *op = part->own;
  const ep_cuda_layer *layer = layer_of(p, op);
  if (ep_images_norm_is_direct(images, part))
    return (ep_cuda_norm){.op = *op,
                          .rows = p->rows,
                          .training = true,
                          .x = ep_images_output(images, i - 1),
                          .weight = own->norm_weights,
                          .bias = own->norm_weights ? own->norm_weights + ep_shape_count(part->in)
                                                    : NULL,
                          .y = own->output,
                          .saved = layer->saved,
                          .grad = images->grads[own->grad],
                          .gradient = own->norm_gradient,
                          .slices = layer->slices};
  return (ep_cuda_norm){.op = *op,
                        .rows = p->rows,
                        .training = true,
                        .x = images->layers[i].plain,
                        .weight = ep_cuda_parameters_at(images->network, op->weight),
                        .bias = ep_cuda_parameters_at(images->network, op->bias),
                        .y = images->plain,
                        .saved = layer->saved,
                        .grad = images->plain,
                        .gradient = layer->trained ? layer->gradient : NULL,
                        .slices = layer->slices};
}

/* Between the two orders, of what a layer_norm takes and leaves. */
static ep_status plain_take(const pass *p, ep_shape shape, float *from, void *to, ep_error *error) {
  const ep_images_network *images = p->images;
  EP_CUDA_TRY(ep_images_take(stream_of(p), images->half, p->rows, shape.channels,
                             ep_images_across(images, shape.channels), shape.height * shape.width,
                             from, to),
              "a norm's images");
  return EP_OK;
}

static ep_status plain_give(const pass *p, ep_shape shape, const void *from, float *to,
                            ep_error *error) {
  EP_CUDA_TRY(ep_images_give(stream_of(p), p->images->half, p->rows, shape.channels,
                             shape.height * shape.width, from, to),
              "a norm's images");
  return EP_OK;
}

static ep_status layer_norm_forward(const pass *p, int i, ep_error *error) {
  const ep_images_network *images = p->images;
  const ep_shape shape = images->parts.rows[i].in;
  const ep_cuda_norm norm = layer_norm_of(p, i);
  if (ep_images_norm_is_direct(images, &images->parts.rows[i])) {
    EP_CUDA_TRY(ep_cuda_layer_norm_forward(stream_of(p), &norm), "a norm");
    return EP_OK;
  }
  ep_status status =
      plain_give(p, shape, ep_images_output(images, i - 1), images->layers[i].plain, error);
  if (status != EP_OK) return status;
  EP_CUDA_TRY(ep_cuda_layer_norm_forward(stream_of(p), &norm), "a norm");
  return plain_take(p, shape, images->plain, images->layers[i].output, error);
}

static ep_status layer_norm_back(const pass *p, int i, ep_error *error) {
  const ep_images_network *images = p->images;
  const ep_shape shape = images->parts.rows[i].in;
  const int grad = images->layers[i].grad;
  const ep_cuda_norm norm = layer_norm_of(p, i);
  if (ep_images_norm_is_direct(images, &images->parts.rows[i])) {
    EP_CUDA_TRY(ep_cuda_layer_norm_backward(stream_of(p), &norm), "a norm, backward");
    return EP_OK;
  }
  ep_status status = plain_give(p, shape, images->grads[grad], images->plain, error);
  if (status != EP_OK) return status;
  EP_CUDA_TRY(ep_cuda_layer_norm_backward(stream_of(p), &norm), "a norm, backward");
  return plain_take(p, shape, images->plain, images->grads[images->layers[i].grad_x], error);
}

static ep_status part_forward(const pass *p, int i, ep_error *error) {
  const ep_images_network *images = p->images;
  const ep_images_part *part = &images->parts.rows[i];
  const ep_images_layer *layer = &images->layers[i];
  const void *x = ep_images_output(images, i - 1);
  switch (part->kind) {
  case EP_IMAGES_CONVOLUTION: return convolve(p, i, EP_CONVOLUTION_FORWARD, error);
  case EP_IMAGES_BLEND: return blend_forward(p, i, error);
  case EP_IMAGES_LAYER_NORM: return layer_norm_forward(p, i, error);
  case EP_IMAGES_POOL:
    EP_CUDA_TRY(ep_images_pool_forward(stream_of(p), images->half, part->own, p->rows, x,
                                       layer->output, layer->places),
                "a pool");
    return EP_OK;
  case EP_IMAGES_DROPOUT:
    EP_CUDA_TRY(ep_images_dropout(stream_of(p), images->half, part->own,
                                  images->network->slice_first, p->rows,
                                  images->network->program->seed, images->network->clock, false, x,
                                  layer->output),
                "a dropout");
    return EP_OK;
  }
  return EP_OK;
}

/* What both ways of the head have in common. */
static ep_cuda_thin_linear head_of(const pass *p) {
  const ep_images_network *images = p->images;
  const int last = images->parts.count - 1;
  const int64_t row = ep_images_numbers(images, images->parts.rows[last].out);
  return (ep_cuda_thin_linear){.half = images->half,
                               .slices = images->head_slices,
                               .rows = p->rows,
                               .in = row,
                               .out = images->head->out_features,
                               .pitch = row,
                               .weight = images->head_weight,
                               .x = images->layers[last].output};
}

/* --- back ------------------------------------------------------------------------------------ */

static ep_status norm_back(const pass *p, int i, ep_images_blend *blend, ep_error *error) {
  const ep_op *op = p->images->parts.rows[i].norm;
  ep_images_norm norm = norm_of(p, i);
  ep_images_blend sums = *blend;
  sums.grad_x = sums.grad_past = NULL;
  sums.sums = p->images->sums;
  if (blend->chosen) { /* the others' gradients are zero */
    sums.x = blend->chosen;
    sums.in = blend->out;
    sums.kernel[0] = sums.kernel[1] = 1;
  }
  sums.slices = norm.slices = slices_of(p, i, sums.in);
  EP_CUDA_TRY(ep_images_blend_back(stream_of(p), &sums), "a norm, backward");
  EP_CUDA_TRY(ep_images_norm_back(stream_of(p), &norm, layer_of(p, op)->gradient),
              "a norm, backward");
  blend->normalized = true;
  if (!blend->grad_x && !blend->grad_past) return EP_OK;
  EP_CUDA_TRY(ep_images_blend_back(stream_of(p), blend), "a norm, backward");
  return EP_OK;
}

/* The sums of a bias's gradient wait for ep_images_weights_back. */
static ep_status bias_back(const pass *p, int i, ep_images_blend *blend, ep_error *error) {
  const ep_images_layer *layer = &p->images->layers[i];
  blend->sums = layer->bias_sums;
  blend->slices = layer->bias_slices;
  if (!blend->sums && !blend->grad_x && !blend->grad_past) return EP_OK;
  EP_CUDA_TRY(ep_images_blend_back(stream_of(p), blend), "what follows a convolution, backward");
  return EP_OK;
}

static ep_status blend_back(const pass *p, int i, ep_error *error) {
  const ep_images_network *images = p->images;
  const ep_images_layer *layer = &images->layers[i];
  ep_images_blend blend = blend_of(p, i);
  blend.grad = images->grads[layer->grad];
  if (i > images->first_trained) blend.grad_x = images->grads[layer->grad_x];
  if (i > 0 && is_split_before(images, i - 1, EP_CONVOLUTION_BACK)) blend.split = images->split_y;
  blend.grad_past = layer->skip;
  return images->parts.rows[i].norm ? norm_back(p, i, &blend, error)
                                    : bias_back(p, i, &blend, error);
}

static ep_status convolution_back(const pass *p, int i, ep_error *error) {
  const ep_images_network *images = p->images;
  const ep_images_layer *layer = &images->layers[i];
  ep_cuda_network *network = images->network;
  ep_status status = ep_cuda_side_join(network, error); /* one of the gradients is read there */
  if (status == EP_OK && layer->trained) {
    status = ep_cuda_side_begin(network, layer->grad, error);
    if (status != EP_OK) return status;
    status = ep_cuda_side_end(network, weights_back(p, i, error), error);
  }
  if (status == EP_OK && i > images->first_trained)
    status = convolve(p, i, EP_CONVOLUTION_BACK, error);
  return status;
}

static ep_status part_back(const pass *p, int i, ep_error *error) {
  const ep_images_network *images = p->images;
  const ep_images_part *part = &images->parts.rows[i];
  const ep_images_layer *layer = &images->layers[i];
  ep_cuda_network *network = images->network;
  void *grad = images->grads[layer->grad], *other = images->grads[layer->grad_x];
  ep_status status =
      network->side.reads == layer->grad_x ? ep_cuda_side_join(network, error) : EP_OK;
  if (status != EP_OK) return status;
  switch (part->kind) {
  case EP_IMAGES_CONVOLUTION: return convolution_back(p, i, error);
  case EP_IMAGES_BLEND: return blend_back(p, i, error);
  case EP_IMAGES_LAYER_NORM: return layer_norm_back(p, i, error);
  case EP_IMAGES_POOL:
    EP_CUDA_TRY(ep_images_pool_back(stream_of(p), images->half, part->own, p->rows, grad,
                                    layer->places, other),
                "a pool, backward");
    return EP_OK;
  case EP_IMAGES_DROPOUT:
    EP_CUDA_TRY(ep_images_dropout(stream_of(p), images->half, part->own, network->slice_first,
                                  p->rows, network->program->seed, network->clock, true, grad,
                                  grad),
                "a dropout, backward");
    return EP_OK;
  }
  return EP_OK;
}

/* Adds what came past later parts to the gradient by the output of part i. */
static ep_status skips_add(const pass *p, int i, ep_error *error) {
  const ep_images_network *images = p->images;
  for (int j = images->parts.count - 1; i >= 0 && j > i; j--) {
    const ep_images_part *part = &images->parts.rows[j];
    if (!images->layers[j].skip || part->past != i) continue;
    EP_CUDA_TRY(ep_images_add(stream_of(p), images->half,
                              p->rows * ep_images_numbers(images, part->in), images->layers[j].skip,
                              images->grads[images->layers[i].grad]),
                "a residual, backward");
  }
  return EP_OK;
}

static ep_status head_back(const pass *p, const float *grad, ep_error *error) {
  const ep_images_network *images = p->images;
  const int last = images->parts.count - 1;
  ep_cuda_thin_linear thin = head_of(p);
  thin.grad = grad;
  thin.gradient = images->head_gradient;
  thin.bias_sums = images->head->bias >= 0 ? images->head_bias_gradient : NULL;
  if (images->first_trained <= last) thin.grad_x = images->grads[images->layers[last].grad];
  EP_CUDA_TRY(ep_cuda_thin_linear_backward(stream_of(p), &thin), "a linear layer, backward");
  return EP_OK;
}

/* grad: device [rows, features], by what the last part left. */
static ep_status flat_back(const pass *p, const float *grad, ep_error *error) {
  const ep_images_network *images = p->images;
  const int last = images->parts.count - 1;
  const ep_shape out = images->parts.rows[last].out;
  EP_CUDA_TRY(ep_images_take(stream_of(p), images->half, p->rows, out.channels,
                             ep_images_across(images, out.channels), out.height * out.width, grad,
                             images->grads[images->layers[last].grad]),
              "a gradient");
  return EP_OK;
}

/* grad: device, by what the shared network went on from. */
static ep_status parts_back(const pass *p, const float *grad, ep_error *error) {
  const ep_images_network *images = p->images;
  const int last = images->parts.count - 1;
  const bool goes_on = images->first_trained <= last;
  ep_status status = EP_OK;
  if (images->head && (goes_on || images->head_gradient)) /* else the gradient ended before it */
    status = head_back(p, grad, error);
  else if (goes_on)
    status = flat_back(p, grad, error);
  for (int i = last; i >= images->first_trained && status == EP_OK; i--) {
    status = part_back(p, i, error);
    if (status == EP_OK && i > images->first_trained) status = skips_add(p, i - 1, error);
  }
  if (status == EP_OK) status = ep_cuda_side_join(images->network, error);
  if (status != EP_OK) return status;
  EP_CUDA_TRY(ep_images_weights_back(stream_of(p), &images->weights), "the weights' gradient");
  return EP_OK;
}

/* --- the step -------------------------------------------------------------------------------- */

static ep_status forward(const pass *p, ep_error *error) {
  ep_images_network *images = p->images;
  const int last = images->parts.count - 1;
  const ep_shape out = images->parts.rows[last].out;
  EP_CUDA_TRY(ep_images_weights_copy(stream_of(p), &images->weights), "the weights");
  if (images->patches)
    EP_CUDA_TRY(ep_images_patches(stream_of(p), images->half, images->parts.rows[0].own, p->rows,
                                  images->input, images->patches),
                "the windows of a convolution");
  ep_status status = EP_OK;
  for (int i = 0; i <= last && status == EP_OK; i++) status = part_forward(p, i, error);
  if (status != EP_OK) return status;
  if (images->head) {
    const ep_cuda_thin_linear thin = head_of(p);
    const float *bias = ep_cuda_parameters_at(images->network, images->head->bias);
    EP_CUDA_TRY(ep_cuda_thin_linear_forward(stream_of(p), &thin, bias, images->flat),
                "a linear layer");
    return EP_OK;
  }
  if (images->flat == images->layers[last].output) return EP_OK;
  EP_CUDA_TRY(ep_images_give(stream_of(p), images->half, p->rows, out.channels,
                             out.height * out.width, images->layers[last].output, images->flat),
              "the images' features");
  return EP_OK;
}

ep_status ep_images_gradients_queue(ep_images_network *images, int64_t rows, ep_error *error) {
  ep_cuda_network *network = images->network;
  const pass p = {images, rows, rows < network->program->batch_size};
  const void *y = network->gathers ? network->batch_y : network->train_y;
  const int tail = ep_images_tail(images);
  const float *output = NULL, *grad = NULL;
  ep_status status = batch_take(&p, error);
  if (status == EP_OK) status = forward(&p, error);
  if (status == EP_OK)
    status = ep_cuda_network_forward_from(network, tail, images->flat, rows, true, &output, error);
  if (status == EP_OK) status = ep_cuda_network_loss(network, output, y, rows, error);
  if (status == EP_OK)
    status = ep_cuda_network_backward_to(network, tail, images->flat, rows, &grad, error);
  return status == EP_OK ? parts_back(&p, grad, error) : status;
}
