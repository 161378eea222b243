/* run.c: see jobs_state.h: what happens to a job while a worker has it. All of it runs on the
 * supervisor's thread, but ep_jobs_cancel. */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/jobs/state.h"
#include "server/metrics/metrics.h"
#include "server/process/clock.h"
#include "server/process/data_dir.h"
#include "server/process/log.h"

enum { RETRY_US = 1000000, DEATH_BYTES = EP_MESSAGE_BYTES + 64 };

#define PATIENCE_FACTOR 2.0 /* of the plan's rough estimate, before a job's pace is known */

/* "cuda" is any CUDA device, "cuda:1" that one, "cpu" the CPU. */
static bool device_matches(const char *requested_device, const char *device) {
  if (strcmp(requested_device, device) == 0) return true;
  return strcmp(requested_device, "cuda") == 0 && ep_device_is_cuda(device);
}

static bool kind_alive(const ep_device_list *devices, bool cuda) {
  for (int i = 0; i < devices->count; i++)
    if (ep_device_is_cuda(devices->device[i].info.id) == cuda &&
        devices->device[i].state != EP_DEVICE_LOST)
      return true;
  return false;
}

/* `auto`: of the kinds of device there are, the one that the plan thinks faster. */
static bool auto_takes(const ep_job_row *row, const char *device, const ep_device_list *devices) {
  bool cuda = ep_device_is_cuda(device);
  if (!kind_alive(devices, !cuda)) return true;
  bool cuda_faster = row->seconds_cuda < row->seconds_cpu;
  return cuda == cuda_faster;
}

bool ep_job_fits(const ep_live_job *job, const char *device, const ep_device_list *devices) {
  const ep_job_row *row = &job->row;
  if (row->device[0] != 0) { /* chosen at the first start, and kept while it is there */
    const ep_device_status *chosen = ep_device_list_find(devices, row->device);
    if (chosen && chosen->state != EP_DEVICE_LOST) return strcmp(row->device, device) == 0;
  }
  if (strcmp(row->requested_device, "auto") == 0) return auto_takes(row, device, devices);
  return device_matches(row->requested_device, device);
}

/* Cores of the device that the job takes. */
static int cores_of(const ep_job_row *row, const char *device) {
  if (ep_device_is_cuda(device)) return 1;
  return row->cores > 0 ? row->cores : EP_LIMIT_CPU_JOBS;
}

/* Takes the first queued job that fits out of the queue, as running. NULL = there is none, or it
 * waits for more cores than are left: nothing passes it, so that its turn comes. */
static ep_live_job *queue_take(ep_jobs *jobs, const char *device, int cores) {
  ep_live_job *job = NULL;
  ep_supervisor_get_devices(jobs->supervisor, &jobs->devices);
  pthread_mutex_lock(&jobs->mutex);
  for (int64_t i = 0; i < jobs->queue.count && !job; i++) {
    ep_live_job *candidate = ep_live_find(jobs, jobs->queue.entries[i].id);
    if (candidate && ep_job_fits(candidate, device, &jobs->devices)) job = candidate;
  }
  if (job && cores_of(&job->row, device) > cores) job = NULL;
  if (job) {
    ep_queue_remove(&jobs->queue, &job->entry);
    job->row.state = EP_STATE_RUNNING;
    jobs->running++;
    ep_live_touch(jobs, job);
    ep_queue_touch(jobs);
  }
  pthread_mutex_unlock(&jobs->mutex);
  return job;
}

/* The end of what a worker had begun for nothing: see job_withdraw. */
static void dropped_end(ep_jobs *jobs, ep_live_job *job) {
  pthread_mutex_lock(&jobs->mutex);
  ep_live_remove(jobs, job);
  jobs->running--;
  pthread_mutex_unlock(&jobs->mutex);
  ep_open_logs_release(&jobs->logs, job->log);
  ep_data_dir_discard(jobs->data_dir, "jobs", job->row.id, NULL);
  ep_live_destroy(job);
}

/* Puts a job back into the queue, which kept room for it, unless it was cancelled in the meantime:
 * then it ends. */
static void queue_return(ep_jobs *jobs, ep_live_job *job, bool again) {
  pthread_mutex_lock(&jobs->mutex);
  bool cancelled = job->cancelled, dropped = job->dropped;
  if (!cancelled && !dropped) {
    jobs->running--;
    bool queued = ep_live_enqueue(jobs, job, again);
    assert(queued);
  }
  pthread_mutex_unlock(&jobs->mutex);
  if (dropped) {
    dropped_end(jobs, job);
  } else if (cancelled) {
    ep_job_end(jobs, job, EP_STATE_CANCELLED,
               ep_job_failure(&job->row, job->epoch, EP_CANCELLED, "cancelled"));
  }
}

/* The row of a start, as it will be stored when the worker says that it has begun. */
static void start_fill(ep_live_job *job, const char *device, ep_job_row *row) {
  *row = job->row;
  if (row->device[0] != 0 && strcmp(row->device, device) != 0) {
    snprintf(job->cause, sizeof job->cause, "device %s is gone", row->device);
    row->executor[0] = 0;
  }
  snprintf(row->device, sizeof row->device, "%s", device);
  row->attempt++;
  if (row->started_us == 0) row->started_us = ep_clock_utc_us();
}

/* The job's spec for its worker, from memory or from its row; *spec is the caller's. */
static ep_status spec_take(ep_jobs *jobs, ep_live_job *job, char **spec, ep_error *error) {
  ep_job_row stored;
  *spec = job->row.spec;
  job->row.spec = NULL;
  if (*spec) return EP_OK;
  ep_status status = ep_store_job_get(jobs->store, job->row.id, &stored, error);
  if (status != EP_OK) return status;
  *spec = stored.spec; /* ownership moves */
  stored.spec = NULL;
  ep_job_row_deinit(&stored);
  return EP_OK;
}

/* Fills in the command. The start is stored when the worker says that it has begun (job_started):
 * until then nobody was shown anything of it, and the executor is not known. */
static ep_status start_prepare(ep_jobs *jobs, ep_live_job *job, const char *device,
                               ep_assignment *out, ep_error *error) {
  ep_job_row row;
  ep_status status = EP_OK;
  if (!job->log) status = ep_open_logs_retain(&jobs->logs, job->row.id, &job->log, error);
  if (status == EP_OK) status = spec_take(jobs, job, &out->train.spec, error);
  if (status != EP_OK) return status;
  start_fill(job, device, &row);
  out->train.kind = EP_COMMAND_TRAIN;
  snprintf(out->train.job, sizeof out->train.job, "%s", row.id);
  out->train.attempt = row.attempt;
  memcpy(out->train.executor, row.executor, sizeof out->train.executor);
  out->cores = cores_of(&row, device);
  double seconds = ep_device_is_cuda(device) ? row.seconds_cuda : row.seconds_cpu;
  out->patience_seconds = isfinite(seconds) ? fmin(seconds * PATIENCE_FACTOR, 1e9) : 0;
  pthread_mutex_lock(&jobs->mutex);
  job->row = row;
  job->begun = false;
  job->epoch = 0;
  job->eta_seconds = NAN;
  ep_live_touch(jobs, job);
  pthread_mutex_unlock(&jobs->mutex);
  return EP_OK;
}

static bool job_next(void *context, const char *device, int cores, ep_assignment *out) {
  ep_jobs *jobs = context;
  ep_live_job *job = queue_take(jobs, device, cores);
  if (!job) return false;
  ep_error error = {0};
  ep_status status = start_prepare(jobs, job, device, out, &error);
  if (status != EP_OK) {
    ep_log(EP_LOG_ERROR, "job %s cannot start, trying again: %s", job->row.id, error.message);
    queue_return(jobs, job, job->entry.again);
    jobs->refused = true;
    return false;
  }
  ep_live_announce(jobs, job->row.id);
  ep_queue_announce(jobs);
  return true;
}

static bool job_cancelled(void *context, const char *id, int attempt) {
  ep_jobs *jobs = context;
  pthread_mutex_lock(&jobs->mutex);
  const ep_live_job *job = ep_live_find(jobs, id);
  bool cancelled = job && job->row.attempt == attempt && (job->cancelled || job->dropped);
  pthread_mutex_unlock(&jobs->mutex);
  return cancelled;
}

/* The running job that a worker speaks of, once its row is stored; NULL when it is not (any more).
 */
static ep_live_job *running_find(ep_jobs *jobs, const char *id, int attempt) {
  pthread_mutex_lock(&jobs->mutex);
  ep_live_job *job = ep_live_find_stored(jobs, id);
  bool running =
      job && !job->ending && job->row.state == EP_STATE_RUNNING && job->row.attempt == attempt;
  bool dropped = running && job->dropped;
  pthread_mutex_unlock(&jobs->mutex);
  return running && !dropped ? job : NULL;
}

/* True where a worker's last words were of a job that was withdrawn, which is gone then. */
static bool dropped_take(ep_jobs *jobs, const char *id) {
  pthread_mutex_lock(&jobs->mutex);
  ep_live_job *job = ep_live_find_stored(jobs, id);
  if (job && !job->dropped) job = NULL;
  pthread_mutex_unlock(&jobs->mutex);
  if (job) dropped_end(jobs, job);
  return job != NULL;
}

/* Says that the disk refused; false, for the supervisor. */
static bool refuse(const ep_live_job *job, const ep_error *error) {
  ep_log(EP_LOG_ERROR, "job %s: %s; trying again", job->row.id, error->message);
  return false;
}

ep_status ep_job_start_hold(const ep_job_row *row, ep_event_log *log, ep_error *error) {
  ep_event event = {.job = row->id,
                    .type = EP_EVENT_STARTED,
                    .time_us = row->started_us,
                    .epochs = row->epochs,
                    .attempt = row->attempt,
                    .device = row->device,
                    .executor = row->executor};
  return ep_event_log_hold(log, &event, 1, error);
}

static ep_status restart_hold(const ep_live_job *job, ep_error *error) {
  char message[EP_MESSAGE_BYTES + 64];
  snprintf(message, sizeof message, "%s; starting again from epoch 0",
           job->cause[0] != 0 ? job->cause : "the daemon was restarted");
  ep_event event = {.job = job->row.id,
                    .type = EP_EVENT_RESTARTED,
                    .time_us = ep_clock_utc_us(),
                    .attempt = job->row.attempt,
                    .message = message};
  return ep_event_log_hold(job->log, &event, 1, error);
}

/* Device and executor are fixed from here on, for every restart. Of a first start the log is what
 * lasts: its line comes to the disk before anybody is shown it, together with the epochs that have
 * come by then, and where the row of the start was lost it is read from there (jobs_recover.c). */
static bool job_started(void *context, const char *device, const ep_reply *reply) {
  ep_jobs *jobs = context;
  ep_live_job *job = running_find(jobs, reply->job, reply->attempt);
  if (!job) return true;
  ep_event_log_tail tail;
  ep_event_log_get_tail(job->log, &tail);
  ep_error error = {0};
  ep_job_row row = job->row;
  snprintf(row.executor, sizeof row.executor, "%s", reply->executor);
  ep_status status = tail.started ? ep_store_job_update(jobs->store, &row, &error)
                                  : ep_store_job_note(jobs->store, &row, &error);
  if (status == EP_OK)
    status = tail.started ? restart_hold(job, &error) : ep_job_start_hold(&row, job->log, &error);
  if (status != EP_OK) return refuse(job, &error);
  ep_job_note_start(jobs, job, device);
  if (!tail.started)
    ep_histogram_observe(&EP_METRICS.queue_seconds, EP_JOB_BOUNDS,
                         (double)(row.started_us - row.created_us) / 1e6);
  pthread_mutex_lock(&jobs->mutex);
  memcpy(job->row.executor, row.executor, sizeof job->row.executor);
  job->begun = true;
  job->cause[0] = 0;
  ep_live_touch(jobs, job);
  pthread_mutex_unlock(&jobs->mutex);
  ep_live_announce(jobs, job->row.id);
  return true;
}

/* An estimate: whole microseconds say enough, and are quickly written. */
static double eta_of(const ep_progress_record *record, int64_t epochs) {
  if (record->epoch <= 0) return NAN;
  double seconds =
      record->elapsed_seconds / (double)record->epoch * (double)(epochs - record->epoch);
  return floor(seconds * 1e6 + 0.5) / 1e6;
}

/* Those records that the log has not (a training that starts again repeats the others), as events:
 * [progress->count], of which the count is returned. */
static int records_select(const ep_live_job *job, const ep_progress *progress, ep_event *events) {
  ep_event_log_tail tail;
  ep_event_log_get_tail(job->log, &tail);
  int64_t now_us = ep_clock_utc_us(), last_epoch = tail.last_epoch;
  int count = 0;
  for (uint32_t i = 0; i < progress->count; i++) {
    const ep_progress_record *record = &progress->records[i];
    if (record->epoch <= last_epoch || record->epoch > job->row.epochs) continue;
    last_epoch = record->epoch;
    events[count++] = (ep_event){.job = job->row.id,
                                 .type = EP_EVENT_EPOCH,
                                 .time_us = now_us,
                                 .epochs = job->row.epochs,
                                 .progress = *record,
                                 .eta_seconds = eta_of(record, job->row.epochs)};
  }
  return count;
}

static ep_status records_hold(const ep_live_job *job, const ep_progress *progress,
                              ep_error *error) {
  ep_event *events = malloc(progress->count * sizeof *events);
  if (!events) return ep_fail_memory(error);
  int count = records_select(job, progress, events);
  ep_status status = ep_event_log_hold(job->log, events, count, error);
  free(events);
  return status;
}

/* Counts the epochs since the job's last report, before job->epoch moves on. */
static void epochs_count(const ep_live_job *job, int64_t epoch) {
  if (epoch > job->epoch) ep_metrics_add(EP_COUNTER_EPOCHS, (uint64_t)(epoch - job->epoch));
}

static bool job_progress(void *context, const ep_progress *progress) {
  ep_jobs *jobs = context;
  ep_live_job *job = running_find(jobs, progress->job, progress->attempt);
  if (!job || progress->count == 0) return true;
  ep_error error = {0};
  if (records_hold(job, progress, &error) != EP_OK) return refuse(job, &error);
  const ep_progress_record *last = &progress->records[progress->count - 1];
  epochs_count(job, last->epoch);
  pthread_mutex_lock(&jobs->mutex);
  job->epoch = last->epoch;
  job->eta_seconds = eta_of(last, job->row.epochs);
  ep_live_touch(jobs, job);
  pthread_mutex_unlock(&jobs->mutex);
  ep_live_announce(jobs, job->row.id);
  return true;
}

/* All that came together goes to the disk together. */
static bool job_heard(void *context, const char *id, int attempt) {
  ep_jobs *jobs = context;
  ep_live_job *job = running_find(jobs, id, attempt);
  ep_error error = {0};
  if (!job || ep_event_log_flush(job->log, &error) == EP_OK) return true;
  return refuse(job, &error);
}

static bool job_finished(void *context, const char *device, const ep_reply *reply) {
  (void)device;
  ep_jobs *jobs = context;
  if (dropped_take(jobs, reply->job)) return true;
  ep_live_job *job = running_find(jobs, reply->job, reply->attempt);
  if (!job) return true;
  char *text = ep_job_result_format(&reply->result);
  if (!text) return false; /* no memory: a second later there may be some */
  ep_state state = reply->result.status == EP_OK          ? EP_STATE_SUCCEEDED
                   : reply->result.status == EP_CANCELLED ? EP_STATE_CANCELLED
                                                          : EP_STATE_FAILED;
  epochs_count(job, reply->result.epochs_done);
  ep_metrics_trained(reply->result.train_seconds, reply->result.samples_per_second);
  ep_job_note_end(jobs, job, &reply->result);
  pthread_mutex_lock(&jobs->mutex);
  job->epoch = reply->result.epochs_done;
  if (reply->result.executor[0] != 0)
    memcpy(job->row.executor, reply->result.executor, sizeof job->row.executor);
  pthread_mutex_unlock(&jobs->mutex);
  ep_job_end(jobs, job, state, text);
  return true;
}

void ep_job_start_undo(ep_jobs *jobs, ep_live_job *job) {
  pthread_mutex_lock(&jobs->mutex);
  if (--job->row.attempt == 0) {
    job->row.device[0] = 0;
    job->row.started_us = 0;
  }
  pthread_mutex_unlock(&jobs->mutex);
}

/* A worker died that had begun the job. True when that was once too often: *message says so. */
static bool death_count(ep_jobs *jobs, ep_live_job *job, const char *cause,
                        char message[DEATH_BYTES]) {
  ep_event_log_tail tail;
  ep_event_log_get_tail(job->log, &tail);
  job->deaths = tail.last_epoch > job->epoch_at_death ? 1 : job->deaths + 1;
  job->epoch_at_death = tail.last_epoch;
  job->deaths_unbegun = 0;
  pthread_mutex_lock(&jobs->mutex);
  snprintf(job->cause, sizeof job->cause, "%s", cause);
  pthread_mutex_unlock(&jobs->mutex);
  snprintf(message, DEATH_BYTES, "%s; %d times in a row without coming further", cause,
           job->deaths);
  return job->deaths >= EP_JOBS_DEATHS_MAX;
}

/* A worker died that had not begun the job: all that there are may have died at once, which is not
 * the job's fault and costs it nothing. But each of them a few times over is no accident. */
static bool unbegun_count(ep_jobs *jobs, ep_live_job *job, const char *cause,
                          char message[DEATH_BYTES]) {
  bool often = ++job->deaths_unbegun >= EP_JOBS_DEATHS_MAX * jobs->workers_most;
  snprintf(message, DEATH_BYTES, "%s; %d times in a row before the job began", cause,
           job->deaths_unbegun);
  if (!often) ep_job_start_undo(jobs, job);
  return often;
}

static void job_died(void *context, const char *id, int attempt, bool begun, const char *cause) {
  ep_jobs *jobs = context;
  if (dropped_take(jobs, id)) return;
  ep_live_job *job = running_find(jobs, id, attempt);
  if (!job) return;
  ep_error error = {0};
  if (begun && ep_job_results_remove(jobs, id, &error) != EP_OK)
    ep_log(EP_LOG_ERROR, "job %s: %s", id, error.message);
  char message[DEATH_BYTES];
  bool often =
      begun ? death_count(jobs, job, cause, message) : unbegun_count(jobs, job, cause, message);
  pthread_mutex_lock(&jobs->mutex);
  bool cancelled = job->cancelled;
  pthread_mutex_unlock(&jobs->mutex);
  if (often && !cancelled) {
    ep_job_end(jobs, job, EP_STATE_FAILED,
               ep_job_failure(&job->row, job->epoch, EP_DEVICE, message));
    return;
  }
  queue_return(jobs, job, true);
  ep_live_announce(jobs, id);
  ep_queue_announce(jobs);
}

/* Once a round: wakes those who watch, and once a second tries again what the disk refused. */
static bool jobs_settle(void *context) {
  ep_jobs *jobs = context;
  ep_supervisor_get_devices(jobs->supervisor, &jobs->devices);
  ep_jobs_stranded_check(jobs, &jobs->devices);
  bool again = ep_calibrations_settle(&jobs->calibrations, &jobs->devices);
  ep_subscribers_call(&jobs->watches);
  int64_t now_us = ep_clock_steady_us();
  pthread_mutex_lock(&jobs->mutex);
  bool left = jobs->ending != NULL;
  pthread_mutex_unlock(&jobs->mutex);
  if (left && now_us >= jobs->retry_us) {
    jobs->retry_us = now_us + RETRY_US;
    left = ep_jobs_end_retry(jobs);
    ep_subscribers_call(&jobs->watches);
  }
  bool refused = jobs->refused;
  jobs->refused = false;
  return left || refused || again;
}

void ep_jobs_events(ep_jobs *jobs, ep_supervisor_events *out) {
  *out = (ep_supervisor_events){.context = jobs,
                                .next = job_next,
                                .cancelled = job_cancelled,
                                .started = job_started,
                                .progress = job_progress,
                                .finished = job_finished,
                                .heard = job_heard,
                                .died = job_died,
                                .settle = jobs_settle};
}

ep_status ep_jobs_cancel(ep_jobs *jobs, const char *id, ep_error *error) {
  if (!ep_id_valid(id)) return ep_fail(error, EP_NOT_FOUND, "there is no job %.60s", id);
  pthread_mutex_lock(&jobs->mutex);
  ep_live_job *job = ep_live_find_stored(jobs, id);
  bool live = job && !job->dropped;
  if (!live) job = NULL;
  if (live && (job->ending || !ep_queue_remove(&jobs->queue, &job->entry))) {
    job->cancelled = true;
    job = NULL;
  }
  if (job) { /* out of the queue, it is this thread's now */
    job->state_before = job->row.state;
    job->version_before = ep_live_version(jobs, job);
    job->ending = true;
    ep_queue_touch(jobs);
  }
  pthread_mutex_unlock(&jobs->mutex);
  if (job) {
    ep_job_end(jobs, job, EP_STATE_CANCELLED, NULL);
    ep_queue_announce(jobs);
  }
  ep_supervisor_kick(jobs->supervisor); /* it runs, or may have held up those behind it */
  if (live || ep_store_job_exists(jobs->store, id)) return EP_OK;
  return ep_fail(error, EP_NOT_FOUND, "there is no job %s", id);
}
