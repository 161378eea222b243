#include "engine/layers/products.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/layers/c/quantize.h"

enum { BLOCK = 8 }; /* outputs side by side */

static void finish_write(ep_c_source *source, bool quantized) {
  ep_c_add(source,
           "/* What the sums of a block of outputs become. */\n"
           "static inline void @_finish(const float *sum, int32_t width, int32_t apart,%s\n"
           "                            const float *bias, float *y) {\n"
           "  for (int32_t k = 0; k < width; k++)\n"
           "    y[k * apart] = sum[k]%s + (bias ? bias[k] : 0);\n"
           "}\n\n",
           quantized ? " const float *scale," : "", quantized ? " * scale[k]" : "");
}

const ep_c_function ep_c_products_finish = {.write = finish_write};

/* Weights of `size` bytes, [outputs][inputs], in blocks. */
static void blocks_make(const ep_op *op, const void *weights, size_t size, void *blocks) {
  const int64_t groups = op->groups > 0 ? op->groups : 1;
  const int64_t inputs = ep_c_channel_weights(op), outputs = op->out.channels / groups;
  char *to = blocks;
  for (int64_t group = 0; group < groups; group++)
    for (int64_t first = 0; first < outputs; first += BLOCK)
      for (int64_t i = 0; i < inputs; i++)
        for (int64_t k = first; k < outputs && k < first + BLOCK; k++, to += size)
          memcpy(to, (const char *)weights + ((group * outputs + k) * inputs + i) * (int64_t)size,
                 size);
}

void ep_c_products_weights(const ep_c_op *c) {
  char name[32];
  const float *weights = c->state + c->op->weight;
  const int64_t channels = c->op->out.channels, each = ep_c_channel_weights(c->op);
  float *blocks = malloc((size_t)(channels * each) * sizeof *blocks);
  float *scales = malloc((size_t)channels * sizeof *scales);
  int8_t *codes = malloc(2 * (size_t)(channels * each)), *ordered;
  if (!blocks || !scales || !codes) {
    c->source->failed = true;
  } else if (c->quantized) {
    for (int64_t i = 0; i < channels; i++)
      scales[i] = ep_c_quantize(weights + i * each, each, codes + i * each);
    ordered = codes + channels * each;
    blocks_make(c->op, codes, sizeof *codes, ordered);
    snprintf(name, sizeof name, "weight_%d", c->number);
    ep_c_add_bytes(c->source, name, ordered, channels * each);
    ep_c_table(c, "scale", scales, channels);
  } else {
    blocks_make(c->op, weights, sizeof *weights, blocks);
    ep_c_table(c, "weight", blocks, channels * each);
  }
  free(codes);
  free(scales);
  free(blocks);
  ep_c_parameter(c, "bias", c->op->bias, channels);
}

void ep_c_products_end(const ep_c_op *c) {
  ep_c_pass(c, "weight", true);
  if (c->quantized) ep_c_pass(c, "scale", true);
  ep_c_pass(c, "bias", c->op->bias >= 0);
  ep_c_end(c);
}
