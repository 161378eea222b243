/* quantize.h: weights of linear and convolution layers as int8, with a scale for each output
 * channel: weight = code * scale, code -127 … 127. */
#ifndef EP_ENGINE_WEIGHTS_C_QUANTIZE_H
#define EP_ENGINE_WEIGHTS_C_QUANTIZE_H

#include "kernels/program.h"

bool ep_c_is_quantized(ep_layer_type type);

/* The weights of one output channel. weights, codes: [count]; codes is written. Returns the scale;
 * of weights that are all 0 it is 0. */
float ep_c_quantize(const float *weights, int64_t count, int8_t *codes);

/* How many weights an output channel of the layer has. */
int64_t ep_c_channel_weights(const ep_op *op);
int64_t ep_c_channels(const ep_op *op);

/* The state that the codes stand for. state: [ep_program_state_floats], changed in place. */
void ep_c_dequantize_state(const ep_program *program, float *state);

#endif
