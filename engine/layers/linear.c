#include "engine/layers/layer.h"
#include "engine/layers/products.h"

static bool lower(ep_lowering *w, const ep_layer_spec *layer, ep_op *op) {
  if (!ep_lowering_needs_vector(w)) return false;
  ep_lowering_inputs_check(w, "in_features", "inputs", layer->in_features, op->in_features);
  op->out = (ep_shape){layer->out_features, 1, 1};
  op->out_features = layer->out_features;
  return true;
}

static void onnx(ep_onnx_graph *graph, const ep_op *op, const char *operation) {
  ep_protobuf node = {0};
  ep_onnx_to_vector(graph);
  ep_onnx_attribute_integer(&node, "transB", 1);
  ep_onnx_apply_weights(graph, operation, op, &node);
}

static const char block_text[] =
    "/* Sums of up to 32 products are added up: so rounding errors stay small. */\n"
    "static inline void @_linear_block(const float *x, int32_t in, const %s *w, int32_t width,\n"
    "                                  float *sum) {\n"
    "  for (int32_t first = 0; first < in; first += 32) {\n"
    "    const int32_t end = in - first < 32 ? in : first + 32;\n"
    "    float part[8] = {0};\n"
    "    for (int32_t i = first; i < end; i++, w += width)\n"
    "      for (int32_t k = 0; k < width; k++) part[k] += x[i] * (float)w[k];\n"
    "    for (int32_t k = 0; k < width; k++) sum[k] += part[k];\n"
    "  }\n"
    "}\n\n";

static const char linear_text[] =
    "/* w: in blocks of 8 outputs, [blocks][in][8]; the last block is as wide as there are. */\n"
    "static inline void @_linear(const float *x, float *y, int32_t in, int32_t out, const %s *w,\n"
    "                            %sconst float *bias) {\n"
    "  for (int32_t first = 0; first < out; first += 8) {\n"
    "    const int32_t width = out - first < 8 ? out - first : 8;\n"
    "    float sum[8] = {0};\n"
    "    if (width == 8) /* a width that the compiler knows is quicker */\n"
    "      @_linear_block(x, in, w, 8, sum);\n"
    "    else\n"
    "      @_linear_block(x, in, w, width, sum);\n"
    "    w += in * width;\n"
    "    @_finish(sum, width, 1,%s bias ? bias + first : 0, y + first);\n"
    "  }\n"
    "}\n\n";

static void functions_write(ep_c_source *source, bool quantized) {
  const char *weight = quantized ? "int8_t" : "float";
  ep_c_add(source, block_text, weight);
  ep_c_add(source, linear_text, weight, quantized ? "const float *scale, " : "",
           quantized ? " scale + first," : "");
}

static const ep_c_function functions = {.write = functions_write};

static void call(const ep_c_op *c) {
  ep_c_add(c->source, "  @_linear(@_memory_%d, @_memory_%d, %lld, %lld", c->x, c->y,
           (long long)c->op->in_features, (long long)c->op->out_features);
  ep_c_products_end(c);
}

EP_LAYER_WITH(LINEAR, lower, EP_ONNX("Gemm", onnx),
              EP_C(.functions = {&ep_c_products_finish, &functions},
                   .weights = ep_c_products_weights, .call = call, .quantized = true),
              .width = "out_features");
