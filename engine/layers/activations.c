/* activations.c: number by number, in any shape. */
#include <math.h>

#include "engine/layers/layer.h"

/* All figures that an activation may have: those of others are 0. */
static bool lower(ep_lowering *w, const ep_layer_spec *layer, ep_op *op) {
  (void)w;
  op->negative_slope = (float)layer->negative_slope;
  op->alpha = (float)layer->alpha;
  op->beta = (float)layer->beta;
  op->threshold = (float)layer->threshold;
  return true;
}

static void leaky_relu_onnx(ep_onnx_graph *graph, const ep_op *op, const char *operation) {
  ep_protobuf node = {0};
  ep_onnx_attribute_float(&node, "alpha", op->negative_slope);
  ep_onnx_apply(graph, operation, NULL, &node);
}

/* x * (1 + erf(x / sqrt 2)) / 2; ONNX's own Gelu comes with opset 20. */
static void gelu_onnx(ep_onnx_graph *graph, const ep_op *op, const char *operation) {
  (void)op;
  ep_onnx_name x = graph->value.name;
  ep_onnx_apply(graph, "Mul", ep_onnx_scalar(graph, (float)M_SQRT1_2).text, NULL);
  ep_onnx_apply(graph, operation, NULL, NULL);
  ep_onnx_apply(graph, "Add", ep_onnx_scalar(graph, 1).text, NULL);
  ep_onnx_apply(graph, "Mul", x.text, NULL);
  ep_onnx_apply(graph, "Mul", ep_onnx_scalar(graph, 0.5F).text, NULL);
}

static void elu_onnx(ep_onnx_graph *graph, const ep_op *op, const char *operation) {
  ep_protobuf node = {0};
  ep_onnx_attribute_float(&node, "alpha", op->alpha);
  ep_onnx_apply(graph, operation, NULL, &node);
}

/* ONNX's own slope is a fifth. */
static void hardsigmoid_onnx(ep_onnx_graph *graph, const ep_op *op, const char *operation) {
  (void)op;
  ep_protobuf node = {0};
  ep_onnx_attribute_float(&node, "alpha", 1.0F / 6);
  ep_onnx_apply(graph, operation, NULL, &node);
}

static void silu_onnx(ep_onnx_graph *graph, const ep_op *op, const char *operation) {
  (void)op;
  ep_onnx_name x = graph->value.name;
  ep_onnx_apply(graph, operation, NULL, NULL);
  ep_onnx_apply(graph, "Mul", x.text, NULL);
}

/* x tanh(ln(1 + e^x)); ONNX's own Mish comes with opset 18. */
static void mish_onnx(ep_onnx_graph *graph, const ep_op *op, const char *operation) {
  (void)op;
  ep_onnx_name x = graph->value.name;
  ep_onnx_apply(graph, operation, NULL, NULL);
  ep_onnx_apply(graph, "Tanh", NULL, NULL);
  ep_onnx_apply(graph, "Mul", x.text, NULL);
}

/* beta x > threshold ? x : ln(1 + e^(beta x)) / beta */
static void softplus_onnx(ep_onnx_graph *graph, const ep_op *op, const char *operation) {
  ep_onnx_name x = graph->value.name, beta = ep_onnx_scalar(graph, op->beta);
  ep_onnx_apply(graph, "Mul", beta.text, NULL);
  ep_onnx_name scaled = graph->value.name;
  ep_onnx_apply(graph, operation, NULL, NULL);
  ep_onnx_apply(graph, "Div", beta.text, NULL);
  ep_onnx_name curve = graph->value.name, threshold = ep_onnx_scalar(graph, op->threshold);
  const char *compared[] = {scaled.text, threshold.text};
  ep_onnx_name above = ep_onnx_node(graph, "Greater", compared, 2, NULL);
  const char *chosen[] = {above.text, x.text, curve.text};
  graph->value.name = ep_onnx_node(graph, "Where", chosen, 3, NULL);
}

EP_LAYER(RELU, ep_lowering_keeps_shape, EP_ONNX_NODE("Relu"), EP_C_EACH("relu", "v <= 0 ? 0 : v"));
EP_LAYER(TANH, ep_lowering_keeps_shape, EP_ONNX_NODE("Tanh"), EP_C_EACH("tanh", "tanhf(v)"));
EP_LAYER(SIGMOID, ep_lowering_keeps_shape, EP_ONNX_NODE("Sigmoid"),
         EP_C_EACH("sigmoid", "1 / (1 + expf(-v))"));
EP_LAYER(GELU, ep_lowering_keeps_shape, EP_ONNX("Erf", gelu_onnx),
         EP_C_EACH("gelu", "v * 0.5f * (1 + erff(v * 0.707106781f))"));
EP_LAYER(SIN, ep_lowering_keeps_shape, EP_ONNX_NODE("Sin"), EP_C_EACH("sin", "sinf(v)"));
EP_LAYER(SILU, ep_lowering_keeps_shape, EP_ONNX("Sigmoid", silu_onnx),
         EP_C_EACH("silu", "v / (1 + expf(-v))"));
EP_LAYER(MISH, ep_lowering_keeps_shape, EP_ONNX("Softplus", mish_onnx),
         EP_C_EACH_WITH("mish", "", "    const float e = expf(v), n = e * (e + 2);\n",
                        "v > 20 ? v : v * (n / (n + 2))", 0));
EP_LAYER(HARDSWISH, ep_lowering_keeps_shape, EP_ONNX_NODE("HardSwish"),
         EP_C_EACH("hardswish", "v >= 3 ? v : v <= -3 ? 0 : v * (v + 3) / 6"));
EP_LAYER(SELU, ep_lowering_keeps_shape, EP_ONNX_NODE("Selu"),
         EP_C_EACH("selu", "1.05070099f * (v <= 0 ? 1.67326324f * expm1f(v) : v)"));
EP_LAYER(HARDSIGMOID, ep_lowering_keeps_shape, EP_ONNX("HardSigmoid", hardsigmoid_onnx),
         EP_C_EACH("hardsigmoid", "v >= 3 ? 1 : v <= -3 ? 0 : v / 6 + 0.5f"));
EP_LAYER(SOFTSIGN, ep_lowering_keeps_shape, EP_ONNX_NODE("Softsign"),
         EP_C_EACH("softsign", "v / (1 + fabsf(v))"));
EP_LAYER(LEAKY_RELU, lower, EP_ONNX("LeakyRelu", leaky_relu_onnx),
         EP_C_EACH_WITH("leaky_relu", ", float slope", "", "v > 0 ? v : slope * v",
                        EP_C_NUMBER(negative_slope)));
EP_LAYER(ELU, lower, EP_ONNX("Elu", elu_onnx),
         EP_C_EACH_WITH("elu", ", float alpha", "", "v <= 0 ? alpha * expm1f(v) : v",
                        EP_C_NUMBER(alpha)));
EP_LAYER(SOFTPLUS, lower, EP_ONNX("Softplus", softplus_onnx),
         EP_C_EACH_WITH("softplus", ", float beta, float threshold", "",
                        "v * beta > threshold ? v : log1pf(expf(v * beta)) / beta",
                        EP_C_NUMBER(beta), EP_C_NUMBER(threshold)));
