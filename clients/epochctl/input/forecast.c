#include "clients/epochctl/input/forecast.h"

#include <stdlib.h>
#include <string.h>

#include "api/json/json.h"
#include "api/limits.h"
#include "clients/epochctl/input/rows.h"

static ep_status names_missing(ep_error *error) {
  return ep_fail(
      error, EP_INVALID,
      "a forecast begins with rows of the table that was trained on: a CSV, [{…}, …] or "
      "{\"rows\": [{…}, …]}; this needs a line of names, since the table's are not known");
}

/* A value of JSON on lines of its own, each an object. *rows is the caller's. */
static ep_status lines_load(const char *text, json_t **rows, ep_error *error) {
  long number = 1;
  *rows = json_array();
  for (const char *at = text; *rows && *at; number++) {
    size_t bytes = strcspn(at, "\n");
    json_t *row = NULL;
    if (strspn(at, " \t\r") < bytes) {
      ep_status status = ep_json_load(at, bytes, EP_LIMIT_NAMED_ROWS_BYTES, &row, NULL);
      if (status != EP_OK || !json_is_object(row)) {
        json_decref(row);
        return ep_fail(error, EP_INVALID, "line %ld is no JSON object", number);
      }
      if (json_array_append_new(*rows, row) != 0) return ep_fail_memory(error);
    }
    at += bytes + (at[bytes] != 0);
  }
  return *rows ? EP_OK : ep_fail_memory(error);
}

/* Rows of cells in the order of the columns. *rows: objects, the caller's. */
static ep_status cells_name(const json_t *lists, const json_t *columns, json_t **rows,
                            ep_error *error) {
  const json_t *list;
  size_t index, count = json_array_size(columns);
  *rows = json_array();
  json_array_foreach(lists, index, list) {
    if (json_array_size(list) != count)
      return ep_fail(error, EP_INVALID, "row %zu has %zu cells, the table has %zu columns", index,
                     json_array_size(list), count);
    json_t *row = json_object();
    for (size_t i = 0; i < count; i++)
      json_object_set(row, json_string_value(json_array_get(columns, i)), json_array_get(list, i));
    if (json_array_append_new(*rows, row) != 0) return ep_fail_memory(error);
  }
  return *rows ? EP_OK : ep_fail_memory(error);
}

/* What a whole body says is sent, or it is refused. */
static ep_status body_check(json_t *body, int64_t steps, ep_error *error) {
  const char *key;
  json_t *value;
  json_object_foreach(body, key, value) {
    if (strcmp(key, "steps") == 0 && json_integer_value(value) != steps)
      return ep_fail(error, EP_INVALID, "\"steps\" beside the rows is not the %lld of --steps",
                     (long long)steps);
    if (strcmp(key, "rows") != 0 && strcmp(key, "future") != 0 && strcmp(key, "steps") != 0)
      return ep_fail(error, EP_INVALID,
                     "\"%.64s\" is unknown beside the rows of a forecast: \"future\" and \"steps\" "
                     "may be there, and a threshold is a flag",
                     key);
  }
  return EP_OK;
}

/* Whether the first line is an object by itself: else a fault is one of the whole text. */
static bool has_object_line(const char *text) {
  size_t bytes = strcspn(text, "\n");
  json_t *line = NULL;
  if (*text != '{' || text[bytes] == 0) return false;
  bool found = ep_json_load(text, bytes, EP_LIMIT_NAMED_ROWS_BYTES, &line, NULL) == EP_OK;
  json_decref(line);
  return found;
}

/* *future: that of a whole body, the caller's; else as it was. */
static ep_status json_rows_load(const ep_forecast_rows *forecast, const char *text, size_t bytes,
                                json_t **rows, json_t **future, ep_error *error) {
  const json_t *columns = forecast->columns;
  json_t *root = NULL;
  ep_error fault = {0};
  ep_status status = ep_json_load(text, bytes, EP_LIMIT_NAMED_ROWS_BYTES, &root, &fault);
  if (status != EP_OK)
    return has_object_line(text) ? lines_load(text, rows, error)
                                 : ep_fail(error, status, "%s", fault.message);
  const json_t *first = json_array_get(root, 0);
  json_t *inner = json_object_get(root, "rows");
  if (json_is_array(inner)) {
    status = body_check(root, forecast->steps, error);
    *rows = json_incref(inner);
    *future = json_incref(json_object_get(root, "future"));
  } else if (json_is_object(first)) {
    *rows = json_incref(root);
  } else if (json_is_array(first) && columns) {
    status = cells_name(root, columns, rows, error);
  } else if (json_is_object(root) && !json_object_get(root, "x")) {
    *rows = json_pack("[O]", root); /* one line of NDJSON */
  } else if (json_is_array(first)) {
    status = names_missing(error);
  } else {
    status = ep_fail(error, EP_INVALID,
                     "a forecast begins with rows by names: [{…}, …] or {\"rows\": [{…}, …]}");
  }
  json_decref(root);
  return status;
}

static ep_status table_load(const char *text, size_t bytes, const json_t *columns, json_t **rows,
                            ep_error *error) {
  bool named = columns ? ep_rows_begin_with_names(text, columns) : ep_rows_have_names(text);
  if (!named && !columns) return names_missing(error);
  char *body = NULL;
  size_t body_bytes = 0;
  json_t *root = NULL;
  ep_error fault = {0};
  ep_status status =
      ep_named_rows_format(text, bytes, named ? NULL : columns, &body, &body_bytes, &fault);
  if (status != EP_OK && !named)
    return ep_fail(error, status,
                   "without a line of names, rows have the %zu columns of the table: %s",
                   json_array_size(columns), fault.message);
  if (status != EP_OK) return ep_fail(error, status, "%s", fault.message);
  if (!body) return ep_fail(error, EP_INVALID, "there is no row");
  status = ep_json_load(body, body_bytes, EP_LIMIT_NAMED_ROWS_BYTES, &root, error);
  free(body);
  if (status == EP_OK) *rows = json_incref(json_object_get(root, "rows"));
  json_decref(root);
  return status;
}

static ep_status rows_load(const ep_forecast_rows *forecast, const char *text, json_t **rows,
                           json_t **future, ep_error *error) {
  const char *bom = "\xef\xbb\xbf";
  if (strncmp(text, bom, strlen(bom)) == 0) text += strlen(bom);
  text += strspn(text, " \t\r\n");
  if (*text == '{' || *text == '[')
    return json_rows_load(forecast, text, strlen(text), rows, future, error);
  return *text ? table_load(text, strlen(text), forecast->columns, rows, error)
               : ep_fail(error, EP_INVALID, "there is no row");
}

static ep_status future_load(const ep_forecast_rows *forecast, json_t **future, ep_error *error) {
  json_t *rows = NULL, *inner = NULL;
  ep_error fault = {0};
  ep_status status = rows_load(forecast, forecast->future, &rows, &inner, &fault);
  if (status == EP_OK && (inner || *future))
    status = ep_fail(&fault, EP_INVALID, "a \"future\" stands beside the rows of %s too",
                     inner ? "this file" : "FILE");
  json_decref(inner);
  if (status != EP_OK) {
    json_decref(rows);
    return ep_fail(error, status, "--future: %s", fault.message);
  }
  *future = rows;
  return EP_OK;
}

/* NULL where memory is short. */
static json_t *last_rows(const json_t *rows, size_t needed) {
  size_t count = json_array_size(rows);
  json_t *last = json_array();
  for (size_t i = count > needed ? count - needed : 0; i < count; i++)
    json_array_append(last, json_array_get(rows, i));
  return last;
}

ep_status ep_forecast_rows_format(const ep_forecast_rows *forecast, char **out, size_t *out_bytes,
                                  ep_error *error) {
  json_t *rows = NULL, *future = NULL, *body = NULL;
  *out = NULL;
  ep_status status = rows_load(forecast, forecast->text, &rows, &future, error);
  if (status == EP_OK && forecast->future) status = future_load(forecast, &future, error);
  if (status == EP_OK) {
    body = json_pack("{s:o, s:I}", "rows", last_rows(rows, forecast->needed), "steps",
                     (json_int_t)forecast->steps);
    if (future) json_object_set(body, "future", future);
    *out = body ? json_dumps(body, JSON_COMPACT) : NULL;
    *out_bytes = *out ? strlen(*out) : 0;
    if (!*out) status = ep_fail_memory(error);
  }
  json_decref(body);
  json_decref(future);
  json_decref(rows);
  return status;
}
