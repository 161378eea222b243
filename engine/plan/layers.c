/* layers.c: the shape and the figures of each type of layer. Formulas of the shapes are torch.nn's.
 */
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

#include "api/limits.h"
#include "engine/plan/lowering.h"
#include "kernels/operators/values.h"

const char *ep_shape_format(ep_shape shape, int rank, char text[EP_SHAPE_BYTES]) {
  if (rank == 3)
    snprintf(text, EP_SHAPE_BYTES, "[%lld, %lld, %lld]", (long long)shape.channels,
             (long long)shape.height, (long long)shape.width);
  else if (rank == 2)
    snprintf(text, EP_SHAPE_BYTES, "[%lld, %lld]", (long long)shape.channels,
             (long long)shape.width);
  else
    snprintf(text, EP_SHAPE_BYTES, "[%lld]", (long long)ep_shape_count(shape));
  return text;
}

bool ep_lowering_refuse(ep_lowering *w, const char *field, const char *format, ...) {
  char pointer[EP_POINTER_BYTES + 32], detail[EP_MESSAGE_BYTES];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(detail, sizeof detail, format, arguments);
  va_end(arguments);
  snprintf(pointer, sizeof pointer, "%s%s%s", w->pointer, field[0] ? "/" : "", field);
  ep_problem_add(w->problem, EP_INVALID, pointer, "%s", detail);
  return false;
}

static const char *shape_text(const ep_lowering *w, char text[EP_SHAPE_BYTES]) {
  return ep_shape_format(w->shape, w->in_rank, text);
}

static bool needs_image(ep_lowering *w, const ep_layer_spec *layer) {
  char text[EP_SHAPE_BYTES];
  const char *type = ep_layer_type_name(layer->type);
  if (w->in_rank == 3) return true;
  if (w->from[0] == 0)
    return ep_lowering_refuse(w, "", "%s requires images [C, H, W]: set data.shape", type);
  return ep_lowering_refuse(w, "", "%s requires images [C, H, W], its input is %s", type,
                            shape_text(w, text));
}

static bool needs_vector(ep_lowering *w) {
  char text[EP_SHAPE_BYTES];
  return w->in_rank == 1 ||
         ep_lowering_refuse(w, "", "insert a flatten layer before layer %s, whose input is %s",
                            w->name, shape_text(w, text));
}

/* A number of inputs that was given must be what comes in. Wrong, it is no reason to stop: the
 * layer's own output does not depend on it. */
static void inputs_check(ep_lowering *w, const char *field, const char *noun, int64_t given,
                         int64_t there) {
  if (given == 0 || given == there) return;
  if (w->from[0] > 0)
    ep_lowering_refuse(w, field, "layer %s expects %lld %s, layer %s outputs %lld", w->name,
                       (long long)given, noun, w->plan->names[w->from[0] - 1], (long long)there);
  else
    ep_lowering_refuse(w, field, "layer %s expects %lld %s, the data has %lld%s", w->name,
                       (long long)given, noun, (long long)there, w->in_rank == 3 ? "" : " columns");
}

static bool linear_lower(ep_lowering *w, const ep_layer_spec *layer, ep_op *op) {
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
static bool window_lower(ep_lowering *w, const ep_layer_spec *layer, ep_op *op, int64_t span[2]) {
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
    return ep_lowering_refuse(
        w, "kernel_size", "kernel %lldx%lld does not fit in its input %lldx%lld%s",
        (long long)span[0], (long long)span[1], (long long)(sides[0] + 2 * op->padding[0]),
        (long long)(sides[1] + 2 * op->padding[1]),
        op->padding[0] || op->padding[1] ? ", padding included" : "");
  op->out.height = windows(sides[0], span[0], op->padding[0], op->stride[0]);
  op->out.width = windows(sides[1], span[1], op->padding[1], op->stride[1]);
  return true;
}

static bool groups_check(ep_lowering *w, const ep_layer_spec *layer, ep_op *op) {
  int64_t in = w->shape.channels, out = layer->out_channels, groups = layer->groups;
  assert(groups > 0);
  inputs_check(w, "in_channels", "channels", layer->in_channels, in);
  if (in % groups || out % groups)
    return ep_lowering_refuse(
        w, "groups",
        "%lld groups: the input channels, %lld, and the output channels, %lld, must both "
        "be a multiple",
        (long long)groups, (long long)in, (long long)out);
  op->groups = groups;
  op->out.channels = out;
  return true;
}

static bool conv2d_lower(ep_lowering *w, const ep_layer_spec *layer, ep_op *op) {
  int64_t span[2];
  return needs_image(w, layer) && groups_check(w, layer, op) && window_lower(w, layer, op, span);
}

/* A conv2d along the width. */
static bool conv1d_lower(ep_lowering *w, const ep_layer_spec *layer, ep_op *op) {
  char text[EP_SHAPE_BYTES];
  ep_layer_spec along = *layer;
  int64_t span[2];
  if (w->in_rank != 2)
    return ep_lowering_refuse(
        w, "", "conv1d requires [channels, length], its input is %s: insert a reshape layer",
        shape_text(w, text));
  if (!groups_check(w, layer, op)) return false;
  along.kernel_size[0] = along.stride[0] = along.dilation[0] = 1;
  along.padding[0] = 0;
  if (layer->causal && layer->padding[1] > 0)
    return ep_lowering_refuse(w, "padding",
                              "a causal conv1d is padded on the left alone: leave padding out");
  const int64_t past = (int64_t)layer->dilation[1] * (layer->kernel_size[1] - 1);
  if (layer->causal && past > EP_LIMIT_KERNEL)
    return ep_lowering_refuse(w, "dilation", "the window reaches %lld places back: the limit is %d",
                              (long long)past, EP_LIMIT_KERNEL);
  if (layer->causal) along.padding[1] = (int)past;
  op->is_1d = true;
  op->causal = layer->causal && along.padding[1] > 0;
  if (!window_lower(w, &along, op, span)) return false;
  if (op->causal)
    op->out.width = windows(w->shape.width + along.padding[1], span[1], 0, op->stride[1]);
  return true;
}

static bool pool_lower(ep_lowering *w, const ep_layer_spec *layer, ep_op *op) {
  int64_t span[2];
  if (!needs_image(w, layer) || !window_lower(w, layer, op, span)) return false;
  for (int i = 0; i < 2; i++)
    if (op->padding[i] > span[i] / 2)
      return ep_lowering_refuse(w, "padding", "%d is more than half of the window, %lld",
                                op->padding[i], (long long)span[i]);
  return true;
}

static bool adaptive_lower(ep_lowering *w, const ep_layer_spec *layer, ep_op *op) {
  if (!needs_image(w, layer)) return false;
  op->out.height = layer->output_size[0];
  op->out.width = layer->output_size[1];
  return true;
}

/* The variance of one row is no variance. */
static void batch_norm_rows_check(ep_lowering *w, bool sync) {
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

static bool norm_lower(ep_lowering *w, const ep_layer_spec *layer, ep_op *op) {
  op->eps = (float)layer->eps;
  if (layer->type != EP_LAYER_BATCH_NORM) return true;
  op->momentum = (float)layer->momentum;
  op->sync = layer->sync;
  if (ep_shape_count(w->shape) == w->shape.channels) batch_norm_rows_check(w, op->sync);
  return true;
}

static bool embedding_lower(ep_lowering *w, const ep_layer_spec *layer, ep_op *op) {
  const ep_data_shape *data = &w->plan->shape;
  int64_t greatest = layer->num_embeddings - 1;
  if (w->data > 0 || ep_value_data_column(&w->plan->program, w->from[0]) < 0)
    return ep_lowering_refuse(
        w, "", "embedding reads the data's whole numbers: its input must be x, or a slice of it");
  if (w->in_rank != 1)
    return ep_lowering_refuse(w, "", "embedding requires columns, the data has images");
  if (w->from[0] > 0) { /* the rows are looked at when they are there */
  } else if (!data->x_integer)
    ep_lowering_refuse(w, "", "embedding requires whole numbers of at least 0: x contains others");
  else if (data->x_min < 0 || data->x_max > (double)greatest)
    ep_lowering_refuse(w, "num_embeddings",
                       "%lld embeddings cover whole numbers from 0 to %lld, x ranges from %g to %g",
                       (long long)layer->num_embeddings, (long long)greatest, data->x_min,
                       data->x_max);
  op->embeddings = layer->num_embeddings;
  op->out = (ep_shape){ep_multiply_saturated(op->in_features, layer->embedding_dim), 1, 1};
  op->out_features = op->out.channels;
  return true;
}

/* The axis that is the layer's dim; -1 after an error. */
static int axis_of(ep_lowering *w, const ep_layer_spec *layer) {
  char text[EP_SHAPE_BYTES];
  if (layer->dim <= w->in_rank) return w->in_rank == 2 && layer->dim == 2 ? 2 : layer->dim - 1;
  ep_lowering_refuse(w, "dim", "dim %d of %s, which has %d", layer->dim, shape_text(w, text),
                     w->in_rank);
  return -1;
}

static void side_put(ep_shape *shape, int axis, int64_t length) {
  *(axis == 0 ? &shape->channels : axis == 1 ? &shape->height : &shape->width) = length;
}

/* Whether input k has the first one's rank, and its shape in all sides but one (-1: in all). */
static bool alike(ep_lowering *w, int k, int axis) {
  char first[EP_SHAPE_BYTES], other[EP_SHAPE_BYTES];
  const ep_shape shape = ep_value_shape(&w->plan->program, w->from[k]);
  bool same = w->rank[w->from[k]] == w->in_rank;
  for (int side = 0; side < EP_SHAPE_SIDES; side++)
    same = same && (side == axis || ep_shape_side(shape, side) == ep_shape_side(w->shape, side));
  return same || ep_lowering_refuse(
                     w, "input", "the shapes %s and %s do not go together%s", shape_text(w, first),
                     ep_shape_format(shape, w->rank[w->from[k]], other),
                     axis < 0 ? ": they must be the same" : " in the other dimensions");
}

static bool joins(ep_lowering *w, const ep_layer_spec *layer) {
  return w->inputs > 1 || ep_lowering_refuse(w, "input",
                                             "%s joins 2 to %d values: name them, as in "
                                             "\"input\": [\"left\", \"right\"]",
                                             ep_layer_type_name(layer->type), EP_OP_INPUTS);
}

static bool elements_lower(ep_lowering *w, const ep_layer_spec *layer, ep_op *op) {
  (void)op;
  if (!joins(w, layer)) return false;
  for (int k = 1; k < w->inputs; k++)
    if (!alike(w, k, -1)) return false;
  return true;
}

static bool concat_lower(ep_lowering *w, const ep_layer_spec *layer, ep_op *op) {
  if (!joins(w, layer)) return false;
  int64_t along = 0;
  op->axis = axis_of(w, layer);
  for (int k = 0; k < w->inputs && op->axis >= 0; k++) {
    if (!alike(w, k, op->axis)) return false;
    op->length[k] = ep_shape_side(ep_value_shape(&w->plan->program, w->from[k]), op->axis);
    along = ep_add_saturated(along, op->length[k]);
  }
  side_put(&op->out, op->axis, along);
  return op->axis >= 0;
}

static bool slice_lower(ep_lowering *w, const ep_layer_spec *layer, ep_op *op) {
  int64_t start = layer->start, length = layer->length;
  if (layer->columns.count > 0 && layer->places_count == 0)
    return ep_lowering_refuse(w, "columns", "the data is no table with columns");
  op->axis = axis_of(w, layer);
  if (op->axis < 0) return false;
  int64_t side = ep_shape_side(w->shape, op->axis);
  if (start >= side)
    return ep_lowering_refuse(w, "start", "%lld of a dimension of %lld places, which count from 0",
                              (long long)start, (long long)side);
  if (length == 0) length = side - start;
  if (length > side - start)
    return ep_lowering_refuse(w, "length", "%lld places from %lld on, of %lld", (long long)length,
                              (long long)start, (long long)side);
  op->start = start;
  side_put(&op->out, op->axis, length);
  return true;
}

static bool reshape_lower(ep_lowering *w, const ep_layer_spec *layer, ep_op *op) {
  char from[EP_SHAPE_BYTES], to[EP_SHAPE_BYTES];
  const int64_t *at = layer->shape.at;
  const int rank = layer->shape.count;
  if (rank == 0) return ep_lowering_refuse(w, "shape", "must have 1 to 3 numbers");
  op->out = (ep_shape){at[0], rank == 3 ? at[1] : 1, rank > 1 ? at[rank - 1] : 1};
  w->out_rank = rank;
  int64_t count =
      ep_multiply_saturated(ep_multiply_saturated(op->out.channels, op->out.height), op->out.width);
  return count == op->in_features ||
         ep_lowering_refuse(w, "shape", "%s has %lld numbers, the input %s %lld",
                            ep_shape_format(op->out, rank, to), (long long)count,
                            shape_text(w, from), (long long)op->in_features);
}

static bool permute_lower(ep_lowering *w, const ep_layer_spec *layer, ep_op *op) {
  char text[EP_SHAPE_BYTES];
  const int rank = w->in_rank;
  int seen = 0;
  for (int i = 0; i < layer->dims.count; i++) seen |= 1 << (layer->dims.at[i] - 1);
  if (layer->dims.count != rank || seen != (1 << rank) - 1)
    return ep_lowering_refuse(w, "dims", "must have each dimension of %s once, counted from 1",
                              shape_text(w, text));
  for (int side = 0; side < EP_SHAPE_SIDES; side++) op->order[side] = side;
  for (int i = 0; i < rank; i++) {
    const int from = (int)layer->dims.at[i] - 1;
    op->order[rank == 2 && i == 1 ? 2 : i] = rank == 2 && from == 1 ? 2 : from;
  }
  for (int side = 0; side < EP_SHAPE_SIDES; side++)
    side_put(&op->out, side, ep_shape_side(op->in, op->order[side]));
  return true;
}

static bool flatten_lower(ep_lowering *w, const ep_layer_spec *layer, ep_op *op) {
  (void)layer;
  op->out = (ep_shape){op->in_features, 1, 1};
  w->out_rank = 1;
  return true;
}

static bool dropout_lower(ep_lowering *w, const ep_layer_spec *layer, ep_op *op) {
  op->p = (float)layer->p;
  return layer->type == EP_LAYER_DROPOUT || needs_image(w, layer);
}

static bool softmax_lower(ep_lowering *w, const ep_layer_spec *layer, ep_op *op) {
  (void)layer, (void)op;
  return needs_vector(w);
}

static bool activation_lower(ep_lowering *w, const ep_layer_spec *layer, ep_op *op) {
  (void)w;
  op->negative_slope = (float)layer->negative_slope;
  op->alpha = (float)layer->alpha;
  op->beta = (float)layer->beta;
  op->threshold = (float)layer->threshold;
  return true;
}

/* Shape and figures of an operator; of an activation all that it may have. */
static bool (*const lowers[EP_LAYER_COUNT])(ep_lowering *w, const ep_layer_spec *layer,
                                            ep_op *op) = {
    [EP_LAYER_LINEAR] = linear_lower,       [EP_LAYER_CONV1D] = conv1d_lower,
    [EP_LAYER_CONV2D] = conv2d_lower,       [EP_LAYER_MAX_POOL2D] = pool_lower,
    [EP_LAYER_AVG_POOL2D] = pool_lower,     [EP_LAYER_ADAPTIVE_AVG_POOL2D] = adaptive_lower,
    [EP_LAYER_BATCH_NORM] = norm_lower,     [EP_LAYER_LAYER_NORM] = norm_lower,
    [EP_LAYER_EMBEDDING] = embedding_lower, [EP_LAYER_SOFTMAX] = softmax_lower,
    [EP_LAYER_LOG_SOFTMAX] = softmax_lower, [EP_LAYER_DROPOUT] = dropout_lower,
    [EP_LAYER_DROPOUT2D] = dropout_lower,   [EP_LAYER_FLATTEN] = flatten_lower,
    [EP_LAYER_ADD] = elements_lower,        [EP_LAYER_MUL] = elements_lower,
    [EP_LAYER_CONCAT] = concat_lower,       [EP_LAYER_SLICE] = slice_lower,
    [EP_LAYER_RESHAPE] = reshape_lower,     [EP_LAYER_PERMUTE] = permute_lower,
};

bool ep_op_lower(ep_lowering *w, const ep_layer_spec *layer, ep_op *op) {
  const bool one =
      layer->type != EP_LAYER_ADD && layer->type != EP_LAYER_MUL && layer->type != EP_LAYER_CONCAT;
  if (one && w->inputs > 1)
    return ep_lowering_refuse(
        w, "input", "%s reads one value, and %d are named: join them by concat, add or mul",
        ep_layer_type_name(layer->type), w->inputs);
  return (lowers[layer->type] ? lowers[layer->type] : activation_lower)(w, layer, op);
}
