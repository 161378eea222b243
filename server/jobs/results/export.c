/* Files of a job that a worker writes, because it has the data and computes: the weights as C
 * source, the numbers of a plot. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine/checkpoints/list.h"
#include "server/jobs/checkpoints.h"
#include "server/jobs/files/results.h"
#include "server/jobs/live/live.h"
#include "server/process/data_dir.h"
#include "server/process/id.h"

enum {
  WRITE_MS = 300000, /* reading a large data set is most of it */
  LOOK_MS = 200      /* between two looks whether it is still wanted */
};

/* What the thread that asked waits for. Freed by whoever is last: it, or the answer. */
typedef struct {
  pthread_mutex_t mutex; /* guards the others */
  pthread_cond_t answered;
  bool done, left;
  ep_error error; /* status EP_OK: the file is there */
} waiting;

static waiting *waiting_create(void) {
  pthread_condattr_t steady;
  waiting *asked = calloc(1, sizeof *asked);
  if (!asked) return NULL;
  pthread_mutex_init(&asked->mutex, NULL);
  pthread_condattr_init(&steady);
  pthread_condattr_setclock(&steady, CLOCK_MONOTONIC);
  pthread_cond_init(&asked->answered, &steady);
  pthread_condattr_destroy(&steady);
  return asked;
}

static void waiting_destroy(waiting *asked) {
  pthread_cond_destroy(&asked->answered);
  pthread_mutex_destroy(&asked->mutex);
  free(asked);
}

static void write_done(void *context, const ep_reply *reply, const ep_error *error) {
  waiting *asked = context;
  (void)reply;
  pthread_mutex_lock(&asked->mutex);
  if (error) asked->error = *error;
  asked->done = true;
  bool left = asked->left;
  pthread_cond_signal(&asked->answered);
  pthread_mutex_unlock(&asked->mutex);
  if (left) waiting_destroy(asked);
}

/* The worker's answer, or EP_CANCELLED after `stop` requests it. Takes ownership of `asked`. */
static ep_status answer_await(waiting *asked, const ep_cancellation *stop, ep_error *error) {
  pthread_mutex_lock(&asked->mutex);
  while (!asked->done && !asked->left) {
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += LOOK_MS * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000L;
    until.tv_nsec %= 1000000000L;
    pthread_cond_timedwait(&asked->answered, &asked->mutex, &until);
    if (!asked->done && stop->asked) asked->left = stop->asked(stop->context);
  }
  const ep_error answered = asked->error;
  bool left = asked->left;
  pthread_mutex_unlock(&asked->mutex);
  if (left) return ep_fail(error, EP_CANCELLED, "the client disconnected");
  waiting_destroy(asked);
  if (answered.status != EP_OK && error) *error = answered;
  return answered.status;
}

/* A plot, or a threshold that is searched with one, reads the rows that the job trained on. */
static ep_status rows_require(ep_jobs *jobs, const ep_job_row *row, ep_error *error) {
  char path[EP_PATH_BYTES];
  if (row->dataset[0] == 0) return EP_OK;
  ep_status status = ep_path_join(path, error, jobs->data_dir, "datasets", row->dataset, NULL);
  if (status != EP_OK || ep_data_dir_exists(path)) return status;
  return ep_fail(error, EP_CONFLICT,
                 "the rows that job %s trained on were replaced or deleted, and plots and searched "
                 "thresholds read them: upload these rows again, or train again",
                 row->id);
}

/* Completes the command for the job and has a worker obey it; returns when it has. */
static ep_status file_write(ep_jobs *jobs, const char *id, const char *file, ep_command *command,
                            const ep_cancellation *stop, ep_error *error) {
  ep_job_row row;
  waiting *asked = NULL;
  ep_status status = ep_store_job_get(jobs->store, id, &row, error);
  if (status != EP_OK) return status;
  snprintf(command->job, sizeof command->job, "%s", id);
  snprintf(command->file, sizeof command->file, "%s", file);
  bool last = command->checkpoint == 0 && command->plot.epoch == EP_PLOT_NO_EPOCH;
  if (last) /* those of a checkpoint have theirs in its file */
    status = ep_job_row_weights_sha256(&row, command->weights_sha256, error);
  if (status == EP_OK && command->kind == EP_COMMAND_PLOT) status = rows_require(jobs, &row, error);
  ep_job_row_deinit(&row);
  if (status == EP_OK && !(asked = waiting_create())) status = ep_fail_memory(error);
  if (status == EP_OK)
    status = ep_supervisor_request(jobs->supervisor, row.device, false, command, WRITE_MS,
                                   write_done, asked, error);
  if (status == EP_OK) return answer_await(asked, stop, error);
  if (asked) waiting_destroy(asked);
  return status;
}

ep_status ep_jobs_export(ep_jobs *jobs, const char *id, bool quantize, const char *file,
                         const ep_cancellation *stop, ep_error *error) {
  ep_command command = {
      .kind = EP_COMMAND_EXPORT, .quantize = quantize, .plot.epoch = EP_PLOT_NO_EPOCH};
  return file_write(jobs, id, file, &command, stop, error);
}

/* The moment of that epoch, or the newest: *epoch is written. Whether the job has ended or not. */
static ep_status moment_find(ep_jobs *jobs, const char *id, int64_t *epoch, ep_error *error) {
  char folder[EP_PATH_BYTES];
  int64_t *epochs = NULL, count = 0, i = 0;
  if (!ep_id_valid(id) || (!ep_live_is(jobs, id) && !ep_store_job_exists(jobs->store, id)))
    return ep_fail(error, EP_NOT_FOUND, "job %.60s not found", id);
  ep_status status = ep_path_join(folder, error, jobs->data_dir, "jobs", id, NULL);
  if (status == EP_OK) status = ep_moments_list(folder, &epochs, &count, error);
  if (status != EP_OK) return status;
  if (*epoch == EP_PLOT_LATEST_EPOCH) i = count - 1;
  while (i >= 0 && i < count && *epoch >= 0 && epochs[i] != *epoch) i++;
  if (count == 0)
    status = ep_fail(error, EP_NOT_FOUND,
                     "job %s has no time-lapse: submit it with \"timelapse_every\"", id);
  else if (i == count)
    status = ep_fail(error, EP_NOT_FOUND,
                     "the time-lapse of job %s has no network of epoch %lld: it has %lld networks, "
                     "from epoch %lld to %lld",
                     id, (long long)*epoch, (long long)count, (long long)epochs[0],
                     (long long)epochs[count - 1]);
  else
    *epoch = epochs[i];
  free(epochs);
  return status;
}

/* The weights that a plot is made of: a moment's, a checkpoint's, or those of the job's end. A
 * time-lapse of a job that trains ends at its newest moment. */
static ep_status plotted_find(ep_jobs *jobs, const char *id, ep_command *command, ep_error *error) {
  char path[EP_PATH_BYTES];
  ep_checkpoint found = {0};
  ep_plot_request *plot = &command->plot;
  if (plot->epoch != EP_PLOT_NO_EPOCH && command->checkpoint != 0)
    return ep_fail(error, EP_MALFORMED, "?epoch= and ?checkpoint= cannot be combined");
  if (plot->epoch != EP_PLOT_NO_EPOCH) return moment_find(jobs, id, &plot->epoch, error);
  if (command->checkpoint != 0) {
    ep_status status = ep_jobs_checkpoint_find(jobs, id, command->checkpoint, &found, path, error);
    command->checkpoint = found.step;
    return status;
  }
  ep_status status = ep_jobs_file(jobs, id, EP_WEIGHTS_FILE, path, sizeof path, error);
  if (status != EP_CONFLICT || strcmp(plot->name, ep_plot_kind_name(EP_PLOT_TIMELAPSE)) != 0)
    return status;
  plot->epoch = EP_PLOT_LATEST_EPOCH;
  return moment_find(jobs, id, &plot->epoch, error);
}

ep_status ep_jobs_plot(ep_jobs *jobs, const char *id, int64_t checkpoint,
                       const ep_plot_request *request, const char *file,
                       const ep_cancellation *stop, ep_error *error) {
  ep_command command = {.kind = EP_COMMAND_PLOT, .checkpoint = checkpoint, .plot = *request};
  ep_status status = plotted_find(jobs, id, &command, error);
  return status == EP_OK ? file_write(jobs, id, file, &command, stop, error) : status;
}
