/* automatic_space.c: the space of a sweep that leaves it to epochd: what is worth tuning in the
 * network and the optimizer that the job has. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json/json.h"
#include "api/limits.h"
#include "api/spec/automatic.h"
#include "api/sweep/sweep_spec.h"

static const double LR = 0.003, ABOUT = 10, DROPOUT = 0.25, DROPOUT_MOST = 0.8;
enum { WIDTH = 64, WIDTH_ABOUT = 4, POINTER_BYTES = 64, DIGITS = 3 };

/* Takes `axis`; false: memory is short. */
static bool axis_add(json_t *space, const char *pointer, json_t *axis) {
  return axis && json_object_set_new(space, pointer, axis) == 0;
}

/* Whether there is a range about it; what is wrong with the value, the job's own check says. */
static bool has_range(double value) {
  return value > 0 && value / ABOUT > 0 && isfinite(value * ABOUT);
}

/* From a tenth to ten times of it, in few digits. */
static json_t *about(double value) {
  double ends[] = {value / ABOUT, value * ABOUT};
  for (int i = 0; i < 2; i++) {
    char text[32];
    snprintf(text, sizeof text, "%.*g", DIGITS, ends[i]);
    ends[i] = strtod(text, NULL);
  }
  return json_pack("{s:[f,f]}", ep_axis_kind_name((int)EP_AXIS_LOG_UNIFORM), ends[0], ends[1]);
}

/* From a quarter to four times of it, within the limits of a layer; of none: about a usual one. */
static json_t *width_about(const json_t *layer) {
  json_int_t value = json_integer_value(json_object_get(layer, "out_features"));
  json_int_t width = value > 0 && value <= EP_LIMIT_FEATURES ? value : WIDTH;
  json_int_t least = width / WIDTH_ABOUT, most = width * WIDTH_ABOUT;
  return json_pack("{s:[I,I]}", ep_axis_kind_name((int)EP_AXIS_INT_LOG_UNIFORM),
                   least > 1 ? least : 1, most < EP_LIMIT_FEATURES ? most : EP_LIMIT_FEATURES);
}

/* From none to twice of it; at least to 0.5. */
static json_t *dropout_about(const json_t *layer) {
  double p = fmax(json_number_value(json_object_get(layer, "p")), DROPOUT);
  return json_pack("{s:[f,f]}", ep_axis_kind_name((int)EP_AXIS_UNIFORM), 0.0,
                   fmin(2 * p, DROPOUT_MOST));
}

/* The first layer of that type that is not the last one; -1: there is none. */
static int layer_find(const json_t *layers, ep_layer_type type) {
  for (size_t i = 0; i + 1 < json_array_size(layers); i++) {
    const char *name = json_string_value(json_object_get(json_array_get(layers, i), "type"));
    if (name && strcmp(name, ep_layer_type_name((int)type)) == 0) return (int)i;
  }
  return -1;
}

static bool layer_add(json_t *space, int layer, const char *field, json_t *axis) {
  char pointer[POINTER_BYTES];
  snprintf(pointer, sizeof pointer, "/model/layers/%d/%s", layer, field);
  return axis_add(space, pointer, axis);
}

static bool space_fill(const json_t *job, json_t *space) {
  const json_t *optimizer = json_object_get(job, "optimizer");
  const json_t *layers = json_object_get(json_object_get(job, "model"), "layers");
  double lr = json_number_value(json_object_get(optimizer, "lr"));
  double decay = json_number_value(json_object_get(optimizer, "weight_decay"));
  int dense = layer_find(layers, EP_LAYER_LINEAR), dropout = layer_find(layers, EP_LAYER_DROPOUT);
  bool added = axis_add(space, "/optimizer/lr", about(has_range(lr) ? lr : LR));
  if (added && has_range(decay)) added = axis_add(space, "/optimizer/weight_decay", about(decay));
  if (added && dense >= 0)
    added =
        layer_add(space, dense, "out_features", width_about(json_array_get(layers, (size_t)dense)));
  if (added && dropout >= 0)
    added = layer_add(space, dropout, "p", dropout_about(json_array_get(layers, (size_t)dropout)));
  return added;
}

ep_status ep_sweep_space_fill(json_t *request, ep_problem *problem) {
  const char *word = json_string_value(json_object_get(request, "space"));
  if (!word || strcmp(word, EP_AUTOMATIC) != 0) return EP_OK;
  json_t *space = json_object();
  bool filled = space && space_fill(json_object_get(request, "job"), space) &&
                json_object_set(request, "space", space) == 0;
  json_decref(space);
  return filled ? EP_OK : ep_problem_fail_memory(problem);
}
