/* softmax.c: over all features of a row. */
#include "engine/layers/layer.h"

static bool lower(ep_lowering *w, const ep_layer_spec *layer, ep_op *op) {
  (void)layer, (void)op;
  return ep_lowering_needs_vector(w);
}

static void onnx(ep_onnx_graph *graph, const ep_op *op, const char *operation) {
  (void)op;
  ep_protobuf node = {0};
  ep_onnx_to_vector(graph);
  ep_onnx_attribute_integer(&node, "axis", 1);
  ep_onnx_apply(graph, operation, NULL, &node);
}

static const ep_c_function softmax_function = {
    .text = "static inline void @_softmax(float *x, int32_t count) {\n"
            "  float most = x[0];\n"
            "  double sum = 0;\n"
            "  for (int32_t i = 1; i < count; i++) most = x[i] > most ? x[i] : most;\n"
            "  for (int32_t i = 0; i < count; i++) sum += x[i] = expf(x[i] - most);\n"
            "  for (int32_t i = 0; i < count; i++) x[i] = (float)(x[i] / sum);\n"
            "}\n\n"};

static const ep_c_function log_softmax_function = {
    .text = "static inline void @_log_softmax(float *x, int32_t count) {\n"
            "  float most = x[0];\n"
            "  double sum = 0;\n"
            "  for (int32_t i = 1; i < count; i++) most = x[i] > most ? x[i] : most;\n"
            "  for (int32_t i = 0; i < count; i++) sum += expf(x[i] - most);\n"
            "  sum = log(sum);\n"
            "  for (int32_t i = 0; i < count; i++) x[i] = (float)(x[i] - most - sum);\n"
            "}\n\n"};

EP_LAYER(SOFTMAX, lower, EP_ONNX("Softmax", onnx),
         EP_C(.functions = {&softmax_function}, .call = ep_c_call_in_place));
EP_LAYER(LOG_SOFTMAX, lower, EP_ONNX("LogSoftmax", onnx),
         EP_C(.functions = {&log_softmax_function}, .call = ep_c_call_in_place));
