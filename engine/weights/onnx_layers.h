/* onnx_layers.h: each layer as nodes of an ONNX graph (opset 17), as it stands in evaluation.
 *
 * Operators: https://github.com/onnx/onnx/blob/main/docs/Operators.md */
#ifndef EP_ENGINE_WEIGHTS_ONNX_LAYERS_H
#define EP_ENGINE_WEIGHTS_ONNX_LAYERS_H

#include "engine/weights/onnx_graph.h"

/* Adds the nodes of `op`, which leave graph->value; its weights are the constants
 * graph->layer.weight, … that the file will have. inputs: [op->inputs]. */
void ep_onnx_layer_add(ep_onnx_graph *graph, const ep_op *op, const ep_onnx_value *inputs);

/* Whether there is a way to write such an operator. */
bool ep_onnx_layer_known(ep_layer_type type);

#endif
