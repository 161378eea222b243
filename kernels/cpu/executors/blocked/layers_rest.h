/* layers_rest.h: dropout, dropout2d, embedding, add. */
#ifndef EP_KERNELS_CPU_EXECUTORS_BLOCKED_LAYERS_REST_H
#define EP_KERNELS_CPU_EXECUTORS_BLOCKED_LAYERS_REST_H

#include <string.h>

#include "kernels/cpu/executors/blocked/blocked.h"
#include "kernels/cpu/runtime/philox.h"
#include "kernels/formulas/dropout.h"

/* Numbers that have one element of the mask. */
static int64_t dropout_block(const ep_op *op) {
  return op->type == EP_LAYER_DROPOUT ? 1 : op->in.height * op->in.width;
}

/* Which elements of the quads first … first + EP_LANES - 1 are kept: a byte each. least: of
 * lanes_random_least. */
static void dropout_quads(const ep_blocked_call *call, int64_t first, int32_t least,
                          uint8_t keeps[4 * EP_LANES]) {
  lanes_word word[4], bits = {0};
  lanes_random(call->seed, EP_RANDOM_DROPOUT, (uint64_t)call->step,
               (uint64_t)call->op->layer << 40 | (uint64_t)first, word);
#pragma GCC unroll 4
  for (int i = 0; i < 4; i++)
    bits |= ((lanes_word)((lanes_int)(word[i] >> 8) >= least) & 1u) << 8 * i;
  memcpy(keeps, &bits, sizeof bits);
}

/* The rows' elements of the batch's mask: 1 where one is kept. */
static void dropout_mask(const ep_blocked_call *call) {
  enum { ELEMENTS = 4 * EP_LANES };
  const ep_op *op = call->op;
  const int64_t blocks = op->in_features / dropout_block(op);
  const int64_t first = call->first_row * blocks, count = call->rows * blocks;
  const int32_t least = lanes_random_least(op->p);
  uint8_t *mask = call->side, keeps[ELEMENTS];
  for (int64_t at = first - first % 4; at < first + count; at += ELEMENTS) {
    const int64_t from = at < first ? first : at;
    const int64_t end = at + ELEMENTS < first + count ? at + ELEMENTS : first + count;
    if (from == at && end == at + ELEMENTS) {
      dropout_quads(call, at / 4, least, mask + (at - first));
      continue;
    }
    dropout_quads(call, at / 4, least, keeps);
    memcpy(mask + (from - first), keeps + (from - at), (size_t)(end - from));
  }
}

/* Each element of the mask is for `block` numbers. */
static void dropout_apply(const ep_blocked_call *call, int64_t block, const float *restrict from,
                          float *restrict to) {
  const float scale = ep_dropout_scale(call->op->p);
  const int64_t blocks = call->rows * call->op->in_features / block;
  const uint8_t *restrict mask = call->side;
  if (block == 1) {
    for (int64_t i = 0; i < blocks; i++) to[i] = mask[i] ? scale * from[i] : 0.0f;
    return;
  }
  for (int64_t i = 0; i < blocks; i++, from += block, to += block) {
    if (!mask[i]) memset(to, 0, (size_t)block * sizeof *to);
    for (int64_t j = 0; mask[i] && j < block; j++) to[j] = scale * from[j];
  }
}

static void dropout_forward(const ep_blocked_call *call) {
  if (!call->training) {
    memcpy(call->y, call->x, (size_t)(call->rows * call->op->in_features) * sizeof(float));
    return;
  }
  dropout_mask(call);
  dropout_apply(call, dropout_block(call->op), call->x, call->y);
}

static void dropout_backward(const ep_blocked_call *call) {
  if (call->grad_x) dropout_apply(call, dropout_block(call->op), call->grad_y, call->grad_x);
}

/* Numbers stay what they are, and each whole number behind them becomes a row of W. */
static void embedding_forward(const ep_blocked_call *call) {
  const ep_op *op = call->op;
  const size_t numbers = (size_t)op->numbers * sizeof(float);
  const int64_t dimension = ep_op_dimension(op);
  for (int64_t row = 0; row < call->rows; row++) {
    const float *x = call->x + row * op->in_features;
    float *y = call->y + row * op->out_features;
    memcpy(y, x, numbers);
    y += op->numbers;
    for (int64_t i = op->numbers; i < op->in_features; i++, y += dimension)
      memcpy(y, call->parameters + op->weight + (int64_t)x[i] * dimension,
             (size_t)dimension * sizeof(float));
  }
}

static void embedding_backward(const ep_blocked_call *call) {
  const ep_op *op = call->op;
  const size_t numbers = (size_t)op->numbers * sizeof(float);
  const size_t columns = (size_t)ep_op_columns(op) * sizeof(float);
  const int64_t dimension = ep_op_dimension(op);
  for (int64_t row = 0; row < call->rows; row++) {
    const float *x = call->x + row * op->in_features;
    const float *restrict from = call->grad_y + row * op->out_features + op->numbers;
    for (int64_t i = op->numbers; call->grad_weight && i < op->in_features; i++) {
      float *restrict to = call->grad_weight + (int64_t)x[i] * dimension;
      for (int64_t j = 0; j < dimension; j++) to[j] += *from++;
    }
    if (!call->grad_x) continue;
    float *grad_x = call->grad_x + row * op->in_features;
    memcpy(grad_x, call->grad_y + row * op->out_features, numbers);
    memset(grad_x + op->numbers, 0, columns); /* whole numbers have no slope */
  }
}

static void add_forward(const ep_blocked_call *call) {
  const int64_t count = call->rows * call->op->in_features;
  float *restrict y = call->y;
  for (int k = 1; k < call->op->inputs; k++) {
    const float *x = k == 1 ? call->x : call->y, *other = call->inputs[k];
    for (int64_t i = 0; i < count; i++) y[i] = x[i] + other[i];
  }
}

#endif
