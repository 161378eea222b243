#include "engine/predictions.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/writer.h"
#include "engine/data/durable_file.h"
#include "engine/spread.h"

/* The test split in the units of the data. */
typedef struct {
  int64_t rows, columns; /* of target and prediction */
  double *target;        /* [rows, columns] */
  double *prediction;    /* [rows, columns] */
  const float *output;   /* [rows, output_columns] of a classifier; NULL of a regression */
  int64_t output_columns;
} prediction_table;

static double predicted_class(const float *row, int64_t classes) {
  int64_t guess = 0;
  for (int64_t i = 1; i < classes; i++)
    if (row[i] > row[guess]) guess = i;
  return (double)guess;
}

static ep_status table_init(prediction_table *out, const ep_prepared *prepared, ep_loss_type loss,
                            const float *outputs, int64_t out_features, ep_error *error) {
  int64_t rows = prepared->rows[EP_SPLIT_TEST];
  bool classes = ep_loss_takes_classes(loss);
  int64_t columns = classes ? 1 : prepared->target_columns;
  size_t count = (size_t)rows * (size_t)columns;
  double *values = malloc((2 * count + 1) * sizeof *values);
  if (!values) return ep_fail(error, EP_NO_MEMORY, "no memory for %zu predictions", count);
  *out = (prediction_table){rows, columns, values, values + count, NULL, 0};
  if (ep_loss_is_classifier(loss)) out->output = outputs, out->output_columns = out_features;

  if (classes) {
    for (int64_t i = 0; i < rows; i++) {
      out->target[i] = prepared->classes[EP_SPLIT_TEST][i];
      out->prediction[i] = predicted_class(outputs + i * out_features, out_features);
    }
  } else if (ep_loss_is_classifier(loss)) {
    float threshold = loss == EP_LOSS_BCE ? 0.5f : 0.0f;
    for (size_t i = 0; i < count; i++) {
      out->target[i] = prepared->y[EP_SPLIT_TEST][i];
      out->prediction[i] = outputs[i] > threshold;
    }
  } else {
    ep_scaling_undo_y(&prepared->scaling, prepared->y[EP_SPLIT_TEST], rows, out->target);
    ep_scaling_undo_y(&prepared->scaling, outputs, rows, out->prediction);
  }
  return EP_OK;
}

/* JSON has no NaN and no infinity: they are strings. */
static void number_write(ep_writer *out, double value, bool json) {
  char text[EP_NUMBER_BYTES];
  if (isfinite(value))
    ep_rounded_format(value, text);
  else
    snprintf(text, sizeof text, json ? "\"%s\"" : "%s",
             isnan(value) ? "NaN"
             : value > 0  ? "Infinity"
                          : "-Infinity");
  ep_writer_bytes(out, text, strlen(text));
}

static void text_write(ep_writer *out, const char *text) {
  ep_writer_bytes(out, text, strlen(text));
}

static void integer_write(ep_writer *out, int64_t value) {
  char text[EP_NUMBER_BYTES];
  ep_writer_bytes(out, text, ep_integer_format(value, text));
}

/* What stands for a row in a file, or in one of its lists. */
typedef void row_write(ep_writer *out, const prediction_table *table, int64_t row);

static void json_values_write(ep_writer *out, const prediction_table *table, const double *values,
                              int64_t row) {
  if (row > 0) text_write(out, ",");
  if (table->columns != 1) text_write(out, "[");
  for (int64_t i = 0; i < table->columns; i++) {
    if (i > 0) text_write(out, ",");
    number_write(out, values[row * table->columns + i], true);
  }
  if (table->columns != 1) text_write(out, "]");
}

static void json_target_write(ep_writer *out, const prediction_table *table, int64_t row) {
  json_values_write(out, table, table->target, row);
}

static void json_prediction_write(ep_writer *out, const prediction_table *table, int64_t row) {
  json_values_write(out, table, table->prediction, row);
}

static void json_output_write(ep_writer *out, const prediction_table *table, int64_t row) {
  text_write(out, row > 0 ? ",[" : "[");
  for (int64_t i = 0; i < table->output_columns; i++) {
    if (i > 0) text_write(out, ",");
    number_write(out, table->output[row * table->output_columns + i], true);
  }
  text_write(out, "]");
}

static void csv_row_write(ep_writer *out, const prediction_table *table, int64_t row) {
  integer_write(out, row + 1);
  for (int64_t i = 0; i < 2 * table->columns + table->output_columns; i++) {
    int64_t column = i % table->columns;
    text_write(out, ",");
    number_write(out,
                 i < table->columns ? table->target[row * table->columns + column]
                 : i < 2 * table->columns
                     ? table->prediction[row * table->columns + column]
                     : table->output[row * table->output_columns + i - 2 * table->columns],
                 false);
  }
  text_write(out, "\n");
}

/* The texts of all rows, cut into pieces of rows that several threads make at the same time: three
 * lists of the JSON, and the lines of the CSV. */
enum { TARGETS, PREDICTIONS, OUTPUTS, LINES, TEXTS };
enum { PIECES = 32, PIECE_ROWS_LEAST = 500 };
typedef struct {
  const prediction_table *table;
  int64_t count; /* of pieces */
  ep_writer text[PIECES][TEXTS];
} prediction_texts;

static void text_make(const prediction_texts *texts, int64_t piece, int kind, ep_writer *out) {
  static row_write *const writes[TEXTS] = {json_target_write, json_prediction_write,
                                           json_output_write, csv_row_write};
  const prediction_table *table = texts->table;
  int64_t end = table->rows * (piece + 1) / texts->count;
  if (kind == OUTPUTS && !table->output) end = 0;
  ep_writer_init(out, SIZE_MAX / 2);
  for (int64_t row = table->rows * piece / texts->count; row < end; row++)
    writes[kind](out, table, row);
}

static void texts_make(void *context, int64_t first, int64_t count) {
  prediction_texts *texts = context;
  for (int64_t i = first; i < first + count; i++)
    text_make(texts, i / TEXTS, (int)(i % TEXTS), &texts->text[i / TEXTS][i % TEXTS]);
}

static ep_status texts_init(prediction_texts *out, const prediction_table *table, ep_error *error) {
  bool failed = false;
  out->table = table;
  out->count = 1 + table->rows / PIECE_ROWS_LEAST;
  if (out->count > PIECES) out->count = PIECES;
  ep_spread_run(out->count * TEXTS, TEXTS, texts_make, out);
  for (int64_t i = 0; i < out->count * TEXTS; i++) failed |= out->text[i / TEXTS][i % TEXTS].failed;
  return failed ? ep_fail(error, EP_NO_MEMORY, "no memory for the predictions") : EP_OK;
}

static void texts_deinit(prediction_texts *texts) {
  for (int64_t i = 0; i < texts->count * TEXTS; i++)
    ep_writer_deinit(&texts->text[i / TEXTS][i % TEXTS]);
}

/* A file on its way. After a failure nothing more is written. */
typedef struct {
  ep_durable_file *file; /* owned */
  const prediction_texts *texts;
  ep_status status;
  ep_error *error;
} prediction_file;

static void bytes_write(prediction_file *out, const char *text, size_t count) {
  if (out->status == EP_OK) out->status = ep_durable_file_write(out->file, text, count, out->error);
}

static void words_write(prediction_file *out, const char *text) {
  bytes_write(out, text, strlen(text));
}

static void rows_write(prediction_file *out, int kind) {
  for (int64_t i = 0; i < out->texts->count; i++)
    bytes_write(out, out->texts->text[i][kind].text, out->texts->text[i][kind].count);
}

static void json_write(prediction_file *out) {
  char rows[EP_NUMBER_BYTES];
  ep_integer_format(out->texts->table->rows, rows);
  words_write(out, "{\"object\":\"predictions\",\"split\":\"test\",\"rows\":");
  words_write(out, rows);
  words_write(out, ",\"target\":[");
  rows_write(out, TARGETS);
  words_write(out, "],\"prediction\":[");
  rows_write(out, PREDICTIONS);
  if (out->texts->table->output) {
    words_write(out, "],\"output\":[");
    rows_write(out, OUTPUTS);
  }
  words_write(out, "]}\n");
}

static void csv_header_write(prediction_file *out, const char *name, int64_t columns,
                             bool number_single) {
  char number[EP_NUMBER_BYTES];
  for (int64_t i = 0; i < columns; i++) {
    words_write(out, ",");
    words_write(out, name);
    if (columns == 1 && !number_single) continue;
    ep_integer_format(i, number);
    words_write(out, "_");
    words_write(out, number);
  }
}

static void csv_write(prediction_file *out) {
  const prediction_table *table = out->texts->table;
  words_write(out, "row");
  csv_header_write(out, "target", table->columns, false);
  csv_header_write(out, "prediction", table->columns, false);
  csv_header_write(out, "output", table->output_columns, true);
  words_write(out, "\n");
  rows_write(out, LINES);
}

/* Writes `name` and hands it to the group. */
static ep_status file_write(ep_durable_group *group, const char *folder, const char *name,
                            void (*write)(prediction_file *out), const prediction_texts *texts,
                            ep_error *error) {
  char path[PATH_MAX];
  prediction_file out = {.texts = texts, .error = error};
  snprintf(path, sizeof path, "%s/%s", folder, name);
  ep_status status = ep_durable_file_create(path, &out.file, error);
  if (status != EP_OK) return status;
  write(&out);
  if (out.status == EP_OK) return ep_durable_group_take(group, out.file, NULL, NULL, error);
  ep_durable_file_abandon(out.file);
  return out.status;
}

ep_status ep_predictions_write(ep_durable_group *group, const char *folder,
                               const ep_prepared *prepared, ep_loss_type loss, const float *outputs,
                               int64_t out_features, ep_error *error) {
  prediction_table table;
  prediction_texts texts;
  ep_status status = table_init(&table, prepared, loss, outputs, out_features, error);
  if (status != EP_OK) return status;
  status = texts_init(&texts, &table, error);
  if (status == EP_OK)
    status = file_write(group, folder, "predictions.json", json_write, &texts, error);
  if (status == EP_OK)
    status = file_write(group, folder, "predictions.csv", csv_write, &texts, error);
  texts_deinit(&texts);
  free(table.target);
  return status;
}
