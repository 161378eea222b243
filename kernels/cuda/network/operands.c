#include "kernels/cuda/network/operands.h"

#include "kernels/cuda/network/operator.h"

/* --- which form ---------------------------------------------------------------------------- */

/* What a form is worth: so many rows and multiply-adds, since each packing is a launch and the
 * weights are packed as well; and so many for each number that is packed, as half of the harmonic
 * mean of both sides of the weight. By measurements on an H200 (docs/notes/0062-operands.md). */
typedef struct {
  double rows, products, balance;
} worth;

static const worth unaligned = {384, 2e8, 60}, half_of_aligned = {384, 1e9, 170},
                   split = {1024, 2e9, 90};

static bool is_worth(const worth *least, const ep_op *op, int64_t rows) {
  const double in = (double)op->in_features, out = (double)op->out_features;
  return (double)rows >= least->rows && (double)rows * in * out >= least->products &&
         in * out / (in + out) >= least->balance;
}

/* Each row, and the matrix, on 16 bytes. */
static bool is_aligned(const ep_op *op) {
  return op->in_features % 4 == 0 && op->out_features % 4 == 0 && op->weight % 4 == 0;
}

static ep_cuda_operand_form form_of(const ep_cuda_network *network, const ep_op *op) {
  const int64_t rows = network->program->batch_size;
  const ep_precision precision = network->program->precision;
  if ((ep_gpu_features(network->backend->gpu.capability) & EP_GPU_AMPERE) == 0)
    return EP_CUDA_OPERAND_PLAIN;
  if (precision == EP_PRECISION_FP32)
    return is_worth(&split, op, rows) ? EP_CUDA_OPERAND_SPLIT : EP_CUDA_OPERAND_PLAIN;
  if (precision == EP_PRECISION_BF16 &&
      is_worth(is_aligned(op) ? &half_of_aligned : &unaligned, op, rows))
    return EP_CUDA_OPERAND_BF16;
  return !is_aligned(op) && is_worth(&unaligned, op, rows) ? EP_CUDA_OPERAND_PADDED
                                                           : EP_CUDA_OPERAND_PLAIN;
}

/* --- memory -------------------------------------------------------------------------------- */

static ep_status operand_take(ep_cuda_network *network, ep_cuda_operand_form form, int64_t rows,
                              int64_t pitch, ep_cuda_operand *out, ep_error *error) {
  const int64_t bytes = ep_cuda_operand_bytes(form);
  const ep_cuda_buffer buffers[] = {
      {&out->numbers, rows, pitch, bytes},
      {&out->rest, form == EP_CUDA_OPERAND_SPLIT ? rows : 0, pitch, bytes}};
  return ep_cuda_memory_take_all(&network->memory, buffers, 2, error);
}

static int64_t larger(int64_t a, int64_t b) {
  return a > b ? a : b;
}

/* Whether a matrix is an operand as it lies. Behind the last row of a weight there must be zeros,
 * which what pads the gradient is multiplied by. */
static bool is_operand(ep_cuda_operand_form form, int64_t columns, const float *from) {
  return form == EP_CUDA_OPERAND_PADDED && columns % 4 == 0 && (uintptr_t)from % 16 == 0;
}
static bool is_weight_operand(ep_cuda_operand_form form, const ep_op *op, const float *weight) {
  return is_operand(form, op->in_features, weight) && op->out_features % 4 == 0;
}

/* A layer's own operands. widest, most: of the pitches of gradients, of products whose rows get
 * gaps, kept up. */
static ep_status layer_take(ep_cuda_network *network, ep_cuda_layer *layer, int64_t *widest,
                            int64_t *most, ep_error *error) {
  const ep_op *op = layer->op;
  const int64_t rows = network->program->batch_size;
  const int64_t in = ep_cuda_operand_pitch(layer->form, op->in_features);
  const int64_t out = ep_cuda_operand_pitch(layer->form, op->out_features);
  layer->x_operand.pitch = layer->weight_operand.pitch = in;
  *widest = larger(*widest, out);
  if (in != op->in_features) *most = larger(*most, larger(rows, op->out_features) * in);
  if (out != op->out_features) *most = larger(*most, rows * out);
  ep_status status = operand_take(network, layer->form, rows, in, &layer->x_operand, error);
  const float *weight = ep_cuda_parameters_at(network, op->weight);
  if (status == EP_OK && !is_weight_operand(layer->form, op, weight))
    status = operand_take(network, layer->form, out, in, &layer->weight_operand, error);
  return status;
}

/* All that is taken here is for speed. */
static void forms_give_up(ep_cuda_network *network) {
  network->padded_floats = 0;
  for (int i = network->share.first; i < network->share.end; i++)
    network->layers[i].form = EP_CUDA_OPERAND_PLAIN;
}

static ep_status operands_take(ep_cuda_network *network, ep_error *error) {
  const float ones[2] = {1, 1};
  ep_cuda_operand_form form = EP_CUDA_OPERAND_PLAIN;
  int64_t widest = 0, most = 0;
  ep_status status = EP_OK;
  for (int i = network->share.first; status == EP_OK && i < network->share.end; i++) {
    ep_cuda_layer *layer = &network->layers[i];
    if (layer->op->type != EP_LAYER_LINEAR || layer->thin) continue;
    layer->form = form_of(network, layer->op);
    if (layer->form == EP_CUDA_OPERAND_PLAIN) continue;
    form = layer->form;
    status = layer_take(network, layer, &widest, &most, error);
  }
  if (status != EP_OK || form == EP_CUDA_OPERAND_PLAIN) return status;
  status = operand_take(network, form, network->program->batch_size, widest, &network->grad_operand,
                        error);
  network->padded_floats = most;
  if (status == EP_OK)
    status =
        ep_cuda_memory_take(&network->memory, &network->padded_out, 1, most, sizeof(float), error);
  if (status == EP_OK)
    status =
        ep_cuda_memory_take_copy(&network->memory, &network->ones, ones, 2, sizeof *ones, error);
  return status;
}

ep_status ep_cuda_operands_enable(ep_cuda_network *network, ep_error *error) {
  const ep_cuda_memory before = network->memory;
  if (network->share.evaluates) return EP_OK;
  ep_status status = operands_take(network, error);
  if (status != EP_NO_MEMORY) return status;
  ep_cuda_memory_give_back(&network->memory, &before);
  forms_give_up(network);
  return EP_OK;
}

/* --- products ------------------------------------------------------------------------------ */

static ep_cuda_operand as_it_lies(int64_t columns, const float *from) {
  return (ep_cuda_operand){.numbers = (void *)from, .pitch = columns};
}

static ep_cuda_operand x_of(const ep_cuda_pass *pass) {
  const ep_cuda_layer *layer = ep_cuda_pass_layer(pass);
  const int64_t in = layer->op->in_features;
  return is_operand(layer->form, in, pass->call.x[0]) ? as_it_lies(in, pass->call.x[0])
                                                      : layer->x_operand;
}

static ep_cuda_operand weight_of(const ep_cuda_pass *pass) {
  const ep_cuda_layer *layer = ep_cuda_pass_layer(pass);
  return is_weight_operand(layer->form, layer->op, pass->call.weight)
             ? as_it_lies(layer->op->in_features, pass->call.weight)
             : layer->weight_operand;
}

static ep_cuda_operand grad_of(const ep_cuda_pass *pass) {
  const ep_cuda_layer *layer = ep_cuda_pass_layer(pass);
  const int64_t out = layer->op->out_features;
  ep_cuda_operand packed = pass->network->grad_operand;
  packed.pitch = ep_cuda_operand_pitch(layer->form, out);
  return is_operand(layer->form, out, pass->call.grad) ? as_it_lies(out, pass->call.grad) : packed;
}

static ep_status pack(const ep_cuda_pass *pass, int64_t rows, int64_t columns, const float *from,
                      const ep_cuda_operand *to, ep_error *error) {
  const ep_cuda_operand_form form = ep_cuda_pass_layer(pass)->form;
  if (to->numbers == from) return EP_OK;
  EP_CUDA_TRY(
      ep_cuda_operand_pack(pass->network->stream, form, rows, columns, from, to->numbers, to->rest),
      "packing an operand");
  return EP_OK;
}

/* Products by a layer's operands, to rows without gaps: out: [rows, columns]; bias: [columns] or
 * NULL. shape: rows, depth, what is transposed. */
static ep_status multiply(const ep_cuda_pass *pass, ep_cuda_products *products,
                          ep_cuda_gemm_shape shape, const ep_cuda_operand *a,
                          const ep_cuda_operand *b, int64_t columns, const float *bias, float *out,
                          ep_error *error) {
  ep_cuda_network *network = pass->network;
  const ep_cuda_operand_form form = ep_cuda_pass_layer(pass)->form;
  const bool splits = form == EP_CUDA_OPERAND_SPLIT;
  shape.columns = ep_cuda_operand_pitch(form, columns);
  const bool padded = shape.columns != columns;
  shape.out = padded ? network->padded_out : out;
  shape.a = a->numbers;
  shape.b = b->numbers;
  shape.a_pitch = a->pitch;
  shape.b_pitch = b->pitch;
  shape.tf32 = form != EP_CUDA_OPERAND_BF16;
  if (form == EP_CUDA_OPERAND_BF16) shape.operands = CUDA_R_16BF;
  /* The smallest first. The last is the whole product, where it is the only one. */
  ep_cuda_gemm_shape terms[EP_CUDA_TERMS] = {shape, shape, shape};
  terms[0].a = a->rest;
  terms[1].b = b->rest;
  terms[1].scales = terms[2].scales = splits ? network->ones : NULL;
  terms[2].bias = padded ? NULL : bias;
  const int first = splits ? 0 : EP_CUDA_TERMS - 1;
  ep_status status =
      ep_cuda_network_multiply_all(network, products, terms + first, EP_CUDA_TERMS - first,
                                   ep_cuda_network_searches(network, pass->rows), error);
  if (status != EP_OK || !padded) return status;
  EP_CUDA_TRY(ep_cuda_operand_unpack(network->stream, shape.rows, columns, shape.columns,
                                     network->padded_out, bias, out),
              "a product's rows");
  return EP_OK;
}

ep_status ep_cuda_packed_forward(ep_cuda_pass *pass, ep_error *error) {
  ep_cuda_layer *layer = ep_cuda_pass_layer(pass);
  const ep_cuda_call *call = &pass->call;
  const int64_t in = layer->op->in_features, out = layer->op->out_features;
  const ep_cuda_operand x = x_of(pass), weight = weight_of(pass);
  const ep_cuda_gemm_shape shape = {.rows = call->rows, .depth = x.pitch, .transpose_b = true};
  ep_status status = pack(pass, call->rows, in, call->x[0], &x, error);
  if (status == EP_OK) status = pack(pass, out, in, call->weight, &weight, error);
  if (status != EP_OK) return status;
  return multiply(pass, &layer->forward, shape, &x, &weight, out, call->bias, call->y, error);
}

ep_status ep_cuda_packed_backward(ep_cuda_pass *pass, ep_error *error) {
  ep_cuda_layer *layer = ep_cuda_pass_layer(pass);
  const ep_cuda_call *call = &pass->call;
  const int64_t in = layer->op->in_features, out = layer->op->out_features;
  if (!layer->trained && !call->grad_x[0]) return EP_OK;
  const ep_cuda_operand x = x_of(pass), weight = weight_of(pass), grad = grad_of(pass);
  const ep_cuda_gemm_shape of_weight = {.rows = out, .depth = call->rows, .transpose_a = true};
  const ep_cuda_gemm_shape of_x = {.rows = call->rows, .depth = grad.pitch};
  ep_status status = pack(pass, call->rows, out, call->grad, &grad, error);
  if (status == EP_OK && layer->trained) {
    status = ep_cuda_pass_side_begin(pass, error);
    if (status != EP_OK) return status;
    status = multiply(pass, &layer->weight, of_weight, &grad, &x, in, NULL, layer->gradient, error);
    status = ep_cuda_side_end(pass->network, status, error);
  }
  if (status == EP_OK && call->grad_x[0])
    status =
        multiply(pass, &layer->backward, of_x, &grad, &weight, in, NULL, call->grad_x[0], error);
  return status;
}
