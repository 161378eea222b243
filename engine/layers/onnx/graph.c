#include "engine/layers/onnx/graph.h"

#include <stdio.h>
#include <string.h>

/* Fields of onnx.proto's messages, and its AttributeProto.AttributeType. */
enum { NODE_INPUT = 1, NODE_OUTPUT = 2, NODE_NAME = 3, NODE_OP_TYPE = 4, NODE_ATTRIBUTE = 5 };
enum { NODE_DOMAIN = 7 };
enum { ATTRIBUTE_NAME = 1, ATTRIBUTE_F = 2, ATTRIBUTE_I = 3, ATTRIBUTE_S = 4 };
enum { ATTRIBUTE_FLOATS = 7, ATTRIBUTE_INTS = 8, ATTRIBUTE_STRINGS = 9, ATTRIBUTE_TYPE = 20 };
enum { TYPE_FLOAT = 1, TYPE_INT, TYPE_STRING, TYPE_FLOATS = 6, TYPE_INTS, TYPE_STRINGS };
enum { VALUE_NAME = 1, VALUE_TYPE = 2, VALUE_DOC = 3, TYPE_TENSOR = 1 };
enum { TENSOR_ELEMENT = 1, TENSOR_SHAPE = 2 };
enum { SHAPE_DIMENSION = 1, DIMENSION_VALUE = 1, DIMENSION_PARAMETER = 2 };
enum { TENSOR_DIMS = 1, TENSOR_DATA_TYPE = 2, TENSOR_NAME = 8 };

void ep_onnx_graph_deinit(ep_onnx_graph *graph) {
  ep_protobuf_deinit(&graph->nodes);
  ep_protobuf_deinit(&graph->constants);
}

void ep_onnx_attribute_integer(ep_protobuf *node, const char *name, int64_t value) {
  ep_protobuf attribute = {0};
  ep_protobuf_text(&attribute, ATTRIBUTE_NAME, name);
  ep_protobuf_integer(&attribute, ATTRIBUTE_I, value);
  ep_protobuf_integer(&attribute, ATTRIBUTE_TYPE, TYPE_INT);
  ep_protobuf_take(node, NODE_ATTRIBUTE, &attribute);
}

void ep_onnx_attribute_integers(ep_protobuf *node, const char *name, const int64_t *values,
                                int count) {
  ep_protobuf attribute = {0};
  ep_protobuf_text(&attribute, ATTRIBUTE_NAME, name);
  for (int i = 0; i < count; i++) ep_protobuf_integer(&attribute, ATTRIBUTE_INTS, values[i]);
  ep_protobuf_integer(&attribute, ATTRIBUTE_TYPE, TYPE_INTS);
  ep_protobuf_take(node, NODE_ATTRIBUTE, &attribute);
}

void ep_onnx_attribute_float(ep_protobuf *node, const char *name, float value) {
  ep_protobuf attribute = {0};
  ep_protobuf_text(&attribute, ATTRIBUTE_NAME, name);
  ep_protobuf_float(&attribute, ATTRIBUTE_F, value);
  ep_protobuf_integer(&attribute, ATTRIBUTE_TYPE, TYPE_FLOAT);
  ep_protobuf_take(node, NODE_ATTRIBUTE, &attribute);
}

void ep_onnx_attribute_floats(ep_protobuf *node, const char *name, const float *values, int count) {
  ep_protobuf attribute = {0};
  ep_protobuf_text(&attribute, ATTRIBUTE_NAME, name);
  for (int i = 0; i < count; i++) ep_protobuf_float(&attribute, ATTRIBUTE_FLOATS, values[i]);
  ep_protobuf_integer(&attribute, ATTRIBUTE_TYPE, TYPE_FLOATS);
  ep_protobuf_take(node, NODE_ATTRIBUTE, &attribute);
}

void ep_onnx_attribute_string(ep_protobuf *node, const char *name, const char *value) {
  ep_protobuf attribute = {0};
  ep_protobuf_text(&attribute, ATTRIBUTE_NAME, name);
  ep_protobuf_text(&attribute, ATTRIBUTE_S, value);
  ep_protobuf_integer(&attribute, ATTRIBUTE_TYPE, TYPE_STRING);
  ep_protobuf_take(node, NODE_ATTRIBUTE, &attribute);
}

void ep_onnx_attribute_strings(ep_protobuf *node, const char *name, const char *const *values,
                               int count) {
  ep_protobuf attribute = {0};
  ep_protobuf_text(&attribute, ATTRIBUTE_NAME, name);
  for (int i = 0; i < count; i++) ep_protobuf_text(&attribute, ATTRIBUTE_STRINGS, values[i]);
  ep_protobuf_integer(&attribute, ATTRIBUTE_TYPE, TYPE_STRINGS);
  ep_protobuf_take(node, NODE_ATTRIBUTE, &attribute);
}

void ep_onnx_domain_ml(ep_protobuf *node) {
  ep_protobuf_text(node, NODE_DOMAIN, EP_ONNX_ML_DOMAIN);
}

void ep_onnx_input_add(ep_protobuf *node, const char *name) {
  ep_protobuf_text(node, NODE_INPUT, name);
}

static ep_onnx_name name_make(ep_onnx_graph *graph, const char *what) {
  ep_onnx_name name;
  snprintf(name.text, sizeof name.text, "%s/%s_%d", graph->layer, what, graph->names_count++);
  return name;
}

ep_onnx_name ep_onnx_node(ep_onnx_graph *graph, const char *operation, const char *const *inputs,
                          int inputs_count, ep_protobuf *node) {
  ep_protobuf plain = {0};
  ep_onnx_name name = name_make(graph, operation);
  if (!node) node = &plain;
  for (int i = 0; i < inputs_count; i++) ep_onnx_input_add(node, inputs[i]);
  ep_protobuf_text(node, NODE_OUTPUT, name.text);
  ep_protobuf_text(node, NODE_NAME, name.text);
  ep_protobuf_text(node, NODE_OP_TYPE, operation);
  ep_protobuf_take(&graph->nodes, EP_ONNX_GRAPH_NODE, node);
  return name;
}

void ep_onnx_apply(ep_onnx_graph *graph, const char *operation, const char *second,
                   ep_protobuf *node) {
  const char *inputs[] = {graph->value.name.text, second};
  graph->value.name = ep_onnx_node(graph, operation, inputs, second ? 2 : 1, node);
}

void ep_onnx_rename(ep_onnx_graph *graph, const char *value, const char *name) {
  ep_protobuf node = {0};
  ep_onnx_input_add(&node, value);
  ep_protobuf_text(&node, NODE_OUTPUT, name);
  ep_protobuf_text(&node, NODE_OP_TYPE, "Identity");
  ep_protobuf_take(&graph->nodes, EP_ONNX_GRAPH_NODE, &node);
}

void ep_onnx_describe(ep_onnx_graph *graph, int field, const char *name, ep_onnx_type element,
                      const int64_t *shape, int dimensions, const char *meaning) {
  ep_protobuf value = {0}, type = {0}, tensor = {0}, extents = {0}, dimension = {0};
  ep_protobuf_text(&dimension, DIMENSION_PARAMETER, "N");
  ep_protobuf_take(&extents, SHAPE_DIMENSION, &dimension);
  for (int i = 0; i < dimensions; i++) {
    ep_protobuf_integer(&dimension, DIMENSION_VALUE, shape[i]);
    ep_protobuf_take(&extents, SHAPE_DIMENSION, &dimension);
  }
  ep_protobuf_integer(&tensor, TENSOR_ELEMENT, element);
  ep_protobuf_take(&tensor, TENSOR_SHAPE, &extents);
  ep_protobuf_take(&type, TYPE_TENSOR, &tensor);
  ep_protobuf_text(&value, VALUE_NAME, name);
  ep_protobuf_take(&value, VALUE_TYPE, &type);
  if (meaning) ep_protobuf_text(&value, VALUE_DOC, meaning);
  ep_protobuf_take(&graph->nodes, field, &value);
}

void ep_onnx_tensor_head(ep_protobuf *tensor, const char *name, ep_onnx_type type,
                         const int64_t *shape, int dimensions) {
  for (int i = 0; i < dimensions; i++) ep_protobuf_integer(tensor, TENSOR_DIMS, shape[i]);
  ep_protobuf_integer(tensor, TENSOR_DATA_TYPE, type);
  ep_protobuf_text(tensor, TENSOR_NAME, name);
}

ep_onnx_name ep_onnx_constant(ep_onnx_graph *graph, ep_onnx_type type, const int64_t *shape,
                              int dimensions, const void *values) {
  ep_protobuf tensor = {0};
  ep_onnx_name name = name_make(graph, "constant");
  size_t bytes = type == EP_ONNX_FLOAT ? sizeof(float) : sizeof(double);
  for (int i = 0; i < dimensions; i++) bytes *= (size_t)shape[i];
  ep_onnx_tensor_head(&tensor, name.text, type, shape, dimensions);
  ep_protobuf_bytes(&tensor, EP_ONNX_TENSOR_RAW_DATA, values, bytes);
  ep_protobuf_take(&graph->constants, EP_ONNX_GRAPH_INITIALIZER, &tensor);
  return name;
}

ep_onnx_name ep_onnx_scalar(ep_onnx_graph *graph, float value) {
  return ep_onnx_constant(graph, EP_ONNX_FLOAT, NULL, 0, &value);
}

void ep_onnx_cast(ep_onnx_graph *graph, ep_onnx_type type) {
  ep_protobuf node = {0};
  ep_onnx_attribute_integer(&node, "to", type);
  ep_onnx_apply(graph, "Cast", NULL, &node);
}

void ep_onnx_to_image(ep_onnx_graph *graph, ep_shape shape) {
  if (graph->value.image) return;
  const int64_t rows = 0; /* as many as there are */
  int64_t extents[] = {rows, shape.channels, shape.height, shape.width};
  ep_onnx_name name = ep_onnx_constant(graph, EP_ONNX_INT64, (int64_t[]){4}, 1, extents);
  ep_onnx_apply(graph, "Reshape", name.text, NULL);
  graph->value.image = true;
}

void ep_onnx_to_vector(ep_onnx_graph *graph) {
  if (!graph->value.image) return;
  ep_protobuf node = {0};
  ep_onnx_attribute_integer(&node, "axis", 1);
  ep_onnx_apply(graph, "Flatten", NULL, &node);
  graph->value.image = false;
}

ep_onnx_name ep_onnx_parameter(const ep_onnx_graph *graph, const char *part) {
  ep_onnx_name name;
  snprintf(name.text, sizeof name.text, "%.100s.%s", graph->layer, part);
  return name;
}

void ep_onnx_plain(ep_onnx_graph *graph, const ep_op *op, const char *operation) {
  (void)op;
  ep_onnx_apply(graph, operation, NULL, NULL);
}

void ep_onnx_apply_weights(ep_onnx_graph *graph, const char *operation, const ep_op *op,
                           ep_protobuf *node) {
  ep_onnx_name weight = ep_onnx_parameter(graph, "weight"), bias = ep_onnx_parameter(graph, "bias");
  const char *inputs[] = {graph->value.name.text, weight.text, bias.text};
  graph->value.name = ep_onnx_node(graph, operation, inputs, op->bias >= 0 ? 3 : 2, node);
}

ep_onnx_name ep_onnx_slice(ep_onnx_graph *graph, ep_onnx_name value, int64_t count,
                           const int64_t *first, const int64_t *end, const int64_t *axes) {
  ep_onnx_name starts = ep_onnx_constant(graph, EP_ONNX_INT64, &count, 1, first);
  ep_onnx_name ends = ep_onnx_constant(graph, EP_ONNX_INT64, &count, 1, end);
  ep_onnx_name along = ep_onnx_constant(graph, EP_ONNX_INT64, &count, 1, axes);
  const char *inputs[] = {value.text, starts.text, ends.text, along.text};
  return ep_onnx_node(graph, "Slice", inputs, 4, NULL);
}
