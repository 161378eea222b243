/* onnx_outputs.h: what a network's outputs mean, as outputs of an ONNX graph. */
#ifndef EP_ENGINE_WEIGHTS_ONNX_OUTPUTS_H
#define EP_ENGINE_WEIGHTS_ONNX_OUTPUTS_H

#include "engine/data/columns/encoding.h"
#include "engine/layers/onnx/graph.h"

/* graph->value, float32 [N, outputs], is the graph's output "y"; of a classifier with one class a
 * row there are "class" and "probabilities" (onnx.h) besides. */
void ep_onnx_outputs_add(ep_onnx_graph *graph, const ep_encoding *encoding, ep_loss_type loss,
                         int64_t outputs);

#endif
