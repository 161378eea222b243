/* Files of a job that a worker writes, because it has the data and computes: the weights as C
 * source, the numbers of a plot. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/checkpoints/list.h"
#include "server/jobs/checkpoints.h"
#include "server/jobs/files/results.h"
#include "server/jobs/live/live.h"
#include "server/process/data_dir.h"
#include "server/process/id.h"

enum { WRITE_MS = 300000 }; /* reading a large data set is most of it */

/* What the thread that asked waits for. */
typedef struct {
  pthread_mutex_t mutex; /* guards the others */
  pthread_cond_t answered;
  bool done;
  ep_error error; /* status EP_OK: the file is there */
} waiting;

static void write_done(void *context, const ep_reply *reply, const ep_error *error) {
  waiting *asked = context;
  (void)reply;
  pthread_mutex_lock(&asked->mutex);
  if (error) asked->error = *error;
  asked->done = true;
  pthread_cond_signal(&asked->answered);
  pthread_mutex_unlock(&asked->mutex);
}

/* Completes the command for the job and has a worker obey it; returns when it has. */
static ep_status file_write(ep_jobs *jobs, const char *id, const char *file, ep_command *command,
                            ep_error *error) {
  ep_job_row row;
  waiting asked = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false, {0}};
  ep_status status = ep_store_job_get(jobs->store, id, &row, error);
  if (status != EP_OK) return status;
  snprintf(command->job, sizeof command->job, "%s", id);
  snprintf(command->file, sizeof command->file, "%s", file);
  bool last = command->checkpoint == 0 && command->plot.epoch == EP_PLOT_NO_EPOCH;
  if (last) /* those of a checkpoint have theirs in its file */
    status = ep_job_row_weights_sha256(&row, command->weights_sha256, error);
  ep_job_row_deinit(&row);
  if (status == EP_OK)
    status = ep_supervisor_request(jobs->supervisor, row.device, false, command, WRITE_MS,
                                   write_done, &asked, error);
  if (status != EP_OK) return status;
  pthread_mutex_lock(&asked.mutex);
  while (!asked.done) pthread_cond_wait(&asked.answered, &asked.mutex);
  pthread_mutex_unlock(&asked.mutex);
  if (asked.error.status != EP_OK && error) *error = asked.error;
  return asked.error.status;
}

ep_status ep_jobs_export(ep_jobs *jobs, const char *id, bool quantize, const char *file,
                         ep_error *error) {
  ep_command command = {
      .kind = EP_COMMAND_EXPORT, .quantize = quantize, .plot.epoch = EP_PLOT_NO_EPOCH};
  return file_write(jobs, id, file, &command, error);
}

/* The moment of that epoch, or the newest: *epoch is written. Whether the job has ended or not. */
static ep_status moment_find(ep_jobs *jobs, const char *id, int64_t *epoch, ep_error *error) {
  char folder[EP_PATH_BYTES];
  int64_t *epochs = NULL, count = 0, i = 0;
  if (!ep_id_valid(id) || (!ep_live_is(jobs, id) && !ep_store_job_exists(jobs->store, id)))
    return ep_fail(error, EP_NOT_FOUND, "there is no job %.60s", id);
  ep_status status = ep_path_join(folder, error, jobs->data_dir, "jobs", id, NULL);
  if (status == EP_OK) status = ep_moments_list(folder, &epochs, &count, error);
  if (status != EP_OK) return status;
  if (*epoch == EP_PLOT_LATEST_EPOCH) i = count - 1;
  while (i >= 0 && i < count && *epoch >= 0 && epochs[i] != *epoch) i++;
  if (count == 0)
    status = ep_fail(error, EP_NOT_FOUND,
                     "job %s stores no time-lapse: it is one with \"timelapse_every\"", id);
  else if (i == count)
    status =
        ep_fail(error, EP_NOT_FOUND,
                "the time-lapse of job %s has no network of epoch %lld: it has %lld, of epochs "
                "%lld to %lld",
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
    return ep_fail(error, EP_MALFORMED, "?epoch= and ?checkpoint= name two networks: give one");
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
                       const ep_plot_request *request, const char *file, ep_error *error) {
  ep_command command = {.kind = EP_COMMAND_PLOT, .checkpoint = checkpoint, .plot = *request};
  ep_status status = plotted_find(jobs, id, &command, error);
  return status == EP_OK ? file_write(jobs, id, file, &command, error) : status;
}
