/* unfold.c: torch.nn.Unfold: the windows over an image, as columns. */
#include <stdlib.h>

#include "engine/layers/layer.h"
#include "engine/layers/windows.h"

static bool lower(ep_lowering *w, const ep_layer_spec *layer, ep_op *op) {
  int64_t span[2];
  if (!ep_lowering_needs_image(w, layer) || !ep_lowering_window(w, layer, op, span)) return false;
  const int64_t taps = (int64_t)op->kernel[0] * op->kernel[1];
  op->out = (ep_shape){ep_multiply_saturated(op->in.channels, taps), 1,
                       ep_multiply_saturated(op->out.height, op->out.width)};
  w->out_rank = 2;
  return true;
}

/* A convolution, each of whose outputs takes one tap of one channel. */
static void onnx(ep_onnx_graph *graph, const ep_op *op, const char *operation) {
  ep_protobuf node = {0};
  const int64_t taps = (int64_t)op->kernel[0] * op->kernel[1];
  const int64_t shape[] = {op->out.channels, 1, op->kernel[0], op->kernel[1]};
  float *picks = calloc((size_t)op->out.channels, (size_t)taps * sizeof *picks);
  if (!picks) {
    graph->nodes.failed = true;
    return;
  }
  for (int64_t i = 0; i < op->out.channels; i++) picks[i * taps + i % taps] = 1;
  ep_onnx_name weight = ep_onnx_constant(graph, EP_ONNX_FLOAT, shape, 4, picks);
  free(picks);
  ep_onnx_to_image(graph, op->in);
  ep_onnx_window(&node, op);
  ep_onnx_dilations(&node, op);
  ep_onnx_attribute_integer(&node, "group", op->in.channels);
  ep_onnx_apply(graph, operation, weight.text, &node);
  ep_onnx_to_vector(graph);
  ep_onnx_to_image(graph, op->out);
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

EP_LAYER(UNFOLD, lower, EP_ONNX("Conv", onnx),
         EP_C(.functions = {&ep_c_window, &function}, .weights = ep_c_window_table,
              .call = ep_c_window_call));
