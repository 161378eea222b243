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
  return i == 0 ? program->in_features : program->ops[i - 1].out_features;
}

static int64_t widest_value(const ep_network *network) {
  int64_t widest = 0;
  for (int i = network->first; i <= network->end; i++) {
    int64_t features = ep_network_features(network->program, i);
    if (features > widest) widest = features;
  }
  return widest;
}

/* A gradient beside the others for each value that a residual layer takes; the data's own is not
 * asked for. */
static bool allocate_skips(ep_network *network) {
  const ep_program *program = network->program;
  network->grad_skip = allocate(network, program->ops_count + 1, 1, sizeof(ep_real *));
  if (!network->grad_skip) return false;
  for (int i = network->first; i < network->end; i++) {
    const ep_op *op = &program->ops[i];
    if (op->type != EP_LAYER_RESIDUAL || op->source < 0) continue;
    const int value = op->source + 1;
    if (network->grad_skip[value]) continue;
    network->grad_skip[value] =
        allocate(network, network->capacity, ep_network_features(program, value), sizeof(ep_real));
    if (!network->grad_skip[value]) return false;
  }
  return true;
}

static bool allocate_grads(ep_network *network) {
  int64_t widest = widest_value(network);
  network->grad = allocate(network, network->capacity, widest, sizeof(ep_real));
  network->grad_spare = allocate(network, network->capacity, widest, sizeof(ep_real));
  return network->grad && network->grad_spare && allocate_skips(network);
}

ep_status ep_network_init(ep_network *network, const ep_program *program, int first, int end,
                          int64_t capacity, bool trains, ep_error *error) {
  *network = (ep_network){.program = program, .first = first, .end = end, .capacity = capacity};
  network->values = allocate(network, program->ops_count + 1, 1, sizeof(ep_real *));
  bool complete = network->values && (!trains || allocate_grads(network));
  for (int i = first; complete && i <= end; i++) {
    network->values[i] =
        allocate(network, capacity, ep_network_features(program, i), sizeof(ep_real));
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
  for (int i = 0; network->grad_skip && i <= network->program->ops_count; i++) {
    free(network->grad_skip[i]);
  }
  free(network->grad_skip);
  free(network->values);
  free(network->grad_spare);
  free(network->grad);
  *network = (ep_network){0};
}

static void add(ep_real *to, const ep_real *from, int64_t count) {
  for (int64_t i = 0; i < count; i++) to[i] += from[i];
}

const ep_real *ep_network_forward(ep_network *network, const ep_reference_pass *pass) {
  const ep_program *program = network->program;
  for (int i = network->first; i < network->end; i++) {
    const ep_op *op = &program->ops[i];
    ep_real *y = network->values[i + 1];
    ep_reference_layer_of(op->type)->forward(pass, op, network->values[i], y);
    if (op->type == EP_LAYER_RESIDUAL) {
      add(y, network->values[op->source + 1], pass->rows * op->out_features);
    }
  }
  return network->values[network->end];
}

static void clear_skips(ep_network *network, int64_t rows) {
  for (int i = 0; i <= network->program->ops_count; i++) {
    if (!network->grad_skip[i]) continue;
    size_t count = (size_t)(rows * ep_network_features(network->program, i));
    memset(network->grad_skip[i], 0, count * sizeof(ep_real));
  }
}

void ep_network_backward(ep_network *network, const ep_reference_pass *pass,
                         double *grad_parameters) {
  const ep_program *program = network->program;
  clear_skips(network, pass->rows);
  for (int i = network->end - 1; i >= network->first; i--) {
    const ep_op *op = &program->ops[i];
    ep_real *grad_x = i == 0 ? NULL : network->grad_spare; /* nobody asks for the data's */
    ep_real *skip = op->type == EP_LAYER_RESIDUAL ? network->grad_skip[op->source + 1] : NULL;
    if (skip) add(skip, network->grad, pass->rows * op->out_features);
    ep_reference_layer_of(op->type)->backward(pass, op, network->values[i], network->values[i + 1],
                                              network->grad, grad_x, grad_parameters);
    if (!grad_x) break;
    if (network->grad_skip[i]) add(grad_x, network->grad_skip[i], pass->rows * op->in_features);
    network->grad_spare = network->grad;
    network->grad = grad_x;
  }
}
