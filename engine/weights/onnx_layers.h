/* onnx_layers.h: each layer as nodes of an ONNX graph (opset 17), as it stands in evaluation.
 *
 * Operators: https://github.com/onnx/onnx/blob/main/docs/Operators.md */
#ifndef EP_ENGINE_WEIGHTS_ONNX_LAYERS_H
#define EP_ENGINE_WEIGHTS_ONNX_LAYERS_H

#include "engine/weights/onnx_graph.h"

/* Adds the nodes of `op` behind graph->value; its weights are the constants graph->layer.weight, …
 * that the file will have. residual has none: ep_onnx_residual_add. */
void ep_onnx_layer_add(ep_onnx_graph *graph, const ep_op *op);
/* Adds `source`, which came before the block, to graph->value. */
void ep_onnx_residual_add(ep_onnx_graph *graph, const ep_op *op, const ep_onnx_value *source);

/* Whether there is a way to write such a layer. */
bool ep_onnx_layer_known(ep_layer_type type);

#endif
