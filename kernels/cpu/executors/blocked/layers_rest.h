/* layers_rest.h: dropout, dropout2d, embedding, residual. */
#ifndef EP_KERNELS_CPU_EXECUTORS_BLOCKED_LAYERS_REST_H
#define EP_KERNELS_CPU_EXECUTORS_BLOCKED_LAYERS_REST_H

#include <string.h>

#include "kernels/cpu/executors/blocked/blocked.h"
#include "kernels/formulas/dropout.h"

/* Numbers that have one element of the mask. */
static int64_t dropout_block(const ep_op *op) {
  return op->type == EP_LAYER_DROPOUT ? 1 : op->in.height * op->in.width;
}

/* The rows' elements of the batch's mask: 1 where one is kept. */
static void dropout_mask(const ep_blocked_call *call) {
  const ep_op *op = call->op;
  const int64_t blocks = op->in_features / dropout_block(op);
  const int64_t first = call->first_row * blocks, count = call->rows * blocks;
  uint8_t *mask = call->side;
  for (int64_t quad = first / 4; quad * 4 < first + count; quad++) {
    ep_random4 words = ep_dropout_words(call->seed, call->step, op->layer, quad);
    for (int64_t i = 0; i < 4; i++) {
      int64_t at = quad * 4 + i - first;
      if (at >= 0 && at < count) mask[at] = ep_dropout_word_keeps(words.word[i], op->p);
    }
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

/* Each whole number of x becomes a row of W. */
static void embedding_forward(const ep_blocked_call *call) {
  const ep_op *op = call->op;
  const int64_t dimension = op->out_features / op->in_features;
  for (int64_t i = 0; i < call->rows * op->in_features; i++)
    memcpy(call->y + i * dimension, call->parameters + op->weight + (int64_t)call->x[i] * dimension,
           (size_t)dimension * sizeof(float));
}

static void embedding_backward(const ep_blocked_call *call) {
  const ep_op *op = call->op;
  const int64_t dimension = op->out_features / op->in_features;
  for (int64_t i = 0; call->grad_weight && i < call->rows * op->in_features; i++) {
    float *restrict to = call->grad_weight + (int64_t)call->x[i] * dimension;
    const float *restrict from = call->grad_y + i * dimension;
    for (int64_t j = 0; j < dimension; j++) to[j] += from[j];
  }
  /* Whole numbers have no slope. */
  if (call->grad_x) memset(call->grad_x, 0, (size_t)(call->rows * op->in_features) * sizeof(float));
}

static void residual_forward(const ep_blocked_call *call) {
  const int64_t count = call->rows * call->op->in_features;
  const float *x = call->x, *other = call->other;
  float *restrict y = call->y;
  for (int64_t i = 0; i < count; i++) y[i] = x[i] + other[i];
}

/* The other value's share is the step's to add. */
static void residual_backward(const ep_blocked_call *call) {
  if (call->grad_x)
    memcpy(call->grad_x, call->grad_y,
           (size_t)(call->rows * call->op->in_features) * sizeof(float));
}

#endif
