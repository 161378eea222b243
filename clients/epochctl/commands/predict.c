/* predict.c: epochctl predict. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "api/arguments/input.h"
#include "api/json/number.h"
#include "api/limits.h"
#include "clients/epochctl/client/dialect.h"
#include "clients/epochctl/commands/table.h"
#include "clients/epochctl/http/json_at.h"
#include "clients/epochctl/http/path.h"
#include "clients/epochctl/http/request.h"
#include "clients/epochctl/input/body_type.h"
#include "clients/epochctl/input/rows.h"
#include "clients/epochctl/jobs/predict_file.h"
#include "clients/epochctl/terminal/human.h"
#include "clients/epochctl/terminal/text.h"
#include "clients/epochctl/terminal/text_table.h"

enum { SHOWN_OUTPUTS = 32, TITLE_BYTES = 64, LINE_BYTES = 512 };

/* What the columns of a row are called: its class, then the probabilities of all classes, by their
 * names or numbers; or its outputs. titles: [SHOWN_OUTPUTS], escaped. Returns how many values a row
 * has. */
static size_t titles_make(const json_t *root, char titles[SHOWN_OUTPUTS][TITLE_BYTES]) {
  const json_t *names = ep_json_at(root, "class_names");
  bool classified = ep_json_at(root, "classes") != NULL;
  size_t count = json_array_size(
      json_array_get(ep_json_at(root, classified ? "probabilities" : "predictions"), 0));
  if (count > SHOWN_OUTPUTS) count = SHOWN_OUTPUTS;
  for (size_t i = 0; i < count; i++) {
    const char *name = json_string_value(json_array_get(names, i));
    const char *target = ep_json_text_at(root, "target"), *unit = ep_json_text_at(root, "unit");
    char title[LINE_BYTES];
    if (!name && !classified && count == 1 && *target) {
      snprintf(title, sizeof title, "%s%s%s%s", target, *unit ? " (" : "", unit, *unit ? ")" : "");
      name = title;
    }
    if (name)
      ep_text_copy(titles[i], TITLE_BYTES, name);
    else
      snprintf(titles[i], TITLE_BYTES, classified ? "%zu" : count > 1 ? "output %zu" : "output", i);
  }
  return count;
}

/* Without an exponent. */
static char *number_write(double value, bool probability, char text[LINE_BYTES]) {
  if (!isfinite(value)) return ep_human_number(value, text);
  if (probability)
    snprintf(text, LINE_BYTES, "%.4f", value);
  else
    ep_plain_format(value, text);
  return text;
}

/* Rows are counted from 0; the steps of a forecast, the rows after the last one, from 1. */
static void table_print(const ep_terminal *terminal, const json_t *root, bool forecast) {
  static char titles[SHOWN_OUTPUTS][TITLE_BYTES];
  char text[LINE_BYTES];
  const json_t *classes = ep_json_at(root, "classes"), *row;
  const json_t *rows = ep_json_at(root, classes ? "probabilities" : "predictions");
  const json_t *names = ep_json_at(root, "names"), *times = ep_json_at(root, "times");
  size_t values = titles_make(root, titles), index;
  int64_t step = forecast ? 0 : -1;
  ep_text_table table = {0};
  const json_t *ends = ep_json_at(root, "last_rows");
  ep_text_table_column(&table, forecast ? "step" : ends ? "last row" : "row", true, false);
  if (names) ep_text_table_column(&table, "name", false, true);
  if (times) ep_text_table_column(&table, "time", false, true);
  if (classes) ep_text_table_column(&table, "class", true, true);
  for (size_t i = 0; i < values; i++) ep_text_table_column(&table, titles[i], true, false);
  json_array_foreach(rows, index, row) {
    bool same =
        index > 0 && json_equal(json_array_get(names, index), json_array_get(names, index - 1));
    step = forecast && names && !same ? 1 : step + 1;
    int64_t number = ends ? json_integer_value(json_array_get(ends, index)) : step;
    ep_text_table_cell(&table, ep_human_count(number, text), EP_COLOUR_DIM);
    if (names) {
      ep_json_line(json_array_get(names, index), text, sizeof text);
      ep_text_table_cell(&table, text, EP_COLOUR_PLAIN);
    }
    if (times) {
      ep_json_line(json_array_get(times, index), text, sizeof text);
      ep_text_table_cell(&table, text, EP_COLOUR_PLAIN);
    }
    if (classes) {
      ep_json_line(json_array_get(classes, index), text, sizeof text);
      ep_text_table_cell(&table, text, EP_COLOUR_BOLD);
    }
    for (size_t i = 0; i < values; i++) {
      double value = ep_json_number(json_array_get(row, i));
      ep_text_table_cell(&table, number_write(value, classes != NULL, text), EP_COLOUR_PLAIN);
    }
  }
  ep_text_table_print(&table, terminal, true);
  ep_text_table_deinit(&table);
}

/* The raw outputs. */
static void csv_print(const json_t *rows) {
  char text[EP_NUMBER_BYTES];
  const json_t *row, *value;
  size_t index, at;
  json_array_foreach(rows, index, row) {
    json_array_foreach(row, at, value) {
      double number = ep_json_number(value);
      if (at > 0) putchar(',');
      if (!isfinite(number)) {
        fputs(isnan(number) ? "nan" : number > 0 ? "inf" : "-inf", stdout);
        continue;
      }
      ep_number_format(number, text);
      fputs(text, stdout);
    }
    putchar('\n');
  }
}

/* What the server read otherwise than may be thought, for people and not for what reads the output.
 */
static void warnings_print(const json_t *root) {
  char pointer[LINE_BYTES], detail[LINE_BYTES];
  const json_t *entry, *left_out = json_object_get(root, "warnings_left_out");
  size_t index;
  json_array_foreach(json_object_get(root, "warnings"), index, entry) {
    ep_json_line(json_object_get(entry, "pointer"), pointer, sizeof pointer);
    ep_dialect_words(detail, sizeof detail, ep_json_text_at(entry, "detail"), NULL);
    fprintf(stderr, "warning: %s: %s\n", pointer, detail);
  }
  if (left_out)
    fprintf(stderr, "warning: and %lld more\n", (long long)json_integer_value(left_out));
}

/* A forecast as the server writes it. */
static ep_status text_print(ep_session *session, ep_http_request *request, ep_error *error) {
  ep_http_response response;
  request->accept = "text/csv";
  ep_status status = ep_http_send(session, request, &response, error);
  if (status == EP_OK && response.bytes > 0) fwrite(response.text, 1, response.bytes, stdout);
  if (status == EP_OK) ep_predict_warnings_print(&response);
  ep_http_response_deinit(&response);
  return status;
}

/* POSTs rows and takes the response; *root as ep_client_send gives it. root NULL: it is CSV, and
 * printed. */
static ep_status body_send(ep_client *client, const char *path, const char *type, const char *body,
                           size_t bytes, json_t **root, ep_error *error) {
  ep_http_request request = {
      .method = "POST", .path = path, .body = body, .body_bytes = bytes, .content_type = type};
  return root ? ep_client_send(client, &request, root, error)
              : text_print(&client->session, &request, error);
}

static ep_status rows_send(ep_client *client, const char *path, const char *body, size_t bytes,
                           json_t **root, ep_error *error) {
  return body_send(client, path, "application/json", body, bytes, root, error);
}

/* Whether the server refused the names because the job knows none. */
static bool knows_no_names(const ep_client *client, ep_status status) {
  const ep_problem *problem = &client->session.problem;
  return status == EP_CONFLICT && problem->errors_count == 1 &&
         strcmp(problem->errors[0].pointer, "/rows") == 0;
}

/* Rows by the names of the file's first line where both it and the job have names, else in their
 * order. Those of a series are a table in any case. */
static ep_status text_send(ep_client *client, const char *path, const char *text, size_t bytes,
                           bool series, json_t **root, ep_error *error) {
  char *body = NULL;
  size_t body_bytes = 0;
  ep_error refused = {0};
  const char *type = ep_table_type(text, bytes);
  if (!type && series && !ep_text_is_json(text)) type = "text/csv";
  if (type) {
    ep_status status = body_send(client, path, type, text, bytes, root, &refused);
    if (status == EP_OK) return EP_OK;
    if (!knows_no_names(client, status)) return ep_fail(error, status, "%s", refused.message);
    ep_session_refusal_clear(&client->session);
  }
  ep_status status = ep_rows_format(text, bytes, &body, &body_bytes, error);
  if (status == EP_OK) status = rows_send(client, path, body, body_bytes, root, error);
  free(body);
  return status;
}

/* Rows as a text within JSON: CSV, or an object a line. NULL: they are something else. */
static json_t *text_take(const char *text, size_t bytes) {
  char *lines = NULL;
  size_t lines_bytes = 0;
  if (!ep_text_is_json(text)) return json_stringn(text, bytes);
  if (ep_json_lines_format(text, bytes, &lines, &lines_bytes, NULL) != EP_OK || !lines) return NULL;
  json_t *taken = json_stringn(lines, lines_bytes);
  free(lines);
  return taken;
}

/* FILE, and what is known of the rows after its last one. */
static ep_status future_send(ep_client *client, const char *path, const char *text, size_t bytes,
                             const char *future, size_t future_bytes, json_t **root,
                             ep_error *error) {
  json_t *rows = text_take(text, bytes), *ahead = text_take(future, future_bytes);
  if (!rows || !ahead) {
    json_decref(rows);
    json_decref(ahead);
    return ep_fail(
        error, EP_INVALID,
        "%s is neither a table in UTF-8 nor objects of JSON, as a forecast with --future "
        "needs",
        rows ? "the file of --future" : "FILE");
  }
  json_t *whole = json_pack("{s:o, s:o}", "rows", rows, "future", ahead);
  char *body = whole ? json_dumps(whole, JSON_COMPACT) : NULL;
  json_decref(whole);
  if (!body) return ep_fail_memory(error);
  ep_status status = rows_send(client, path, body, strlen(body), root, error);
  free(body);
  return status;
}

/* Faults of a forecast are those of the flags that it was asked for with. */
static void flags_name(ep_problem *problem) {
  for (int i = 0; i < problem->errors_count; i++) {
    char *pointer = problem->errors[i].pointer;
    if (strcmp(pointer, "/steps") == 0 || strcmp(pointer, "/future") == 0)
      snprintf(pointer, EP_POINTER_BYTES, "%s", pointer[1] == 's' ? "--steps" : "--future");
  }
}

static bool is_same_file(const char *one, const char *other) {
  struct stat first, second;
  return one && stat(one, &first) == 0 && stat(other, &second) == 0 &&
         first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

static ep_status options_check(const ep_arguments *arguments, ep_error *error) {
  const char *future = ep_arguments_value(arguments, "future");
  bool output = ep_arguments_has(arguments, "output");
  if (output && ep_arguments_has(arguments, "steps"))
    return ep_fail(error, EP_INVALID,
                   "--output adds columns to the rows of FILE, and a forecast with --steps has "
                   "different rows: use --csv");
  if (is_same_file(ep_arguments_value(arguments, "output"), arguments->words[1]))
    return ep_fail(error, EP_INVALID, "--output is FILE itself: name another file");
  if (ep_arguments_has(arguments, "probabilities") && !output)
    return ep_fail(error, EP_INVALID,
                   "--probabilities requires --output: the table always has them");
  if (future && !ep_arguments_has(arguments, "steps"))
    return ep_fail(error, EP_INVALID, "--future requires --steps, the number of rows to forecast");
  if (future && strcmp(future, "-") == 0 && strcmp(arguments->words[1], "-") == 0)
    return ep_fail(error, EP_INVALID, "FILE and --future cannot both be standard input");
  return EP_OK;
}

/* Sends FILE, and what is known of the future. root: as body_send has it. */
static ep_status files_send(ep_client *client, const ep_arguments *arguments, json_t **root,
                            ep_error *error) {
  char path[EP_REQUEST_PATH_BYTES], *text = NULL, *future = NULL;
  const char *checkpoint = ep_arguments_value(arguments, "checkpoint");
  const char *threshold = ep_arguments_value(arguments, "threshold");
  const char *steps = ep_arguments_value(arguments, "steps");
  const char *known = ep_arguments_value(arguments, "future");
  const char *output = ep_arguments_value(arguments, "output");
  ep_path_make(path, "/v1/jobs/", arguments->words[0], "/predict");
  if (checkpoint) ep_path_query(path, "checkpoint", checkpoint);
  if (threshold) ep_path_query(path, "threshold", threshold);
  if (steps) ep_path_query(path, "steps", steps);
  if (!root) ep_path_query(path, "format", "csv");
  if (ep_arguments_has(arguments, "spreadsheet")) ep_path_query(path, "spreadsheet", "1");
  bool is_csv = ep_dialect_query(arguments, path) > 0;
  size_t bytes = 0, future_bytes = 0;
  ep_status status =
      ep_input_read(arguments->words[1], EP_LIMIT_PREDICT_BYTES, &text, &bytes, error);
  if (status == EP_OK && known)
    status = ep_input_read(known, EP_LIMIT_PREDICT_BYTES, &future, &future_bytes, error);
  if (status == EP_OK) {
    const char *pictures = ep_pictures_type(text, bytes);
    if (ep_arguments_has(arguments, "probabilities")) ep_path_query(path, "probabilities", "true");
    if (known)
      status = future_send(client, path, text, bytes, future, future_bytes, root, error);
    else if (output)
      status = ep_predict_file(client, path, text, bytes, output, error);
    else if (pictures || is_csv)
      status = body_send(client, path, pictures ? pictures : "text/csv", text, bytes, root, error);
    else
      status = text_send(client, path, text, bytes, steps != NULL, root, error);
  }
  free(future);
  free(text);
  return status;
}

static ep_status subcommand_run(ep_client *client, const ep_arguments *arguments, ep_error *error) {
  json_t *root = NULL;
  bool csv = ep_arguments_has(arguments, "csv") || ep_arguments_has(arguments, "spreadsheet");
  bool forecast = ep_arguments_has(arguments, "steps");
  ep_status status = options_check(arguments, error);
  if (status == EP_OK)
    status = files_send(client, arguments, forecast && csv && !client->json ? NULL : &root, error);
  if (status == EP_INVALID) flags_name(&client->session.problem);
  if (status == EP_OK && root && csv) csv_print(ep_json_at(root, "predictions"));
  if (status == EP_OK && root && !csv) table_print(&client->terminal, root, forecast);
  if (status == EP_OK && root) warnings_print(root);
  json_decref(root);
  return status;
}

/* clang-format off */
static const ep_option OPTIONS[] = {
  {.name = "output", .letter = 'o', .kind = EP_OPTION_FILE, .value = "FILE",
   .doc = "write FILE's rows with the predicted columns appended; - is standard output"},
  {.name = "probabilities", .letter = 'p', .kind = EP_OPTION_SWITCH,
   .doc = "with --output: also a column for each class"},
  {.name = "csv", .kind = EP_OPTION_SWITCH, .doc = "print CSV; of a forecast with the series and the time of each row"},
  EP_SPREADSHEET_OPTION,
  {.name = "threshold", .kind = EP_OPTION_TEXT, .value = "P|f1|fp:A,fn:B",
   .doc = "for two classes: the probability at which the positive class is predicted, or that of the best F1 (f1) or the lowest cost (fp:A,fn:B)"},
  {.name = "checkpoint", .letter = 'c', .kind = EP_OPTION_TEXT, .value = "STEP|latest",
   .doc = "predict with this checkpoint, also while the job trains"},
  EP_DIALECT_OPTIONS,
  {.name = "steps", .kind = EP_OPTION_INTEGER, .value = "N", .min = 1, .max = EP_LIMIT_PREDICT_STEPS,
   .doc = "forecast a series: this many rows after the last row of FILE"},
  {.name = "future", .kind = EP_OPTION_FILE, .value = "FILE",
   .doc = "with --steps: the other columns of the rows to forecast, where the job needs them; rows of "
          "FILE without a target count as such"},
  {.name = NULL}};

const ep_subcommand ep_subcommand_predict = {
  .name = "predict", .words = "JOB FILE", .kind = EP_WORD_JOB, .then = EP_WORD_FILE, .least = 2, .most = 2,
  .options = OPTIONS, .run = subcommand_run,
  .summary = "predict new rows with a trained network",
  .details =
    "FILE is CSV or JSON, [[…], …], [{…}, …], {\"x\": [[…], …]} or {\"rows\": [{…}, …]}; - is standard "
    "input. For a job that trained on pictures it is a PNG or JPEG, or a ZIP or TAR of these. A header names the columns, in any order; "
    "the training file itself works too, its target is ignored. For a job without column names the header is skipped. "
    "A classifier's rows get their class and the probabilities of all classes; --csv prints the raw outputs. --output "
    "keeps header, delimiter, quotes and cells as they are, and adds COLUMN_predicted; JSON objects stay JSON objects. "
    "For a job with windows, FILE has successive rows, and each window is predicted, in the order of the job's time and "
    "within each series. --steps continues after the last row, and feeds each output back.",
  .examples =
    "epochctl predict titanic new.csv -o out.csv\n"
    "echo '{\"area\": 3}' | epochctl predict last -\n"
    "echo 0,1 | epochctl predict xor - --csv --checkpoint latest\n"
    "tail -n 168 power.csv | epochctl predict power - --steps 48"};
/* clang-format on */
