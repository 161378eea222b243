/* predict.c: epochctl predict. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/arguments/input.h"
#include "api/json/number.h"
#include "api/limits.h"
#include "api/vocabulary.h"
#include "clients/epochctl/commands/table.h"
#include "clients/epochctl/http/json_at.h"
#include "clients/epochctl/http/path.h"
#include "clients/epochctl/http/request.h"
#include "clients/epochctl/input/rows.h"
#include "clients/epochctl/jobs/job_id.h"
#include "clients/epochctl/terminal/human.h"
#include "clients/epochctl/terminal/text_table.h"

enum { SHOWN_OUTPUTS = 32, TITLE_BYTES = 32 };

/* The meaning of the outputs, by the job's loss: LOGIT is one of two classes, CLASSES one a class.
 */
typedef enum { VALUES, LOGIT, CLASSES } meaning;

static ep_status meaning_find(ep_session *session, const char *id, meaning *out, ep_error *error) {
  char path[EP_REQUEST_PATH_BYTES];
  json_t *job = NULL;
  ep_path_make(path, "/v1/jobs/", id, "");
  ep_status status = ep_http_get(session, path, &job, error);
  const char *loss = ep_json_text_at(job, "spec.loss");
  if (!*loss) loss = ep_json_text_at(job, "spec.loss.type");
  int type = ep_loss_type_from_name(loss);
  *out = VALUES;
  if (type == EP_LOSS_BCE_WITH_LOGITS) *out = LOGIT;
  if (type >= 0 && ep_loss_takes_classes((ep_loss_type)type)) *out = CLASSES;
  json_decref(job);
  return status;
}

/* The class with the largest output; for one logit, whether it is above 0. */
static int64_t class_find(const json_t *row, meaning what) {
  size_t index, best = 0;
  const json_t *value;
  if (what == LOGIT) return ep_json_number(json_array_get(row, 0)) > 0;
  json_array_foreach(row, index, value) {
    if (ep_json_number(value) > ep_json_number(json_array_get(row, best))) best = index;
  }
  return (int64_t)best;
}

static void table_print(const ep_terminal *terminal, const json_t *rows, meaning what) {
  static char titles[SHOWN_OUTPUTS][TITLE_BYTES];
  char text[EP_HUMAN_BYTES];
  size_t outputs = json_array_size(json_array_get(rows, 0)), index;
  const json_t *row;
  ep_text_table table = {0};
  bool classified = what == CLASSES || (what == LOGIT && outputs == 1);
  ep_text_table_column(&table, "row", true, false);
  if (classified) ep_text_table_column(&table, "class", true, false);
  if (outputs > SHOWN_OUTPUTS) outputs = SHOWN_OUTPUTS;
  for (size_t i = 0; i < outputs; i++) {
    snprintf(titles[i], TITLE_BYTES, outputs > 1 ? "output %zu" : "output", i);
    ep_text_table_column(&table, titles[i], true, false);
  }
  json_array_foreach(rows, index, row) {
    ep_text_table_cell(&table, ep_human_count((int64_t)index, text), EP_COLOUR_DIM);
    if (classified)
      ep_text_table_cell(&table, ep_human_count(class_find(row, what), text), EP_COLOUR_BOLD);
    for (size_t i = 0; i < outputs; i++) {
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

static ep_status subcommand_run(ep_client *client, const ep_arguments *arguments, ep_error *error) {
  char id[EP_JOB_ID_BYTES], path[EP_REQUEST_PATH_BYTES], *text = NULL, *body = NULL;
  size_t bytes = 0, body_bytes = 0;
  meaning what = VALUES;
  json_t *root = NULL;
  bool csv = ep_arguments_has(arguments, "csv");
  ep_status status = ep_job_id_find(&client->session, arguments->words[0], id, error);
  if (status == EP_OK)
    status = ep_input_read(arguments->words[1], EP_LIMIT_PREDICT_BYTES, &text, &bytes, error);
  if (status == EP_OK) status = ep_rows_format(text, bytes, &body, &body_bytes, error);
  free(text);
  if (status == EP_OK && !client->json && !csv)
    status = meaning_find(&client->session, id, &what, error);
  if (status == EP_OK) {
    ep_path_make(path, "/v1/jobs/", id, "/predict");
    const char *checkpoint = ep_arguments_value(arguments, "checkpoint");
    if (checkpoint) ep_path_query(path, "checkpoint", checkpoint);
    ep_http_request request = {.method = "POST",
                               .path = path,
                               .body = body,
                               .body_bytes = body_bytes,
                               .content_type = "application/json"};
    status = ep_client_send(client, &request, &root, error);
  }
  if (status == EP_OK && root && csv) csv_print(ep_json_at(root, "predictions"));
  if (status == EP_OK && root && !csv)
    table_print(&client->terminal, ep_json_at(root, "predictions"), what);
  json_decref(root);
  free(body);
  return status;
}

/* clang-format off */
static const ep_option OPTIONS[] = {
  {.name = "csv", .kind = EP_OPTION_SWITCH, .doc = "print CSV"},
  {.name = "checkpoint", .letter = 'c', .kind = EP_OPTION_TEXT, .value = "STEP|latest",
   .doc = "predict with this checkpoint, also while the job trains"},
  {.name = NULL}};

const ep_subcommand ep_subcommand_predict = {
  .name = "predict", .words = "JOB FILE", .kind = EP_WORD_JOB, .least = 2, .most = 2,
  .options = OPTIONS, .run = subcommand_run,
  .summary = "predict new rows with a trained network",
  .details =
    "FILE is CSV (a line of names is skipped) or JSON, [[…], …] or {\"x\": [[…], …]}; - is "
    "standard input. A classifier's class is shown beside its outputs.",
  .examples =
    "echo 0,1 | epochctl predict last -\n"
    "echo 0,1 | epochctl predict last - --csv --checkpoint latest"};
/* clang-format on */
