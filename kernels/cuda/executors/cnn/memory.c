#include "kernels/cuda/executors/cnn/memory.h"

#include <stddef.h>

#include "kernels/formulas/activations.h"
#include "kernels/operators/operator.h"

enum { BANK_VECTORS = 8 /* that all banks give at once */ };

int ep_cnn_parts(int64_t whole, int64_t part) {
  return (int)((whole + part - 1) / part);
}

int ep_cnn_vectors(int64_t floats) {
  return ep_cnn_parts(floats, EP_CNN_VECTOR) * EP_CNN_VECTOR;
}

/* Rows an odd number of vectors apart: eight threads that read eight rows meet no bank twice. */
static int odd_vectors(int64_t floats) {
  return (ep_cnn_parts(floats, EP_CNN_VECTOR) | 1) * EP_CNN_VECTOR;
}

/* What is needed from one time to another; *at: where it lies. */
typedef struct {
  int *at;
  int64_t floats;
  int first, last;
} need;

enum { NEEDS_MAX = 8 * EP_CNN_STAGES_MAX + EP_CNN_OPS_MAX };

typedef struct {
  need all[NEEDS_MAX];
  int count, end; /* the time after all others */
} needs;

static void need_add(needs *self, int *at, int64_t floats, int first, int last) {
  *at = 0;
  if (floats > 0) self->all[self->count++] = (need){at, ep_cnn_vectors(floats), first, last};
}

static bool needs_meet(const need *a, const need *b) {
  return a->first <= b->last && b->first <= a->last;
}

/* The lowest place for need i beside those before it that are needed at the same time. */
static int64_t need_place(const needs *self, int i) {
  int64_t at = 0;
  for (bool moved = true; moved;) {
    moved = false;
    for (int j = 0; j < i; j++) {
      const need *other = &self->all[j];
      if (!needs_meet(other, &self->all[i])) continue;
      if (at < *other->at + other->floats && *other->at < at + self->all[i].floats) {
        at = *other->at + other->floats;
        moved = true;
      }
    }
  }
  return at;
}

/* Gives everything a place, the largest first; the floats of all. */
static int64_t needs_settle(needs *self) {
  int64_t total = 0;
  for (int i = 1; i < self->count; i++) {
    need row = self->all[i];
    int j = i;
    for (; j > 0 && self->all[j - 1].floats < row.floats; j--) self->all[j] = self->all[j - 1];
    self->all[j] = row;
  }
  for (int i = 0; i < self->count; i++) {
    int64_t at = need_place(self, i);
    if (at + self->all[i].floats > INT32_MAX / 8) return INT32_MAX;
    *self->all[i].at = (int)at;
    if (at + self->all[i].floats > total) total = at + self->all[i].floats;
  }
  return total;
}

/* How the output of a stage lies, read by `reader` (NULL: the loss). */
static void place_shape(ep_cnn_stage *stage, const ep_cnn_stage *reader) {
  const ep_shape shape = stage->out;
  ep_cnn_place *value = &stage->value, *grad = &stage->grad;
  *value = (ep_cnn_place){.pitch = (int)shape.width, .compact = true};
  *grad = *value;
  value->plane = grad->plane = (int)(shape.height * shape.width);
  if (reader && reader->op->type == EP_LAYER_CONV2D) {
    const ep_op *op = reader->op;
    value->compact = false;
    value->top = op->padding[0];
    value->left = op->padding[1];
    value->pitch = odd_vectors(shape.width + 2 * op->padding[1]);
    value->plane = (int)(shape.height + 2 * op->padding[0]) * value->pitch;
    while ((value->plane - op->kernel[0] * value->pitch) / EP_CNN_VECTOR % BANK_VECTORS != 0)
      value->plane += EP_CNN_VECTOR;
  }
  if (stage->op && stage->op->type == EP_LAYER_CONV2D) {
    grad->compact = false;
    grad->pitch = odd_vectors(shape.width);
    grad->plane = (int)shape.height * grad->pitch;
  }
  /* The last tile of the last row reads on behind it. */
  int behind = value->compact ? 0 : EP_CNN_TILE_MAX * reader->op->stride[1] + reader->op->kernel[1];
  value->floats = (int)shape.channels * value->plane + ep_cnn_vectors(behind + EP_CNN_VECTOR);
  grad->floats = (int)shape.channels * grad->plane + (grad->compact ? 0 : EP_CNN_VECTOR);
}

static void conv_needs(needs *all, ep_cnn_stage *stage, int forward, int back, bool first) {
  const ep_op *op = stage->op;
  int64_t rows_out = op->out.channels * op->out.height, rows_in = op->in.channels * op->in.height;
  int64_t out_pitch = odd_vectors((int64_t)stage->tile * ep_cnn_parts(op->out.width, stage->tile));
  need_add(all, &stage->forward, stage->split > 1 ? stage->split * rows_out * out_pitch : 0,
           forward, forward);
  need_add(all, &stage->back,
           stage->back_split > 1 && !first ? stage->back_split * rows_in * odd_vectors(op->in.width)
                                           : 0,
           back, back);
  need_add(all, &stage->weights, stage->rows_split * ep_op_weights(op), back, back);
}

/* Times of a row: stage s on the way there, the loss, stage s on the way back. */
typedef struct {
  int there, loss, back;
} times;

static times times_of(const ep_cnn_plan *plan, int s) {
  return (times){s, plan->stages_count, 2 * plan->stages_count + 1 - s};
}

/* When the output of stage s is read last. */
static int last_read(const ep_program *program, const ep_cnn_plan *plan, int s) {
  const ep_cnn_stage *stage = &plan->stages[s], *next = stage + 1;
  times t = times_of(plan, s);
  ep_layer_type type = stage->op ? stage->op->type : EP_LAYER_COUNT;
  if (type == EP_LAYER_SOFTMAX || type == EP_LAYER_LOG_SOFTMAX || ep_activation_is(type))
    return t.back;
  if (s + 1 == plan->stages_count) return t.back;
  for (int i = 0; i < stage->chain_count; i++)
    if (ep_activation_is(program->ops[stage->chain_first + i].type)) return t.back - 1;
  if (next->op->type == EP_LAYER_CONV2D || ep_activation_is(next->op->type)) return t.back - 1;
  return t.there + 1;
}

static void stage_needs(const ep_program *program, ep_cnn_plan *plan, int s, needs *all) {
  ep_cnn_stage *stage = &plan->stages[s], *next = s + 1 < plan->stages_count ? stage + 1 : NULL;
  times t = times_of(plan, s);
  place_shape(stage, next);
  /* The row is fetched during the step before; margins are cleared once. */
  bool always = s == 0 || stage->value.top > 0 || stage->value.left > 0;
  need_add(all, &stage->value.first, stage->value.floats, always ? -1 : t.there,
           always ? all->end : last_read(program, plan, s));
  need_add(all, &stage->grad.first, s >= plan->first_trained ? stage->grad.floats : 0,
           next ? t.back - 1 : t.loss, t.back);
  if (!stage->op) return;
  if (stage->op->type == EP_LAYER_MAX_POOL2D)
    need_add(all, &stage->places, ep_cnn_parts(stage->op->out_features, sizeof(float)), t.there,
             t.back);
  if (stage->op->type == EP_LAYER_LINEAR)
    need_add(all, &stage->back, (int64_t)EP_CNN_LINEAR_PARTS * stage->op->in_features, t.back,
             t.back);
  if (stage->op->type == EP_LAYER_CONV2D)
    conv_needs(all, stage, t.there, t.back, s <= plan->first_trained);
  if (stage->list >= 0) need_add(all, &stage->list, stage->out.channels + 1, -1, all->end);
}

/* The weights that a block copies, and their biases behind them: of convolutions, those of one
 * window together, and, `linear`, of linear layers. */
static int staged_place(ep_cnn_plan *plan, bool linear) {
  int64_t at = 0;
  for (int s = 1; s < plan->stages_count; s++) {
    ep_cnn_stage *stage = &plan->stages[s];
    stage->staged = -1;
    if (stage->op->type != EP_LAYER_CONV2D && (stage->op->type != EP_LAYER_LINEAR || !linear))
      continue;
    stage->staged = (int)at;
    if (stage->op->type == EP_LAYER_LINEAR)
      at += ep_cnn_vectors(ep_op_weights(stage->op));
    else
      at += stage->op->out.channels * stage->op->in.channels *
            odd_vectors(stage->op->kernel[0] * stage->op->kernel[1]);
    if (stage->op->bias >= 0) at += ep_cnn_vectors(ep_op_biases(stage->op));
    if (at > INT32_MAX / 8) return INT32_MAX / 8;
  }
  return (int)at;
}

bool ep_cnn_memory_place(const ep_program *program, bool linear, ep_cnn_plan *plan) {
  needs all = {.end = 2 * plan->stages_count + 3};
  plan->staged_floats = staged_place(plan, linear);
  for (int s = 0; s < plan->stages_count; s++) {
    if (plan->stages[s].op && plan->stages[s].op->in_features > INT32_MAX / 64) return false;
    if (ep_shape_count(plan->stages[s].out) > INT32_MAX / 64) return false;
    stage_needs(program, plan, s, &all);
  }
  for (int i = 0; i < program->ops_count; i++) {
    const ep_op *op = &program->ops[i];
    int64_t bytes = op->type == EP_LAYER_DROPOUT     ? op->in_features
                    : op->type == EP_LAYER_DROPOUT2D ? op->in.channels
                                                     : 0;
    need_add(&all, &plan->masks[i], ep_cnn_parts(bytes, sizeof(float)), -1, all.end);
  }
  need_add(&all, &plan->reduction, EP_CNN_REDUCTION, all.end - 1, all.end - 1);
  int64_t floats = needs_settle(&all);
  plan->group_floats = (int)floats;
  return floats < INT32_MAX / 8 && plan->staged_floats < INT32_MAX / 8;
}
