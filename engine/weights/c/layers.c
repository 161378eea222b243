#include "engine/weights/c/layers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine/weights/c/functions.h"
#include "engine/weights/c/quantize.h"
#include "kernels/operators/operator.h"

enum { BLOCK = 8, NAME_BYTES = 32 }; /* outputs side by side, as functions.c sums them */

static bool has_window(ep_layer_type type) {
  return type == EP_LAYER_CONV2D || type == EP_LAYER_MAX_POOL2D || type == EP_LAYER_AVG_POOL2D ||
         type == EP_LAYER_ADAPTIVE_AVG_POOL2D;
}

static void functions_add(ep_c_source *source, const ep_program *program, bool quantized) {
  bool added[EP_LAYER_COUNT] = {false}, windows = false, products = false;
  for (int i = 0; i < program->ops_count; i++) {
    ep_layer_type type = program->ops[i].type;
    if (added[type]) continue;
    if (has_window(type) && !windows) ep_c_function_window_add(source);
    if (ep_c_is_quantized(type) && !products) ep_c_function_finish_add(source, quantized);
    windows |= has_window(type);
    products |= ep_c_is_quantized(type);
    ep_c_function_add(source, type, quantized);
    added[type] = true;
    if (type == EP_LAYER_CONCAT || type == EP_LAYER_SLICE) /* by one function */
      added[EP_LAYER_CONCAT] = added[EP_LAYER_SLICE] = true;
  }
}

/* "weight_3", of op 3. */
static const char *part_name(const char *part, int op, char name[NAME_BYTES]) {
  snprintf(name, NAME_BYTES, "%s_%d", part, op);
  return name;
}

/* Weights in the order in which functions.c reads them: groups, blocks of outputs, inputs, outputs
 * of the block. order[i]: which weight comes as number i. */
static void order_find(const ep_op *op, int64_t *order) {
  int64_t groups = op->type == EP_LAYER_CONV2D ? op->groups : 1;
  int64_t inputs = ep_c_channel_weights(op), outputs = ep_c_channels(op) / groups;
  for (int64_t group = 0; group < groups; group++)
    for (int64_t first = 0; first < outputs; first += BLOCK) {
      int64_t width = outputs - first < BLOCK ? outputs - first : BLOCK;
      for (int64_t i = 0; i < inputs; i++)
        for (int64_t k = 0; k < width; k++) *order++ = (group * outputs + first + k) * inputs + i;
    }
}

static void floats_ordered(ep_c_source *source, int number, const float *weights, int64_t count,
                           const int64_t *order) {
  char name[NAME_BYTES];
  float *ordered = malloc((size_t)count * sizeof *ordered);
  for (int64_t i = 0; ordered && i < count; i++) ordered[i] = weights[order[i]];
  if (ordered)
    ep_c_add_floats(source, part_name("weight", number, name), ordered, count);
  else
    source->failed = true;
  free(ordered);
}

static void codes_ordered(ep_c_source *source, int number, const ep_op *op, const float *weights,
                          int64_t count, const int64_t *order) {
  char name[NAME_BYTES];
  int64_t channels = ep_c_channels(op), each = ep_c_channel_weights(op);
  int8_t *codes = malloc(2 * (size_t)count);
  float *scales = malloc((size_t)channels * sizeof *scales);
  if (codes && scales) {
    for (int64_t c = 0; c < channels; c++)
      scales[c] = ep_c_quantize(weights + c * each, each, codes + c * each);
    for (int64_t i = 0; i < count; i++) codes[count + i] = codes[order[i]];
    ep_c_add_bytes(source, part_name("weight", number, name), codes + count, count);
    ep_c_add_floats(source, part_name("scale", number, name), scales, channels);
  } else {
    source->failed = true;
  }
  free(scales);
  free(codes);
}

static void products_weights(ep_c_source *source, int number, const ep_op *op, const float *state,
                             bool quantized) {
  char name[NAME_BYTES];
  int64_t count = ep_c_channels(op) * ep_c_channel_weights(op);
  int64_t *order = malloc((size_t)count * sizeof *order);
  if (!order) {
    source->failed = true;
    return;
  }
  order_find(op, order);
  if (quantized)
    codes_ordered(source, number, op, state + op->weight, count, order);
  else
    floats_ordered(source, number, state + op->weight, count, order);
  free(order);
  if (op->bias >= 0)
    ep_c_add_floats(source, part_name("bias", number, name), state + op->bias, ep_c_channels(op));
}

/* The mean of a channel, and what the distance from it is multiplied by. */
static void batch_norm_weights(ep_c_source *source, int number, const ep_op *op,
                               const ep_program *program, const float *state) {
  char name[NAME_BYTES];
  int64_t channels = op->in.channels;
  const float *mean = state + program->parameters + op->running, *variance = mean + channels;
  float *factor = malloc((size_t)channels * sizeof *factor);
  if (!factor) {
    source->failed = true;
    return;
  }
  for (int64_t c = 0; c < channels; c++) {
    double weight = op->weight < 0 ? 1 : (double)state[op->weight + c];
    factor[c] = (float)(weight / sqrt((double)variance[c] + (double)op->eps));
  }
  ep_c_add_floats(source, part_name("mean", number, name), mean, channels);
  ep_c_add_floats(source, part_name("factor", number, name), factor, channels);
  if (op->bias >= 0)
    ep_c_add_floats(source, part_name("bias", number, name), state + op->bias, channels);
  free(factor);
}

static void window_define(ep_c_source *source, int number, const ep_op *op) {
  ep_c_add(source,
           "static const @_window @_window_%d = {%lld, %lld, %lld, %lld, %lld, %lld, {%d, %d}, "
           "{%d, %d}, {%d, %d}, {%d, %d}, %lld};\n",
           number, (long long)op->in.channels, (long long)op->in.height, (long long)op->in.width,
           (long long)op->out.channels, (long long)op->out.height, (long long)op->out.width,
           op->kernel[0], op->kernel[1], op->stride[0], op->stride[1], op->padding[0],
           op->padding[1], op->dilation[0], op->dilation[1], (long long)op->groups);
}

static void weights_add(ep_c_source *source, int number, const ep_program *program,
                        const float *state, bool quantized) {
  char name[NAME_BYTES];
  const ep_op *op = &program->ops[number];
  if (has_window(op->type)) window_define(source, number, op);
  if (ep_c_is_quantized(op->type)) {
    products_weights(source, number, op, state, quantized);
  } else if (op->type == EP_LAYER_BATCH_NORM) {
    batch_norm_weights(source, number, op, program, state);
  } else if (op->type == EP_LAYER_EMBEDDING) {
    ep_c_add_floats(source, part_name("weight", number, name), state + op->weight,
                    op->embeddings * ep_op_dimension(op));
  } else if (op->type == EP_LAYER_LAYER_NORM) {
    if (op->weight >= 0)
      ep_c_add_floats(source, part_name("weight", number, name), state + op->weight,
                      op->in_features);
    if (op->bias >= 0)
      ep_c_add_floats(source, part_name("bias", number, name), state + op->bias, op->in_features);
  }
}

void ep_c_layers_define(ep_c_source *source, const ep_program *program, const float *state,
                        bool quantized) {
  functions_add(source, program, quantized);
  for (int i = 0; i < program->ops_count; i++) weights_add(source, i, program, state, quantized);
  ep_c_add_text(source, "\n");
}

/* A call under construction: op `number`, from array x to array y. */
typedef struct {
  ep_c_source *source;
  const ep_op *op;
  int number, x, y;
  const int *array; /* of each value */
  bool quantized;
} call;

/* ", @_bias_3", or ", 0" where there is none. */
static void part_pass(const call *c, const char *part, bool there) {
  if (there)
    ep_c_add(c->source, ", @_%s_%d", part, c->number);
  else
    ep_c_add_text(c->source, ", 0");
}

static void products_call(const call *c) {
  part_pass(c, "weight", true);
  if (c->quantized) part_pass(c, "scale", true);
  part_pass(c, "bias", c->op->bias >= 0);
}

static void linear_call(const call *c) {
  ep_c_add(c->source, "@_linear(@_memory_%d, @_memory_%d, %lld, %lld", c->x, c->y,
           (long long)c->op->in_features, (long long)c->op->out_features);
  products_call(c);
}

static void window_call(const call *c) {
  ep_c_add(c->source, "@_%s(&@_window_%d, @_memory_%d, @_memory_%d",
           ep_layer_type_name((int)c->op->type), c->number, c->x, c->y);
  if (c->op->type == EP_LAYER_CONV2D) products_call(c);
}

static void embedding_call(const call *c) {
  ep_c_add(c->source, "@_embedding(@_memory_%d, @_memory_%d, %lld, %lld, %lld, %lld", c->x, c->y,
           (long long)c->op->numbers, (long long)ep_op_columns(c->op), (long long)c->op->embeddings,
           (long long)ep_op_dimension(c->op));
  part_pass(c, "weight", true);
}

static void batch_norm_call(const call *c) {
  ep_c_add(c->source, "@_batch_norm(@_memory_%d, %lld, %lld", c->y, (long long)c->op->in.channels,
           (long long)(c->op->in.height * c->op->in.width));
  part_pass(c, "mean", true);
  part_pass(c, "factor", true);
  part_pass(c, "bias", c->op->bias >= 0);
}

static void number_pass(const call *c, float number) {
  ep_c_add_text(c->source, ", ");
  ep_c_add_float(c->source, number);
}

/* What changes a row in place: its name, the row, its count, and more. */
static void in_place_call(const call *c) {
  const ep_op *op = c->op;
  ep_c_add(c->source, "@_%s(@_memory_%d", ep_layer_type_name((int)op->type), c->y);
  ep_c_add(c->source, ", %lld", (long long)op->in_features);
  if (op->type == EP_LAYER_LEAKY_RELU) number_pass(c, op->negative_slope);
  if (op->type == EP_LAYER_ELU) number_pass(c, op->alpha);
  if (op->type == EP_LAYER_SOFTPLUS) number_pass(c, op->beta);
  if (op->type == EP_LAYER_SOFTPLUS) number_pass(c, op->threshold);
  if (op->type != EP_LAYER_LAYER_NORM) return;
  number_pass(c, op->eps);
  part_pass(c, "weight", op->weight >= 0);
  part_pass(c, "bias", op->bias >= 0);
}

/* In evaluation nothing happens, or only the shape is another. */
static bool does_nothing(ep_layer_type type) {
  return ep_operator_of(type)->writes == EP_WRITES_NOTHING || type == EP_LAYER_DROPOUT ||
         type == EP_LAYER_DROPOUT2D;
}

bool ep_c_layer_known(ep_layer_type type) {
  return ep_c_is_quantized(type) || does_nothing(type) || ep_c_function_known(type);
}

/* One call for each input but the first of a sum or a product, which is there already, and for each
 * of what goes together or is cut: so many runs of so many numbers, as far apart in y and in x. */
static void runs_call(const call *c) {
  const ep_op *op = c->op;
  const bool cut = op->type == EP_LAYER_SLICE, joins = op->type == EP_LAYER_CONCAT;
  const ep_shape_runs runs = ep_shape_runs_along(op->axis, cut ? op->in : op->out);
  const long long whole = runs.whole, place = runs.place, count = runs.count;
  long long at = 0;
  for (int k = cut || joins ? 0 : 1; k < op->inputs; k++) {
    const long long own = (cut ? ep_shape_side(op->out, op->axis) : op->length[k]) * place;
    if (cut)
      ep_c_add(c->source, "  @_runs(@_memory_%d, %lld, @_memory_%d + %lld, %lld, %lld, %lld);\n",
               c->y, own, c->x, (long long)op->start * place, whole, own, count);
    else if (joins)
      ep_c_add(c->source, "  @_runs(@_memory_%d + %lld, %lld, @_memory_%d, %lld, %lld, %lld);\n",
               c->y, at, whole, c->array[op->input[k]], own, own, count);
    else
      ep_c_add(c->source, "  @_%s(@_memory_%d, @_memory_%d, %lld);\n",
               ep_layer_type_name((int)op->type), c->y, c->array[op->input[k]],
               (long long)op->out_features);
    at += own;
  }
}

/* x's numbers, in the order of y: the sides of y, and how far apart their places lie in x. */
static void permute_call(const call *c) {
  const ep_op *op = c->op;
  const int64_t apart[] = {op->in.height * op->in.width, op->in.width, 1};
  ep_c_add(c->source, "@_permute(@_memory_%d, @_memory_%d", c->x, c->y);
  for (int side = 0; side < EP_SHAPE_SIDES; side++)
    ep_c_add(c->source, ", %lld, %lld", (long long)ep_shape_side(op->out, side),
             (long long)apart[op->order[side]]);
}

static void op_call(const call *c) {
  ep_layer_type type = c->op->type;
  if (ep_c_is_in_place(type) && c->x != c->y) /* what went in is read again later */
    ep_c_add(c->source, "  memcpy(@_memory_%d, @_memory_%d, %lld * sizeof(float));\n", c->y, c->x,
             (long long)c->op->in_features);
  if (does_nothing(type)) return;
  if (c->op->inputs > 1 || type == EP_LAYER_SLICE) {
    runs_call(c);
    return;
  }
  ep_c_add_text(c->source, "  ");
  if (type == EP_LAYER_LINEAR)
    linear_call(c);
  else if (has_window(type))
    window_call(c);
  else if (type == EP_LAYER_EMBEDDING)
    embedding_call(c);
  else if (type == EP_LAYER_BATCH_NORM)
    batch_norm_call(c);
  else if (type == EP_LAYER_PERMUTE)
    permute_call(c);
  else
    in_place_call(c);
  ep_c_add_text(c->source, ");\n");
}

void ep_c_layers_call(ep_c_source *source, const ep_program *program, const ep_c_memory *memory,
                      bool quantized) {
  ep_c_add_text(source, "static inline void @_network(void) {\n");
  for (int i = 0; i < program->ops_count; i++) {
    const ep_op *op = &program->ops[i];
    call c = {source,        op,       i, memory->array[op->input[0]], memory->array[i + 1],
              memory->array, quantized};
    op_call(&c);
  }
  ep_c_add_text(source, "}\n\n");
}
