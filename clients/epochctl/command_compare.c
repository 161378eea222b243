/* command_compare.c: compare. */
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

enum { VALUE_BYTES = 128 };

typedef enum { TEXT, COUNT, NUMBER, SECONDS, MICROSECONDS, RATE } figure_kind;

/* Rows of the table, in their order; one that no job has a value for is left out. */
static const struct {
  const char *title, *path;
  figure_kind kind;
} ROWS[] = {{"name", "name", TEXT},
            {"status", "status", TEXT},
            {"device", "device", TEXT},
            {"executor", "executor", TEXT},
            {"parameters", "model.parameters", COUNT},
            {"epochs", "progress.epoch", COUNT},
            {"training", "timing.train_seconds", SECONDS},
            {"testing", "timing.test_seconds", SECONDS},
            {"an epoch", "timing.epoch_microseconds", MICROSECONDS},
            {"samples/s", "timing.samples_per_second", RATE},
            {"train loss", "metrics.train.loss", NUMBER},
            {"validation loss", "metrics.validation.loss", NUMBER},
            {"test loss", "metrics.test.loss", NUMBER},
            {"test accuracy", "metrics.test.accuracy", NUMBER},
            {"test f1", "metrics.test.f1", NUMBER},
            {"test rmse", "metrics.test.rmse", NUMBER},
            {"test mae", "metrics.test.mae", NUMBER},
            {"test r2", "metrics.test.r2", NUMBER}};

static void figure_write(const json_t *job, const char *path, figure_kind kind,
                         char text[VALUE_BYTES]) {
  double value = ep_field_number(job, path);
  *text = 0;
  if (kind == TEXT) {
    snprintf(text, VALUE_BYTES, "%s", ep_field_text(job, path));
    return;
  }
  if (isnan(value)) return;
  switch (kind) {
  case COUNT: ep_figure_count(ep_field_integer(job, path), text); break;
  case SECONDS: ep_figure_seconds(value, text); break;
  case MICROSECONDS: ep_figure_seconds(value * 1e-6, text); break;
  case RATE: ep_figure_rate(value, text); break;
  default: ep_figure_number(value, text); break;
  }
}

static void figures_add(ep_table *table, const json_t *jobs) {
  const json_t *job;
  size_t index;
  for (size_t row = 0; row < sizeof ROWS / sizeof ROWS[0]; row++) {
    char text[VALUE_BYTES];
    bool any = false;
    json_array_foreach(jobs, index, job) {
      figure_write(job, ROWS[row].path, ROWS[row].kind, text);
      any = any || *text;
    }
    if (!any) continue;
    ep_table_cell(table, ROWS[row].title, EP_COLOUR_DIM);
    json_array_foreach(jobs, index, job) {
      figure_write(job, ROWS[row].path, ROWS[row].kind, text);
      bool is_state = strcmp(ROWS[row].path, "status") == 0;
      ep_table_cell(table, text, is_state ? ep_state_colour(text) : EP_COLOUR_PLAIN);
    }
  }
}

static void differences_add(ep_table *table, const json_t *differences, size_t jobs) {
  const json_t *item;
  size_t index;
  json_array_foreach(differences, index, item) {
    ep_table_cell(table, ep_field_text(item, "pointer"), EP_COLOUR_BLUE);
    for (size_t j = 0; j < jobs; j++) {
      const json_t *value = json_array_get(ep_field(item, "values"), j);
      char *text = json_is_string(value)
                       ? NULL
                       : json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(6));
      const char *shown = text ? text : json_string_value(value);
      ep_table_cell(table, json_is_null(value) ? "-" : shown, EP_COLOUR_PLAIN);
      free(text);
    }
  }
}

static void comparison_print(const ep_session *session, const json_t *root) {
  const json_t *jobs = ep_field(root, "jobs"), *job;
  char shorts[EP_TABLE_COLUMNS][16];
  size_t index;
  ep_table table = {0};
  ep_table_column(&table, "", false, true);
  json_array_foreach(jobs, index, job) {
    const char *id = ep_field_text(job, "id");
    size_t bytes = strlen(id);
    if (index + 1 >= EP_TABLE_COLUMNS) break;
    ep_text_copy(shorts[index], sizeof shorts[index], id + (bytes > 8 ? bytes - 8 : 0));
    ep_table_column(&table, shorts[index], true, true);
  }
  figures_add(&table, jobs);
  differences_add(&table, ep_field(root, "differences"), json_array_size(jobs));
  ep_table_print(&table, &session->terminal, true);
  ep_table_deinit(&table);
  int64_t omitted = ep_field_integer(root, "differences_omitted");
  if (omitted > 0) printf("and %lld more differences\n", (long long)omitted);
}

static ep_status csv_print(ep_session *session, const char *path, ep_error *error) {
  ep_call call = {.method = "GET", .path = path, .accept = "text/csv"};
  ep_answer answer;
  ep_status status = ep_call_send(session, &call, &answer, error);
  if (!status && answer.bytes > 0) fwrite(answer.text, 1, answer.bytes, stdout);
  ep_answer_deinit(&answer);
  return status;
}

ep_status ep_command_compare(ep_session *session, const ep_arguments *arguments, ep_error *error) {
  char path[EP_PATH_MAX_BYTES], id[EP_JOB_ID_BYTES], list[32 * EP_JOB_ID_BYTES] = "";
  bool csv = ep_arguments_has(arguments, "csv");
  json_t *root = NULL;
  ep_status status = EP_OK;
  for (int i = 0; i < arguments->words_count && !status; i++) {
    size_t used = strlen(list);
    status = ep_job_find(session, arguments->words[i], id, error);
    if (!status) snprintf(list + used, sizeof list - used, "%s%s", used ? "," : "", id);
  }
  if (status) return status;
  /* ids need no encoding, and the commas between them are to stay */
  snprintf(path, sizeof path, "/v1/compare?jobs=%s%s", list, csv ? "&format=csv" : "");
  if (!session->json && !csv) ep_path_query(path, "max_points", "2");
  if (csv) return csv_print(session, path, error);
  status = ep_get_ask(session, path, &root, error);
  if (!status && root) comparison_print(session, root);
  json_decref(root);
  return status;
}
