/* network.h: layers of a program run forwards and backwards over a few rows at a time: all of them,
 * or those of one stage. */
#ifndef EP_KERNELS_CPU_LAYERS_NETWORK_H
#define EP_KERNELS_CPU_LAYERS_NETWORK_H

#include "api/status.h"
#include "kernels/cpu/layers/layers.h"
#include "kernels/operators/values.h"

/* Workspace for up to `capacity` rows of the ops first … end - 1. */
typedef struct {
  const ep_program *program; /* lent */
  int first, end;
  int64_t capacity;
  int64_t bytes;
  ep_value *of;     /* [ops_count + 1]: what is known of each value */
  ep_real **values; /* [ops_count + 1]; values[first]: [capacity, in_features], the rows that go
                       in; values[i + 1]: [capacity, out_features of op i]; NULL for the others */
  ep_real *grad;    /* [capacity, out_features of the last op]: the loss's derivative by the output,
                       for backward */
  ep_real **gradients; /* [gradients_count]: memory of gradients, by values.h; or NULL */
  int gradients_count;
  const ep_reference_layer *linear; /* instead of the table's; NULL: that */
  double *scratch;                  /* of one layer at a time */
  ep_real
      *parts[EP_OP_INPUTS]; /* [capacity, widest]: what an op adds to gradients that are there */
} ep_network;

/* trains: with room for the way back. EP_NO_MEMORY. ep_network_deinit afterwards, also after a
 * failure. */
ep_status ep_network_init(ep_network *network, const ep_program *program, int first, int end,
                          int64_t capacity, bool trains, ep_error *error);
void ep_network_deinit(ep_network *network);

/* Features of values[i]. */
int64_t ep_network_features(const ep_program *program, int i);

/* From values[first] to values[end], [pass->rows, out_features], which it returns: a loan until the
 * next. */
const ep_real *ep_network_forward(ep_network *network, const ep_reference_pass *pass);

/* After forward in training, and with `grad` set: adds the rows' share to grad_parameters,
 * [parameters]. */
void ep_network_backward(ep_network *network, const ep_reference_pass *pass,
                         double *grad_parameters);

/* After backward: the derivative by values[first], unless that is the data. */
const ep_real *ep_network_input_gradient(const ep_network *network);

#endif
