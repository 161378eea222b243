/* onnx_columns.h: what was learnt of a table's columns as nodes of an ONNX graph: from raw cells to
 * the rows that the network takes, as ep_encoding_apply computes them. */
#ifndef EP_ENGINE_WEIGHTS_ONNX_COLUMNS_H
#define EP_ENGINE_WEIGHTS_ONNX_COLUMNS_H

#include "engine/data/columns/encoding.h"
#include "engine/layers/onnx/graph.h"

/* The encoded rows, float32 [N, features], are graph->value then. */
void ep_onnx_columns_add(ep_onnx_graph *graph, const ep_encoding *encoding);
/* The inputs that they come from: a column that becomes features is one, by its name. */
void ep_onnx_columns_describe(ep_onnx_graph *graph, const ep_encoding *encoding);

#endif
