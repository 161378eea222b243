/* command_jobs.c: ls, show, cancel, rm, set. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clients/epochctl/commands.h"
#include "clients/epochctl/fields.h"
#include "clients/epochctl/figures.h"
#include "clients/epochctl/http.h"
#include "clients/epochctl/job_name.h"
#include "clients/epochctl/summary.h"
#include "clients/epochctl/table.h"

/* The figure that one looks for first: accuracy, or r2, or the test's loss. */
static void score_write(const json_t *job, char text[64]) {
  static const char *const KEYS[][2] = {{"metrics.test.accuracy", "accuracy"},
                                        {"metrics.test.r2", "r2"},
                                        {"metrics.test.loss", "loss"}};
  char figure[EP_FIGURE_BYTES];
  *text = 0;
  for (size_t i = 0; i < 3 && !*text; i++) {
    double value = ep_field_number(job, KEYS[i][0]);
    if (!isnan(value)) snprintf(text, 64, "%s %s", KEYS[i][1], ep_figure_number(value, figure));
  }
}

/* How long it took, or will take. */
static void time_write(const json_t *job, char text[64]) {
  char figure[EP_FIGURE_BYTES];
  double left = ep_field_number(job, "eta_seconds");
  double took = ep_field_number(job, "timing.train_seconds");
  const char *status = ep_field_text(job, "status");
  bool waits = strcmp(status, "queued") == 0 || strcmp(status, "running") == 0;
  *text = 0;
  if (waits && !isnan(left))
    snprintf(text, 64, "%s left", ep_figure_seconds(left, figure));
  else if (!waits && !isnan(took))
    snprintf(text, 64, "%s", ep_figure_seconds(took, figure));
}

static void row_write(ep_table *table, const json_t *job) {
  char text[64];
  const char *status = ep_field_text(job, "status");
  ep_table_cell(table, ep_field_text(job, "id"), EP_COLOUR_PLAIN);
  ep_table_cell(table, ep_field_text(job, "name"), EP_COLOUR_BOLD);
  ep_table_cell(table, status, ep_state_colour(status));
  ep_table_cell(table, ep_figure_percent(ep_field_number(job, "progress.fraction"), text),
                EP_COLOUR_PLAIN);
  time_write(job, text);
  ep_table_cell(table, text, EP_COLOUR_PLAIN);
  double loss = ep_field_number(job, "metrics.train.loss");
  ep_table_cell(table, isnan(loss) ? "" : ep_figure_number(loss, text), EP_COLOUR_PLAIN);
  score_write(job, text);
  ep_table_cell(table, text, EP_COLOUR_PLAIN);
  ep_table_cell(table, ep_field_text(job, "device"), EP_COLOUR_PLAIN);
  ep_table_cell(table, ep_figure_age(ep_field_text(job, "created_at"), text), EP_COLOUR_DIM);
}

static void jobs_print(const ep_session *session, const json_t *list) {
  static const struct {
    const char *title;
    bool right, cuts;
  } COLUMNS[] = {{"job", false, false}, {"name", false, true},   {"status", false, false},
                 {"done", true, false}, {"time", true, true},    {"loss", true, false},
                 {"test", false, true}, {"device", false, true}, {"created", false, true}};
  ep_table table = {0};
  const json_t *job;
  size_t index;
  for (size_t i = 0; i < sizeof COLUMNS / sizeof COLUMNS[0]; i++)
    ep_table_column(&table, COLUMNS[i].title, COLUMNS[i].right, COLUMNS[i].cuts);
  json_array_foreach(ep_field(list, "data"), index, job) row_write(&table, job);
  ep_table_print(&table, &session->terminal, true);
  ep_table_deinit(&table);
  if (json_is_true(ep_field(list, "has_more"))) puts("and older ones: --limit N");
}

ep_status ep_command_ls(ep_session *session, const ep_arguments *arguments, ep_error *error) {
  char path[EP_PATH_MAX_BYTES], text[32];
  const char *state = ep_arguments_value(arguments, "state");
  int64_t limit = ep_arguments_integer(arguments, "limit", 20);
  json_t *list = NULL;
  const json_t *job;
  size_t index;
  ep_path_make(path, "/v1/jobs?view=summary", "", "");
  snprintf(text, sizeof text, "%lld", (long long)limit);
  ep_path_query(path, "limit", text);
  if (state) ep_path_query(path, "state", state);
  for (int i = 0; i < arguments->given_count; i++)
    if (strcmp(arguments->given[i].option->name, "tag") == 0)
      ep_path_query(path, "tag", arguments->given[i].value);
  ep_status status = ep_get_ask(session, path, &list, error);
  if (status || !list) return status;
  if (ep_arguments_has(arguments, "quiet")) {
    json_array_foreach(ep_field(list, "data"), index, job) {
      ep_text_copy(text, sizeof text, ep_field_text(job, "id"));
      puts(text);
    }
  } else if (json_array_size(ep_field(list, "data")) == 0) {
    puts("no jobs");
  } else {
    jobs_print(session, list);
  }
  json_decref(list);
  return EP_OK;
}

ep_status ep_command_show(ep_session *session, const ep_arguments *arguments, ep_error *error) {
  char id[EP_JOB_ID_BYTES], path[EP_PATH_MAX_BYTES];
  json_t *job = NULL;
  ep_status status = ep_job_find(session, arguments->words[0], id, error);
  if (status) return status;
  ep_path_make(path, "/v1/jobs/", id, "");
  status = ep_get_ask(session, path, &job, error);
  if (!status && job) ep_summary_print(session, job, true);
  json_decref(job);
  return status;
}

/* The ids of all words, before anything is done to the first: a slip is to harm none. The caller's
 * (free). */
static ep_status ids_find(ep_session *session, const ep_arguments *arguments,
                          char (**out)[EP_JOB_ID_BYTES], ep_error *error) {
  char(*ids)[EP_JOB_ID_BYTES] = calloc((size_t)arguments->words_count, sizeof *ids);
  if (!ids) return ep_fail(error, EP_NO_MEMORY, "not enough memory");
  for (int i = 0; i < arguments->words_count; i++) {
    ep_status status = ep_job_find(session, arguments->words[i], ids[i], error);
    if (!status) continue;
    free(ids);
    return status;
  }
  *out = ids;
  return EP_OK;
}

static ep_status each(ep_session *session, const ep_arguments *arguments, const char *method,
                      const char *after, const char *done, ep_error *error) {
  char path[EP_PATH_MAX_BYTES];
  char(*ids)[EP_JOB_ID_BYTES] = NULL;
  ep_status status = ids_find(session, arguments, &ids, error);
  for (int i = 0; i < arguments->words_count && !status; i++) {
    json_t *answer = NULL;
    ep_path_make(path, "/v1/jobs/", ids[i], after);
    ep_call call = {.method = method, .path = path};
    status = ep_call_ask(session, &call, &answer, error);
    if (!status && !session->json) printf("%s %s\n", ids[i], done);
    json_decref(answer);
  }
  free(ids);
  return status;
}

ep_status ep_command_cancel(ep_session *session, const ep_arguments *arguments, ep_error *error) {
  return each(session, arguments, "POST", "/cancel", "is being cancelled", error);
}

ep_status ep_command_rm(ep_session *session, const ep_arguments *arguments, ep_error *error) {
  return each(session, arguments, "DELETE", "", "deleted", error);
}

/* The merge patch (RFC 7396) of the options; the caller's, NULL when memory is short. */
static json_t *patch_make(const ep_arguments *arguments, int64_t priority) {
  json_t *patch = json_object(), *tags = json_array();
  const char *name = ep_arguments_value(arguments, "name");
  bool good = patch && tags;
  if (good && name)
    good = json_object_set_new(patch, "name", *name ? json_string(name) : json_null()) == 0;
  if (good && ep_arguments_has(arguments, "priority"))
    good = json_object_set_new(patch, "priority", json_integer(priority)) == 0;
  for (int i = 0; i < arguments->given_count && good; i++) {
    const char *value = arguments->given[i].value;
    if (strcmp(arguments->given[i].option->name, "tag") == 0 && *value)
      good = json_array_append_new(tags, json_string(value)) == 0;
  }
  if (good && ep_arguments_has(arguments, "tag")) good = json_object_set(patch, "tags", tags) == 0;
  json_decref(tags);
  if (good) return patch;
  json_decref(patch);
  return NULL;
}

ep_status ep_command_set(ep_session *session, const ep_arguments *arguments, ep_error *error) {
  char id[EP_JOB_ID_BYTES], path[EP_PATH_MAX_BYTES];
  int64_t priority = ep_arguments_integer(arguments, "priority", 0);
  json_t *job = NULL;
  if (!ep_arguments_has(arguments, "name") && !ep_arguments_has(arguments, "tag") &&
      !ep_arguments_has(arguments, "priority"))
    return ep_fail(error, EP_INVALID, "say what to set: --name, --tag or --priority");
  ep_status status = ep_job_find(session, arguments->words[0], id, error);
  if (status) return status;
  json_t *patch = patch_make(arguments, priority);
  char *body = patch ? json_dumps(patch, JSON_COMPACT) : NULL;
  json_decref(patch);
  if (!body) return ep_fail(error, EP_INVALID, "a name and tags must be UTF-8");
  ep_path_make(path, "/v1/jobs/", id, "");
  ep_call call = {.method = "PATCH",
                  .path = path,
                  .body = body,
                  .body_bytes = strlen(body),
                  .content_type = "application/merge-patch+json"};
  status = ep_call_ask(session, &call, &job, error);
  free(body);
  if (!status && job) ep_summary_print(session, job, false);
  json_decref(job);
  return status;
}
