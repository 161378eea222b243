/* Files of a job that a worker writes, because it has the data and computes: the weights as C
 * source, the numbers of a plot. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "server/jobs/checkpoints.h"
#include "server/jobs/files/results.h"
#include "server/jobs/live/live.h"
#include "server/process/data_dir.h"

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
  if (command->checkpoint == 0) /* those of a checkpoint have theirs in its file */
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
  ep_command command = {.kind = EP_COMMAND_EXPORT, .quantize = quantize};
  return file_write(jobs, id, file, &command, error);
}

ep_status ep_jobs_plot(ep_jobs *jobs, const char *id, int64_t checkpoint,
                       const ep_plot_request *request, const char *file, ep_error *error) {
  char weights[EP_PATH_BYTES];
  ep_checkpoint found = {0};
  ep_command command = {.kind = EP_COMMAND_PLOT, .plot = *request};
  ep_status status = checkpoint == 0
                         ? ep_jobs_file(jobs, id, EP_WEIGHTS_FILE, weights, sizeof weights, error)
                         : ep_jobs_checkpoint_find(jobs, id, checkpoint, &found, weights, error);
  command.checkpoint = found.step;
  return status == EP_OK ? file_write(jobs, id, file, &command, error) : status;
}
