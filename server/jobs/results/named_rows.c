/* Rows to predict as objects of cells by their columns, as the job's table had them. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json/fields.h"
#include "api/json/json.h"
#include "engine/data/columns/named_row.h"
#include "engine/data/inputs/text_rows.h"
#include "server/jobs/checkpoints.h"

/* "steps" or "future" of a body, for a job that trained on no series. */
static ep_status series_missing(const json_t *body, ep_problem *problem) {
  return ep_problem_add(problem, EP_INVALID, json_object_get(body, "steps") ? "/steps" : "/future",
                        "is of a series: the job trained without \"window\" in its data, and "
                        "rows stand alone");
}

/* How the job's columns became features; EP_CONFLICT where it had none with names. body: of the
 * request; NULL: it is no JSON. */
static ep_status encoding_find(ep_jobs *jobs, const char *id, int64_t checkpoint,
                               const json_t *body, ep_encoding **out, ep_problem *problem) {
  char path[EP_PATH_BYTES];
  ep_error error = {0};
  *out = NULL;
  ep_status status = ep_jobs_weights_path(jobs, id, checkpoint, path, &error);
  if (status == EP_OK) status = ep_weights_read_encoding(path, out, &error);
  if (status != EP_OK) return ep_problem_set(problem, status, "%s", error.message);
  if (*out) return EP_OK;
  if (json_object_get(body, "steps") || json_object_get(body, "future"))
    return series_missing(body, problem);
  return ep_problem_add(problem, EP_CONFLICT, "/rows",
                        "the job trained on plain numbers, whose columns it does not know by name: "
                        "give \"x\", rows of numbers in the order of the columns");
}

static void encoding_free(ep_encoding *encoding) {
  if (encoding) ep_encoding_deinit(encoding);
  free(encoding);
}

static ep_status rows_read(const ep_encoding *encoding, const json_t *array, double *x,
                           ep_warnings *warnings, ep_problem *problem) {
  ep_status status = EP_OK;
  for (size_t i = 0; i < json_array_size(array); i++) {
    char pointer[EP_POINTER_BYTES];
    snprintf(pointer, sizeof pointer, "/rows/%zu", i);
    ep_status one = ep_encoding_cells_read(encoding, json_array_get(array, i), pointer,
                                           x + (int64_t)i * encoding->columns, warnings, problem);
    if (one != EP_OK) status = one;
    if (problem->errors_count >= EP_LIMIT_PROBLEM_ERRORS) break;
  }
  return status;
}

/* beside: rows that have no object, behind the others. out->x: [rows of the array + beside,
 * columns]
 */
static ep_status array_read(const ep_encoding *encoding, const json_t *array, int64_t beside,
                            ep_prediction_rows *out, ep_problem *problem) {
  size_t rows = json_array_size(array), all = rows + (size_t)beside;
  if (rows < 1 || rows > EP_LIMIT_PREDICT_ROWS ||
      all * (size_t)encoding->columns > EP_LIMIT_PREDICT_BYTES / sizeof *out->x)
    return ep_problem_add(problem, EP_INVALID, "/rows", "must be an array of 1 to %d objects",
                          EP_LIMIT_PREDICT_ROWS);
  out->x = malloc(all * (size_t)encoding->columns * sizeof *out->x);
  return out->x ? rows_read(encoding, array, out->x, &out->warnings, problem)
                : ep_problem_fail_memory(problem);
}

/* The first column of which a row of the future has cells that only the request knows, or NULL. */
static const char *future_column(const ep_encoding *encoding) {
  for (int64_t i = 0; i < encoding->columns; i++)
    if (i != encoding->window.target && encoding->column[i].encode != EP_ENCODE_NONE)
      return encoding->column[i].name;
  return NULL;
}

/* The rows that come after those of the request: [rows, columns], written. Their targets are NaN,
 * whatever the request says of them. */
static ep_status future_read(const ep_encoding *encoding, const json_t *future, int64_t rows,
                             double *x, ep_warnings *warnings, ep_problem *problem) {
  ep_status status = EP_OK;
  for (int64_t i = 0; i < rows * encoding->columns; i++) x[i] = NAN;
  const char *needed = future_column(encoding);
  if (!needed) return EP_OK;
  if ((int64_t)json_array_size(future) < rows)
    return ep_problem_add(problem, EP_INVALID, "/future",
                          "must be an array of %lld objects, the rows after the last one: the "
                          "model needs \"%.100s\" of them",
                          (long long)rows, needed);
  for (int64_t i = 0; i < rows; i++) {
    char pointer[EP_POINTER_BYTES];
    json_t *row = json_copy(json_array_get(future, (size_t)i));
    snprintf(pointer, sizeof pointer, "/future/%lld", (long long)i);
    if (json_is_object(row)) json_object_set_new(row, encoding->target, json_null());
    ep_status one = ep_encoding_cells_read(encoding, row, pointer, x + i * encoding->columns,
                                           warnings, problem);
    json_decref(row);
    if (one != EP_OK) status = one;
    if (problem->errors_count >= EP_LIMIT_PROBLEM_ERRORS) break;
  }
  return status;
}

static ep_status rows_few(const ep_encoding *encoding, int64_t rows, ep_problem *problem) {
  return ep_problem_add(problem, EP_INVALID, "/rows",
                        "an example has %lld successive rows, the oldest first: %lld are given",
                        (long long)encoding->window.length, (long long)rows);
}

/* Rows of a series: each so many of them are an example. */
static void series_set(const ep_encoding *encoding, int64_t rows, ep_prediction_rows *out) {
  out->rows = 1;
  out->columns = rows * encoding->columns;
  out->windows = rows - encoding->window.length + 1;
}

static ep_status series_take(const ep_encoding *encoding, const json_t *array,
                             ep_prediction_rows *out, ep_problem *problem) {
  int64_t rows = (int64_t)json_array_size(array);
  if (rows < encoding->window.length) return rows_few(encoding, rows, problem);
  ep_status status = array_read(encoding, array, 0, out, problem);
  series_set(encoding, rows, out);
  return status;
}

/* The last rows and those of the future, as far as so many examples, each a row after the one
 * before, take them. */
static ep_status forecast_take(const ep_encoding *encoding, const json_t *array,
                               const json_t *future, int64_t steps, ep_prediction_rows *out,
                               ep_problem *problem) {
  const ep_encoding_window *window = &encoding->window;
  int64_t rows = (int64_t)json_array_size(array), known = window->length + window->horizon - 1;
  int64_t ahead = steps > window->horizon ? steps - window->horizon : 0;
  if (rows < known)
    return ep_problem_add(problem, EP_INVALID, "/rows",
                          "a forecast begins with the last %lld rows, the oldest first: %lld are "
                          "given",
                          (long long)known, (long long)rows);
  ep_status status = array_read(encoding, array, ahead, out, problem);
  if (status != EP_OK) return status;
  double *end = out->x + rows * encoding->columns;
  status = future_read(encoding, future, ahead, end, &out->warnings, problem);
  int64_t taken = window->length + steps - 1, columns = encoding->columns;
  memmove(out->x, end - known * columns, (size_t)(taken * columns) * sizeof *out->x);
  out->rows = 1;
  out->columns = taken * columns;
  out->windows = steps;
  out->forecast = steps > window->horizon;
  return status;
}

/* "steps" of a body: 0 = not given. */
static ep_status steps_read(const ep_encoding *encoding, const json_t *body, int64_t *out,
                            ep_problem *problem) {
  const json_t *steps = json_object_get(body, "steps"), *future = json_object_get(body, "future");
  *out = 0;
  if (!steps && !future) return EP_OK;
  if (encoding->window.length == 0) return series_missing(body, problem);
  if (!steps) return ep_problem_add(problem, EP_INVALID, "/steps", "is needed beside \"future\"");
  if (ep_json_integer(steps, out) && *out >= 1 && *out <= EP_LIMIT_PREDICT_STEPS) return EP_OK;
  return ep_problem_add(problem, EP_INVALID, "/steps", "must be a whole number from 1 to %d",
                        EP_LIMIT_PREDICT_STEPS);
}

static ep_status alone_take(const ep_encoding *encoding, const json_t *array,
                            ep_prediction_rows *out, ep_problem *problem) {
  ep_status status = array_read(encoding, array, 0, out, problem);
  out->rows = (int64_t)json_array_size(array);
  out->columns = encoding->columns;
  return status;
}

static ep_status body_take(const ep_encoding *encoding, const json_t *body, ep_prediction_rows *out,
                           ep_problem *problem) {
  const json_t *array = json_object_get(body, "rows");
  int64_t steps;
  ep_status status = steps_read(encoding, body, &steps, problem);
  if (status != EP_OK) return status;
  if (steps > 0)
    return forecast_take(encoding, array, json_object_get(body, "future"), steps, out, problem);
  return encoding->window.length > 0 ? series_take(encoding, array, out, problem)
                                     : alone_take(encoding, array, out, problem);
}

/* Frees x where it is not given on. */
static ep_status taken(ep_status status, ep_prediction_rows *out) {
  if (status != EP_OK) ep_prediction_rows_deinit(out);
  return status;
}

ep_status ep_jobs_rows_take(ep_jobs *jobs, const char *id, int64_t checkpoint,
                            const struct json_t *objects, ep_prediction_rows *out,
                            ep_problem *problem) {
  ep_encoding *encoding = NULL;
  *out = (ep_prediction_rows){.windows = 1};
  ep_status status = encoding_find(jobs, id, checkpoint, NULL, &encoding, problem);
  if (status == EP_OK && encoding->window.length > 0)
    status = ep_problem_add(problem, EP_INVALID, "/rows",
                            "the model takes windows of a series: give \"x\", the cells of all "
                            "rows of a window in one");
  if (status == EP_OK) status = alone_take(encoding, objects, out, problem);
  encoding_free(encoding);
  return taken(status, out);
}

ep_status ep_jobs_text_read(ep_jobs *jobs, const char *id, int64_t checkpoint,
                            const ep_text_body *body, ep_prediction_rows *out,
                            ep_problem *problem) {
  ep_encoding *encoding = NULL;
  int64_t rows = 0;
  *out = (ep_prediction_rows){.windows = 1};
  ep_status status = encoding_find(jobs, id, checkpoint, NULL, &encoding, problem);
  if (status == EP_OK)
    status = ep_text_rows_read(encoding, body, &out->x, &rows, &out->warnings, problem);
  if (status == EP_OK && rows < encoding->window.length) status = rows_few(encoding, rows, problem);
  if (status == EP_OK && encoding->window.length > 0) {
    series_set(encoding, rows, out);
  } else if (status == EP_OK) {
    out->rows = rows;
    out->columns = encoding->columns;
  }
  encoding_free(encoding);
  return taken(status, out);
}

/* Members that mean nothing are faults. */
static ep_status members_check(const json_t *body, ep_problem *problem) {
  ep_field_reader reader = {.problem = problem};
  const char *key;
  json_t *value;
  json_object_foreach((json_t *)body, key, value) {
    (void)value;
    if (strcmp(key, "rows") == 0 || strcmp(key, "steps") == 0 || strcmp(key, "future") == 0 ||
        strcmp(key, "threshold") == 0)
      continue;
    size_t place = ep_field_reader_enter(&reader, key);
    ep_field_reader_fail(&reader,
                         "unknown field \"%.100s\": only \"steps\", \"future\" and "
                         "\"threshold\" are known beside \"rows\"",
                         key);
    ep_field_reader_leave(&reader, place);
  }
  return reader.status;
}

ep_status ep_jobs_rows_read(ep_jobs *jobs, const char *id, int64_t checkpoint, const char *text,
                            size_t bytes, ep_prediction_rows *out, ep_problem *problem) {
  json_t *body = NULL;
  ep_encoding *encoding = NULL;
  ep_error error = {0};
  *out = (ep_prediction_rows){.windows = 1};
  ep_status status = ep_json_load(text, bytes, EP_LIMIT_NAMED_ROWS_BYTES, &body, &error);
  if (status != EP_OK) return ep_problem_from_error(problem, &error);
  ep_threshold threshold = {.kind = EP_THRESHOLD_NONE};
  status = members_check(body, problem);
  if (status == EP_OK)
    status = ep_predict_threshold_take(json_object_get(body, "threshold"), &threshold, problem);
  if (status == EP_OK) status = encoding_find(jobs, id, checkpoint, body, &encoding, problem);
  if (status == EP_OK) status = body_take(encoding, body, out, problem);
  out->threshold = threshold;
  encoding_free(encoding);
  json_decref(body);
  return taken(status, out);
}
