/* op.h: one op of a network as C: its functions, its tables, its call. Names have the number of the
 * op, and end in it: "@_bias_3"; rows of numbers are the arrays @_memory_0 and so on. */
#ifndef EP_ENGINE_LAYERS_C_OP_H
#define EP_ENGINE_LAYERS_C_OP_H

#include "engine/layers/c/source.h"
#include "kernels/program.h"

enum { EP_C_FUNCTIONS = 3, EP_C_NUMBERS = 2 }; /* that an op needs at most */

/* One or several C functions, added once for all ops that need them: a text, or what `write` makes.
 */
typedef struct {
  const char *text;
  void (*write)(ep_c_source *source, bool quantized);
} ep_c_function;

typedef struct {
  ep_c_source *source;
  const ep_program *program;
  const ep_op *op;
  const size_t *numbers; /* [EP_C_NUMBERS]: the row's */
  int number;            /* op is program->ops[number] */
  bool quantized;        /* weights that can be are int8 */
  const float *state;    /* [ep_program_state_floats]; NULL in a call */
  const int *array;      /* of each value; NULL where tables are written */
  int x, y;              /* the arrays of its first input and of its output */
} ep_c_op;

/* A table of floats. values: [count]. */
void ep_c_table(const ep_c_op *c, const char *part, const float *values, int64_t count);
/* The same of a parameter at `offset` of the state; nothing where it is -1: the op has none. */
void ep_c_parameter(const ep_c_op *c, const char *part, int64_t offset, int64_t count);
/* The same of all that the op's row names. */
void ep_c_parameters(const ep_c_op *c);

/* Parts of a call. ", @_bias_3", or ", 0" where there is none. */
void ep_c_pass(const ep_c_op *c, const char *part, bool there);
/* Of what changes a row in place: its name, y, its count, its numbers. */
void ep_c_begin_in_place(const ep_c_op *c);
void ep_c_end(const ep_c_op *c);
/* All parameters that the op's row names, as the last of the call, and its end. */
void ep_c_end_parameters(const ep_c_op *c);

/* Calls: of what changes a row in place and needs no more; of what does nothing in evaluation. */
void ep_c_call_in_place(const ep_c_op *c);
void ep_c_call_nothing(const ep_c_op *c);

#endif
