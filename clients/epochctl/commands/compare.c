/* compare.c: epochctl compare. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "api/limits.h"
#include "clients/epochctl/commands/table.h"
#include "clients/epochctl/http/json_at.h"
#include "clients/epochctl/http/path.h"
#include "clients/epochctl/jobs/summary.h"
#include "clients/epochctl/terminal/human.h"
#include "clients/epochctl/terminal/text.h"
#include "clients/epochctl/terminal/text_table.h"

enum { VALUE_BYTES = 128, LINE_BYTES = 1024, SHORT_ID_BYTES = 8, HASH_SHOWN = 8 };

typedef enum { TEXT, COUNT, NUMBER, SECONDS, MICROSECONDS, RATE, BASELINE } value_kind;

/* The rows of the table; one without a value of any job is left out. */
static const struct {
  const char *title, *path;
  value_kind kind;
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
            {"test r2", "metrics.test.r2", NUMBER},
            {"to beat", "metrics.baseline", BASELINE}};

static void value_write(const json_t *job, const char *path, value_kind kind,
                        char text[VALUE_BYTES]) {
  double value = ep_json_number_at(job, path);
  *text = 0;
  if (kind == BASELINE) {
    ep_job_baseline_text(job, text, VALUE_BYTES);
    return;
  }
  if (kind == TEXT) {
    snprintf(text, VALUE_BYTES, "%s", ep_json_text_at(job, path));
    return;
  }
  if (isnan(value)) return;
  switch (kind) {
  case COUNT: ep_human_count(ep_json_integer_at(job, path), text); break;
  case SECONDS: ep_human_seconds(value, text); break;
  case MICROSECONDS: ep_human_seconds(value * 1e-6, text); break;
  case RATE: ep_human_rate(value, text); break;
  default: ep_human_number(value, text); break;
  }
}

static void values_add(ep_text_table *table, const json_t *jobs) {
  const json_t *job;
  size_t index;
  for (size_t row = 0; row < sizeof ROWS / sizeof ROWS[0]; row++) {
    char text[VALUE_BYTES];
    bool any = false;
    json_array_foreach(jobs, index, job) {
      value_write(job, ROWS[row].path, ROWS[row].kind, text);
      any = any || *text;
    }
    if (!any) continue;
    ep_text_table_cell(table, ROWS[row].title, EP_COLOUR_DIM);
    json_array_foreach(jobs, index, job) {
      value_write(job, ROWS[row].path, ROWS[row].kind, text);
      bool is_state = strcmp(ROWS[row].path, "status") == 0;
      ep_text_table_cell(table, text, is_state ? ep_job_status_colour(text) : EP_COLOUR_PLAIN);
    }
  }
}

static bool ends_in_hash(const char *pointer) {
  const char *last = strrchr(pointer, '/');
  return last && strcmp(last, "/sha256") == 0;
}

/* Beside a word that differs, an object is its type. */
static void value_line(const json_t *value, char text[LINE_BYTES]) {
  const json_t *type = json_object_get(value, "type");
  ep_json_line(type ? type : value, text, LINE_BYTES);
}

static void differences_add(ep_text_table *table, const json_t *differences, size_t jobs,
                            bool shortens) {
  const json_t *item;
  size_t index;
  json_array_foreach(differences, index, item) {
    ep_text_table_cell(table, ep_json_text_at(item, "pointer"), EP_COLOUR_BLUE);
    for (size_t j = 0; j < jobs; j++) {
      char text[LINE_BYTES];
      value_line(json_array_get(ep_json_at(item, "values"), j), text);
      if (shortens && ends_in_hash(ep_json_text_at(item, "pointer")) &&
          strlen(text) > HASH_SHOWN) /* a start is enough */
        snprintf(text + HASH_SHOWN, sizeof text - HASH_SHOWN, "…");
      ep_text_table_cell(table, text, EP_COLOUR_PLAIN);
    }
  }
}

static void comparison_print(const ep_terminal *terminal, const json_t *root) {
  const json_t *jobs = ep_json_at(root, "jobs"), *job;
  char shorts[EP_TEXT_TABLE_COLUMNS][2 * SHORT_ID_BYTES];
  size_t index;
  ep_text_table table = {0};
  ep_text_table_column(&table, "", false, true);
  json_array_foreach(jobs, index, job) {
    const char *id = ep_json_text_at(job, "id");
    size_t bytes = strlen(id);
    if (index + 1 >= EP_TEXT_TABLE_COLUMNS) break;
    ep_text_copy(shorts[index], sizeof shorts[index],
                 id + (bytes > SHORT_ID_BYTES ? bytes - SHORT_ID_BYTES : 0));
    ep_text_table_column(&table, shorts[index], true, true);
  }
  values_add(&table, jobs);
  differences_add(&table, ep_json_at(root, "differences"), json_array_size(jobs), terminal->live);
  ep_text_table_print(&table, terminal, true);
  ep_text_table_deinit(&table);
  int64_t omitted = ep_json_integer_at(root, "differences_omitted");
  if (omitted > 0) printf("and %lld more differences\n", (long long)omitted);
}

/* Why the metrics may not be comparable. */
static void warnings_print(const json_t *root) {
  char safe[LINE_BYTES];
  const json_t *warning;
  size_t index;
  json_array_foreach(ep_json_at(root, "warnings"), index, warning) {
    ep_text_copy(safe, sizeof safe, json_string_value(warning));
    fprintf(stderr, "warning: %s\n", safe);
  }
}

static ep_status csv_print(ep_session *session, const char *path, ep_error *error) {
  ep_http_request request = {.method = "GET", .path = path, .accept = "text/csv"};
  ep_http_response response;
  ep_status status = ep_http_send(session, &request, &response, error);
  if (status == EP_OK && response.bytes > 0) fwrite(response.text, 1, response.bytes, stdout);
  ep_http_response_deinit(&response);
  return status;
}

static ep_status subcommand_run(ep_client *client, const ep_arguments *arguments, ep_error *error) {
  char path[EP_REQUEST_PATH_BYTES] = "/v1/compare";
  bool spreadsheet = ep_arguments_has(arguments, "spreadsheet");
  bool csv = spreadsheet || ep_arguments_has(arguments, "csv");
  json_t *root = NULL;
  ep_path_query_list(path, "jobs", arguments->words, arguments->words_count);
  if (csv) ep_path_query(path, "format", "csv");
  if (spreadsheet) ep_path_query(path, "spreadsheet", "1");
  if (csv) return csv_print(&client->session, path, error);
  if (!client->json) ep_path_query(path, "max_points", "2");
  ep_status status = ep_client_get(client, path, &root, error);
  if (status == EP_OK && root) comparison_print(&client->terminal, root);
  if (status == EP_OK && root) warnings_print(root);
  json_decref(root);
  return status;
}

/* clang-format off */
static const ep_option OPTIONS[] = {
  {.name = "csv", .kind = EP_OPTION_SWITCH, .doc = "print one row per job, as received"},
  EP_SPREADSHEET_OPTION,
  {.name = NULL}};

const ep_subcommand ep_subcommand_compare = {
  .name = "compare", .words = "JOB…", .kind = EP_WORD_JOB, .least = 1, .most = 32,
  .options = OPTIONS, .run = subcommand_run,
  .summary = "compare jobs side by side",
  .details = "Metrics, times, and the settings that differ; a warning where the jobs predict different columns.",
  .examples = "epochctl compare houses flats --csv >trials.csv"};
/* clang-format on */
