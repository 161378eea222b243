/* columns.c: "columns", "features" and "exclude" of "data": which columns of a table a network
 * learns from, and how. */
#include <stdlib.h>
#include <string.h>

#include "api/json/json.h"
#include "api/spec/tables.h"

static const char *const fill_form =
    "\"mean\", \"median\", \"most_frequent\", \"zero\", \"drop_row\" or {\"value\": x}";

#define AT(member) offsetof(ep_column_rule, member)
static const ep_field column_rows[] = {
    {.key = "type",
     .kind = EP_FIELD_WORD,
     .offset = AT(type),
     .words = &ep_column_as_words,
     .doc = "how the cells are interpreted; auto: as the type detected at upload"},
    {.key = "missing",
     .kind = EP_FIELD_CUSTOM,
     .read = ep_column_missing_read,
     .write = ep_column_missing_write,
     .form = "\"auto\", \"mean\", \"median\", \"most_frequent\", \"zero\", \"drop_row\", or "
             "{\"value\": x}",
     .text_fallback = "\"auto\"",
     .doc =
         "the value that replaces a missing cell, computed from the training rows; auto: the "
         "median; a category's missing cells count as other words; drop_row: the row is left out",
     .schema = EP_JSON({
       "oneOf" : [
         {"enum" : [ "auto", "mean", "median", "most_frequent", "zero", "drop_row" ]},
         {"type" : "object", "required" : ["value"], "properties" : {"value" :
                                                                         {"type" : "number"}}}
       ]
     })},
    {.key = "indicator",
     .kind = EP_FIELD_CUSTOM,
     .nullable = true,
     .read = ep_column_indicator_read,
     .write = ep_column_indicator_write,
     .form = "`true` or `false`",
     .text_fallback = "null",
     .doc = "adds a feature that is 1 where the cell is missing, or, for an embedding, one more "
            "vector; null: where the data has missing cells, except for one_hot and hash",
     .schema = EP_JSON({"type" : "boolean"})},
    {.key = "encode",
     .kind = EP_FIELD_WORD,
     .offset = AT(encode),
     .words = &ep_category_words,
     .doc = "for a category: one_hot: a feature for each of its 32 most frequent words and one for "
            "all others; embedding: a learned vector for each word; ordinal: the number of the "
            "word, scaled; hash: a feature in one of the buckets; auto: one_hot up to 32 words; "
            "above that, embedding where a word has 5 rows on average"},
    {.key = "buckets",
     .kind = EP_FIELD_INT64,
     .offset = AT(buckets),
     .min = 1,
     .max = EP_LIMIT_HASH_BUCKETS,
     .fallback = EP_LIMIT_ONE_HOT,
     .doc = "for a hashed category: the number of features that its words share"},
    {.key = "min_count",
     .kind = EP_FIELD_INT64,
     .offset = AT(min_count),
     .min = 1,
     .max = EP_LIMIT_ROWS,
     .fallback = 1,
     .doc = "for a category: words with fewer training rows count as other words"},
    {.key = "unknown",
     .kind = EP_FIELD_WORD,
     .offset = AT(unknown),
     .words = &ep_unknown_word_words,
     .doc = "for a category: whether a word that the training data does not have counts as another "
            "word, or is an error"},
    {.key = "scale",
     .kind = EP_FIELD_WORD,
     .offset = AT(scale),
     .words = &ep_column_scale_words,
     .doc = "computed from the training rows: standard: (x - mean) / deviation; minmax: (x - min) "
            "/ (max - "
            "min); log1p: sign(x) log(1 + |x|), then standard"},
};
#undef AT
const ep_field_table ep_column_table = EP_FIELD_TABLE(column_rows, NULL);

/* {"value": x} */
static void value_read(ep_field_reader *reader, const json_t *object, ep_column_rule *rule) {
  const ep_field range = {.kind = EP_FIELD_DOUBLE, .min = -EP_REAL_MAX, .max = EP_REAL_MAX};
  const json_t *value = json_object_get(object, "value");
  if (!value || json_object_size(object) != 1) {
    ep_field_reader_fail(reader, "must be %s", fill_form);
    return;
  }
  size_t place = ep_field_reader_enter(reader, "value");
  rule->has_value = ep_field_number_read(reader, &range, value, &rule->value);
  ep_field_reader_leave(reader, place);
}

void ep_column_missing_read(ep_field_reader *reader, const ep_field *field, const json_t *value,
                            void *base) {
  (void)field;
  ep_column_rule *rule = base;
  if (!value) return;
  if (json_is_object(value)) {
    value_read(reader, value, rule);
  } else if (json_is_string(value)) {
    int word = ep_field_word_read(reader, &ep_fill_words, value);
    if (word >= 0) rule->missing = (ep_fill)word;
  } else {
    ep_field_reader_fail(reader, "must be %s, not %s", fill_form, ep_json_type_name(value));
  }
}

void ep_column_missing_write(ep_writer *writer, const ep_field *field, const void *base) {
  (void)field;
  const ep_column_rule *rule = base;
  if (!rule->has_value) {
    ep_writer_string(writer, ep_fill_name((int)rule->missing));
    return;
  }
  ep_writer_open(writer, '{');
  ep_writer_member_number(writer, "value", rule->value);
  ep_writer_close(writer, '}');
}

void ep_column_indicator_read(ep_field_reader *reader, const ep_field *field, const json_t *value,
                              void *base) {
  (void)field;
  ep_column_rule *rule = base;
  rule->indicator = -1;
  if (value && !json_is_boolean(value))
    ep_field_reader_fail(reader, "must be true or false, not %s", ep_json_type_name(value));
  else if (value)
    rule->indicator = json_is_true(value);
}

void ep_column_indicator_write(ep_writer *writer, const ep_field *field, const void *base) {
  (void)field;
  int indicator = ((const ep_column_rule *)base)->indicator;
  if (indicator < 0)
    ep_writer_null(writer);
  else
    ep_writer_boolean(writer, indicator);
}

/* Copies a column's name; false after adding an error. */
static bool name_take(ep_field_reader *reader, const char *name,
                      char out[EP_LIMIT_NAME_BYTES + 1]) {
  size_t bytes = name ? strlen(name) : 0;
  if (bytes == 0 || bytes > EP_LIMIT_NAME_BYTES) {
    ep_field_reader_fail(reader, "must be a column name or a glob of 1 to %d bytes",
                         EP_LIMIT_NAME_BYTES);
    return false;
  }
  memcpy(out, name, bytes + 1);
  return true;
}

/* Whether so many names are allowed; else adds an error. */
static bool count_check(ep_field_reader *reader, size_t count) {
  if (count <= EP_LIMIT_COLUMN_RULES) return true;
  ep_field_reader_fail(reader,
                       "must have at most %d entries, not %zu: a glob can match many columns",
                       EP_LIMIT_COLUMN_RULES, count);
  return false;
}

void ep_columns_read(ep_field_reader *reader, const ep_field *field, const json_t *value,
                     void *base) {
  (void)field;
  ep_data_spec *data = base;
  const char *key;
  json_t *object;
  if (!value) return;
  if (!json_is_object(value)) {
    ep_field_reader_fail(reader, "must be an object of columns, not %s", ep_json_type_name(value));
    return;
  }
  if (!count_check(reader, json_object_size(value)) || json_object_size(value) == 0) return;
  data->columns = calloc(json_object_size(value), sizeof *data->columns);
  if (!data->columns) {
    ep_field_reader_fail_memory(reader);
    return;
  }
  json_object_foreach((json_t *)value, key, object) {
    ep_column_rule *rule = &data->columns[data->columns_count++];
    size_t place = ep_field_reader_enter(reader, key);
    if (!json_is_object(object))
      ep_field_reader_fail(reader, "must be an object, not %s", ep_json_type_name(object));
    else if (name_take(reader, key, rule->name))
      ep_fields_read(reader, &ep_column_table, NULL, object, rule);
    ep_field_reader_leave(reader, place);
  }
}

void ep_columns_write(ep_writer *writer, const ep_field *field, const void *base) {
  (void)field;
  const ep_data_spec *data = base;
  ep_writer_open(writer, '{');
  for (int i = 0; i < data->columns_count; i++) {
    ep_writer_string(writer, data->columns[i].name); /* not a key, which has no escapes */
    ep_writer_bytes(writer, ":", 1);
    ep_writer_open(writer, '{');
    ep_fields_write(writer, &ep_column_table, &data->columns[i]);
    ep_writer_close(writer, '}');
  }
  ep_writer_close(writer, '}');
}

void ep_column_names_read(ep_field_reader *reader, const ep_field *field, const json_t *value,
                          void *base) {
  ep_column_names *names = (ep_column_names *)((char *)base + field->offset);
  size_t index;
  json_t *item;
  if (!value) return;
  if (!json_is_array(value) || json_array_size(value) == 0) {
    ep_field_reader_fail(reader, "must be an array of column names, not %s",
                         json_is_array(value) ? "empty" : ep_json_type_name(value));
    return;
  }
  if (!count_check(reader, json_array_size(value))) return;
  names->name = calloc(json_array_size(value), sizeof *names->name);
  if (!names->name) {
    ep_field_reader_fail_memory(reader);
    return;
  }
  json_array_foreach((json_t *)value, index, item) {
    size_t place = ep_field_reader_enter_index(reader, index);
    name_take(reader, json_string_value(item), names->name[names->count++]);
    ep_field_reader_leave(reader, place);
  }
}

void ep_column_names_write(ep_writer *writer, const ep_field *field, const void *base) {
  const ep_column_names *names = (const ep_column_names *)((const char *)base + field->offset);
  if (!names->name) {
    ep_writer_null(writer);
    return;
  }
  ep_writer_open(writer, '[');
  for (int i = 0; i < names->count; i++) ep_writer_string(writer, names->name[i]);
  ep_writer_close(writer, ']');
}
