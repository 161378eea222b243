#include "kernels/cuda/network/layout.h"

#include <assert.h>

#include "kernels/cuda/network/operator.h"
#include "kernels/formulas/activations.h"

/* --- checks -------------------------------------------------------------------------------- */

/* Whether each parameter that the op has follows the one before, the first one leading. */
static bool parameters_follow(const ep_op *op) {
  int64_t next = op->parameter[0];
  for (int k = 0; ep_op_parameter(op, k); k++) {
    if (op->parameter[k] >= 0 && op->parameter[k] != next) return false;
    next += ep_op_own_count(op, k);
  }
  return true;
}

static ep_status op_check(const ep_program *program, int i, ep_error *error) {
  const ep_op *op = &program->ops[i];
  const ep_operator *row = ep_operator_of(op->type);
  int64_t product;
  if (op->in_features < 1 || op->out_features < 1)
    return ep_fail(error, EP_INVALID, "layer %d has no features", i);
  if (!ep_fits_inputs(program, op))
    return ep_fail(error, EP_INTERNAL, "layer %d reads what does not stand before it", i);
  if (!row->fits(program, op))
    return ep_fail(error, EP_INTERNAL, "layer %d has shapes that do not fit together", i);
  if (__builtin_mul_overflow(op->in_features, op->out_features, &product) ||
      ep_op_parameters(op) == INT64_MAX)
    return ep_fail(error, EP_NO_MEMORY, "layer %d has more weights than fit on a GPU", i);
  if (row->running && op->running < 0)
    return ep_fail(error, EP_INTERNAL, "layer %d has no running statistics", i);
  if (!parameters_follow(op))
    return ep_fail(error, EP_INTERNAL, "layer %d: a parameter does not follow the one before", i);
  return EP_OK;
}

ep_status ep_cuda_program_check(const ep_program *program, ep_error *error) {
  if (program->ops_count < 1) return ep_fail(error, EP_INVALID, "a network needs a layer");
  if (program->x_type == EP_X_UINT8 && (!program->x_scale || !program->x_shift))
    return ep_fail(error, EP_INTERNAL, "bytes have no scale");
  ep_status status = EP_OK;
  for (int i = 0; status == EP_OK && i < program->ops_count; i++)
    status = op_check(program, i, error);
  if (status == EP_OK && ep_program_unread(program) > 0)
    return ep_fail(error, EP_INTERNAL, "nothing reads what layer %d makes",
                   ep_program_unread(program) - 1);
  return status;
}

/* --- who may write over whom --------------------------------------------------------------- */

/* Whether activation i is computed by the layer before it, whose output it reads. */
static bool is_fused(const ep_cuda_network *network, int i) {
  const ep_program *program = network->program;
  const ep_op *op = &program->ops[i];
  if (i == 0 || i == network->share.first || op->input[0] != i || !ep_activation_is(op->type))
    return false;
  const ep_cuda_network_operator *before = ep_cuda_operator_of(op[-1].type)->network;
  return before && before->activates && before->activates(network, i);
}

void ep_cuda_layout_decide(ep_cuda_network *network) {
  const ep_program *program = network->program;
  const bool trains = !network->share.evaluates;
  bool in_place[EP_LIMIT_LAYERS + 1];
  assert(program->ops_count <= EP_LIMIT_LAYERS + 1);
  ep_values_find(program, network->share.first, network->values);
  ep_values_in_place(program, network->values, network->share.first, EP_KEEP_ALL, in_place);
  for (int i = 0; i < program->ops_count; i++) {
    ep_cuda_layer *layer = &network->layers[i];
    layer->trained = trains && ep_op_learns(program, layer->op);
    layer->in_place = in_place[i];
    layer->fused = is_fused(network, i);
    network->values[i + 1].learns = trains && network->values[i + 1].learns;
  }
}

/* --- where gradients lie ------------------------------------------------------------------- */

static bool is_view(const ep_cuda_network *network, int i) {
  return network->values[i + 1].base != i + 1;
}

static int grad_take(ep_cuda_network *network, int64_t features) {
  int at = 0;
  while (at < network->grads_count && network->grads[at].taken) at++;
  if (at == network->grads_count) network->grads_count++;
  ep_cuda_grad *grad = &network->grads[at];
  grad->taken = true;
  if (features > grad->features) grad->features = features;
  return at;
}

static void part_add(ep_cuda_network *network, int op, int to, int from, int64_t features) {
  if (from < 0 || from == to) return;
  network->part_sums[network->part_sums_count++] =
      (ep_cuda_part_sum){.op = op, .to = to, .from = from, .features = features};
  network->grads[from].taken = false;
}

/* The last part of the gradient by `base`, from op i, is in grad `to`: the others follow. */
static void parts_add(ep_cuda_network *network, int i, int base, int to) {
  ep_value *values = network->values;
  values[base].gradient = to;
  for (int j = network->share.end - 1; j >= i; j--) {
    const ep_cuda_layer *layer = &network->layers[j];
    for (int k = 0; k < layer->op->inputs && !is_view(network, j); k++)
      if (values[layer->op->input[k]].base == base)
        part_add(network, i, to, layer->part[k], values[base].features);
  }
}

/* first: of each value, the first op that reads it or a view of it. */
static void op_place(ep_cuda_network *network, int i, const int *first) {
  ep_value *values = network->values;
  ep_cuda_layer *layer = &network->layers[i];
  const ep_op *op = layer->op;
  const int own = values[i + 1].gradient;
  const bool in_place = ep_cuda_operator_of(op->type)->grad == EP_CUDA_GRAD_IN_PLACE;
  bool goes_on = false; /* in the memory of its output's gradient */
  for (int k = 0; k < op->inputs; k++) {
    if (!values[op->input[k]].learns) continue;
    const bool here = !goes_on && in_place;
    layer->part[k] = here ? own : grad_take(network, values[op->input[k]].features);
    goes_on = goes_on || here;
  }
  if (!goes_on) network->grads[own].taken = false;
  for (int k = 0; k < op->inputs; k++) {
    const int base = values[op->input[k]].base;
    if (layer->part[k] >= 0 && first[base] == i && values[base].gradient < 0)
      parts_add(network, i, base, layer->part[k]);
  }
}

void ep_cuda_gradients_place(ep_cuda_network *network) {
  const ep_program *program = network->program;
  const int begin = network->share.first, end = network->share.end;
  ep_value *values = network->values;
  int first[EP_LIMIT_LAYERS + 2];
  for (int i = end - 1; i >= begin; i--) {
    const ep_op *op = &program->ops[i];
    for (int k = 0; k < EP_OP_INPUTS; k++) network->layers[i].part[k] = -1;
    for (int k = 0; k < op->inputs && !is_view(network, i); k++)
      first[values[op->input[k]].base] = i;
  }
  values[values[end].base].gradient = grad_take(network, values[end].features);
  for (int i = end - 1; i >= begin; i--)
    if (values[i + 1].learns && !is_view(network, i)) op_place(network, i, first);
  for (int value = begin; value <= end; value++)
    values[value].gradient = values[values[value].base].gradient;
}
