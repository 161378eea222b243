/* conv.c: conv2d, and conv1d, which is a conv2d along the width. */
#include <assert.h>

#include "engine/layers/layer.h"
#include "engine/layers/products.h"
#include "engine/layers/windows.h"
#include "kernels/formulas/pools.h"

static bool groups_check(ep_lowering *w, const ep_layer_spec *layer, ep_op *op) {
  int64_t in = w->shape.channels, out = layer->out_channels, groups = layer->groups;
  assert(groups > 0);
  ep_lowering_inputs_check(w, "in_channels", "channels", layer->in_channels, in);
  if (in % groups || out % groups)
    return ep_lowering_refuse(
        w, "groups",
        "%lld groups: the input channels, %lld, and the output channels, %lld, must both "
        "be a multiple",
        (long long)groups, (long long)in, (long long)out);
  op->groups = groups;
  op->out.channels = out;
  return true;
}

static bool conv2d_lower(ep_lowering *w, const ep_layer_spec *layer, ep_op *op) {
  int64_t span[2];
  return ep_lowering_needs_image(w, layer) && groups_check(w, layer, op) &&
         ep_lowering_window(w, layer, op, span);
}

/* A conv2d along the width. */
static bool conv1d_lower(ep_lowering *w, const ep_layer_spec *layer, ep_op *op) {
  char text[EP_SHAPE_BYTES];
  ep_layer_spec along = *layer;
  int64_t span[2];
  if (w->in_rank != 2)
    return ep_lowering_refuse(
        w, "", "conv1d requires [channels, length], its input is %s: insert a reshape layer",
        ep_lowering_shape(w, text));
  if (!groups_check(w, layer, op)) return false;
  along.kernel_size[0] = along.stride[0] = along.dilation[0] = 1;
  along.padding[0] = 0;
  if (layer->causal && layer->padding[1] > 0)
    return ep_lowering_refuse(w, "padding",
                              "a causal conv1d is padded on the left alone: leave padding out");
  const int64_t past = (int64_t)layer->dilation[1] * (layer->kernel_size[1] - 1);
  if (layer->causal && past > EP_LIMIT_KERNEL)
    return ep_lowering_refuse(w, "dilation", "the window reaches %lld places back: the limit is %d",
                              (long long)past, EP_LIMIT_KERNEL);
  if (layer->causal) along.padding[1] = (int)past;
  op->is_1d = true;
  op->causal = layer->causal && along.padding[1] > 0;
  if (!ep_lowering_window(w, &along, op, span)) return false;
  if (op->causal)
    op->out.width = ep_window_count(w->shape.width + along.padding[1], op->kernel[1], op->stride[1],
                                    0, op->dilation[1]);
  return true;
}

/* The weight of a conv1d with a height of 1. */
static ep_onnx_name flat_weight(ep_onnx_graph *graph, const ep_op *op) {
  ep_onnx_name weight = ep_onnx_parameter(graph, "weight");
  const int64_t four = 4,
                shape[] = {op->out.channels, op->in.channels / op->groups, 1, op->kernel[1]};
  ep_onnx_name to = ep_onnx_constant(graph, EP_ONNX_INT64, &four, 1, shape);
  const char *inputs[] = {weight.text, to.text};
  return ep_onnx_node(graph, "Reshape", inputs, 2, NULL);
}

static void onnx(ep_onnx_graph *graph, const ep_op *op, const char *operation) {
  ep_protobuf node = {0};
  ep_onnx_to_image(graph, op->in);
  ep_onnx_name weight = op->is_1d ? flat_weight(graph, op) : ep_onnx_parameter(graph, "weight");
  ep_onnx_window(&node, op);
  ep_onnx_dilations(&node, op);
  ep_onnx_attribute_integer(&node, "group", op->groups);
  ep_onnx_name bias = ep_onnx_parameter(graph, "bias");
  const char *inputs[] = {graph->value.name.text, weight.text, bias.text};
  graph->value.name = ep_onnx_node(graph, operation, inputs, op->bias >= 0 ? 3 : 2, &node);
}

static const char pixel_text[] =
    "/* sum[k] += x * w[k] */\n"
    "static inline void @_multiply(float x, const %s *w, int32_t width, float *sum) {\n"
    "  if (width == 8)\n"
    "    for (int32_t k = 0; k < 8; k++) sum[k] += x * (float)w[k];\n"
    "  else\n"
    "    for (int32_t k = 0; k < width; k++) sum[k] += x * (float)w[k];\n"
    "}\n\n"
    "/* The sums of one pixel: x is the first channel of the group. */\n"
    "static inline void @_conv2d_pixel(const @_window *s, const float *x, const %s *w,\n"
    "                                  int32_t width, int32_t h, int32_t v, float *sum) {\n"
    "  for (int32_t c = 0; c < s->channels / s->groups; c++, x += s->height * s->width) {\n"
    "    float part[8] = {0};\n"
    "    for (int32_t i = 0; i < s->kernel[0]; i++) {\n"
    "      const int32_t line = @_tap(s, 0, h, i);\n"
    "      for (int32_t j = 0; j < s->kernel[1]; j++, w += width) {\n"
    "        const int32_t column = @_tap(s, 1, v, j);\n"
    "        if (line < 0 || line >= s->height || column < 0 || column >= s->width) continue;\n"
    "        @_multiply(x[line * s->width + column], w, width, part);\n"
    "      }\n"
    "    }\n"
    "    for (int32_t k = 0; k < 8; k++) sum[k] += part[k];\n"
    "  }\n"
    "}\n\n";

static const char conv_text[] =
    "/* w: in blocks of 8 outputs of a group, as of a linear layer. */\n"
    "static inline void @_conv2d(const @_window *s, const float *x, float *y, const %s *w,\n"
    "                            %sconst float *bias) {\n"
    "  const int32_t outputs = s->out_channels / s->groups, inputs = s->channels / s->groups;\n"
    "  const int32_t pixels = s->out_height * s->out_width;\n"
    "  for (int32_t group = 0; group < s->groups; group++) {\n"
    "    const float *from = x + group * inputs * s->height * s->width;\n"
    "    for (int32_t o = 0; o < outputs; o += 8) {\n"
    "      const int32_t width = outputs - o < 8 ? outputs - o : 8;\n"
    "      const int32_t first = group * outputs + o;\n"
    "      for (int32_t h = 0; h < s->out_height; h++) {\n"
    "        for (int32_t v = 0; v < s->out_width; v++) {\n"
    "          float sum[8] = {0};\n"
    "          @_conv2d_pixel(s, from, w, width, h, v, sum);\n"
    "          @_finish(sum, width, pixels,%s bias ? bias + first : 0,\n"
    "                   y + first * pixels + h * s->out_width + v);\n"
    "        }\n"
    "      }\n"
    "      w += inputs * s->kernel[0] * s->kernel[1] * width;\n"
    "    }\n"
    "  }\n"
    "}\n\n";

static void functions_write(ep_c_source *source, bool quantized) {
  const char *weight = quantized ? "int8_t" : "float";
  ep_c_add(source, pixel_text, weight, weight);
  ep_c_add(source, conv_text, weight, quantized ? "const float *scale, " : "",
           quantized ? " scale + first," : "");
}

static const ep_c_function functions = {.write = functions_write};

static void weights(const ep_c_op *c) {
  ep_c_window_table(c);
  ep_c_products_weights(c);
}

static void call(const ep_c_op *c) {
  ep_c_window_begin(c);
  ep_c_products_end(c);
}

#define CONV_C                                                                             \
  EP_C(.functions = {&ep_c_window, &ep_c_products_finish, &functions}, .weights = weights, \
       .call = call, .quantized = true)
EP_LAYER_WITH(CONV2D, conv2d_lower, EP_ONNX("Conv", onnx), CONV_C, .width = "out_channels");
EP_LAYER_WITH(CONV1D, conv1d_lower, EP_ONNX("Conv", onnx), CONV_C, .wants_sides = true);
