/* show.c: epochctl data show. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "clients/epochctl/client/dialect.h"
#include "clients/epochctl/commands/data/dataset.h"
#include "clients/epochctl/commands/table.h"
#include "clients/epochctl/http/json_at.h"
#include "clients/epochctl/http/path.h"
#include "clients/epochctl/terminal/human.h"
#include "clients/epochctl/terminal/text.h"
#include "clients/epochctl/terminal/text_table.h"

enum { SHOWN_COLUMNS = 100, TEXT_BYTES = 256, WORDS_TOLD = 3, DAY_SECONDS = 86400 };

static void part_add(ep_text_table *table, const char *split, const char *role,
                     const json_t *part) {
  char text[TEXT_BYTES];
  snprintf(text, sizeof text, "%s/%s", split, role);
  ep_text_table_cell(table, text, EP_COLOUR_BOLD);
  ep_text_table_cell(table, ep_human_count(ep_json_integer_at(part, "rows"), text),
                     EP_COLOUR_PLAIN);
  ep_json_integers_join(ep_json_at(part, "shape"), " x ", text, sizeof text);
  ep_text_table_cell(table, *text ? text : "1", EP_COLOUR_PLAIN);
  ep_text_table_cell(table, ep_json_text_at(part, "dtype"), EP_COLOUR_PLAIN);
}

static void parts_print(const ep_terminal *terminal, const json_t *dataset) {
  static const ep_text_column COLUMNS[] = {{"part", false, false},
                                           {"rows", true, false},
                                           {"shape of a row", false, false},
                                           {"type", false, false}};
  const char *split, *role;
  json_t *roles, *part;
  ep_text_table table = {0};
  ep_text_table_columns(&table, COLUMNS, sizeof COLUMNS / sizeof COLUMNS[0]);
  json_object_foreach((json_t *)ep_json_at(dataset, "parts"), split, roles) {
    json_object_foreach(roles, role, part) part_add(&table, split, role, part);
  }
  if (table.cells_count > 0) ep_text_table_print(&table, terminal, true);
  ep_text_table_deinit(&table);
}

/* "2024-02-29", and the time of day where there is one; of_day: that alone. */
static void date_text(double seconds, bool of_day, char text[EP_HUMAN_BYTES]) {
  time_t whole = (time_t)seconds;
  struct tm parts;
  bool ends_day = of_day && whole == DAY_SECONDS; /* 24:00 */
  bool midnight = seconds == floor(seconds / DAY_SECONDS) * DAY_SECONDS;
  if (!gmtime_r(&whole, &parts) || strftime(text, EP_HUMAN_BYTES,
                                            of_day     ? "%T"
                                            : midnight ? "%F"
                                                       : "%F %T",
                                            &parts) == 0)
    ep_human_number(seconds, text);
  if (ends_day) memcpy(text, "24", 2);
}

static void words_text(const json_t *words, char *text, size_t bytes) {
  size_t used = 0;
  for (size_t i = 0; i < json_array_size(words) && i < WORDS_TOLD && used < bytes; i++)
    used += (size_t)snprintf(text + used, bytes - used, "%s%.60s", i ? ", " : "",
                             ep_json_text_at(json_array_get(words, i), "value"));
  if (json_array_size(words) > WORDS_TOLD && used < bytes)
    snprintf(text + used, bytes - used, ", ...");
}

/* From the least to the greatest value, or the commonest words. */
static void values_text(const json_t *column, const char *type, char text[TEXT_BYTES]) {
  char least[EP_HUMAN_BYTES], greatest[EP_HUMAN_BYTES];
  double min = ep_json_number_at(column, "min"), max = ep_json_number_at(column, "max");
  bool date = strcmp(type, "date") == 0;
  text[0] = 0;
  if (strcmp(type, "category") == 0) {
    words_text(ep_json_at(column, "categories"), text, TEXT_BYTES);
  } else if (strcmp(type, "text") == 0) {
    snprintf(text, TEXT_BYTES, "not stored");
  } else {
    bool of_day = strcmp(ep_json_text_at(column, "form"), "time") == 0;
    if (date) date_text(min, of_day, least), date_text(max, of_day, greatest);
    snprintf(text, TEXT_BYTES, "%s to %s", date ? least : ep_human_number(min, least),
             date ? greatest : ep_human_number(max, greatest));
  }
}

static void column_add(ep_text_table *table, const json_t *column) {
  char text[TEXT_BYTES], count[EP_HUMAN_BYTES];
  const char *type = ep_json_text_at(column, "type"), *unit = ep_json_text_at(column, "unit");
  bool whole = strcmp(type, "number") == 0 && json_is_true(ep_json_at(column, "integer"));
  ep_text_table_cell(table, ep_json_text_at(column, "name"), EP_COLOUR_BOLD);
  snprintf(text, sizeof text, "%s%s%s", whole ? "whole number" : type, unit[0] ? ", " : "", unit);
  ep_text_table_cell(table, text, EP_COLOUR_PLAIN);
  ep_text_table_cell(table, ep_human_count(ep_json_integer_at(column, "missing"), count),
                     EP_COLOUR_PLAIN);
  bool counted = json_is_integer(ep_json_at(column, "distinct"));
  ep_text_table_cell(table,
                     counted ? ep_human_count(ep_json_integer_at(column, "distinct"), count) : "",
                     EP_COLOUR_PLAIN);
  values_text(column, type, text);
  ep_text_table_cell(table, text, EP_COLOUR_PLAIN);
}

static void columns_print(const ep_terminal *terminal, const json_t *columns) {
  static const ep_text_column COLUMNS[] = {{"column", false, true},
                                           {"type", false, false},
                                           {"missing", true, false},
                                           {"distinct", true, false},
                                           {"values", false, true}};
  size_t count = json_array_size(columns);
  ep_text_table table = {0};
  if (count == 0) return;
  ep_text_table_columns(&table, COLUMNS, sizeof COLUMNS / sizeof COLUMNS[0]);
  for (size_t i = 0; i < count && i < SHOWN_COLUMNS; i++)
    column_add(&table, json_array_get(columns, i));
  puts("");
  ep_text_table_print(&table, terminal, true);
  ep_text_table_deinit(&table);
  if (count > SHOWN_COLUMNS)
    printf("and %zu more columns; --json has them\n", count - SHOWN_COLUMNS);
}

/* What pictures are of. Their columns are pixels, and tell nothing. */
static void classes_print(const json_t *classes) {
  char name[TEXT_BYTES];
  printf("\n%zu classes:", json_array_size(classes));
  for (size_t i = 0; i < json_array_size(classes) && i < SHOWN_COLUMNS; i++) {
    ep_text_copy(name, sizeof name, ep_json_text_at(json_array_get(classes, i), ""));
    printf("%s %s", i ? "," : "", name);
  }
  puts(json_array_size(classes) > SHOWN_COLUMNS ? ", ..." : "");
}

/* A line each; datasets that were stored without `notes` have one `note`. */
static void notes_print(const json_t *dataset) {
  char line[4 * TEXT_BYTES];
  const json_t *notes = ep_json_at(dataset, "notes"), *note;
  size_t index;
  if (json_array_size(notes) > 0) puts("");
  json_array_foreach(notes, index, note) {
    if (!json_is_string(note)) continue;
    ep_dialect_words(line, sizeof line, json_string_value(note), NULL);
    printf("%s\n", line);
  }
  ep_dialect_words(line, sizeof line, ep_json_text_at(dataset, "note"), NULL);
  if (line[0] && !notes) printf("\n%s\n", line);
}

/* Rows of bytes in channels, rows and columns. */
static bool is_pictures(const json_t *dataset) {
  const json_t *x = ep_json_at(dataset, "parts.train.x");
  return json_array_size(ep_json_at(x, "shape")) > 1;
}

static ep_status subcommand_run(ep_client *client, const ep_arguments *arguments, ep_error *error) {
  char path[EP_REQUEST_PATH_BYTES], line[TEXT_BYTES];
  json_t *dataset = NULL;
  ep_path_make(path, "/v1/datasets/", arguments->words[0], "");
  ep_status status = ep_client_get(client, path, &dataset, error);
  if (status != EP_OK || !dataset) return status;
  ep_dataset_print(dataset);
  ep_text_copy(line, sizeof line, ep_json_text_at(dataset, "sha256"));
  printf("SHA-256 %s\n\n", line);
  parts_print(&client->terminal, dataset);
  ep_dialect_print(&client->terminal, ep_json_at(dataset, "dialect"));
  notes_print(dataset);
  if (!is_pictures(dataset)) columns_print(&client->terminal, ep_json_at(dataset, "columns"));
  if (ep_json_at(dataset, "classes")) classes_print(ep_json_at(dataset, "classes"));
  json_decref(dataset);
  return EP_OK;
}

/* clang-format off */
const ep_subcommand ep_subcommand_data_show = {
  .name = "data show", .words = "NAME", .kind = EP_WORD_DATASET, .least = 1, .most = 1,
  .run = subcommand_run,
  .summary = "print a data set in full",
  .details =
    "Parts, shapes, columns with their types, missing cells and values; the classes of pictures; for a CSV, how it was read, as options of \"epochctl data put\", and why."};
/* clang-format on */
