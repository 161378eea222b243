#include "engine/layers/c/quantize.h"

#include <math.h>

#include "kernels/operators/operator.h"

enum { CODE_MOST = 127 };

int64_t ep_c_channel_weights(const ep_op *op) {
  return ep_op_weights(op) / op->out.channels;
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

void ep_c_dequantize(float *weights, int64_t count) {
  float scale = scale_find(weights, count);
  for (int64_t i = 0; i < count; i++) weights[i] = code_of(weights[i], scale) * scale;
}
