/* What outputs, classes and columns of a job are, and what they are called. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/data/columns/column_value.h"
#include "engine/plots/parts.h"
#include "kernels/formulas/losses.h"

int64_t ep_plot_classes(const ep_plot_model *model) {
  return ep_loss_takes_classes(model->loss) ? model->outputs : 2;
}

void ep_plot_class_label(const ep_plot_model *model, int64_t class,
                         char label[EP_PLOT_LABEL_BYTES]) {
  if (model->classes && class < model->classes->count)
    snprintf(label, EP_PLOT_LABEL_BYTES, "%s", model->classes->word[class]);
  else
    snprintf(label, EP_PLOT_LABEL_BYTES, "%lld", (long long)class);
}

void ep_plot_classes_write(const ep_plot_model *model, ep_writer *writer) {
  char label[EP_PLOT_LABEL_BYTES];
  ep_writer_member_open(writer, "classes", '[');
  for (int64_t k = 0; k < ep_plot_classes(model); k++) {
    ep_plot_class_label(model, k, label);
    ep_writer_string(writer, label);
  }
  ep_writer_close(writer, ']');
}

/* "12" as 12 where it is below `count`; -1 otherwise. */
static int64_t number_read(const char *text, int64_t count) {
  size_t digits = strspn(text, "0123456789");
  if (digits == 0 || digits > 9 || text[digits]) return -1;
  int64_t number = strtoll(text, NULL, 10);
  return number < count ? number : -1;
}

ep_status ep_plot_class_find(const ep_plot_model *model, const char *name, int64_t *out,
                             ep_error *error) {
  char label[EP_PLOT_LABEL_BYTES], last[EP_PLOT_LABEL_BYTES];
  int64_t count = ep_plot_classes(model);
  *out = count == 2;
  if (!name[0]) return EP_OK;
  for (*out = 0; *out < count; ++*out) {
    ep_plot_class_label(model, *out, label);
    if (strcmp(label, name) == 0) return EP_OK;
  }
  *out = number_read(name, count);
  if (*out >= 0) return EP_OK;
  ep_plot_class_label(model, 0, label);
  ep_plot_class_label(model, count - 1, last);
  return ep_fail(
      error, EP_MALFORMED,
      "?class=%.64s is not a class: there are %lld, \"%.64s\" to \"%.64s\", or 0 to %lld", name,
      (long long)count, label, last, (long long)count - 1);
}

double ep_plot_score(const ep_plot_model *model, const double *output, int64_t class) {
  if (ep_loss_takes_classes(model->loss)) return ep_plot_probability(model, output, class);
  if (class == 1) return *output;
  return model->loss == EP_LOSS_BCE ? 1 - *output : -*output;
}

double ep_plot_probability_of_score(const ep_plot_model *model, double score) {
  return model->loss == EP_LOSS_BCE_WITH_LOGITS ? 1 / (1 + exp(-score)) : score;
}

/* As a row of logits, in double. */
static double normalizer(const double *logits, int64_t classes) {
  double most = logits[0], sum = 0;
  for (int64_t k = 1; k < classes; k++) most = fmax(most, logits[k]);
  for (int64_t k = 0; k < classes; k++) sum += exp(logits[k] - most);
  return most + log(sum);
}

double ep_plot_probability(const ep_plot_model *model, const double *output, int64_t class) {
  if (!ep_loss_takes_classes(model->loss))
    return ep_plot_probability_of_score(model, ep_plot_score(model, output, class));
  bool logits = ep_loss_normalizes(model->loss);
  return exp(output[class] - (logits ? normalizer(output, model->outputs) : 0));
}

int64_t ep_plot_class_of(const ep_plot_model *model, const double *output) {
  int64_t found = 0;
  if (!ep_loss_takes_classes(model->loss))
    return *output > (model->loss == EP_LOSS_BCE ? 0.5 : 0.0);
  for (int64_t k = 1; k < model->outputs; k++) /* a float32 each, as ep_argmax has them */
    if (ep_argmax_precedes((ep_real)output[k], (int)k, (ep_real)output[found], (int)found))
      found = k;
  return found;
}

void ep_plot_column_label(const ep_plot_model *model, int64_t column,
                          char label[EP_PLOT_LABEL_BYTES]) {
  if (model->encoding)
    snprintf(label, EP_PLOT_LABEL_BYTES, "%s", model->encoding->column[column].name);
  else
    snprintf(label, EP_PLOT_LABEL_BYTES, "%lld", (long long)column);
}

bool ep_plot_column_is_input(const ep_plot_model *model, int64_t column) {
  return !model->encoding || ep_column_features(&model->encoding->column[column]) > 0;
}

bool ep_plot_column_is_category(const ep_plot_model *model, int64_t column) {
  return model->encoding && ep_column_is_category(&model->encoding->column[column]);
}

ep_status ep_plot_column_find(const ep_plot_model *model, const char *name, int64_t fallback,
                              int64_t *out, ep_error *error) {
  char label[EP_PLOT_LABEL_BYTES];
  int64_t columns = model->rows.columns;
  for (*out = name[0] ? 0 : fallback; *out < columns; ++*out) {
    ep_plot_column_label(model, *out, label);
    bool named = name[0] ? strcmp(label, name) == 0 : !ep_plot_column_is_category(model, *out);
    if (named && ep_plot_column_is_input(model, *out)) return EP_OK;
  }
  *out = name[0] ? number_read(name, columns) : -1;
  if (*out >= 0 && ep_plot_column_is_input(model, *out)) return EP_OK;
  if (!name[0]) { /* words alone, or nothing behind the first */
    for (*out = 0; *out < columns; ++*out)
      if (ep_plot_column_is_input(model, *out)) return EP_OK;
  }
  ep_plot_column_label(model, columns - 1, label);
  return ep_fail(error, EP_MALFORMED,
                 "\"%.64s\" is not an input of the network: give the name of a column, or its "
                 "number from 0 to %lld (the last is \"%.64s\")",
                 name, (long long)columns - 1, label);
}

double ep_plot_measure(const ep_plot_model *model, const double *output) {
  const ep_raw_rows *rows = &model->rows;
  if (ep_loss_is_classifier(model->loss)) {
    int64_t hits = 0;
    for (int64_t i = 0; i < rows->rows; i++)
      hits += ep_plot_class_of(model, output + i * model->outputs) ==
              (int64_t)rows->y[i * rows->targets];
    return (double)hits / (double)rows->rows;
  }
  double sum = 0;
  for (int64_t j = 0; j < rows->targets; j++) {
    double mean = 0, total = 0, residual = 0;
    for (int64_t i = 0; i < rows->rows; i++) mean += rows->y[i * rows->targets + j];
    mean /= (double)rows->rows;
    for (int64_t i = 0; i < rows->rows; i++) {
      double target = rows->y[i * rows->targets + j];
      double away = target - mean, wrong = target - output[i * model->outputs + j];
      total += away * away;
      residual += wrong * wrong;
    }
    sum += total > 0 ? 1 - residual / total : residual == 0;
  }
  return sum / (double)rows->targets;
}

static int double_compare(const void *a, const void *b) {
  double first = *(const double *)a, second = *(const double *)b;
  return (first > second) - (first < second);
}

int64_t ep_plot_column_sort(const ep_plot_model *model, int64_t column, double *sorted) {
  int64_t count = 0;
  for (int64_t i = 0; i < model->rows.rows; i++) {
    double cell = model->rows.x[i * model->rows.columns + column];
    if (!isnan(cell)) sorted[count++] = cell;
  }
  qsort(sorted, (size_t)count, sizeof *sorted, double_compare);
  return count;
}

void ep_plot_cell_write(const ep_plot_model *model, int64_t column, double value,
                        ep_writer *writer) {
  if (!ep_plot_column_is_category(model, column)) {
    ep_writer_number_or_null(writer, value);
    return;
  }
  const ep_column_encoding *encoding = &model->encoding->column[column];
  int64_t word = ep_column_word(encoding, value);
  ep_writer_string(writer, word >= 0 ? encoding->words.word[word] : NULL);
}

ep_status ep_plot_target_find(const ep_plot_model *model, const char *name, int64_t *out,
                              ep_writer *writer, ep_error *error) {
  char *end = NULL;
  *out = name[0] ? strtol(name, &end, 10) : 0;
  if ((end && *end) || *out < 0 || *out >= model->rows.targets)
    return ep_fail(error, EP_MALFORMED, "?class=%.64s is not a target: the targets are 0 to %lld",
                   name, (long long)model->rows.targets - 1);
  ep_writer_member_integer(writer, "target_column", *out);
  return EP_OK;
}

double ep_plot_shown(const ep_plot_model *model, const double *output, int64_t which) {
  if (ep_loss_is_classifier(model->loss)) return ep_plot_probability(model, output, which);
  return output[which];
}

ep_status ep_plot_shown_find(const ep_plot_model *model, const char *name, int64_t *which,
                             ep_writer *writer, ep_error *error) {
  char label[EP_PLOT_LABEL_BYTES];
  bool classifier = ep_loss_is_classifier(model->loss);
  ep_status status = classifier ? ep_plot_class_find(model, name, which, error)
                                : ep_plot_target_find(model, name, which, writer, error);
  ep_writer_member_string(writer, "shows", classifier ? "probability" : "value");
  if (!classifier || status != EP_OK) return status;
  ep_plot_class_label(model, *which, label);
  ep_plot_classes_write(model, writer);
  ep_writer_member_string(writer, "class", label);
  return EP_OK;
}

void ep_plot_numbers_write(ep_writer *writer, const char *key, const double *values,
                           int64_t count) {
  ep_writer_member_open(writer, key, '[');
  for (int64_t i = 0; i < count; i++) ep_writer_number(writer, values[i]);
  ep_writer_close(writer, ']');
}
