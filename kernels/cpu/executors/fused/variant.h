/* variant.h: one variant of cpu/fused, whole: a batch's way through the network and back. A file
 * that includes it defines EP_LANES and then the ep_fused_variant with VARIANT_OPS. */
#ifndef EP_KERNELS_CPU_EXECUTORS_FUSED_VARIANT_H
#define EP_KERNELS_CPU_EXECUTORS_FUSED_VARIANT_H

#include "kernels/cpu/executors/fused/activation.h"
#include "kernels/cpu/executors/fused/dropout.h"
#include "kernels/cpu/executors/fused/loss.h"
#include "kernels/cpu/executors/fused/norm.h"
#include "kernels/cpu/executors/fused/product.h"
#ifdef EP_TILES
#include "kernels/cpu/executors/fused/tiles.h"
#endif
#include "kernels/formulas/optimizers.h"

static void variant_pack(float *to, int64_t stride, const float *from, int64_t features,
                         const uint32_t *rows_from, int64_t vectors) {
  for (int64_t v = 0; v < vectors; v++) {
    const float *row[EP_LANES];
    for (int l = 0; l < EP_LANES; l++)
      row[l] = from + (int64_t)rows_from[v * EP_LANES + l] * features;
    float *column = to + v * EP_LANES;
    int64_t f = 0;
    for (; f + EP_LANES <= features; f += EP_LANES) {
      lanes block[EP_LANES];
#pragma GCC unroll 16
      for (int l = 0; l < EP_LANES; l++) block[l] = lanes_load_loose(row[l] + f);
      lanes_transpose(block);
#pragma GCC unroll 16
      for (int l = 0; l < EP_LANES; l++) lanes_store(column + (f + l) * stride, block[l]);
    }
    for (; f < features; f++)
      for (int l = 0; l < EP_LANES; l++) column[f * stride + l] = row[l][f];
  }
}

LANES_INLINE activation variant_activation(const ep_fused_net *net, const ep_fused_chunk *chunk,
                                           const ep_fused_stage *stage) {
  return (activation){stage->type, stage->out_features,       chunk->vectors,
                      net->stride, stage->op->negative_slope, stage->op};
}

LANES_INLINE dropout variant_dropout(const ep_fused_net *net, const ep_fused_chunk *chunk,
                                     const ep_fused_stage *stage) {
  return (dropout){.features = stage->out_features,
                   .vectors = chunk->vectors,
                   .stride = net->stride,
                   .seed = net->program->seed,
                   .step = chunk->step,
                   .first_row = chunk->first_row,
                   .op = stage->op};
}

LANES_INLINE norm variant_norm(const ep_fused_net *net, const ep_fused_chunk *chunk,
                               const ep_fused_stage *stage, bool first) {
  const bool weight = stage->weight >= 0, bias = stage->bias >= 0;
  return (norm){.features = stage->out_features,
                .rows = chunk->rows,
                .vectors = chunk->vectors,
                .stride = net->stride,
                .weight = weight ? net->parameters + stage->weight : NULL,
                .bias = bias ? net->parameters + stage->bias : NULL,
                .mean = stage->mean,
                .factor = stage->factor,
                .weight_sums = weight ? net->sums + stage->weight * EP_LANES : NULL,
                .bias_sums = bias ? net->sums + stage->bias * EP_LANES : NULL,
                .first = first,
                .eps = stage->op->eps,
                .momentum = stage->op->momentum,
                .running = net->buffers + (stage->op->running < 0 ? 0 : stage->op->running)};
}

/* A layer that is not linear. */
static void variant_layer_forward(const ep_fused_net *net, const ep_fused_chunk *chunk,
                                  const ep_fused_stage *stage, const float *x) {
  const dropout mask = variant_dropout(net, chunk, stage);
  const norm set = variant_norm(net, chunk, stage, false);
  const activation each = variant_activation(net, chunk, stage);
  switch (stage->type) {
  case EP_LAYER_DROPOUT:
    if (chunk->training)
      dropout_forward(&mask, x, stage->output);
    else
      dropout_copy(&mask, x, stage->output);
    break;
  case EP_LAYER_LAYER_NORM: layer_norm_forward(&set, x, stage->output); break;
  case EP_LAYER_BATCH_NORM: batch_norm_forward(&set, x, stage->output, chunk->training); break;
  default: activation_forward(&each, x, stage->output);
  }
}

/* From the gradient of its output to that of its input, if that goes `further`, in place. */
static void variant_layer_backward(const ep_fused_net *net, const ep_fused_chunk *chunk,
                                   const ep_fused_stage *stage, const float *x, bool first,
                                   bool further) {
  const dropout mask = variant_dropout(net, chunk, stage);
  const norm set = variant_norm(net, chunk, stage, first);
  const activation each = variant_activation(net, chunk, stage);
  switch (stage->type) {
  case EP_LAYER_DROPOUT: dropout_backward(&mask, stage->output, net->gradient); break;
  case EP_LAYER_LAYER_NORM: layer_norm_backward(&set, x, net->gradient, further); break;
  case EP_LAYER_BATCH_NORM: batch_norm_backward(&set, x, net->gradient, further); break;
  default: activation_backward(&each, x, stage->output, net->gradient);
  }
}

/* Rows of a product that a thread takes at a time: whole tiles. */
enum { VARIANT_PIECE_ROWS = 48 };

static int64_t variant_pieces(int64_t rows) {
  return (rows + VARIANT_PIECE_ROWS - 1) / VARIANT_PIECE_ROWS;
}

static void variant_product_task(void *context, int64_t number, int member) {
  (void)member;
  const product piece = product_piece(context, number * VARIANT_PIECE_ROWS, VARIANT_PIECE_ROWS);
  lanes_product(&piece);
}

/* x W^T, or, `across`, the gradient times W. */
static void variant_product(const ep_fused_net *net, const ep_fused_chunk *chunk,
                            const ep_fused_stage *stage, bool across, product p) {
#ifdef EP_TILES
  if (stage->tiled) {
    if (across)
      tiles_backward(net, chunk, stage, &p);
    else
      tiles_forward(net, chunk, stage, &p);
    return;
  }
#else
  (void)chunk;
  (void)across;
#endif
  if (stage->shared && net->crew)
    ep_crew_run(net->crew, variant_product_task, &p, variant_pieces(p.rows));
  else
    lanes_product(&p);
}

static void variant_forward(const ep_fused_net *net, const ep_fused_chunk *chunk) {
  for (int i = 0; i < net->stages_count; i++) {
    const ep_fused_stage *stage = &net->stages[i];
    const float *x = stage->input ? stage->input : chunk->x;
    if (stage->type == EP_LAYER_LINEAR) {
      variant_product(net, chunk, stage, false,
                      (product){.rows = stage->out_features,
                                .depth = stage->in_features,
                                .vectors = chunk->vectors,
                                .a = net->parameters + stage->weight,
                                .a_row = stage->weight_stride,
                                .a_column = 1,
                                .b = x,
                                .b_row = net->stride,
                                .c = stage->output,
                                .c_row = net->stride,
                                .bias = stage->bias < 0 ? NULL : net->parameters + stage->bias,
                                .relu = stage->relu});
    } else {
      variant_layer_forward(net, chunk, stage, x);
    }
  }
}

/* The gradient of a wide layer's weight: the samples are the depth of the product. */
typedef struct {
  const ep_fused_net *net;
  const ep_fused_stage *stage;
  int64_t panel_rows, depth; /* of the last vector's rows only those count that are its own */
  bool first;
} weight_wide;

/* Rows `row` … of it. */
static void variant_weight_rows(const weight_wide *w, int64_t row, int64_t rows) {
  const ep_fused_net *net = w->net;
  const int64_t stride = w->stage->weight_stride;
  for (int64_t column = 0; column < stride; column += EP_FUSED_PANEL) {
    int64_t width = stride - column < EP_FUSED_PANEL ? stride - column : EP_FUSED_PANEL;
    const product whole = {.rows = w->stage->out_features,
                           .depth = w->depth,
                           .vectors = width / EP_LANES,
                           .a = net->gradient,
                           .a_row = net->stride,
                           .a_column = 1,
                           .b = net->transposed + column * w->panel_rows,
                           .b_row = EP_FUSED_PANEL,
                           .c = net->gradients + w->stage->weight + column,
                           .c_row = stride,
                           .add = !w->first};
    const product piece = product_piece(&whole, row, rows);
    lanes_product(&piece);
  }
}

static void variant_weight_task(void *context, int64_t number, int member) {
  (void)member;
  variant_weight_rows(context, number * VARIANT_PIECE_ROWS, VARIANT_PIECE_ROWS);
}

/* With the unit, the threads, or alone. */
static void variant_weight_wide(const ep_fused_net *net, const ep_fused_chunk *chunk,
                                const ep_fused_stage *stage, const float *x, bool first) {
#ifdef EP_TILES
  if (stage->tiled) {
    tiles_weight(net, chunk, stage, x, first);
    return;
  }
#endif
  weight_wide w = {net, stage, chunk->vectors * EP_LANES, chunk->rows, first};
  lanes_panels(net->transposed, EP_FUSED_PANEL, x, stage->in_features, net->stride, chunk->vectors);
  if (stage->shared && net->crew)
    ep_crew_run(net->crew, variant_weight_task, &w, variant_pieces(stage->out_features));
  else
    variant_weight_rows(&w, 0, stage->out_features);
}

/* The gradient of a layer's weight. */
static void variant_weight(const ep_fused_net *net, const ep_fused_chunk *chunk,
                           const ep_fused_stage *stage, const float *x, bool first) {
  if (stage->wide) {
    variant_weight_wide(net, chunk, stage, x, first);
    return;
  }
  const outer p = {.rows = stage->out_features,
                   .columns = stage->in_features,
                   .vectors = chunk->vectors,
                   .d = net->gradient,
                   .x = x,
                   .stride = net->stride,
                   .sums = net->sums + stage->weight * EP_LANES,
                   .first = first};
  lanes_outer(&p);
}

static void variant_bias(const ep_fused_net *net, const ep_fused_chunk *chunk,
                         const ep_fused_stage *stage, bool first) {
  const outer p = {.rows = stage->out_features,
                   .vectors = chunk->vectors,
                   .d = net->gradient,
                   .stride = net->stride,
                   .sums = net->sums + stage->bias * EP_LANES,
                   .first = first};
  lanes_row_sums(&p);
}

/* Whether a layer and the one before go back in one pass: up to the latter's own gradient, and that
 * of its bias. */
static bool variant_is_few(const ep_fused_stage *stage, const ep_fused_stage *before) {
  return stage->out_features <= FEW_MOST && before->type == EP_LAYER_LINEAR && before->relu;
}

static void variant_few(const ep_fused_net *net, const ep_fused_chunk *chunk,
                        const ep_fused_stage *stage, const ep_fused_stage *before, bool first) {
  const few p = {.rows = stage->out_features,
                 .columns = stage->in_features,
                 .vectors = chunk->vectors,
                 .d = net->gradient,
                 .x = before->output,
                 .stride = net->stride,
                 .w = net->parameters + stage->weight,
                 .w_row = stage->weight_stride,
                 .weight_sums = net->sums + stage->weight * EP_LANES,
                 .row_sums = before->bias < 0 ? NULL : net->sums + before->bias * EP_LANES,
                 .first = first};
  lanes_few(&p);
}

/* Where the gradient of a layer's input goes: over that input, if nothing but the product's mask
 * needs it any more; else where the gradient of the output is not. The unit, which may add to its
 * result before it masks it, does not write over a mask. */
static float *variant_gradient_to(const ep_fused_net *net, const ep_fused_stage *stage,
                                  const ep_fused_stage *before, const float *gradient) {
  if (before->type == EP_LAYER_LINEAR && !stage->tiled) return before->output;
  return gradient == net->gradient ? net->spare : net->gradient;
}

static void variant_backward(const ep_fused_net *net, const ep_fused_chunk *chunk, bool first) {
  ep_fused_net at = *net; /* its gradient is that of the stage at hand */
  bool masked = false;    /* the gradient has already passed the stage's own relu */
  bool summed = false;    /* and is that of its bias */
  for (int i = net->stages_count - 1; i >= net->first_trained; i--) {
    const ep_fused_stage *stage = &net->stages[i];
    const float *x = stage->input ? stage->input : chunk->x;
    if (stage->type != EP_LAYER_LINEAR) {
      variant_layer_backward(&at, chunk, stage, x, first, i > net->first_trained);
      masked = summed = false;
      continue;
    }
    if (stage->relu && !masked) {
      activation p = variant_activation(net, chunk, stage);
      p.type = EP_LAYER_RELU;
      activation_backward(&p, x, stage->output, at.gradient);
    }
    if (stage->bias >= 0 && !summed) variant_bias(&at, chunk, stage, first);
    if (i == net->first_trained) {
      variant_weight(&at, chunk, stage, x, first);
      break;
    }
    const ep_fused_stage *before = &net->stages[i - 1];
    masked = before->type == EP_LAYER_LINEAR && before->relu;
    summed = variant_is_few(stage, before);
    float *to = variant_gradient_to(net, stage, before, at.gradient);
    if (summed) {
      variant_few(&at, chunk, stage, before, first);
    } else {
      variant_weight(&at, chunk, stage, x, first);
      variant_product(&at, chunk, stage, true,
                      (product){.rows = stage->in_features,
                                .depth = stage->out_features,
                                .vectors = chunk->vectors,
                                .a = net->parameters + stage->weight,
                                .a_row = 1,
                                .a_column = stage->weight_stride,
                                .b = at.gradient,
                                .b_row = net->stride,
                                .c = to,
                                .c_row = net->stride,
                                .mask = masked ? before->output : NULL});
    }
    at.gradient = to;
  }
}

static void variant_add(const ep_fused_net *net, const ep_fused_net *part, int64_t first,
                        int64_t end) {
  const int64_t sums = net->summed * EP_LANES;
  for (int64_t i = first; i < end && i < sums; i += EP_LANES)
    lanes_store(net->sums + i, lanes_load(net->sums + i) + lanes_load(part->sums + i));
  float *to = net->gradients + net->summed - sums;
  const float *from = part->gradients + part->summed - sums;
  for (int64_t i = first > sums ? first : sums; i < end; i += EP_LANES)
    lanes_store(to + i, lanes_load(to + i) + lanes_load(from + i));
}

/* One vector of parameters; torch.optim.SGD. `state` is NULL without momentum. */
LANES_INLINE void variant_sgd(const ep_optimizer *optimizer, float *parameters, float *state,
                              lanes gradient, lanes lr, float decay) {
  const lanes parameter = lanes_load(parameters);
  if (decay != 0.0f) gradient += decay * parameter;
  if (state) {
    lanes velocity = optimizer->momentum * lanes_load(state) + gradient;
    lanes_store(state, velocity);
    gradient = optimizer->nesterov ? gradient + optimizer->momentum * velocity : velocity;
  }
  lanes_store(parameters, parameter - lr * gradient);
}

/* A step of the optimizer, on the parameters whose gradients are ready. */
typedef struct {
  const ep_fused_net *net;
  ep_optimizer_step at;
  float lr, decay;
} variant_step;

static void variant_update_sgd(const variant_step *step, int64_t first, int64_t end) {
  const ep_optimizer own = step->net->program->optimizer; /* own: no store can change it */
  const lanes lr = lanes_set(step->lr);
  const float *gradients = step->net->gradients, decay = step->decay;
  float *parameters = step->net->parameters, *state = step->net->state;
  for (int64_t i = first; i < end; i += EP_LANES)
    variant_sgd(&own, parameters + i, state ? state + i : NULL, lanes_load(gradients + i), lr,
                decay);
}

/* All others, by the formulas; `type` is a constant at each call. Padding has neither gradient nor
 * weight: it stays 0. */
LANES_INLINE void variant_update_by(const variant_step *step, const ep_optimizer_type type,
                                    int64_t first, int64_t end) {
  const ep_fused_net *net = step->net;
  float *parameters = net->parameters, *state = net->state;
  const float *gradients = net->gradients, decay = step->decay;
  const int64_t floats = net->floats;
  const ep_optimizer_step at = step->at;
  ep_optimizer optimizer = net->program->optimizer;
  optimizer.type = type;
#pragma GCC ivdep
  for (int64_t i = first; i < end; i++)
    parameters[i] =
        ep_optimizer_update(&optimizer, &at, decay, parameters[i], gradients[i], state + i, floats);
}

#define VARIANT_UPDATE(code, ...) \
  case EP_OPTIMIZER_##code: variant_update_by(step, EP_OPTIMIZER_##code, first, end); break;

/* Parameters first … end - 1. */
static void variant_update_range(const variant_step *step, int64_t first, int64_t end) {
  const ep_optimizer_type type = step->net->program->optimizer.type;
  if (type == EP_OPTIMIZER_SGD) {
    variant_update_sgd(step, first, end);
    return;
  }
  switch (type) {
    EP_OPTIMIZERS(VARIANT_UPDATE)
  case EP_OPTIMIZER_COUNT: break;
  }
}

enum { VARIANT_PIECE_FLOATS = 1 << 14 };

static void variant_update_task(void *context, int64_t number, int member) {
  (void)member;
  const variant_step *step = context;
  const int64_t first = step->net->summed + number * VARIANT_PIECE_FLOATS;
  const int64_t left = step->net->floats - first;
  variant_update_range(step, first,
                       first + (left < VARIANT_PIECE_FLOATS ? left : VARIANT_PIECE_FLOATS));
}

static void variant_update(const ep_fused_net *net, int64_t step, float lr) {
  const ep_program *program = net->program;
  const ep_optimizer *optimizer = &program->optimizer;
  variant_step own = {.net = net,
                      .at = ep_optimizer_step_make(optimizer, lr, step + 1),
                      .lr = lr,
                      .decay = program->groups_count ? program->groups[0].weight_decay : 0.0f};
  if (optimizer->type == EP_OPTIMIZER_SGD) {
    for (int64_t i = 0; i < net->summed; i += EP_LANES)
      variant_sgd(optimizer, net->parameters + i, net->state ? net->state + i : NULL,
                  lanes_reduce(net->sums + i * EP_LANES), lanes_set(lr), own.decay);
  } else {
    for (int64_t i = 0; i < net->summed; i += EP_LANES)
      lanes_store(net->gradients + i, lanes_reduce(net->sums + i * EP_LANES));
    variant_update_range(&own, 0, net->summed);
  }
  const int64_t wide = net->floats - net->summed;
  if (net->crew)
    ep_crew_run(net->crew, variant_update_task, &own,
                (wide + VARIANT_PIECE_FLOATS - 1) / VARIANT_PIECE_FLOATS);
  else
    variant_update_range(&own, net->summed, net->floats);
}

/* ep_permutation_mix on a vector. */
LANES_INLINE lanes_word variant_mix(lanes_word value, uint32_t key, uint32_t bits) {
  lanes_word hash = ((value + 1) * UINT32_C(0x9E3779B1)) ^ key;
  hash = (hash ^ hash >> 16) * UINT32_C(0x85EBCA6B);
  hash = (hash ^ hash >> 13) * UINT32_C(0xC2B2AE35);
  return (hash ^ hash >> 16) & ((UINT32_C(1) << bits) - 1);
}

static void variant_permute(const ep_permutation *permutation, uint32_t *to, uint32_t n) {
  const uint32_t left_bits = permutation->left_bits, right_bits = permutation->right_bits;
  for (uint32_t i = 0; i < n; i += EP_LANES) {
    /* Lanes past the end walk as the last element does. */
    lanes_word index = i + (lanes_word)lanes_iota;
    lanes_word inside = (lanes_word)(index < n);
    lanes_word value = (index & inside) | ((n - 1) & ~inside), waiting = ~(lanes_word){0};
    do {
      lanes_word left = value >> right_bits;
      lanes_word right = value & ((UINT32_C(1) << right_bits) - 1);
      for (uint32_t round = 0; round < permutation->rounds; round += 2) {
        left ^= variant_mix(right, permutation->key[round], left_bits);
        right ^= variant_mix(left, permutation->key[round + 1], right_bits);
      }
      lanes_word next = left << right_bits | right;
      value = (next & waiting) | (value & ~waiting);
      waiting = (lanes_word)(value >= n);
    } while (lanes_mask_count(lanes_int_less((lanes_int)waiting, (lanes_int){0})) > 0);
    memcpy(to + i, &value, sizeof value);
  }
}

#define VARIANT_OPS                                                                          \
  .lanes = EP_LANES, .pack = variant_pack, .forward = variant_forward, .loss = variant_loss, \
  .backward = variant_backward, .add = variant_add, .update = variant_update,                \
  .permute = variant_permute

#endif
