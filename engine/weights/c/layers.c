#include "engine/weights/c/layers.h"

#include "engine/layers/c/quantize.h"
#include "engine/layers/layer.h"

static void functions_add(ep_c_source *source, const ep_program *program, bool quantized) {
  const ep_c_function *added[EP_LAYER_COUNT * EP_C_FUNCTIONS];
  int count = 0;
  for (int i = 0; i < program->ops_count; i++)
    for (int k = 0, j; k < EP_C_FUNCTIONS; k++) {
      const ep_c_function *function = ep_layer_of(program->ops[i].type)->c.functions[k];
      for (j = 0; j < count && added[j] != function;) j++;
      if (!function || j < count) continue;
      added[count++] = function;
      if (function->text) ep_c_add_text(source, function->text);
      if (function->write) function->write(source, quantized);
    }
}

void ep_c_layers_define(ep_c_source *source, const ep_program *program, const float *state,
                        bool quantized) {
  functions_add(source, program, quantized);
  for (int i = 0; i < program->ops_count; i++) {
    const ep_op *op = &program->ops[i];
    const ep_c_op c = {.source = source,
                       .program = program,
                       .op = op,
                       .numbers = ep_layer_of(op->type)->c.numbers,
                       .number = i,
                       .quantized = quantized,
                       .state = state};
    const ep_layer *layer = ep_layer_of(op->type);
    if (layer->c.weights) layer->c.weights(&c);
  }
  ep_c_add_text(source, "\n");
}

static void op_call(const ep_c_op *c) {
  if (ep_c_is_in_place(c->op->type) && c->x != c->y) /* what went in is read again later */
    ep_c_add(c->source, "  memcpy(@_memory_%d, @_memory_%d, %lld * sizeof(float));\n", c->y, c->x,
             (long long)c->op->in_features);
  ep_layer_of(c->op->type)->c.call(c);
}

void ep_c_layers_call(ep_c_source *source, const ep_program *program, const ep_c_memory *memory,
                      bool quantized) {
  ep_c_add_text(source, "static inline void @_network(void) {\n");
  for (int i = 0; i < program->ops_count; i++) {
    const ep_op *op = &program->ops[i];
    op_call(&(ep_c_op){.source = source,
                       .program = program,
                       .op = op,
                       .numbers = ep_layer_of(op->type)->c.numbers,
                       .number = i,
                       .quantized = quantized,
                       .array = memory->array,
                       .x = memory->array[op->input[0]],
                       .y = memory->array[i + 1]});
  }
  ep_c_add_text(source, "}\n\n");
}

void ep_c_dequantize_state(const ep_program *program, float *state) {
  for (int i = 0; i < program->ops_count; i++) {
    const ep_op *op = &program->ops[i];
    if (!ep_layer_of(op->type)->c.quantized) continue;
    const int64_t each = ep_c_channel_weights(op);
    for (int64_t channel = 0; channel < op->out.channels; channel++)
      ep_c_dequantize(state + op->weight + channel * each, each);
  }
}
