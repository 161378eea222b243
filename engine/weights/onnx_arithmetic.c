#include "engine/weights/onnx_arithmetic.h"

ep_onnx_name ep_onnx_of(ep_onnx_graph *graph, const char *operation, ep_onnx_name value) {
  const char *inputs[] = {value.text};
  return ep_onnx_node(graph, operation, inputs, 1, NULL);
}

ep_onnx_name ep_onnx_of_two(ep_onnx_graph *graph, const char *operation, ep_onnx_name first,
                            ep_onnx_name second) {
  const char *inputs[] = {first.text, second.text};
  return ep_onnx_node(graph, operation, inputs, 2, NULL);
}

ep_onnx_name ep_onnx_cast_of(ep_onnx_graph *graph, ep_onnx_name value, ep_onnx_type type) {
  const char *inputs[] = {value.text};
  ep_protobuf node = {0};
  ep_onnx_attribute_integer(&node, "to", type);
  return ep_onnx_node(graph, "Cast", inputs, 1, &node);
}

ep_onnx_name ep_onnx_number(ep_onnx_graph *graph, double number) {
  return ep_onnx_constant(graph, EP_ONNX_DOUBLE, NULL, 0, &number);
}

ep_onnx_name ep_onnx_with(ep_onnx_graph *graph, const char *operation, ep_onnx_name value,
                          double number) {
  return ep_onnx_of_two(graph, operation, value, ep_onnx_number(graph, number));
}

ep_onnx_name ep_onnx_with_integer(ep_onnx_graph *graph, const char *operation, ep_onnx_name value,
                                  int64_t integer) {
  ep_onnx_name other = ep_onnx_constant(graph, EP_ONNX_INT64, NULL, 0, &integer);
  return ep_onnx_of_two(graph, operation, value, other);
}
