/* ls.c: epochctl data ls. */
#include "clients/epochctl/client/collection.h"
#include "clients/epochctl/commands/table.h"
#include "clients/epochctl/http/json_at.h"
#include "clients/epochctl/terminal/human.h"

static void cells_add(ep_text_table *table, const json_t *item) {
  char text[EP_HUMAN_BYTES];
  ep_text_table_cell(table, ep_json_text_at(item, "role"), EP_COLOUR_PLAIN);
  ep_text_table_cell(table, ep_json_text_at(item, "format"), EP_COLOUR_PLAIN);
  ep_text_table_cell(table, ep_human_count(ep_json_integer_at(item, "rows"), text),
                     EP_COLOUR_PLAIN);
  ep_text_table_cell(table, ep_human_bytes(ep_json_number_at(item, "bytes"), text),
                     EP_COLOUR_PLAIN);
  ep_text_table_cell(table, ep_human_age(ep_json_text_at(item, "created_at"), text), EP_COLOUR_DIM);
}

static ep_status subcommand_run(ep_client *client, const ep_arguments *arguments, ep_error *error) {
  static const ep_text_column COLUMNS[] = {{"data set", false, true}, {"role", false, false},
                                           {"format", false, false},  {"rows", true, false},
                                           {"bytes", true, false},    {"uploaded", false, true}};
  static const ep_collection DATASETS = {"/v1/datasets", COLUMNS, sizeof COLUMNS / sizeof *COLUMNS,
                                         cells_add,
                                         "no data sets; epochctl data put NAME FILE uploads one"};
  return ep_collection_print(client, arguments, &DATASETS, error);
}

/* clang-format off */
static const ep_option OPTIONS[] = {
  {.name = "quiet", .letter = 'q', .kind = EP_OPTION_SWITCH, .doc = "names alone"},
  {.name = NULL}};

const ep_subcommand ep_subcommand_data_ls = {
  .name = "data ls", .words = "", .kind = EP_WORD_TEXT, .least = 0, .most = 0,
  .options = OPTIONS, .run = subcommand_run,
  .summary = "list data sets"};
/* clang-format on */
