/* Rows to predict as objects of cells by their columns, as the job's table had them. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json/fields.h"
#include "api/json/json.h"
#include "engine/data/columns/named_row.h"
#include "engine/data/columns/range.h"
#include "engine/data/inputs/series_rows.h"
#include "engine/data/inputs/text_rows.h"
#include "engine/weights/stored_model.h"
#include "server/jobs/checkpoints.h"

/* "steps" or "future" of a body, for a job that trained on no series. */
static ep_status series_missing(const json_t *body, ep_problem *problem) {
  return ep_problem_add(problem, EP_INVALID, json_object_get(body, "future") ? "/future" : "/steps",
                        "requires a series: the job trained without \"window\" in its data");
}

/* How the job's columns became features; EP_CONFLICT where it had none with names. body: of the
 * request; NULL: it is no JSON. words: of the series that rows are of, as they will be read. */
static ep_status encoding_find(ep_jobs *jobs, const char *id, int64_t checkpoint,
                               const json_t *body, ep_word_set *words, ep_encoding **out,
                               ep_problem *problem) {
  char path[EP_PATH_BYTES] = "";
  ep_stored_model model = {0};
  ep_error error = {0};
  ep_status status = ep_jobs_weights_path(jobs, id, checkpoint, path, &error);
  if (status == EP_OK) status = ep_stored_model_open(path, &model, &error);
  *out = status == EP_OK ? model.encoding : NULL; /* moved */
  if (*out) model.encoding = NULL;
  ep_stored_model_close(&model);
  if (status != EP_OK) status = ep_jobs_weights_explain(jobs, id, checkpoint, path, &error);
  if (status != EP_OK) return ep_problem_set(problem, status, "%s", error.message);
  if (*out && (*out)->window.length > 0) (*out)->window.series = words;
  if (*out) return EP_OK;
  if (json_object_get(body, "steps") || json_object_get(body, "future"))
    return series_missing(body, problem);
  return ep_problem_add(problem, EP_CONFLICT, "/rows",
                        "the job trained on numbers without column names: give \"x\", rows of "
                        "numbers in the order of the columns");
}

static void encoding_free(ep_encoding *encoding, ep_word_set *words) {
  if (encoding) ep_encoding_deinit(encoding);
  free(encoding);
  ep_word_set_deinit(words);
}

/* What is predicted, and of a window that is written behind its last row, of which row. */
static void target_note(const ep_encoding *encoding, ep_prediction_rows *out) {
  const char *target = encoding->target;
  long long later = (long long)encoding->window.horizon;
  size_t bytes = sizeof out->column;
  const ep_encoding_window *window = &encoding->window;
  snprintf(out->target, sizeof out->target, "%s", target);
  if (window->length > 0 && window->time >= 0)
    snprintf(out->time, sizeof out->time, "%s", encoding->column[window->time].name);
  if (window->length > 0 && window->group >= 0)
    snprintf(out->group, sizeof out->group, "%s", encoding->column[window->group].name);
  if (!ep_unit_form_parse(encoding->target_unit, out->unit_form, out->unit)) out->unit[0] = 0;
  if (encoding->window.length > 0 && out->copied)
    snprintf(out->column, bytes, "%s%spredicted_%lld_row%s_later", target, *target ? "_" : "",
             later, later == 1 ? "" : "s");
  else
    snprintf(out->column, bytes, "%s%s", target, *target ? "_predicted" : "prediction");
}

/* x: [objects, columns], written. */
static ep_status objects_read(const ep_encoding *encoding, const json_t *array, const char *member,
                              double *x, ep_warnings *warnings, ep_problem *problem) {
  ep_status status = EP_OK;
  for (size_t i = 0; i < json_array_size(array); i++) {
    char pointer[EP_POINTER_BYTES];
    snprintf(pointer, sizeof pointer, "/%s/%zu", member, i);
    ep_status one = ep_encoding_cells_read(encoding, json_array_get(array, i), pointer,
                                           x + (int64_t)i * encoding->columns, warnings, problem);
    if (one != EP_OK) status = one;
    if (problem->errors_count >= EP_LIMIT_PROBLEM_ERRORS) break;
  }
  return status;
}

/* Rows as a request has them: a list of objects, or a text. */
typedef struct {
  const ep_encoding *encoding;
  const ep_text_body *query; /* its dialect, of texts */
  int64_t steps;
  ep_warnings *warnings;
  ep_problem *problem;
} reading;

/* The first row to come may leave out what is not known of it: the target. */
static json_t *targets_add(const ep_encoding *encoding, const json_t *array) {
  json_t *rows = json_array();
  const json_t *object;
  size_t i;
  json_array_foreach(array, i, object) {
    json_t *row = json_copy((json_t *)object);
    if (json_is_object(row)) json_object_set_new(row, encoding->target, json_null());
    json_array_append_new(rows, row);
  }
  return rows;
}

/* member: "rows" or "future". *x: [*rows, columns], the caller's. */
static ep_status value_read(const reading *read, const json_t *value, const char *member,
                            double **x, int64_t *rows) {
  bool ahead = strcmp(member, "future") == 0;
  char pointer[16];
  if (json_is_string(value)) {
    const char *text = json_string_value(value);
    ep_text_body body = {.text = text,
                         .bytes = json_string_length(value),
                         .lines = text[strspn(text, " \t\r\n")] == '{',
                         .ahead = ahead,
                         .steps = read->steps,
                         .dialect = read->query->dialect};
    return ep_text_rows_read(read->encoding, &body, x, rows, read->warnings, read->problem);
  }
  size_t count = json_array_size(value);
  if (ahead && json_is_array(value) && count == 0) return EP_OK;
  snprintf(pointer, sizeof pointer, "/%s", member);
  if (count < 1 || count > EP_LIMIT_PREDICT_ROWS ||
      count * (size_t)read->encoding->columns > EP_LIMIT_PREDICT_BYTES / sizeof **x)
    return ep_problem_add(read->problem, EP_INVALID, pointer,
                          "must be an array of 1 to %d objects, or a text of such rows",
                          EP_LIMIT_PREDICT_ROWS);
  *rows = (int64_t)count;
  *x = malloc(count * (size_t)read->encoding->columns * sizeof **x);
  json_t *objects = ahead ? targets_add(read->encoding, value) : json_incref((json_t *)value);
  ep_status status = *x && objects ? objects_read(read->encoding, objects, member, *x,
                                                  read->warnings, read->problem)
                                   : ep_problem_fail_memory(read->problem);
  json_decref(objects);
  return status;
}

/* As the worker takes them. x: the rows, then `ahead` of those to come; it is taken. */
static ep_status rows_settle(const ep_encoding *encoding, double *x, int64_t rows, int64_t ahead,
                             int64_t steps, ep_prediction_rows *out, ep_problem *problem) {
  if (encoding->window.length == 0) {
    out->x = x;
    out->rows = rows;
    out->columns = encoding->columns;
    ep_encoding_range_warn(encoding, out->x, rows, &out->warnings);
    return EP_OK;
  }
  ep_given_rows given = {.x = x, .rows = rows, .ahead = ahead, .steps = steps};
  ep_series_rows *series = out->series = calloc(1, sizeof *out->series);
  ep_status status = series ? ep_series_rows_take(encoding, &given, series, &out->warnings, problem)
                            : ep_problem_fail_memory(problem);
  free(x);
  if (status != EP_OK) return status;
  out->x = series->x; /* goes the way of all others */
  series->x = NULL;
  out->rows = series->rows;
  out->columns = series->columns;
  out->windows = series->windows;
  out->forecast = steps > encoding->window.horizon;
  return EP_OK;
}

/* "steps" of a body, or of the query: 0 = not given. */
static ep_status steps_read(const ep_encoding *encoding, const json_t *body, int64_t query,
                            int64_t *out, ep_problem *problem) {
  const json_t *steps = json_object_get(body, "steps"), *future = json_object_get(body, "future");
  *out = query;
  if (!steps && !future && query == 0) return EP_OK;
  if (encoding->window.length == 0) return series_missing(body, problem);
  if (!steps && query > 0) return EP_OK;
  if (!steps) return ep_problem_add(problem, EP_INVALID, "/steps", "is required with \"future\"");
  if (!ep_json_integer(steps, out) || *out < 1 || *out > EP_LIMIT_PREDICT_STEPS)
    return ep_problem_add(problem, EP_INVALID, "/steps", "must be a whole number from 1 to %d",
                          EP_LIMIT_PREDICT_STEPS);
  if (query == 0 || query == *out) return EP_OK;
  return ep_problem_add(problem, EP_INVALID, "/steps",
                        "is another number than the %lld of ?steps=: give one of them",
                        (long long)query);
}

static ep_status body_take(const ep_encoding *encoding, const json_t *body,
                           const ep_text_body *query, ep_prediction_rows *out,
                           ep_problem *problem) {
  const json_t *future = json_object_get(body, "future");
  double *x = NULL, *behind = NULL;
  int64_t steps, rows = 0, ahead = 0;
  ep_status status = steps_read(encoding, body, query->steps, &steps, problem);
  const reading read = {encoding, query, steps, &out->warnings, problem};
  if (status == EP_OK) status = value_read(&read, json_object_get(body, "rows"), "rows", &x, &rows);
  if (status == EP_OK && future) status = value_read(&read, future, "future", &behind, &ahead);
  if (status == EP_OK && ahead > 0) {
    size_t row_bytes = (size_t)encoding->columns * sizeof *x;
    double *both = realloc(x, (size_t)(rows + ahead) * row_bytes);
    if (both) x = both;
    status = both ? EP_OK : ep_problem_fail_memory(problem);
    if (both) memcpy(x + rows * encoding->columns, behind, (size_t)ahead * row_bytes);
  }
  free(behind);
  if (status == EP_OK) return rows_settle(encoding, x, rows, ahead, steps, out, problem);
  free(x);
  return status;
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
  ep_word_set words = {0};
  *out = (ep_prediction_rows){.windows = 1};
  ep_status status = encoding_find(jobs, id, checkpoint, NULL, &words, &encoding, problem);
  if (status == EP_OK && encoding->window.length > 0)
    status = ep_problem_add(problem, EP_INVALID, "/rows",
                            "the model expects windows of a series: give \"x\", the cells of all "
                            "rows of a window in one array");
  if (status == EP_OK) {
    const ep_text_body nothing = {0};
    const reading read = {encoding, &nothing, 0, &out->warnings, problem};
    status = value_read(&read, objects, "rows", &out->x, &out->rows);
    out->columns = encoding->columns;
  }
  if (status == EP_OK) target_note(encoding, out);
  encoding_free(encoding, &words);
  return taken(status, out);
}

ep_status ep_jobs_text_read(ep_jobs *jobs, const char *id, int64_t checkpoint,
                            const ep_text_body *body, ep_prediction_rows *out,
                            ep_problem *problem) {
  ep_encoding *encoding = NULL;
  ep_word_set words = {0};
  double *x = NULL;
  int64_t rows = 0, steps;
  *out = (ep_prediction_rows){.windows = 1, .copied = body->copied};
  ep_status status = encoding_find(jobs, id, checkpoint, NULL, &words, &encoding, problem);
  if (status == EP_OK) status = steps_read(encoding, NULL, body->steps, &steps, problem);
  if (status == EP_OK)
    status = ep_text_rows_read(encoding, body, &x, &rows, &out->warnings, problem);
  if (status == EP_OK) status = rows_settle(encoding, x, rows, 0, steps, out, problem);
  if (status == EP_OK) target_note(encoding, out);
  encoding_free(encoding, &words);
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

ep_status ep_jobs_rows_read(ep_jobs *jobs, const char *id, int64_t checkpoint,
                            const ep_text_body *query, ep_prediction_rows *out,
                            ep_problem *problem) {
  json_t *body = NULL;
  ep_encoding *encoding = NULL;
  ep_word_set words = {0};
  ep_error error = {0};
  *out = (ep_prediction_rows){.windows = 1};
  ep_status status =
      ep_json_load(query->text, query->bytes, EP_LIMIT_NAMED_ROWS_BYTES, &body, &error);
  if (status != EP_OK) return ep_problem_from_error(problem, &error);
  ep_threshold threshold = {.kind = EP_THRESHOLD_NONE};
  status = members_check(body, problem);
  if (status == EP_OK)
    status = ep_predict_threshold_take(json_object_get(body, "threshold"), &threshold, problem);
  if (status == EP_OK)
    status = encoding_find(jobs, id, checkpoint, body, &words, &encoding, problem);
  if (status == EP_OK) status = body_take(encoding, body, query, out, problem);
  if (status == EP_OK) target_note(encoding, out);
  out->threshold = threshold;
  encoding_free(encoding, &words);
  json_decref(body);
  return taken(status, out);
}
