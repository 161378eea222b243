#include "api/responses/model.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/base_path.h"
#include "api/json/fields.h"
#include "api/json/json.h"
#include "api/json/writer.h"
#include "api/responses/predict.h"
#include "api/visibility.h"

/* A model's text is a few hundred bytes. */
#define MODELS_TEXT_LIMIT ((size_t)EP_LIMIT_MODELS * 2048)
/* A column's is its name, each byte of which may be six, and a few words. */
#define COLUMN_TEXT_LIMIT ((size_t)EP_LIMIT_NAME_BYTES * 6 + 64)

static const char *const decision_names[] = {
#define DECISION_NAME(code, name) name,
    EP_DECISION_TABLE(DECISION_NAME)
#undef DECISION_NAME
};

const char *ep_decision_name(ep_decision decision) {
  return decision_names[decision];
}

int ep_decision_from_name(const char *name) {
  for (int i = 0; i < EP_DECISION_COUNT; i++)
    if (strcmp(decision_names[i], name) == 0) return i;
  return -1;
}

const char *ep_inference_output_name(ep_inference_output output) {
  static const char *const names[EP_INFERENCE_OUTPUTS] = {"predictions", "class", "class_name",
                                                          "probabilities"};
  return names[output];
}

int64_t ep_model_columns(const ep_model *model) {
  int64_t columns = 1;
  for (int i = 0; i < model->row_dimensions; i++) columns *= model->row[i];
  return columns;
}

static ep_status visibility_take(const json_t *value, ep_model_request *out, ep_problem *problem) {
  int which = json_is_string(value) ? ep_visibility_from_name(json_string_value(value)) : -1;
  out->visibility_given = value != NULL;
  out->private = which == true;
  if (!value || which >= 0) return EP_OK;
  return ep_problem_add(problem, EP_INVALID, "/visibility", "must be \"public\" or \"private\"");
}

static ep_status request_take(const json_t *root, ep_model_request *out, ep_problem *problem) {
  const char *key;
  json_t *value;
  if (!json_is_object(root))
    return ep_problem_add(problem, EP_INVALID, "", "must be an object {\"job\": \"job_…\"}");
  json_object_foreach((json_t *)root, key, value) {
    if (strcmp(key, "job") == 0 || strcmp(key, "visibility") == 0 || strcmp(key, "threshold") == 0)
      continue;
    ep_field_reader reader = {.problem = problem};
    ep_field_reader_enter(&reader, key);
    ep_field_reader_fail(
        &reader, "unknown field \"%.100s\": \"job\", \"visibility\" and \"threshold\" are known",
        key);
    return reader.status;
  }
  value = json_object_get(root, "job");
  if (!value) return ep_problem_add(problem, EP_INVALID, "/job", "\"job\" is required");
  if (!json_is_string(value))
    return ep_problem_add(problem, EP_INVALID, "/job",
                          "must be the id or the name of a job, not %s", ep_json_type_name(value));
  /* One that is too long is no job's, and neither is what is left of it. */
  snprintf(out->job, sizeof out->job, "%s", json_string_value(value));
  out->threshold_given = json_object_get(root, "threshold") != NULL;
  ep_status status =
      ep_predict_threshold_take(json_object_get(root, "threshold"), &out->threshold, problem);
  return status == EP_OK ? visibility_take(json_object_get(root, "visibility"), out, problem)
                         : status;
}

ep_status ep_model_request_parse(const char *text, size_t bytes, ep_model_request *out,
                                 ep_problem *problem) {
  json_t *root = NULL;
  ep_error error = {0};
  *out = (ep_model_request){0};
  ep_status status = ep_json_load(text, bytes, EP_LIMIT_SPEC_BYTES, &root, &error);
  if (status != EP_OK) return ep_problem_from_error(problem, &error);
  status = request_take(root, out, problem);
  json_decref(root);
  return status;
}

bool ep_model_has_two_classes(const ep_model *model) {
  return model->decision == EP_DECISION_GREATEST ? model->outputs == 2
                                                 : model->decision != EP_DECISION_NONE;
}

static void tensor_write(ep_writer *writer, const char *name, const char *type,
                         const int64_t *dimensions, int count) {
  ep_writer_open(writer, '{');
  ep_writer_member_string(writer, "name", name);
  ep_writer_member_string(writer, "datatype", type);
  ep_writer_member_open(writer, "shape", '[');
  ep_writer_integer(writer, -1);
  for (int i = 0; i < count; i++) ep_writer_integer(writer, dimensions[i]);
  ep_writer_close(writer, ']');
  ep_writer_close(writer, '}');
}

static void input_write(ep_writer *writer, const ep_model *model) {
  tensor_write(writer, EP_INFERENCE_INPUT, "FP32", model->row, model->row_dimensions);
}

static void output_write(ep_writer *writer, ep_inference_output output, const char *type,
                         const int64_t *columns) {
  tensor_write(writer, ep_inference_output_name(output), type, columns, columns ? 1 : 0);
}

static void outputs_write(ep_writer *writer, const ep_model *model) {
  output_write(writer, EP_INFERENCE_PREDICTIONS, "FP32", &model->outputs);
  if (model->decision != EP_DECISION_NONE) output_write(writer, EP_INFERENCE_CLASS, "INT64", NULL);
}

static void model_write(ep_writer *writer, const ep_model *model, const ep_model_changes *changes) {
  char path[EP_BASE_PATH_BYTES + 64 + EP_LIMIT_NAME_BYTES];
  snprintf(path, sizeof path, "%s/v2/models/%s/infer", ep_base_path(), model->name);
  ep_writer_open(writer, '{');
  ep_writer_member_string(writer, "object", "model");
  ep_writer_member_string(writer, "name", model->name);
  ep_writer_member_string(writer, "job", model->job);
  ep_writer_member_string(writer, "owner", model->owner);
  ep_writer_member_string(writer, "visibility", ep_visibility_name(model->private));
  ep_writer_member_open(writer, "inputs", '[');
  input_write(writer, model);
  ep_writer_close(writer, ']');
  ep_writer_member_open(writer, "outputs", '[');
  outputs_write(writer, model);
  ep_writer_close(writer, ']');
  ep_writer_member_number_or_null(writer, "threshold", model->threshold);
  ep_writer_member_string(writer, "positive", model->positive[0] ? model->positive : NULL);
  ep_writer_member_string(writer, "infer", path);
  ep_writer_member_time(writer, "published_at", model->published_us);
  if (changes) {
    ep_writer_member_open(writer, "warnings", '[');
    for (int i = 0; i < changes->count; i++) ep_writer_string(writer, changes->line[i]);
    ep_writer_close(writer, ']');
  }
  ep_writer_close(writer, '}');
}

char *ep_model_format(const ep_model *model, const ep_model_changes *changes) {
  ep_writer writer;
  ep_writer_init(&writer, MODELS_TEXT_LIMIT);
  model_write(&writer, model, changes);
  return ep_writer_take(&writer);
}

char *ep_models_format(const ep_model *models, int64_t count) {
  ep_writer writer;
  ep_writer_init(&writer, MODELS_TEXT_LIMIT);
  ep_writer_open(&writer, '{');
  ep_writer_member_string(&writer, "object", "list");
  ep_writer_member_open(&writer, "data", '[');
  for (int64_t i = 0; i < count; i++) model_write(&writer, &models[i], NULL);
  ep_writer_close(&writer, ']');
  ep_writer_close(&writer, '}');
  return ep_writer_take(&writer);
}

/* All that every input may come as; an input's own "datatype" is the usual one. */
static void datatypes_write(ep_writer *writer) {
  static const char *const NAMES[] = {
#define TENSOR_NAME(code, name, bytes, kind) name,
      EP_TENSOR_TABLE(TENSOR_NAME)
#undef TENSOR_NAME
          EP_INFERENCE_TEXT};
  ep_writer_member_open(writer, "parameters", '{');
  ep_writer_member_open(writer, "datatypes", '[');
  for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) ep_writer_string(writer, NAMES[i]);
  ep_writer_close(writer, ']');
  ep_writer_close(writer, '}');
}

char *ep_model_metadata_format(const ep_model *model, const ep_model_column *column,
                               int64_t columns, int64_t classes, bool class_names) {
  ep_writer writer;
  ep_writer_init(&writer, MODELS_TEXT_LIMIT + (size_t)columns * COLUMN_TEXT_LIMIT);
  ep_writer_open(&writer, '{');
  ep_writer_member_string(&writer, "name", model->name);
  ep_writer_member_open(&writer, "versions", '[');
  ep_writer_string(&writer, EP_INFERENCE_VERSION);
  ep_writer_close(&writer, ']');
  ep_writer_member_string(&writer, "platform", "epochd");
  datatypes_write(&writer);
  ep_writer_member_open(&writer, "inputs", '[');
  if (columns == 0) input_write(&writer, model);
  for (int64_t i = 0; i < columns; i++)
    tensor_write(&writer, column[i].name, column[i].text ? EP_INFERENCE_TEXT : "FP64", NULL, 0);
  ep_writer_close(&writer, ']');
  ep_writer_member_open(&writer, "outputs", '[');
  outputs_write(&writer, model);
  if (class_names) output_write(&writer, EP_INFERENCE_CLASS_NAME, EP_INFERENCE_TEXT, NULL);
  if (classes > 0) output_write(&writer, EP_INFERENCE_PROBABILITIES, "FP32", &classes);
  ep_writer_close(&writer, ']');
  ep_writer_close(&writer, '}');
  return ep_writer_take(&writer);
}

char *ep_model_ready_format(const ep_model *model) {
  ep_writer writer;
  ep_writer_init(&writer, MODELS_TEXT_LIMIT);
  ep_writer_open(&writer, '{');
  ep_writer_member_string(&writer, "name", model->name);
  ep_writer_member_boolean(&writer, "ready", true);
  ep_writer_close(&writer, '}');
  return ep_writer_take(&writer);
}
