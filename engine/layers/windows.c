#include "engine/layers/windows.h"

#include "kernels/formulas/pools.h"

bool ep_lowering_window(ep_lowering *w, const ep_layer_spec *layer, ep_op *op, int64_t span[2]) {
  const int64_t sides[2] = {w->shape.height, w->shape.width};
  bool fits = true;
  for (int i = 0; i < 2; i++) {
    op->kernel[i] = layer->kernel_size[i];
    op->stride[i] = layer->stride[i];
    op->padding[i] = layer->padding[i];
    op->dilation[i] = layer->dilation[i] > 0 ? layer->dilation[i] : 1;
    span[i] = (int64_t)op->dilation[i] * (op->kernel[i] - 1) + 1;
    fits = fits && span[i] <= sides[i] + 2 * (int64_t)op->padding[i];
  }
  if (!fits)
    return ep_lowering_refuse(
        w, "kernel_size", "kernel %lldx%lld does not fit in its input %lldx%lld%s",
        (long long)span[0], (long long)span[1], (long long)(sides[0] + 2 * op->padding[0]),
        (long long)(sides[1] + 2 * op->padding[1]),
        op->padding[0] || op->padding[1] ? ", padding included" : "");
  for (int i = 0; i < 2; i++)
    ep_shape_set_side(
        &op->out, i + 1,
        ep_window_count(sides[i], op->kernel[i], op->stride[i], op->padding[i], op->dilation[i]));
  return true;
}

void ep_onnx_window(ep_protobuf *node, const ep_op *op) {
  ep_onnx_attribute_integers(node, "kernel_shape", (int64_t[]){op->kernel[0], op->kernel[1]}, 2);
  ep_onnx_attribute_integers(node, "strides", (int64_t[]){op->stride[0], op->stride[1]}, 2);
  ep_onnx_attribute_integers(
      node, "pads",
      (int64_t[]){op->padding[0], op->padding[1], op->padding[0], op->causal ? 0 : op->padding[1]},
      4);
}

void ep_onnx_dilations(ep_protobuf *node, const ep_op *op) {
  ep_onnx_attribute_integers(node, "dilations", (int64_t[]){op->dilation[0], op->dilation[1]}, 2);
}

const ep_c_function ep_c_window = {
    .text = "typedef struct {\n"
            "  int32_t channels, height, width, out_channels, out_height, out_width;\n"
            "  int32_t kernel[2], stride[2], padding[2], dilation[2], groups;\n"
            "} @_window;\n\n"
            "/* Where tap i of the window at `at` looks along an axis. */\n"
            "static inline int32_t @_tap(const @_window *s, int axis, int32_t at, int32_t i) {\n"
            "  return at * s->stride[axis] - s->padding[axis] + i * s->dilation[axis];\n"
            "}\n\n"};

void ep_c_window_table(const ep_c_op *c) {
  const ep_op *op = c->op;
  ep_c_add(c->source,
           "static const @_window @_window_%d = {%lld, %lld, %lld, %lld, %lld, %lld, {%d, %d}, "
           "{%d, %d}, {%d, %d}, {%d, %d}, %lld};\n",
           c->number, (long long)op->in.channels, (long long)op->in.height, (long long)op->in.width,
           (long long)op->out.channels, (long long)op->out.height, (long long)op->out.width,
           op->kernel[0], op->kernel[1], op->stride[0], op->stride[1], op->padding[0],
           op->padding[1], op->dilation[0], op->dilation[1], (long long)op->groups);
}

void ep_c_window_begin(const ep_c_op *c) {
  ep_c_add(c->source, "  @_%s(&@_window_%d, @_memory_%d, @_memory_%d",
           ep_layer_type_name((int)c->op->type), c->number, c->x, c->y);
}

void ep_c_window_call(const ep_c_op *c) {
  ep_c_window_begin(c);
  ep_c_end(c);
}
