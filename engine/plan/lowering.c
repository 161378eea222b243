/* lowering.c: from layers to a graph: what each layer reads, and parameters one after the other. */
#include <stdio.h>
#include <string.h>

#include "api/limits.h"
#include "engine/plan/lowering.h"
#include "kernels/operators/values.h"

bool ep_layers_embed(const ep_layer_spec *layers, int count) {
  bool found = false;
  for (int i = 0; i < count; i++)
    found = found || layers[i].type == EP_LAYER_EMBEDDING ||
            ep_layers_embed(layers[i].layers, layers[i].layers_count);
  return found;
}

int ep_layers_total(const ep_layer_spec *layers, int count) {
  int total = 0;
  for (int i = 0; i < count; i++)
    total += 1 + ep_layers_total(layers[i].layers, layers[i].layers_count);
  return total;
}

/* Neighbours that are treated alike become one range. */
static void group_add(ep_lowering *w, int64_t first, int64_t count, bool decays) {
  const ep_optimizer_spec *optimizer = &w->spec->optimizer;
  float decay = decays || optimizer->decay_all ? (float)optimizer->weight_decay : 0;
  int groups = w->plan->program.groups_count;
  ep_parameter_group *last = groups ? &w->plan->groups[groups - 1] : NULL;
  if (last && last->weight_decay == decay && last->frozen == w->frozen) {
    last->count = ep_add_saturated(last->count, count);
    return;
  }
  w->plan->groups[groups] = (ep_parameter_group){first, count, decay, w->frozen};
  w->plan->program.groups_count++;
}

/* The next `count` parameters; returns the offset of the first. */
static int64_t range_take(ep_lowering *w, int64_t count, bool decays) {
  int64_t first = w->plan->parameters;
  group_add(w, first, count, decays);
  w->plan->parameters = ep_add_saturated(first, count);
  return first;
}

/* Gives the op its parameters and buffers. */
static void parameters_take(ep_lowering *w, const ep_layer_spec *layer, ep_op *op) {
  const ep_operator *row = ep_operator_of(op->type);
  const bool drawn = row->start != EP_START_ONES;
  for (int k = 0; ep_op_parameter(op, k); k++) {
    const int64_t count = ep_op_parameter_count(op, k);
    const bool bias = count > 0 && ep_op_parameter_is_bias(op, k);
    if (count > 0 && (drawn ? !bias || layer->bias : layer->affine))
      op->parameter[k] = range_take(w, count, drawn && !bias);
  }
  if (row->running) op->running = w->plan->program.buffers;
  w->plan->program.buffers += ep_op_buffers(op);
}

/* An op that leaves everything as it is, on the values at hand. */
static ep_op op_make(const ep_lowering *w, const ep_layer_spec *layer, int number) {
  int64_t features = ep_shape_count(w->shape);
  ep_op op = {.type = ep_layer_operator(layer->type),
              .in = w->shape,
              .out = w->shape,
              .in_features = features,
              .out_features = features,
              .running = -1,
              .inputs = w->inputs,
              .layer = number};
  for (int k = 0; k < EP_OP_PARAMETERS; k++) op.parameter[k] = -1;
  for (int k = 0; k < w->inputs; k++) op.input[k] = w->from[k];
  return op;
}

/* The layer at hand reads `value`, and no other yet. */
static void read_one(ep_lowering *w, int value) {
  w->from[0] = value;
  w->inputs = 1;
  w->shape = ep_value_shape(&w->plan->program, value);
  w->in_rank = w->out_rank = w->rank[value];
}

/* Takes the op's output as the next value. */
static bool output_take(ep_lowering *w, ep_op *op) {
  int64_t plane = ep_multiply_saturated(op->out.height, op->out.width);
  op->out_features = ep_multiply_saturated(op->out.channels, plane);
  memcpy(w->plan->names[w->ops], w->name, sizeof w->name);
  w->last = ++w->ops;
  w->rank[w->last] = w->out_rank;
  /* A linear layer's own limit is its field's. */
  if (op->out_features <= EP_LIMIT_FEATURES || op->type == EP_LAYER_LINEAR) return true;
  return ep_lowering_refuse(w, "", "layer %s outputs %lld values per row: the limit is %d", w->name,
                            (long long)op->out_features, EP_LIMIT_FEATURES);
}

static bool list_lower(ep_lowering *w, const ep_layer_spec *layers, int count);

/* The block, then the op that adds what came in to what comes out. */
static bool residual_lower(ep_lowering *w, const ep_layer_spec *layer, int number) {
  char in_text[EP_SHAPE_BYTES], out_text[EP_SHAPE_BYTES];
  const int source = w->from[0], rank = w->in_rank;
  ep_shape in = w->shape;
  w->last = source;
  w->depth++;
  if (!list_lower(w, layer->layers, layer->layers_count)) return false;
  w->depth--;
  read_one(w, w->last);
  if (rank != w->in_rank || !ep_shapes_same(in, w->shape))
    return ep_lowering_refuse(
        w, "", "the block's output %s and input %s must have the same shape to be added",
        ep_shape_format(w->shape, w->in_rank, out_text), ep_shape_format(in, rank, in_text));
  w->from[w->inputs++] = source;
  w->plan->ops[w->ops] = op_make(w, layer, number);
  return true;
}

/* An operator of the layer at hand that is none of its own: on the values that it is given. */
static bool part_lower(ep_lowering *w, const ep_layer_spec *part, int number) {
  if (w->ops >= EP_LIMIT_LAYERS)
    return ep_lowering_refuse(w, "", "makes more than %d operators in all", EP_LIMIT_LAYERS);
  ep_op *op = &w->plan->ops[w->ops];
  *op = op_make(w, part, number);
  return ep_op_lower(w, part, op) && output_take(w, op);
}

/* Where feature `at` of the data lies in what the layers get, behind embedded columns. */
static int64_t embedded_place(const ep_lowering *w, int64_t at) {
  const ep_op *op = w->plan->ops;
  if (w->data == 0 || w->from[0] != w->data || at <= op->numbers) return at;
  return op->numbers + (at - op->numbers) * ep_op_dimension(op);
}

/* A slice of several places is a slice of each, put together four by four; the last is left to the
 * layer itself. */
static bool places_lower(ep_lowering *w, const ep_layer_spec *layer, int number) {
  int value[EP_LIMIT_SLICE_PLACES], count = layer->places_count;
  const int source = w->from[0];
  ep_layer_spec join = {.type = EP_LAYER_CONCAT, .dim = layer->dim};
  if (layer->start > 0 || layer->length > 0)
    return ep_lowering_refuse(w, layer->start > 0 ? "start" : "length",
                              "places or columns say what is taken: leave start and length out");
  for (int i = 0; i < count; i++) {
    ep_layer_spec part = *layer;
    read_one(w, source);
    part.start = embedded_place(w, layer->places[i][0]);
    part.length = embedded_place(w, layer->places[i][0] + layer->places[i][1]) - part.start;
    if (count == 1) w->plan->ops[w->ops] = op_make(w, &part, number);
    if (count == 1) return ep_op_lower(w, &part, &w->plan->ops[w->ops]);
    if (!part_lower(w, &part, number)) return false;
    value[i] = w->last;
  }
  for (int joined; count > 1; count = joined) {
    joined = 0;
    for (int i = 0; i < count; i += EP_OP_INPUTS) {
      const bool alone = i + 1 == count;
      read_one(w, value[i]);
      for (int k = i + 1; k < count && k < i + EP_OP_INPUTS; k++) w->from[w->inputs++] = value[k];
      if (count <= EP_OP_INPUTS) {
        w->plan->ops[w->ops] = op_make(w, &join, number);
        return ep_op_lower(w, &join, &w->plan->ops[w->ops]);
      }
      if (!alone && !part_lower(w, &join, number)) return false;
      value[joined++] = alone ? value[i] : w->last;
    }
  }
  return true;
}

/* The value that a text names; -1: none that is there yet. */
static int value_named(const ep_lowering *w, const char *text, int before) {
  char number[EP_LIMIT_LAYER_NAME_BYTES];
  if (strcmp(text, "x") == 0) return w->data;
  for (int i = 0; i < before; i++) {
    snprintf(number, sizeof number, "%d", i);
    if (strcmp(w->spec->layers[i].name, text) == 0 || strcmp(number, text) == 0)
      return w->value_of[i];
  }
  return -1;
}

static bool input_refuse(ep_lowering *w, const ep_layer_spec *layer, int k, int before) {
  char field[32];
  snprintf(field, sizeof field, layer->inputs > 1 ? "input/%d" : "input", k);
  for (int i = before; i < w->spec->layers_count; i++)
    if (strcmp(w->spec->layers[i].name, layer->input[k]) == 0)
      return ep_lowering_refuse(w, field, "layer \"%s\" does not come before this one",
                                layer->input[k]);
  return ep_lowering_refuse(
      w, field, "no layer is named \"%s\": give the name of an earlier layer, its number, or \"x\"",
      layer->input[k]);
}

/* What the layer reads: what it names, or the layer before it. */
static bool inputs_find(ep_lowering *w, const ep_layer_spec *layer, int before) {
  if (w->depth > 0 && (layer->inputs > 0 || layer->name[0]))
    return ep_lowering_refuse(w, layer->inputs > 0 ? "input" : "name",
                              "layers of a block have no names, and read the layer before them");
  read_one(w, w->last);
  for (int k = 0; k < layer->inputs; k++) {
    const int value = value_named(w, layer->input[k], before);
    if (value < 0) return input_refuse(w, layer, k, before);
    if (k == 0) read_one(w, value);
    w->from[k] = value;
    w->inputs = k + 1;
  }
  return true;
}

/* Of the window of a series a layer that asks for sides gets [features, length]: the same numbers
 * in another shape. */
static bool series_lower(ep_lowering *w, const ep_layer_spec *layer, int number) {
  const int64_t length = w->spec->data.window.length;
  const bool asks = layer->type == EP_LAYER_CONV1D || layer->type == EP_LAYER_SLICE ||
                    layer->type == EP_LAYER_PERMUTE;
  if (!asks || w->inputs > 1 || w->from[0] != 0 || w->in_rank != 1 || length <= 0 ||
      w->shape.channels % length)
    return true;
  const ep_layer_spec sides = {.type = EP_LAYER_RESHAPE,
                               .shape = {{w->shape.channels / length, length}, 2}};
  if (!part_lower(w, &sides, number)) return false;
  read_one(w, w->last);
  return true;
}

/* Layer `i` of its list, with its number, name and pointer. */
static bool layer_lower(ep_lowering *w, const ep_layer_spec *layer, int i) {
  int number = w->layer++;
  if (!inputs_find(w, layer, i) || !series_lower(w, layer, number)) return false;
  if (w->ops >= EP_LIMIT_LAYERS)
    return ep_lowering_refuse(w, "", "makes more than %d operators in all", EP_LIMIT_LAYERS);
  ep_op *op = &w->plan->ops[w->ops];
  if (layer->type == EP_LAYER_RESIDUAL) {
    if (w->inputs > 1)
      return ep_lowering_refuse(
          w, "input", "residual reads one value, and %d are named: join them first", w->inputs);
    if (!residual_lower(w, layer, number)) return false;
    op = &w->plan->ops[w->ops];
  } else if (layer->type == EP_LAYER_SLICE && layer->places_count > 0) {
    if (!places_lower(w, layer, number)) return false;
    op = &w->plan->ops[w->ops];
  } else {
    *op = op_make(w, layer, number);
    if (!ep_op_lower(w, layer, op)) return false;
    parameters_take(w, layer, op);
  }
  return output_take(w, op);
}

/* One list of layers: a block's. */
static bool list_lower(ep_lowering *w, const ep_layer_spec *layers, int count) {
  size_t pointer = strlen(w->pointer), name = strlen(w->name);
  for (int i = 0; i < count; i++) {
    snprintf(w->pointer + pointer, sizeof w->pointer - pointer, "/layers/%d", i);
    snprintf(w->name + name, sizeof w->name - name, ".%d", i);
    if (!layer_lower(w, &layers[i], i)) return false;
  }
  w->pointer[pointer] = w->name[name] = 0;
  return true;
}

/* What a word becomes: enough numbers to tell the words of a column apart, and few, as there are
 * not many rows of each. */
static int64_t columns_dimension(const ep_data_shape *data) {
  enum { DIMENSION_MAX = 16 };
  int64_t words = data->embedded_rows / data->embedded_columns, dimension = 1;
  while (dimension < DIMENSION_MAX && dimension * dimension < words) dimension++;
  return dimension;
}

/* The op before all layers where columns are embedded. Its number is one that no layer has, so that
 * the layers' draws are those of a network without it. */
static bool embedded_lower(ep_lowering *w) {
  const ep_data_shape *data = &w->plan->shape;
  const ep_layer_spec layer = {.type = EP_LAYER_EMBEDDING};
  ep_op *op = w->plan->ops;
  if (data->embedded_columns == 0) return true;
  read_one(w, 0);
  *op = op_make(w, &layer, ep_layers_total(w->spec->layers, w->spec->layers_count));
  op->embeddings = data->embedded_rows;
  op->numbers = data->features - data->embedded_columns;
  op->out.channels = ep_add_saturated(
      op->numbers, ep_multiply_saturated(data->embedded_columns, columns_dimension(data)));
  op->out_features = op->out.channels;
  parameters_take(w, &layer, op);
  snprintf(w->pointer, sizeof w->pointer, "/data/columns");
  snprintf(w->name, sizeof w->name, EP_LAYER_COLUMNS);
  w->data = 1;
  return output_take(w, op);
}

static bool is_frozen(const ep_job_spec *spec, int layer) {
  for (int i = 0; i < spec->freeze_count; i++)
    if (spec->freeze[i] == layer) return true;
  return false;
}

/* Each name once, so that each tensor has its own. */
static bool name_is_free(ep_lowering *w, int i) {
  const char *name = w->spec->layers[i].name;
  for (int before = 0; name[0] && before < i; before++)
    if (strcmp(w->spec->layers[before].name, name) == 0)
      return ep_lowering_refuse(w, "name", "layer %d has this name already", before);
  return true;
}

/* Every value but the last is for something. */
static bool all_read(ep_lowering *w) {
  const int unread = ep_program_unread(&w->plan->program);
  if (unread < 0) return true;
  for (int i = 0; i < w->spec->layers_count; i++)
    if (w->value_of[i] == unread) {
      snprintf(w->pointer, sizeof w->pointer, "/model/layers/%d", i);
      return ep_lowering_refuse(
          w, "", "nothing reads this layer: name it in the input of another, or leave it out");
    }
  return ep_lowering_refuse(w, "", "nothing reads value %d", unread);
}

bool ep_plan_lower(const ep_job_spec *spec, ep_plan *plan, int *rank, ep_problem *problem) {
  ep_lowering w = {.spec = spec, .plan = plan, .problem = problem, .rank = {*rank}};
  if (!embedded_lower(&w)) return false;
  for (int i = 0; i < spec->layers_count; i++) {
    w.frozen = is_frozen(spec, i);
    snprintf(w.pointer, sizeof w.pointer, "/model/layers/%d", i);
    ep_layer_title(spec, i, w.name);
    if (!name_is_free(&w, i) || !layer_lower(&w, &spec->layers[i], i)) return false;
    w.value_of[i] = w.last;
  }
  plan->program.ops_count = w.ops;
  memcpy(plan->value_of, w.value_of, sizeof plan->value_of);
  memcpy(plan->rank, w.rank, sizeof plan->rank);
  plan->layers_count = spec->layers_count;
  *rank = w.rank[w.last];
  return all_read(&w);
}
