/* net.h: a program laid out for cpu/blocked: how a batch is cut, and all memory. */
#ifndef EP_KERNELS_CPU_EXECUTORS_BLOCKED_NET_H
#define EP_KERNELS_CPU_EXECUTORS_BLOCKED_NET_H

#include "kernels/cpu/executors/blocked/blocked.h"
#include "kernels/operators/values.h"

typedef struct {
  const ep_op *op;
  int64_t grad;       /* of its parameters, in a slot's gradient; -1 = not there */
  bool shared;        /* the gradient of its weight is taken from the whole batch */
  bool drops;         /* a conv2d of whose output a dropout2d takes channels away */
  int norm;           /* which batch_norm it is; -1 = none */
  int64_t side_bytes; /* a row */
  char *kept_side;    /* [batch_size, side_bytes]; NULL: the member's */
} ep_blocked_layer;

/* A value of the graph, and what is kept of it for the whole batch. The rest lies with the member.
 */
typedef struct {
  float *kept;      /* [batch_size, features] or NULL; in training */
  float *kept_grad; /* the same of its gradient */
} ep_blocked_value;

/* A thread's own. */
typedef struct {
  float **values;             /* [ops_count + 1], [chunk_rows, features] each */
  void **sides;               /* [ops_count] */
  float **grads;              /* [gradients_count]: of values that are not kept */
  float *parts[EP_OP_INPUTS]; /* what an op adds to gradients that are there already */
  float *columns;
  double *scratch; /* of a layer of cpu/layers: its parameters' gradients, and its own */
  void *target;    /* [chunk_rows, target_columns] of 4 bytes */
} ep_blocked_member;

typedef struct {
  float *grad; /* [slot_floats] */
  double loss; /* sums over its rows */
  int64_t errors;
  ep_blocked_moments *moments; /* [norms_count] */
} ep_blocked_slot;

/* A piece of work of the gradient's sum, or of the update. */
typedef struct {
  int layer;            /* shared: units first … of its weight; -1: floats of the slots */
  int group;            /* update: of the program's */
  int64_t first, count; /* in the parameters; shared: rows, or words of a table */
  int64_t slot_first;   /* in a slot's gradient */
  double squares;       /* update: of the gradient, for clipping */
} ep_blocked_piece;

typedef struct {
  const ep_program *program; /* lent */
  const ep_blocked_variant *variant;
  ep_blocked_layer *layers; /* [ops_count] */
  ep_value *of;             /* [ops_count + 1]: what is known of each value */
  ep_blocked_value *values; /* [ops_count + 1]; of those that share memory, the base's holds */
  int gradients_count;
  int first_learned; /* the first op that is not frozen, where the way back ends */
  int *spans;        /* [spans_count]: their first ops; all but the first are batch_norms */
  int spans_count;

  int64_t slot_rows, slots_count, chunk_rows, slot_floats;
  ep_blocked_slot *slots;
  ep_blocked_member *members;
  int members_count;
  ep_blocked_moments *moments; /* [spans_count - 1]: of the batch, or the running ones */
  ep_blocked_piece *sums, *updates;
  int64_t sums_count, updates_count;

  float *state, *kept_state; /* [state_floats]: parameters, buffers, optimizer; the snapshot */
  int64_t state_floats;
  float *gradient;     /* [parameters] */
  uint32_t *rows_from; /* [batch_size]: the training rows of the batch */

  void *blocks; /* all allocations, chained */
  int64_t bytes;
  int64_t most_bytes; /* what the machine has */
} ep_blocked_net;

/* Everything is zero. EP_NO_MEMORY. The program is lent until deinit, which is for after a failure
 * too. */
ep_status ep_blocked_net_init(ep_blocked_net *net, const ep_program *program,
                              const ep_blocked_variant *variant, int members, ep_error *error);
void ep_blocked_net_deinit(ep_blocked_net *net);

#endif
