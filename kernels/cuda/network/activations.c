/* activations.c: activations of one number at a time, and the dropouts that go with them. */
#include "kernels/formulas/activations.h"
#include "kernels/cuda/layers/activation_chains.h"
#include "kernels/cuda/network/operator.h"

/* What goes back by columns draws each number's mask by itself: of more rows that takes longer than
 * a pass. It has a block for each slice of 32 columns: of fewer blocks, a pass that fills the
 * device is faster. */
enum { DROPS_ROWS = 2048, BLOCKS_LEAST = 64 };

static bool sums_together(const ep_cuda_pass *pass, const ep_op *op) {
  const int64_t across = (op->out_features + 31) / 32;
  return pass->rows <= DROPS_ROWS || across * ep_cuda_column_slices(pass->rows) >= BLOCKS_LEAST;
}

/* Whether layer i is a dropout that goes with the activation before it. */
static bool drops_with(const ep_cuda_pass *pass, int i) {
  const ep_cuda_network *network = pass->network;
  const int before = i - 1;
  if (before < pass->first || i >= network->share.end) return false;
  const ep_cuda_layer *layer = &network->layers[before];
  return layer[1].op->type == EP_LAYER_DROPOUT && layer[1].op->input[0] == i &&
         ep_activation_is(layer->op->type) && !layer->fused && !network->values[i].shared;
}

static bool drops_with_back(const ep_cuda_pass *pass, int i) {
  return pass->rows <= DROPS_ROWS && drops_with(pass, i);
}

/* Alone, or with the dropout behind it. */
static ep_status activation_forward(ep_cuda_pass *pass, ep_error *error) {
  const ep_cuda_layer *layer = ep_cuda_pass_layer(pass);
  const ep_cuda_call *call = &pass->call;
  if (layer->fused) return EP_OK;
  if (call->training && drops_with(pass, pass->i + 1))
    EP_CUDA_TRY(ep_cuda_activation_drop(call->stream, call->op, layer[1].op, call->first,
                                        call->rows, call->seed, call->clock, call->x[0], call->y,
                                        layer[1].in_place ? call->y : layer[1].memory),
                "an activation and a dropout");
  else
    EP_CUDA_TRY(ep_cuda_activation_forward(call->stream, call->op, call->rows, call->x[0], call->y),
                "an activation");
  return EP_OK;
}

/* With the dropout behind it, if it goes with that, and the sums for the bias of a linear layer
 * before it, if they are not the layer's own. */
static ep_status activation_backward(ep_cuda_pass *pass, ep_error *error) {
  const ep_cuda_layer *layer = ep_cuda_pass_layer(pass);
  const ep_cuda_call *call = &pass->call;
  const int i = pass->i;
  const bool drops = drops_with_back(pass, i + 1);
  const ep_cuda_layer *under = i > pass->first && call->op->input[0] == i ? layer - 1 : NULL;
  pass->summed = under && under->bias_gradient && !pass->network->values[i].shared &&
                 sums_together(pass, call->op);
  if (drops || pass->summed)
    EP_CUDA_TRY(ep_cuda_activation_undo(
                    call->stream, call->op, drops ? layer[1].op : NULL, call->first, call->rows,
                    call->seed, call->clock, call->x[0], call->y, call->grad,
                    pass->summed ? under->bias_slices : ep_cuda_column_slices(call->rows),
                    pass->summed ? under->bias_gradient : NULL),
                "an activation, backward");
  else
    EP_CUDA_TRY(ep_cuda_activation_backward(call->stream, call->op, call->rows, call->x[0], call->y,
                                            call->grad),
                "an activation, backward");
  return EP_OK;
}

static const ep_cuda_network_operator activation = {NULL, NULL, activation_forward,
                                                    activation_backward};
#define ACTIVATION(code, ...) EP_CUDA_NETWORK_OPERATOR(code, IN_PLACE, &activation);
EP_ACTIVATIONS(ACTIVATION)

static ep_status dropout_forward(ep_cuda_pass *pass, ep_error *error) {
  if (pass->call.training && drops_with(pass, pass->i)) return EP_OK;
  EP_CUDA_TRY(ep_cuda_dropout_forward(&pass->call), "a dropout");
  return EP_OK;
}

static ep_status dropout_backward(ep_cuda_pass *pass, ep_error *error) {
  if (drops_with_back(pass, pass->i)) return EP_OK;
  EP_CUDA_TRY(ep_cuda_dropout_backward(&pass->call), "a dropout, backward");
  return EP_OK;
}

static const ep_cuda_network_operator dropout = {NULL, NULL, dropout_forward, dropout_backward};
EP_CUDA_NETWORK_OPERATOR(DROPOUT, IN_PLACE, &dropout);
