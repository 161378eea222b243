/* choices.c: fields of the loss, the schedule and the end of training that are no plain values. */
#include <stdio.h>
#include <string.h>

#include "api/json/json.h"
#include "api/spec/tables.h"
#include "api/visibility.h"

void ep_class_weights_read(ep_field_reader *reader, const ep_field *field, const json_t *value,
                           void *base) {
  (void)field;
  ep_job_spec *spec = base;
  const char *word = json_string_value(value);
  spec->class_weights_balanced = word && strcmp(word, "balanced") == 0;
  if (!value || spec->class_weights_balanced) return;
  const ep_field weight = {.min = 0, .max = EP_REAL_MAX};
  spec->class_weights =
      ep_reals_take(reader, &weight, value, EP_LIMIT_CLASSES, &spec->class_weights_count);
  if (json_is_array(value) && json_array_size(value) == 0)
    ep_field_reader_fail(reader, "must contain a number for each class");
  double sum = 0;
  for (int i = 0; i < spec->class_weights_count; i++) sum += spec->class_weights[i];
  if (spec->class_weights && sum == 0) ep_field_reader_fail(reader, "all weights are 0");
}

void ep_class_weights_write(ep_writer *writer, const ep_field *field, const void *base) {
  (void)field;
  const ep_job_spec *spec = base;
  if (spec->class_weights_balanced)
    ep_writer_string(writer, "balanced");
  else if (spec->class_weights)
    ep_reals_write(writer, spec->class_weights, spec->class_weights_count);
  else
    ep_writer_null(writer);
}

void ep_milestones_read(ep_field_reader *reader, const ep_field *field, const json_t *value,
                        void *base) {
  (void)field;
  ep_schedule_spec *schedule = base;
  const ep_field epoch = {.min = 1, .max = (double)EP_LIMIT_EPOCHS};
  schedule->milestones =
      ep_integers_take(reader, &epoch, value, EP_LIMIT_MILESTONES, &schedule->milestones_count);
  for (int i = 1; i < schedule->milestones_count; i++) {
    if (schedule->milestones[i] > schedule->milestones[i - 1]) continue;
    size_t place = ep_field_reader_enter_index(reader, (size_t)i);
    ep_field_reader_fail(reader, "must be greater than the one before, %lld",
                         (long long)schedule->milestones[i - 1]);
    ep_field_reader_leave(reader, place);
    return;
  }
}

void ep_milestones_write(ep_writer *writer, const ep_field *field, const void *base) {
  (void)field;
  const ep_schedule_spec *schedule = base;
  ep_integers_write(writer, schedule->milestones, schedule->milestones_count);
}

/* Which of two words it is: 0 or 1, or -1 after adding an error. words: [2], or more. */
static int choice_read(ep_field_reader *reader, const json_t *value, const char *const *words) {
  const char *word = json_string_value(value);
  for (int i = 0; word && i < 2; i++)
    if (strcmp(word, words[i]) == 0) return i;
  ep_field_reader_fail(reader, "must be \"%s\" or \"%s\"%s%s", words[0], words[1],
                       word ? "" : ", not ", word ? "" : ep_json_type_name(value));
  return -1;
}

void ep_visibility_read(ep_field_reader *reader, const ep_field *field, const json_t *value,
                        void *base) {
  (void)field;
  ep_job_spec *spec = base;
  spec->visibility_given = value != NULL;
  if (value) spec->private = choice_read(reader, value, EP_VISIBILITY_WORDS) == 1;
}

void ep_visibility_write(ep_writer *writer, const ep_field *field, const void *base) {
  (void)field;
  ep_writer_string(writer, ep_visibility_name(((const ep_job_spec *)base)->private));
}

static const char validation_split[] = "validation.";

void ep_metric_read(ep_field_reader *reader, const ep_field *field, const json_t *value,
                    void *base) {
  if (!value) return;
  size_t bytes = sizeof validation_split - 1;
  const char *word = json_string_value(value);
  int metric =
      word && strncmp(word, validation_split, bytes) == 0 ? ep_metric_from_name(word + bytes) : -1;
  if (metric < 0)
    ep_field_reader_fail(reader, "must be %s", field->form);
  else
    *(ep_metric *)((char *)base + field->offset) = (ep_metric)metric;
}

void ep_metric_write(ep_writer *writer, const ep_field *field, const void *base) {
  char word[32];
  snprintf(word, sizeof word, "%s%s", validation_split,
           ep_metric_name((int)*(const ep_metric *)((const char *)base + field->offset)));
  ep_writer_string(writer, word);
}

void ep_validation_metrics_read(ep_field_reader *reader, const ep_field *field, const json_t *value,
                                void *base) {
  ep_job_spec *spec = base;
  size_t index;
  json_t *item;
  if (!value) return;
  if (!json_is_array(value)) {
    ep_field_reader_fail(reader, "must be %s, not %s", field->form, ep_json_type_name(value));
    return;
  }
  json_array_foreach((json_t *)value, index, item) {
    const char *word = json_string_value(item);
    int metric = word ? ep_metric_from_name(word) : -1;
    size_t place = ep_field_reader_enter_index(reader, index);
    if (metric < 0)
      ep_field_reader_fail(reader,
                           "must be one of mse, rmse, mae, r2, accuracy, precision, recall, "
                           "f1, roc_auc");
    else if (spec->validation_metrics[metric])
      ep_field_reader_fail(reader, "\"%s\" is given twice", word);
    else
      spec->validation_metrics[metric] = true;
    ep_field_reader_leave(reader, place);
    if (reader->status != EP_OK && index > EP_LIMIT_PROBLEM_ERRORS) return;
  }
}

void ep_validation_metrics_write(ep_writer *writer, const ep_field *field, const void *base) {
  (void)field;
  const ep_job_spec *spec = base;
  ep_writer_open(writer, '[');
  for (int i = 0; i < EP_METRIC_COUNT; i++)
    if (spec->validation_metrics[i]) ep_writer_string(writer, ep_metric_name(i));
  ep_writer_close(writer, ']');
}

void ep_init_checkpoint_read(ep_field_reader *reader, const ep_field *field, const json_t *value,
                             void *base) {
  (void)field;
  ep_job_spec *spec = base;
  const char *word = json_string_value(value);
  if (!value || json_is_null(value)) return;
  if (word && strcmp(word, "latest") == 0)
    spec->init_checkpoint = -1;
  else if (!ep_json_integer(value, &spec->init_checkpoint) || spec->init_checkpoint < 1)
    ep_field_reader_fail(reader, "must be a step, at least 1, or \"latest\"");
}

void ep_init_checkpoint_write(ep_writer *writer, const ep_field *field, const void *base) {
  (void)field;
  int64_t step = ((const ep_job_spec *)base)->init_checkpoint;
  if (step > 0)
    ep_writer_integer(writer, step);
  else
    ep_writer_string(writer, step < 0 ? "latest" : NULL);
}

static const char *const keeps[2] = {"last", "best"};

/* Comes after "early_stopping", which makes the best the default. */
void ep_keep_read(ep_field_reader *reader, const ep_field *field, const json_t *value, void *base) {
  (void)field;
  ep_job_spec *spec = base;
  spec->keep_best =
      value ? choice_read(reader, value, keeps) == 1 : spec->early_stopping_patience > 0;
}

void ep_keep_write(ep_writer *writer, const ep_field *field, const void *base) {
  (void)field;
  ep_writer_string(writer, keeps[((const ep_job_spec *)base)->keep_best]);
}
