#include "engine/data/prepare/remarks.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/data/cells/unicode.h"
#include "engine/data/columns/rules.h"
#include "engine/data/prepare/gaps.h"
#include "engine/files/excerpt.h"

enum { LINE_BYTES = 400, NAMES_TOLD = 8 };
static const double missing_most = 0.5;
static const double target_most = 100; /* beyond it a network's first outputs are far off */

static void line_add(char *out, size_t bytes, const char *line) {
  size_t used = strlen(out);
  if (used + strlen(line) + 2 <= bytes)
    snprintf(out + used, bytes - used, "%s%s", used ? "\n" : "", line);
}

static void rows_remark(const ep_data_shape *shape, char *out, size_t bytes) {
  char line[LINE_BYTES];
  ep_gaps_format(&shape->series_gaps, line, sizeof line);
  if (line[0]) line_add(out, bytes, line);
  long long missing = shape->target_missing, dropped = shape->dropped_rows;
  if (dropped > 0) {
    snprintf(line, sizeof line, "%lld row%s left out because of missing cells (\"drop_row\")",
             dropped, dropped == 1 ? " is" : "s are");
    line_add(out, bytes, line);
  }
  if (missing == 0) return;
  long long left = shape->train_rows + shape->validation_rows + shape->test_rows;
  snprintf(
      line, sizeof line, "%lld row%s no target and %s left out%s", missing,
      missing == 1 ? " has" : "s have", missing == 1 ? "is" : "are",
      4 * missing > left /* a fifth of all */
          ? ": if these are a class, list the words for missing cells in the upload's ?missing="
          : "");
  line_add(out, bytes, line);
}

/* Whether the spec leaves the column in, and it is no feature all the same. */
static bool is_dropped(const ep_data_spec *data, const ep_column_encoding *column) {
  bool series = data->window.length > 0 && (ep_text_equals(column->name, data->time) ||
                                            ep_text_equals(column->name, data->window.group));
  return !series && column->encode == EP_ENCODE_NONE && !column->left_out;
}

/* Names on their way into a line, the first few of them. */
typedef struct {
  char text[LINE_BYTES];
  int64_t count;
} name_list;

static void name_add(name_list *list, const char *name) {
  char shown[EP_EXCERPT_BYTES];
  size_t used = strlen(list->text);
  if (++list->count > NAMES_TOLD) return;
  snprintf(list->text + used, sizeof list->text - used, "%s\"%.30s\"", used ? ", " : "",
           ep_excerpt(shown, name, strlen(name)));
}

/* A line of the list, where it has any. remedy: behind it; "" = none. */
static void names_remark(const char *beginning, const name_list *list, const char *remedy,
                         char *out, size_t bytes) {
  char line[LINE_BYTES + 200];
  if (list->count == 0) return;
  snprintf(line, sizeof line, "%s: %s%s%s", beginning, list->text,
           list->count > NAMES_TOLD ? ", …" : "", remedy);
  line_add(out, bytes, line);
}

static void columns_remark(const ep_data_spec *data, const ep_prepared *prepared, char *out,
                           size_t bytes) {
  const ep_encoding *encoding = prepared->scaling.encoding;
  name_list dropped = {0}, missing = {0};
  if (encoding->notes) line_add(out, bytes, encoding->notes);
  double most = missing_most * (double)prepared->rows[EP_SPLIT_TRAIN];
  for (int64_t i = 0; i < encoding->columns; i++) {
    const ep_column_encoding *column = &encoding->column[i];
    if (is_dropped(data, column)) name_add(&dropped, column->name);
    if ((double)column->missing_rows > most) name_add(&missing, column->name);
  }
  names_remark("left out, as text or constant", &dropped, "", out, bytes);
  names_remark("more than half of the training rows have no cell in", &missing, "", out, bytes);
}

/* The class of a row, or -1: there are none. */
static int64_t class_of(const ep_prepared *prepared, int split, int64_t row) {
  if (prepared->classes[split]) return prepared->classes[split][row];
  float value = prepared->y[split] ? prepared->y[split][row] : -1;
  return value == 0 || value == 1 ? (int64_t)value : -1;
}

/* rows: [EP_SPLIT_COUNT][EP_LIMIT_CLASSES], written. */
static void classes_count(const ep_prepared *prepared, int64_t (*rows)[EP_LIMIT_CLASSES]) {
  for (int split = 0; split < EP_SPLIT_COUNT; split++)
    for (int64_t i = 0; i < prepared->rows[split]; i++) {
      int64_t found = class_of(prepared, split, i);
      if (found >= 0 && found < EP_LIMIT_CLASSES) rows[split][found]++;
    }
}

static void class_name_add(name_list *list, const ep_words *names, int64_t found) {
  char number[24];
  snprintf(number, sizeof number, "%lld", (long long)found);
  name_add(list, names && found < names->count ? names->word[found] : number);
}

/* Classes that other splits have rows of, and this one has not. */
static void split_remark(const ep_data_spec *data, const ep_prepared *prepared,
                         int64_t (*rows)[EP_LIMIT_CLASSES], int split, char *out, size_t bytes) {
  const ep_words *names = ep_scaling_classes(&prepared->scaling);
  char beginning[80];
  name_list lacking = {0};
  for (int64_t k = 0; k < EP_LIMIT_CLASSES; k++) {
    int64_t all = 0;
    for (int other = 0; other < EP_SPLIT_COUNT; other++) all += rows[other][k];
    if (all > 0 && rows[split][k] == 0) class_name_add(&lacking, names, k);
  }
  snprintf(beginning, sizeof beginning, "no %s rows of the class%s",
           split == EP_SPLIT_TRAIN ? "training" : ep_split_name((ep_split)split),
           lacking.count > 1 ? "es" : "");
  names_remark(beginning, &lacking,
               data->stratify ? "; it has too few rows: add more, or merge it with another class"
                              : "; \"stratify\": true in data gives each split its share",
               out, bytes);
}

static void classes_remark(const ep_job_spec *spec, const ep_prepared *prepared, char *out,
                           size_t bytes) {
  if (!ep_loss_is_classifier(spec->loss) || prepared->target_columns != 1) return;
  int64_t(*rows)[EP_LIMIT_CLASSES] = calloc(EP_SPLIT_COUNT, sizeof *rows);
  if (!rows) return; /* a remark less */
  classes_count(prepared, rows);
  for (int split = 0; split < EP_SPLIT_COUNT; split++)
    if (ep_prepared_targets(prepared, (ep_split)split))
      split_remark(&spec->data, prepared, rows, split, out, bytes);
  free(rows);
}

static void target_remark(const ep_job_spec *spec, const ep_data_shape *shape, char *out,
                          size_t bytes) {
  char line[LINE_BYTES];
  bool far = fabs(shape->target_min) > target_most || fabs(shape->target_max) > target_most;
  if (ep_loss_is_classifier(spec->loss) || spec->data.standardize_y || !far) return;
  snprintf(line, sizeof line,
           "the targets range from %g to %g and are not scaled, which slows training: "
           "\"standardize\": [\"y\"] in data scales them",
           shape->target_min, shape->target_max);
  line_add(out, bytes, line);
}

/* The layer that shapes the outputs: the last one that changes values where the network predicts.
 */
static ep_layer_type output_layer(const ep_job_spec *spec) {
  int last = spec->layers_count - 1;
  while (last > 0 && (spec->layers[last].type == EP_LAYER_DROPOUT ||
                      spec->layers[last].type == EP_LAYER_FLATTEN))
    last--;
  return spec->layers[last].type;
}

/* Pairs of a loss and a last layer that train, and worse than their maker thinks. */
static const char *output_advice(const ep_job_spec *spec) {
  ep_layer_type last = output_layer(spec);
  bool squashes = last == EP_LAYER_SOFTMAX || last == EP_LAYER_SIGMOID;
  bool cut = last == EP_LAYER_RELU || last == EP_LAYER_SIGMOID || last == EP_LAYER_SOFTPLUS;
  if (spec->loss == EP_LOSS_BCE_WITH_LOGITS && squashes)
    return "includes a sigmoid: remove the last layer, or use bce";
  if ((spec->loss == EP_LOSS_CROSS_ENTROPY || spec->loss == EP_LOSS_FOCAL) && squashes)
    return "includes a softmax: remove the last layer";
  if (spec->loss == EP_LOSS_NLL && last != EP_LAYER_LOG_SOFTMAX)
    return "expects log-probabilities: end with a log_softmax layer, or use cross_entropy";
  if (ep_loss_is_classifier(spec->loss) && spec->loss != EP_LOSS_BCE && last == EP_LAYER_RELU)
    return "expects logits, which can be negative: remove the last layer";
  if (!ep_loss_is_classifier(spec->loss) && spec->data.standardize_y && cut)
    return "has a standardized target, half of which is negative: remove the last layer, or remove "
           "\"y\" from \"standardize\"";
  return NULL;
}

static void output_remark(const ep_job_spec *spec, char *out, size_t bytes) {
  char line[LINE_BYTES];
  const char *advice = output_advice(spec);
  if (!advice) return;
  snprintf(line, sizeof line, "the network ends with %s, and %s %s",
           ep_layer_type_name(output_layer(spec)), ep_loss_type_name(spec->loss), advice);
  line_add(out, bytes, line);
}

void ep_data_remarks(const ep_job_spec *spec, const ep_data_shape *shape,
                     const ep_prepared *prepared, char *out, size_t bytes) {
  out[0] = 0;
  rows_remark(shape, out, bytes);
  if (prepared->scaling.encoding) columns_remark(&spec->data, prepared, out, bytes);
  target_remark(spec, shape, out, bytes);
  output_remark(spec, out, bytes);
  classes_remark(spec, prepared, out, bytes);
}
