/* lowering.c: from layers to a graph: what each layer reads, and parameters one after the other.
 * What it makes is a row of engine/layers. */
#include <stdio.h>
#include <string.h>

#include "api/limits.h"
#include "engine/layers/layer.h"
#include "engine/plan/parts.h"
#include "kernels/operators/values.h"

/* Where the walk through the layers stands. */
typedef struct {
  ep_lowering at; /* the layer at hand */
  const ep_job_spec *spec;
  ep_plan *plan;
  int last;       /* the value that was made last */
  int depth;      /* blocks around the layer at hand */
  int ops, layer; /* so many are done; the number of the next */
  bool frozen;
} walk;

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
static void group_add(walk *w, int64_t first, int64_t count, bool decays) {
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
static int64_t range_take(walk *w, int64_t count, bool decays) {
  int64_t first = w->plan->parameters;
  group_add(w, first, count, decays);
  w->plan->parameters = ep_add_saturated(first, count);
  return first;
}

/* Gives the op its parameters and buffers. */
static void parameters_take(walk *w, const ep_layer_spec *layer, ep_op *op) {
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
static ep_op op_make(const walk *w, const ep_layer_spec *layer, int number) {
  int64_t features = ep_shape_count(w->at.shape);
  ep_op op = {.type = ep_layer_operator(layer->type),
              .in = w->at.shape,
              .out = w->at.shape,
              .in_features = features,
              .out_features = features,
              .running = -1,
              .inputs = w->at.inputs,
              .layer = number};
  for (int k = 0; k < EP_OP_PARAMETERS; k++) op.parameter[k] = -1;
  for (int k = 0; k < w->at.inputs; k++) op.input[k] = w->at.from[k];
  return op;
}

/* The layer at hand reads `value`, and no other yet. */
static void read_one(walk *w, int value) {
  w->at.from[0] = value;
  w->at.inputs = 1;
  w->at.shape = ep_value_shape(w->at.program, value);
  w->at.in_rank = w->at.out_rank = w->at.rank[value];
}

/* Takes the op's output as the next value. */
static bool output_take(walk *w, ep_op *op) {
  int64_t plane = ep_multiply_saturated(op->out.height, op->out.width);
  op->out_features = ep_multiply_saturated(op->out.channels, plane);
  memcpy(w->plan->names[w->ops], w->at.name, sizeof w->at.name);
  w->last = ++w->ops;
  w->at.rank[w->last] = w->at.out_rank;
  /* A linear layer's own limit is its field's. */
  if (op->out_features <= EP_LIMIT_FEATURES || op->type == EP_LAYER_LINEAR) return true;
  return ep_lowering_refuse(&w->at, "", "layer %s outputs %lld values per row: the limit is %d",
                            w->at.name, (long long)op->out_features, EP_LIMIT_FEATURES);
}

static bool list_lower(walk *w, const ep_layer_spec *layers, int count);

/* The op's shape and figures, which the row of the layer's word fills in. */
static bool op_lower(walk *w, const ep_layer_spec *layer, ep_op *op) {
  const ep_layer *row = ep_layer_of(layer->type);
  if (!row->joins && w->at.inputs > 1)
    return ep_lowering_refuse(
        &w->at, "input", "%s reads one value, and %d are named: join them by concat, add or mul",
        ep_layer_type_name(layer->type), w->at.inputs);
  return row->lower(&w->at, layer, op);
}

/* The block, then the op that adds what came in to what comes out. */
static bool residual_lower(walk *w, const ep_layer_spec *layer, int number) {
  const int source = w->at.from[0];
  w->last = source;
  w->depth++;
  if (!list_lower(w, layer->layers, layer->layers_count)) return false;
  w->depth--;
  read_one(w, w->last);
  w->at.from[w->at.inputs++] = source;
  w->plan->ops[w->ops] = op_make(w, layer, number);
  return op_lower(w, layer, &w->plan->ops[w->ops]);
}

/* An operator of the layer at hand that is none of its own: on the values that it is given. */
static bool part_lower(walk *w, const ep_layer_spec *part, int number) {
  if (w->ops >= EP_LIMIT_LAYERS)
    return ep_lowering_refuse(&w->at, "", "makes more than %d operators in all", EP_LIMIT_LAYERS);
  ep_op *op = &w->plan->ops[w->ops];
  *op = op_make(w, part, number);
  return op_lower(w, part, op) && output_take(w, op);
}

/* Where feature `at` of the data lies in what the layers get, behind embedded columns. */
static int64_t embedded_place(const walk *w, int64_t at) {
  const ep_op *op = w->plan->ops;
  if (w->at.data == 0 || w->at.from[0] != w->at.data || at <= op->numbers) return at;
  return op->numbers + (at - op->numbers) * ep_op_dimension(op);
}

/* A slice of several places is a slice of each, put together four by four; the last is left to the
 * layer itself. */
static bool places_lower(walk *w, const ep_layer_spec *layer, int number) {
  int value[EP_LIMIT_SLICE_PLACES], count = layer->places_count;
  const int source = w->at.from[0];
  ep_layer_spec join = {.type = EP_LAYER_CONCAT, .dim = layer->dim};
  if (layer->start != 0 || layer->length > 0)
    return ep_lowering_refuse(&w->at, layer->start != 0 ? "start" : "length",
                              "places or columns say what is taken: leave start and length out");
  for (int i = 0; i < count; i++) {
    ep_layer_spec part = *layer;
    read_one(w, source);
    part.start = embedded_place(w, layer->places[i][0]);
    part.length = embedded_place(w, layer->places[i][0] + layer->places[i][1]) - part.start;
    if (count == 1) w->plan->ops[w->ops] = op_make(w, &part, number);
    if (count == 1) return op_lower(w, &part, &w->plan->ops[w->ops]);
    if (!part_lower(w, &part, number)) return false;
    value[i] = w->last;
  }
  for (int joined; count > 1; count = joined) {
    joined = 0;
    for (int i = 0; i < count; i += EP_OP_INPUTS) {
      const bool alone = i + 1 == count;
      read_one(w, value[i]);
      for (int k = i + 1; k < count && k < i + EP_OP_INPUTS; k++)
        w->at.from[w->at.inputs++] = value[k];
      if (count <= EP_OP_INPUTS) {
        w->plan->ops[w->ops] = op_make(w, &join, number);
        return op_lower(w, &join, &w->plan->ops[w->ops]);
      }
      if (!alone && !part_lower(w, &join, number)) return false;
      value[joined++] = alone ? value[i] : w->last;
    }
  }
  return true;
}

/* The value that a text names; -1: none that is there yet. */
static int value_named(const walk *w, const char *text, int before) {
  char number[EP_LIMIT_LAYER_NAME_BYTES];
  if (strcmp(text, "x") == 0) return w->at.data;
  for (int i = 0; i < before; i++) {
    snprintf(number, sizeof number, "%d", i);
    if (strcmp(w->spec->layers[i].name, text) == 0 || strcmp(number, text) == 0)
      return w->plan->value_of[i];
  }
  return -1;
}

static bool input_refuse(walk *w, const ep_layer_spec *layer, int k, int before) {
  char field[32];
  snprintf(field, sizeof field, layer->inputs > 1 ? "input/%d" : "input", k);
  for (int i = before; i < w->spec->layers_count; i++)
    if (strcmp(w->spec->layers[i].name, layer->input[k]) == 0)
      return ep_lowering_refuse(&w->at, field, "layer \"%s\" does not come before this one",
                                layer->input[k]);
  return ep_lowering_refuse(
      &w->at, field,
      "no layer is named \"%s\": give the name of an earlier layer, its number, or \"x\"",
      layer->input[k]);
}

/* What the layer reads: what it names, or the layer before it. */
static bool inputs_find(walk *w, const ep_layer_spec *layer, int before) {
  if (w->depth > 0 && (layer->inputs > 0 || layer->name[0]))
    return ep_lowering_refuse(&w->at, layer->inputs > 0 ? "input" : "name",
                              "layers of a block have no names, and read the layer before them");
  read_one(w, w->last);
  for (int k = 0; k < layer->inputs; k++) {
    const int value = value_named(w, layer->input[k], before);
    if (value < 0) return input_refuse(w, layer, k, before);
    if (k == 0) read_one(w, value);
    w->at.from[k] = value;
    w->at.inputs = k + 1;
  }
  return true;
}

/* Of the window of a series a layer that asks for sides gets [features, length]: the same numbers
 * in another shape. */
static bool series_lower(walk *w, const ep_layer_spec *layer, int number) {
  const int64_t length = w->spec->data.window.length;
  if (!ep_layer_of(layer->type)->wants_sides || w->at.inputs > 1 || w->at.from[0] != 0 ||
      w->at.in_rank != 1 || length <= 0 || w->at.shape.channels % length)
    return true;
  const ep_layer_spec sides = {.type = EP_LAYER_RESHAPE,
                               .shape = {{w->at.shape.channels / length, length}, 2}};
  if (!part_lower(w, &sides, number)) return false;
  read_one(w, w->last);
  return true;
}

/* Layer `i` of its list, with its number, name and pointer. */
static bool layer_lower(walk *w, const ep_layer_spec *layer, int i) {
  int number = w->layer++;
  if (!inputs_find(w, layer, i) || !series_lower(w, layer, number)) return false;
  if (w->ops >= EP_LIMIT_LAYERS)
    return ep_lowering_refuse(&w->at, "", "makes more than %d operators in all", EP_LIMIT_LAYERS);
  ep_op *op = &w->plan->ops[w->ops];
  if (layer->type == EP_LAYER_RESIDUAL) {
    if (w->at.inputs > 1)
      return ep_lowering_refuse(&w->at, "input",
                                "residual reads one value, and %d are named: join them first",
                                w->at.inputs);
    if (!residual_lower(w, layer, number)) return false;
    op = &w->plan->ops[w->ops];
  } else if (layer->places_count > 0) {
    if (!places_lower(w, layer, number)) return false;
    op = &w->plan->ops[w->ops];
  } else {
    *op = op_make(w, layer, number);
    if (!op_lower(w, layer, op)) return false;
    ep_plan_pieces_check(w->plan, op, w->at.name, w->at.problem);
    parameters_take(w, layer, op);
  }
  return output_take(w, op);
}

/* One list of layers: a block's. */
static bool list_lower(walk *w, const ep_layer_spec *layers, int count) {
  size_t pointer = strlen(w->at.pointer), name = strlen(w->at.name);
  for (int i = 0; i < count; i++) {
    snprintf(w->at.pointer + pointer, sizeof w->at.pointer - pointer, "/layers/%d", i);
    snprintf(w->at.name + name, sizeof w->at.name - name, ".%d", i);
    if (!layer_lower(w, &layers[i], i)) return false;
  }
  w->at.pointer[pointer] = w->at.name[name] = 0;
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
static bool embedded_lower(walk *w) {
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
  snprintf(w->at.pointer, sizeof w->at.pointer, "/data/columns");
  snprintf(w->at.name, sizeof w->at.name, EP_LAYER_COLUMNS);
  w->at.data = 1;
  return output_take(w, op);
}

static bool is_frozen(const ep_job_spec *spec, int layer) {
  for (int i = 0; i < spec->freeze_count; i++)
    if (spec->freeze[i] == layer) return true;
  return false;
}

/* Each name once, so that each tensor has its own. */
static bool name_is_free(walk *w, int i) {
  const char *name = w->spec->layers[i].name;
  for (int before = 0; name[0] && before < i; before++)
    if (strcmp(w->spec->layers[before].name, name) == 0)
      return ep_lowering_refuse(&w->at, "name", "layer %d has this name already", before);
  return true;
}

/* Every value but the last is for something. */
static bool all_read(walk *w) {
  const int unread = ep_program_unread(&w->plan->program);
  if (unread < 0) return true;
  for (int i = 0; i < w->spec->layers_count; i++)
    if (w->plan->value_of[i] == unread) {
      snprintf(w->at.pointer, sizeof w->at.pointer, "/model/layers/%d", i);
      return ep_lowering_refuse(
          &w->at, "", "nothing reads this layer: name it in the input of another, or leave it out");
    }
  return ep_lowering_refuse(&w->at, "", "nothing reads value %d", unread);
}

bool ep_plan_lower(const ep_job_spec *spec, ep_plan *plan, int *rank, ep_problem *problem) {
  walk w = {.at = {.problem = problem,
                   .program = &plan->program,
                   .names = plan->names,
                   .rank = plan->rank,
                   .x_integer = plan->shape.x_integer,
                   .x_min = plan->shape.x_min,
                   .x_max = plan->shape.x_max},
            .spec = spec,
            .plan = plan};
  plan->rank[0] = *rank;
  if (!embedded_lower(&w)) return false;
  for (int i = 0; i < spec->layers_count; i++) {
    w.frozen = is_frozen(spec, i);
    snprintf(w.at.pointer, sizeof w.at.pointer, "/model/layers/%d", i);
    ep_layer_title(spec, i, w.at.name);
    if (!name_is_free(&w, i) || !layer_lower(&w, &spec->layers[i], i)) return false;
    plan->value_of[i] = w.last;
  }
  plan->program.ops_count = w.ops;
  plan->layers_count = spec->layers_count;
  *rank = plan->rank[w.last];
  return all_read(&w);
}
