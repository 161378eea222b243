#include "engine/predictions.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/writer.h"
#include "engine/data/durable_file.h"

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

/* Text on its way into a file. After a failure nothing more is written. */
typedef struct {
  ep_durable_file *file; /* owned */
  size_t used;
  ep_status status;
  ep_error *error;
  char text[1 << 15];
} text_stream;

static void stream_flush(text_stream *out) {
  if (out->status == EP_OK)
    out->status = ep_durable_file_write(out->file, out->text, out->used, out->error);
  out->used = 0;
}

/* text: a few words at most. */
static void text_write(text_stream *out, const char *text) {
  size_t count = strlen(text);
  if (count > sizeof out->text - out->used) stream_flush(out);
  memcpy(out->text + out->used, text, count);
  out->used += count;
}

/* JSON has no NaN and no infinity: they are strings. */
static void number_write(text_stream *out, double value, bool json) {
  char text[EP_NUMBER_BYTES];
  if (isfinite(value))
    ep_rounded_format(value, text);
  else
    snprintf(text, sizeof text, json ? "\"%s\"" : "%s",
             isnan(value) ? "NaN"
             : value > 0  ? "Infinity"
                          : "-Infinity");
  text_write(out, text);
}

static void integer_write(text_stream *out, int64_t value) {
  char text[EP_NUMBER_BYTES];
  ep_integer_format(value, text);
  text_write(out, text);
}

static void json_column_write(text_stream *out, const char *name, const prediction_table *table,
                              const double *values) {
  text_write(out, ",\"");
  text_write(out, name);
  text_write(out, "\":[");
  for (int64_t i = 0; i < table->rows * table->columns; i++) {
    bool begins = i % table->columns == 0, ends = (i + 1) % table->columns == 0;
    if (i > 0) text_write(out, ",");
    if (begins && table->columns != 1) text_write(out, "[");
    number_write(out, values[i], true);
    if (ends && table->columns != 1) text_write(out, "]");
  }
  text_write(out, "]");
}

static void json_output_write(text_stream *out, const prediction_table *table) {
  text_write(out, ",\"output\":[");
  for (int64_t i = 0; i < table->rows; i++) {
    text_write(out, i ? ",[" : "[");
    for (int64_t j = 0; j < table->output_columns; j++) {
      if (j) text_write(out, ",");
      number_write(out, table->output[i * table->output_columns + j], true);
    }
    text_write(out, "]");
  }
  text_write(out, "]");
}

static void json_write(text_stream *out, const prediction_table *table) {
  text_write(out, "{\"object\":\"predictions\",\"split\":\"test\",\"rows\":");
  integer_write(out, table->rows);
  json_column_write(out, "target", table, table->target);
  json_column_write(out, "prediction", table, table->prediction);
  if (table->output) json_output_write(out, table);
  text_write(out, "}\n");
}

static void csv_header_write(text_stream *out, const char *name, int64_t columns,
                             bool number_single) {
  for (int64_t i = 0; i < columns; i++) {
    text_write(out, ",");
    text_write(out, name);
    if (columns == 1 && !number_single) continue;
    text_write(out, "_");
    integer_write(out, i);
  }
}

static void csv_numbers_write(text_stream *out, const double *values, int64_t count) {
  for (int64_t i = 0; i < count; i++) {
    text_write(out, ",");
    number_write(out, values[i], false);
  }
}

static void csv_write(text_stream *out, const prediction_table *table) {
  text_write(out, "row");
  csv_header_write(out, "target", table->columns, false);
  csv_header_write(out, "prediction", table->columns, false);
  csv_header_write(out, "output", table->output_columns, true);
  text_write(out, "\n");
  for (int64_t i = 0; i < table->rows; i++) {
    integer_write(out, i + 1);
    csv_numbers_write(out, table->target + i * table->columns, table->columns);
    csv_numbers_write(out, table->prediction + i * table->columns, table->columns);
    for (int64_t j = 0; j < table->output_columns; j++) {
      text_write(out, ",");
      number_write(out, table->output[i * table->output_columns + j], false);
    }
    text_write(out, "\n");
  }
}

/* Writes `name` and hands it to the group. */
static ep_status file_write(ep_durable_group *group, const char *folder, const char *name,
                            void (*write)(text_stream *out, const prediction_table *table),
                            const prediction_table *table, ep_error *error) {
  char path[PATH_MAX];
  text_stream out = {.error = error};
  snprintf(path, sizeof path, "%s/%s", folder, name);
  ep_status status = ep_durable_file_create(path, &out.file, error);
  if (status != EP_OK) return status;
  write(&out, table);
  stream_flush(&out);
  if (out.status == EP_OK) return ep_durable_group_take(group, out.file, NULL, NULL, error);
  ep_durable_file_abandon(out.file);
  return out.status;
}

ep_status ep_predictions_write(ep_durable_group *group, const char *folder,
                               const ep_prepared *prepared, ep_loss_type loss, const float *outputs,
                               int64_t out_features, ep_error *error) {
  prediction_table table;
  ep_status status = table_init(&table, prepared, loss, outputs, out_features, error);
  if (status != EP_OK) return status;
  status = file_write(group, folder, "predictions.json", json_write, &table, error);
  if (status == EP_OK)
    status = file_write(group, folder, "predictions.csv", csv_write, &table, error);
  free(table.target);
  return status;
}
