/* command_service.c: devices, queue. */
#include <stdio.h>
#include <string.h>

#include "clients/epochctl/commands.h"
#include "clients/epochctl/fields.h"
#include "clients/epochctl/figures.h"
#include "clients/epochctl/http.h"
#include "clients/epochctl/summary.h"
#include "clients/epochctl/table.h"

ep_status ep_command_devices(ep_session *session, const ep_arguments *arguments, ep_error *error) {
  json_t *list = NULL;
  const json_t *item;
  size_t index;
  char text[EP_FIGURE_BYTES];
  ep_table table = {0};
  (void)arguments;
  ep_status status = ep_get_ask(session, "/v1/devices", &list, error);
  if (status || !list) return status;
  ep_table_column(&table, "device", false, false);
  ep_table_column(&table, "state", false, false);
  ep_table_column(&table, "job", false, true);
  ep_table_column(&table, "memory", true, false);
  ep_table_column(&table, "free", true, false);
  ep_table_column(&table, "name", false, true);
  ep_table_column(&table, "instructions", false, true);
  json_array_foreach(ep_field(list, "data"), index, item) {
    const char *state = ep_field_text(item, "state");
    bool lost = strcmp(state, "lost") == 0;
    ep_table_cell(&table, ep_field_text(item, "id"), EP_COLOUR_BOLD);
    ep_table_cell(&table, state, lost ? EP_COLOUR_RED : EP_COLOUR_PLAIN);
    size_t jobs = json_array_size(ep_field(item, "jobs"));
    snprintf(text, sizeof text, "%zu jobs", jobs);
    ep_table_cell(&table, jobs > 1 ? text : ep_field_text(item, "job"), EP_COLOUR_PLAIN);
    ep_figure_bytes(ep_field_number(item, "memory_bytes"), text);
    ep_table_cell(&table, text, EP_COLOUR_PLAIN);
    ep_figure_bytes(ep_field_number(item, "memory_free_bytes"), text);
    ep_table_cell(&table, text, EP_COLOUR_PLAIN);
    ep_table_cell(&table, ep_field_text(item, "name"), EP_COLOUR_PLAIN);
    ep_table_cell(&table, ep_field_text(item, "instruction_set"), EP_COLOUR_PLAIN);
  }
  ep_table_print(&table, &session->terminal, true);
  ep_table_deinit(&table);
  json_decref(list);
  return EP_OK;
}

ep_status ep_command_queue(ep_session *session, const ep_arguments *arguments, ep_error *error) {
  json_t *queue = NULL;
  const json_t *item;
  size_t index;
  char a[EP_FIGURE_BYTES], b[EP_FIGURE_BYTES];
  ep_table table = {0};
  (void)arguments;
  ep_status status = ep_get_ask(session, "/v1/queue", &queue, error);
  if (status || !queue) return status;
  printf("%s running, %s waiting\n", ep_figure_count(ep_field_integer(queue, "running"), a),
         ep_figure_count(ep_field_integer(queue, "queued"), b));
  ep_table_column(&table, "position", true, false);
  ep_table_column(&table, "priority", true, false);
  ep_table_column(&table, "job", false, false);
  ep_table_column(&table, "name", false, true);
  json_array_foreach(ep_field(queue, "jobs"), index, item) {
    bool waits = json_is_integer(ep_field(item, "position"));
    ep_table_cell(&table, waits ? ep_figure_count(ep_field_integer(item, "position"), a) : "runs",
                  EP_COLOUR_PLAIN);
    ep_table_cell(&table, ep_figure_count(ep_field_integer(item, "priority"), a), EP_COLOUR_PLAIN);
    ep_table_cell(&table, ep_field_text(item, "id"), EP_COLOUR_PLAIN);
    ep_table_cell(&table, ep_field_text(item, "name"), EP_COLOUR_BOLD);
  }
  if (table.cells_count > 0) ep_table_print(&table, &session->terminal, true);
  ep_table_deinit(&table);
  json_decref(queue);
  return EP_OK;
}
