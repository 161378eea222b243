#include "tests/unit/engine/first_model/first_model_fixture.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

ep_column whole_column(const char *name, double min, double max, int64_t distinct) {
  ep_column column = number_column(name, min, max, 0);
  column.distinct = distinct;
  return column;
}

ep_status facts_of(const ep_column *columns, int64_t count, int64_t rows, const char *request,
                   ep_model_facts *facts, ep_automatic_job *job, ep_problem *problem) {
  ep_dataset_meta meta = {0};
  bool asked;
  json_t *root = json_loads(request, 0, NULL); /* the caller's, as job->job */
  ck_assert_int_eq(ep_automatic_read(root, NULL, &asked, job, problem), EP_OK);
  ck_assert(asked);
  meta.part[EP_SPLIT_TRAIN][EP_ROLE_TABLE] = table_make(columns, count, rows);
  ep_status status = ep_model_facts_find(job, &meta, facts, problem);
  table_free(&meta.part[EP_SPLIT_TRAIN][EP_ROLE_TABLE]);
  return status;
}

json_t *filled(const ep_column *columns, int64_t count, int64_t rows, const char *request) {
  ep_model_facts facts;
  ep_automatic_job job;
  ep_problem problem = {0};
  ep_job_spec *spec;
  ck_assert_int_eq(facts_of(columns, count, rows, request, &facts, &job, &problem), EP_OK);
  char *chosen = ep_first_model_choose(&facts);
  ck_assert_ptr_nonnull(chosen);
  ck_assert_int_eq(ep_automatic_fill(&job, chosen, &problem), EP_OK);
  json_t *root = job.job;
  ck_assert_int_eq(ep_job_request_read(root, false, &spec, &problem), EP_OK);
  ep_job_spec_destroy(spec);
  free(chosen);
  ep_model_facts_deinit(&facts);
  ep_automatic_deinit(&job);
  return root;
}

const json_t *at(const json_t *root, const char *path) {
  char copy[128], *rest = NULL;
  snprintf(copy, sizeof copy, "%s", path);
  for (char *step = strtok_r(copy, ".", &rest); step; step = strtok_r(NULL, ".", &rest))
    root = json_is_array(root) ? json_array_get(root, (size_t)atoi(step))
                               : json_object_get(root, step);
  return root;
}

double number_at(const json_t *root, const char *path) {
  const json_t *value = at(root, path);
  ck_assert_msg(json_is_number(value), "%s is no number", path);
  return json_number_value(value);
}

const char *text_at(const json_t *root, const char *path) {
  const char *text = json_string_value(at(root, path));
  return text ? text : "";
}

int64_t outputs(const json_t *root) {
  const json_t *layers = at(root, "model.layers");
  return json_integer_value(
      json_object_get(json_array_get(layers, json_array_size(layers) - 1), "out_features"));
}

const char auto_job[] = "{\"data\": {\"dataset\": \"t\"}, \"model\": \"auto\"}";
