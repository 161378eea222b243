/* checkpoints.c: epochctl checkpoints. */
#include <math.h>
#include <stdio.h>

#include "clients/epochctl/commands/table.h"
#include "clients/epochctl/http/json_at.h"
#include "clients/epochctl/http/path.h"
#include "clients/epochctl/terminal/human.h"
#include "clients/epochctl/terminal/text_table.h"

static void row_add(ep_text_table *table, const json_t *checkpoint) {
  char text[EP_HUMAN_BYTES];
  double loss = ep_json_number_at(checkpoint, "loss");
  /* as --checkpoint takes it: without commas */
  snprintf(text, sizeof text, "%lld", (long long)ep_json_integer_at(checkpoint, "step"));
  ep_text_table_cell(table, text, EP_COLOUR_BOLD);
  ep_human_count(ep_json_integer_at(checkpoint, "epoch"), text);
  ep_text_table_cell(table, text, EP_COLOUR_PLAIN);
  ep_human_count(ep_json_integer_at(checkpoint, "epochs"), text);
  ep_text_table_cell(table, text, EP_COLOUR_DIM);
  ep_text_table_cell(table, isnan(loss) ? "" : ep_human_number(loss, text), EP_COLOUR_PLAIN);
  ep_human_seconds(ep_json_number_at(checkpoint, "train_seconds"), text);
  ep_text_table_cell(table, text, EP_COLOUR_PLAIN);
  ep_human_bytes(ep_json_number_at(checkpoint, "bytes"), text);
  ep_text_table_cell(table, text, EP_COLOUR_PLAIN);
  ep_human_bytes(ep_json_number_at(checkpoint, "weights.bytes"), text);
  ep_text_table_cell(table, text, EP_COLOUR_PLAIN);
  ep_text_table_cell(table, ep_json_text_at(checkpoint, "executor"), EP_COLOUR_PLAIN);
  ep_human_age(ep_json_text_at(checkpoint, "created_at"), text);
  ep_text_table_cell(table, text, EP_COLOUR_DIM);
}

static ep_status subcommand_run(ep_client *client, const ep_arguments *arguments, ep_error *error) {
  static const ep_text_column COLUMNS[] = {
      {"step", true, false},    {"epoch", true, false},     {"of", true, false},
      {"loss", true, false},    {"training", true, false},  {"size", true, false},
      {"weights", true, false}, {"executor", false, false}, {"created", false, true}};
  char path[EP_REQUEST_PATH_BYTES];
  json_t *list = NULL;
  const json_t *checkpoint;
  size_t index;
  ep_text_table table = {0};
  ep_path_make(path, "/v1/jobs/", arguments->words[0], "/checkpoints");
  ep_status status = ep_client_get(client, path, &list, error);
  if (status != EP_OK || !list) return status;
  ep_text_table_columns(&table, COLUMNS, sizeof COLUMNS / sizeof COLUMNS[0]);
  json_array_foreach(ep_json_at(list, "data"), index, checkpoint) row_add(&table, checkpoint);
  if (table.cells_count == 0)
    puts("no checkpoints");
  else
    ep_text_table_print(&table, &client->terminal, true);
  ep_text_table_deinit(&table);
  json_decref(list);
  return EP_OK;
}

/* clang-format off */
const ep_subcommand ep_subcommand_checkpoints = {
  .name = "checkpoints", .words = "JOB", .kind = EP_WORD_JOB, .least = 1, .most = 1,
  .run = subcommand_run,
  .summary = "list a job's checkpoints, the newest first",
  .details =
    "A step is one update of the weights. The commands weights and predict take --checkpoint STEP.",
  .examples =
    "epochctl checkpoints last\n"
    "epochctl checkpoints last --json | jq '.data[0].step'"};
/* clang-format on */
