/* gru.c: torch.nn.GRU: gates r, z, n in this order in each parameter. */
#include <stdlib.h>

#include "engine/layers/layer.h"

enum { GATES = 3, PARAMETERS = 4, BIASES = 2 };

static bool lower(ep_lowering *w, const ep_layer_spec *layer, ep_op *op) {
  char text[EP_SHAPE_BYTES];
  if (w->in_rank != 2)
    return ep_lowering_refuse(
        w, "", "gru requires [channels, length], its input is %s: insert a reshape layer",
        ep_lowering_shape(w, text));
  ep_lowering_inputs_check(w, "input_size", "channels", layer->in_features, w->shape.channels);
  op->out.channels = layer->out_features;
  return true;
}

/* A node of a value and a list of integers, which newer operators have as an input. */
static ep_onnx_name moved(ep_onnx_graph *graph, const char *operation, ep_onnx_name value,
                          const int64_t *integers, int count) {
  const int64_t length = count;
  ep_onnx_name list = ep_onnx_constant(graph, EP_ONNX_INT64, &length, 1, integers);
  const char *inputs[] = {value.text, list.text};
  return ep_onnx_node(graph, operation, inputs, 2, NULL);
}

static ep_onnx_name transposed(ep_onnx_graph *graph, ep_onnx_name value, const int64_t *order,
                               int count) {
  ep_protobuf node = {0};
  const char *inputs[] = {value.text};
  ep_onnx_attribute_integers(&node, "perm", order, count);
  return ep_onnx_node(graph, "Transpose", inputs, 1, &node);
}

/* A parameter with its gates as ONNX has them, z, r, n, and an axis of directions before. */
static ep_onnx_name reordered(ep_onnx_graph *graph, const ep_op *op, ep_onnx_name parameter) {
  static const int order[GATES] = {1, 0, 2};
  const int64_t units = op->out.channels, rows = GATES * units, first = 0;
  int64_t *places = malloc((size_t)rows * sizeof *places);
  if (!places) {
    graph->nodes.failed = true;
    return parameter;
  }
  for (int64_t i = 0; i < rows; i++) places[i] = order[i / units] * units + i % units;
  ep_onnx_name from = ep_onnx_constant(graph, EP_ONNX_INT64, &rows, 1, places);
  free(places);
  const char *inputs[] = {parameter.text, from.text};
  return moved(graph, "Unsqueeze", ep_onnx_node(graph, "Gather", inputs, 2, NULL), &first, 1);
}

static void onnx(ep_onnx_graph *graph, const ep_op *op, const char *operation) {
  const int64_t to_steps[] = {3, 0, 1, 2}, to_channels[] = {1, 2, 0}, last = 3, directions = 1,
                height = 2;
  ep_protobuf node = {0}, along = {0};
  ep_onnx_name of[PARAMETERS] = {0}, biases = {0};
  ep_onnx_to_image(graph, op->in); /* [rows, channels, 1, length] to [length, rows, channels] */
  ep_onnx_name x =
      moved(graph, "Squeeze", transposed(graph, graph->value.name, to_steps, 4), &last, 1);
  for (int k = 0; k < PARAMETERS; k++)
    if (op->parameter[k] >= 0)
      of[k] = reordered(graph, op, ep_onnx_parameter(graph, ep_op_parameter(op, k)->name));
  const char *inputs[] = {x.text, of[0].text, of[1].text, biases.text};
  const bool has_biases = op->parameter[BIASES] >= 0;
  if (has_biases) {
    const char *both[] = {of[BIASES].text, of[BIASES + 1].text};
    ep_onnx_attribute_integer(&along, "axis", 1);
    biases = ep_onnx_node(graph, "Concat", both, 2, &along);
  }
  ep_onnx_attribute_integer(&node, "hidden_size", op->out.channels);
  ep_onnx_attribute_integer(&node, "linear_before_reset", 1);
  x = ep_onnx_node(graph, operation, inputs, has_biases ? 4 : 3, &node);
  x = transposed(graph, moved(graph, "Squeeze", x, &directions, 1), to_channels, 3);
  graph->value.name = moved(graph, "Unsqueeze", x, &height, 1);
  graph->value.image = true;
}

static const ep_c_function function = {
    .text = "/* Row `at` of w times numbers `apart` from each other, and its bias. */\n"
            "static inline double @_gru_sum(const float *w, const float *bias, int32_t at,\n"
            "                               const float *x, int32_t count, int32_t apart) {\n"
            "  double sum = bias ? bias[at] : 0;\n"
            "  for (int32_t i = 0; x && i < count; i++) sum += (double)w[at * count + i] * x[i * "
            "apart];\n"
            "  return sum;\n"
            "}\n\n"
            "/* Gates r, z, n; y is the state after each step. */\n"
            "static inline void @_gru(const float *x, float *y, int32_t channels, int32_t units,\n"
            "                         int32_t length, const float *w, const float *u,\n"
            "                         const float *input_bias, const float *state_bias) {\n"
            "  for (int32_t t = 0; t < length; t++) {\n"
            "    const float *before = t > 0 ? y + t - 1 : 0;\n"
            "    for (int32_t k = 0; k < units; k++) {\n"
            "      double in[3], of_state[3];\n"
            "      for (int32_t gate = 0; gate < 3; gate++) {\n"
            "        const int32_t at = gate * units + k;\n"
            "        in[gate] = @_gru_sum(w, input_bias, at, x + t, channels, length);\n"
            "        of_state[gate] = @_gru_sum(u, state_bias, at, before, units, length);\n"
            "      }\n"
            "      const double r = 1 / (1 + exp(-in[0] - of_state[0]));\n"
            "      const double z = 1 / (1 + exp(-in[1] - of_state[1]));\n"
            "      const double n = tanh(in[2] + r * of_state[2]);\n"
            "      const double old = before ? before[k * length] : 0;\n"
            "      y[k * length + t] = (float)((1 - z) * n + z * old);\n"
            "    }\n"
            "  }\n"
            "}\n\n"};

static void call(const ep_c_op *c) {
  ep_c_add(c->source, "  @_gru(@_memory_%d, @_memory_%d, %lld, %lld, %lld", c->x, c->y,
           (long long)c->op->in.channels, (long long)c->op->out.channels,
           (long long)c->op->in.width);
  ep_c_end_parameters(c);
}

EP_LAYER_WITH(GRU, lower, EP_ONNX("GRU", onnx),
              EP_C(.functions = {&function}, .weights = ep_c_parameters, .call = call),
              .wants_sides = true, .width = "hidden_size");
