#include "clients/epochctl/client/dialect.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clients/epochctl/http/json_at.h"
#include "clients/epochctl/terminal/text.h"
#include "clients/epochctl/terminal/text_table.h"

enum { KEY_BYTES = 32, VALUE_BYTES = 256, WORDS_BYTES = 1 << 16 };

static const ep_option options[] = {EP_UPLOAD_OPTIONS, {.name = NULL}};

/* "row-names" as "row_names". */
static const char *key_of(const ep_option *option, char key[KEY_BYTES]) {
  snprintf(key, KEY_BYTES, "%s", option->name);
  for (char *at = key; (at = strchr(at, '-'));) *at = '_';
  return key;
}

int ep_dialect_query(const ep_arguments *arguments, char path[EP_REQUEST_PATH_BYTES]) {
  int given = 0;
  char key[KEY_BYTES];
  for (const ep_option *option = options; option->name; option++) {
    const char *value = ep_arguments_value(arguments, option->name);
    if (value) ep_path_query(path, key_of(option, key), value);
    given += value != NULL;
  }
  return given;
}

static const ep_option *option_find(const ep_option *table, const char *name, size_t bytes) {
  char key[KEY_BYTES];
  for (const ep_option *option = table; option && option->name; option++)
    if (strlen(key_of(option, key)) == bytes && memcmp(key, name, bytes) == 0) return option;
  return NULL;
}

static bool is_value(char byte) {
  return isalnum((unsigned char)byte) || (byte && strchr("_-", byte)) || (byte & 0x80);
}

/* The bytes of a value: of a word, or one punctuation character before a space. */
static size_t value_bytes(const char *value) {
  size_t bytes = 0;
  while (is_value(value[bytes])) bytes++;
  return bytes == 0 && ispunct((unsigned char)value[0]) && (value[1] == ' ' || !value[1]) ? 1
                                                                                          : bytes;
}

/* Writes the option of "?name=value" or "&name=value". Returns its bytes in `at`, or 0. */
static size_t option_write(ep_writer *out, const char *at, const ep_option *more) {
  size_t name = 0;
  if (*at != '?' && *at != '&') return 0;
  while (islower((unsigned char)at[1 + name]) || at[1 + name] == '_') name++;
  if (name == 0 || at[1 + name] != '=') return 0;
  const ep_option *option = option_find(more, at + 1, name);
  if (!option) option = option_find(options, at + 1, name);
  if (!option) return 0;
  const char *value = at + name + 2;
  size_t bytes = value_bytes(value);
  const char *quote = bytes == 1 && ispunct((unsigned char)*value) && !strchr(",.", *value)
                          ? *value == '\'' ? "\"" : "'"
                          : "";
  char text[KEY_BYTES + VALUE_BYTES];
  if (bytes >= VALUE_BYTES) return 0;
  snprintf(text, sizeof text, "%s--%s%s%s%.*s%s", *at == '&' ? " " : "", option->name,
           bytes ? " " : "", quote, (int)bytes, value, quote);
  ep_writer_bytes(out, text, strlen(text));
  return name + 2 + bytes;
}

void ep_dialect_words(char *out, size_t out_bytes, const char *text, const ep_option *more) {
  ep_writer worded;
  ep_writer_init(&worded, WORDS_BYTES);
  for (size_t bytes; *text; text += bytes) {
    bytes = option_write(&worded, text, more);
    if (bytes == 0) {
      bytes = 1 + strcspn(text + 1, "?&");
      ep_writer_bytes(&worded, text, bytes);
    }
  }
  char *whole = ep_writer_take(&worded);
  ep_text_copy(out, out_bytes, whole ? whole : text);
  free(whole);
}

/* As the option takes it; cut. */
static const char *value_text(const json_t *value, char line[VALUE_BYTES]) {
  size_t used = 0, index;
  line[0] = 0;
  const json_t *word;
  if (json_is_array(value)) {
    json_array_foreach(value, index, word) if (json_string_length(word) > 0 && used < VALUE_BYTES)
        used += (size_t)snprintf(line + used, VALUE_BYTES - used, "%s%s", used > 0 ? "," : "",
                                 json_string_value(word));
  } else if (json_is_null(value)) {
    return "none";
  } else if (json_is_string(value) && strcmp(json_string_value(value), "\t") == 0) {
    return "tab";
  } else if (json_is_string(value) && strcmp(json_string_value(value), " ") == 0) {
    return "space";
  } else {
    ep_json_line(value, line, VALUE_BYTES);
  }
  return line;
}

void ep_dialect_print(const ep_terminal *terminal, const json_t *dialect) {
  static const ep_text_column COLUMNS[] = {
      {"read with", false, false}, {"", false, true}, {"because", false, true}};
  char key[KEY_BYTES], text[2 * VALUE_BYTES];
  ep_text_table table = {0};
  if (!dialect) return;
  ep_text_table_columns(&table, COLUMNS, sizeof COLUMNS / sizeof COLUMNS[0]);
  for (const ep_option *option = options; option->name; option++) {
    const json_t *value = json_object_get(dialect, key_of(option, key));
    bool undecided = json_is_null(value) && strcmp(key, "dates") == 0; /* none is in figures */
    if (!value || undecided) continue;
    snprintf(text, sizeof text, "--%s", option->name);
    ep_text_table_cell(&table, text, EP_COLOUR_BOLD);
    ep_text_table_cell(&table, value_text(value, text), EP_COLOUR_PLAIN);
    const json_t *evidence = json_object_get(json_object_get(dialect, "evidence"), key);
    ep_dialect_words(text, sizeof text, json_is_string(evidence) ? json_string_value(evidence) : "",
                     NULL);
    ep_text_table_cell(&table, text, EP_COLOUR_DIM);
  }
  puts("");
  if (table.cells_count > 0) ep_text_table_print(&table, terminal, true);
  ep_text_table_deinit(&table);
}
