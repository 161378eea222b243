/* ls.c: epochctl ls. */
#include <math.h>
#include <stdio.h>

#include "clients/epochctl/commands/table.h"
#include "clients/epochctl/http/json_at.h"
#include "clients/epochctl/jobs/list.h"
#include "clients/epochctl/jobs/summary.h"
#include "clients/epochctl/terminal/human.h"

enum { CELL_BYTES = 64 };

/* The metric of the test set that the list shows: accuracy, else r2, else loss. */
static void score_write(const json_t *job, char text[CELL_BYTES]) {
  static const char *const KEYS[][2] = {{"metrics.test.accuracy", "accuracy"},
                                        {"metrics.test.r2", "r2"},
                                        {"metrics.test.loss", "loss"}};
  char number[EP_HUMAN_BYTES];
  *text = 0;
  for (size_t i = 0; i < 3 && !*text; i++) {
    double value = ep_json_number_at(job, KEYS[i][0]);
    if (!isnan(value))
      snprintf(text, CELL_BYTES, "%s %s", KEYS[i][1], ep_human_number(value, number));
  }
}

static void row_add(ep_text_table *table, const json_t *job) {
  char text[CELL_BYTES];
  const char *status = ep_json_text_at(job, "status");
  ep_text_table_cell(table, ep_json_text_at(job, "id"), EP_COLOUR_PLAIN);
  ep_text_table_cell(table, ep_json_text_at(job, "name"), EP_COLOUR_BOLD);
  ep_text_table_cell(table, status, ep_job_status_colour(status));
  ep_text_table_cell(table, ep_human_percent(ep_json_number_at(job, "progress.fraction"), text),
                     EP_COLOUR_PLAIN);
  ep_job_list_time_cell(table, job);
  double loss = ep_json_number_at(job, "metrics.train.loss");
  ep_text_table_cell(table, isnan(loss) ? "" : ep_human_number(loss, text), EP_COLOUR_PLAIN);
  score_write(job, text);
  ep_text_table_cell(table, text, EP_COLOUR_PLAIN);
  ep_text_table_cell(table, ep_json_text_at(job, "device"), EP_COLOUR_PLAIN);
  ep_text_table_cell(table, ep_human_age(ep_json_text_at(job, "created_at"), text), EP_COLOUR_DIM);
}

static ep_status subcommand_run(ep_client *client, const ep_arguments *arguments, ep_error *error) {
  static const ep_text_column COLUMNS[] = {
      {"job", false, false}, {"name", false, true},   {"status", false, false},
      {"done", true, false}, {"time", true, true},    {"loss", true, false},
      {"test", false, true}, {"device", false, true}, {"created", false, true}};
  static const ep_job_list JOBS = {"/v1/jobs?view=summary", COLUMNS,
                                   sizeof COLUMNS / sizeof *COLUMNS, row_add, "no jobs"};
  return ep_job_list_print(client, arguments, &JOBS, error);
}

/* clang-format off */
const ep_subcommand ep_subcommand_ls = {
  .name = "ls", .words = "", .kind = EP_WORD_TEXT, .least = 0, .most = 0,
  .options = EP_JOB_LIST_OPTIONS, .run = subcommand_run,
  .summary = "list jobs, the newest first",
  .examples =
    "epochctl ls --state failed\n"
    "epochctl rm $(epochctl ls -q --tag trial)"};
/* clang-format on */
