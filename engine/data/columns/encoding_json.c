#include "engine/data/columns/encoding_json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/json/json.h"
#include "api/json/memory.h"
#include "api/json/writer.h"

enum { TEXT_LIMIT = 256 << 20 }; /* of columns with all their words */

static const char *const encode_names[] = {
    [EP_ENCODE_NONE] = "none",       [EP_ENCODE_NUMBER] = "number",
    [EP_ENCODE_ONE_HOT] = "one_hot", [EP_ENCODE_EMBEDDING] = "embedding",
    [EP_ENCODE_ORDINAL] = "ordinal", [EP_ENCODE_HASH] = "hash",
    [EP_ENCODE_DATE] = "date"};
enum { ENCODES = sizeof encode_names / sizeof encode_names[0] };
static const struct {
  const char *name;
  int bit;
} date_parts[] = {{"year", EP_DATE_YEAR},
                  {"month", EP_DATE_MONTH},
                  {"day", EP_DATE_DAY},
                  {"weekday", EP_DATE_WEEKDAY},
                  {"hour", EP_DATE_HOUR}};
enum { DATE_PARTS = sizeof date_parts / sizeof date_parts[0] };

static void words_write(ep_writer *writer, const ep_words *words) {
  ep_writer_open(writer, '[');
  for (int64_t i = 0; i < words->count; i++) ep_writer_string(writer, words->word[i]);
  ep_writer_close(writer, ']');
}

static void category_write(ep_writer *writer, const ep_column_encoding *column) {
  ep_writer_key(writer, "words");
  words_write(writer, &column->words);
  if (column->compare == EP_WORD_CODE) ep_writer_member_boolean(writer, "codes", true);
  if (column->compare == EP_WORD_BOOLEAN) ep_writer_member_boolean(writer, "boolean", true);
  if (column->encode == EP_ENCODE_HASH)
    ep_writer_member_integer(writer, "buckets", column->buckets);
  if (column->unknown_fails)
    ep_writer_member_string(writer, "unknown", ep_unknown_word_name(EP_UNKNOWN_WORD_ERROR));
  ep_writer_member_open(writer, "untrained", '[');
  for (int64_t i = 0; i < column->words.count; i++)
    if (!column->trained[i]) ep_writer_integer(writer, i);
  ep_writer_close(writer, ']');
}

static void date_write(ep_writer *writer, const ep_column_encoding *column) {
  ep_writer_member_open(writer, "parts", '[');
  for (int i = 0; i < DATE_PARTS; i++)
    if (column->date_parts & date_parts[i].bit) ep_writer_string(writer, date_parts[i].name);
  ep_writer_close(writer, ']');
}

static void range_write(ep_writer *writer, const ep_column_range *range) {
  ep_writer_member_number(writer, "min", range->min);
  ep_writer_member_number(writer, "max", range->max);
  if (range->integer) ep_writer_member_boolean(writer, "integer", true);
}

static void column_write(ep_writer *writer, const ep_column_encoding *column) {
  ep_writer_open(writer, '{');
  ep_writer_member_string(writer, "name", column->name);
  ep_writer_member_string(writer, "type", ep_column_type_name(column->type));
  if (column->form != EP_CELL_NUMBER)
    ep_writer_member_string(writer, "form", ep_cell_kind_name(column->form));
  if (column->unit[0]) ep_writer_member_string(writer, "unit", column->unit);
  ep_writer_member_string(writer, "encode", encode_names[column->encode]);
  if (ep_column_is_category(column)) category_write(writer, column);
  if (column->encode == EP_ENCODE_DATE) date_write(writer, column);
  if (!ep_column_is_category(column) && column->words.count > 0) {
    ep_writer_key(writer, "missing_words");
    words_write(writer, &column->words);
  }
  if (column->encode != EP_ENCODE_NONE) {
    ep_writer_member_string(writer, "scaling", ep_column_scale_name((int)column->scaling));
    ep_writer_member_number_or_null(writer, "fill", column->fill);
    ep_writer_member_number(writer, "shift", column->shift);
    ep_writer_member_number(writer, "scale", column->scale);
    if (column->ranged) {
      ep_writer_member_number(writer, "least", column->least);
      ep_writer_member_number(writer, "greatest", column->greatest);
    }
    ep_writer_member_boolean(writer, "indicator", column->indicator);
    if (column->required) ep_writer_member_boolean(writer, "required", true);
    if (!ep_column_is_category(column) && isfinite(column->range.min))
      range_write(writer, &column->range);
  }
  ep_writer_close(writer, '}');
}

char *ep_encoding_format(const ep_encoding *encoding) {
  ep_writer writer;
  ep_writer_init(&writer, TEXT_LIMIT);
  ep_writer_open(&writer, '[');
  for (int64_t i = 0; i < encoding->columns; i++) column_write(&writer, &encoding->column[i]);
  ep_writer_close(&writer, ']');
  return ep_writer_take(&writer);
}

char *ep_ranges_format(const ep_column_range *ranges, int64_t count) {
  ep_writer writer;
  ep_writer_init(&writer, TEXT_LIMIT);
  ep_writer_open(&writer, '[');
  for (int64_t i = 0; i < count; i++) {
    ep_writer_open(&writer, '{');
    range_write(&writer, &ranges[i]);
    ep_writer_close(&writer, '}');
  }
  ep_writer_close(&writer, ']');
  return ep_writer_take(&writer);
}

char *ep_classes_format(const ep_words *classes) {
  ep_writer writer;
  ep_writer_init(&writer, TEXT_LIMIT);
  words_write(&writer, classes);
  return ep_writer_take(&writer);
}

/* What was read wrong: a text that cannot be, or too little memory. */
typedef enum { READ, IMPOSSIBLE, NO_MEMORY } reading;

static reading words_read(const json_t *array, size_t most, ep_words *out) {
  size_t count = json_array_size(array);
  if (!json_is_array(array) || count > most) return IMPOSSIBLE;
  if (!ep_words_init(out, (int64_t)count)) return NO_MEMORY;
  for (size_t i = 0; i < count; i++) {
    const json_t *word = json_array_get(array, i);
    if (!json_is_string(word)) return IMPOSSIBLE;
    out->word[i] = strdup(json_string_value(word));
    if (!out->word[i]) return NO_MEMORY;
  }
  return READ;
}

static reading words_index(ep_column_encoding *column) {
  switch (ep_column_words_index(column, NULL)) {
  case EP_OK: return READ;
  case EP_DATA: return IMPOSSIBLE;
  default: return NO_MEMORY;
  }
}

static reading category_read(const json_t *object, ep_column_encoding *out) {
  size_t most = out->encode == EP_ENCODE_ONE_HOT ? EP_LIMIT_ONE_HOT : EP_LIMIT_CATEGORIES;
  const json_t *untrained = json_object_get(object, "untrained");
  reading read = words_read(json_object_get(object, "words"), most, &out->words);
  if (read != READ) return read;
  if (json_is_true(json_object_get(object, "codes"))) out->compare = EP_WORD_CODE;
  if (json_is_true(json_object_get(object, "boolean"))) out->compare = EP_WORD_BOOLEAN;
  read = words_index(out);
  if (read != READ) return read;
  if (out->encode == EP_ENCODE_HASH &&
      (!ep_json_integer(json_object_get(object, "buckets"), &out->buckets) || out->buckets < 1 ||
       out->buckets > EP_LIMIT_HASH_BUCKETS))
    return IMPOSSIBLE;
  const char *unknown = json_string_value(json_object_get(object, "unknown"));
  out->unknown_fails = unknown && ep_unknown_word_from_name(unknown) == EP_UNKNOWN_WORD_ERROR;
  out->trained = calloc((size_t)out->words.count + 1, sizeof *out->trained);
  if (!out->trained) return NO_MEMORY;
  for (int64_t i = 0; i < out->words.count; i++) out->trained[i] = true;
  for (size_t i = 0; i < json_array_size(untrained); i++) {
    int64_t word;
    if (!ep_json_integer(json_array_get(untrained, i), &word) || word < 0 ||
        word >= out->words.count)
      return IMPOSSIBLE;
    out->trained[word] = false;
  }
  return READ;
}

static reading date_read(const json_t *object, ep_column_encoding *out) {
  const json_t *parts = json_object_get(object, "parts");
  for (size_t i = 0; i < json_array_size(parts); i++) {
    const char *name = json_string_value(json_array_get(parts, i));
    int part = 0;
    while (part < DATE_PARTS && (!name || strcmp(name, date_parts[part].name) != 0)) part++;
    if (part == DATE_PARTS) return IMPOSSIBLE;
    out->date_parts |= date_parts[part].bit;
  }
  return out->date_parts ? READ : IMPOSSIBLE;
}

static bool figures_read(const json_t *object, ep_column_encoding *out) {
  char scaling[16];
  bool filled = !ep_column_is_category(out) || out->encode == EP_ENCODE_ORDINAL;
  if (!ep_json_get_text(object, "scaling", scaling, sizeof scaling) ||
      ep_column_scale_from_name(scaling) < 0 || !ep_json_get_number(object, "fill", &out->fill) ||
      !ep_json_get_number(object, "shift", &out->shift) ||
      !ep_json_get_number(object, "scale", &out->scale))
    return false;
  out->scaling = (ep_column_scale)ep_column_scale_from_name(scaling);
  out->indicator = json_is_true(json_object_get(object, "indicator"));
  out->required = json_is_true(json_object_get(object, "required"));
  out->ranged = ep_json_get_number(object, "least", &out->least) && /* older ones have none */
                ep_json_get_number(object, "greatest", &out->greatest);
  return (!filled || isfinite(out->fill)) && !isinf(out->fill) && isfinite(out->shift) &&
         isfinite(out->scale) && out->scale > 0;
}

static void range_read(const json_t *object, ep_column_range *out) {
  *out = (ep_column_range){.min = NAN, .max = NAN, .typical = NAN};
  if (!ep_json_get_number(object, "min", &out->min) ||
      !ep_json_get_number(object, "max", &out->max) || !isfinite(out->min) || !isfinite(out->max))
    out->min = out->max = NAN;
  out->integer = json_is_true(json_object_get(object, "integer"));
}

static reading column_read(const json_t *object, ep_column_encoding *out) {
  char type[16], encode[16], form[32];
  int found = 0, written = EP_CELL_NUMBER;
  if (!ep_json_get_text(object, "name", out->name, sizeof out->name) ||
      !ep_json_get_text(object, "type", type, sizeof type) ||
      !ep_json_get_text(object, "encode", encode, sizeof encode) ||
      ep_column_type_from_name(type) < 0)
    return IMPOSSIBLE;
  if (ep_json_get_text(object, "form", form, sizeof form)) written = ep_cell_kind_from_name(form);
  if (ep_json_get_text(object, "unit", out->unit, sizeof out->unit) && !ep_unit_is_one(out->unit))
    return IMPOSSIBLE;
  if (written < 0) return IMPOSSIBLE;
  out->form = (ep_cell_kind)written;
  while (found < ENCODES && strcmp(encode, encode_names[found]) != 0) found++;
  if (found == ENCODES) return IMPOSSIBLE;
  out->type = (ep_column_type)ep_column_type_from_name(type);
  out->encode = (ep_encode)found;
  out->scale = 1;
  range_read(object, &out->range);
  if (out->encode == EP_ENCODE_NONE) return READ;
  if (!figures_read(object, out)) return IMPOSSIBLE;
  if (ep_column_is_category(out)) return category_read(object, out);
  const json_t *missing = json_object_get(object, "missing_words");
  reading read = missing ? words_read(missing, EP_LIMIT_CATEGORIES, &out->words) : READ;
  if (missing && read == READ) read = words_index(out);
  return read == READ && out->encode == EP_ENCODE_DATE ? date_read(object, out) : read;
}

static reading columns_read(const json_t *array, ep_encoding *out) {
  size_t count = json_array_size(array);
  reading read = READ;
  if (!json_is_array(array) || count < 1 || count > EP_LIMIT_COLUMNS) return IMPOSSIBLE;
  out->column = calloc(count, sizeof *out->column);
  if (!out->column) return NO_MEMORY;
  for (size_t i = 0; i < count && read == READ; i++) {
    read = column_read(json_array_get(array, i), &out->column[out->columns++]);
  }
  ep_encoding_place(out);
  if (ep_encoding_names_order(out) != EP_OK) return NO_MEMORY;
  return read == READ && (out->features < 1 || out->features > EP_LIMIT_FEATURES) ? IMPOSSIBLE
                                                                                  : read;
}

/* Reads one text with `columns_read`, or with words_read where `classes` is not NULL. */
static reading text_read(const char *text, ep_words *classes, ep_encoding *out) {
  json_error_t fault;
  if (ep_json_check(text, strlen(text), EP_LIMIT_HEADER_TREE_BYTES, NULL) != EP_OK)
    return IMPOSSIBLE;
  json_t *root = ep_json_read(text, strlen(text), 0, &fault);
  reading read = classes ? words_read(root, EP_LIMIT_COLUMNS, classes) : columns_read(root, out);
  json_decref(root);
  return read != READ && ep_json_memory_short() ? NO_MEMORY : read;
}

ep_status ep_ranges_parse(const char *text, ep_encoding *encoding, ep_error *error) {
  json_error_t fault;
  if (ep_json_check(text, strlen(text), EP_LIMIT_HEADER_TREE_BYTES, error) != EP_OK) return EP_DATA;
  json_t *root = ep_json_read(text, strlen(text), 0, &fault);
  for (int64_t i = 0; i < encoding->columns; i++)
    range_read(json_array_get(root, (size_t)i), &encoding->column[i].range);
  json_decref(root);
  return !root && ep_json_memory_short() ? ep_fail_memory(error) : EP_OK;
}

ep_status ep_classes_parse(const char *text, ep_words *out, ep_error *error) {
  *out = (ep_words){0};
  reading read = text_read(text, out, NULL);
  if (read == READ) return EP_OK;
  ep_words_deinit(out);
  if (read == NO_MEMORY) return ep_fail_memory(error);
  return ep_fail(error, EP_DATA, "weights: invalid metadata of classes");
}

ep_status ep_encoding_parse(const char *columns, const char *classes, const char *target,
                            ep_encoding *out, ep_error *error) {
  *out = (ep_encoding){0};
  reading read = strlen(target) < sizeof out->target ? READ : IMPOSSIBLE;
  if (read == READ) memcpy(out->target, target, strlen(target) + 1);
  if (read == READ) read = text_read(columns, NULL, out);
  if (read == READ && classes) read = text_read(classes, &out->classes, out);
  if (read == READ) return EP_OK;
  ep_encoding_deinit(out);
  if (read == NO_MEMORY) return ep_fail_memory(error);
  return ep_fail(error, EP_DATA, "weights: invalid metadata of columns");
}
