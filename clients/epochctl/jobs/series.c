#include "clients/epochctl/jobs/series.h"

#include <stdio.h>
#include <string.h>

#include "clients/epochctl/http/json_at.h"
#include "clients/epochctl/http/path.h"
#include "clients/epochctl/http/request.h"

enum { INDEX_BYTES = 24 };

/* A column without a name goes by its number. */
static json_t *names_take(const json_t *columns) {
  json_t *names = json_array();
  const json_t *column;
  size_t index;
  json_array_foreach(columns, index, column) {
    char number[INDEX_BYTES];
    const char *name = json_string_value(json_object_get(column, "name"));
    snprintf(number, sizeof number, "%zu", index);
    if (json_array_append_new(names, json_string(name ? name : number)) != 0) {
      json_decref(names);
      return NULL;
    }
  }
  return names;
}

/* The names, if the table is still the one that was trained on. */
static ep_status columns_find(ep_session *session, const json_t *data, json_t **out,
                              ep_error *error) {
  char path[EP_REQUEST_PATH_BYTES];
  json_t *dataset = NULL;
  const char *name = ep_json_text_at(data, "dataset");
  if (!*name) return EP_OK;
  ep_path_make(path, "/v1/datasets/", name, "");
  ep_status status = ep_http_get(session, path, &dataset, error);
  if (status == EP_NOT_FOUND) {
    ep_session_refusal_clear(session); /* with --json it hides the fault that ends it */
    return EP_OK;
  }
  if (status == EP_OK &&
      strcmp(ep_json_text_at(dataset, "sha256"), ep_json_text_at(data, "sha256")) == 0)
    *out = names_take(json_object_get(dataset, "columns"));
  json_decref(dataset);
  return status;
}

ep_status ep_job_series_find(ep_session *session, const char *id, ep_job_series *out,
                             ep_error *error) {
  char path[EP_REQUEST_PATH_BYTES];
  json_t *job = NULL;
  *out = (ep_job_series){0};
  ep_path_make(path, "/v1/jobs/", id, "");
  ep_status status = ep_http_get(session, path, &job, error);
  if (status != EP_OK) return status;
  const json_t *data = ep_json_at(job, "spec.data"), *window = ep_json_at(data, "window");
  if (json_is_object(window)) {
    out->needed =
        (size_t)(ep_json_integer_at(window, "length") + ep_json_integer_at(window, "horizon") - 1);
    status = columns_find(session, data, &out->columns, error);
  } else {
    status = ep_fail(error, EP_CONFLICT,
                     "job %s trained on no series, so that its rows stand alone: --steps is for a "
                     "job with \"window\" in its data",
                     id);
  }
  json_decref(job);
  return status;
}

void ep_job_series_deinit(ep_job_series *series) {
  json_decref(series->columns);
  *series = (ep_job_series){0};
}
