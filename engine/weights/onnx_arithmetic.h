/* onnx_arithmetic.h: ONNX nodes as one writes formulas: each function adds a node on the values
 * that it takes, and returns the name of what the node gives. */
#ifndef EP_ENGINE_WEIGHTS_ONNX_ARITHMETIC_H
#define EP_ENGINE_WEIGHTS_ONNX_ARITHMETIC_H

#include "engine/layers/onnx/graph.h"

ep_onnx_name ep_onnx_of(ep_onnx_graph *graph, const char *operation, ep_onnx_name value);
ep_onnx_name ep_onnx_of_two(ep_onnx_graph *graph, const char *operation, ep_onnx_name first,
                            ep_onnx_name second);
ep_onnx_name ep_onnx_cast_of(ep_onnx_graph *graph, ep_onnx_name value, ep_onnx_type type);

/* A float64, and a node on a value and one; the same of int64. */
ep_onnx_name ep_onnx_number(ep_onnx_graph *graph, double number);
ep_onnx_name ep_onnx_with(ep_onnx_graph *graph, const char *operation, ep_onnx_name value,
                          double number);
ep_onnx_name ep_onnx_with_integer(ep_onnx_graph *graph, const char *operation, ep_onnx_name value,
                                  int64_t integer);

#endif
