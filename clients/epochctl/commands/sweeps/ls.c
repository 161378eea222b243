/* ls.c: epochctl sweeps ls. */
#include <math.h>
#include <stdio.h>

#include "clients/epochctl/commands/table.h"
#include "clients/epochctl/http/json_at.h"
#include "clients/epochctl/jobs/list.h"
#include "clients/epochctl/jobs/summary.h"
#include "clients/epochctl/terminal/human.h"

enum { CELL_BYTES = 128 };

/* "validation.loss 0.011" of the best trial. */
static void best_cell(ep_text_table *table, const json_t *sweep) {
  char text[CELL_BYTES] = "", number[EP_HUMAN_BYTES];
  double best = ep_json_number_at(sweep, "best.metric");
  if (!isnan(best))
    snprintf(text, sizeof text, "%.64s %s", ep_json_text_at(sweep, "metric"),
             ep_human_number(best, number));
  ep_text_table_cell(table, text, EP_COLOUR_PLAIN);
}

static void row_add(ep_text_table *table, const json_t *sweep) {
  char text[EP_HUMAN_BYTES];
  const char *status = ep_json_text_at(sweep, "status");
  ep_text_table_cell(table, ep_json_text_at(sweep, "id"), EP_COLOUR_PLAIN);
  ep_text_table_cell(table, ep_json_text_at(sweep, "name"), EP_COLOUR_BOLD);
  ep_text_table_cell(table, status, ep_job_status_colour(status));
  ep_text_table_cell(table, ep_human_percent(ep_json_number_at(sweep, "progress.fraction"), text),
                     EP_COLOUR_PLAIN);
  ep_job_list_time_cell(table, sweep);
  ep_text_table_cell(table, ep_human_count(ep_json_integer_at(sweep, "progress.total"), text),
                     EP_COLOUR_PLAIN);
  best_cell(table, sweep);
  ep_text_table_cell(table, ep_json_text_at(sweep, "device"), EP_COLOUR_PLAIN);
  ep_text_table_cell(table, ep_human_age(ep_json_text_at(sweep, "created_at"), text),
                     EP_COLOUR_DIM);
}

static ep_status subcommand_run(ep_client *client, const ep_arguments *arguments, ep_error *error) {
  static const ep_text_column COLUMNS[] = {
      {"sweep", false, false}, {"name", false, true},   {"status", false, false},
      {"done", true, false},   {"time", true, true},    {"trainings", true, false},
      {"best", false, true},   {"device", false, true}, {"created", false, true}};
  static const ep_job_list SWEEPS = {"/v1/sweeps", COLUMNS, sizeof COLUMNS / sizeof *COLUMNS,
                                     row_add, "no sweeps"};
  return ep_job_list_print(client, arguments, &SWEEPS, error);
}

/* clang-format off */
const ep_subcommand ep_subcommand_sweeps_ls = {
  .name = "sweeps ls", .words = "", .kind = EP_WORD_TEXT, .least = 0, .most = 0,
  .options = EP_JOB_LIST_OPTIONS, .run = subcommand_run,
  .summary = "list sweeps, the newest first"};
/* clang-format on */
