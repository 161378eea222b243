/* ls.c: epochctl ls. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "api/limits.h"
#include "api/vocabulary.h"
#include "clients/epochctl/commands/table.h"
#include "clients/epochctl/http/json_at.h"
#include "clients/epochctl/http/path.h"
#include "clients/epochctl/jobs/summary.h"
#include "clients/epochctl/terminal/human.h"
#include "clients/epochctl/terminal/text.h"
#include "clients/epochctl/terminal/text_table.h"

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

/* The seconds of training: those left of a job that has not ended, else those it took. */
static void time_write(const json_t *job, char text[CELL_BYTES]) {
  char number[EP_HUMAN_BYTES];
  double left = ep_json_number_at(job, "eta_seconds");
  double took = ep_json_number_at(job, "timing.train_seconds");
  int state = ep_state_from_name(ep_json_text_at(job, "status"));
  bool ended = state < 0 || ep_state_has_ended((ep_state)state);
  *text = 0;
  if (!ended && !isnan(left))
    snprintf(text, CELL_BYTES, "%s left", ep_human_seconds(left, number));
  else if (ended && !isnan(took))
    snprintf(text, CELL_BYTES, "%s", ep_human_seconds(took, number));
}

static void row_add(ep_text_table *table, const json_t *job) {
  char text[CELL_BYTES];
  const char *status = ep_json_text_at(job, "status");
  ep_text_table_cell(table, ep_json_text_at(job, "id"), EP_COLOUR_PLAIN);
  ep_text_table_cell(table, ep_json_text_at(job, "name"), EP_COLOUR_BOLD);
  ep_text_table_cell(table, status, ep_job_status_colour(status));
  ep_text_table_cell(table, ep_human_percent(ep_json_number_at(job, "progress.fraction"), text),
                     EP_COLOUR_PLAIN);
  time_write(job, text);
  ep_text_table_cell(table, text, EP_COLOUR_PLAIN);
  double loss = ep_json_number_at(job, "metrics.train.loss");
  ep_text_table_cell(table, isnan(loss) ? "" : ep_human_number(loss, text), EP_COLOUR_PLAIN);
  score_write(job, text);
  ep_text_table_cell(table, text, EP_COLOUR_PLAIN);
  ep_text_table_cell(table, ep_json_text_at(job, "device"), EP_COLOUR_PLAIN);
  ep_text_table_cell(table, ep_human_age(ep_json_text_at(job, "created_at"), text), EP_COLOUR_DIM);
}

static void jobs_print(const ep_terminal *terminal, const json_t *list) {
  static const ep_text_column COLUMNS[] = {
      {"job", false, false}, {"name", false, true},   {"status", false, false},
      {"done", true, false}, {"time", true, true},    {"loss", true, false},
      {"test", false, true}, {"device", false, true}, {"created", false, true}};
  ep_text_table table = {0};
  const json_t *job;
  size_t index;
  ep_text_table_columns(&table, COLUMNS, sizeof COLUMNS / sizeof COLUMNS[0]);
  json_array_foreach(ep_json_at(list, "data"), index, job) row_add(&table, job);
  ep_text_table_print(&table, terminal, true);
  ep_text_table_deinit(&table);
  if (json_is_true(ep_json_at(list, "has_more"))) puts("and older ones: --limit N");
}

static void ids_print(const json_t *list) {
  char id[CELL_BYTES];
  const json_t *job;
  size_t index;
  json_array_foreach(ep_json_at(list, "data"), index, job) {
    ep_text_copy(id, sizeof id, ep_json_text_at(job, "id"));
    puts(id);
  }
}

static void path_write(const ep_arguments *arguments, char path[EP_REQUEST_PATH_BYTES]) {
  enum { LIMIT_DEFAULT = 20 };
  char limit[32];
  const char *state = ep_arguments_value(arguments, "state");
  ep_path_make(path, "/v1/jobs?view=summary", "", "");
  snprintf(limit, sizeof limit, "%lld",
           (long long)ep_arguments_integer(arguments, "limit", LIMIT_DEFAULT));
  ep_path_query(path, "limit", limit);
  if (state) ep_path_query(path, "state", state);
  for (int i = 0; i < arguments->given_count; i++)
    if (strcmp(arguments->given[i].option->name, "tag") == 0)
      ep_path_query(path, "tag", arguments->given[i].value);
}

static ep_status subcommand_run(ep_client *client, const ep_arguments *arguments, ep_error *error) {
  char path[EP_REQUEST_PATH_BYTES];
  json_t *list = NULL;
  path_write(arguments, path);
  ep_status status = ep_client_get(client, path, &list, error);
  if (status != EP_OK || !list) return status;
  if (ep_arguments_has(arguments, "quiet"))
    ids_print(list);
  else if (json_array_size(ep_json_at(list, "data")) == 0)
    puts("no jobs");
  else
    jobs_print(&client->terminal, list);
  json_decref(list);
  return EP_OK;
}

/* clang-format off */
static const ep_option OPTIONS[] = {
  {.name = "state", .kind = EP_OPTION_CHOICE, .value = "queued|running|pausing|paused|succeeded|failed|cancelled",
   .doc = "only these"},
  {.name = "tag", .letter = 't', .kind = EP_OPTION_TEXT, .value = "TAG",
   .doc = "only jobs with this tag; may be given again: with all of them"},
  {.name = "limit", .letter = 'l', .kind = EP_OPTION_INTEGER, .value = "N", .min = 1,
   .max = EP_LIMIT_LIST_JOBS, .doc = "at most so many, the newest (20)"},
  {.name = "quiet", .letter = 'q', .kind = EP_OPTION_SWITCH, .doc = "ids alone"},
  {.name = NULL}};

const ep_subcommand ep_subcommand_ls = {
  .name = "ls", .words = "", .kind = EP_WORD_TEXT, .least = 0, .most = 0,
  .options = OPTIONS, .run = subcommand_run,
  .summary = "list jobs, the newest first",
  .examples =
    "epochctl ls --state failed\n"
    "epochctl rm $(epochctl ls -q --tag trial)"};
/* clang-format on */
