/* trial.c: one trial, trained alone. */
#include <stdio.h>
#include <stdlib.h>

#include "api/spec/spec.h"
#include "engine/sweep/runner.h"
#include "engine/training/train.h"

int64_t ep_sweep_epochs_most(const ep_sweep_spec *sweep, const ep_trial_record *record) {
  return sweep->search == EP_SEARCH_ASHA ? record->epochs : 0;
}

/* Epochs whose figures change nothing are not measured: true, and the last one alone is reported.
 */
static bool reports_omit(ep_job_spec *spec) {
  bool omit = spec->early_stopping_patience == 0 && !spec->keep_best &&
              spec->schedule.type != EP_SCHEDULE_PLATEAU;
  if (omit) spec->report_every = spec->epochs;
  return omit;
}

void ep_sweep_record_fill(const ep_sweep_spec *sweep, const ep_job_result *result,
                          ep_trial_record *record) {
  record->status = result->status;
  const ep_split_metrics *splits[] = {&result->train, &result->validation, &result->test};
  record->epochs_done = result->epochs_done;
  record->parameters = result->parameters;
  record->seconds = result->train_seconds;
  if (result->status != EP_OK) return;
  record->test_seconds = result->test_seconds;
  record->epoch_microseconds = result->epoch_microseconds;
  record->samples_per_second = result->samples_per_second;
  record->metric = ep_sweep_metric_of(sweep, result);
  for (int split = 0; split < EP_SPLIT_COUNT; split++)
    for (int metric = 0; splits[split]->rows > 0 && metric < EP_METRIC_COUNT; metric++)
      record->metrics[split][metric] = ep_metric_value(splits[split], metric);
}

ep_status ep_sweep_trial_train(ep_sweep_runner *runner, ep_trial_record *record, ep_error *error) {
  const ep_sweep_run *run = runner->run;
  ep_job_spec *spec = NULL;
  ep_problem *problem = calloc(1, sizeof *problem);
  if (!problem) return ep_fail_memory(error);
  record->status = ep_sweep_trial_make(run->sweep, record->point, record->part, &spec, problem);
  free(problem);
  if (record->status == EP_NO_MEMORY) return ep_fail_memory(error);
  if (record->status != EP_OK) return EP_OK; /* values that do not go together */
  bool last_alone = reports_omit(spec);
  /* the sweep is where it is to be; "cuda" of a trial is this one */
  snprintf(spec->device, sizeof spec->device, "%s", run->shared.device);
  ep_training training = run->shared;
  training.spec = spec;
  training.last_alone = last_alone;
  training.epochs_most = ep_sweep_epochs_most(run->sweep, record);
  training.sink = (ep_train_sink){.context = runner, .alive = ep_sweep_alive};
  if (runner->prepared)
    training.prepared = &runner->prepared[record->part % runner->prepared_count];
  ep_job_result result = {0};
  ep_status status = EP_OK;
  int tries = 0; /* of a disk that stumbles: its data is read again */
  for (int64_t i = 0; status == EP_OK && result.status == EP_OK && i <= run->sweep->warm_up; i++) {
    ep_job_result_deinit(&result);
    status = ep_train(&training, &result, error);
    if (status != EP_OK || result.status != EP_IO || ++tries == EP_SWEEP_DISK_TRIES) continue;
    result.status = EP_OK;
    i--;
  }
  if (status == EP_OK && (result.status == EP_CANCELLED || result.status == EP_PAUSED))
    status = ep_fail(error, result.status, "%s", result.message);
  if (status == EP_OK) ep_sweep_record_fill(run->sweep, &result, record);
  ep_job_result_deinit(&result);
  ep_job_spec_destroy(spec);
  return status;
}
