#include "server/jobs/lifecycle/run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/wire/explosion.h"
#include "server/jobs/files/events.h"
#include "server/jobs/files/files.h"
#include "server/jobs/lifecycle/assign.h"
#include "server/jobs/lifecycle/end.h"
#include "server/jobs/lifecycle/pause.h"
#include "server/jobs/lifecycle/stranded.h"
#include "server/jobs/lifecycle/trials.h"
#include "server/jobs/live/best.h"
#include "server/jobs/live/live.h"
#include "server/jobs/live/usage.h"
#include "server/metrics/metrics.h"
#include "server/process/clock.h"
#include "server/process/data_dir.h"
#include "server/process/log.h"

enum { RETRY_US = 1000000, DEATH_BYTES = EP_MESSAGE_BYTES + 64 };

static bool job_next(void *context, const char *device, int cores, const ep_slurm_request *held,
                     ep_assignment *out) {
  return ep_assign_next(context, device, cores, held, out);
}

static int jobs_queued(void *context, const char *device, ep_slurm_request *needed) {
  return ep_assign_waiting(context, device, needed);
}

static int job_wants(void *context, const char *id, int attempt, int helpers) {
  return ep_trials_wants(context, id, attempt, helpers);
}

static char *job_help(void *context, const char *id, int attempt, const char *device,
                      const ep_slurm_request *held) {
  return ep_assign_help(context, id, attempt, device, held);
}

static void job_helped(void *context, const char *id, int attempt, int helpers) {
  ep_trials_helped(context, id, attempt, helpers);
}

static ep_stop job_stop(void *context, const char *id, int attempt) {
  ep_jobs *jobs = context;
  ep_stop stop = EP_STOP_NOT;
  pthread_mutex_lock(&jobs->mutex);
  const ep_live_job *job = ep_live_find(jobs, id);
  if (job && job->row.attempt == attempt) {
    if (job->pause) stop = EP_STOP_PAUSE;
    if (job->cancelled || job->dropped) stop = EP_STOP_CANCEL;
  }
  pthread_mutex_unlock(&jobs->mutex);
  return stop;
}

/* The running job of a worker's report, once its row is stored. NULL: it does not run any more, or
 * was dropped. */
static ep_live_job *running_find(ep_jobs *jobs, const char *id, int attempt) {
  pthread_mutex_lock(&jobs->mutex);
  ep_live_job *job = ep_live_find_stored(jobs, id);
  bool running =
      job && !job->ending && job->row.state == EP_STATE_RUNNING && job->row.attempt == attempt;
  bool dropped = running && job->dropped;
  pthread_mutex_unlock(&jobs->mutex);
  return running && !dropped ? job : NULL;
}

/* Frees the job of a worker's last report if it was dropped; true if it was. */
static bool dropped_take(ep_jobs *jobs, const char *id) {
  pthread_mutex_lock(&jobs->mutex);
  ep_live_job *job = ep_live_find_stored(jobs, id);
  if (job && !job->dropped) job = NULL;
  pthread_mutex_unlock(&jobs->mutex);
  if (job) ep_assign_drop(jobs, job);
  return job != NULL;
}

/* Logs that the disk refused; returns false, for the supervisor. */
static bool refusal_log(const ep_live_job *job, const ep_error *error) {
  ep_log(EP_LOG_ERROR, "job %s: %s; trying again", job->row.id, error->message);
  return false;
}

/* Why a job starts again, and why not where it was. */
static void restart_cause(const ep_live_job *job, const ep_reply *reply, char cause[DEATH_BYTES]) {
  const char *why = job->cause[0] != 0 ? job->cause
                    : job->resumed     ? "the job was resumed"
                                       : "the daemon was restarted";
  bool noted = reply->note[0] != 0;
  snprintf(cause, DEATH_BYTES, "%.300s%s%.200s", why, noted ? "; " : "", reply->note);
}

/* A start after the first. One that goes on where the job was paused is told by `resumed`. */
static ep_status restart_hold(const ep_live_job *job, const ep_job_row *row, const ep_reply *reply,
                              ep_error *error) {
  char cause[DEATH_BYTES];
  if (job->resumed && job->cause[0] == 0 && reply->epoch >= job->epoch_paused) return EP_OK;
  restart_cause(job, reply, cause);
  return ep_job_restarted_hold(row, cause, reply->epoch, job->log, error);
}

/* A warning for each line of the remarks. */
static ep_status remarks_hold(const ep_live_job *job, const char *remarks, ep_error *error) {
  ep_status status = EP_OK;
  char line[EP_MESSAGE_BYTES];
  while (status == EP_OK && (remarks = ep_result_line_next(remarks, line)))
    status = ep_job_warning_hold(&job->row, line, job->log, error);
  return status;
}

/* Device and executor are fixed from here on, for every restart. Of a first start the line is
 * synced, together with the epochs that have come by then, and shown afterwards; the row is not
 * synced, and recover.c makes it from the line where a crash took it. */
static bool job_started(void *context, const char *device, const ep_reply *reply) {
  ep_jobs *jobs = context;
  ep_live_job *job = running_find(jobs, reply->job, reply->attempt);
  if (!job || job->begun) return true; /* a worker that was away may say it again */
  ep_event_log_tail tail;
  ep_event_log_get_tail(job->log, &tail);
  ep_error error = {0};
  ep_job_row row = job->row;
  snprintf(row.executor, sizeof row.executor, "%s", reply->executor);
  ep_status status = tail.started ? ep_store_job_update(jobs->store, &row, &error)
                                  : ep_store_job_note(jobs->store, &row, &error);
  if (status == EP_OK)
    status = tail.started ? restart_hold(job, &row, reply, &error)
                          : ep_job_started_hold(&row, job->log, &error);
  if (status == EP_OK && !tail.started) status = remarks_hold(job, reply->remarks, &error);
  if (status != EP_OK) return refusal_log(job, &error);
  if (!job->sweep) ep_estimate_note_start(&jobs->calibrations, &job->expected, device);
  if (!tail.started)
    ep_histogram_observe(&EP_METRICS.queue_seconds, EP_JOB_BOUNDS,
                         (double)(row.started_us - row.created_us) / 1e6);
  pthread_mutex_lock(&jobs->mutex);
  memcpy(job->row.executor, row.executor, sizeof job->row.executor);
  job->begun = true;
  job->waits_told = false;
  job->epoch = reply->epoch;
  job->resumed = false;
  job->cause[0] = 0;
  ep_live_touch(jobs, job);
  pthread_mutex_unlock(&jobs->mutex);
  ep_live_announce(jobs, job->row.id);
  return true;
}

/* Rounded to microseconds, which are shorter to write. */
static double eta_of(const ep_progress_record *record, const ep_job_row *row) {
  double done = (double)record->epoch;
  if (record->kind == EP_PROGRESS_BATCH)
    done += (double)record->batch / (double)record->batches - 1;
  if (done <= 0) return NAN;
  double seconds = record->elapsed_seconds / done * ((double)row->epochs - done);
  if (row->max_seconds > 0)
    seconds = fmin(seconds, fmax(row->max_seconds - record->elapsed_seconds, 0));
  return floor(seconds * 1e6 + 0.5) / 1e6;
}

static int thinning_of(const ep_jobs *jobs, const ep_live_job *job) {
  ep_event_log_tail tail;
  ep_event_log_get_tail(job->log, &tail);
  return ep_live_thinning(jobs, &tail);
}

/* Whether a log that is thinned keeps the report of an epoch: the choice depends on the epoch
 * alone, so a repeated training chooses the same. before: the epoch of the report before it. */
static bool thinning_keeps(int thinning, int64_t epoch, int64_t before, int64_t epochs) {
  if (thinning == 0 || epoch == epochs || epoch <= before) return true;
  return epoch / (epoch - before) % (INT64_C(1) << thinning) == 0;
}

/* Whether the log lacks a report. What is told within epochs is left out of a log that is thinned.
 */
static bool record_wanted(const ep_live_job *job, const ep_progress_record *record, int thinning,
                          int64_t before, const ep_log_reports *logged) {
  int64_t epoch = record->epoch, epochs = job->row.epochs;
  if (epoch <= logged->epoch || epoch > epochs) return false;
  switch (record->kind) {
  case EP_PROGRESS_BATCH:
    return thinning == 0 && (epoch > logged->batch_epoch ||
                             (epoch == logged->batch_epoch && record->batch > logged->batch));
  case EP_PROGRESS_LAYER: return thinning == 0 && epoch > logged->layers_epoch;
  default: return record->lowest_loss != 0 || thinning_keeps(thinning, epoch, before, epochs);
  }
}

static ep_event record_event(const ep_live_job *job, const ep_progress_record *record,
                             int64_t now_us) {
  static const ep_event_type types[] = {[EP_PROGRESS_EPOCH] = EP_EVENT_EPOCH,
                                        [EP_PROGRESS_BATCH] = EP_EVENT_BATCH,
                                        [EP_PROGRESS_LAYER] = EP_EVENT_LAYERS};
  return (ep_event){.job = job->row.id,
                    .type = types[record->kind],
                    .time_us = now_us,
                    .epochs = job->row.epochs,
                    .progress = *record,
                    .layers = record->kind == EP_PROGRESS_LAYER ? record : NULL,
                    .eta_seconds = eta_of(record, &job->row)};
}

/* The records that the log does not have (a training that starts again repeats the others) as
 * events, one with a warning behind it: [2 * progress->count]; returns how many. A training says
 * once that its loss explodes: the sentence goes to `explosion`. */
static int records_select(const ep_live_job *job, const ep_progress *progress, int thinning,
                          ep_event *events, char explosion[EP_MESSAGE_BYTES]) {
  ep_event_log_tail tail;
  ep_event_log_get_tail(job->log, &tail);
  int64_t now_us = ep_clock_utc_us(), before = job->epoch;
  int count = 0;
  for (uint32_t i = 0; i < progress->count; i++) {
    const ep_progress_record *record = &progress->records[i];
    bool wanted = record_wanted(job, record, thinning, before, &tail.reports);
    if (record->kind == EP_PROGRESS_EPOCH) before = record->epoch;
    if (record->kind == EP_PROGRESS_LAYER) i += (uint32_t)record->layer.count - 1;
    if (!wanted) continue;
    events[count] = record_event(job, record, now_us);
    ep_log_reports_note(&tail.reports, events[count++].type, record->epoch, record->batch);
    if (record->kind != EP_PROGRESS_EPOCH || record->lowest_loss == 0) continue;
    ep_explosion_format(record, explosion);
    events[count++] = ep_job_warning_event(job->row.id, explosion);
  }
  return count;
}

/* Tells the readers of a log that it is thinned from here on. */
static ep_status thinning_hold(const ep_live_job *job, int thinning, ep_error *error) {
  char message[EP_MESSAGE_BYTES];
  snprintf(message, sizeof message,
           "the events of this job have reached their limit: from here on, one in %lld reports is "
           "stored",
           1LL << thinning);
  return ep_job_warning_hold(&job->row, message, job->log, error);
}

static ep_status epochs_hold(const ep_live_job *job, const ep_progress *progress, int thinning,
                             ep_error *error) {
  char explosion[EP_MESSAGE_BYTES];
  ep_event *events = malloc(2 * (size_t)progress->count * sizeof *events);
  if (!events) return ep_fail_memory(error);
  int count = records_select(job, progress, thinning, events, explosion);
  ep_status status = ep_event_log_hold(job->log, events, count, error);
  free(events);
  return status;
}

static ep_status records_hold(const ep_jobs *jobs, const ep_live_job *job,
                              const ep_progress *progress, ep_error *error) {
  int before = thinning_of(jobs, job);
  ep_status status = progress->trials ? ep_trials_hold(job, progress, before, error)
                                      : epochs_hold(job, progress, before, error);
  int after = status == EP_OK ? thinning_of(jobs, job) : before;
  return after > before ? thinning_hold(job, after, error) : status;
}

/* Counts the epochs since the job's last report, before job->epoch moves on. */
static void epochs_count(const ep_live_job *job, int64_t epoch) {
  if (epoch > job->epoch) ep_metrics_add(EP_COUNTER_EPOCHS, (uint64_t)(epoch - job->epoch));
}

/* Whole epochs at a record: those of a batch and of layers come before their epoch's end is told.
 */
static int64_t epochs_done(const ep_progress_record *record) {
  return record->kind == EP_PROGRESS_EPOCH ? record->epoch : record->epoch - 1;
}

static void trials_count(const ep_live_job *job, const ep_progress *progress) {
  for (uint32_t i = 0; i < progress->count; i++)
    if (progress->trials[i].number > job->epoch)
      ep_metrics_add(EP_COUNTER_EPOCHS, (uint64_t)progress->trials[i].epochs_done);
}

static bool job_progress(void *context, const ep_progress *progress) {
  ep_jobs *jobs = context;
  ep_live_job *job = running_find(jobs, progress->job, progress->attempt);
  if (!job || progress->count == 0) return true;
  if (ep_log_flusher_is_refused(&jobs->flusher, progress->job)) return false;
  ep_error error = {0};
  if (records_hold(jobs, job, progress, &error) != EP_OK) return refusal_log(job, &error);
  uint32_t last = progress->count - 1;
  int64_t epoch =
      progress->trials ? progress->trials[last].number : epochs_done(&progress->records[last]);
  double eta_seconds =
      progress->trials ? ep_trials_eta(job, epoch) : eta_of(&progress->records[last], &job->row);
  if (progress->trials)
    trials_count(job, progress);
  else
    epochs_count(job, epoch);
  ep_best_note(jobs, job, progress);
  pthread_mutex_lock(&jobs->mutex);
  job->epoch = epoch;
  job->eta_seconds = eta_seconds;
  job->eta_us = ep_clock_steady_us();
  ep_live_touch(jobs, job);
  pthread_mutex_unlock(&jobs->mutex);
  ep_live_announce(jobs, job->row.id);
  return true;
}

/* Everything that was reported together is synced together, by a thread that is not the
 * supervisor's: a slow sync holds up no other job. */
static bool job_heard(void *context, const char *id, int attempt) {
  ep_jobs *jobs = context;
  ep_live_job *job = running_find(jobs, id, attempt);
  ep_error error = {0};
  if (!job || ep_log_flusher_add(&jobs->flusher, id, &error) == EP_OK) return true;
  return refusal_log(job, &error);
}

/* A line in the log of epochd and one in the job's; false if only the first could be written. The
 * text is shortened: clients read it. */
static bool job_warn(ep_jobs *jobs, const char *id, char *text) {
  ep_error error = {0};
  ep_data_dir_shorten(jobs->data_dir, text);
  ep_log(EP_LOG_WARNING, "job %s: %s", id, text);
  if (ep_job_warning_append(&jobs->logs, id, text, &error) == EP_OK) return true;
  ep_log(EP_LOG_WARNING, "job %s: %s", id, error.message);
  return false;
}

/* The job's log has one warning of an attempt, as soon as the disk takes that. */
static void job_waiting(void *context, const ep_reply *reply) {
  ep_jobs *jobs = context;
  char text[EP_MESSAGE_BYTES];
  ep_live_job *job = running_find(jobs, reply->job, reply->attempt);
  if (!job || job->waits_told) return;
  snprintf(text, sizeof text, "the results cannot be written, trying again: %.400s",
           reply->error.message);
  job->waits_told = job_warn(jobs, reply->job, text);
}

/* A checkpoint that could not be written is told once, until one could be. */
static bool job_checkpointed(void *context, const ep_reply *reply) {
  ep_jobs *jobs = context;
  ep_error error = {0};
  ep_live_job *job = running_find(jobs, reply->job, reply->attempt);
  if (!job) return true;
  bool failed = reply->error.status != EP_OK;
  if (failed && job->checkpoint_failed) return true;
  if (failed) {
    char text[EP_MESSAGE_BYTES];
    snprintf(text, sizeof text, "a checkpoint could not be written, the training continues: %.400s",
             reply->error.message);
    job_warn(jobs, reply->job, text);
  } else if (ep_job_checkpoint_hold(&job->row, reply, job->log, &error) != EP_OK) {
    return refusal_log(job, &error);
  }
  job->checkpoint_failed = failed;
  if (!failed) job->checkpoint_step = reply->step;
  return true;
}

/* A job ended with a checkpoint: as a client told it to, or because the daemon ends. */
static void job_paused(ep_jobs *jobs, ep_live_job *job) {
  pthread_mutex_lock(&jobs->mutex);
  bool pause = job->pause || job->cancelled;
  pthread_mutex_unlock(&jobs->mutex);
  if (pause) {
    ep_job_pause_enter(jobs, job);
    return;
  }
  ep_error error = {0}; /* a checkpoint ahead of the log would be of no use */
  if (ep_log_flusher_add(&jobs->flusher, job->row.id, &error) != EP_OK)
    ep_log(EP_LOG_ERROR, "job %s: %s", job->row.id, error.message);
  job->resumed = true;
  job->epoch_paused = job->epoch;
  ep_assign_return(jobs, job, true);
  ep_live_announce(jobs, job->row.id);
  ep_live_announce_queue(jobs);
}

/* A worker died that had begun the job. True when that was once too often; message: says so. */
static bool death_count(ep_jobs *jobs, ep_live_job *job, const char *cause,
                        char message[DEATH_BYTES]) {
  ep_event_log_tail tail;
  ep_event_log_get_tail(job->log, &tail);
  bool further =
      tail.reports.epoch > job->epoch_at_death || job->checkpoint_step > job->step_at_death;
  job->deaths = further ? 1 : job->deaths + 1;
  job->epoch_at_death = tail.reports.epoch;
  job->step_at_death = job->checkpoint_step;
  job->deaths_unbegun = 0;
  pthread_mutex_lock(&jobs->mutex);
  snprintf(job->cause, sizeof job->cause, "%s", cause);
  pthread_mutex_unlock(&jobs->mutex);
  snprintf(message, DEATH_BYTES, "%s; %d times in a row without progress", cause, job->deaths);
  return job->deaths >= EP_JOBS_DEATHS_MAX;
}

/* A worker died that had not begun the job. All workers may have died at once, which is not the
 * job's fault and costs it nothing; it is the job's fault when all of them died a few times over.
 */
static bool unbegun_count(ep_jobs *jobs, ep_live_job *job, const char *cause,
                          char message[DEATH_BYTES]) {
  bool often = ++job->deaths_unbegun >= EP_JOBS_DEATHS_MAX * jobs->workers_most;
  snprintf(message, DEATH_BYTES, "%s; %d times in a row before the job began", cause,
           job->deaths_unbegun);
  if (!often) ep_assign_undo(jobs, job);
  return often;
}

/* The attempt has come to nothing: the job goes on in another one, unless that was tried often. */
static void attempt_lost(ep_jobs *jobs, ep_live_job *job, bool begun, ep_status status,
                         const char *cause) {
  ep_error error = {0};
  if (begun && ep_job_files_remove_results(jobs->data_dir, job->row.id, &error) != EP_OK)
    ep_log(EP_LOG_ERROR, "job %s: %s", job->row.id, error.message);
  char message[DEATH_BYTES], id[EP_ID_BYTES];
  bool often =
      begun ? death_count(jobs, job, cause, message) : unbegun_count(jobs, job, cause, message);
  ep_data_dir_shorten(jobs->data_dir, message);
  memcpy(id, job->row.id, sizeof id);
  pthread_mutex_lock(&jobs->mutex);
  bool cancelled = job->cancelled, pause = job->pause;
  pthread_mutex_unlock(&jobs->mutex);
  if (often && !cancelled) {
    ep_job_end(jobs, job, EP_STATE_FAILED, ep_job_failure(&job->row, job->epoch, status, message));
    return;
  }
  if (pause) {
    ep_job_pause_enter(jobs, job);
    return;
  }
  ep_assign_return(jobs, job, true);
  ep_live_announce(jobs, id);
  ep_live_announce_queue(jobs);
}

/* Whether there was memory enough before: then another program has taken it meanwhile. */
static bool has_trained(const ep_live_job *job) {
  ep_event_log_tail tail;
  ep_event_log_get_tail(job->log, &tail);
  return tail.reports.epoch > 0 || job->checkpoint_step > 0;
}

/* Warnings that the disk refuses are lost: the job has its metrics all the same. */
static void warnings_hold(const ep_live_job *job, const char *warnings) {
  ep_error error = {0};
  if (remarks_hold(job, warnings, &error) != EP_OK)
    ep_log(EP_LOG_WARNING, "job %s: %s", job->row.id, error.message);
}

/* Says how much memory that was, of a job whose worker had a limit. */
static void memory_explain(const ep_live_job *job, ep_job_result *result) {
  char message[sizeof result->message];
  if (job->memory_bytes == 0) return;
  snprintf(message, sizeof message,
           "%.200s: the job needs %lld MiB by its plan, and its worker may allocate %lld MiB",
           result->message, (long long)(job->row.bytes >> 20),
           (long long)(job->memory_bytes >> 20));
  memcpy(result->message, message, sizeof message);
}

static bool job_finished(void *context, const char *device, const ep_reply *reply) {
  (void)device;
  ep_jobs *jobs = context;
  if (dropped_take(jobs, reply->job)) return true;
  ep_live_job *job = running_find(jobs, reply->job, reply->attempt);
  if (!job) return true;
  if (reply->result.status == EP_PAUSED) {
    pthread_mutex_lock(&jobs->mutex);
    job->epoch = reply->result.epochs_done;
    pthread_mutex_unlock(&jobs->mutex);
    if (job->sweep) ep_trials_move(jobs, job, reply->result.device);
    job_paused(jobs, job);
    return true;
  }
  ep_job_result result = reply->result; /* its texts are lent */
  ep_data_dir_shorten(jobs->data_dir, result.message);
  if (result.status == EP_NO_MEMORY) memory_explain(job, &result);
  if (result.status == EP_NO_MEMORY && has_trained(job)) {
    attempt_lost(jobs, job, true, EP_NO_MEMORY, result.message);
    return true;
  }
  char *text = ep_job_result_format(&result);
  if (!text) return false; /* tried again a second later */
  warnings_hold(job, reply->result.warnings);
  ep_state state = reply->result.status == EP_OK          ? EP_STATE_SUCCEEDED
                   : reply->result.status == EP_CANCELLED ? EP_STATE_CANCELLED
                                                          : EP_STATE_FAILED;
  if (!job->sweep) epochs_count(job, reply->result.epochs_done);
  ep_metrics_trained(reply->result.train_seconds, reply->result.samples_per_second);
  if (!job->sweep)
    ep_estimate_note_end(&jobs->calibrations, &job->expected, job->row.device, &reply->result);
  pthread_mutex_lock(&jobs->mutex);
  job->epoch = reply->result.epochs_done;
  if (reply->result.executor[0] != 0)
    memcpy(job->row.executor, reply->result.executor, sizeof job->row.executor);
  pthread_mutex_unlock(&jobs->mutex);
  ep_job_end(jobs, job, state, text);
  return true;
}

static void job_died(void *context, const char *id, int attempt, bool begun, const char *cause) {
  ep_jobs *jobs = context;
  if (dropped_take(jobs, id)) return;
  ep_live_job *job = running_find(jobs, id, attempt);
  if (job) attempt_lost(jobs, job, begun, EP_DEVICE, cause);
}

/* Once a round: wakes watchers, and once a second tries again what the disk refused. */
static bool jobs_settle(void *context) {
  ep_jobs *jobs = context;
  ep_supervisor_get_devices(jobs->supervisor, &jobs->devices);
  ep_stranded_check(jobs, &jobs->devices);
  bool again = ep_calibrations_settle(&jobs->calibrations, &jobs->devices);
  ep_subscribers_call(&jobs->watches);
  int64_t now_us = ep_clock_steady_us();
  pthread_mutex_lock(&jobs->mutex);
  bool left = jobs->ending != NULL || jobs->resumes_owed;
  pthread_mutex_unlock(&jobs->mutex);
  if (left && now_us >= jobs->retry_us) {
    jobs->retry_us = now_us + RETRY_US;
    left = ep_job_end_retry(jobs);
    left = ep_job_resume_retry(jobs) || left;
    ep_subscribers_call(&jobs->watches);
  }
  bool used = ep_usage_store(jobs, false);
  bool refused = jobs->refused;
  jobs->refused = false;
  return left || refused || again || used;
}

static void partition_seen(void *context, const ep_slurm_partition *seen) {
  ep_jobs *jobs = context;
  ep_slurm_partitions_update(jobs->allocator.partitions, seen);
}

void ep_run_events(ep_jobs *jobs, ep_supervisor_events *out) {
  *out = (ep_supervisor_events){.context = jobs,
                                .next = job_next,
                                .queued = jobs_queued,
                                .partition = partition_seen,
                                .wants = job_wants,
                                .help = job_help,
                                .helped = job_helped,
                                .stop = job_stop,
                                .started = job_started,
                                .progress = job_progress,
                                .checkpointed = job_checkpointed,
                                .waiting = job_waiting,
                                .finished = job_finished,
                                .heard = job_heard,
                                .died = job_died,
                                .settle = jobs_settle};
}
