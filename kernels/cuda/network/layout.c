#include "kernels/cuda/network/layout.h"

#include <assert.h>

#include "kernels/formulas/activations.h"
#include "kernels/operators/operator.h"
#include "kernels/plans/work.h"

/* Rows that are summed apart: a warp goes along a slice, or, where a row is wide enough, a block
 * reads some of its inputs as a tile. */
enum { SLICE_ROWS = 512, TILE_SLICE_ROWS = 32, SLICES_AT_MOST = 64, WIDE_INPUTS = 32 };
/* Those of columns that are summed by a few threads each. */
enum { COLUMN_SLICE_ROWS = 64, COLUMN_SLICES_AT_MOST = 32 };
/* Cells of an embedding that a block looks through, and weights of all slices together. */
enum { SLICE_CELLS = 2048, SLICED_WEIGHTS_MAX = 1 << 22 };

bool ep_cuda_linear_by_tile(const ep_op *op) {
  return op->in_features >= WIDE_INPUTS;
}

static int slices_of(int64_t rows, int64_t slice_rows) {
  int64_t slices = (rows + slice_rows - 1) / slice_rows;
  return (int)(slices < SLICES_AT_MOST ? slices : SLICES_AT_MOST);
}

int ep_cuda_linear_slices(const ep_op *op, int64_t rows) {
  return slices_of(rows, ep_cuda_linear_by_tile(op) ? TILE_SLICE_ROWS : SLICE_ROWS);
}

int ep_cuda_row_slices(int64_t rows) {
  const int slices = slices_of(rows, COLUMN_SLICE_ROWS);
  return slices < COLUMN_SLICES_AT_MOST ? slices : COLUMN_SLICES_AT_MOST;
}

int ep_cuda_embedding_slices(const ep_op *op, int64_t rows) {
  int64_t slices = slices_of(rows * ep_op_columns(op), SLICE_CELLS);
  const int64_t most = SLICED_WEIGHTS_MAX / ep_op_own_weights(op);
  if (slices > most) slices = most;
  return slices > 1 ? (int)slices : 1;
}

/* --- checks -------------------------------------------------------------------------------- */

static bool product_fits(int64_t a, int64_t b, int64_t c, int64_t d) {
  int64_t product;
  return !__builtin_mul_overflow(a, b, &product) && !__builtin_mul_overflow(product, c, &product) &&
         !__builtin_mul_overflow(product, d, &product);
}

static bool window_is_sound(const ep_op *op) {
  for (int i = 0; i < 2; i++)
    if (op->kernel[i] < 1 || op->stride[i] < 1 || op->padding[i] < 0) return false;
  if (op->type == EP_LAYER_CONV2D)
    return op->groups >= 1 && op->in.channels % op->groups == 0 &&
           op->out.channels % op->groups == 0;
  return true;
}

/* Whether what it reads comes before it. */
static bool inputs_are_there(const ep_op *op, int i) {
  bool there = op->inputs >= 1 && op->inputs <= EP_OP_INPUTS;
  for (int k = 0; there && k < op->inputs; k++) there = op->input[k] >= 0 && op->input[k] <= i;
  return there;
}

static ep_status op_check(const ep_program *program, int i, ep_error *error) {
  const ep_op *op = &program->ops[i];
  bool has_window = op->type == EP_LAYER_CONV2D || op->type == EP_LAYER_MAX_POOL2D ||
                    op->type == EP_LAYER_AVG_POOL2D;
  if (op->in_features < 1 || op->out_features < 1)
    return ep_fail(error, EP_INVALID, "layer %d has no features", i);
  if (has_window && !window_is_sound(op))
    return ep_fail(error, EP_INTERNAL, "layer %d has an invalid kernel size or stride", i);
  if (!inputs_are_there(op, i))
    return ep_fail(error, EP_INTERNAL, "layer %d reads what does not stand before it", i);
  if ((op->inputs > 1 || op->type == EP_LAYER_SLICE || op->type == EP_LAYER_PERMUTE ||
       op->type == EP_LAYER_EMBEDDING) &&
      !ep_operator_of(op->type)->fits(program, op))
    return ep_fail(error, EP_INTERNAL, "layer %d has shapes that do not fit together", i);
  if (!product_fits(op->in_features, op->out_features, 1, 1) ||
      (op->type == EP_LAYER_CONV2D &&
       !product_fits(op->in.channels, op->out.channels, op->kernel[0], op->kernel[1])))
    return ep_fail(error, EP_NO_MEMORY, "layer %d has more weights than fit on a GPU", i);
  if (op->type == EP_LAYER_BATCH_NORM && op->running < 0)
    return ep_fail(error, EP_INTERNAL, "layer %d has no running statistics", i);
  if (op->bias >= 0 && op->bias != op->weight + ep_op_own_weights(op))
    return ep_fail(error, EP_INTERNAL, "layer %d: the bias does not follow the weight", i);
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
  const ep_op *before = &program->ops[i - 1];
  if (before->type == EP_LAYER_LINEAR) return ep_op_is_thin(before, program->batch_size);
  return before->type == EP_LAYER_CONV2D && network->layers[i].in_place;
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

/* Whether the op makes of the gradient by its output that by an input in its place. */
static bool undoes_in_place(ep_layer_type type) {
  switch (type) {
  case EP_LAYER_LINEAR:
  case EP_LAYER_CONV2D:
  case EP_LAYER_MAX_POOL2D:
  case EP_LAYER_AVG_POOL2D:
  case EP_LAYER_ADAPTIVE_AVG_POOL2D:
  case EP_LAYER_EMBEDDING:
  case EP_LAYER_CONCAT:
  case EP_LAYER_SLICE:
  case EP_LAYER_PERMUTE: return false;
  default: return true;
  }
}

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
  bool goes_on = false; /* in the memory of its output's gradient */
  for (int k = 0; k < op->inputs; k++) {
    if (!values[op->input[k]].learns) continue;
    const bool here = !goes_on && undoes_in_place(op->type);
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
