#include "engine/weights/onnx_graph.h"

#include <stdio.h>
#include <string.h>

/* Fields of onnx.proto's messages, and its AttributeProto.AttributeType. */
enum { NODE_INPUT = 1, NODE_OUTPUT = 2, NODE_NAME = 3, NODE_OP_TYPE = 4, NODE_ATTRIBUTE = 5 };
enum { ATTRIBUTE_NAME = 1, ATTRIBUTE_F = 2, ATTRIBUTE_I = 3, ATTRIBUTE_INTS = 8 };
enum { ATTRIBUTE_TYPE = 20, TYPE_FLOAT = 1, TYPE_INT = 2, TYPE_INTS = 7 };
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
  for (int i = 0; i < inputs_count; i++) ep_protobuf_text(node, NODE_INPUT, inputs[i]);
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

static void head_add(ep_protobuf *tensor, const char *name, ep_onnx_type type, const int64_t *shape,
                     int dimensions) {
  for (int i = 0; i < dimensions; i++) ep_protobuf_integer(tensor, TENSOR_DIMS, shape[i]);
  ep_protobuf_integer(tensor, TENSOR_DATA_TYPE, type);
  ep_protobuf_text(tensor, TENSOR_NAME, name);
}

void ep_onnx_tensor_head(ep_protobuf *tensor, const ep_tensor *about) {
  head_add(tensor, about->name, EP_ONNX_FLOAT, about->shape, about->dimensions);
}

ep_onnx_name ep_onnx_constant(ep_onnx_graph *graph, ep_onnx_type type, const int64_t *shape,
                              int dimensions, const void *values) {
  ep_protobuf tensor = {0};
  ep_onnx_name name = name_make(graph, "constant");
  size_t bytes = type == EP_ONNX_FLOAT ? sizeof(float) : sizeof(double);
  for (int i = 0; i < dimensions; i++) bytes *= (size_t)shape[i];
  head_add(&tensor, name.text, type, shape, dimensions);
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
