#include "kernels/cuda/network/layout.h"

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

static ep_status op_check(const ep_op *op, int i, ep_error *error) {
  bool has_window = op->type == EP_LAYER_CONV2D || op->type == EP_LAYER_MAX_POOL2D ||
                    op->type == EP_LAYER_AVG_POOL2D;
  if (op->in_features < 1 || op->out_features < 1)
    return ep_fail(error, EP_INVALID, "layer %d has no features", i);
  if (has_window && !window_is_sound(op))
    return ep_fail(error, EP_INTERNAL, "layer %d has an invalid kernel size or stride", i);
  if (!ep_op_is_in_line(op, i))
    return ep_fail(error, EP_INTERNAL, "layer %d reads what does not stand before it", i);
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
    status = op_check(&program->ops[i], i, error);
  return status;
}

/* --- who may write over whom --------------------------------------------------------------- */

void ep_cuda_layout_decide(ep_cuda_network *network) {
  const ep_program *program = network->program;
  network->first_trained = program->ops_count;
  for (int i = program->ops_count - 1; i >= 0; i--) {
    ep_cuda_layer *layer = &network->layers[i];
    const ep_op *op = layer->op;
    if (op->type == EP_LAYER_ADD && op->input[1] > 0)
      network->layers[op->input[1] - 1].shared = true;
    layer->trained = !network->share.evaluates && ep_op_learns(program, op);
    if (layer->trained) network->first_trained = i;
  }
  ep_keep kept = EP_KEEP_ALL; /* the network's own input */
  for (int i = 0; i < program->ops_count; i++) {
    ep_cuda_layer *layer = &network->layers[i];
    const ep_op *op = layer->op;
    const bool first = i == network->share.first;
    if (first) kept = EP_KEEP_ALL; /* what another has made */
    layer->in_place = ep_op_keep(op, layer->shared, &kept);
    if (first || i == 0 || !ep_activation_is(op->type)) continue;
    const ep_op *before =
        program->ops[i - 1].type == EP_LAYER_LINEAR || program->ops[i - 1].type == EP_LAYER_CONV2D
            ? &program->ops[i - 1]
            : NULL;
    if (!before) continue;
    bool thin = before->type == EP_LAYER_LINEAR && ep_op_is_thin(before, program->batch_size);
    layer->fused = thin || (before->type == EP_LAYER_CONV2D && layer->in_place);
  }
}
