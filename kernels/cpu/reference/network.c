#include "kernels/cpu/reference/network.h"

#include <stdlib.h>

#include "kernels/cpu/reference/layers.h"

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

static int64_t widest_layer(const ep_program *program) {
  int64_t widest = program->in_features;
  for (int i = 0; i < program->ops_count; i++) {
    if (program->ops[i].out_features > widest) widest = program->ops[i].out_features;
  }
  return widest;
}

ep_status ep_network_init(ep_network *network, const ep_program *program, int64_t capacity,
                          ep_error *error) {
  *network = (ep_network){.program = program, .capacity = capacity};
  int64_t widest = widest_layer(program);
  network->grad = allocate(network, capacity, widest, sizeof(ep_real));
  network->grad_spare = allocate(network, capacity, widest, sizeof(ep_real));
  network->grad_parameters = allocate(network, program->parameters, 1, sizeof(double));
  network->values = allocate(network, program->ops_count + 1, 1, sizeof(ep_real *));
  bool complete =
      network->grad && network->grad_spare && network->grad_parameters && network->values;
  for (int i = 0; complete && i <= program->ops_count; i++) {
    int64_t features = i == 0 ? program->in_features : program->ops[i - 1].out_features;
    network->values[i] = allocate(network, capacity, features, sizeof(ep_real));
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
  free(network->values);
  free(network->grad_parameters);
  free(network->grad_spare);
  free(network->grad);
  *network = (ep_network){0};
}

const ep_real *ep_network_forward(ep_network *network, const ep_real *parameters, int64_t rows) {
  const ep_program *program = network->program;
  for (int i = 0; i < program->ops_count; i++) {
    const ep_op *op = &program->ops[i];
    ep_reference_layer_of(op->type)->forward(op, parameters, network->values[i], rows,
                                             network->values[i + 1]);
  }
  return network->values[program->ops_count];
}

void ep_network_backward(ep_network *network, const ep_real *parameters, int64_t rows) {
  const ep_program *program = network->program;
  for (int i = program->ops_count - 1; i >= 0; i--) {
    const ep_op *op = &program->ops[i];
    ep_real *grad_x = i == 0 ? NULL : network->grad_spare; /* nobody asks for the data's */
    ep_reference_layer_of(op->type)->backward(op, parameters, network->values[i],
                                              network->values[i + 1], network->grad, rows, grad_x,
                                              network->grad_parameters);
    if (!grad_x) break;
    network->grad_spare = network->grad;
    network->grad = grad_x;
  }
}
