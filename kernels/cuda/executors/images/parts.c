#include "kernels/cuda/executors/images/parts.h"

#include <stdlib.h>

#include "kernels/formulas/activations.h"

/* What a thread looks through twice, and what a byte counts. */
enum { BLENDED_PLACES = 16, POOLED_PLACES = 255 };

/* Parts under way. */
typedef struct {
  const ep_program *program;
  ep_images_parts *parts;
  bool open; /* the last one is a blend that takes more */
} search;

static ep_images_part *part_add(search *s, ep_images_kind kind, int i) {
  const ep_op *op = &s->program->ops[i];
  ep_images_part *part = &s->parts->rows[s->parts->count++];
  *part = (ep_images_part){.kind = kind, .in = op->in, .out = op->out, .last = i};
  s->open = kind == EP_IMAGES_BLEND;
  return part;
}

/* The blend that takes op i next: the open one, if it has nothing yet that comes later. */
static ep_images_part *blend_for(search *s, int i, bool fits) {
  if (!s->open || !fits) return part_add(s, EP_IMAGES_BLEND, i);
  ep_images_part *part = &s->parts->rows[s->parts->count - 1];
  part->out = s->program->ops[i].out;
  part->last = i;
  return part;
}

static const ep_images_part *blend_open(const search *s) {
  static const ep_images_part none;
  return s->open ? &s->parts->rows[s->parts->count - 1] : &none;
}

/* Whether the part that leaves op's output also computes it from scratch: the last of them. -2: no
 * part leaves it. */
static int part_of(const search *s, int op) {
  if (op < 0) return -1;
  for (int i = s->parts->count - 1; i >= 0; i--)
    if (s->parts->rows[i].last == op) return i;
  return -2;
}

static bool is_shared(const ep_program *program, int op) {
  for (int i = op + 1; i < program->ops_count; i++)
    if (program->ops[i].type == EP_LAYER_ADD && program->ops[i].input[1] == op + 1) return true;
  return false;
}

/* Windows side by side, none of which leaves the image. */
static bool is_tiled(const ep_op *op) {
  if (op->kernel[0] * op->kernel[1] > BLENDED_PLACES) return false;
  for (int i = 0; i < 2; i++)
    if (op->stride[i] != op->kernel[i] || op->padding[i] != 0 || op->dilation[i] != 1) return false;
  return true;
}

static bool max_pool_add(search *s, int i) {
  const ep_op *op = &s->program->ops[i];
  if (is_tiled(op))
    blend_for(s, i, !blend_open(s)->pool)->pool = op;
  else if (op->kernel[0] * op->kernel[1] <= POOLED_PLACES)
    part_add(s, EP_IMAGES_POOL, i)->own = op;
  else
    return false;
  return true;
}

static bool residual_add(search *s, int i) {
  const ep_op *op = &s->program->ops[i];
  const ep_images_part *open = blend_open(s);
  int past = part_of(s, op->input[1] - 1);
  if (past < -1) return false;
  ep_images_part *part = blend_for(s, i, !open->residual && !open->activation && !open->pool);
  part->residual = op;
  part->past = past;
  return true;
}

static bool op_add(search *s, int i) {
  const ep_op *op = &s->program->ops[i];
  const ep_images_part *open = blend_open(s);
  switch (op->type) {
  case EP_LAYER_CONV2D:
    part_add(s, EP_IMAGES_CONVOLUTION, i)->own = op;
    if (op->bias < 0) return true;
    s->parts->rows[s->parts->count - 1].last = -1; /* not yet op's output */
    ep_images_part *blend = part_add(s, EP_IMAGES_BLEND, i);
    blend->biased = op;
    blend->in = op->out;
    return true;
  case EP_LAYER_BATCH_NORM:
    blend_for(s, i, !open->norm && !open->residual && !open->activation && !open->pool)->norm = op;
    return true;
  case EP_LAYER_ADD: return residual_add(s, i);
  case EP_LAYER_MAX_POOL2D: return max_pool_add(s, i);
  case EP_LAYER_AVG_POOL2D:
  case EP_LAYER_ADAPTIVE_AVG_POOL2D: part_add(s, EP_IMAGES_POOL, i)->own = op; return true;
  case EP_LAYER_DROPOUT:
  case EP_LAYER_DROPOUT2D: part_add(s, EP_IMAGES_DROPOUT, i)->own = op; return true;
  case EP_LAYER_LAYER_NORM: part_add(s, EP_IMAGES_LAYER_NORM, i)->own = op; return true;
  default:
    if (!ep_activation_is(op->type)) return false;
    blend_for(s, i, !open->activation && !open->pool)->activation = op;
    return true;
  }
}

/* Whether the layers after the parts need nothing of them but what comes out. */
static bool tail_is_apart(const ep_program *program, int tail) {
  for (int i = tail; i < program->ops_count; i++) {
    const ep_op *op = &program->ops[i];
    if (op->type == EP_LAYER_CONV2D || (op->type == EP_LAYER_ADD && op->input[1] < tail))
      return false;
  }
  return true;
}

bool ep_images_parts_find(const ep_program *program, ep_images_parts *parts) {
  search s = {.program = program, .parts = parts};
  parts->count = 0;
  int i = 0;
  for (; i < program->ops_count && program->ops[i].type != EP_LAYER_FLATTEN; i++) {
    if (!op_add(&s, i)) return false;
    if (is_shared(program, i)) s.open = false;
  }
  /* A dropout before flatten is the shared network's: in its order neighbours share random words.
   */
  while (parts->count > 0 && parts->rows[parts->count - 1].kind == EP_IMAGES_DROPOUT &&
         i < program->ops_count)
    i = parts->rows[--parts->count].last;
  parts->tail = i;
  return parts->count > 0 && tail_is_apart(program, i);
}

/* Kernels count pixels in 31 bits and a little further than there are, and packs in 32. */
static bool part_is_countable(const ep_program *program, const ep_images_part *part) {
  const ep_shape shapes[] = {part->in, part->out};
  for (int i = 0; i < 2; i++) {
    const int64_t pixels = shapes[i].height * shapes[i].width;
    if (program->batch_size > INT32_MAX / 2 / pixels) return false;
    if (program->batch_size * pixels > UINT32_MAX / (shapes[i].channels / 4 + 1)) return false;
  }
  return true;
}

bool ep_images_takes(const ep_program *program) {
  ep_images_parts parts = {.rows = calloc(2 * (size_t)program->ops_count + 1, sizeof *parts.rows)};
  bool takes = parts.rows && ep_images_parts_find(program, &parts);
  int convolutions = 0;
  for (int i = 0; takes && i < parts.count; i++) {
    takes = part_is_countable(program, &parts.rows[i]);
    if (parts.rows[i].kind == EP_IMAGES_CONVOLUTION) convolutions++;
  }
  free(parts.rows);
  return takes && convolutions > 0;
}
