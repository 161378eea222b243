#include "engine/layers/layer.h"
#include "kernels/operators/values.h"

static bool lower(ep_lowering *w, const ep_layer_spec *layer, ep_op *op) {
  int64_t greatest = layer->num_embeddings - 1;
  if (w->data > 0 || ep_value_data_column(w->program, w->from[0]) < 0)
    return ep_lowering_refuse(
        w, "", "embedding reads the data's whole numbers: its input must be x, or a slice of it");
  if (w->in_rank != 1)
    return ep_lowering_refuse(w, "", "embedding requires columns, the data has images");
  if (w->from[0] > 0) { /* the rows are looked at when they are there */
  } else if (!w->x_integer)
    ep_lowering_refuse(w, "", "embedding requires whole numbers of at least 0: x contains others");
  else if (w->x_min < 0 || w->x_max > (double)greatest)
    ep_lowering_refuse(w, "num_embeddings",
                       "%lld embeddings cover whole numbers from 0 to %lld, x ranges from %g to %g",
                       (long long)layer->num_embeddings, (long long)greatest, w->x_min, w->x_max);
  op->embeddings = layer->num_embeddings;
  op->out = (ep_shape){ep_multiply_saturated(op->in_features, layer->embedding_dim), 1, 1};
  op->out_features = op->out.channels;
  return true;
}

/* x holds whole numbers behind `numbers` others: rows of the table, side by side, behind these. */
static void onnx(ep_onnx_graph *graph, const ep_op *op, const char *operation) {
  const int64_t none = 0, axis = 1;
  ep_onnx_name numbers = {0};
  ep_protobuf node = {0};
  ep_onnx_to_vector(graph);
  if (op->numbers > 0) {
    ep_onnx_name all = graph->value.name;
    numbers = ep_onnx_slice(graph, all, 1, &none, &op->numbers, &axis);
    graph->value.name = ep_onnx_slice(graph, all, 1, &op->numbers, &op->in_features, &axis);
  }
  ep_onnx_cast(graph, EP_ONNX_INT64);
  ep_onnx_name table = ep_onnx_parameter(graph, "weight");
  const char *inputs[] = {table.text, graph->value.name.text};
  graph->value.name = ep_onnx_node(graph, operation, inputs, 2, NULL);
  graph->value.image = true; /* [N, columns, dimension]: flattened alike */
  ep_onnx_to_vector(graph);
  if (op->numbers == 0) return;
  const char *parts[] = {numbers.text, graph->value.name.text};
  ep_onnx_attribute_integer(&node, "axis", 1);
  graph->value.name = ep_onnx_node(graph, "Concat", parts, 2, &node);
}

static const ep_c_function function = {
    .text =
        "/* Numbers stay, and each whole number behind them becomes a row of the table. */\n"
        "static inline void @_embedding(const float *x, float *y, int32_t numbers, "
        "int32_t columns,\n"
        "                               int32_t rows, int32_t dimension, const float *table) {\n"
        "  for (int32_t i = 0; i < numbers; i++) *y++ = x[i];\n"
        "  for (int32_t i = numbers; i < numbers + columns; i++) {\n"
        "    int32_t row = x[i] >= 0 ? x[i] < (float)rows ? (int32_t)x[i] : rows - 1 : 0;\n"
        "    for (int32_t j = 0; j < dimension; j++) *y++ = table[row * dimension + j];\n"
        "  }\n"
        "}\n\n"};

static void call(const ep_c_op *c) {
  ep_c_add(c->source, "  @_embedding(@_memory_%d, @_memory_%d, %lld, %lld, %lld, %lld", c->x, c->y,
           (long long)c->op->numbers, (long long)ep_op_columns(c->op), (long long)c->op->embeddings,
           (long long)ep_op_dimension(c->op));
  ep_c_end_parameters(c);
}

EP_LAYER_WITH(EMBEDDING, lower, EP_ONNX("Gather", onnx),
              EP_C(.functions = {&function}, .weights = ep_c_parameters, .call = call),
              .width = "embedding_dim");
