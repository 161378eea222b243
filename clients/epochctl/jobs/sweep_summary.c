#include "clients/epochctl/jobs/sweep_summary.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "clients/epochctl/http/json_at.h"
#include "clients/epochctl/jobs/job_id.h"
#include "clients/epochctl/jobs/summary.h"
#include "clients/epochctl/terminal/human.h"
#include "clients/epochctl/terminal/text.h"
#include "clients/epochctl/terminal/text_table.h"

enum { LINE_BYTES = 1024, VALUE_BYTES = 256 };

static const char *last_step(const char *pointer) {
  const char *slash = strrchr(pointer, '/');
  return slash ? slash + 1 : pointer;
}

/* Whether no other pointer of the values has the same last step. */
static bool is_last_step_clear(json_t *values, const char *pointer) {
  const char *other;
  json_t *value;
  json_object_foreach(values, other, value) {
    if (strcmp(other, pointer) != 0 && strcmp(last_step(other), last_step(pointer)) == 0)
      return false;
  }
  return true;
}

/* The short name of a pointer of the values. */
static const char *pointer_label(json_t *values, const char *pointer) {
  return is_last_step_clear(values, pointer) ? last_step(pointer) : pointer;
}

/* A value with the digits of a metric. */
static void value_text(const json_t *value, char text[VALUE_BYTES]) {
  if (json_is_real(value))
    ep_human_number(json_real_value(value), text);
  else
    ep_json_line(value, text, VALUE_BYTES);
}

void ep_trial_values_text(const json_t *trial, char *text, size_t bytes) {
  json_t *values = json_object_get(trial, "values"), *value;
  char raw[LINE_BYTES] = "", line[VALUE_BYTES];
  const char *pointer;
  size_t used = 0;
  json_object_foreach(values, pointer, value) {
    value_text(value, line);
    if (used >= sizeof raw) break;
    used += (size_t)snprintf(raw + used, sizeof raw - used, "%s%s %s", used ? ", " : "",
                             pointer_label(values, pointer), line);
  }
  ep_text_copy(text, bytes, raw);
}

/* Empty for a metric that there is not. */
static void number_cell(ep_text_table *table, const json_t *trial, const char *key) {
  char text[EP_HUMAN_BYTES];
  double value = ep_json_number_at(trial, key);
  ep_text_table_cell(table, isnan(value) ? "" : ep_human_number(value, text), EP_COLOUR_PLAIN);
}

static void count_cell(ep_text_table *table, const json_t *trial, const char *key) {
  char text[EP_HUMAN_BYTES];
  ep_text_table_cell(table, ep_human_count(ep_json_integer_at(trial, key), text), EP_COLOUR_PLAIN);
}

/* The columns that some trial fills. */
typedef struct {
  bool deviation, outcome;
} extras;

static extras extras_find(const json_t *trials) {
  extras found = {0};
  const json_t *trial;
  size_t index;
  json_array_foreach(trials, index, trial) {
    found.deviation = found.deviation || !isnan(ep_json_number_at(trial, "deviation"));
    found.outcome = found.outcome || strcmp(ep_json_text_at(trial, "outcome"), "ok") != 0;
  }
  return found;
}

static void row_add(ep_text_table *table, const json_t *trial, json_t *pointers, extras shown) {
  char line[VALUE_BYTES];
  const char *pointer;
  json_t *ignored;
  count_cell(table, trial, "rank");
  count_cell(table, trial, "trial");
  number_cell(table, trial, "metric");
  if (shown.deviation) number_cell(table, trial, "deviation");
  json_object_foreach(pointers, pointer, ignored) {
    value_text(json_object_get(json_object_get(trial, "values"), pointer), line);
    ep_text_table_cell(table, line, EP_COLOUR_PLAIN);
  }
  count_cell(table, trial, "epochs");
  ep_text_table_cell(table, ep_human_seconds(ep_json_number_at(trial, "train_seconds"), line),
                     EP_COLOUR_DIM);
  const char *outcome = ep_json_text_at(trial, "outcome");
  bool good = strcmp(outcome, "ok") == 0;
  if (shown.outcome) ep_text_table_cell(table, outcome, good ? EP_COLOUR_PLAIN : EP_COLOUR_YELLOW);
}

/* Titles are the server's words: escaped, and kept as long as the table. */
typedef struct {
  char metric[VALUE_BYTES], labels[EP_TEXT_TABLE_COLUMNS][VALUE_BYTES];
} titles;

static void columns_add(ep_text_table *table, titles *kept, const char *metric, json_t *pointers,
                        extras shown) {
  const char *pointer;
  json_t *ignored;
  int count = 0;
  ep_text_copy(kept->metric, sizeof kept->metric, *metric ? metric : "metric");
  ep_text_table_column(table, "rank", true, false);
  ep_text_table_column(table, "trial", true, false);
  ep_text_table_column(table, kept->metric, true, true);
  if (shown.deviation) ep_text_table_column(table, "deviation", true, false);
  json_object_foreach(pointers, pointer, ignored) {
    if (count == EP_TEXT_TABLE_COLUMNS) break;
    ep_text_copy(kept->labels[count], VALUE_BYTES, pointer_label(pointers, pointer));
    ep_text_table_column(table, kept->labels[count++], true, true);
  }
  ep_text_table_column(table, "epochs trained", true, false);
  ep_text_table_column(table, "training", true, false);
  if (shown.outcome) ep_text_table_column(table, "outcome", false, false);
}

void ep_leaderboard_print(const ep_client *client, const json_t *trials, const char *metric) {
  json_t *pointers = json_object_get(json_array_get(trials, 0), "values");
  const json_t *trial;
  size_t index;
  ep_text_table table = {0};
  titles kept;
  extras shown = extras_find(trials);
  columns_add(&table, &kept, metric, pointers, shown);
  json_array_foreach(trials, index, trial) row_add(&table, trial, pointers, shown);
  ep_text_table_print(&table, &client->terminal, true);
  ep_text_table_deinit(&table);
}

static void best_print(const ep_client *client, const json_t *sweep) {
  char text[LINE_BYTES + EP_HUMAN_BYTES * 2], values[LINE_BYTES], metric[EP_HUMAN_BYTES];
  const json_t *best = json_object_get(sweep, "best");
  if (!json_is_object(best)) return;
  ep_trial_values_text(best, values, sizeof values);
  snprintf(text, sizeof text, "%s, trial %lld: %s",
           ep_human_number(ep_json_number_at(best, "metric"), metric),
           (long long)ep_json_integer_at(best, "trial"), values);
  ep_summary_line_print(client, "best", text);
}

void ep_sweep_summary_print(const ep_client *client, const json_t *sweep) {
  char text[LINE_BYTES], a[EP_HUMAN_BYTES], b[EP_HUMAN_BYTES];
  ep_summary_head_print(client, sweep);
  snprintf(text, sizeof text, "%.100s, by %.100s (%.100s)", ep_json_text_at(sweep, "search"),
           ep_json_text_at(sweep, "metric"), ep_json_text_at(sweep, "mode"));
  ep_summary_line_print(client, "search", text);
  if (*ep_json_text_at(sweep, "device"))
    ep_summary_line_print(client, "device", ep_json_text_at(sweep, "device"));
  if (ep_json_integer_at(sweep, "workers") > 1)
    ep_summary_line_print(client, "workers",
                          ep_human_count(ep_json_integer_at(sweep, "workers"), a));
  snprintf(text, sizeof text, "%s of %s",
           ep_human_count(ep_json_integer_at(sweep, "progress.done"), a),
           ep_human_count(ep_json_integer_at(sweep, "progress.total"), b));
  ep_summary_line_print(client, "trainings", text);
  double seconds = ep_json_number_at(sweep, "timing.train_seconds");
  if (!isnan(seconds)) ep_summary_line_print(client, "seconds", ep_human_seconds(seconds, a));
  if (*ep_json_text_at(sweep, "warning"))
    ep_summary_line_print(client, "warning", ep_json_text_at(sweep, "warning"));
  best_print(client, sweep);
}

static void report_print(const ep_client *client, const char *id, const json_t *sweep,
                         const json_t *page) {
  const json_t *trials = ep_json_at(page, "data");
  ep_sweep_summary_print(client, sweep);
  if (json_array_size(trials) == 0) return;
  puts("");
  ep_leaderboard_print(client, trials, ep_json_text_at(sweep, "metric"));
  int64_t more = ep_json_integer_at(page, "total") - (int64_t)json_array_size(trials);
  if (more > 0) printf("and %lld more: epochctl sweeps show %s --limit N\n", (long long)more, id);
}

ep_status ep_sweep_report_print(ep_client *client, const char *id, const char *sort, int64_t limit,
                                ep_error *error) {
  char path[EP_REQUEST_PATH_BYTES], number[32];
  json_t *sweep = NULL, *page = NULL;
  ep_submission_path(path, id, "");
  ep_status status = ep_client_get(client, path, &sweep, error);
  if (status == EP_OK) {
    ep_submission_path(path, id, "/trials");
    snprintf(number, sizeof number, "%lld", (long long)limit);
    ep_path_query(path, "limit", number);
    if (sort) ep_path_query(path, "sort", sort);
    status = ep_client_get(client, path, &page, error);
  }
  if (status == EP_OK && sweep && page) report_print(client, id, sweep, page);
  json_decref(sweep);
  json_decref(page);
  return status;
}
