/* lists.c: arrays of numbers, for the fields that hold them. */
#include <math.h>
#include <stdlib.h>

#include "api/json/json.h"
#include "api/spec/tables.h"

/* Whether `value` is an array of at most `limit`; else adds an error. */
static bool list_check(ep_field_reader *reader, const json_t *value, size_t limit) {
  if (!json_is_array(value)) {
    ep_field_reader_fail(reader, "must be an array of numbers, not %s", ep_json_type_name(value));
    return false;
  }
  if (json_array_size(value) <= limit) return true;
  ep_field_reader_fail(reader, "must contain at most %zu numbers, not %zu", limit,
                       json_array_size(value));
  return false;
}

/* Reads item after item with the row's own range. item_bytes: of what `row` describes. */
static void *list_take(ep_field_reader *reader, const ep_field *row, const json_t *value,
                       size_t limit, size_t item_bytes, int *count) {
  *count = 0;
  if (!list_check(reader, value, limit) || json_array_size(value) == 0) return NULL;
  size_t items = json_array_size(value);
  char *list = calloc(items, item_bytes);
  if (!list) {
    ep_field_reader_fail_memory(reader);
    return NULL;
  }
  bool good = true;
  for (size_t i = 0; i < items; i++) {
    size_t place = ep_field_reader_enter_index(reader, i);
    good &= ep_field_number_read(reader, row, json_array_get(value, i), list + i * item_bytes);
    ep_field_reader_leave(reader, place);
    if (!good && reader->problem->errors_count >= EP_LIMIT_PROBLEM_ERRORS) break;
  }
  if (!good) {
    free(list);
    return NULL;
  }
  *count = (int)items;
  return list;
}

double *ep_reals_take(ep_field_reader *reader, const ep_field *row, const json_t *value,
                      size_t limit, int *count) {
  ep_field item = *row;
  item.kind = EP_FIELD_DOUBLE;
  return list_take(reader, &item, value, limit, sizeof(double), count);
}

int64_t *ep_integers_take(ep_field_reader *reader, const ep_field *row, const json_t *value,
                          size_t limit, int *count) {
  ep_field item = *row;
  item.kind = EP_FIELD_INT64;
  return list_take(reader, &item, value, limit, sizeof(int64_t), count);
}

void ep_reals_write(ep_writer *writer, const double *numbers, int count) {
  ep_writer_open(writer, '[');
  for (int i = 0; i < count; i++) ep_writer_number(writer, numbers[i]);
  ep_writer_close(writer, ']');
}

void ep_integers_write(ep_writer *writer, const int64_t *numbers, int count) {
  ep_writer_open(writer, '[');
  for (int i = 0; i < count; i++) ep_writer_integer(writer, numbers[i]);
  ep_writer_close(writer, ']');
}
