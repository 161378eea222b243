/* queue.c: epochctl queue. */
#include <stdio.h>

#include "clients/epochctl/commands/table.h"
#include "clients/epochctl/http/json_at.h"
#include "clients/epochctl/terminal/human.h"
#include "clients/epochctl/terminal/text_table.h"

static void row_add(ep_text_table *table, const json_t *job) {
  char text[EP_HUMAN_BYTES];
  bool waits = json_is_integer(ep_json_at(job, "position"));
  ep_human_count(ep_json_integer_at(job, "position"), text);
  ep_text_table_cell(table, waits ? text : "runs", EP_COLOUR_PLAIN);
  ep_text_table_cell(table,
                     waits ? ep_human_seconds(ep_json_number_at(job, "start_seconds"), text) : "",
                     EP_COLOUR_PLAIN);
  ep_human_count(ep_json_integer_at(job, "priority"), text);
  ep_text_table_cell(table, text, EP_COLOUR_PLAIN);
  ep_text_table_cell(table, ep_json_text_at(job, "id"), EP_COLOUR_PLAIN);
  ep_text_table_cell(table, ep_json_text_at(job, "owner"), EP_COLOUR_PLAIN);
  ep_text_table_cell(table, ep_json_text_at(job, "name"), EP_COLOUR_BOLD);
}

static ep_status subcommand_run(ep_client *client, const ep_arguments *arguments, ep_error *error) {
  static const ep_text_column COLUMNS[] = {{"position", true, false}, {"starts in", true, false},
                                           {"priority", true, false}, {"job", false, false},
                                           {"owner", false, true},    {"name", false, true}};
  json_t *queue = NULL;
  const json_t *job;
  size_t index;
  char running[EP_HUMAN_BYTES], queued[EP_HUMAN_BYTES];
  ep_text_table table = {0};
  (void)arguments;
  ep_status status = ep_client_get(client, "/v1/queue", &queue, error);
  if (status != EP_OK || !queue) return status;
  printf("%s running, %s waiting\n", ep_human_count(ep_json_integer_at(queue, "running"), running),
         ep_human_count(ep_json_integer_at(queue, "queued"), queued));
  ep_text_table_columns(&table, COLUMNS, sizeof COLUMNS / sizeof COLUMNS[0]);
  json_array_foreach(ep_json_at(queue, "jobs"), index, job) row_add(&table, job);
  if (table.cells_count > 0) ep_text_table_print(&table, &client->terminal, true);
  ep_text_table_deinit(&table);
  json_decref(queue);
  return EP_OK;
}

/* clang-format off */
const ep_subcommand ep_subcommand_queue = {
  .name = "queue", .words = "", .kind = EP_WORD_TEXT, .least = 0, .most = 0,
  .run = subcommand_run,
  .summary = "list running and queued jobs, and when the queued ones will start"};
/* clang-format on */
