/* quantize.h: weights of products (linear and convolution layers) as int8, with a scale for each
 * output channel: weight = code * scale, code -127 … 127. */
#ifndef EP_ENGINE_LAYERS_C_QUANTIZE_H
#define EP_ENGINE_LAYERS_C_QUANTIZE_H

#include "kernels/program.h"

/* The weights of one output channel. weights, codes: [count]; codes is written. Returns the scale;
 * of weights that are all 0 it is 0. */
float ep_c_quantize(const float *weights, int64_t count, int8_t *codes);
/* What those codes stand for, in place. */
void ep_c_dequantize(float *weights, int64_t count);

/* How many weights an output channel of the layer has; there are op->out.channels. */
int64_t ep_c_channel_weights(const ep_op *op);

#endif
