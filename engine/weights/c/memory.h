/* memory.h: the static arrays in which a row goes through the network. Value 0 is the network's
 * input, value i + 1 what op i gives. A value's array is taken again once nothing reads the value;
 * a layer that changes numbers in place needs no other. A network without residuals has two. */
#ifndef EP_ENGINE_WEIGHTS_C_MEMORY_H
#define EP_ENGINE_WEIGHTS_C_MEMORY_H

#include "api/status.h"
#include "kernels/program.h"

enum { EP_C_VALUES = EP_LIMIT_LAYERS + 2 };

typedef struct {
  int array[EP_C_VALUES];      /* of each value */
  int64_t floats[EP_C_VALUES]; /* of each array */
  int arrays;
} ep_c_memory;

/* Whether op writes where it reads. */
bool ep_c_is_in_place(ep_layer_type type);

ep_status ep_c_memory_plan(const ep_program *program, ep_c_memory *out, ep_error *error);

#endif
