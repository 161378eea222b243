/* predict.c: epochctl predict. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/arguments/input.h"
#include "api/json/number.h"
#include "api/limits.h"
#include "clients/epochctl/client/dialect.h"
#include "clients/epochctl/commands/table.h"
#include "clients/epochctl/http/json_at.h"
#include "clients/epochctl/http/path.h"
#include "clients/epochctl/http/request.h"
#include "clients/epochctl/input/forecast.h"
#include "clients/epochctl/input/rows.h"
#include "clients/epochctl/jobs/job_id.h"
#include "clients/epochctl/jobs/series.h"
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
    if (name)
      ep_text_copy(titles[i], TITLE_BYTES, name);
    else
      snprintf(titles[i], TITLE_BYTES, classified ? "%zu" : count > 1 ? "output %zu" : "output", i);
  }
  return count;
}

/* Rows are counted from 0; the steps of a forecast, the rows after the last one, from 1. */
static void table_print(const ep_terminal *terminal, const json_t *root, bool forecast) {
  static char titles[SHOWN_OUTPUTS][TITLE_BYTES];
  char text[LINE_BYTES];
  const json_t *classes = ep_json_at(root, "classes"), *row;
  const json_t *rows = ep_json_at(root, classes ? "probabilities" : "predictions");
  const json_t *names = ep_json_at(root, "names");
  size_t values = titles_make(root, titles), index;
  ep_text_table table = {0};
  ep_text_table_column(&table, forecast ? "step" : "row", true, false);
  if (names) ep_text_table_column(&table, "name", false, true);
  if (classes) ep_text_table_column(&table, "class", true, true);
  for (size_t i = 0; i < values; i++) ep_text_table_column(&table, titles[i], true, false);
  json_array_foreach(rows, index, row) {
    ep_text_table_cell(&table, ep_human_count((int64_t)index + forecast, text), EP_COLOUR_DIM);
    if (names) {
      ep_json_line(json_array_get(names, index), text, sizeof text);
      ep_text_table_cell(&table, text, EP_COLOUR_PLAIN);
    }
    if (classes) {
      ep_json_line(json_array_get(classes, index), text, sizeof text);
      ep_text_table_cell(&table, text, EP_COLOUR_BOLD);
    }
    for (size_t i = 0; i < values; i++) {
      double value = ep_json_number(json_array_get(row, i));
      ep_text_table_cell(&table, ep_human_number(value, text), EP_COLOUR_PLAIN);
    }
  }
  ep_text_table_print(&table, terminal, true);
  ep_text_table_deinit(&table);
}

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
    ep_json_line(json_object_get(entry, "detail"), detail, sizeof detail);
    fprintf(stderr, "warning: %s: %s\n", pointer, detail);
  }
  if (left_out)
    fprintf(stderr, "warning: and %lld more\n", (long long)json_integer_value(left_out));
}

/* POSTs rows and takes the response; *root as ep_client_send gives it. */
static ep_status body_send(ep_client *client, const char *path, const char *type, const char *body,
                           size_t bytes, json_t **root, ep_error *error) {
  ep_http_request request = {
      .method = "POST", .path = path, .body = body, .body_bytes = bytes, .content_type = type};
  return ep_client_send(client, &request, root, error);
}

static ep_status rows_send(ep_client *client, const char *path, const char *body, size_t bytes,
                           json_t **root, ep_error *error) {
  return body_send(client, path, "application/json", body, bytes, root, error);
}

/* The media type of a file of pictures, by how it begins; NULL: it is text. */
static const char *pictures_type(const char *text, size_t bytes) {
  static const struct {
    const char *begin, *type;
  } types[] = {
      {"\x89PNG", "image/png"}, {"\xFF\xD8\xFF", "image/jpeg"}, {"PK\3\4", "application/zip"}};
  for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
    size_t begins = strlen(types[i].begin);
    if (bytes >= begins && memcmp(text, types[i].begin, begins) == 0) return types[i].type;
  }
  const size_t magic = 257; /* of a TAR */
  return bytes >= magic + 5 && memcmp(text + magic, "ustar", 5) == 0 ? "application/x-tar" : NULL;
}

/* A table that the server reads itself, as it does an upload: its media type; NULL: another text.
 * Of UTF-16 this program reads nothing. */
static const char *table_type(const char *text, size_t bytes) {
  if (memchr(text, 0, bytes)) return "text/csv";
  const char *start = text + strspn(text, " \t\r\n"), *line = strchr(start, '\n');
  bool more = line && line[strspn(line, " \t\r\n")] == '{';
  if (*start == '{' && more) return "application/x-ndjson";
  return *start == '{' || *start == '[' || !ep_rows_have_names(start) ? NULL : "text/csv";
}

/* Whether the server refused the names because the job knows none. */
static bool knows_no_names(const ep_client *client, ep_status status) {
  const ep_problem *problem = &client->session.problem;
  return status == EP_CONFLICT && problem->errors_count == 1 &&
         strcmp(problem->errors[0].pointer, "/rows") == 0;
}

/* Rows by their names: a table as it is, or objects of JSON. *sent: the text has names. */
static ep_status named_send(ep_client *client, const char *path, const char *text, size_t bytes,
                            bool *sent, json_t **root, ep_error *error) {
  char *body = NULL;
  size_t body_bytes = 0;
  const char *type = table_type(text, bytes);
  *sent = type != NULL;
  if (type) return body_send(client, path, type, text, bytes, root, error);
  ep_status status = ep_named_rows_format(text, bytes, NULL, &body, &body_bytes, error);
  *sent = status != EP_OK || body;
  if (body) status = rows_send(client, path, body, body_bytes, root, error);
  free(body);
  return status;
}

/* Rows by the names of the file's first line where both it and the job have names, else in their
 * order. */
static ep_status text_send(ep_client *client, const char *path, const char *text, size_t bytes,
                           json_t **root, ep_error *error) {
  char *body = NULL;
  size_t body_bytes = 0;
  bool sent;
  ep_error refused = {0};
  ep_status status = named_send(client, path, text, bytes, &sent, root, &refused);
  if (sent && status == EP_OK) return EP_OK;
  if (sent && !knows_no_names(client, status)) return ep_fail(error, status, "%s", refused.message);
  ep_session_refusal_clear(&client->session);
  status = ep_rows_format(text, bytes, &body, &body_bytes, error);
  if (status == EP_OK) status = rows_send(client, path, body, body_bytes, root, error);
  free(body);
  return status;
}

/* The rows after the text's last one. */
static ep_status forecast_send(ep_client *client, const char *path, const char *id,
                               ep_forecast_rows *forecast, json_t **root, ep_error *error) {
  char *body = NULL;
  size_t body_bytes = 0;
  ep_job_series series = {0};
  ep_status status = ep_job_series_find(&client->session, id, &series, error);
  forecast->columns = series.columns;
  forecast->needed = series.needed;
  if (status == EP_OK) status = ep_forecast_rows_format(forecast, &body, &body_bytes, error);
  if (status == EP_OK) status = rows_send(client, path, body, body_bytes, root, error);
  free(body);
  ep_job_series_deinit(&series);
  return status;
}

static ep_status future_check(const ep_arguments *arguments, ep_error *error) {
  const char *future = ep_arguments_value(arguments, "future");
  if (future && !ep_arguments_has(arguments, "steps"))
    return ep_fail(error, EP_INVALID,
                   "--future is of a forecast: say with --steps how many rows it has");
  if (future && strcmp(future, "-") == 0 && strcmp(arguments->words[1], "-") == 0)
    return ep_fail(error, EP_INVALID, "FILE and --future cannot both be standard input");
  return EP_OK;
}

/* Sends FILE, and what is known of the future. */
static ep_status files_send(ep_client *client, const ep_arguments *arguments, const char *id,
                            json_t **root, ep_error *error) {
  char path[EP_REQUEST_PATH_BYTES], *text = NULL, *future = NULL;
  ep_forecast_rows forecast = {.steps = ep_arguments_integer(arguments, "steps", 0)};
  const char *checkpoint = ep_arguments_value(arguments, "checkpoint");
  const char *threshold = ep_arguments_value(arguments, "threshold");
  const char *known = ep_arguments_value(arguments, "future");
  ep_path_make(path, "/v1/jobs/", id, "/predict");
  if (checkpoint) ep_path_query(path, "checkpoint", checkpoint);
  if (threshold) ep_path_query(path, "threshold", threshold);
  bool is_csv = ep_dialect_query(arguments, path) > 0;
  size_t bytes = 0, future_bytes = 0;
  ep_status status =
      ep_input_read(arguments->words[1], EP_LIMIT_PREDICT_BYTES, &text, &bytes, error);
  if (status == EP_OK && known)
    status = ep_input_read(known, EP_LIMIT_PREDICT_BYTES, &future, &future_bytes, error);
  if (status == EP_OK) {
    const char *pictures = pictures_type(text, bytes);
    forecast.text = text;
    forecast.future = future;
    if (forecast.steps > 0 && is_csv)
      status = ep_fail(error, EP_INVALID, "--steps takes plain CSV, without --encoding … --dates");
    else if (forecast.steps > 0 && pictures)
      status =
          ep_fail(error, EP_INVALID, "a forecast begins with rows of a table, not with pictures");
    else if (forecast.steps > 0)
      status = forecast_send(client, path, id, &forecast, root, error);
    else if (pictures || is_csv)
      status = body_send(client, path, pictures ? pictures : "text/csv", text, bytes, root, error);
    else
      status = text_send(client, path, text, bytes, root, error);
  }
  free(future);
  free(text);
  return status;
}

static ep_status subcommand_run(ep_client *client, const ep_arguments *arguments, ep_error *error) {
  char id[EP_JOB_ID_BYTES];
  json_t *root = NULL;
  bool csv = ep_arguments_has(arguments, "csv");
  ep_status status = future_check(arguments, error);
  if (status == EP_OK) status = ep_job_id_find(&client->session, arguments->words[0], id, error);
  if (status == EP_OK) status = files_send(client, arguments, id, &root, error);
  if (status == EP_OK && root && csv) csv_print(ep_json_at(root, "predictions"));
  if (status == EP_OK && root && !csv)
    table_print(&client->terminal, root, ep_arguments_has(arguments, "steps"));
  if (status == EP_OK && root) warnings_print(root);
  json_decref(root);
  return status;
}

/* clang-format off */
static const ep_option OPTIONS[] = {
  {.name = "csv", .kind = EP_OPTION_SWITCH, .doc = "print CSV"},
  {.name = "threshold", .kind = EP_OPTION_TEXT, .value = "P|f1|fp:A,fn:B",
   .doc = "of two classes: the positive one from this probability on, or from that of the best F1 or the least cost"},
  {.name = "checkpoint", .letter = 'c', .kind = EP_OPTION_TEXT, .value = "STEP|latest",
   .doc = "predict with this checkpoint, also while the job trains"},
  EP_DIALECT_OPTIONS,
  {.name = "steps", .kind = EP_OPTION_INTEGER, .value = "N", .min = 1, .max = EP_LIMIT_PREDICT_STEPS,
   .doc = "forecast a series: so many rows after FILE's last one"},
  {.name = "future", .kind = EP_OPTION_FILE, .value = "FILE",
   .doc = "with --steps: what other columns are in the rows after the last one, where the job needs them"},
  {.name = NULL}};

const ep_subcommand ep_subcommand_predict = {
  .name = "predict", .words = "JOB FILE", .kind = EP_WORD_JOB, .least = 2, .most = 2,
  .options = OPTIONS, .run = subcommand_run,
  .summary = "predict new rows with a trained network",
  .details =
    "FILE is CSV or JSON, [[…], …], [{…}, …], {\"x\": [[…], …]} or {\"rows\": [{…}, …]}; - is standard "
    "input. For a job that trained on pictures it is a PNG or JPEG, or a ZIP or TAR of these. A first line of names says which column is which, in any order; the file that was trained on does, "
    "its target is not looked at. Of a job that knows no names the line is skipped. A classifier's rows have "
    "their class and the probabilities of all classes; --csv has its outputs. Of a job with windows, FILE has "
    "successive rows, the oldest first, and each window of them is predicted. --steps goes on from the last of "
    "them, and feeds each output back: of a table that the server still has, FILE and --future need no line of names.",
  .examples =
    "echo 0,1 | epochctl predict last -\n"
    "echo 0,1 | epochctl predict last - --csv --checkpoint latest\n"
    "tail -n 168 power.csv | epochctl predict 4hw - --steps 48"};
/* clang-format on */
