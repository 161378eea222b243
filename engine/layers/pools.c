#include <stdlib.h>

#include "engine/layers/layer.h"
#include "engine/layers/windows.h"
#include "kernels/formulas/pools.h"

static bool pool_lower(ep_lowering *w, const ep_layer_spec *layer, ep_op *op) {
  int64_t span[2];
  if (!ep_lowering_needs_image(w, layer) || !ep_lowering_window(w, layer, op, span)) return false;
  for (int i = 0; i < 2; i++)
    if (op->padding[i] > span[i] / 2)
      return ep_lowering_refuse(w, "padding", "%d is more than half of the window, %lld",
                                op->padding[i], (long long)span[i]);
  return true;
}

static bool adaptive_lower(ep_lowering *w, const ep_layer_spec *layer, ep_op *op) {
  if (!ep_lowering_needs_image(w, layer)) return false;
  op->out.height = layer->output_size[0];
  op->out.width = layer->output_size[1];
  return true;
}

static void max_onnx(ep_onnx_graph *graph, const ep_op *op, const char *operation) {
  ep_protobuf node = {0};
  ep_onnx_to_image(graph, op->in);
  ep_onnx_window(&node, op);
  ep_onnx_dilations(&node, op);
  ep_onnx_apply(graph, operation, NULL, &node);
}

static void average_pool(ep_onnx_graph *graph, const ep_op *op, const char *operation) {
  ep_protobuf node = {0};
  ep_onnx_window(&node, op);
  ep_onnx_attribute_integer(&node, "count_include_pad", 1);
  ep_onnx_apply(graph, operation, NULL, &node);
}

static void avg_onnx(ep_onnx_graph *graph, const ep_op *op, const char *operation) {
  ep_onnx_to_image(graph, op->in);
  average_pool(graph, op, operation);
}

/* Whether the n adaptive windows over `size` are alike and equally far apart. */
static bool windows_even(int64_t n, int64_t size, int *kernel, int *stride) {
  int64_t width = ep_adaptive_end(0, n, size);
  int64_t step = n > 1 ? ep_adaptive_first(1, n, size) : 1;
  *kernel = (int)width;
  *stride = (int)step;
  for (int64_t i = 0; i < n; i++)
    if (ep_adaptive_first(i, n, size) != i * step ||
        ep_adaptive_end(i, n, size) != i * step + width)
      return false;
  return step > 0;
}

/* The averages over n windows as a matrix: [n, size], or its transpose. NULL: memory is short. */
static float *windows_matrix(int64_t n, int64_t size, bool transposed) {
  float *matrix = calloc((size_t)n, (size_t)size * sizeof *matrix);
  for (int64_t i = 0; matrix && i < n; i++) {
    int64_t first = ep_adaptive_first(i, n, size), end = ep_adaptive_end(i, n, size);
    for (int64_t j = first; j < end; j++)
      matrix[transposed ? j * n + i : i * size + j] = 1 / (float)(end - first);
  }
  return matrix;
}

/* Windows of several sizes are beyond AveragePool: rows, then columns, are averaged by a matrix. */
static void average_by_matrices(ep_onnx_graph *graph, const ep_op *op) {
  float *rows = windows_matrix(op->out.height, op->in.height, false);
  float *columns = windows_matrix(op->out.width, op->in.width, true);
  if (rows && columns) {
    ep_onnx_name left =
        ep_onnx_constant(graph, EP_ONNX_FLOAT, (int64_t[]){op->out.height, op->in.height}, 2, rows);
    ep_onnx_name right = ep_onnx_constant(graph, EP_ONNX_FLOAT,
                                          (int64_t[]){op->in.width, op->out.width}, 2, columns);
    const char *inputs[] = {left.text, graph->value.name.text};
    graph->value.name = ep_onnx_node(graph, "MatMul", inputs, 2, NULL);
    ep_onnx_apply(graph, "MatMul", right.text, NULL);
  } else {
    graph->nodes.failed = true;
  }
  free(columns);
  free(rows);
}

static void adaptive_onnx(ep_onnx_graph *graph, const ep_op *op, const char *operation) {
  ep_op even = {.out = op->out};
  ep_onnx_to_image(graph, op->in);
  if (op->out.height == 1 && op->out.width == 1)
    ep_onnx_apply(graph, "GlobalAveragePool", NULL, NULL);
  else if (windows_even(op->out.height, op->in.height, &even.kernel[0], &even.stride[0]) &&
           windows_even(op->out.width, op->in.width, &even.kernel[1], &even.stride[1]))
    average_pool(graph, &even, operation);
  else
    average_by_matrices(graph, op);
}

static const ep_c_function max_function = {
    .text =
        "static inline float @_max_at(const @_window *s, const float *x, int32_t h, int32_t v) {\n"
        "  float found = -INFINITY;\n"
        "  for (int32_t i = 0; i < s->kernel[0]; i++) {\n"
        "    for (int32_t j = 0; j < s->kernel[1]; j++) {\n"
        "      const int32_t line = @_tap(s, 0, h, i), column = @_tap(s, 1, v, j);\n"
        "      if (line < 0 || line >= s->height || column < 0 || column >= s->width) continue;\n"
        "      const float value = x[line * s->width + column];\n"
        "      if (value > found || value != value) found = value;\n"
        "    }\n"
        "  }\n"
        "  return found;\n"
        "}\n\n"
        "static inline void @_max_pool2d(const @_window *s, const float *x, float *y) {\n"
        "  for (int32_t c = 0; c < s->channels; c++, x += s->height * s->width)\n"
        "    for (int32_t h = 0; h < s->out_height; h++)\n"
        "      for (int32_t v = 0; v < s->out_width; v++) *y++ = @_max_at(s, x, h, v);\n"
        "}\n\n"};

static const ep_c_function avg_function = {
    .text =
        "/* Padding counts as zeros. */\n"
        "static inline float @_avg_at(const @_window *s, const float *x, int32_t h, int32_t v) {\n"
        "  double sum = 0;\n"
        "  for (int32_t i = 0; i < s->kernel[0]; i++) {\n"
        "    for (int32_t j = 0; j < s->kernel[1]; j++) {\n"
        "      const int32_t line = h * s->stride[0] - s->padding[0] + i;\n"
        "      const int32_t column = v * s->stride[1] - s->padding[1] + j;\n"
        "      if (line < 0 || line >= s->height || column < 0 || column >= s->width) continue;\n"
        "      sum += x[line * s->width + column];\n"
        "    }\n"
        "  }\n"
        "  return (float)(sum / ((double)s->kernel[0] * s->kernel[1]));\n"
        "}\n\n"
        "static inline void @_avg_pool2d(const @_window *s, const float *x, float *y) {\n"
        "  for (int32_t c = 0; c < s->channels; c++, x += s->height * s->width)\n"
        "    for (int32_t h = 0; h < s->out_height; h++)\n"
        "      for (int32_t v = 0; v < s->out_width; v++) *y++ = @_avg_at(s, x, h, v);\n"
        "}\n\n"};

static const ep_c_function adaptive_function = {
    .text =
        "/* Window i of n over m pixels: floor(i m / n) ... ceil((i + 1) m / n) - 1. */\n"
        "static inline float @_mean_of(const @_window *s, const float *x, int32_t h, int32_t v) {\n"
        "  const int32_t top = h * s->height / s->out_height;\n"
        "  const int32_t left = v * s->width / s->out_width;\n"
        "  const int32_t bottom = ((h + 1) * s->height + s->out_height - 1) / s->out_height;\n"
        "  const int32_t right = ((v + 1) * s->width + s->out_width - 1) / s->out_width;\n"
        "  double sum = 0;\n"
        "  for (int32_t i = top; i < bottom; i++)\n"
        "    for (int32_t j = left; j < right; j++) sum += x[i * s->width + j];\n"
        "  return (float)(sum / ((double)(bottom - top) * (right - left)));\n"
        "}\n\n"
        "static inline void @_adaptive_avg_pool2d(const @_window *s, const float *x, float *y) {\n"
        "  for (int32_t c = 0; c < s->channels; c++, x += s->height * s->width)\n"
        "    for (int32_t h = 0; h < s->out_height; h++)\n"
        "      for (int32_t v = 0; v < s->out_width; v++) *y++ = @_mean_of(s, x, h, v);\n"
        "}\n\n"};

#define POOL(code, lower, operation, onnx, function)                                  \
  EP_LAYER(code, lower, EP_ONNX(operation, onnx),                                     \
           EP_C(.functions = {&ep_c_window, &function}, .weights = ep_c_window_table, \
                .call = ep_c_window_call))
POOL(MAX_POOL2D, pool_lower, "MaxPool", max_onnx, max_function);
POOL(AVG_POOL2D, pool_lower, "AveragePool", avg_onnx, avg_function);
POOL(ADAPTIVE_AVG_POOL2D, adaptive_lower, "AveragePool", adaptive_onnx, adaptive_function);
