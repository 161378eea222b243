/* metric.c: by what the trials of a sweep are compared. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "api/json/json.h"
#include "api/sweep/sweep_json.h"

static const char *const splits[] = {"train.", "validation.", "test."};
static const char *const timings[] = {"seconds", "epoch_microseconds", "samples_per_second"};
enum { TIMINGS = sizeof timings / sizeof *timings };

static bool name_read(ep_sweep_spec *sweep, const char *name) {
  for (int i = 0; i < TIMINGS; i++)
    if (strcmp(name, timings[i]) == 0) {
      sweep->metric_of = EP_OF_TIMING;
      sweep->metric_number = i;
      return true;
    }
  for (int of = EP_OF_TRAIN; of <= EP_OF_TEST; of++) {
    size_t length = strlen(splits[of]);
    if (strncmp(name, splits[of], length) != 0) continue;
    sweep->metric_of = (ep_metric_of)of;
    sweep->metric_number = ep_metric_from_name(name + length);
    return sweep->metric_number >= 0;
  }
  return false;
}

void ep_sweep_metric_read(ep_field_reader *reader, const ep_field *field, const json_t *value,
                          void *base) {
  (void)field;
  ep_sweep_spec *sweep = base;
  const char *name = value ? json_string_value(value) : "validation.loss";
  if (name && name_read(sweep, name)) {
    snprintf(sweep->metric, sizeof sweep->metric, "%s", name);
    return;
  }
  ep_field_reader_fail(reader,
                       "must be a split and one of its metrics, like \"validation.loss\" or "
                       "\"train.accuracy\", or one of \"seconds\", \"epoch_microseconds\", "
                       "\"samples_per_second\"");
}

bool ep_sweep_metric_maximized(const ep_sweep_spec *sweep) {
  if (sweep->metric_of == EP_OF_TIMING) return sweep->metric_number == 2;
  return ep_metric_is_maximized((ep_metric)sweep->metric_number);
}

ep_status ep_sweep_metric_check(const ep_sweep_spec *sweep, bool has_validation, bool has_test,
                                ep_problem *problem) {
  if (sweep->metric_of == EP_OF_TIMING) return EP_OK;
  const char *name = ep_metric_name(sweep->metric_number);
  if (!ep_loss_has_metric(sweep->base->loss, (ep_metric)sweep->metric_number))
    return ep_problem_add(problem, EP_INVALID, "/metric",
                          "jobs with the loss \"%s\" have no metric \"%s\"",
                          ep_loss_type_name(sweep->base->loss), name);
  if (sweep->metric_of == EP_OF_VALIDATION && !has_validation)
    return ep_problem_add(problem, EP_INVALID, "/metric",
                          "\"%s\" needs a validation split: give \"validation\" in /job/data, or "
                          "\"folds\", or choose another metric",
                          sweep->metric);
  if (sweep->metric_of == EP_OF_TEST && !has_test)
    return ep_problem_add(problem, EP_INVALID, "/metric", "the job has no test split");
  return EP_OK;
}

double ep_sweep_metric_of(const ep_sweep_spec *sweep, const ep_job_result *result) {
  const ep_split_metrics *of[] = {&result->train, &result->validation, &result->test};
  if (sweep->metric_of != EP_OF_TIMING)
    return of[sweep->metric_of]->rows > 0
               ? ep_metric_value(of[sweep->metric_of], sweep->metric_number)
               : NAN;
  const double values[TIMINGS] = {result->train_seconds, result->epoch_microseconds,
                                  result->samples_per_second};
  return values[sweep->metric_number];
}
