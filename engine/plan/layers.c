/* layers.c: from layers to ops: shapes from front to back, parameters one after the other.
 * Formulas of the shapes are torch.nn's. */
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "api/limits.h"
#include "engine/plan/parts.h"
#include "kernels/operators/operator.h"

/* Where the walk through the layers stands. */
typedef struct {
  const ep_job_spec *spec;
  ep_plan *plan;
  ep_problem *problem;
  ep_shape shape;                      /* of what the next layer gets */
  bool image;                          /* its rows are images, not vectors */
  int ops, layer;                      /* so many are done; the number of the next */
  char pointer[EP_POINTER_BYTES];      /* of the layer at hand: "/model/layers/4/layers/0" */
  char name[EP_LIMIT_NAME_BYTES];      /* its name: "4.0" */
  char last_name[EP_LIMIT_NAME_BYTES]; /* that of the layer before; "" = the data */
  bool frozen;
} walk;

int ep_layers_total(const ep_layer_spec *layers, int count) {
  int total = 0;
  for (int i = 0; i < count; i++)
    total += 1 + ep_layers_total(layers[i].layers, layers[i].layers_count);
  return total;
}

const char *ep_shape_format(ep_shape shape, bool image, char text[EP_SHAPE_BYTES]) {
  if (image)
    snprintf(text, EP_SHAPE_BYTES, "[%lld, %lld, %lld]", (long long)shape.channels,
             (long long)shape.height, (long long)shape.width);
  else
    snprintf(text, EP_SHAPE_BYTES, "[%lld]", (long long)ep_shape_count(shape));
  return text;
}

/* Adds an error at a field of the layer at hand ("" = the layer itself). Always false. */
static bool __attribute__((format(printf, 3, 4)))
refuse(walk *w, const char *field, const char *format, ...) {
  char pointer[EP_POINTER_BYTES + 32], detail[EP_MESSAGE_BYTES];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(detail, sizeof detail, format, arguments);
  va_end(arguments);
  snprintf(pointer, sizeof pointer, "%s%s%s", w->pointer, field[0] ? "/" : "", field);
  ep_problem_add(w->problem, EP_INVALID, pointer, "%s", detail);
  return false;
}

static const char *shape_text(const walk *w, char text[EP_SHAPE_BYTES]) {
  return ep_shape_format(w->shape, w->image, text);
}

static bool needs_image(walk *w, const ep_layer_spec *layer) {
  char text[EP_SHAPE_BYTES];
  const char *type = ep_layer_type_name(layer->type);
  if (w->image) return true;
  if (w->layer == 0) return refuse(w, "", "%s requires images [C, H, W]: set data.shape", type);
  return refuse(w, "", "%s requires images [C, H, W], its input is %s", type, shape_text(w, text));
}

static bool needs_vector(walk *w) {
  char text[EP_SHAPE_BYTES];
  return !w->image || refuse(w, "", "insert a flatten layer before layer %s, whose input is %s",
                             w->name, shape_text(w, text));
}

/* Neighbours that are treated alike become one range. */
static void group_add(walk *w, int64_t first, int64_t count, bool decays) {
  const ep_optimizer_spec *optimizer = &w->spec->optimizer;
  float decay = decays || optimizer->decay_all ? (float)optimizer->weight_decay : 0;
  int groups = w->plan->program.groups_count;
  ep_parameter_group *last = groups ? &w->plan->groups[groups - 1] : NULL;
  if (last && last->weight_decay == decay && last->frozen == w->frozen) {
    last->count = ep_add_saturated(last->count, count);
    return;
  }
  w->plan->groups[groups] = (ep_parameter_group){first, count, decay, w->frozen};
  w->plan->program.groups_count++;
}

/* The next `count` parameters; returns the offset of the first. */
static int64_t range_take(walk *w, int64_t count, bool decays) {
  int64_t first = w->plan->parameters;
  group_add(w, first, count, decays);
  w->plan->parameters = ep_add_saturated(first, count);
  return first;
}

/* A number of inputs that was given must be what comes in. Wrong, it is no reason to stop: the
 * layer's own output does not depend on it. */
static void inputs_check(walk *w, const char *field, const char *noun, int64_t given,
                         int64_t there) {
  if (given == 0 || given == there) return;
  if (w->last_name[0])
    refuse(w, field, "layer %s expects %lld %s, layer %s outputs %lld", w->name, (long long)given,
           noun, w->last_name, (long long)there);
  else
    refuse(w, field, "layer %s expects %lld %s, the data has %lld%s", w->name, (long long)given,
           noun, (long long)there, w->image ? "" : " columns");
}

static bool linear_lower(walk *w, const ep_layer_spec *layer, ep_op *op) {
  if (!needs_vector(w)) return false;
  inputs_check(w, "in_features", "inputs", layer->in_features, op->in_features);
  op->out = (ep_shape){layer->out_features, 1, 1};
  op->out_features = layer->out_features;
  return true;
}

/* Windows that fit along one side: floor((side + 2 padding - span) / stride) + 1. */
static int64_t windows(int64_t side, int64_t span, int padding, int stride) {
  assert(stride > 0);
  return (side + 2 * (int64_t)padding - span) / stride + 1;
}

/* The op's window, and the height and width that it makes; `span`: of the window with its gaps. */
static bool window_lower(walk *w, const ep_layer_spec *layer, ep_op *op, int64_t span[2]) {
  const int64_t sides[2] = {w->shape.height, w->shape.width};
  bool dilates = layer->type != EP_LAYER_AVG_POOL2D, fits = true;
  for (int i = 0; i < 2; i++) {
    op->kernel[i] = layer->kernel_size[i];
    op->stride[i] = layer->stride[i];
    op->padding[i] = layer->padding[i];
    op->dilation[i] = dilates ? layer->dilation[i] : 1;
    span[i] = (int64_t)op->dilation[i] * (op->kernel[i] - 1) + 1;
    fits = fits && span[i] <= sides[i] + 2 * (int64_t)op->padding[i];
  }
  if (!fits)
    return refuse(w, "kernel_size", "kernel %lldx%lld does not fit in its input %lldx%lld%s",
                  (long long)span[0], (long long)span[1],
                  (long long)(sides[0] + 2 * op->padding[0]),
                  (long long)(sides[1] + 2 * op->padding[1]),
                  op->padding[0] || op->padding[1] ? ", padding included" : "");
  op->out.height = windows(sides[0], span[0], op->padding[0], op->stride[0]);
  op->out.width = windows(sides[1], span[1], op->padding[1], op->stride[1]);
  return true;
}

static bool conv2d_lower(walk *w, const ep_layer_spec *layer, ep_op *op) {
  int64_t span[2];
  if (!needs_image(w, layer)) return false;
  int64_t in = w->shape.channels, out = layer->out_channels, groups = layer->groups;
  assert(groups > 0);
  inputs_check(w, "in_channels", "channels", layer->in_channels, in);
  if (in % groups || out % groups)
    return refuse(w, "groups",
                  "%lld groups: the input channels, %lld, and the output channels, %lld, must both "
                  "be a multiple",
                  (long long)groups, (long long)in, (long long)out);
  if (!window_lower(w, layer, op, span)) return false;
  op->groups = groups;
  op->out.channels = out;
  return true;
}

static bool pool_lower(walk *w, const ep_layer_spec *layer, ep_op *op) {
  int64_t span[2];
  if (!needs_image(w, layer) || !window_lower(w, layer, op, span)) return false;
  for (int i = 0; i < 2; i++)
    if (op->padding[i] > span[i] / 2)
      return refuse(w, "padding", "%d is more than half of the window, %lld", op->padding[i],
                    (long long)span[i]);
  return true;
}

static bool adaptive_lower(walk *w, const ep_layer_spec *layer, ep_op *op) {
  if (!needs_image(w, layer)) return false;
  op->out.height = layer->output_size[0];
  op->out.width = layer->output_size[1];
  return true;
}

/* The variance of one row is no variance. */
static void batch_norm_rows_check(walk *w, bool sync) {
  const ep_parallel *parallel = &w->plan->program.parallel;
  int64_t rows = w->plan->program.batch_size, left = w->plan->shape.train_rows % rows;
  bool ranks = ep_program_ranks(&w->plan->program) > 1;
  bool each = ep_plan_piece_rows_least(parallel, rows, sync) == 1;
  bool last = left > 0 && ep_plan_piece_rows_least(parallel, left, sync) == 1;
  if (!each && !last) return;
  if (!ranks || rows == 1 || (!each && left == 1))
    ep_problem_add(w->problem, EP_INVALID, "/batch_size",
                   "layer %s, batch_norm, needs at least 2 rows in a batch: %s has 1", w->name,
                   each ? "each" : "the last of an epoch");
  else
    ep_problem_add(
        w->problem, EP_INVALID,
        parallel->micro_batches > 1 ? "/parallel/micro_batches" : "/parallel/data",
        "layer %s, batch_norm, needs at least 2 rows in a micro-batch, and one has 1: of the "
        "%lld rows of %s, with %d replicas and %d micro-batches",
        w->name, (long long)(each ? rows : left), each ? "a batch" : "the last batch of an epoch",
        parallel->data, parallel->micro_batches);
}

static bool norm_lower(walk *w, const ep_layer_spec *layer, ep_op *op) {
  op->eps = (float)layer->eps;
  if (layer->type != EP_LAYER_BATCH_NORM) return true;
  op->momentum = (float)layer->momentum;
  op->sync = layer->sync;
  if (ep_shape_count(w->shape) == w->shape.channels) batch_norm_rows_check(w, op->sync);
  return true;
}

static bool embedding_lower(walk *w, const ep_layer_spec *layer, ep_op *op) {
  const ep_data_shape *data = &w->plan->shape;
  int64_t greatest = layer->num_embeddings - 1;
  if (w->layer != 0)
    return refuse(w, "",
                  "embedding must be the first layer: its input is the data's whole numbers");
  if (w->image) return refuse(w, "", "embedding requires columns, the data has images");
  if (!data->x_integer)
    refuse(w, "", "embedding requires whole numbers of at least 0: x contains others");
  else if (data->x_min < 0 || data->x_max > (double)greatest)
    refuse(w, "num_embeddings",
           "%lld embeddings cover whole numbers from 0 to %lld, x ranges from %g to %g",
           (long long)layer->num_embeddings, (long long)greatest, data->x_min, data->x_max);
  op->embeddings = layer->num_embeddings;
  op->out = (ep_shape){ep_multiply_saturated(op->in_features, layer->embedding_dim), 1, 1};
  op->out_features = op->out.channels;
  return true;
}

/* Gives the op its parameters and buffers. */
static void parameters_take(walk *w, const ep_layer_spec *layer, ep_op *op) {
  const ep_operator *row = ep_operator_of(op->type);
  int64_t weights = ep_op_weights(op), biases = ep_op_biases(op);
  bool random = row->start == EP_START_RANDOM;
  if (weights > 0 && (random || layer->affine)) op->weight = range_take(w, weights, random);
  if (biases > 0 && (random ? layer->bias : layer->affine)) op->bias = range_take(w, biases, false);
  if (row->running) op->running = w->plan->program.buffers;
  w->plan->program.buffers += ep_op_buffers(op);
}

/* Shape and figures of any layer but a residual. */
static bool op_lower(walk *w, const ep_layer_spec *layer, ep_op *op) {
  switch (layer->type) {
  case EP_LAYER_LINEAR: return linear_lower(w, layer, op);
  case EP_LAYER_CONV2D: return conv2d_lower(w, layer, op);
  case EP_LAYER_MAX_POOL2D:
  case EP_LAYER_AVG_POOL2D: return pool_lower(w, layer, op);
  case EP_LAYER_ADAPTIVE_AVG_POOL2D: return adaptive_lower(w, layer, op);
  case EP_LAYER_BATCH_NORM:
  case EP_LAYER_LAYER_NORM: return norm_lower(w, layer, op);
  case EP_LAYER_EMBEDDING: return embedding_lower(w, layer, op);
  case EP_LAYER_SOFTMAX:
  case EP_LAYER_LOG_SOFTMAX: return needs_vector(w);
  case EP_LAYER_DROPOUT: op->p = (float)layer->p; return true;
  case EP_LAYER_DROPOUT2D: op->p = (float)layer->p; return needs_image(w, layer);
  case EP_LAYER_FLATTEN: op->out = (ep_shape){op->in_features, 1, 1}; return true;
  case EP_LAYER_LEAKY_RELU: op->negative_slope = (float)layer->negative_slope; return true;
  case EP_LAYER_ELU: op->alpha = (float)layer->alpha; return true;
  case EP_LAYER_SOFTPLUS:
    op->beta = (float)layer->beta;
    op->threshold = (float)layer->threshold;
    return true;
  default: return true;
  }
}

/* An op that leaves everything as it is, at the walk's place. */
static ep_op op_make(const walk *w, const ep_layer_spec *layer, int number) {
  int64_t features = ep_shape_count(w->shape);
  return (ep_op){.type = ep_layer_operator(layer->type),
                 .in = w->shape,
                 .out = w->shape,
                 .in_features = features,
                 .out_features = features,
                 .weight = -1,
                 .bias = -1,
                 .running = -1,
                 .inputs = 1,
                 .input = {w->ops},
                 .layer = number};
}

/* Takes the op's output as what the next layer gets. */
static bool output_take(walk *w, ep_op *op) {
  int64_t plane = ep_multiply_saturated(op->out.height, op->out.width);
  op->out_features = ep_multiply_saturated(op->out.channels, plane);
  w->shape = op->out;
  if (op->type == EP_LAYER_FLATTEN) w->image = false;
  /* A linear layer's own limit is its field's. */
  if (op->out_features <= EP_LIMIT_FEATURES || op->type == EP_LAYER_LINEAR) return true;
  return refuse(w, "", "layer %s outputs %lld values per row: the limit is %d", w->name,
                (long long)op->out_features, EP_LIMIT_FEATURES);
}

static bool list_lower(walk *w, const ep_layer_spec *layers, int count);

/* The block, then the op that adds what came in to what comes out. */
static bool residual_lower(walk *w, const ep_layer_spec *layer, int number) {
  char in_text[EP_SHAPE_BYTES], out_text[EP_SHAPE_BYTES];
  int source = w->ops;
  ep_shape in = w->shape;
  bool image = w->image;
  if (!list_lower(w, layer->layers, layer->layers_count)) return false;
  bool same = image == w->image && in.channels == w->shape.channels &&
              in.height == w->shape.height && in.width == w->shape.width;
  if (!same)
    return refuse(w, "", "the block's output %s and input %s must have the same shape to be added",
                  shape_text(w, out_text), ep_shape_format(in, image, in_text));
  ep_op *op = &w->plan->ops[w->ops];
  *op = op_make(w, layer, number);
  op->inputs = 2;
  op->input[1] = source;
  return true;
}

/* One layer, with its number, name and pointer. */
static bool layer_lower(walk *w, const ep_layer_spec *layer) {
  int number = w->layer;
  if (layer->type == EP_LAYER_RESIDUAL) {
    w->layer++;
    if (!residual_lower(w, layer, number)) return false;
  } else {
    ep_op *op = &w->plan->ops[w->ops];
    *op = op_make(w, layer, number);
    if (!op_lower(w, layer, op)) return false;
    parameters_take(w, layer, op);
    if (!output_take(w, op)) return false;
    w->layer++;
  }
  memcpy(w->plan->names[w->ops], w->name, sizeof w->name);
  memcpy(w->last_name, w->name, sizeof w->name);
  w->ops++;
  return true;
}

/* One list of layers: the model's, or a block's. */
static bool list_lower(walk *w, const ep_layer_spec *layers, int count) {
  size_t pointer = strlen(w->pointer), name = strlen(w->name);
  for (int i = 0; i < count; i++) {
    snprintf(w->pointer + pointer, sizeof w->pointer - pointer, "/layers/%d", i);
    snprintf(w->name + name, sizeof w->name - name, "%s%d", name ? "." : "", i);
    if (!layer_lower(w, &layers[i])) return false;
  }
  w->pointer[pointer] = w->name[name] = 0;
  return true;
}

/* What a word becomes: enough numbers to tell the words of a column apart, and few, as there are
 * not many rows of each. */
static int64_t columns_dimension(const ep_data_shape *data) {
  enum { DIMENSION_MAX = 16 };
  int64_t words = data->embedded_rows / data->embedded_columns, dimension = 1;
  while (dimension < DIMENSION_MAX && dimension * dimension < words) dimension++;
  return dimension;
}

/* The op before all layers where columns are embedded. Its number is one that no layer has, so that
 * the layers' draws are those of a network without it. */
static bool columns_lower(walk *w) {
  const ep_data_shape *data = &w->plan->shape;
  const ep_layer_spec layer = {.type = EP_LAYER_EMBEDDING};
  ep_op *op = w->plan->ops;
  if (data->embedded_columns == 0) return true;
  *op = op_make(w, &layer, ep_layers_total(w->spec->layers, w->spec->layers_count));
  op->embeddings = data->embedded_rows;
  op->numbers = data->features - data->embedded_columns;
  op->out.channels = ep_add_saturated(
      op->numbers, ep_multiply_saturated(data->embedded_columns, columns_dimension(data)));
  op->out_features = op->out.channels;
  parameters_take(w, &layer, op);
  snprintf(w->pointer, sizeof w->pointer, "/data/columns");
  snprintf(w->name, sizeof w->name, EP_PLAN_COLUMNS_NAME);
  memcpy(w->plan->names[w->ops++], w->name, sizeof w->name);
  memcpy(w->last_name, w->name, sizeof w->name);
  return output_take(w, op);
}

static bool is_frozen(const ep_job_spec *spec, int layer) {
  for (int i = 0; i < spec->freeze_count; i++)
    if (spec->freeze[i] == layer) return true;
  return false;
}

bool ep_plan_lower(const ep_job_spec *spec, ep_plan *plan, bool *image, ep_problem *problem) {
  walk w = {
      .spec = spec, .plan = plan, .problem = problem, .shape = plan->program.in, .image = *image};
  if (!columns_lower(&w)) return false;
  for (int i = 0; i < spec->layers_count; i++) {
    w.frozen = is_frozen(spec, i);
    snprintf(w.pointer, sizeof w.pointer, "/model/layers/%d", i);
    snprintf(w.name, sizeof w.name, "%d", i);
    if (!layer_lower(&w, &spec->layers[i])) return false;
  }
  plan->program.ops_count = w.ops;
  *image = w.image;
  return true;
}
