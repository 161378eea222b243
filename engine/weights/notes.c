#include "engine/weights/notes.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/json/json.h"
#include "api/json/memory.h"
#include "engine/data/columns/encoding_json.h"

/* Numbers as the text of a JSON array, "null" for NULL. NULL when memory is short or one is not
 * finite. Owned by the caller. */
static char *values_format(const double *values, int64_t count) {
  if (!values) return strdup("null");
  json_t *array = json_array();
  for (int64_t i = 0; array && i < count; i++) {
    if (json_array_append_new(array, json_real(values[i])) == 0) continue;
    json_decref(array);
    return NULL;
  }
  char *text = ep_json_write(array, JSON_COMPACT);
  json_decref(array);
  return text;
}

static char *floats_format(const float *values, int64_t count) {
  if (!values) return strdup("null");
  double *doubles = malloc((size_t)count * sizeof *doubles + 1);
  for (int64_t i = 0; doubles && i < count; i++) doubles[i] = (double)values[i];
  char *text = doubles ? values_format(doubles, count) : NULL;
  free(doubles);
  return text;
}

/* Back: *out is [count] and the caller's, NULL for "null" or no text at all. `positive`: a
 * deviation. */
static ep_status values_parse(const ep_tensors *file, const char *key, int64_t count, bool positive,
                              double **out, ep_error *error) {
  const char *text = ep_tensors_note(file, key);
  ep_status status = EP_OK;
  *out = NULL;
  if (!text || strcmp(text, "null") == 0) return EP_OK;
  json_error_t fault;
  status = ep_json_check(text, strlen(text), EP_LIMIT_HEADER_TREE_BYTES, error);
  if (status != EP_OK) return status;
  json_t *array = ep_json_read(text, strlen(text), 0, &fault);
  if (ep_json_memory_short()) return ep_fail_memory(error);
  if (!json_is_array(array) || json_array_size(array) != (size_t)count)
    status = ep_fail(error, EP_DATA, "weights: %s is not an array of %lld numbers", key,
                     (long long)count);
  if (status == EP_OK && !(*out = malloc((size_t)count * sizeof **out)))
    status = ep_fail_memory(error);
  for (int64_t i = 0; i < count && status == EP_OK; i++) {
    const json_t *number = json_array_get(array, (size_t)i);
    (*out)[i] = json_number_value(number);
    if (!json_is_number(number) || (positive && !((*out)[i] > 0)))
      status = ep_fail(error, EP_DATA, "weights: value %lld of %s is invalid", (long long)i, key);
  }
  json_decref(array);
  return status;
}

static char *window_format(const ep_encoding_window *window) {
  json_t *object = json_pack("{s:I, s:I, s:I}", "length", (json_int_t)window->length, "horizon",
                             (json_int_t)window->horizon, "target", (json_int_t)window->target);
  char *text = ep_json_write(object, JSON_COMPACT);
  json_decref(object);
  return text;
}

/* text: NULL where the rows stood alone. features: of all rows of the window. */
static ep_status window_parse(const char *text, ep_encoding *out, int64_t features,
                              ep_error *error) {
  json_int_t length, horizon, target;
  json_error_t fault;
  if (!text) return EP_OK;
  json_t *object = ep_json_read(text, strlen(text), 0, &fault);
  bool read = object && json_unpack(object, "{s:I, s:I, s:I}", "length", &length, "horizon",
                                    &horizon, "target", &target) == 0;
  json_decref(object);
  if (!read && ep_json_memory_short()) return ep_fail_memory(error);
  if (!read || length < 1 || length > features || horizon < 1 || horizon > EP_LIMIT_ROWS ||
      target < 0 || target >= out->columns)
    return ep_fail(error, EP_DATA, "weights: invalid metadata of windows");
  out->window = (ep_encoding_window){.length = length, .horizon = horizon, .target = target};
  return EP_OK;
}

/* What orders the rows of a series, as the job's spec has it. */
static ep_status order_parse(const char *spec, ep_encoding *out, ep_error *error) {
  json_error_t fault;
  bool small = spec && ep_json_check(spec, strlen(spec), EP_LIMIT_HEADER_TREE_BYTES, NULL) == EP_OK;
  json_t *root = small ? ep_json_read(spec, strlen(spec), 0, &fault) : NULL;
  if (small && !root && ep_json_memory_short()) return ep_fail_memory(error);
  const json_t *data = json_object_get(root, "data");
  const char *time = json_string_value(json_object_get(data, "time"));
  const char *group = json_string_value(json_object_get(json_object_get(data, "window"), "group"));
  ep_encoding_order_set(out, time ? time : "", group ? group : "");
  json_decref(root);
  return EP_OK;
}

static char *dialect_format(const ep_dialect *dialect) {
  json_t *object = ep_dialect_json(dialect);
  char *text = object ? ep_json_write(object, JSON_COMPACT) : NULL;
  json_decref(object);
  return text;
}

/* text: NULL where the rows came from no text. */
static ep_status dialect_parse(const char *text, ep_dialect *out, ep_error *error) {
  json_error_t fault;
  if (!text) return EP_OK;
  json_t *object = ep_json_read(text, strlen(text), 0, &fault);
  bool read = object && ep_dialect_parse(object, out);
  json_decref(object);
  if (!read && ep_json_memory_short()) return ep_fail_memory(error);
  return read ? EP_OK : ep_fail(error, EP_DATA, "weights: their dialect is invalid");
}

ep_status ep_weights_notes_encoding(const ep_tensors *file, int64_t features, ep_encoding **out,
                                    ep_error *error) {
  char sign[EP_UNIT_BYTES];
  const char *columns = ep_tensors_note(file, "columns"), *target = ep_tensors_note(file, "target");
  *out = NULL;
  if (!columns) return EP_OK;
  *out = calloc(1, sizeof **out);
  if (!*out) return ep_fail_memory(error);
  ep_status status = ep_encoding_parse(columns, ep_tensors_note(file, "classes"),
                                       target ? target : "", *out, error);
  const char *unit = ep_tensors_note(file, "target_unit");
  if (status == EP_OK && unit && !ep_unit_form_parse(unit, (*out)->target_unit, sign))
    (*out)->target_unit[0] = 0;
  if (status == EP_OK)
    status = window_parse(ep_tensors_note(file, "window"), *out, features, error);
  if (status == EP_OK && (*out)->window.length > 0)
    status = order_parse(ep_tensors_note(file, "spec"), *out, error);
  if (status == EP_OK)
    status = dialect_parse(ep_tensors_note(file, "dialect"), &(*out)->dialect, error);
  if (status == EP_OK && ep_encoding_inputs(*out) != features)
    status = ep_fail(error, EP_DATA, "weights: columns of %lld features, the model takes %lld",
                     (long long)ep_encoding_inputs(*out), (long long)features);
  if (status == EP_OK) return EP_OK;
  ep_encoding_deinit(*out);
  free(*out);
  *out = NULL;
  return status;
}

/* Of columns that are what a network takes: what forms say of them. */
static ep_status ranges_read(const ep_tensors *file, ep_encoding *out, ep_error *error) {
  const char *ranges = ep_tensors_note(file, "ranges");
  double *mean = NULL;
  ep_status status = ranges ? ep_ranges_parse(ranges, out, error) : EP_OK;
  if (status == EP_OK) status = values_parse(file, "x_mean", out->columns, false, &mean, error);
  for (int64_t i = 0; mean && status == EP_OK && i < out->columns; i++)
    out->column[i].range.typical = mean[i];
  free(mean);
  return status;
}

ep_status ep_weights_notes_names(const ep_tensors *file, ep_encoding **out, ep_error *error) {
  const char *names = ep_tensors_note(file, "names"), *target = ep_tensors_note(file, "target");
  ep_words words;
  *out = NULL;
  if (!names || !target) return EP_OK;
  ep_status status = ep_classes_parse(names, &words, error);
  if (status != EP_OK) return status;
  *out = calloc(1, sizeof **out);
  status = *out ? ep_encoding_plain(&words, target, *out, error) : ep_fail_memory(error);
  ep_words_deinit(&words);
  if (status == EP_OK)
    status = dialect_parse(ep_tensors_note(file, "dialect"), &(*out)->dialect, error);
  if (status == EP_OK) status = ep_weights_notes_classes(file, &(*out)->classes, error);
  if (status == EP_OK) status = ranges_read(file, *out, error);
  if (status == EP_OK) return EP_OK;
  if (*out) ep_encoding_deinit(*out);
  free(*out);
  *out = NULL;
  return status;
}

ep_status ep_weights_notes_classes(const ep_tensors *file, ep_words *out, ep_error *error) {
  const char *classes = ep_tensors_note(file, "classes");
  *out = (ep_words){0};
  return classes ? ep_classes_parse(classes, out, error) : EP_OK;
}

ep_status ep_weights_notes_scaling(const ep_tensors *file, int64_t x_columns, int64_t y_columns,
                                   ep_scaling *out, ep_error *error) {
  *out = (ep_scaling){.x_columns = x_columns, .y_columns = y_columns};
  ep_status status = values_parse(file, "x_mean", x_columns, false, &out->x_mean, error);
  if (status == EP_OK)
    status = values_parse(file, "x_deviation", x_columns, true, &out->x_deviation, error);
  if (status == EP_OK) status = values_parse(file, "y_mean", y_columns, false, &out->y_mean, error);
  if (status == EP_OK)
    status = values_parse(file, "y_deviation", y_columns, true, &out->y_deviation, error);
  if (status == EP_OK && (!out->x_mean != !out->x_deviation || !out->y_mean != !out->y_deviation))
    status = ep_fail(error, EP_DATA, "weights: a mean without its deviation");
  if (status == EP_OK) status = ep_weights_notes_encoding(file, x_columns, &out->encoding, error);
  if (status == EP_OK && !out->encoding)
    status = ep_weights_notes_classes(file, &out->classes, error);
  return status;
}

/* JSON has no infinity; what a plan asks of these bounds, zero answers as well. */
static double finite_value(double value) {
  return isfinite(value) ? value : 0;
}

static char *shape_format(const ep_data_shape *shape) {
  const ep_shape *row = &shape->row;
  json_t *object = json_pack(
      "{s:I, s:I, s:I, s:[I, I, I], s:b, s:b, s:b, s:b, s:I, s:I, s:I, s:I, s:I, s:f, s:f, s:f, "
      "s:f}",
      "train_rows", (json_int_t)shape->train_rows, "validation_rows",
      (json_int_t)shape->validation_rows, "test_rows", (json_int_t)shape->test_rows, "row",
      (json_int_t)row->channels, (json_int_t)row->height, (json_int_t)row->width, "bytes",
      shape->x_type == EP_X_UINT8, "x_integer", shape->x_integer, "x_deep", shape->x_deep,
      "one_hot", shape->one_hot, "features", (json_int_t)shape->features, "embedded_columns",
      (json_int_t)shape->embedded_columns, "embedded_rows", (json_int_t)shape->embedded_rows,
      "target_columns", (json_int_t)shape->target_columns, "classes", (json_int_t)shape->classes,
      "target_min", finite_value(shape->target_min), "target_max", finite_value(shape->target_max),
      "x_min", finite_value(shape->x_min), "x_max", finite_value(shape->x_max));
  char *text = ep_json_write(object, JSON_COMPACT);
  json_decref(object);
  return text;
}

static bool shape_parse(json_t *object, ep_data_shape *out) {
  json_int_t train, validation, test, row[3], features, targets, classes;
  json_int_t embedded_columns = 0, embedded_rows = 0;
  int bytes, whole, deep = 0, one_hot;
  *out = (ep_data_shape){0};
  if (json_unpack(object,
                  "{s:I, s:I, s:I, s:[I, I, I !], s:b, s:b, s?b, s:b, s:I, s?I, s?I, s:I, s:I, "
                  "s:F, s:F, s:F, "
                  "s:F}",
                  "train_rows", &train, "validation_rows", &validation, "test_rows", &test, "row",
                  &row[0], &row[1], &row[2], "bytes", &bytes, "x_integer", &whole, "x_deep", &deep,
                  "one_hot", &one_hot, "features", &features, "embedded_columns", &embedded_columns,
                  "embedded_rows", &embedded_rows, "target_columns", &targets, "classes", &classes,
                  "target_min", &out->target_min, "target_max", &out->target_max, "x_min",
                  &out->x_min, "x_max", &out->x_max) != 0)
    return false;
  out->train_rows = train;
  out->validation_rows = validation;
  out->test_rows = test;
  out->row = (ep_shape){row[0], row[1], row[2]};
  out->x_type = bytes ? EP_X_UINT8 : EP_X_FLOAT32;
  out->x_integer = whole;
  out->x_deep = deep;
  out->one_hot = one_hot;
  out->features = features;
  out->embedded_columns = embedded_columns;
  out->embedded_rows = embedded_rows;
  out->target_columns = targets;
  out->classes = classes;
  return true;
}

/* A row of nobody's vouching: small enough to multiply, and as long as it says. */
static bool row_possible(const ep_shape *row, int64_t features) {
  const int64_t most = EP_LIMIT_FEATURES;
  if (row->channels < 1 || row->height < 1 || row->width < 1) return false;
  return row->channels <= most && row->height <= most / row->channels &&
         row->width <= most / (row->channels * row->height) && features == ep_shape_count(*row);
}

static bool between(int64_t value, int64_t least, int64_t most) {
  return value >= least && value <= most;
}

static bool shape_possible(const ep_data_shape *shape) {
  return row_possible(&shape->row, shape->features) &&
         between(shape->train_rows, 1, EP_LIMIT_ROWS) &&
         between(shape->validation_rows, 0, EP_LIMIT_ROWS) &&
         between(shape->test_rows, 0, EP_LIMIT_ROWS) &&
         between(shape->embedded_columns, 0, shape->features) &&
         between(shape->embedded_rows, shape->embedded_columns, EP_LIMIT_ENCODING_BYTES) &&
         (shape->embedded_columns > 0 || shape->embedded_rows == 0) &&
         between(shape->target_columns, 1, EP_LIMIT_FEATURES) &&
         /* of whole numbers that are predicted: one above the greatest */
         between(shape->classes, 0, INT32_MAX);
}

ep_status ep_weights_notes_shape(const ep_tensors *file, ep_data_shape *out, ep_error *error) {
  const char *text = ep_tensors_note(file, "data");
  json_error_t fault;
  bool small = text && ep_json_check(text, strlen(text), EP_LIMIT_HEADER_TREE_BYTES, NULL) == EP_OK;
  json_t *object = small ? ep_json_read(text, strlen(text), 0, &fault) : NULL;
  bool read = object && shape_parse(object, out) && shape_possible(out);
  json_decref(object);
  if (read) return EP_OK;
  *out = (ep_data_shape){0};
  if (small && ep_json_memory_short()) return ep_fail_memory(error);
  return ep_fail(error, EP_DATA,
                 text ? "weights: invalid \"data\" in the metadata"
                      : "weights: the file does not describe its data");
}

/* Takes `text`; false when memory is short. */
static bool note_add(ep_tensors *out, const char *key, char *text) {
  ep_tensor_note *note = &out->note[out->notes_count++];
  note->key = strdup(key);
  note->text = text;
  return note->key && text;
}

static bool dialect_add(ep_tensors *out, const ep_dialect *dialect) {
  return dialect->set == 0 || note_add(out, "dialect", dialect_format(dialect));
}

/* What is said of columns, where they are encoded. */
static bool encoding_add(ep_tensors *out, const ep_encoding *encoding) {
  return !encoding || (note_add(out, "columns", ep_encoding_format(encoding)) &&
                       note_add(out, "target", strdup(encoding->target)) &&
                       (!encoding->target_unit[0] ||
                        note_add(out, "target_unit", strdup(encoding->target_unit))) &&
                       dialect_add(out, &encoding->dialect) &&
                       (encoding->window.length == 0 ||
                        note_add(out, "window", window_format(&encoding->window))));
}

/* And where they are not, but have names. */
static bool names_add(ep_tensors *out, const ep_scaling *scaling) {
  return scaling->names.count == 0 ||
         (note_add(out, "names", ep_classes_format(&scaling->names)) &&
          (!scaling->ranges ||
           note_add(out, "ranges", ep_ranges_format(scaling->ranges, scaling->names.count))) &&
          note_add(out, "target", strdup(scaling->target)) && dialect_add(out, &scaling->dialect));
}

static bool classes_add(ep_tensors *out, const ep_words *classes) {
  return !classes || note_add(out, "classes", ep_classes_format(classes));
}

enum { NOTES = 16 };

ep_status ep_weights_notes_list(const ep_plan *plan, const ep_scaling *scaling,
                                const char *spec_text, ep_tensors *out, ep_error *error) {
  const ep_program *program = &plan->program;
  out->note = calloc(NOTES, sizeof *out->note);
  if (out->note && note_add(out, "format", strdup("pt")) &&
      note_add(out, "epochd", strdup(EP_VERSION)) && note_add(out, "spec", strdup(spec_text)) &&
      note_add(out, "data", shape_format(&plan->shape)) &&
      note_add(out, "x_scale", floats_format(program->x_scale, program->stored.channels)) &&
      note_add(out, "x_shift", floats_format(program->x_shift, program->stored.channels)) &&
      note_add(out, "x_mean", values_format(scaling->x_mean, scaling->x_columns)) &&
      note_add(out, "x_deviation", values_format(scaling->x_deviation, scaling->x_columns)) &&
      note_add(out, "y_mean", values_format(scaling->y_mean, scaling->y_columns)) &&
      note_add(out, "y_deviation", values_format(scaling->y_deviation, scaling->y_columns)) &&
      encoding_add(out, scaling->encoding) && names_add(out, scaling) &&
      classes_add(out, ep_scaling_classes(scaling)))
    return EP_OK;
  return ep_fail_memory(error);
}
