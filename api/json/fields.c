#include "api/json/fields.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "api/json/json.h"
#include "api/json/nearest.h"
#include "api/json/number.h"
#include "api/json/synonyms.h"
#include "api/json/utf8.h"

enum { KNOWN_NAMES = 64, LIST_BYTES = 320 };

/* Appends one step to the pointer, escaped as RFC 6901 wants; a step that does not fit is cut. */
static size_t pointer_append(ep_field_reader *reader, const char *step) {
  size_t before = reader->length, length = before;
  const size_t last = sizeof reader->pointer - 1;
  if (length < last) reader->pointer[length++] = '/';
  for (; *step && length + 2 <= last; step++) {
    if (*step == '~' || *step == '/') {
      reader->pointer[length++] = '~';
      reader->pointer[length++] = *step == '~' ? '0' : '1';
    } else {
      reader->pointer[length++] = *step;
    }
  }
  reader->pointer[length] = 0;
  reader->length = length;
  return before;
}

size_t ep_field_reader_enter(ep_field_reader *reader, const char *key) {
  return pointer_append(reader, key);
}

size_t ep_field_reader_enter_index(ep_field_reader *reader, size_t index) {
  char text[32];
  snprintf(text, sizeof text, "%zu", index);
  return pointer_append(reader, text);
}

void ep_field_reader_leave(ep_field_reader *reader, size_t length) {
  reader->length = length;
  reader->pointer[length] = 0;
}

void ep_field_reader_fail(ep_field_reader *reader, const char *format, ...) {
  char detail[EP_MESSAGE_BYTES];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(detail, sizeof detail, format, arguments);
  va_end(arguments);
  ep_problem_add(reader->problem, EP_INVALID, reader->pointer, "%s", detail);
  if (reader->status == EP_OK) reader->status = EP_INVALID;
}

void ep_field_reader_warn(ep_field_reader *reader, const char *format, ...) {
  char detail[EP_MESSAGE_BYTES];
  if (!reader->warnings) return;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(detail, sizeof detail, format, arguments);
  va_end(arguments);
  ep_warnings_add(reader->warnings, reader->pointer, detail);
}

void ep_field_reader_fail_memory(ep_field_reader *reader) {
  ep_problem_fail_memory(reader->problem);
  reader->status = EP_NO_MEMORY;
}

/* "from 1 to 10", "of at least 0 and below 1", "greater than 0". */
static void range_describe(const ep_field *field, char text[96]) {
  char min[EP_NUMBER_BYTES], max[EP_NUMBER_BYTES];
  ep_number_format(field->min, min);
  ep_number_format(field->max, max);
  if (!field->open_min && !field->open_max)
    snprintf(text, 96, "from %s to %s", min, max);
  else
    snprintf(text, 96, "%s %s and %s %s", field->open_min ? "above" : "of at least", min,
             field->open_max ? "below" : "at most", max);
}

static bool range_holds(const ep_field *field, double value) {
  return (field->open_min ? value > field->min : value >= field->min) &&
         (field->open_max ? value < field->max : value <= field->max);
}

static void number_store(const ep_field *field, double value, void *at) {
  switch (field->kind) {
  case EP_FIELD_INT: *(int *)at = (int)value; break;
  case EP_FIELD_INT64: *(int64_t *)at = (int64_t)value; break;
  case EP_FIELD_UINT64: *(uint64_t *)at = (uint64_t)value; break;
  default: *(double *)at = value;
  }
}

static double number_load(const ep_field *field, const void *at) {
  switch (field->kind) {
  case EP_FIELD_INT: return *(const int *)at;
  case EP_FIELD_INT64: return (double)*(const int64_t *)at;
  case EP_FIELD_UINT64: return (double)*(const uint64_t *)at;
  default: return *(const double *)at;
  }
}

bool ep_field_number_read(ep_field_reader *reader, const ep_field *field, const json_t *value,
                          void *at) {
  const char *or_word = field->zero_word ? field->zero_word : "";
  const char *what = field->kind == EP_FIELD_DOUBLE ? "a number" : "an integer";
  if (field->zero_word && json_is_string(value) &&
      strcmp(json_string_value(value), field->zero_word) == 0) {
    number_store(field, 0, at);
    return true;
  }
  int64_t integer = 0;
  double number = 0;
  bool fits = json_is_number(value);
  if (fits && field->kind == EP_FIELD_DOUBLE)
    number = json_number_value(value);
  else if (fits)
    fits = ep_json_integer(value, &integer);
  /* Integers up to 2^53 in size are exact as doubles; all ranges lie within. */
  if (field->kind != EP_FIELD_DOUBLE) number = (double)integer;
  if (fits && isfinite(number) && range_holds(field, number)) {
    number_store(field, number, at);
    return true;
  }
  char got[EP_NUMBER_BYTES], range[96];
  range_describe(field, range);
  if (json_is_number(value)) ep_number_format(json_number_value(value), got);
  ep_field_reader_fail(reader, "must be %s %s%s%s%s, not %s", what, range,
                       field->zero_word ? " or \"" : "", or_word, field->zero_word ? "\"" : "",
                       json_is_number(value) ? got : ep_json_type_name(value));
  return false;
}

static size_t number_bytes(ep_field_kind kind) {
  return kind == EP_FIELD_INT ? sizeof(int) : sizeof(int64_t);
}

/* The row of one of a pair's numbers: its kind, its place, and no null or word. */
static ep_field pair_element(const ep_field *field, int which) {
  ep_field element = *field;
  element.kind = field->element;
  element.offset = field->offset + (size_t)which * number_bytes(field->element);
  element.fallback = which ? field->second : field->fallback;
  element.nullable = false;
  return element;
}

/* at: the first of the two. */
static void pair_read(ep_field_reader *reader, const ep_field *field, const json_t *value,
                      char *at) {
  bool both = field->alone && json_is_number(value);
  if (!both && (!json_is_array(value) || json_array_size(value) != 2)) {
    ep_field_reader_fail(reader, "must be %stwo numbers in an array, not %s",
                         field->alone ? "a number or " : "",
                         json_is_array(value) ? "another count" : ep_json_type_name(value));
    return;
  }
  for (int i = 0; i < 2; i++) {
    ep_field element = pair_element(field, i);
    size_t place = reader->length;
    if (!both) ep_field_reader_enter_index(reader, (size_t)i);
    bool good =
        ep_field_number_read(reader, &element, both ? value : json_array_get(value, (size_t)i),
                             at + (size_t)i * number_bytes(field->element));
    ep_field_reader_leave(reader, place);
    if (both && !good) return; /* said once */
  }
}

static bool text_is_clean(const char *text) {
  for (; *text; text++)
    if ((unsigned char)*text < 0x20 || *text == 0x7F) return false;
  return true;
}

static void string_read(ep_field_reader *reader, const ep_field *field, const json_t *value,
                        char *at) {
  const char *text = json_string_value(value);
  const bool any = !field->accepts || (reader->stored && field->stored_any);
  const bool refused = text && !any && !field->accepts(text);
  if (!text)
    ep_field_reader_fail(reader, "must be a string, not %s", ep_json_type_name(value));
  else if (json_string_length(value) >= field->capacity)
    ep_field_reader_fail(reader, "is %zu bytes long: the limit is %zu", json_string_length(value),
                         field->capacity - 1);
  else if (!text_is_clean(text))
    ep_field_reader_fail(reader, "must not contain control characters");
  else if (refused && !ep_utf8_shows(text, strlen(text)))
    ep_field_reader_fail(reader, "must be %s", field->form);
  else if (refused)
    ep_field_reader_fail(reader, "must be %s, not \"%s\"", field->form, text);
  else
    memcpy(at, text, strlen(text) + 1);
}

/* "a, b, c", cut with an ellipsis when it gets long. */
static void names_list(const char *const *names, int count, char text[LIST_BYTES]) {
  size_t used = 0;
  text[0] = 0;
  for (int i = 0; i < count; i++) {
    if (used + strlen(names[i]) + 8 > LIST_BYTES) {
      snprintf(text + used, LIST_BYTES - used, ", …");
      return;
    }
    used += (size_t)snprintf(text + used, LIST_BYTES - used, "%s%s", i ? ", " : "", names[i]);
  }
}

/* `what` is "field" or a vocabulary's noun. */
static void unknown_fail(ep_field_reader *reader, const char *what, const char *name,
                         const char *const *names, int count) {
  const char *nearest = ep_synonym_find(name, names, count);
  const ep_misplaced_field *misplaced = nearest ? NULL : ep_misplaced_find(name, names, count);
  if (misplaced) {
    ep_field_reader_fail(reader, "unknown %s \"%.100s\": \"%s\" is a field of \"%s\"", what, name,
                         misplaced->field, misplaced->object);
    return;
  }
  if (!nearest) nearest = ep_nearest_name(name, names, count);
  if (nearest) {
    ep_field_reader_fail(reader, "unknown %s \"%.100s\": did you mean \"%s\"?", what, name,
                         nearest);
    return;
  }
  char list[LIST_BYTES];
  names_list(names, count, list);
  ep_field_reader_fail(reader, "unknown %s \"%.100s\": known are %s", what, name, list);
}

/* Is `word` one of the words of `list`, which has spaces between? */
static bool list_has(const char *list, const char *word) {
  size_t bytes = strlen(word);
  for (const char *at = list; at && bytes; at = strchr(at, ' ')) {
    if (*at == ' ') at++;
    if (strncmp(at, word, bytes) == 0 && (at[bytes] == ' ' || at[bytes] == 0)) return true;
  }
  return false;
}

int ep_field_word_read(ep_field_reader *reader, const ep_field_words *words, const json_t *value) {
  const char *word = json_string_value(value);
  if (!word) {
    ep_field_reader_fail(reader, "must be the name of a %s, not %s", words->noun,
                         ep_json_type_name(value));
    return -1;
  }
  int found = words->from_name(word);
  if (found >= 0) return found;
  const char *names[KNOWN_NAMES];
  int count = words->count < KNOWN_NAMES ? words->count : KNOWN_NAMES;
  for (int i = 0; i < count; i++) names[i] = words->name(i);
  if (words->later && list_has(words->later, word)) {
    char list[LIST_BYTES];
    names_list(names, count, list);
    ep_field_reader_fail(reader, "%s \"%s\" is not supported by this version, which supports %s",
                         words->noun, word, list);
  } else {
    unknown_fail(reader, words->noun, word, names, count);
  }
  return -1;
}

/* Sets what an absent field means; reads defaults of nested ones. */
static void field_default(ep_field_reader *reader, const ep_field *field, void *base) {
  char *at = (char *)base + field->offset;
  switch (field->kind) {
  case EP_FIELD_INT:
  case EP_FIELD_INT64:
  case EP_FIELD_UINT64:
  case EP_FIELD_DOUBLE: number_store(field, field->fallback, at); break;
  case EP_FIELD_BOOL: *(bool *)at = field->fallback != 0; break;
  case EP_FIELD_STRING:
    snprintf(at, field->capacity, "%s", field->text_fallback ? field->text_fallback : "");
    break;
  case EP_FIELD_WORD: *(int *)at = (int)field->fallback; break;
  case EP_FIELD_PAIR:
    for (int i = 0; i < 2; i++) {
      ep_field element = pair_element(field, i);
      number_store(&element, element.fallback, (char *)base + element.offset);
    }
    break;
  case EP_FIELD_OBJECT:
    if (!field->given) ep_fields_read(reader, field->table, NULL, NULL, at);
    break;
  case EP_FIELD_VARIANT: {
    int type = (int)field->fallback;
    *(int *)(at + field->variants->type_offset) = type;
    ep_fields_read(reader, ep_field_variant_table(field->variants, type), NULL, NULL, at);
    break;
  }
  case EP_FIELD_CUSTOM: field->read(reader, field, NULL, base); break;
  }
}

static void field_read(ep_field_reader *reader, const ep_field *field, const json_t *value,
                       void *base) {
  char *at = (char *)base + field->offset;
  switch (field->kind) {
  case EP_FIELD_INT:
  case EP_FIELD_INT64:
  case EP_FIELD_UINT64:
  case EP_FIELD_DOUBLE: ep_field_number_read(reader, field, value, at); break;
  case EP_FIELD_BOOL:
    if (json_is_boolean(value))
      *(bool *)at = json_is_true(value);
    else
      ep_field_reader_fail(reader, "must be true or false, not %s", ep_json_type_name(value));
    break;
  case EP_FIELD_STRING: string_read(reader, field, value, at); break;
  case EP_FIELD_WORD: {
    int word = ep_field_word_read(reader, field->words, value);
    if (word >= 0) *(int *)at = word;
    break;
  }
  case EP_FIELD_PAIR: pair_read(reader, field, value, at); break;
  case EP_FIELD_OBJECT:
    if (json_is_object(value))
      ep_fields_read(reader, field->table, NULL, value, at);
    else
      ep_field_reader_fail(reader, "must be an object, not %s", ep_json_type_name(value));
    break;
  case EP_FIELD_VARIANT: ep_field_variant_read(reader, field->variants, value, at); break;
  case EP_FIELD_CUSTOM: field->read(reader, field, value, base); break;
  }
}

static bool table_has(const ep_field_table *table, const char *key) {
  for (; table; table = table->base)
    for (int i = 0; i < table->count; i++)
      if (strcmp(table->fields[i].key, key) == 0) return true;
  return false;
}

static void unknown_keys_fail(ep_field_reader *reader, const ep_field_table *table,
                              const char *skip, const json_t *object) {
  const char *key;
  json_t *value;
  const char *names[KNOWN_NAMES];
  int count = 0;
  if (skip) names[count++] = skip;
  for (const ep_field_table *t = table; t; t = t->base)
    for (int i = 0; i < t->count && count < KNOWN_NAMES; i++) names[count++] = t->fields[i].key;
  json_object_foreach((json_t *)object, key, value) {
    if ((skip && strcmp(key, skip) == 0) || table_has(table, key)) continue;
    if (reader->problem->errors_count == EP_LIMIT_PROBLEM_ERRORS) return; /* no more are shown */
    size_t place = ep_field_reader_enter(reader, key);
    unknown_fail(reader, "field", key, names, count);
    ep_field_reader_leave(reader, place);
  }
}

void ep_fields_read(ep_field_reader *reader, const ep_field_table *table, const char *skip,
                    const json_t *object, void *base) {
  if (object) unknown_keys_fail(reader, table, skip, object);
  for (const ep_field_table *t = table; t; t = t->base) {
    for (int i = 0; i < t->count; i++) {
      const ep_field *field = &t->fields[i];
      const json_t *value = object ? json_object_get(object, field->key) : NULL;
      if (field->nullable && json_is_null(value)) value = NULL;
      size_t place = ep_field_reader_enter(reader, field->key);
      if (value)
        field_read(reader, field, value, base);
      else if (field->required)
        ep_field_reader_fail(reader, "\"%s\" is required", field->key);
      else
        field_default(reader, field, base);
      ep_field_reader_leave(reader, place);
    }
  }
}

const ep_field_table *ep_field_variant_table(const ep_field_variants *variants, int type) {
  return variants->tables[type] ? variants->tables[type] : variants->common;
}

void ep_field_variant_read(ep_field_reader *reader, const ep_field_variants *variants,
                           const json_t *value, void *base) {
  const json_t *type = value;
  if (json_is_object(value))
    type = json_object_get(value, "type");
  else if (!variants->word_alone || !json_is_string(value)) {
    ep_field_reader_fail(reader, "must be an object%s, not %s",
                         variants->word_alone ? " or a word" : "", ep_json_type_name(value));
    return;
  }
  size_t place = reader->length;
  if (json_is_object(value)) ep_field_reader_enter(reader, "type");
  int found = -1;
  if (type)
    found = ep_field_word_read(reader, variants->words, type);
  else if (variants->fallback >= 0)
    found = variants->fallback;
  else
    ep_field_reader_fail(reader, "\"type\" is required: the name of a %s", variants->words->noun);
  ep_field_reader_leave(reader, place);
  if (found < 0) return;
  *(int *)((char *)base + variants->type_offset) = found;
  ep_fields_read(reader, ep_field_variant_table(variants, found), "type",
                 json_is_object(value) ? value : NULL, base);
}

void ep_field_variant_write(ep_writer *writer, const ep_field_variants *variants,
                            const void *base) {
  int type = *(const int *)((const char *)base + variants->type_offset);
  const ep_field_table *table = ep_field_variant_table(variants, type);
  if (variants->word_alone && !table) {
    ep_writer_string(writer, variants->words->name(type));
    return;
  }
  ep_writer_open(writer, '{');
  ep_writer_member_string(writer, "type", variants->words->name(type));
  ep_fields_write(writer, table, base);
  ep_writer_close(writer, '}');
}

/* A number of its own kind, or what stands for 0. */
static void number_write(ep_writer *writer, const ep_field *field, double number) {
  if (number == 0 && field->zero_word)
    ep_writer_string(writer, field->zero_word);
  else if (number == 0 && field->nullable)
    ep_writer_null(writer);
  else if (field->kind == EP_FIELD_DOUBLE)
    ep_writer_number(writer, number);
  else
    ep_writer_integer(writer, (int64_t)number);
}

static void pair_write(ep_writer *writer, const ep_field *field, const void *base) {
  double numbers[2];
  ep_field element = {.kind = field->element};
  for (int i = 0; i < 2; i++)
    numbers[i] = number_load(&element, (const char *)base + pair_element(field, i).offset);
  if (field->nullable && numbers[0] == 0 && numbers[1] == 0) {
    ep_writer_null(writer);
    return;
  }
  bool one = field->alone && numbers[0] == numbers[1];
  if (!one) ep_writer_open(writer, '[');
  for (int i = 0; i < (one ? 1 : 2); i++) number_write(writer, &element, numbers[i]);
  if (!one) ep_writer_close(writer, ']');
}

static void field_write(ep_writer *writer, const ep_field *field, const void *base) {
  const char *at = (const char *)base + field->offset;
  switch (field->kind) {
  case EP_FIELD_INT:
  case EP_FIELD_INT64:
  case EP_FIELD_UINT64:
  case EP_FIELD_DOUBLE: number_write(writer, field, number_load(field, at)); break;
  case EP_FIELD_PAIR: pair_write(writer, field, base); break;
  case EP_FIELD_BOOL: ep_writer_boolean(writer, *(const bool *)at); break;
  case EP_FIELD_STRING:
    if (field->nullable && !at[0])
      ep_writer_null(writer);
    else
      ep_writer_string(writer, at);
    break;
  case EP_FIELD_WORD: ep_writer_string(writer, field->words->name(*(const int *)at)); break;
  case EP_FIELD_OBJECT:
    if (field->given && !field->given(at)) {
      ep_writer_null(writer);
      break;
    }
    ep_writer_open(writer, '{');
    ep_fields_write(writer, field->table, at);
    ep_writer_close(writer, '}');
    break;
  case EP_FIELD_VARIANT: ep_field_variant_write(writer, field->variants, at); break;
  case EP_FIELD_CUSTOM: field->write(writer, field, base); break;
  }
}

void ep_fields_write(ep_writer *writer, const ep_field_table *table, const void *base) {
  for (const ep_field_table *t = table; t; t = t->base) {
    for (int i = 0; i < t->count; i++) {
      if (t->fields[i].is_given && !t->fields[i].is_given(base)) continue;
      ep_writer_key(writer, t->fields[i].key);
      field_write(writer, &t->fields[i], base);
    }
  }
}
