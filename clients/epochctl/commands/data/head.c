/* head.c: epochctl data head. */
#include <stdio.h>
#include <stdlib.h>

#include "api/limits.h"
#include "clients/epochctl/commands/table.h"
#include "clients/epochctl/http/json_at.h"
#include "clients/epochctl/http/path.h"
#include "clients/epochctl/terminal/text_table.h"

enum { NUMBER_BYTES = 24, DIGITS = 15 };

/* A row without names is an array, or one value: its columns are numbered from 1. */
static const json_t *cell_at(const json_t *row, const char *name, int index) {
  if (json_is_object(row)) return json_object_get(row, name);
  return json_is_array(row) ? json_array_get(row, (size_t)index) : row;
}

static void cell_add(ep_text_table *table, const json_t *cell) {
  if (json_is_string(cell) || json_is_null(cell)) {
    ep_text_table_cell(table, json_string_value(cell), EP_COLOUR_PLAIN);
    return;
  }
  char *text = json_dumps(cell, JSON_ENCODE_ANY | JSON_REAL_PRECISION(DIGITS));
  ep_text_table_cell(table, text, EP_COLOUR_PLAIN);
  free(text);
}

/* The titles are lent by `first`, or written to numbers: [EP_TEXT_TABLE_COLUMNS]. */
static void columns_add(ep_text_table *table, const json_t *first, char numbers[][NUMBER_BYTES]) {
  const char *name;
  json_t *cell;
  if (json_is_object(first)) {
    json_object_foreach((json_t *)first, name, cell)
        ep_text_table_column(table, name, json_is_number(cell), true);
    return;
  }
  size_t count = json_is_array(first) ? json_array_size(first) : 1;
  for (size_t i = 0; i < count && i < EP_TEXT_TABLE_COLUMNS; i++) {
    snprintf(numbers[i], NUMBER_BYTES, "%zu", i + 1);
    ep_text_table_column(table, numbers[i], true, true);
  }
}

static size_t columns_of(const json_t *first) {
  return json_is_object(first)  ? json_object_size(first)
         : json_is_array(first) ? json_array_size(first)
                                : 1;
}

static void rows_print(const ep_terminal *terminal, const json_t *rows) {
  char numbers[EP_TEXT_TABLE_COLUMNS][NUMBER_BYTES];
  const json_t *first = json_array_get(rows, 0);
  ep_text_table table = {0};
  columns_add(&table, first, numbers);
  for (size_t i = 0; i < json_array_size(rows); i++)
    for (int k = 0; k < table.columns_count; k++)
      cell_add(&table, cell_at(json_array_get(rows, i), table.columns[k].title, k));
  ep_text_table_print(&table, terminal, true);
  size_t columns = columns_of(first), shown = (size_t)table.columns_count;
  if (columns > shown) printf("and %zu more columns; --json has them\n", columns - shown);
  ep_text_table_deinit(&table);
}

static ep_status subcommand_run(ep_client *client, const ep_arguments *arguments, ep_error *error) {
  static const char *const OPTIONS[][2] = {{"rows", "limit"}, {"split", "split"}};
  char path[EP_REQUEST_PATH_BYTES];
  json_t *page = NULL;
  ep_path_make(path, "/v1/datasets/", arguments->words[0], "/rows");
  for (size_t i = 0; i < sizeof OPTIONS / sizeof *OPTIONS; i++) {
    const char *value = ep_arguments_value(arguments, OPTIONS[i][0]);
    if (value) ep_path_query(path, OPTIONS[i][1], value);
  }
  ep_status status = ep_client_get(client, path, &page, error);
  if (status != EP_OK || !page) return status;
  const json_t *rows = ep_json_at(page, "data");
  rows_print(&client->terminal, rows);
  printf("%zu of %lld rows\n", json_array_size(rows), (long long)ep_json_integer_at(page, "total"));
  json_decref(page);
  return EP_OK;
}

/* clang-format off */
static const ep_option OPTIONS[] = {
  {.name = "rows", .letter = 'n', .kind = EP_OPTION_INTEGER, .value = "N", .min = 1, .max = EP_LIMIT_SHOWN_ROWS,
   .doc = "how many (20)"},
  {.name = "split", .kind = EP_OPTION_CHOICE, .value = "train|validation|test",
   .doc = "the part to print (train)"},
  {.name = NULL}};

const ep_subcommand ep_subcommand_data_head = {
  .name = "data head", .words = "NAME", .kind = EP_WORD_DATASET, .least = 1, .most = 1,
  .options = OPTIONS, .run = subcommand_run,
  .summary = "print the first rows of a data set",
  .details = "A missing cell is empty, and so is text, which is not stored.",
  .examples = "epochctl data head houses --rows 5"};
/* clang-format on */
