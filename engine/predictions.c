#include "engine/predictions.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

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

/* JSON has no NaN and no infinity: they are strings. */
static void number_write(FILE *file, double value, bool json) {
  if (isfinite(value))
    fprintf(file, "%.8g", value);
  else
    fprintf(file, json ? "\"%s\"" : "%s",
            isnan(value) ? "NaN"
            : value > 0  ? "Infinity"
                         : "-Infinity");
}

static void row_write(FILE *file, const double *row, int64_t columns) {
  if (columns != 1) fputc('[', file);
  for (int64_t i = 0; i < columns; i++) {
    if (i) fputc(',', file);
    number_write(file, row[i], true);
  }
  if (columns != 1) fputc(']', file);
}

static void json_column_write(FILE *file, const char *name, const prediction_table *table,
                              const double *values) {
  fprintf(file, ",\"%s\":[", name);
  for (int64_t i = 0; i < table->rows; i++) {
    if (i) fputc(',', file);
    row_write(file, values + i * table->columns, table->columns);
  }
  fputc(']', file);
}

static void json_write(FILE *file, const prediction_table *table) {
  fprintf(file, "{\"object\":\"predictions\",\"split\":\"test\",\"rows\":%lld",
          (long long)table->rows);
  json_column_write(file, "target", table, table->target);
  json_column_write(file, "prediction", table, table->prediction);
  if (table->output) {
    fputs(",\"output\":[", file);
    for (int64_t i = 0; i < table->rows; i++) {
      fputs(i ? ",[" : "[", file);
      for (int64_t j = 0; j < table->output_columns; j++) {
        if (j) fputc(',', file);
        number_write(file, table->output[i * table->output_columns + j], true);
      }
      fputc(']', file);
    }
    fputc(']', file);
  }
  fputs("}\n", file);
}

static void csv_header_write(FILE *file, const char *name, int64_t columns, bool number_single) {
  for (int64_t i = 0; i < columns; i++)
    if (columns == 1 && !number_single)
      fprintf(file, ",%s", name);
    else
      fprintf(file, ",%s_%lld", name, (long long)i);
}

static void csv_write(FILE *file, const prediction_table *table) {
  fputs("row", file);
  csv_header_write(file, "target", table->columns, false);
  csv_header_write(file, "prediction", table->columns, false);
  csv_header_write(file, "output", table->output_columns, true);
  fputc('\n', file);
  for (int64_t i = 0; i < table->rows; i++) {
    fprintf(file, "%lld", (long long)i + 1);
    for (int64_t j = 0; j < 2 * table->columns; j++) {
      const double *values = j < table->columns ? table->target : table->prediction;
      fputc(',', file);
      number_write(file, values[i * table->columns + j % table->columns], false);
    }
    for (int64_t j = 0; j < table->output_columns; j++) {
      fputc(',', file);
      number_write(file, table->output[i * table->output_columns + j], false);
    }
    fputc('\n', file);
  }
}

/* Writes `name` and hands it to the group. */
static ep_status file_write(ep_durable_group *group, const char *folder, const char *name,
                            void (*write)(FILE *file, const prediction_table *table),
                            const prediction_table *table, ep_error *error) {
  char path[PATH_MAX];
  char *text = NULL;
  size_t bytes = 0;
  ep_durable_file *durable = NULL;
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *file = open_memstream(&text, &bytes);
  if (!file) return ep_fail(error, EP_NO_MEMORY, "no memory for %s", name);
  write(file, table);
  bool failed = ferror(file) != 0;
  failed = fclose(file) != 0 || failed;
  ep_status status = failed ? ep_fail(error, EP_NO_MEMORY, "no memory for %s", name)
                            : ep_durable_file_create(path, &durable, error);
  if (status == EP_OK) status = ep_durable_file_write(durable, text, bytes, error);
  if (status == EP_OK)
    status = ep_durable_group_take(group, durable, NULL, NULL, error);
  else
    ep_durable_file_abandon(durable);
  free(text);
  return status;
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
