/* shapes.c: the same numbers in another shape, or in another order. */
#include "engine/layers/layer.h"

static bool flatten_lower(ep_lowering *w, const ep_layer_spec *layer, ep_op *op) {
  (void)layer;
  op->out = (ep_shape){op->in_features, 1, 1};
  w->out_rank = 1;
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
                            ep_lowering_shape(w, from), (long long)op->in_features);
}

static bool permute_lower(ep_lowering *w, const ep_layer_spec *layer, ep_op *op) {
  char text[EP_SHAPE_BYTES];
  const int rank = w->in_rank;
  int seen = 0;
  for (int i = 0; i < layer->dims.count; i++) seen |= 1 << (layer->dims.at[i] - 1);
  if (layer->dims.count != rank || seen != (1 << rank) - 1)
    return ep_lowering_refuse(w, "dims", "must have each dimension of %s once, counted from 1",
                              ep_lowering_shape(w, text));
  for (int side = 0; side < EP_SHAPE_SIDES; side++) op->order[side] = side;
  for (int i = 0; i < rank; i++) {
    const int from = (int)layer->dims.at[i] - 1;
    op->order[rank == 2 && i == 1 ? 2 : i] = rank == 2 && from == 1 ? 2 : from;
  }
  for (int side = 0; side < EP_SHAPE_SIDES; side++)
    ep_shape_set_side(&op->out, side, ep_shape_side(op->in, op->order[side]));
  return true;
}

static void flatten_onnx(ep_onnx_graph *graph, const ep_op *op, const char *operation) {
  (void)op, (void)operation;
  ep_onnx_to_vector(graph);
}

static void reshape_onnx(ep_onnx_graph *graph, const ep_op *op, const char *operation) {
  (void)operation;
  ep_onnx_to_vector(graph);
  if (op->out.height * op->out.width > 1) ep_onnx_to_image(graph, op->out);
}

static void permute_onnx(ep_onnx_graph *graph, const ep_op *op, const char *operation) {
  ep_protobuf node = {0};
  ep_onnx_to_image(graph, op->in);
  ep_onnx_attribute_integers(
      &node, "perm", (int64_t[]){0, op->order[0] + 1, op->order[1] + 1, op->order[2] + 1}, 4);
  ep_onnx_apply(graph, operation, NULL, &node);
}

static const ep_c_function permute_function = {
    .text =
        "/* Three sides of y, and how far apart their places lie in x. */\n"
        "static inline void @_permute(const float *x, float *y, int32_t a, int32_t a_apart, "
        "int32_t b,\n"
        "                             int32_t b_apart, int32_t c, int32_t c_apart) {\n"
        "  for (int32_t i = 0; i < a; i++)\n"
        "    for (int32_t j = 0; j < b; j++)\n"
        "      for (int32_t k = 0; k < c; k++) *y++ = x[i * a_apart + j * b_apart + k * c_apart];\n"
        "}\n\n"};

/* x's numbers, in the order of y: the sides of y, and how far apart their places lie in x. */
static void permute_call(const ep_c_op *c) {
  const ep_op *op = c->op;
  const int64_t apart[] = {op->in.height * op->in.width, op->in.width, 1};
  ep_c_add(c->source, "  @_permute(@_memory_%d, @_memory_%d", c->x, c->y);
  for (int side = 0; side < EP_SHAPE_SIDES; side++)
    ep_c_add(c->source, ", %lld, %lld", (long long)ep_shape_side(op->out, side),
             (long long)apart[op->order[side]]);
  ep_c_end(c);
}

EP_LAYER(FLATTEN, flatten_lower, EP_ONNX("Flatten", flatten_onnx), EP_C(.call = ep_c_call_nothing));
EP_LAYER(RESHAPE, reshape_lower, EP_ONNX("Reshape", reshape_onnx), EP_C(.call = ep_c_call_nothing));
EP_LAYER_WITH(PERMUTE, permute_lower, EP_ONNX("Transpose", permute_onnx),
              EP_C(.functions = {&permute_function}, .call = permute_call), .wants_sides = true);
