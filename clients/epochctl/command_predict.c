/* command_predict.c: predict. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/arguments/input.h"
#include "clients/epochctl/commands.h"
#include "clients/epochctl/fields.h"
#include "clients/epochctl/figures.h"
#include "clients/epochctl/http.h"
#include "clients/epochctl/job_name.h"
#include "clients/epochctl/rows.h"
#include "clients/epochctl/table.h"

enum { SHOWN_OUTPUTS = 32, TITLE_BYTES = 32, INPUT_BYTES = EP_LIMIT_PREDICT_BYTES };

/* What the outputs mean, by the job's loss. */
typedef enum { VALUES, CLASSES, BINARY } meaning;

static ep_status meaning_find(ep_session *session, const char *id, meaning *out, ep_error *error) {
  char path[EP_PATH_MAX_BYTES];
  json_t *job = NULL;
  ep_path_make(path, "/v1/jobs/", id, "");
  ep_status status = ep_get_json(session, path, &job, error);
  const char *loss = ep_field_text(job, "spec.loss");
  if (!*loss) loss = ep_field_text(job, "spec.loss.type");
  *out = VALUES;
  if (strcmp(loss, "cross_entropy") == 0 || strcmp(loss, "nll") == 0) *out = CLASSES;
  if (strcmp(loss, "bce_with_logits") == 0 || strcmp(loss, "bce") == 0) *out = BINARY;
  if (*out == BINARY && strcmp(loss, "bce") == 0) *out = VALUES; /* they are probabilities */
  json_decref(job);
  return status;
}

/* The class with the largest output; of one logit, whether it is above 0. */
static int64_t class_find(const json_t *row, meaning what) {
  size_t index, best = 0;
  const json_t *value;
  if (what == BINARY) return ep_field_value(json_array_get(row, 0)) > 0;
  json_array_foreach(row, index, value) {
    if (ep_field_value(value) > ep_field_value(json_array_get(row, best))) best = index;
  }
  return (int64_t)best;
}

static void table_print(const ep_session *session, const json_t *rows, meaning what) {
  static char titles[SHOWN_OUTPUTS][TITLE_BYTES];
  char text[EP_FIGURE_BYTES];
  size_t outputs = json_array_size(json_array_get(rows, 0)), index;
  const json_t *row;
  ep_table table = {0};
  bool classified = what == CLASSES || (what == BINARY && outputs == 1);
  ep_table_column(&table, "row", true, false);
  if (classified) ep_table_column(&table, "class", true, false);
  if (outputs > SHOWN_OUTPUTS) outputs = SHOWN_OUTPUTS;
  for (size_t i = 0; i < outputs; i++) {
    snprintf(titles[i], TITLE_BYTES, outputs > 1 ? "output %zu" : "output", i);
    ep_table_column(&table, titles[i], true, false);
  }
  json_array_foreach(rows, index, row) {
    ep_table_cell(&table, ep_figure_count((int64_t)index, text), EP_COLOUR_DIM);
    if (classified)
      ep_table_cell(&table, ep_figure_count(class_find(row, what), text), EP_COLOUR_BOLD);
    for (size_t i = 0; i < outputs; i++) {
      double value = ep_field_value(json_array_get(row, i));
      ep_table_cell(&table, ep_figure_number(value, text), EP_COLOUR_PLAIN);
    }
  }
  ep_table_print(&table, &session->terminal, true);
  ep_table_deinit(&table);
}

static void csv_print(const json_t *rows) {
  char text[EP_NUMBER_BYTES];
  const json_t *row, *value;
  size_t index, at;
  json_array_foreach(rows, index, row) {
    json_array_foreach(row, at, value) {
      double number = ep_field_value(value);
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

ep_status ep_command_predict(ep_session *session, const ep_arguments *arguments, ep_error *error) {
  char id[EP_JOB_ID_BYTES], path[EP_PATH_MAX_BYTES], *text = NULL, *body = NULL;
  size_t bytes = 0, body_bytes = 0;
  meaning what = VALUES;
  json_t *root = NULL;
  bool csv = ep_arguments_has(arguments, "csv");
  ep_status status = ep_job_find(session, arguments->words[0], id, error);
  if (!status) status = ep_input_read(arguments->words[1], INPUT_BYTES, &text, &bytes, error);
  if (!status) status = ep_rows_format(text, bytes, &body, &body_bytes, error);
  free(text);
  if (!status && !session->json && !csv) status = meaning_find(session, id, &what, error);
  if (!status) {
    ep_path_make(path, "/v1/jobs/", id, "/predict");
    ep_call call = {.method = "POST",
                    .path = path,
                    .body = body,
                    .body_bytes = body_bytes,
                    .content_type = "application/json"};
    status = ep_call_ask(session, &call, &root, error);
  }
  if (!status && root && csv) csv_print(ep_field(root, "predictions"));
  if (!status && root && !csv) table_print(session, ep_field(root, "predictions"), what);
  json_decref(root);
  free(body);
  return status;
}
