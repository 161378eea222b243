#include "server/jobs/lifecycle/recover.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "api/sweep/sweep_spec.h"
#include "server/jobs/checkpoints.h"
#include "server/jobs/files/events.h"
#include "server/jobs/files/files.h"
#include "server/jobs/files/history.h"
#include "server/jobs/lifecycle/crashes.h"
#include "server/jobs/lifecycle/end.h"
#include "server/jobs/lifecycle/first_weights.h"
#include "server/jobs/lifecycle/pause.h"
#include "server/jobs/lifecycle/retention.h"
#include "server/jobs/lifecycle/trials.h"
#include "server/jobs/live/best.h"
#include "server/jobs/live/live.h"
#include "server/jobs/live/usage.h"
#include "server/process/clock.h"
#include "server/process/data_dir.h"
#include "server/process/disk_probe.h"
#include "server/process/log.h"

/* More jobs than can have been ending when the daemon died. An end line that a crash of the machine
 * took later is appended by whoever opens the log. */
enum { FINISHED_CHECKED = 64, RESTORE_TRIES = 3 };

/* What is noted of a spec at its submission. Of one that cannot be read, the worker reports the
 * fault. False: memory is short. */
static bool spec_note(const ep_job_row *row, ep_live_job *job) {
  ep_job_spec *spec = NULL;
  ep_sweep_spec *sweep = NULL;
  ep_status status = ep_id_is_sweep(row->id)
                         ? ep_sweep_spec_load(row->spec, &sweep, NULL)
                         : ep_job_spec_load(row->spec, strlen(row->spec), &spec, NULL);
  bool noted = status != EP_NO_MEMORY;
  if (sweep) ep_trials_note(job, sweep);
  if (spec) ep_first_weights_pin_name(spec, job->init_pin);
  if (status == EP_OK) noted = ep_live_spec_note(job, sweep ? sweep->base : spec);
  ep_job_spec_destroy(spec);
  ep_sweep_spec_destroy(sweep);
  return noted;
}

/* Pins what the job needs, as before the restart; false: memory is short. */
static bool pins_add(ep_jobs *jobs, const ep_job_row *row, ep_live_job *job) {
  return (job->init_pin[0] == 0 || ep_pins_add(&jobs->contents.pins, job->init_pin)) &&
         (row->dataset[0] == 0 || ep_pins_add(&jobs->contents.pins, row->dataset));
}

static bool share_add(ep_jobs *jobs, const ep_live_job *job) {
  pthread_mutex_lock(&jobs->mutex);
  bool added = ep_shares_add(&jobs->shares, job->entry.owner);
  pthread_mutex_unlock(&jobs->mutex);
  return added;
}

/* The first `started` line of a log that has one. */
static ep_status start_read(ep_event_log *log, ep_event *event, ep_event_place *place,
                            ep_error *error) {
  ep_status status = EP_OK;
  size_t bytes = 0, length;
  bool ended = false;
  char *lines = malloc(EP_LIMIT_EVENT_BYTES);
  if (!lines) return ep_fail_memory(error);
  event->type = EP_EVENT_QUEUED;
  for (int64_t offset = 0; status == EP_OK && event->type != EP_EVENT_STARTED;
       offset += (int64_t)bytes) {
    status = ep_event_log_read(log, offset, lines, EP_LIMIT_EVENT_BYTES, &bytes, &ended, error);
    if (status == EP_OK && bytes == 0)
      status = ep_fail(error, EP_IO, "an event log has lost its `started` line");
    for (size_t at = 0; status == EP_OK && at < bytes && event->type != EP_EVENT_STARTED;
         at += length + 1) {
      length = (size_t)((char *)memchr(lines + at, '\n', bytes - at) - (lines + at));
      status = ep_event_parse(lines + at, length, event, error);
      if (status == EP_OK && event->type == EP_EVENT_STARTED)
        status = ep_event_parse_place(lines + at, length, place, error);
    }
  }
  free(lines);
  return status;
}

/* Fills in the row of a job that has started from its line, if that is of a later attempt than the
 * row: when the daemon stopped it may have stored an attempt before that one, which had not begun.
 */
static ep_status start_take(ep_job_row *row, ep_event_log *log, ep_error *error) {
  ep_event event;
  ep_event_place place;
  ep_status status = start_read(log, &event, &place, error);
  if (status != EP_OK || event.attempt <= row->attempt) return status;
  row->state = EP_STATE_RUNNING;
  row->attempt = event.attempt;
  row->started_us = event.time_us; /* whole milliseconds */
  if (row->started_us < row->created_us) row->started_us = row->created_us;
  memcpy(row->device, place.device, sizeof row->device);
  memcpy(row->executor, place.executor, sizeof row->executor);
  return EP_OK;
}

/* Makes row and line of a first start agree. All lines are synced before they are shown: a daemon
 * that was killed may have left some that are not. A row that is missing is filled in from its
 * line. Where there is the row alone, the start was not shown, and the line is written from the
 * row. */
static ep_status start_restore(ep_jobs *jobs, ep_job_row *row, ep_error *error) {
  ep_event_log *log = NULL;
  ep_event_log_tail tail;
  ep_status status = ep_open_logs_retain(&jobs->logs, row->id, &log, error);
  if (status != EP_OK) return status;
  ep_event_log_get_tail(log, &tail);
  if (tail.last_seq > 1) status = ep_event_log_flush(log, error); /* `queued` has its row */
  if (status == EP_OK && tail.started && row->executor[0] == 0) {
    status = start_take(row, log, error);
  } else if (!tail.started && row->attempt == 1 && row->executor[0] != 0) {
    status = ep_job_started_hold(row, log, error);
    if (status == EP_OK) status = ep_event_log_flush(log, error);
  }
  ep_open_logs_release(&jobs->logs, log);
  return status;
}

/* Where a job stands: by its log, or its newest checkpoint. */
static int64_t epoch_of(ep_jobs *jobs, const char *id) {
  char path[EP_PATH_BYTES];
  ep_event_log *log = NULL;
  ep_event_log_tail tail = {0};
  ep_checkpoint checkpoint;
  if (ep_open_logs_retain(&jobs->logs, id, &log, NULL) != EP_OK) return 0;
  ep_event_log_get_tail(log, &tail);
  ep_open_logs_release(&jobs->logs, log);
  ep_status status =
      ep_jobs_checkpoint_find(jobs, id, EP_CHECKPOINT_LATEST, &checkpoint, path, NULL);
  bool later = status == EP_OK && checkpoint.epoch > tail.reports.epoch;
  return later ? checkpoint.epoch : tail.reports.epoch;
}

/* For a job that runs, and may come back to the queue. False: memory is short. */
static bool queue_room_make(ep_jobs *jobs) {
  pthread_mutex_lock(&jobs->mutex);
  bool room = ep_queue_reserve(&jobs->queue, jobs->queue.count + 2 + jobs->running);
  pthread_mutex_unlock(&jobs->mutex);
  return room;
}

/* A job that ran on another machine goes on there, if its worker comes back. The mutex is not held.
 */
static bool job_await(ep_jobs *jobs, const ep_job_row *row, ep_live_job *job) {
  ep_error error = {0};
  if (row->state != EP_STATE_RUNNING || !ep_device_is_remote(row->device)) return false;
  if (ep_open_logs_retain(&jobs->logs, row->id, &job->log, &error) != EP_OK ||
      ep_trials_begin(job, row->spec, &error) != EP_OK || !queue_room_make(jobs) ||
      !ep_supervisor_expect(jobs->supervisor, row->device, row->id, row->attempt))
    return false; /* it is queued, with the log */
  ep_best_begin(jobs, job);
  job->begun = row->executor[0] != 0 || job->sweep;
  pthread_mutex_lock(&jobs->mutex);
  job->row.state = EP_STATE_RUNNING;
  job->eta_us = ep_clock_steady_us();
  jobs->running++;
  ep_usage_begin(jobs, job);
  ep_live_add(jobs, job);
  pthread_mutex_unlock(&jobs->mutex);
  return true;
}

/* Queues the job, unless a client has told it otherwise. One that is stored as paused, and was told
 * to go on, is owed that. */
static ep_status job_place(ep_jobs *jobs, const ep_job_row *row, ep_live_job *job,
                           ep_error *error) {
  ep_status status = EP_OK;
  bool waits = row->intent == EP_INTENT_PAUSE || row->intent == EP_INTENT_CANCEL ||
               row->state == EP_STATE_PAUSED;
  job->epoch = row->attempt > 0 ? epoch_of(jobs, row->id) : 0;
  job->cancelled = row->intent == EP_INTENT_CANCEL;
  job->pause = waits && !job->cancelled;
  job->epoch_paused = job->epoch;
  job->resume_owed = row->state == EP_STATE_PAUSED && row->intent == EP_INTENT_RESUME;
  if (!waits && job_await(jobs, row, job)) return EP_OK;
  pthread_mutex_lock(&jobs->mutex);
  if (job->resume_owed) jobs->resumes_owed = true;
  ep_live_add(jobs, job);
  if (waits)
    job->row.state = row->state == EP_STATE_PAUSED ? EP_STATE_PAUSED : EP_STATE_QUEUED;
  else if (!ep_live_enqueue(jobs, job, row->attempt > 0))
    status = ep_fail_memory(error);
  pthread_mutex_unlock(&jobs->mutex);
  if (job->cancelled || (waits && row->state != EP_STATE_PAUSED)) ep_job_pause_enter(jobs, job);
  return status;
}

/* Of a log that was cut, a `warning` says so. *ended: it has its end, so the row is older than the
 * log: of a store that was restored. */
static ep_status log_look(ep_jobs *jobs, const ep_job_row *row, bool *ended, ep_error *error) {
  ep_event_log *log = NULL;
  ep_event_log_tail tail;
  ep_status status = ep_open_logs_retain(&jobs->logs, row->id, &log, error);
  if (status != EP_OK) return status;
  ep_event_log_get_tail(log, &tail);
  *ended = tail.ended;
  if (tail.damaged && tail.last_seq > 0) {
    char message[EP_MESSAGE_BYTES];
    snprintf(message, sizeof message,
             "the event log was damaged after line %lld and is truncated there; later epochs are "
             "trained again",
             (long long)tail.last_seq);
    status = ep_job_warning_append(&jobs->logs, row->id, message, error);
  }
  ep_open_logs_release(&jobs->logs, log);
  return status;
}

/* Writes the end that the log has into the row. */
static ep_status end_restore(ep_jobs *jobs, ep_job_row *row, ep_error *error) {
  ep_status status = ep_job_history_read(jobs->data_dir, row, error);
  if (status != EP_OK) return status;
  row->version = ep_live_tick(jobs);
  ep_log(EP_LOG_WARNING, "job %s ended before the store was restored: its end is read from its log",
         row->id);
  return ep_store_job_update(jobs->store, row, error);
}

/* What a job needs on disk. */
static ep_status files_restore(ep_jobs *jobs, ep_job_row *row, bool *ended, ep_error *error) {
  *ended = false;
  ep_status status = ep_job_folder_create(jobs->data_dir, row->id, error);
  if (status == EP_OK) status = ep_job_spec_write(jobs->data_dir, row, error);
  if (status == EP_OK) status = log_look(jobs, row, ended, error);
  if (status == EP_OK && *ended) return end_restore(jobs, row, error);
  if (status == EP_OK) status = ep_job_queued_append(&jobs->logs, row, error);
  ep_error left = {0}; /* the next results are written over what cannot be removed */
  if (status == EP_OK && ep_job_files_remove_results(jobs->data_dir, row->id, &left) != EP_OK)
    ep_log(EP_LOG_WARNING, "job %s: %s", row->id, left.message);
  if (status == EP_OK) status = start_restore(jobs, row, error);
  return status;
}

/* A job whose files refuse to be restored fails, with the reason, and the others go on. Its log may
 * be what refuses: then the end is in the row alone. */
static ep_status job_give_up(ep_jobs *jobs, ep_job_row *row, const ep_error *why, ep_error *error) {
  char message[EP_MESSAGE_BYTES];
  snprintf(message, sizeof message, "the job cannot be resumed: %.400s", why->message);
  ep_log(EP_LOG_ERROR, "job %s failed: %s", row->id, message);
  free(row->result);
  ep_data_dir_shorten(jobs->data_dir, message);
  row->result = ep_job_failure(row, 0, why->status, message);
  if (!row->result) return ep_fail_memory(error);
  row->state = EP_STATE_FAILED;
  row->finished_us = ep_job_finish_us(row);
  row->version = ep_live_tick(jobs);
  ep_status status = ep_store_job_update(jobs->store, row, error);
  ep_event_log *log = NULL;
  ep_error ignored;
  if (status == EP_OK && ep_open_logs_retain(&jobs->logs, row->id, &log, &ignored) == EP_OK)
    ep_job_end_append(row, log, &ignored);
  ep_open_logs_release(&jobs->logs, log);
  return status;
}

/* Makes a live job of a row that did not end, and queues it. */
static ep_status job_revive(ep_jobs *jobs, ep_job_row *row, ep_error *error) {
  bool ended;
  ep_error why = {0};
  ep_status status = EP_IO;
  for (int i = 0; i < RESTORE_TRIES && status == EP_IO; i++) /* a disk that stumbles once */
    status = files_restore(jobs, row, &ended, &why);
  if (status == EP_IO && ep_disk_probe_write(jobs->data_dir, NULL) != EP_OK)
    status = EP_UNAVAILABLE; /* the disk is at fault, not this job's files */
  if (status == EP_NO_MEMORY || status == EP_UNAVAILABLE) /* which passes */
    return ep_fail(error, status, "job %s: %.400s", row->id, why.message);
  if (status != EP_OK) return job_give_up(jobs, row, &why, error);
  if (ended) return EP_OK;
  ep_live_job *job = ep_live_create(row);
  if (!job || !share_add(jobs, job) || !spec_note(row, job) || !pins_add(jobs, row, job)) {
    ep_live_destroy(job);
    return ep_fail_memory(error);
  }
  ep_error unfit = {0}; /* sbatch says so again */
  if (ep_device_is_remote(row->requested_device) &&
      ep_allocation_make(&jobs->allocator, row, job->slurm, job->gang.most, row->requested_device,
                         &job->allocation, &unfit) != EP_OK)
    ep_log(EP_LOG_WARNING, "job %s: %s", row->id, unfit.message);
  if (row->state == EP_STATE_RUNNING) ep_crashes_count(jobs, row);
  if (row->state == EP_STATE_PAUSED || row->intent == EP_INTENT_PAUSE)
    job->crashes = ep_crashes_of_paused(jobs, row->id);
  if (row->state != EP_STATE_QUEUED)
    snprintf(job->cause, sizeof job->cause, "the daemon was restarted");
  return job_place(jobs, row, job, error);
}

static ep_status unfinished_revive(ep_jobs *jobs, ep_error *error) {
  char after[EP_ID_BYTES] = "";
  int64_t count = 0;
  ep_status status = EP_OK;
  for (bool more = true; status == EP_OK && more;) {
    ep_job_rows list;
    status = ep_store_jobs_unfinished(jobs->store, after, &list, error);
    for (int64_t i = 0; status == EP_OK && i < list.count; i++, count++) {
      memcpy(after, list.rows[i].id, sizeof after);
      if (!list.rows[i].damaged) status = job_revive(jobs, &list.rows[i], error);
    }
    more = list.cut;
    ep_job_rows_deinit(&list);
  }
  if (status == EP_OK && count > 0)
    ep_log(EP_LOG_INFO, "%lld job%s not finished and %s queued", (long long)count,
           count == 1 ? " was" : "s were", count == 1 ? "is" : "are");
  return status;
}

/* Appends the end lines of the jobs that ended last, where a death came between row and line. One
 * that was being deleted, and has its row, gets its folder back first. */
static ep_status finished_complete(ep_jobs *jobs, ep_error *error) {
  ep_job_rows list;
  ep_status status = ep_store_jobs_finished_last(jobs->store, FINISHED_CHECKED, &list, error);
  for (int64_t i = 0; status == EP_OK && i < list.count; i++) {
    ep_event_log *log = NULL;
    ep_error why = {0};
    if (ep_job_folder_unmark(jobs->data_dir, list.rows[i].id, &why) != EP_OK ||
        ep_open_logs_retain(&jobs->logs, list.rows[i].id, &log, &why) != EP_OK ||
        ep_job_end_append(&list.rows[i], log, &why) != EP_OK)
      ep_log(EP_LOG_ERROR, "the events of job %s: %s", list.rows[i].id, why.message);
    ep_open_logs_release(&jobs->logs, log);
  }
  ep_job_rows_deinit(&list);
  return status;
}

typedef struct {
  ep_jobs *jobs;
  bool strange; /* an accepted job was found that no row knows */
} folder_check;

/* A folder without a row goes where its submission was not acknowledged, or its job was deleted.
 * All others are kept: of a store that was lost, or is older than they are. */
static void job_folder_check(void *context, const char *name) {
  folder_check *check = context;
  ep_jobs *jobs = check->jobs;
  char id[EP_ID_BYTES];
  ep_error error = {0};
  ep_status status = EP_OK;
  if (atomic_load(&jobs->closing) ||
      (ep_id_valid(name) && ep_id_is_later(name, jobs->sweep_before)))
    return;
  if (ep_id_valid(name) && ep_store_job_exists(jobs->store, name)) return; /* nearly all */
  ep_job_folder_kind kind = ep_job_folder_look(jobs->data_dir, name, id);
  bool known = kind != EP_JOB_FOLDER_STRANGE && ep_store_job_exists(jobs->store, id);
  if (kind == EP_JOB_FOLDER_MARKED) {
    status = ep_job_marked_settle(jobs, id, name, &error);
  } else if (!known && kind == EP_JOB_FOLDER_UNACCEPTED) {
    status = ep_data_dir_discard(jobs->data_dir, "jobs", name, &error);
  } else if (!known) {
    check->strange = check->strange || kind == EP_JOB_FOLDER_ACCEPTED;
    status = ep_data_dir_keep(jobs->data_dir, "jobs", name, "has no row in the store", &error);
  }
  if (status != EP_OK) ep_log(EP_LOG_WARNING, "%s", error.message);
}

static void dataset_folder_check(void *context, const char *name) {
  folder_check *check = context;
  if (!atomic_load(&check->jobs->closing))
    ep_contents_look(&check->jobs->contents, name, check->strange);
}

/* Whether the folder is of an accepted job. */
static void accepted_find(void *context, const char *name) {
  folder_check *check = context;
  char id[EP_ID_BYTES];
  if (ep_job_folder_look(check->jobs->data_dir, name, id) == EP_JOB_FOLDER_ACCEPTED)
    check->strange = true;
}

/* Whether the folder is of a content that had a name. */
static void named_find(void *context, const char *name) {
  folder_check *check = context;
  if (!ep_contents_marked(&check->jobs->contents, name)) check->strange = true;
}

ep_status ep_jobs_refuse_lost_store(ep_jobs *jobs, const char *store, ep_error *error) {
  char path[EP_PATH_BYTES];
  struct stat state;
  folder_check check = {.jobs = jobs};
  if (stat(store, &state) == 0 && state.st_size > 0) return EP_OK;
  ep_status status = ep_path_join(path, error, jobs->data_dir, "jobs", NULL);
  if (status == EP_OK) status = ep_data_dir_list(path, accepted_find, &check, error);
  if (status == EP_OK) status = ep_path_join(path, error, jobs->data_dir, "datasets", NULL);
  if (status == EP_OK) status = ep_data_dir_list(path, named_find, &check, error);
  if (status != EP_OK || !check.strange) return status;
  return ep_fail(error, EP_CONFLICT,
                 "%.200s not found, but there are jobs and datasets beside it: restore it, rebuild "
                 "it from their folders with --rescue, or start with an empty one with "
                 "--new-store, which moves the folders to " EP_LOST_FOLDER,
                 store);
}

/* New ids are later than the newest there is, even when the clock was set back. */
static ep_status newest_observe(ep_jobs *jobs, ep_error *error) {
  static const char *const prefixes[] = {EP_JOB_PREFIX, EP_SWEEP_PREFIX};
  ep_status status = EP_OK;
  for (size_t i = 0; status == EP_OK && i < sizeof prefixes / sizeof *prefixes; i++) {
    ep_job_rows newest;
    ep_job_page page = {.state = -1, .prefix = prefixes[i], .limit = 1, .summary = true};
    status = ep_store_jobs_list(jobs->store, &page, &newest, error);
    if (status == EP_OK && newest.count > 0) ep_id_observe(newest.rows[0].id);
    ep_job_rows_deinit(&newest);
  }
  return status;
}

ep_status ep_jobs_recover(ep_jobs *jobs, ep_error *error) {
  ep_status status = newest_observe(jobs, error);
  ep_id_create(EP_JOB_PREFIX, jobs->sweep_before);
  if (status == EP_OK) status = unfinished_revive(jobs, error);
  if (status == EP_OK) status = finished_complete(jobs, error);
  return status;
}

/* Looks at every folder, which takes the longer the more there are. */
static void *sweep_run(void *context) {
  ep_jobs *jobs = context;
  char path[EP_PATH_BYTES];
  ep_error error = {0};
  folder_check check = {.jobs = jobs};
  ep_status status = ep_path_join(path, &error, jobs->data_dir, "jobs", NULL);
  if (status == EP_OK) status = ep_data_dir_list(path, job_folder_check, &check, &error);
  if (status == EP_OK) status = ep_path_join(path, &error, jobs->data_dir, "datasets", NULL);
  if (status == EP_OK) status = ep_data_dir_list(path, dataset_folder_check, &check, &error);
  if (status != EP_OK) ep_log(EP_LOG_ERROR, "folders without a row stay: %s", error.message);
  return NULL;
}

ep_status ep_jobs_sweep_start(ep_jobs *jobs, ep_error *error) {
  int failed = pthread_create(&jobs->sweep, NULL, sweep_run, jobs);
  if (failed != 0) return ep_fail(error, EP_NO_MEMORY, "no thread: %s", strerror(failed));
  jobs->sweeping = true;
  return EP_OK;
}

void ep_jobs_sweep_stop(ep_jobs *jobs) {
  atomic_store(&jobs->closing, true);
  if (jobs->sweeping) pthread_join(jobs->sweep, NULL);
  jobs->sweeping = false;
}
