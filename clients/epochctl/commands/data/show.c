/* show.c: epochctl data show. */
#include <stdio.h>

#include "clients/epochctl/commands/data/dataset.h"
#include "clients/epochctl/commands/table.h"
#include "clients/epochctl/http/json_at.h"
#include "clients/epochctl/http/path.h"
#include "clients/epochctl/terminal/human.h"
#include "clients/epochctl/terminal/text.h"
#include "clients/epochctl/terminal/text_table.h"

enum { SHOWN_COLUMNS = 100, TEXT_BYTES = 256 };

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

static void column_add(ep_text_table *table, const json_t *column) {
  char text[EP_HUMAN_BYTES];
  bool whole = json_is_true(ep_json_at(column, "integer"));
  ep_text_table_cell(table, ep_json_text_at(column, "name"), EP_COLOUR_BOLD);
  ep_text_table_cell(table, ep_human_number(ep_json_number_at(column, "min"), text),
                     EP_COLOUR_PLAIN);
  ep_text_table_cell(table, ep_human_number(ep_json_number_at(column, "max"), text),
                     EP_COLOUR_PLAIN);
  ep_text_table_cell(table, whole ? "whole numbers" : "", EP_COLOUR_DIM);
}

static void columns_print(const ep_terminal *terminal, const json_t *columns) {
  static const ep_text_column COLUMNS[] = {{"column", false, true},
                                           {"least", true, false},
                                           {"greatest", true, false},
                                           {"", false, false}};
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

static ep_status subcommand_run(ep_client *client, const ep_arguments *arguments, ep_error *error) {
  char path[EP_REQUEST_PATH_BYTES], sha256[TEXT_BYTES];
  json_t *dataset = NULL;
  ep_path_make(path, "/v1/datasets/", arguments->words[0], "");
  ep_status status = ep_client_get(client, path, &dataset, error);
  if (status != EP_OK || !dataset) return status;
  ep_dataset_print(dataset);
  ep_text_copy(sha256, sizeof sha256, ep_json_text_at(dataset, "sha256"));
  printf("SHA-256 %s\n\n", sha256);
  parts_print(&client->terminal, dataset);
  columns_print(&client->terminal, ep_json_at(dataset, "columns"));
  json_decref(dataset);
  return EP_OK;
}

/* clang-format off */
const ep_subcommand ep_subcommand_data_show = {
  .name = "data show", .words = "NAME", .kind = EP_WORD_DATASET, .least = 1, .most = 1,
  .run = subcommand_run,
  .summary = "print a data set in full",
  .details = "Parts, shapes, columns with their least and greatest values."};
/* clang-format on */
