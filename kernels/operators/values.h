/* values.h: what follows from a graph for each of its values: memory, readers, gradients. */
#ifndef EP_KERNELS_OPERATORS_VALUES_H
#define EP_KERNELS_OPERATORS_VALUES_H

#include "kernels/operators/operator.h"

typedef struct {
  int64_t features;
  int base;      /* the value whose memory it has: its own number or, of an op that writes nothing
                    (EP_WRITES_NOTHING), that of its input */
  int last_read; /* the last op that reads it, or what shares its memory; -1: none */
  bool shared;   /* read by another op than the one behind it, or twice */
  bool learns;   /* an op before it learns: the training asks for its gradient */
  int gradient;  /* which memory its gradient has (ep_values_gradients) */
} ep_value;

/* The column of the program's input that a value begins with, where it is that input or a part of
 * its columns; -1: it is something else. */
int64_t ep_value_data_column(const ep_program *program, int value);

ep_shape ep_value_shape(const ep_program *program, int value);

/* values: [ops_count + 1], written, all but `gradient`. first: the op that a stage begins with (0:
 * there are no stages), whose input has memory of its own. */
void ep_values_find(const ep_program *program, int first, ep_value *values);

/* The first value between input and output that nothing reads; -1: all are read. */
int ep_program_unread(const ep_program *program);

/* Whether a stage may begin with op `number`: of what comes before, the ops from there on read the
 * value of the op before it alone. */
bool ep_program_divides_at(const ep_program *program, int number);

/* The ops on which what op `last` makes depends, in their order, with its own the last, and values
 * numbered anew. ops: [last + 1], written; returns how many there are. */
int ep_program_part(const ep_program *program, int last, ep_op *ops);

/* Gives the gradients of the values that learn memory, for the ops first … end - 1 from the last to
 * the first: a gradient lives from the last op that reads its value to the op that makes the value.
 * Value `end` has one in any case. Returns how many there are; a list of layers needs two. */
int ep_values_gradients(const ep_program *program, int first, int end, ep_value *values);

/* Whether input `k` of op `i` is where the gradient of its value begins: the first to read it on
 * the way back. Others add to it. */
bool ep_values_begin(const ep_program *program, const ep_value *values, int i, int k);

/* Inputs of one of the ops first … end - 1 whose gradients it adds to what is there, at most. */
int ep_values_added(const ep_program *program, const ep_value *values, int first, int end);

/* Whether the forward pass of each op may run in place in training. in_place: [ops_count], written.
 * kept: how much of the network's input must stay. */
void ep_values_in_place(const ep_program *program, const ep_value *values, int first, ep_keep input,
                        bool *in_place);

#endif
