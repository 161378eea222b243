/* joins.c: of several values one: sums, products, one after the other; and slice, which cuts one.
 */
#include "engine/layers/layer.h"
#include "kernels/operators/values.h"

/* The axis that is the layer's dim; -1 after an error. */
static int axis_of(ep_lowering *w, const ep_layer_spec *layer) {
  char text[EP_SHAPE_BYTES];
  if (layer->dim <= w->in_rank) return w->in_rank == 2 && layer->dim == 2 ? 2 : layer->dim - 1;
  ep_lowering_refuse(w, "dim", "dim %d of %s, which has %d", layer->dim, ep_lowering_shape(w, text),
                     w->in_rank);
  return -1;
}

/* Whether input k has the first one's rank, and its shape in all sides but one (-1: in all). */
static bool alike(ep_lowering *w, int k, int axis) {
  char first[EP_SHAPE_BYTES], other[EP_SHAPE_BYTES];
  const ep_shape shape = ep_value_shape(w->program, w->from[k]);
  bool same = w->rank[w->from[k]] == w->in_rank;
  for (int side = 0; side < EP_SHAPE_SIDES; side++)
    same = same && (side == axis || ep_shape_side(shape, side) == ep_shape_side(w->shape, side));
  return same ||
         ep_lowering_refuse(w, "input", "the shapes %s and %s do not go together%s",
                            ep_lowering_shape(w, first),
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

/* The block's output, then its input. */
static bool residual_lower(ep_lowering *w, const ep_layer_spec *layer, ep_op *op) {
  (void)layer, (void)op;
  char out_text[EP_SHAPE_BYTES], in_text[EP_SHAPE_BYTES];
  const ep_shape in = ep_value_shape(w->program, w->from[1]);
  const int rank = w->rank[w->from[1]];
  if (rank == w->in_rank && ep_shapes_same(in, w->shape)) return true;
  return ep_lowering_refuse(
      w, "", "the block's output %s and input %s must have the same shape to be added",
      ep_lowering_shape(w, out_text), ep_shape_format(in, rank, in_text));
}

static bool concat_lower(ep_lowering *w, const ep_layer_spec *layer, ep_op *op) {
  if (!joins(w, layer)) return false;
  int64_t along = 0;
  op->axis = axis_of(w, layer);
  for (int k = 0; k < w->inputs && op->axis >= 0; k++) {
    if (!alike(w, k, op->axis)) return false;
    op->length[k] = ep_shape_side(ep_value_shape(w->program, w->from[k]), op->axis);
    along += op->length[k];
  }
  ep_shape_set_side(&op->out, op->axis, along);
  return op->axis >= 0;
}

static bool slice_lower(ep_lowering *w, const ep_layer_spec *layer, ep_op *op) {
  int64_t start = layer->start, length = layer->length;
  if (layer->columns.count > 0 && layer->places_count == 0)
    return ep_lowering_refuse(w, "columns", "the data is no table with columns");
  op->axis = axis_of(w, layer);
  if (op->axis < 0) return false;
  int64_t side = ep_shape_side(w->shape, op->axis);
  if (start < 0) start += side;
  if (start < 0 || start >= side)
    return ep_lowering_refuse(w, "start", "%lld of a dimension of %lld places, which count from 0",
                              (long long)layer->start, (long long)side);
  if (length == 0) length = side - start;
  if (length > side - start)
    return ep_lowering_refuse(w, "length", "%lld places from %lld on, of %lld", (long long)length,
                              (long long)start, (long long)side);
  op->start = start;
  ep_shape_set_side(&op->out, op->axis, length);
  return true;
}

/* An input as the graph has it, or as an image. */
static ep_onnx_value input_of(ep_onnx_graph *graph, int number, bool image, ep_shape shape) {
  graph->value = graph->inputs[number];
  if (image) ep_onnx_to_image(graph, shape);
  return graph->value;
}

static bool any_image(const ep_onnx_graph *graph, const ep_op *op) {
  bool image = false;
  for (int k = 0; k < op->inputs; k++) image = image || graph->inputs[k].image;
  return image;
}

/* The inputs one after the other, each with what came of those before it. */
static void elements_onnx(ep_onnx_graph *graph, const ep_op *op, const char *operation) {
  const bool image = any_image(graph, op);
  ep_onnx_value all = input_of(graph, 0, image, op->out);
  for (int k = 1; k < op->inputs; k++) {
    ep_onnx_value other = input_of(graph, k, image, op->out);
    graph->value = all;
    ep_onnx_apply(graph, operation, other.name.text, NULL);
    all = graph->value;
  }
}

static void concat_onnx(ep_onnx_graph *graph, const ep_op *op, const char *operation) {
  const bool image = op->axis > 0 || any_image(graph, op);
  ep_onnx_value values[EP_OP_INPUTS];
  const char *names[EP_OP_INPUTS];
  ep_protobuf node = {0};
  for (int k = 0; k < op->inputs; k++) {
    ep_shape shape = op->out;
    ep_shape_set_side(&shape, op->axis, op->length[k]);
    values[k] = input_of(graph, k, image, shape);
    names[k] = values[k].name.text;
  }
  ep_onnx_attribute_integer(&node, "axis", op->axis + 1);
  graph->value.name = ep_onnx_node(graph, operation, names, op->inputs, &node);
}

static void slice_onnx(ep_onnx_graph *graph, const ep_op *op, const char *operation) {
  (void)operation;
  if (op->axis > 0) ep_onnx_to_image(graph, op->in);
  const int64_t axis = op->axis + 1, end = op->start + ep_shape_side(op->out, op->axis);
  graph->value.name = ep_onnx_slice(graph, graph->value.name, 1, &op->start, &end, &axis);
}

static const ep_c_function add_function = {
    .text = "static inline void @_add(float *x, const float *other, int32_t count) {\n"
            "  for (int32_t i = 0; i < count; i++) x[i] += other[i];\n"
            "}\n\n"};

static const ep_c_function mul_function = {
    .text = "static inline void @_mul(float *x, const float *other, int32_t count) {\n"
            "  for (int32_t i = 0; i < count; i++) x[i] *= other[i];\n"
            "}\n\n"};

static const ep_c_function runs_function = {
    .text = "/* `runs` runs of `count` numbers, which begin so far apart. */\n"
            "static inline void @_runs(float *to, int32_t to_apart, const float *from,\n"
            "                          int32_t from_apart, int32_t count, int32_t runs) {\n"
            "  for (int32_t i = 0; i < runs; i++, to += to_apart, from += from_apart)\n"
            "    memcpy(to, from, (size_t)count * sizeof(float));\n"
            "}\n\n"};

/* A call for each input but the first, which is there already. */
static void elements_call(const ep_c_op *c) {
  for (int k = 1; k < c->op->inputs; k++)
    ep_c_add(c->source, "  @_%s(@_memory_%d, @_memory_%d, %lld);\n",
             ep_layer_type_name((int)c->op->type), c->y, c->array[c->op->input[k]],
             (long long)c->op->out_features);
}

/* A call for each input: so many runs of so many numbers, as far apart in y and in x. */
static void concat_call(const ep_c_op *c) {
  const ep_shape_runs runs = ep_shape_runs_along(c->op->axis, c->op->out);
  int64_t at = 0;
  for (int k = 0; k < c->op->inputs; k++) {
    const int64_t own = c->op->length[k] * runs.place;
    ep_c_add(c->source, "  @_runs(@_memory_%d + %lld, %lld, @_memory_%d, %lld, %lld, %lld);\n",
             c->y, (long long)at, (long long)runs.whole, c->array[c->op->input[k]], (long long)own,
             (long long)own, (long long)runs.count);
    at += own;
  }
}

static void slice_call(const ep_c_op *c) {
  const ep_shape_runs runs = ep_shape_runs_along(c->op->axis, c->op->in);
  const long long own = ep_shape_side(c->op->out, c->op->axis) * runs.place;
  ep_c_add(c->source, "  @_runs(@_memory_%d, %lld, @_memory_%d + %lld, %lld, %lld, %lld);\n", c->y,
           own, c->x, (long long)(c->op->start * runs.place), (long long)runs.whole, own,
           (long long)runs.count);
}

#define ADD_C EP_C(.functions = {&add_function}, .call = elements_call)
EP_LAYER_WITH(ADD, elements_lower, EP_ONNX("Add", elements_onnx), ADD_C, .joins = true);
EP_LAYER_WITH(RESIDUAL, residual_lower, EP_ONNX("Add", elements_onnx), ADD_C, .joins = true);
EP_LAYER_WITH(MUL, elements_lower, EP_ONNX("Mul", elements_onnx),
              EP_C(.functions = {&mul_function}, .call = elements_call), .joins = true);
EP_LAYER_WITH(CONCAT, concat_lower, EP_ONNX("Concat", concat_onnx),
              EP_C(.functions = {&runs_function}, .call = concat_call), .joins = true);
EP_LAYER_WITH(SLICE, slice_lower, EP_ONNX("Slice", slice_onnx),
              EP_C(.functions = {&runs_function}, .call = slice_call), .wants_sides = true);
