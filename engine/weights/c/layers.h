/* layers.h: the layers as C: the functions that they need, their weights, and the calls. What they
 * are of each type is a row of engine/layers/layer.h. */
#ifndef EP_ENGINE_WEIGHTS_C_LAYERS_H
#define EP_ENGINE_WEIGHTS_C_LAYERS_H

#include "engine/layers/c/source.h"
#include "engine/weights/c/memory.h"
#include "kernels/program.h"

/* Everything that the calls need: functions, each once, and weights. state:
 * [ep_program_state_floats]; quantized: weights as int8. */
void ep_c_layers_define(ep_c_source *source, const ep_program *program, const float *state,
                        bool quantized);

/* "static inline void @_network(void)": from the array of value 0 to that of the last one. The
 * arrays are @_memory_0 and so on. */
void ep_c_layers_call(ep_c_source *source, const ep_program *program, const ep_c_memory *memory,
                      bool quantized);

/* The state that int8 weights stand for. state: [ep_program_state_floats], changed in place. */
void ep_c_dequantize_state(const ep_program *program, float *state);

#endif
