/* Rows to predict as objects of cells by their columns, as the job's table had them. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/json/json.h"
#include "engine/data/columns/named_row.h"
#include "server/jobs/checkpoints.h"

/* How the job's columns became features; EP_CONFLICT where it had none with names. */
static ep_status encoding_find(ep_jobs *jobs, const char *id, int64_t checkpoint, ep_encoding **out,
                               ep_error *error) {
  char path[EP_PATH_BYTES];
  *out = NULL;
  ep_status status = ep_jobs_weights_path(jobs, id, checkpoint, path, error);
  if (status == EP_OK) status = ep_weights_read_encoding(path, out, error);
  if (status != EP_OK || *out) return status;
  return ep_fail_at(error, EP_CONFLICT, "/rows",
                    "the job trained on plain numbers, whose columns it does not know by name: "
                    "give \"x\", rows of numbers in the order of the columns");
}

static ep_status rows_read(const ep_encoding *encoding, const json_t *array, double *x,
                           ep_problem *problem) {
  ep_status status = EP_OK;
  for (size_t i = 0; i < json_array_size(array); i++) {
    char pointer[EP_POINTER_BYTES];
    snprintf(pointer, sizeof pointer, "/rows/%zu", i);
    ep_status one = ep_encoding_cells_read(encoding, json_array_get(array, i), pointer,
                                           x + (int64_t)i * encoding->columns, problem);
    if (one != EP_OK) status = one;
    if (problem->errors_count >= EP_LIMIT_PROBLEM_ERRORS) break;
  }
  return status;
}

static ep_status array_read(const ep_encoding *encoding, const json_t *array, double **x,
                            ep_problem *problem) {
  size_t rows = json_array_size(array);
  if (rows < 1 || rows > EP_LIMIT_PREDICT_ROWS ||
      rows * (size_t)encoding->columns > EP_LIMIT_PREDICT_BYTES / sizeof **x)
    return ep_problem_add(problem, EP_INVALID, "/rows", "must be an array of 1 to %d objects",
                          EP_LIMIT_PREDICT_ROWS);
  *x = malloc(rows * (size_t)encoding->columns * sizeof **x);
  return *x ? rows_read(encoding, array, *x, problem) : ep_problem_fail_memory(problem);
}

ep_status ep_jobs_rows_take(ep_jobs *jobs, const char *id, int64_t checkpoint,
                            const struct json_t *objects, double **x, int64_t *rows,
                            int64_t *columns, ep_problem *problem) {
  ep_encoding *encoding = NULL;
  ep_error error = {0};
  *x = NULL;
  ep_status status = encoding_find(jobs, id, checkpoint, &encoding, &error);
  if (status != EP_OK)
    status = error.pointer[0] ? ep_problem_add(problem, status, error.pointer, "%s", error.message)
                              : ep_problem_set(problem, status, "%s", error.message);
  if (status == EP_OK) {
    status = array_read(encoding, objects, x, problem);
    *rows = (int64_t)json_array_size(objects);
    *columns = encoding->columns;
  }
  if (encoding) ep_encoding_deinit(encoding);
  free(encoding);
  if (status == EP_OK) return EP_OK;
  free(*x);
  *x = NULL;
  return status;
}

ep_status ep_jobs_rows_read(ep_jobs *jobs, const char *id, int64_t checkpoint, const char *text,
                            size_t bytes, double **x, int64_t *rows, int64_t *columns,
                            ep_problem *problem) {
  json_t *body = NULL;
  ep_error error = {0};
  *x = NULL;
  ep_status status = ep_json_load(text, bytes, EP_LIMIT_NAMED_ROWS_BYTES, &body, &error);
  if (status != EP_OK) return ep_problem_from_error(problem, &error);
  status = json_object_size(body) > 1
               ? ep_problem_add(problem, EP_INVALID, "", "\"rows\" stand alone")
               : ep_jobs_rows_take(jobs, id, checkpoint, json_object_get(body, "rows"), x, rows,
                                   columns, problem);
  json_decref(body);
  return status;
}
