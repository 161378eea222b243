#include "clients/epochctl/client/dialect.h"

#include <stdio.h>
#include <string.h>

#include "clients/epochctl/http/json_at.h"
#include "clients/epochctl/terminal/text_table.h"

enum { KEY_BYTES = 32, VALUE_BYTES = 256 };

static const ep_option options[] = {EP_DIALECT_OPTIONS, {.name = NULL}};

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
  char key[KEY_BYTES], text[VALUE_BYTES];
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
    ep_text_table_cell(&table, json_string_value(evidence), EP_COLOUR_DIM);
  }
  puts("");
  if (table.cells_count > 0) ep_text_table_print(&table, terminal, true);
  ep_text_table_deinit(&table);
}
