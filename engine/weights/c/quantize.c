#include "engine/weights/c/quantize.h"

#include <math.h>

enum { CODE_MOST = 127 };

bool ep_c_is_quantized(ep_layer_type type) {
  return type == EP_LAYER_LINEAR || type == EP_LAYER_CONV2D;
}

int64_t ep_c_channels(const ep_op *op) {
  return op->type == EP_LAYER_CONV2D ? op->out.channels : op->out_features;
}

int64_t ep_c_channel_weights(const ep_op *op) {
  return op->type == EP_LAYER_CONV2D ? op->in.channels / op->groups * op->kernel[0] * op->kernel[1]
                                     : op->in_features;
}

static float scale_find(const float *weights, int64_t count) {
  float most = 0;
  for (int64_t i = 0; i < count; i++) most = fmaxf(most, fabsf(weights[i]));
  return most / CODE_MOST;
}

static float code_of(float weight, float scale) {
  float code = scale > 0 ? roundf(weight / scale) : 0; /* tiny scales round */
  return fminf(fmaxf(code, -CODE_MOST), CODE_MOST);
}

float ep_c_quantize(const float *weights, int64_t count, int8_t *codes) {
  float scale = scale_find(weights, count);
  for (int64_t i = 0; i < count; i++) codes[i] = (int8_t)code_of(weights[i], scale);
  return scale;
}

void ep_c_dequantize_state(const ep_program *program, float *state) {
  for (int i = 0; i < program->ops_count; i++) {
    const ep_op *op = &program->ops[i];
    if (!ep_c_is_quantized(op->type)) continue;
    int64_t count = ep_c_channel_weights(op);
    for (int64_t channel = 0; channel < ep_c_channels(op); channel++) {
      float *weights = state + op->weight + channel * count;
      float scale = scale_find(weights, count);
      for (int64_t j = 0; j < count; j++) weights[j] = code_of(weights[j], scale) * scale;
    }
  }
}
