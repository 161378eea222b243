/* data.c: fields of "data" that are no plain values. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json/json.h"
#include "api/spec/tables.h"

/* An index in decimal, as earlier versions stored it. */
static bool index_parse(const char *text, int64_t *index) {
  char *end;
  const char *digits = *text == '-' ? text + 1 : text;
  if (*digits < '0' || *digits > '9') return false;
  errno = 0;
  *index = strtoll(text, &end, 10);
  return errno == 0 && *end == 0;
}

void ep_target_read(ep_field_reader *reader, const ep_field *field, const json_t *value,
                    void *base) {
  (void)field;
  ep_data_spec *data = base;
  data->target_by = EP_TARGET_LAST;
  data->target[0] = 0;
  if (!value) return;
  if (json_is_string(value)) {
    size_t bytes = json_string_length(value);
    if (bytes == 0 || bytes > EP_LIMIT_NAME_BYTES) {
      ep_field_reader_fail(reader, "must be a column name of 1 to %d bytes", EP_LIMIT_NAME_BYTES);
      return;
    }
    memcpy(data->target, json_string_value(value), bytes + 1);
    bool either = reader->stored && index_parse(data->target, &data->target_index);
    data->target_by = either ? EP_TARGET_EITHER : EP_TARGET_NAME;
  } else if (ep_json_integer(value, &data->target_index) &&
             data->target_index >= -EP_LIMIT_COLUMNS && data->target_index < EP_LIMIT_COLUMNS) {
    data->target_by = EP_TARGET_INDEX;
  } else {
    ep_field_reader_fail(reader, "must be a column name or an index from -%d to %d",
                         EP_LIMIT_COLUMNS, EP_LIMIT_COLUMNS - 1);
  }
}

void ep_target_write(ep_writer *writer, const ep_field *field, const void *base) {
  (void)field;
  const ep_data_spec *data = base;
  if (data->target_by == EP_TARGET_INDEX)
    ep_writer_integer(writer, data->target_index);
  else
    ep_writer_string(writer, data->target_by == EP_TARGET_LAST ? NULL : data->target);
}

void ep_positive_read(ep_field_reader *reader, const ep_field *field, const json_t *value,
                      void *base) {
  (void)field;
  ep_data_spec *data = base;
  int64_t number;
  data->positive[0] = 0;
  if (!value) return;
  if (json_is_boolean(value))
    snprintf(data->positive, sizeof data->positive, json_is_true(value) ? "true" : "false");
  else if (ep_json_integer(value, &number))
    snprintf(data->positive, sizeof data->positive, "%lld", (long long)number);
  else if (json_is_string(value) && json_string_length(value) > 0 &&
           json_string_length(value) < sizeof data->positive)
    memcpy(data->positive, json_string_value(value), json_string_length(value) + 1);
  else
    ep_field_reader_fail(reader,
                         "must be a word of the target of 1 to %d bytes, a whole number or "
                         "a boolean",
                         EP_LIMIT_WORD_BYTES);
}

void ep_positive_write(ep_writer *writer, const ep_field *field, const void *base) {
  (void)field;
  const ep_data_spec *data = base;
  ep_writer_string(writer, data->positive[0] ? data->positive : NULL);
}

void ep_fold_read(ep_field_reader *reader, const ep_field *field, const json_t *value, void *base) {
  (void)field;
  ep_data_spec *data = base;
  const ep_field range = {.kind = EP_FIELD_INT64, .min = 0, .max = EP_LIMIT_FOLDS - 1};
  data->fold = -1;
  if (value) ep_field_number_read(reader, &range, value, &data->fold);
}

void ep_fold_write(ep_writer *writer, const ep_field *field, const void *base) {
  (void)field;
  const ep_data_spec *data = base;
  if (data->folds == 0)
    ep_writer_null(writer);
  else
    ep_writer_integer(writer, data->fold);
}

static bool is_given(const json_t *object, const char *key) {
  const json_t *value = json_object_get(object, key);
  return value && !json_is_null(value);
}

void ep_folds_check(ep_field_reader *reader, const json_t *object, const ep_data_spec *data) {
  size_t place = ep_field_reader_enter(reader, "fold");
  if (is_given(object, "fold") && !is_given(object, "folds"))
    ep_field_reader_fail(reader, "requires \"folds\", their number");
  else if (data->folds > 0 && !is_given(object, "fold"))
    ep_field_reader_fail(reader,
                         "is required with \"folds\": give the validation fold, from 0 to %lld",
                         (long long)data->folds - 1);
  else if (data->folds > 0 && data->fold >= data->folds)
    ep_field_reader_fail(reader, "must be below folds, %lld, not %lld", (long long)data->folds,
                         (long long)data->fold);
  ep_field_reader_leave(reader, place);
  if (data->folds == 0 || data->validation == 0) return;
  place = ep_field_reader_enter(reader, "validation");
  ep_field_reader_fail(reader, "\"folds\" already chooses the validation rows: leave this out");
  ep_field_reader_leave(reader, place);
}

void ep_standardize_read(ep_field_reader *reader, const ep_field *field, const json_t *value,
                         void *base) {
  (void)field;
  ep_data_spec *data = base;
  data->standardize_x = data->standardize_y = false;
  if (!value) return;
  if (!json_is_array(value)) {
    ep_field_reader_fail(reader, "must be an array of \"x\" and \"y\", not %s",
                         ep_json_type_name(value));
    return;
  }
  size_t index;
  json_t *item;
  json_array_foreach((json_t *)value, index, item) {
    const char *word = json_string_value(item);
    bool *flag = !word                    ? NULL
                 : strcmp(word, "x") == 0 ? &data->standardize_x
                 : strcmp(word, "y") == 0 ? &data->standardize_y
                                          : NULL;
    size_t place = ep_field_reader_enter_index(reader, index);
    if (!flag)
      ep_field_reader_fail(reader, "must be \"x\" or \"y\"");
    else if (*flag)
      ep_field_reader_fail(reader, "\"%s\" is given twice", word);
    else
      *flag = true;
    ep_field_reader_leave(reader, place);
    if (reader->status != EP_OK && index > EP_LIMIT_PROBLEM_ERRORS) return;
  }
}

void ep_standardize_write(ep_writer *writer, const ep_field *field, const void *base) {
  (void)field;
  const ep_data_spec *data = base;
  ep_writer_open(writer, '[');
  if (data->standardize_x) ep_writer_string(writer, "x");
  if (data->standardize_y) ep_writer_string(writer, "y");
  ep_writer_close(writer, ']');
}

void ep_shape_read(ep_field_reader *reader, const ep_field *field, const json_t *value,
                   void *base) {
  (void)field;
  ep_data_spec *data = base;
  if (!value) return;
  if (!json_is_array(value) || json_array_size(value) != 3) {
    ep_field_reader_fail(reader, "must be [channels, height, width]");
    return;
  }
  const ep_field side = {.kind = EP_FIELD_INT64, .min = 1, .max = EP_LIMIT_FEATURES};
  for (size_t i = 0; i < 3; i++) {
    size_t place = ep_field_reader_enter_index(reader, i);
    ep_field_number_read(reader, &side, json_array_get(value, i), &data->shape[i]);
    ep_field_reader_leave(reader, place);
  }
}

void ep_shape_write(ep_writer *writer, const ep_field *field, const void *base) {
  (void)field;
  const ep_data_spec *data = base;
  if (data->shape[0] == 0) {
    ep_writer_null(writer);
    return;
  }
  ep_integers_write(writer, data->shape, 3);
}

/* One number, or an array of one per channel: [*count], the caller's; NULL after adding an error.
 */
static double *channels_take(ep_field_reader *reader, const ep_field *range, const json_t *value,
                             double fallback, int *count) {
  double *figures = NULL;
  *count = 0;
  if (json_is_array(value)) {
    figures = ep_reals_take(reader, range, value, EP_LIMIT_FEATURES, count);
    if (json_array_size(value) == 0)
      ep_field_reader_fail(reader, "must contain at least one number");
    return figures;
  }
  figures = malloc(sizeof *figures);
  if (!figures) {
    ep_field_reader_fail_memory(reader);
    return NULL;
  }
  *figures = fallback;
  if (value && !ep_field_number_read(reader, range, value, figures)) {
    free(figures);
    return NULL;
  }
  *count = 1;
  return figures;
}

/* One figure for all becomes one a channel. False when memory is short. */
static bool channels_repeat(double **figures, int channels) {
  double *wide = realloc(*figures, (size_t)channels * sizeof *wide);
  if (!wide) return false;
  for (int i = 1; i < channels; i++) wide[i] = wide[0];
  *figures = wide;
  return true;
}

void ep_normalize_mean_read(ep_field_reader *reader, const ep_field *field, const json_t *value,
                            void *base) {
  (void)field;
  ep_data_spec *data = base;
  const ep_field range = {.kind = EP_FIELD_DOUBLE, .min = -EP_REAL_MAX, .max = EP_REAL_MAX};
  data->normalize = true;
  data->normalize_mean = channels_take(reader, &range, value, 0, &data->normalize_channels);
}

/* Comes after the mean: both end up with as many figures. */
void ep_normalize_std_read(ep_field_reader *reader, const ep_field *field, const json_t *value,
                           void *base) {
  (void)field;
  ep_data_spec *data = base;
  const ep_field range = {.kind = EP_FIELD_DOUBLE, .min = 0, .open_min = true, .max = EP_REAL_MAX};
  int count, means = data->normalize_channels;
  data->normalize_std = channels_take(reader, &range, value, 1, &count);
  if (!data->normalize_mean || !data->normalize_std || count == means) return;
  bool room = true;
  if (means == 1)
    room = channels_repeat(&data->normalize_mean, data->normalize_channels = count);
  else if (count == 1)
    room = channels_repeat(&data->normalize_std, means);
  else
    ep_field_reader_fail(reader, "has %d numbers, mean has %d", count, means);
  if (!room) ep_field_reader_fail_memory(reader);
}

static void channels_write(ep_writer *writer, const double *figures, int count) {
  if (count == 1)
    ep_writer_number(writer, figures[0]);
  else
    ep_reals_write(writer, figures, count);
}

void ep_normalize_mean_write(ep_writer *writer, const ep_field *field, const void *base) {
  (void)field;
  const ep_data_spec *data = base;
  channels_write(writer, data->normalize_mean, data->normalize_channels);
}

void ep_normalize_std_write(ep_writer *writer, const ep_field *field, const void *base) {
  (void)field;
  const ep_data_spec *data = base;
  channels_write(writer, data->normalize_std, data->normalize_channels);
}
