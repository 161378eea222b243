/* trial.c: the job of one trial: the sweep's, with the values of a point. Trees are shared but for
 * the containers on the way to a value, so that a trial costs no copy of its data. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/spec/spec_tree.h"
#include "api/sweep/sweep_json.h"
#include "api/visibility.h"

enum { STEP_BYTES = EP_POINTER_BYTES, TRIAL_TEXT_LIMIT = 2 * EP_LIMIT_SPEC_BYTES };

/* The pointer's first step, unescaped; returns what follows it, NULL when it is no pointer. */
static const char *step_take(const char *pointer, char step[STEP_BYTES]) {
  size_t used = 0;
  if (*pointer++ != '/') return NULL;
  for (; *pointer && *pointer != '/'; pointer++) {
    char character = *pointer;
    if (character == '~' && pointer[1] != '0' && pointer[1] != '1') return NULL;
    if (character == '~') character = *++pointer == '1' ? '/' : '~';
    if (used + 1 == STEP_BYTES) return NULL;
    step[used++] = character;
  }
  step[used] = 0;
  return pointer;
}

/* The index that a step of an array names; the size when it is none. */
static size_t index_of(const json_t *array, const char *step) {
  char *end;
  unsigned long index = strtoul(step, &end, 10);
  bool good = *step >= '0' && *step <= '9' && (*step != '0' || !step[1]) && !*end &&
              index < json_array_size(array);
  return good ? index : json_array_size(array);
}

static json_t *value_put(const json_t *tree, const char *pointer, json_t *value);

/* A copy of the object whose member leads on to the value. */
static json_t *member_put(const json_t *object, const char *step, const char *rest, json_t *value) {
  json_t *member = value_put(json_object_get(object, step), rest, value);
  json_t *copy = member && object ? json_copy((json_t *)object) : member ? json_object() : NULL;
  if (copy && json_object_set(copy, step, member) != 0) {
    json_decref(copy);
    copy = NULL;
  }
  json_decref(member);
  return copy;
}

static json_t *item_put(const json_t *array, const char *step, const char *rest, json_t *value) {
  size_t index = index_of(array, step);
  if (index == json_array_size(array)) return NULL;
  json_t *item = value_put(json_array_get(array, index), rest, value);
  json_t *copy = item ? json_copy((json_t *)array) : NULL;
  if (copy && json_array_set(copy, index, item) != 0) {
    json_decref(copy);
    copy = NULL;
  }
  json_decref(item);
  return copy;
}

/* The tree with the value at the pointer; tree NULL: there was nothing there. NULL: no place. */
static json_t *value_put(const json_t *tree, const char *pointer, json_t *value) {
  char step[STEP_BYTES];
  if (!*pointer) return json_incref(value);
  const char *rest = step_take(pointer, step);
  if (!rest) return NULL;
  if (tree && json_is_array(tree)) return item_put(tree, step, rest, value);
  if (!tree || json_is_object(tree)) return member_put(tree, step, rest, value);
  /* a word that stands for an object: "mse" for {"type": "mse"} */
  json_t *object = json_is_string(tree) ? json_pack("{sO}", "type", tree) : NULL;
  json_t *put = object ? member_put(object, step, rest, value) : NULL;
  json_decref(object);
  return put;
}

/* Replaces *tree; takes the reference to value. */
static bool tree_set(json_t **tree, const char *pointer, json_t *value) {
  json_t *put = value ? value_put(*tree, pointer, value) : NULL;
  json_decref(value);
  if (!put) return false;
  json_decref(*tree);
  *tree = put;
  return true;
}

/* A value of an axis: a new reference. */
static json_t *axis_value(const ep_sweep_axis *axis, int at, double value) {
  switch (axis->kind) {
  case EP_AXIS_VALUES: return json_incref(json_array_get(axis->lists[at], (size_t)value));
  case EP_AXIS_INT_UNIFORM:
  case EP_AXIS_INT_LOG_UNIFORM: return json_integer((json_int_t)value);
  default: return json_real(value);
  }
}

/* The job's own seed and those after it, unless others were given. */
static uint64_t seed_of(const ep_sweep_spec *sweep, int repeat) {
  if (sweep->parts.seeds) return sweep->parts.seeds[repeat];
  json_int_t first = json_integer_value(json_object_get(sweep->job, "seed"));
  return (uint64_t)(json_object_get(sweep->job, "seed") ? first : 1) + (uint64_t)repeat;
}

static bool part_set(const ep_sweep_spec *sweep, int part, json_t **tree) {
  const ep_parts_spec *parts = &sweep->parts;
  int folds = parts->folds > 0 ? parts->folds : 1, repeat = part / folds;
  bool good = true;
  if (parts->repeats > 1 || parts->seeds)
    good = tree_set(tree, "/seed", json_integer((json_int_t)seed_of(sweep, repeat)));
  if (good && parts->folds > 0)
    good = tree_set(tree, "/data/folds", json_integer(parts->folds)) &&
           tree_set(tree, "/data/fold", json_integer(part % folds)) &&
           (!parts->stratify || tree_set(tree, "/data/stratify", json_true()));
  return good;
}

json_t *ep_sweep_job_tree(const ep_sweep_spec *sweep, const double *point, int part,
                          const char **at) {
  json_t *tree = json_incref(sweep->job);
  bool good = true;
  *at = NULL;
  for (int i = 0; good && i < sweep->axes_count; i++)
    for (int p = 0; good && p < sweep->axes[i].pointers_count; p++) {
      const ep_sweep_axis *axis = &sweep->axes[i];
      good = tree_set(&tree, axis->pointers[p], axis_value(axis, p, point[i]));
      if (!good) *at = axis->pointers[p];
    }
  if (good && part >= 0) good = part_set(sweep, part, &tree);
  if (good) return tree;
  json_decref(tree);
  return NULL;
}

int ep_sweep_parts(const ep_sweep_spec *sweep) {
  return ep_parts_count(&sweep->parts);
}

ep_status ep_sweep_trial_make(const ep_sweep_spec *sweep, const double *point, int part,
                              ep_job_spec **out, ep_problem *problem) {
  const char *at;
  *out = NULL;
  json_t *tree = ep_sweep_job_tree(sweep, point, part, &at);
  if (!tree) return ep_problem_fail_memory(problem);
  ep_field_reader reader = {.problem = problem, .stored = sweep->stored};
  ep_status status = ep_job_spec_read(&reader, tree, out);
  json_decref(tree);
  return status;
}

void ep_sweep_first_point(const ep_sweep_spec *sweep, double *point) {
  for (int i = 0; i < sweep->axes_count; i++)
    point[i] = sweep->axes[i].kind == EP_AXIS_VALUES ? 0 : sweep->axes[i].low;
}

const char *ep_sweep_device(const ep_sweep_spec *sweep, const double *point) {
  if (sweep->device_axis < 0) return NULL;
  const ep_sweep_axis *axis = &sweep->axes[sweep->device_axis];
  for (int p = 0; p < axis->pointers_count; p++)
    if (strcmp(axis->pointers[p], "/device") == 0)
      return json_string_value(json_array_get(axis->lists[p], (size_t)point[sweep->device_axis]));
  return NULL;
}

char *ep_sweep_trial_format(const ep_sweep_spec *sweep, const double *point, int part,
                            const char *name, const char *tag, bool private) {
  const char *at;
  ep_writer writer;
  ep_writer_init(&writer, TRIAL_TEXT_LIMIT);
  json_t *tree = ep_sweep_job_tree(sweep, point, part, &at);
  if (tree && tree_set(&tree, "/name", json_string(name)) &&
      tree_set(&tree, "/tags", json_pack("[s]", tag)) &&
      tree_set(&tree, "/visibility", json_string(ep_visibility_name(private))))
    ep_tree_write(&writer, tree);
  else
    writer.failed = true;
  json_decref(tree);
  return ep_writer_take(&writer);
}

void ep_sweep_value_write(ep_writer *writer, const ep_sweep_axis *axis, int at, double value) {
  if (axis->kind == EP_AXIS_INT_UNIFORM || axis->kind == EP_AXIS_INT_LOG_UNIFORM) {
    ep_writer_integer(writer, (int64_t)value);
  } else if (axis->kind != EP_AXIS_VALUES) {
    ep_writer_number(writer, value);
  } else {
    ep_tree_write(writer, json_array_get(axis->lists[at], (size_t)value));
  }
}

void ep_sweep_values_write(ep_writer *writer, const ep_sweep_spec *sweep, const double *point) {
  ep_writer_open(writer, '{');
  for (int i = 0; i < sweep->axes_count; i++)
    for (int p = 0; p < sweep->axes[i].pointers_count; p++) {
      ep_writer_key(writer, sweep->axes[i].pointers[p]);
      ep_sweep_value_write(writer, &sweep->axes[i], p, point[i]);
    }
  ep_writer_close(writer, '}');
}

void ep_sweep_controls_write(ep_writer *writer, const ep_sweep_spec *sweep) {
  ep_tree_write(writer, sweep->job);
}

/* Where the columns of a layer's slice lie. */
static bool places_pin(ep_sweep_spec *sweep, const ep_layer_spec *layer, int number) {
  char pointer[EP_POINTER_BYTES];
  json_t *places = json_array();
  snprintf(pointer, sizeof pointer, "/model/layers/%d/places", number);
  for (int i = 0; i < layer->places_count; i++)
    json_array_append_new(places, json_pack("[I, I]", (json_int_t)layer->places[i][0],
                                            (json_int_t)layer->places[i][1]));
  return tree_set(&sweep->job, pointer, places);
}

bool ep_sweep_pin_data(ep_sweep_spec *sweep, const ep_job_spec *first) {
  const ep_data_spec *data = &first->data;
  for (int i = 0; i < first->layers_count; i++)
    if (first->layers[i].columns.count > 0 && !places_pin(sweep, &first->layers[i], i))
      return false;
  bool varies = ep_sweep_field_varies(sweep, "/data/positive") ||
                ep_sweep_field_varies(sweep, "/data/target");
  return (!data->sha256[0] || tree_set(&sweep->job, "/data/sha256", json_string(data->sha256))) &&
         (!data->positive[0] || varies ||
          tree_set(&sweep->job, "/data/positive", json_string(data->positive)));
}
