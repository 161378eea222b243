#include "engine/training/predictions.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json/number.h"
#include "api/json/writer.h"
#include "api/names.h"
#include "engine/files/durable_file.h"
#include "engine/files/path.h"
#include "engine/parallel.h"
#include "kernels/formulas/losses.h"

/* The test split in the units of the data. */
typedef struct {
  int64_t rows, columns; /* of target and prediction */
  double *target;        /* [rows, columns]; NULL: there are none */
  double *prediction;    /* [rows, columns] */
  const float *output;   /* [rows, output_columns] of a classifier; NULL of a regression */
  int64_t output_columns;
  double *values;          /* owned: what target and prediction point into */
  const ep_words *classes; /* lent: target and prediction are their numbers; NULL: numbers */
} prediction_table;

static ep_status table_init(prediction_table *out, const ep_prepared *prepared, ep_loss_type loss,
                            const float *outputs, int64_t out_features, ep_error *error) {
  int64_t rows = prepared->rows[EP_SPLIT_TEST];
  bool classes = ep_loss_takes_classes(loss);
  int64_t columns = classes ? 1 : prepared->target_columns;
  size_t count = (size_t)rows * (size_t)columns;
  double *values = malloc((2 * count + 1) * sizeof *values);
  if (!values) return ep_fail_memory(error);
  bool labelled = ep_prepared_targets(prepared, EP_SPLIT_TEST) != NULL;
  *out = (prediction_table){.rows = rows,
                            .columns = columns,
                            .target = labelled ? values : NULL,
                            .prediction = values + count,
                            .values = values};
  if (ep_loss_is_classifier(loss)) out->classes = ep_scaling_classes(&prepared->scaling);
  if (ep_loss_is_classifier(loss)) out->output = outputs, out->output_columns = out_features;

  if (classes) {
    for (int64_t i = 0; i < rows; i++) {
      if (labelled) out->target[i] = prepared->classes[EP_SPLIT_TEST][i];
      out->prediction[i] = ep_argmax(outputs + i * out_features, (int)out_features);
    }
  } else if (ep_loss_is_classifier(loss)) {
    float threshold = loss == EP_LOSS_BCE ? 0.5f : 0.0f;
    for (size_t i = 0; i < count; i++) {
      if (labelled) out->target[i] = prepared->y[EP_SPLIT_TEST][i];
      out->prediction[i] = outputs[i] > threshold;
    }
  } else {
    if (labelled)
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

/* In a writer of its own, which sets no comma before it. */
static void json_word_write(ep_writer *out, const char *word) {
  char text[6 * EP_LIMIT_WORD_BYTES + 3];
  ep_writer quoted;
  ep_writer_init_fixed(&quoted, text, sizeof text);
  ep_writer_string(&quoted, word);
  ep_writer_bytes(out, text, quoted.count);
}

/* RFC 4180: in quotes where it has to be. */
static void csv_word_write(ep_writer *out, const char *word) {
  if (!strpbrk(word, ",\"\r\n")) {
    ep_writer_bytes(out, word, strlen(word));
    return;
  }
  ep_writer_bytes(out, "\"", 1);
  for (; *word; word++) {
    if (*word == '"') ep_writer_bytes(out, "\"", 1);
    ep_writer_bytes(out, word, 1);
  }
  ep_writer_bytes(out, "\"", 1);
}

/* A target or a prediction: a number, or the word of a class; the network may have more outputs
 * than there are words. */
static void value_write(ep_writer *out, const prediction_table *table, double value, bool json) {
  const char *word = table->classes && value >= 0 && value < (double)table->classes->count
                         ? table->classes->word[(int64_t)value]
                         : NULL;
  if (!word)
    number_write(out, value, json);
  else if (!json)
    csv_word_write(out, word);
  else
    json_word_write(out, word);
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
    value_write(out, table, values[row * table->columns + i], true);
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

static void csv_values_write(ep_writer *out, const prediction_table *table, const double *values,
                             int64_t row) {
  for (int64_t i = 0; i < table->columns; i++) {
    text_write(out, ",");
    value_write(out, table, values[row * table->columns + i], false);
  }
}

static void csv_row_write(ep_writer *out, const prediction_table *table, int64_t row) {
  integer_write(out, row + 1);
  if (table->target) csv_values_write(out, table, table->target, row);
  csv_values_write(out, table, table->prediction, row);
  for (int64_t i = 0; i < table->output_columns; i++) {
    text_write(out, ",");
    number_write(out, table->output[row * table->output_columns + i], false);
  }
  text_write(out, "\n");
}

/* What is written: three lists of the JSON, and the lines of the CSV. */
typedef enum { TARGETS, PREDICTIONS, OUTPUTS, LINES } text_kind;

/* A window of rows, cut into pieces whose texts several threads make at the same time. There may be
 * gigabytes of text in all: no more than a window of it is held. */
enum { PIECES = 32, PIECE_VALUES_LEAST = 4096, WINDOW_VALUES = 1 << 20 };
typedef struct {
  const prediction_table *table;
  row_write *write;
  int64_t first, rows;
  int64_t pieces;
  ep_writer text[PIECES];
} text_window;

static void pieces_make(void *context, int64_t first, int64_t count) {
  text_window *window = context;
  for (int64_t piece = first; piece < first + count; piece++) {
    int64_t row = window->first + window->rows * piece / window->pieces;
    int64_t end = window->first + window->rows * (piece + 1) / window->pieces;
    for (; row < end; row++) window->write(&window->text[piece], window->table, row);
  }
}

/* A file on its way. After a failure nothing more is written. */
typedef struct {
  ep_durable_file *file; /* owned */
  const prediction_table *table;
  ep_status status;
  ep_error *error;
} prediction_file;

static void bytes_write(prediction_file *out, const char *text, size_t count) {
  if (out->status == EP_OK) out->status = ep_durable_file_write(out->file, text, count, out->error);
}

static void words_write(prediction_file *out, const char *text) {
  bytes_write(out, text, strlen(text));
}

static int64_t row_values(const prediction_table *table, text_kind kind) {
  if (kind == OUTPUTS) return table->output_columns;
  return kind == LINES ? 2 * table->columns + table->output_columns : table->columns;
}

static void window_write(prediction_file *out, text_window *window, int64_t values) {
  window->pieces = 1 + window->rows * values / PIECE_VALUES_LEAST;
  if (window->pieces > window->rows) window->pieces = window->rows;
  if (window->pieces > PIECES) window->pieces = PIECES;
  for (int64_t i = 0; i < window->pieces; i++) ep_writer_init(&window->text[i], SIZE_MAX / 2);
  ep_parallel_run(window->pieces, 1, pieces_make, window);
  for (int64_t i = 0; i < window->pieces; i++) {
    const ep_writer *text = &window->text[i];
    if (text->failed && out->status == EP_OK) out->status = ep_fail_memory(out->error);
    bytes_write(out, text->text, text->count);
    ep_writer_deinit(&window->text[i]);
  }
}

static void rows_write(prediction_file *out, text_kind kind) {
  static row_write *const writes[] = {json_target_write, json_prediction_write, json_output_write,
                                      csv_row_write};
  text_window window = {.table = out->table, .write = writes[kind]};
  int64_t values = row_values(out->table, kind);
  int64_t rows = values < WINDOW_VALUES ? WINDOW_VALUES / values : 1, left = out->table->rows;
  for (; left > 0 && out->status == EP_OK; left -= window.rows) {
    window.rows = rows < left ? rows : left;
    window_write(out, &window, values);
    window.first += window.rows;
  }
}

static void json_write(prediction_file *out) {
  char rows[EP_NUMBER_BYTES];
  ep_integer_format(out->table->rows, rows);
  words_write(out, "{\"object\":\"predictions\",\"split\":\"test\",\"rows\":");
  words_write(out, rows);
  words_write(out, out->table->target ? ",\"target\":[" : ",\"target\":null");
  if (out->table->target) rows_write(out, TARGETS);
  words_write(out, out->table->target ? "],\"prediction\":[" : ",\"prediction\":[");
  rows_write(out, PREDICTIONS);
  if (out->table->output) {
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
  const prediction_table *table = out->table;
  words_write(out, "row");
  if (table->target) csv_header_write(out, "target", table->columns, false);
  csv_header_write(out, "prediction", table->columns, false);
  csv_header_write(out, "output", table->output_columns, true);
  words_write(out, "\n");
  rows_write(out, LINES);
}

/* Writes `name` and hands it to the group. */
static ep_status file_write(ep_durable_group *group, const char *folder, const char *name,
                            void (*write)(prediction_file *out), const prediction_table *table,
                            char sha256[EP_SHA256_HEX_BYTES], ep_error *error) {
  char path[EP_PATH_BYTES];
  prediction_file out = {.table = table, .error = error};
  ep_status status = ep_path_join(path, error, folder, name, NULL);
  if (status == EP_OK) status = ep_durable_file_create(path, &out.file, error);
  if (status != EP_OK) return status;
  write(&out);
  if (out.status == EP_OK) return ep_durable_group_take(group, out.file, sha256, NULL, error);
  ep_durable_file_abandon(out.file);
  return out.status;
}

ep_status ep_predictions_write(ep_durable_group *group, const char *folder,
                               const ep_prepared *prepared, ep_loss_type loss, const float *outputs,
                               int64_t out_features, char json_sha256[EP_SHA256_HEX_BYTES],
                               char csv_sha256[EP_SHA256_HEX_BYTES], ep_error *error) {
  prediction_table table;
  ep_status status = table_init(&table, prepared, loss, outputs, out_features, error);
  if (status != EP_OK) return status;
  status =
      file_write(group, folder, EP_PREDICTIONS_JSON_FILE, json_write, &table, json_sha256, error);
  if (status == EP_OK)
    status =
        file_write(group, folder, EP_PREDICTIONS_CSV_FILE, csv_write, &table, csv_sha256, error);
  free(table.values);
  return status;
}
