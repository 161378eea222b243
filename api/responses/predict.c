/* predict.c: rows to predict and predictions; read straight through, because a tree of numbers
 * costs many times their size. */
#include "api/responses/predict.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json/fields.h"
#include "api/json/json.h"
#include "api/json/scanner.h"
#include "api/json/writer.h"

bool ep_predict_has_rows(const char *text, size_t bytes) {
  ep_scanner scanner = {text, text + bytes};
  char key[8];
  ep_scan_mark(&scanner);
  if (!ep_scan_token(&scanner, '{') || ep_scan_token(&scanner, '}')) return false;
  do {
    if (!ep_scan_string(&scanner, key, sizeof key)) return false;
    if (strcmp(key, "rows") == 0) return true;
    if (strcmp(key, "x") == 0) return false; /* megabytes that would be read twice */
    if (!ep_scan_token(&scanner, ':') || !ep_scan_skip(&scanner)) return false;
  } while (ep_scan_token(&scanner, ','));
  return false;
}

/* The matrix as far as it is read. */
typedef struct {
  double *values; /* owned */
  size_t count, capacity;
  int64_t rows, columns;
} matrix;

/* How many values a frame to the worker can take, with room for its JSON. */
enum { VALUES_MAX = (EP_LIMIT_FRAME_BYTES - 4096) / (int)sizeof(double) };

enum { THRESHOLD_BYTES = 256 }; /* "fp:1,fn:5" with all digits of two numbers */

static ep_status fail_at(ep_problem *problem, int64_t row, int64_t column, const char *what) {
  char pointer[EP_POINTER_BYTES];
  if (column >= 0)
    snprintf(pointer, sizeof pointer, "/x/%lld/%lld", (long long)row, (long long)column);
  else
    snprintf(pointer, sizeof pointer, "/x/%lld", (long long)row);
  return ep_problem_add(problem, EP_INVALID, pointer, "%s", what);
}

static ep_status value_add(matrix *m, double value, ep_problem *problem) {
  if (m->count == VALUES_MAX)
    return ep_problem_set(problem, EP_TOO_LARGE, "more than %d values: predict fewer rows at once",
                          VALUES_MAX);
  if (m->count == m->capacity) {
    size_t capacity = m->capacity ? 2 * m->capacity : 256;
    double *values = realloc(m->values, capacity * sizeof *values);
    if (!values) return ep_problem_fail_memory(problem);
    m->values = values;
    m->capacity = capacity;
  }
  m->values[m->count++] = value;
  return EP_OK;
}

static ep_status malformed(ep_problem *problem, const ep_scanner *scanner, const char *text) {
  return ep_problem_set(problem, EP_MALFORMED, "not JSON: byte %zu",
                        (size_t)(scanner->at - text) + 1);
}

/* Anything that is well-formed but no number is the caller's fault, not the text's. */
static ep_status number_refuse(ep_scanner *scanner, const char *text, int64_t row, int64_t column,
                               ep_problem *problem) {
  if (!ep_scan_skip(scanner)) return malformed(problem, scanner, text);
  return fail_at(problem, row, column, "must be a number");
}

static ep_status row_scan(ep_scanner *scanner, const char *text, matrix *m, ep_problem *problem) {
  if (ep_scan_peek(scanner) != '[') {
    if (!ep_scan_skip(scanner)) return malformed(problem, scanner, text);
    return fail_at(problem, m->rows, -1, "must be an array of numbers");
  }
  ep_scan_token(scanner, '[');
  int64_t columns = 0;
  if (ep_scan_token(scanner, ']')) return fail_at(problem, m->rows, -1, "must have a value");
  do {
    double value;
    char next = ep_scan_peek(scanner);
    if (next != '-' && (next < '0' || next > '9'))
      return number_refuse(scanner, text, m->rows, columns, problem);
    if (!ep_scan_number(scanner, &value)) return malformed(problem, scanner, text);
    if (!isfinite(value)) return fail_at(problem, m->rows, columns, "is too large");
    ep_status status = value_add(m, value, problem);
    if (status != EP_OK) return status;
    columns++;
  } while (ep_scan_token(scanner, ','));
  if (!ep_scan_token(scanner, ']')) return malformed(problem, scanner, text);
  if (m->rows == 0) m->columns = columns;
  if (columns != m->columns)
    return fail_at(problem, m->rows, -1, "must have as many values as the first row");
  m->rows++;
  return EP_OK;
}

static ep_status rows_scan(ep_scanner *scanner, const char *text, matrix *m, ep_problem *problem) {
  if (ep_scan_peek(scanner) != '[') {
    if (!ep_scan_skip(scanner)) return malformed(problem, scanner, text);
    return ep_problem_add(problem, EP_INVALID, "/x", "must be an array of rows");
  }
  ep_scan_token(scanner, '[');
  if (ep_scan_token(scanner, ']'))
    return ep_problem_add(problem, EP_INVALID, "/x", "must have at least one row");
  do {
    if (m->rows == EP_LIMIT_PREDICT_ROWS)
      return ep_problem_set(problem, EP_TOO_LARGE, "more than %d rows", EP_LIMIT_PREDICT_ROWS);
    ep_status status = row_scan(scanner, text, m, problem);
    if (status != EP_OK) return status;
  } while (ep_scan_token(scanner, ','));
  return ep_scan_token(scanner, ']') ? EP_OK : malformed(problem, scanner, text);
}

ep_status ep_predict_threshold_take(const json_t *value, ep_threshold *out, ep_problem *problem) {
  ep_error error = {0};
  if (ep_threshold_take(value, out, &error) == EP_OK) return EP_OK;
  return ep_problem_add(problem, EP_INVALID, "/threshold", "%s", error.message);
}

static ep_status threshold_scan(ep_scanner *scanner, const char *text, ep_threshold *out,
                                ep_problem *problem) {
  json_t *value = NULL;
  ep_error error = {0};
  if (out->kind != EP_THRESHOLD_NONE)
    return ep_problem_set(problem, EP_MALFORMED, "\"threshold\" is given twice");
  ep_scan_peek(scanner);
  const char *start = scanner->at;
  if (!ep_scan_skip(scanner)) return malformed(problem, scanner, text);
  if (ep_json_load(start, (size_t)(scanner->at - start), THRESHOLD_BYTES, &value, &error) != EP_OK)
    return ep_problem_add(problem, EP_INVALID, "/threshold", "%s", error.message);
  ep_status status = ep_predict_threshold_take(value, out, problem);
  json_decref(value);
  return status;
}

/* The value of a member. found: "x" was there; written. */
static ep_status member_scan(ep_scanner *scanner, const char *text, const char *key, bool *found,
                             matrix *m, ep_threshold *threshold, ep_problem *problem) {
  if (strcmp(key, "threshold") == 0) return threshold_scan(scanner, text, threshold, problem);
  if (strcmp(key, "x") != 0) {
    if (!ep_scan_skip(scanner)) return malformed(problem, scanner, text);
    ep_field_reader reader = {.problem = problem};
    ep_field_reader_enter(&reader, key);
    ep_field_reader_fail(&reader, "unknown field \"%s\": only \"x\" and \"threshold\" are known",
                         key);
    return reader.status;
  }
  if (*found) return ep_problem_set(problem, EP_MALFORMED, "\"x\" is given twice");
  *found = true;
  return rows_scan(scanner, text, m, problem);
}

static ep_status object_scan(ep_scanner *scanner, const char *text, matrix *m,
                             ep_threshold *threshold, ep_problem *problem) {
  char key[32];
  bool found = false;
  if (ep_scan_peek(scanner) != '{') {
    if (!ep_scan_skip(scanner)) return malformed(problem, scanner, text);
    return ep_problem_add(problem, EP_INVALID, "", "must be an object {\"x\": [[…], …]}");
  }
  ep_scan_token(scanner, '{');
  if (!ep_scan_token(scanner, '}')) {
    do {
      if (!ep_scan_string(scanner, key, sizeof key) || !ep_scan_token(scanner, ':'))
        return malformed(problem, scanner, text);
      ep_status status = member_scan(scanner, text, key, &found, m, threshold, problem);
      if (status != EP_OK) return status;
    } while (ep_scan_token(scanner, ','));
    if (!ep_scan_token(scanner, '}')) return malformed(problem, scanner, text);
  }
  ep_scan_peek(scanner);
  if (scanner->at != scanner->end) return malformed(problem, scanner, text);
  if (!found)
    return ep_problem_add(problem, EP_INVALID, "/x",
                          "\"x\" is required, rows of numbers; or \"rows\", objects of cells by "
                          "the names of columns");
  return EP_OK;
}

ep_status ep_predict_parse(const char *text, size_t bytes, double **x, int64_t *rows,
                           int64_t *columns, ep_threshold *threshold, ep_problem *problem) {
  *x = NULL;
  *rows = *columns = 0;
  *threshold = (ep_threshold){.kind = EP_THRESHOLD_NONE};
  if (bytes > EP_LIMIT_PREDICT_BYTES)
    return ep_problem_set(problem, EP_TOO_LARGE, "%zu bytes: the limit is %d", bytes,
                          EP_LIMIT_PREDICT_BYTES);
  ep_scanner scanner = {text, text + bytes};
  matrix m = {0};
  ep_scan_mark(&scanner);
  ep_status status = object_scan(&scanner, text, &m, threshold, problem);
  if (status != EP_OK) {
    free(m.values);
    return status;
  }
  *x = m.values;
  *rows = m.rows;
  *columns = m.columns;
  return EP_OK;
}
