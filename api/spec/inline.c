/* inline.c: rows that stand in the job itself. */
#include <stdlib.h>
#include <string.h>

#include "api/json/json.h"
#include "api/spec/tables.h"

/* Columns of a matrix [[…], …], or of a vector […] where `vector` allows one; 0 after an error. */
static size_t matrix_columns(ep_field_reader *reader, const json_t *rows, bool vector) {
  if (!json_is_array(rows)) {
    ep_field_reader_fail(reader, "must be an array of rows, not %s", ep_json_type_name(rows));
    return 0;
  }
  if (json_array_size(rows) == 0) {
    ep_field_reader_fail(reader, "must have at least one row");
    return 0;
  }
  const json_t *first = json_array_get(rows, 0);
  if (vector && !json_is_array(first)) return 1;
  if (json_is_array(first) && json_array_size(first) > 0) return json_array_size(first);
  size_t place = ep_field_reader_enter_index(reader, 0);
  if (json_is_array(first))
    ep_field_reader_fail(reader, "must have at least one column");
  else
    ep_field_reader_fail(reader, "must be an array of numbers, not %s", ep_json_type_name(first));
  ep_field_reader_leave(reader, place);
  return 0;
}

static bool number_take(ep_field_reader *reader, const json_t *value, double *out) {
  if (json_is_number(value)) {
    *out = json_number_value(value);
    return true;
  }
  ep_field_reader_fail(reader, "must be a number, not %s", ep_json_type_name(value));
  return false;
}

/* One row of `columns` numbers at `out`. */
static bool row_take(ep_field_reader *reader, const json_t *row, size_t columns, double *out) {
  if (!json_is_array(row)) {
    ep_field_reader_fail(reader, "must be an array of numbers, not %s", ep_json_type_name(row));
    return false;
  }
  if (json_array_size(row) != columns) {
    ep_field_reader_fail(reader, "has %zu values, the first row has %zu", json_array_size(row),
                         columns);
    return false;
  }
  for (size_t j = 0; j < columns; j++) {
    size_t place = ep_field_reader_enter_index(reader, j);
    bool good = number_take(reader, json_array_get(row, j), &out[j]);
    ep_field_reader_leave(reader, place);
    if (!good) return false;
  }
  return true;
}

/* A whole matrix, [*rows, *columns], the caller's; NULL after adding an error. */
static double *matrix_take(ep_field_reader *reader, const json_t *value, bool vector, int64_t *rows,
                           int64_t *columns) {
  size_t width = matrix_columns(reader, value, vector);
  if (width == 0) return NULL;
  size_t height = json_array_size(value), values, bytes;
  if (__builtin_mul_overflow(height, width, &values) || values > EP_LIMIT_INLINE_VALUES ||
      __builtin_mul_overflow(values, sizeof(double), &bytes)) {
    ep_field_reader_fail(
        reader,
        "%zu rows of %zu values: inline data can have at most %d values; upload a dataset instead",
        height, width, EP_LIMIT_INLINE_VALUES);
    return NULL;
  }
  double *matrix = malloc(bytes);
  if (!matrix) {
    ep_field_reader_fail_memory(reader);
    return NULL;
  }
  bool flat = !json_is_array(json_array_get(value, 0));
  bool good = true;
  for (size_t i = 0; i < height; i++) {
    size_t place = ep_field_reader_enter_index(reader, i);
    const json_t *row = json_array_get(value, i);
    if (flat)
      good &= number_take(reader, row, &matrix[i]);
    else
      good &= row_take(reader, row, width, &matrix[i * width]);
    ep_field_reader_leave(reader, place);
    if (!good && reader->problem->errors_count >= EP_LIMIT_PROBLEM_ERRORS) break;
  }
  if (!good) {
    free(matrix);
    return NULL;
  }
  *rows = (int64_t)height;
  *columns = (int64_t)width;
  return matrix;
}

static void inline_x_read(ep_field_reader *reader, const ep_field *field, const json_t *value,
                          void *base) {
  (void)field;
  ep_data_spec *data = base;
  data->inline_x = matrix_take(reader, value, false, &data->inline_rows, &data->inline_columns);
}

static void inline_y_read(ep_field_reader *reader, const ep_field *field, const json_t *value,
                          void *base) {
  (void)field;
  ep_data_spec *data = base;
  int64_t rows = 0;
  data->inline_y = matrix_take(reader, value, true, &rows, &data->inline_targets);
  if (data->inline_x && data->inline_y && rows != data->inline_rows)
    ep_field_reader_fail(reader, "has %lld rows, x has %lld", (long long)rows,
                         (long long)data->inline_rows);
}

static void matrix_write(ep_writer *writer, const double *values, int64_t rows, int64_t columns) {
  ep_writer_open(writer, '[');
  for (int64_t i = 0; i < rows; i++) {
    ep_writer_open(writer, '[');
    for (int64_t j = 0; j < columns; j++) ep_writer_number(writer, values[i * columns + j]);
    ep_writer_close(writer, ']');
  }
  ep_writer_close(writer, ']');
}

static void inline_x_write(ep_writer *writer, const ep_field *field, const void *base) {
  (void)field;
  const ep_data_spec *data = base;
  matrix_write(writer, data->inline_x, data->inline_rows, data->inline_columns);
}

static void inline_y_write(ep_writer *writer, const ep_field *field, const void *base) {
  (void)field;
  const ep_data_spec *data = base;
  matrix_write(writer, data->inline_y, data->inline_rows, data->inline_targets);
}

static const ep_field rows[] = {
    {.key = "x",
     .kind = EP_FIELD_CUSTOM,
     .required = true,
     .read = inline_x_read,
     .write = inline_x_write,
     .form = "an array of rows",
     .doc = "one array of numbers per row",
     .schema = EP_JSON({
       "type" : "array",
       "items" : {"type" : "array", "items" : {"type" : "number"}, "minItems" : 1},
       "minItems" : 1
     })},
    {.key = "y",
     .kind = EP_FIELD_CUSTOM,
     .required = true,
     .read = inline_y_read,
     .write = inline_y_write,
     .form = "an array of rows or numbers",
     .doc = "one number or array of numbers per row",
     .schema = EP_JSON({
       "type" : "array",
       "items" : {
         "oneOf" : [
           {"type" : "number"}, {"type" : "array", "items" : {"type" : "number"}, "minItems" : 1}
         ]
       },
       "minItems" : 1
     })},
};
const ep_field_table ep_inline_table = EP_FIELD_TABLE(rows, NULL);
