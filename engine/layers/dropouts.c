/* dropouts.c: in evaluation nothing happens. */
#include "engine/layers/layer.h"

static bool dropout_lower(ep_lowering *w, const ep_layer_spec *layer, ep_op *op) {
  (void)w;
  op->p = (float)layer->p;
  return true;
}

static bool dropout2d_lower(ep_lowering *w, const ep_layer_spec *layer, ep_op *op) {
  op->p = (float)layer->p;
  return ep_lowering_needs_image(w, layer);
}

static void onnx(ep_onnx_graph *graph, const ep_op *op, const char *operation) {
  (void)graph, (void)op, (void)operation;
}

EP_LAYER(DROPOUT, dropout_lower, EP_ONNX(NULL, onnx), EP_C(.call = ep_c_call_nothing));
EP_LAYER(DROPOUT2D, dropout2d_lower, EP_ONNX(NULL, onnx), EP_C(.call = ep_c_call_nothing));
