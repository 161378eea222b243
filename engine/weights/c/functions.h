/* functions.h: the C functions of the layers, as source. x is a row that goes in, y what comes out;
 * where there is no y, x is changed in place. Sums are float, but for those of norms, averages and
 * softmax, which are double as in cpu/reference. */
#ifndef EP_ENGINE_WEIGHTS_C_FUNCTIONS_H
#define EP_ENGINE_WEIGHTS_C_FUNCTIONS_H

#include <stdbool.h>

#include "api/vocabulary.h"
#include "engine/weights/c/source.h"

/* Adds the function of a layer; nothing for those that are one of the activations, or need none. */
void ep_c_function_add(ep_c_source *source, ep_layer_type type, bool quantized);

/* Of a layer without weights to quantize. */
bool ep_c_function_known(ep_layer_type type);

/* What several of them need; at most once each. */
void ep_c_function_window_add(ep_c_source *source);
void ep_c_function_finish_add(ep_c_source *source, bool quantized);

#endif
