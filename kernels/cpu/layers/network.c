#include "kernels/cpu/layers/network.h"

#include <stdlib.h>
#include <string.h>

/* Zeroed memory for rows x columns numbers, counted in `bytes`; NULL when there is none. */
static void *allocate(ep_network *network, int64_t rows, int64_t columns, size_t size) {
  int64_t count, bytes, total;
  if (__builtin_mul_overflow(rows, columns, &count) ||
      __builtin_mul_overflow(count, (int64_t)size, &bytes) ||
      __builtin_add_overflow(network->bytes, bytes, &total)) {
    return NULL;
  }
  network->bytes = total;
  return calloc(count > 0 ? (size_t)count : 1, size);
}

int64_t ep_network_features(const ep_program *program, int i) {
  return ep_shape_count(ep_value_shape(program, i));
}

/* The gradients that are asked for: all but the data's. */
static bool gradients_allocate(ep_network *network) {
  ep_value *of = network->of;
  int64_t widest = 0;
  for (int i = network->first; i <= network->end; i++) of[i].learns = of[i].base > 0;
  network->gradients_count =
      ep_values_gradients(network->program, network->first, network->end, of);
  network->gradients = allocate(network, network->gradients_count, 1, sizeof(ep_real *));
  bool complete = network->gradients != NULL;
  for (int memory = 0; complete && memory < network->gradients_count; memory++) {
    int64_t features = 0;
    for (int i = network->first; i <= network->end; i++)
      if (of[i].gradient == memory && of[i].features > features) features = of[i].features;
    network->gradients[memory] = allocate(network, network->capacity, features, sizeof(ep_real));
    complete = network->gradients[memory] != NULL;
    if (features > widest) widest = features;
  }
  for (int k = 0, most = ep_values_added(network->program, of, network->first, network->end);
       complete && k < most; k++) {
    network->parts[k] = allocate(network, network->capacity, widest, sizeof(ep_real));
    complete = network->parts[k] != NULL;
  }
  if (complete) network->grad = network->gradients[of[network->end].gradient];
  return complete;
}

static bool scratch_allocate(ep_network *network) {
  int64_t most = 0;
  for (int i = network->first; i < network->end; i++) {
    const int64_t count = ep_reference_scratch(&network->program->ops[i]);
    if (count > most) most = count;
  }
  network->scratch = allocate(network, most, 1, sizeof(double));
  return network->scratch != NULL;
}

ep_status ep_network_init(ep_network *network, const ep_program *program, int first, int end,
                          int64_t capacity, bool trains, ep_error *error) {
  *network = (ep_network){.program = program, .first = first, .end = end, .capacity = capacity};
  network->values = allocate(network, program->ops_count + 1, 1, sizeof(ep_real *));
  network->of = allocate(network, program->ops_count + 1, 1, sizeof(ep_value));
  bool complete = network->values && network->of;
  if (complete) ep_values_find(program, first, network->of);
  complete = complete && scratch_allocate(network) && (!trains || gradients_allocate(network));
  for (int i = first; complete && i <= end; i++) {
    network->values[i] = allocate(network, capacity, network->of[i].features, sizeof(ep_real));
    complete = network->values[i] != NULL;
  }
  if (complete) return EP_OK;
  return ep_fail(error, EP_NO_MEMORY, "no memory for %lld rows of every layer",
                 (long long)capacity);
}

void ep_network_deinit(ep_network *network) {
  for (int i = 0; network->values && i <= network->program->ops_count; i++) {
    free(network->values[i]);
  }
  for (int i = 0; network->gradients && i < network->gradients_count; i++) {
    free(network->gradients[i]);
  }
  for (int k = 0; k < EP_OP_INPUTS; k++) free(network->parts[k]);
  free(network->scratch);
  free(network->gradients);
  free(network->of);
  free(network->values);
  *network = (ep_network){0};
}

static const ep_reference_layer *layer_of(const ep_network *network, const ep_op *op) {
  return network->linear && op->type == EP_LAYER_LINEAR ? network->linear
                                                        : ep_reference_layer_of(op->type);
}

static void inputs_find(const ep_network *network, const ep_op *op, const ep_real **x) {
  for (int k = 0; k < op->inputs; k++) x[k] = network->values[op->input[k]];
}

static ep_reference_pass with_scratch(const ep_network *network, const ep_reference_pass *pass) {
  ep_reference_pass own = *pass;
  own.scratch = network->scratch;
  return own;
}

const ep_real *ep_network_forward(ep_network *network, const ep_reference_pass *pass) {
  const ep_reference_pass own = with_scratch(network, pass);
  for (int i = network->first; i < network->end; i++) {
    const ep_op *op = &network->program->ops[i];
    const ep_real *x[EP_OP_INPUTS];
    inputs_find(network, op, x);
    layer_of(network, op)->forward(&own, op, x, network->values[i + 1]);
  }
  return network->values[network->end];
}

static ep_real *gradient_of(const ep_network *network, int value) {
  const int memory = network->of[value].gradient;
  return value < network->first || memory < 0 ? NULL : network->gradients[memory];
}

const ep_real *ep_network_input_gradient(const ep_network *network) {
  return gradient_of(network, network->first);
}

static void add(ep_real *to, const ep_real *from, int64_t count) {
  for (int64_t i = 0; i < count; i++) to[i] += from[i];
}

static void op_backward(const ep_network *network, const ep_reference_pass *pass, int i,
                        double *grad_parameters) {
  const ep_op *op = &network->program->ops[i];
  const ep_real *x[EP_OP_INPUTS];
  ep_real *grad_x[EP_OP_INPUTS], *const grad_y = gradient_of(network, i + 1);
  int parts = 0;
  inputs_find(network, op, x);
  for (int k = 0; k < op->inputs; k++) {
    grad_x[k] = gradient_of(network, op->input[k]);
    if (grad_x[k] == grad_y) return; /* the same numbers in another shape */
    if (grad_x[k] && !ep_values_begin(network->program, network->of, i, k))
      grad_x[k] = network->parts[parts++];
  }
  layer_of(network, op)
      ->backward(pass, op, x, network->values[i + 1], grad_y, grad_x, grad_parameters);
  for (int k = 0; k < op->inputs; k++) {
    ep_real *whole = gradient_of(network, op->input[k]);
    if (whole && whole != grad_x[k])
      add(whole, grad_x[k], pass->rows * network->of[op->input[k]].features);
  }
}

void ep_network_backward(ep_network *network, const ep_reference_pass *pass,
                         double *grad_parameters) {
  const ep_reference_pass own = with_scratch(network, pass);
  for (int i = network->end - 1; i >= network->first; i--)
    op_backward(network, &own, i, grad_parameters);
}
