/* predicted.c: the response with predictions: a network's outputs, and what they mean. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json/writer.h"
#include "api/responses/predict.h"

/* Twice 24 bytes a number at most, and a class a row. */
#define PREDICT_TEXT_LIMIT (3LL << 30)

void ep_output_meaning_deinit(ep_output_meaning *meaning) {
  for (int64_t i = 0; i < meaning->classes; i++) free(meaning->class_name[i]);
  free(meaning->class_name);
  *meaning = (ep_output_meaning){0};
}

int64_t ep_output_classes(const ep_output_meaning *meaning, int64_t columns) {
  if (ep_loss_takes_classes(meaning->loss)) return columns;
  return ep_loss_is_classifier(meaning->loss) && columns == 1 ? 2 : 0;
}

/* exp(output - greatest): of logits, and of logarithms of probabilities. */
static void softmax_find(const double *output, int64_t columns, double *probability) {
  double greatest = -INFINITY, sum = 0;
  for (int64_t j = 0; j < columns; j++) greatest = fmax(greatest, output[j]);
  for (int64_t j = 0; j < columns; j++) sum += probability[j] = exp(output[j] - greatest);
  for (int64_t j = 0; j < columns; j++) probability[j] /= sum;
}

void ep_output_probabilities(const ep_output_meaning *meaning, const double *output,
                             int64_t columns, double *probability) {
  if (ep_loss_takes_classes(meaning->loss)) {
    softmax_find(output, columns, probability);
    return;
  }
  bool logit = meaning->loss == EP_LOSS_BCE_WITH_LOGITS;
  probability[1] = logit ? 1 / (1 + exp(-output[0])) : output[0];
  probability[0] = logit ? 1 / (1 + exp(output[0])) : 1 - output[0];
}

static const char *word_of(const ep_output_meaning *meaning, int64_t class) {
  static const char *const numbers[] = {"0", "1"};
  return class < meaning->classes ? meaning->class_name[class] : numbers[class];
}

void ep_output_threshold_set(ep_output_meaning *meaning, double threshold, const char *positive) {
  meaning->has_threshold = !isnan(threshold);
  meaning->threshold = threshold;
  meaning->first_is_positive = strcmp(word_of(meaning, 0), positive) == 0;
}

const char *ep_output_positive(const ep_output_meaning *meaning) {
  return word_of(meaning, !meaning->first_is_positive);
}

bool ep_output_is_taken(const ep_output_meaning *meaning, const double *output, int64_t columns) {
  double probability[2] = {0};
  if (ep_output_classes(meaning, columns) != 2) return false;
  ep_output_probabilities(meaning, output, columns, probability);
  if (meaning->first_is_positive) return !(probability[0] >= meaning->threshold);
  return probability[1] >= meaning->threshold;
}

/* As the metrics decide: the first of the greatest outputs; of one, above the middle. */
int64_t ep_output_class(const ep_output_meaning *meaning, const double *output, int64_t columns) {
  int64_t found = 0;
  if (meaning->has_threshold) return ep_output_is_taken(meaning, output, columns);
  if (!ep_loss_takes_classes(meaning->loss))
    return output[0] > (meaning->loss == EP_LOSS_BCE ? 0.5 : 0);
  for (int64_t j = 1; j < columns; j++)
    if (output[j] > output[found] || (isnan(output[found]) && !isnan(output[j]))) found = j;
  return found;
}

const char *ep_output_class_word(const ep_output_meaning *meaning, int64_t class, char number[24]) {
  if (class < meaning->classes) return meaning->class_name[class];
  snprintf(number, 24, "%lld", (long long)class);
  return number;
}

static void class_write(ep_writer *writer, const ep_output_meaning *meaning, int64_t class) {
  if (class < meaning->classes)
    ep_writer_string(writer, meaning->class_name[class]);
  else
    ep_writer_integer(writer, class);
}

static void row_write(ep_writer *writer, const double *values, int64_t count) {
  ep_writer_open(writer, '[');
  for (int64_t j = 0; j < count; j++) ep_writer_number(writer, values[j]);
  ep_writer_close(writer, ']');
}

/* False: memory is short. */
static bool classes_write(ep_writer *writer, const ep_output_meaning *meaning, const double *output,
                          int64_t rows, int64_t columns) {
  int64_t classes = ep_output_classes(meaning, columns);
  double *probability = malloc((size_t)classes * sizeof *probability);
  if (!probability) return false;
  ep_writer_member_open(writer, "classes", '[');
  for (int64_t i = 0; i < rows; i++)
    class_write(writer, meaning, ep_output_class(meaning, output + i * columns, columns));
  ep_writer_close(writer, ']');
  ep_writer_member_open(writer, "probabilities", '[');
  for (int64_t i = 0; i < rows; i++) {
    ep_output_probabilities(meaning, output + i * columns, columns, probability);
    row_write(writer, probability, classes);
  }
  ep_writer_close(writer, ']');
  free(probability);
  if (meaning->has_threshold) {
    ep_writer_member_number(writer, "threshold", meaning->threshold);
    ep_writer_member_string(writer, "positive", ep_output_positive(meaning));
  }
  if (meaning->classes == 0) return true;
  ep_writer_member_open(writer, "class_names", '[');
  for (int64_t j = 0; j < meaning->classes; j++) ep_writer_string(writer, meaning->class_name[j]);
  ep_writer_close(writer, ']');
  return true;
}

char *ep_predict_format(const char *job, const ep_output_meaning *meaning, char *const *name,
                        const int64_t *last_row, char *const *time, const ep_warnings *warnings,
                        const double *output, int64_t rows, int64_t columns) {
  ep_writer writer;
  ep_writer_init(&writer, PREDICT_TEXT_LIMIT);
  ep_writer_open(&writer, '{');
  ep_writer_member_string(&writer, "object", "predictions");
  ep_writer_member_string(&writer, "job", job);
  ep_writer_member_integer(&writer, "rows", rows);
  if (meaning->target) ep_writer_member_string(&writer, "target", meaning->target);
  if (meaning->unit) ep_writer_member_string(&writer, "unit", meaning->unit);
  if (name) ep_writer_member_open(&writer, "names", '[');
  for (int64_t i = 0; name && i < rows; i++) ep_writer_string(&writer, name[i]);
  if (name) ep_writer_close(&writer, ']');
  if (last_row) ep_writer_member_open(&writer, "last_rows", '[');
  for (int64_t i = 0; last_row && i < rows; i++) ep_writer_integer(&writer, last_row[i]);
  if (last_row) ep_writer_close(&writer, ']');
  if (time) ep_writer_member_open(&writer, "times", '[');
  for (int64_t i = 0; time && i < rows; i++) ep_writer_raw(&writer, time[i]);
  if (time) ep_writer_close(&writer, ']');
  ep_writer_member_open(&writer, "predictions", '[');
  for (int64_t i = 0; i < rows; i++) row_write(&writer, output + i * columns, columns);
  ep_writer_close(&writer, ']');
  if (ep_output_classes(meaning, columns) > 0 &&
      !classes_write(&writer, meaning, output, rows, columns)) {
    ep_writer_deinit(&writer);
    return NULL;
  }
  if (warnings) ep_warnings_write(&writer, warnings);
  ep_writer_close(&writer, '}');
  return ep_writer_take(&writer);
}
