/* products.h: what layers have in C whose weights are multiplied with values, and may be int8. */
#ifndef EP_ENGINE_LAYERS_PRODUCTS_H
#define EP_ENGINE_LAYERS_PRODUCTS_H

#include "engine/layers/c/op.h"

/* "@_finish": what the sums of a block of outputs become. */
extern const ep_c_function ep_c_products_finish;

/* The op's tables: its weights in blocks of up to 8 outputs, [groups][blocks][inputs][outputs of
 * the block], so that 8 sums stay in registers, and in vectors where there are some; scales of
 * int8; bias. */
void ep_c_products_weights(const ep_c_op *c);
/* They as the last parameters of a call, and its end. */
void ep_c_products_end(const ep_c_op *c);

#endif
