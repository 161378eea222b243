/* unfold.c: torch.nn.Unfold: the windows over an image, as columns. */
#include <stdlib.h>

#include "engine/layers/layer.h"
#include "engine/layers/windows.h"
#include "kernels/formulas/pools.h"

static bool lower(ep_lowering *w, const ep_layer_spec *layer, ep_op *op) {
  int64_t span[2];
  if (!ep_lowering_needs_image(w, layer) || !ep_lowering_window(w, layer, op, span)) return false;
  const int64_t taps = (int64_t)op->kernel[0] * op->kernel[1];
  op->out = (ep_shape){ep_multiply_saturated(op->in.channels, taps), 1,
                       ep_multiply_saturated(op->out.height, op->out.width)};
  w->out_rank = 2;
  return true;
}

/* Which number of a row number `at` of the result is; behind the last one: of the padding. */
static int64_t place_of(const ep_op *op, int64_t at) {
  const int64_t taps = (int64_t)op->kernel[0] * op->kernel[1], channel = at / op->out.width;
  const int64_t across =
      ep_window_count(op->in.width, op->kernel[1], op->stride[1], op->padding[1], op->dilation[1]);
  const int64_t window = at % op->out.width, tap = channel % taps;
  const int64_t line =
      window / across * op->stride[0] - op->padding[0] + tap / op->kernel[1] * op->dilation[0];
  const int64_t column =
      window % across * op->stride[1] - op->padding[1] + tap % op->kernel[1] * op->dilation[1];
  if (line < 0 || line >= op->in.height || column < 0 || column >= op->in.width)
    return op->in_features;
  return (channel / taps * op->in.height + line) * op->in.width + column;
}

/* The row with a 0 behind it, of which each number of the result is one. */
static void onnx(ep_onnx_graph *graph, const ep_op *op, const char *operation) {
  const int64_t behind[] = {0, 0, 0, 1}, four = 4;
  ep_protobuf node = {0};
  int64_t *places = malloc((size_t)op->out_features * sizeof *places);
  if (!places) {
    graph->nodes.failed = true;
    return;
  }
  for (int64_t i = 0; i < op->out_features; i++) places[i] = place_of(op, i);
  ep_onnx_to_vector(graph);
  ep_onnx_apply(graph, "Pad", ep_onnx_constant(graph, EP_ONNX_INT64, &four, 1, behind).text, NULL);
  ep_onnx_attribute_integer(&node, "axis", 1);
  ep_onnx_apply(graph, operation,
                ep_onnx_constant(graph, EP_ONNX_INT64, &op->out_features, 1, places).text, &node);
  free(places);
  if (op->out.width > 1) ep_onnx_to_image(graph, op->out);
}

static const ep_c_function function = {
    .text = "/* The pixels under each tap, window by window; 0 in the padding. */\n"
            "static inline void @_unfold(const @_window *s, const float *x, float *y) {\n"
            "  const int32_t taps = s->kernel[0] * s->kernel[1];\n"
            "  const int32_t across = (s->width + 2 * s->padding[1] -\n"
            "                          s->dilation[1] * (s->kernel[1] - 1) - 1) / s->stride[1] + "
            "1;\n"
            "  for (int32_t i = 0; i < s->out_channels; i++) {\n"
            "    const float *from = x + i / taps * s->height * s->width;\n"
            "    for (int32_t at = 0; at < s->out_width; at++, y++) {\n"
            "      const int32_t line = @_tap(s, 0, at / across, i % taps / s->kernel[1]);\n"
            "      const int32_t column = @_tap(s, 1, at % across, i % s->kernel[1]);\n"
            "      const int there = line >= 0 && line < s->height && column >= 0 &&\n"
            "                        column < s->width;\n"
            "      *y = there ? from[line * s->width + column] : 0;\n"
            "    }\n"
            "  }\n"
            "}\n\n"};

EP_LAYER(UNFOLD, lower, EP_ONNX("Gather", onnx),
         EP_C(.functions = {&ep_c_window, &function}, .weights = ep_c_window_table,
              .call = ep_c_window_call));
