#include "api/spec/automatic.h"

#include <stdlib.h>
#include <string.h>

#include "api/json/json.h"
#include "api/json/memory.h"
#include "api/spec/tables.h"

static bool is_auto(const json_t *value) {
  const char *word = json_string_value(value);
  return word && strcmp(word, EP_AUTOMATIC) == 0;
}

/* Whether the object has any of the keys, NULL at their end. */
static bool has_any(const json_t *object, const char *const *keys) {
  for (; *keys; keys++)
    if (json_object_get(object, *keys)) return true;
  return false;
}

/* A loss that is none is found when the whole spec is read. */
static ep_loss_type loss_read(const json_t *value) {
  const json_t *type = json_is_object(value) ? json_object_get(value, "type") : value;
  const char *word = json_string_value(type);
  int loss = word ? ep_loss_type_from_name(word) : -1;
  return loss < 0 ? EP_LOSS_MSE : (ep_loss_type)loss;
}

/* The end of a model that is given; one at fault is found when the whole spec is read. */
static void last_layer_read(const json_t *model, ep_automatic_job *out) {
  const json_t *layers = json_object_get(model, "layers");
  const json_t *last = json_array_get(layers, json_array_size(layers) - 1);
  const char *word = json_string_value(json_object_get(last, "type"));
  int type = word ? ep_layer_type_from_name(word) : -1;
  out->last = type < 0 ? EP_LAYER_LINEAR : (ep_layer_type)type;
  if (out->last == EP_LAYER_LINEAR)
    ep_json_integer(json_object_get(last, "out_features"), &out->last_outputs);
}

static void open_fields_find(ep_automatic_job *out) {
  static const char *const validation[] = {"validation", "folds", NULL};
  static const char *const columns[] = {"columns",   "features", "exclude", "standardize",
                                        "normalize", "scale",    "shape",   NULL};
  const json_t *data = json_object_get(out->job, "data");
  out->test = !json_object_get(data, "test");
  out->validation = !has_any(data, validation) && !json_object_get(out->job, "folds");
  out->columns = !has_any(data, columns);
}

static ep_status data_read(const char *member, ep_automatic_job *out, ep_problem *problem) {
  static const ep_field data = {.key = "data"};
  ep_field_reader reader = {.problem = problem};
  out->spec = calloc(1, sizeof *out->spec);
  if (!out->spec) return ep_problem_fail_memory(problem);
  out->spec->loss = loss_read(json_object_get(out->job, "loss"));
  if (member) ep_field_reader_enter(&reader, member);
  ep_field_reader_enter(&reader, data.key);
  const json_t *value = json_object_get(out->job, data.key);
  if (value)
    ep_data_read(&reader, &data, value, out->spec);
  else
    ep_field_reader_fail(&reader, "\"%s\" is required", data.key);
  return reader.status;
}

static bool is_compared(const json_t *job) {
  const char *keep = json_string_value(json_object_get(job, "keep"));
  return json_is_object(json_object_get(job, "early_stopping")) ||
         (keep && strcmp(keep, "best") == 0);
}

ep_status ep_automatic_read(json_t *request, const char *member, bool *asked, ep_automatic_job *out,
                            ep_problem *problem) {
  *out = (ep_automatic_job){.job = member ? json_object_get(request, member) : request};
  const json_t *model = json_object_get(out->job, "model");
  const json_t *loss = json_object_get(out->job, "loss");
  out->model = is_auto(model);
  out->loss = is_auto(loss) || (out->model && !loss);
  *asked = out->model || out->loss;
  ep_status status = *asked ? data_read(member, out, problem) : EP_OK;
  if (*asked && status == EP_OK) {
    if (!out->model) last_layer_read(model, out);
    open_fields_find(out);
    out->compared = member || is_compared(out->job);
    return EP_OK;
  }
  *asked = false;
  ep_automatic_deinit(out);
  return status;
}

/* Whether all that `job` does not give went into it. */
static bool fields_fill(json_t *job, const json_t *chosen) {
  const char *key;
  json_t *value;
  bool filled = true;
  json_object_foreach((json_t *)chosen, key, value) {
    json_t *given = json_object_get(job, key);
    if (strcmp(key, "data") == 0)
      filled = fields_fill(given, value) && filled;
    else if (!given || is_auto(given))
      filled = json_object_set(job, key, value) == 0 && filled;
  }
  return filled;
}

ep_status ep_automatic_fill(ep_automatic_job *job, const char *chosen, ep_problem *problem) {
  json_error_t fault;
  json_t *fields = ep_json_read(chosen, strlen(chosen), 0, &fault);
  bool filled = fields && fields_fill(job->job, fields);
  json_decref(fields);
  return filled ? EP_OK : ep_problem_fail_memory(problem);
}

void ep_automatic_deinit(ep_automatic_job *job) {
  ep_job_spec_destroy(job->spec);
  *job = (ep_automatic_job){0};
}
