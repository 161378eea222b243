#include <math.h>
#include <stdlib.h>

#include "engine/layers/layer.h"

/* Where a batch has too few rows is found in engine/plan/ranks.c. */
static bool lower(ep_lowering *w, const ep_layer_spec *layer, ep_op *op) {
  (void)w;
  op->eps = (float)layer->eps;
  op->momentum = (float)layer->momentum; /* batch_norm, as is sync */
  op->sync = layer->sync;
  return true;
}

static bool instance_norm_lower(ep_lowering *w, const ep_layer_spec *layer, ep_op *op) {
  char text[EP_SHAPE_BYTES];
  if (w->in_rank < 2)
    return ep_lowering_refuse(
        w, "", "instance_norm requires [C, H, W] or [channels, length], its input is %s",
        ep_lowering_shape(w, text));
  if (op->in.height * op->in.width == 1)
    return ep_lowering_refuse(w, "", "instance_norm of channels of one number would be 0");
  return lower(w, layer, op);
}

/* `count` times the same number. */
static ep_onnx_name filled(ep_onnx_graph *graph, int64_t count, float value) {
  ep_onnx_name name = {""};
  float *values = malloc((size_t)count * sizeof *values);
  for (int64_t i = 0; values && i < count; i++) values[i] = value;
  if (values) name = ep_onnx_constant(graph, EP_ONNX_FLOAT, &count, 1, values);
  if (!values) graph->nodes.failed = true;
  free(values);
  return name;
}

static void batch_norm_onnx(ep_onnx_graph *graph, const ep_op *op, const char *operation) {
  ep_protobuf node = {0};
  int64_t channels = op->in.channels;
  if (op->in.height * op->in.width > 1) ep_onnx_to_image(graph, op->in);
  ep_onnx_name weight =
      op->weight >= 0 ? ep_onnx_parameter(graph, "weight") : filled(graph, channels, 1);
  ep_onnx_name bias = op->bias >= 0 ? ep_onnx_parameter(graph, "bias") : filled(graph, channels, 0);
  ep_onnx_name mean = ep_onnx_parameter(graph, "running_mean");
  ep_onnx_name variance = ep_onnx_parameter(graph, "running_var");
  const char *inputs[] = {graph->value.name.text, weight.text, bias.text, mean.text, variance.text};
  ep_onnx_attribute_float(&node, "epsilon", op->eps);
  graph->value.name = ep_onnx_node(graph, operation, inputs, 5, &node);
}

static void instance_norm_onnx(ep_onnx_graph *graph, const ep_op *op, const char *operation) {
  ep_protobuf node = {0};
  const bool affine = op->weight >= 0;
  ep_onnx_to_image(graph, op->in);
  ep_onnx_name weight =
      affine ? ep_onnx_parameter(graph, "weight") : filled(graph, op->in.channels, 1);
  ep_onnx_name bias = affine ? ep_onnx_parameter(graph, "bias") : filled(graph, op->in.channels, 0);
  const char *inputs[] = {graph->value.name.text, weight.text, bias.text};
  ep_onnx_attribute_float(&node, "epsilon", op->eps);
  graph->value.name = ep_onnx_node(graph, operation, inputs, 3, &node);
}

/* Over a row's last three dimensions, if it is an image; the weight has the same shape. */
static void layer_norm_onnx(ep_onnx_graph *graph, const ep_op *op, const char *operation) {
  ep_protobuf node = {0};
  bool image = op->in.height * op->in.width > 1;
  if (image)
    ep_onnx_to_image(graph, op->in);
  else
    ep_onnx_to_vector(graph);
  ep_onnx_attribute_integer(&node, "axis", 1);
  ep_onnx_attribute_float(&node, "epsilon", op->eps);
  if (op->weight >= 0) {
    ep_onnx_apply_weights(graph, operation, op, &node);
    return;
  }
  int64_t shape[] = {op->in.channels, op->in.height, op->in.width};
  ep_onnx_name ones = filled(graph, op->in_features, 1);
  if (image) { /* [features] to the image's shape */
    ep_onnx_name extents = ep_onnx_constant(graph, EP_ONNX_INT64, (int64_t[]){3}, 1, shape);
    const char *inputs[] = {ones.text, extents.text};
    ones = ep_onnx_node(graph, "Reshape", inputs, 2, NULL);
  }
  ep_onnx_apply(graph, operation, ones.text, &node);
}

static const ep_c_function batch_norm_function = {
    .text = "/* Each channel has `pixels` numbers: (x - mean) * factor + bias. */\n"
            "static inline void @_batch_norm(float *x, int32_t channels, int32_t pixels,\n"
            "                                const float *mean, const float *factor, const float "
            "*bias) {\n"
            "  for (int32_t c = 0; c < channels; c++)\n"
            "    for (int32_t i = 0; i < pixels; i++, x++)\n"
            "      *x = (*x - mean[c]) * factor[c] + (bias ? bias[c] : 0);\n"
            "}\n\n"};

static const ep_c_function layer_norm_function = {
    .text =
        "static inline void @_layer_norm(float *x, int32_t count, float eps, const float *weight,\n"
        "                                const float *bias) {\n"
        "  double mean = 0, variance = 0;\n"
        "  for (int32_t i = 0; i < count; i++) mean += x[i];\n"
        "  mean /= count;\n"
        "  for (int32_t i = 0; i < count; i++) variance += (x[i] - mean) * (x[i] - mean);\n"
        "  const double factor = 1 / sqrt(variance / count + eps);\n"
        "  for (int32_t i = 0; i < count; i++) {\n"
        "    const double n = (x[i] - mean) * factor;\n"
        "    x[i] = (float)(n * (weight ? weight[i] : 1) + (bias ? bias[i] : 0));\n"
        "  }\n"
        "}\n\n"};

static const ep_c_function instance_norm_function = {
    .text =
        "static inline void @_instance_norm(float *x, int32_t count, float eps, int32_t channels,\n"
        "                                   const float *weight, const float *bias) {\n"
        "  const int32_t pixels = count / channels;\n"
        "  for (int32_t c = 0; c < channels; c++, x += pixels) {\n"
        "    double mean = 0, variance = 0;\n"
        "    for (int32_t i = 0; i < pixels; i++) mean += x[i];\n"
        "    mean /= pixels;\n"
        "    for (int32_t i = 0; i < pixels; i++) variance += (x[i] - mean) * (x[i] - mean);\n"
        "    const double factor = (weight ? weight[c] : 1) / sqrt(variance / pixels + eps);\n"
        "    for (int32_t i = 0; i < pixels; i++)\n"
        "      x[i] = (float)((x[i] - mean) * factor + (bias ? bias[c] : 0));\n"
        "  }\n"
        "}\n\n"};

/* The mean of a channel, and what the distance from it is multiplied by. */
static void batch_norm_weights(const ep_c_op *c) {
  const ep_op *op = c->op;
  int64_t channels = op->in.channels;
  const float *mean = c->state + c->program->parameters + op->running, *variance = mean + channels;
  float *factor = malloc((size_t)channels * sizeof *factor);
  if (!factor) {
    c->source->failed = true;
    return;
  }
  for (int64_t i = 0; i < channels; i++) {
    double weight = op->weight < 0 ? 1 : (double)c->state[op->weight + i];
    factor[i] = (float)(weight / sqrt((double)variance[i] + (double)op->eps));
  }
  ep_c_table(c, "mean", mean, channels);
  ep_c_table(c, "factor", factor, channels);
  ep_c_parameter(c, "bias", op->bias, channels);
  free(factor);
}

static void batch_norm_call(const ep_c_op *c) {
  ep_c_add(c->source, "  @_batch_norm(@_memory_%d, %lld, %lld", c->y, (long long)c->op->in.channels,
           (long long)(c->op->in.height * c->op->in.width));
  ep_c_pass(c, "mean", true);
  ep_c_pass(c, "factor", true);
  ep_c_pass(c, "bias", c->op->bias >= 0);
  ep_c_end(c);
}

static void layer_norm_call(const ep_c_op *c) {
  ep_c_begin_in_place(c);
  ep_c_end_parameters(c);
}

static void instance_norm_call(const ep_c_op *c) {
  ep_c_begin_in_place(c);
  ep_c_add(c->source, ", %lld", (long long)c->op->in.channels);
  ep_c_end_parameters(c);
}

EP_LAYER(BATCH_NORM, lower, EP_ONNX("BatchNormalization", batch_norm_onnx),
         EP_C(.functions = {&batch_norm_function}, .weights = batch_norm_weights,
              .call = batch_norm_call));
EP_LAYER(LAYER_NORM, lower, EP_ONNX("LayerNormalization", layer_norm_onnx),
         EP_C(.functions = {&layer_norm_function}, .weights = ep_c_parameters,
              .numbers = {EP_C_NUMBER(eps)}, .call = layer_norm_call));
EP_LAYER_WITH(INSTANCE_NORM, instance_norm_lower,
              EP_ONNX("InstanceNormalization", instance_norm_onnx),
              EP_C(.functions = {&instance_norm_function}, .weights = ep_c_parameters,
                   .numbers = {EP_C_NUMBER(eps)}, .call = instance_norm_call),
              .wants_sides = true);
