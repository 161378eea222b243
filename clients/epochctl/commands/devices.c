/* devices.c: epochctl devices. */
#include <stdio.h>
#include <string.h>

#include "clients/epochctl/commands/table.h"
#include "clients/epochctl/http/json_at.h"
#include "clients/epochctl/terminal/human.h"
#include "clients/epochctl/terminal/text_table.h"

/* Of a partition of Slurm: "3 nodes, 1 idle, 1 unavailable; 4 of 8 GPUs idle; at most 120 min". */
static void partition_format(const json_t *partition, char *text, size_t bytes) {
  const long long nodes = (long long)ep_json_number_at(partition, "nodes"),
                  away = (long long)ep_json_number_at(partition, "nodes_unavailable"),
                  gpus = (long long)ep_json_number_at(partition, "gpus"),
                  minutes = (long long)ep_json_number_at(partition, "max_minutes");
  const bool up = json_is_true(ep_json_at(partition, "up"));
  int used = snprintf(text, bytes, "%s%lld node%s, %lld idle", up ? "" : "down: ", nodes,
                      nodes == 1 ? "" : "s", (long long)ep_json_number_at(partition, "nodes_idle"));
  if (away > 0) used += snprintf(text + used, bytes - (size_t)used, ", %lld unavailable", away);
  if (gpus > 0)
    used += snprintf(text + used, bytes - (size_t)used, "; %lld of %lld GPUs idle",
                     (long long)ep_json_number_at(partition, "gpus_idle"), gpus);
  if (minutes > 0) snprintf(text + used, bytes - (size_t)used, "; at most %lld min", minutes);
}

static void row_add(ep_text_table *table, const json_t *device) {
  char text[EP_HUMAN_BYTES], nodes[256];
  const json_t *partition = ep_json_at(device, "partition");
  const char *state = ep_json_text_at(device, "state");
  size_t jobs = json_array_size(ep_json_at(device, "jobs"));
  ep_text_table_cell(table, ep_json_text_at(device, "id"), EP_COLOUR_BOLD);
  ep_text_table_cell(table, state, strcmp(state, "lost") == 0 ? EP_COLOUR_RED : EP_COLOUR_PLAIN);
  snprintf(text, sizeof text, "%zu jobs", jobs);
  ep_text_table_cell(table, jobs > 1 ? text : ep_json_text_at(device, "job"), EP_COLOUR_PLAIN);
  ep_human_bytes(json_is_object(partition) ? ep_json_number_at(partition, "node_memory_bytes")
                                           : ep_json_number_at(device, "memory_bytes"),
                 text);
  ep_text_table_cell(table, text, EP_COLOUR_PLAIN);
  ep_human_bytes(ep_json_number_at(device, "memory_free_bytes"), text);
  ep_text_table_cell(table, text, EP_COLOUR_PLAIN);
  if (json_is_object(partition)) partition_format(partition, nodes, sizeof nodes);
  ep_text_table_cell(table, json_is_object(partition) ? nodes : ep_json_text_at(device, "name"),
                     EP_COLOUR_PLAIN);
  ep_text_table_cell(table, ep_json_text_at(device, "instruction_set"), EP_COLOUR_PLAIN);
}

static ep_status subcommand_run(ep_client *client, const ep_arguments *arguments, ep_error *error) {
  static const ep_text_column COLUMNS[] = {{"device", false, false},     {"state", false, false},
                                           {"job", false, true},         {"memory", true, false},
                                           {"free", true, false},        {"name", false, true},
                                           {"instructions", false, true}};
  json_t *list = NULL;
  const json_t *device;
  size_t index;
  ep_text_table table = {0};
  (void)arguments;
  ep_status status = ep_client_get(client, "/v1/devices", &list, error);
  if (status != EP_OK || !list) return status;
  ep_text_table_columns(&table, COLUMNS, sizeof COLUMNS / sizeof COLUMNS[0]);
  json_array_foreach(ep_json_at(list, "data"), index, device) row_add(&table, device);
  ep_text_table_print(&table, &client->terminal, true);
  ep_text_table_deinit(&table);
  json_decref(list);
  return EP_OK;
}

/* clang-format off */
const ep_subcommand ep_subcommand_devices = {
  .name = "devices", .words = "", .kind = EP_WORD_TEXT, .least = 0, .most = 0,
  .run = subcommand_run,
  .summary = "list devices"};
/* clang-format on */
