#include "clients/epochctl/jobs/list.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "api/limits.h"
#include "api/visibility.h"
#include "api/vocabulary.h"
#include "clients/epochctl/http/json_at.h"
#include "clients/epochctl/http/path.h"
#include "clients/epochctl/terminal/human.h"
#include "clients/epochctl/terminal/text.h"

enum { CELL_BYTES = 64 };

void ep_job_list_time_cell(ep_text_table *table, const json_t *item) {
  char text[CELL_BYTES] = "", number[EP_HUMAN_BYTES];
  double left = ep_json_number_at(item, "eta_seconds");
  double took = ep_json_number_at(item, "timing.train_seconds");
  int state = ep_state_from_name(ep_json_text_at(item, "status"));
  bool ended = state < 0 || ep_state_has_ended((ep_state)state);
  if (!ended && !isnan(left))
    snprintf(text, sizeof text, "%s left", ep_human_seconds(left, number));
  else if (ended && !isnan(took))
    snprintf(text, sizeof text, "%s", ep_human_seconds(took, number));
  ep_text_table_cell(table, text, EP_COLOUR_PLAIN);
}

static void ids_print(const json_t *list) {
  char id[CELL_BYTES];
  const json_t *item;
  size_t index;
  json_array_foreach(ep_json_at(list, "data"), index, item) {
    ep_text_copy(id, sizeof id, ep_json_text_at(item, "id"));
    puts(id);
  }
}

/* The owner, and whether they alone see it. */
static void owner_cell(ep_text_table *table, const json_t *item) {
  char text[CELL_BYTES + 16];
  bool private = ep_visibility_from_name(ep_json_text_at(item, "visibility")) == true;
  snprintf(text, sizeof text, "%.*s%s", CELL_BYTES, ep_json_text_at(item, "owner"),
           private ? " (private)" : "");
  ep_text_table_cell(table, text, EP_COLOUR_PLAIN);
}

static void table_print(const ep_terminal *terminal, const json_t *page, const ep_job_list *list,
                        bool wide) {
  ep_text_table table = {0};
  const json_t *item;
  size_t index;
  ep_text_table_columns(&table, list->columns, list->columns_count);
  if (wide) ep_text_table_column(&table, "owner", false, true);
  json_array_foreach(ep_json_at(page, "data"), index, item) {
    list->row(&table, item);
    if (wide) owner_cell(&table, item);
  }
  ep_text_table_print(&table, terminal, true);
  ep_text_table_deinit(&table);
  if (json_is_true(ep_json_at(page, "has_more"))) puts("and older ones: --limit N");
}

static void path_write(const ep_arguments *arguments, const char *list,
                       char path[EP_REQUEST_PATH_BYTES]) {
  enum { LIMIT_DEFAULT = 20 };
  char limit[32];
  const char *state = ep_arguments_value(arguments, "state");
  const char *owner = ep_arguments_value(arguments, "owner");
  ep_path_make(path, list, "", "");
  snprintf(limit, sizeof limit, "%lld",
           (long long)ep_arguments_integer(arguments, "limit", LIMIT_DEFAULT));
  ep_path_query(path, "limit", limit);
  if (state) ep_path_query(path, "state", state);
  if (owner) ep_path_query(path, "owner", owner);
  for (int i = 0; i < arguments->given_count; i++)
    if (strcmp(arguments->given[i].option->name, "tag") == 0)
      ep_path_query(path, "tag", arguments->given[i].value);
}

ep_status ep_job_list_print(ep_client *client, const ep_arguments *arguments,
                            const ep_job_list *list, ep_error *error) {
  char path[EP_REQUEST_PATH_BYTES];
  json_t *page = NULL;
  path_write(arguments, list->path, path);
  ep_status status = ep_client_get(client, path, &page, error);
  if (status != EP_OK || !page) return status;
  if (ep_arguments_has(arguments, "quiet"))
    ids_print(page);
  else if (json_array_size(ep_json_at(page, "data")) == 0)
    puts(list->none);
  else
    table_print(&client->terminal, page, list, ep_arguments_has(arguments, "output"));
  json_decref(page);
  return EP_OK;
}

/* clang-format off */
const ep_option EP_JOB_LIST_OPTIONS[] = {
  {.name = "state", .kind = EP_OPTION_CHOICE, .value = "queued|running|pausing|paused|succeeded|failed|cancelled",
   .doc = "only these"},
  {.name = "tag", .letter = 't', .kind = EP_OPTION_TEXT, .value = "TAG",
   .doc = "only those with this tag; repeatable: with all of these tags"},
  {.name = "limit", .letter = 'l', .kind = EP_OPTION_INTEGER, .value = "N", .min = 1,
   .max = EP_LIMIT_LIST_JOBS, .doc = "at most this many, the newest (20)"},
  {.name = "owner", .kind = EP_OPTION_TEXT, .value = "OWNER", .doc = "only those of this owner"},
  {.name = "output", .letter = 'o', .kind = EP_OPTION_CHOICE, .value = "wide", .doc = "wide: with owners and visibility"},
  {.name = "quiet", .letter = 'q', .kind = EP_OPTION_SWITCH, .doc = "ids alone"},
  {.name = NULL}};
/* clang-format on */
