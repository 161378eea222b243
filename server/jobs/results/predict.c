#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/data/inputs/row_lines.h"
#include "engine/data/inputs/series_rows.h"
#include "engine/files/path.h"
#include "engine/files/verified.h"
#include "server/jobs/checkpoints.h"
#include "server/jobs/files/results.h"
#include "server/jobs/live/live.h"
#include "server/process/data_dir.h"

enum { PREDICT_MS = 60000 };

typedef struct {
  ep_jobs_predicted *done;
  void *context;
  int64_t rows, windows;
} prediction; /* a request on its way; freed by prediction_done */

/* A worker is trusted no more than the weights that it has read. */
static void prediction_done(void *context, const ep_reply *reply, const ep_error *error) {
  prediction *request = context;
  ep_error shape = {0};
  if (reply && (reply->rows != request->rows || reply->columns % request->windows != 0)) {
    ep_fail(&shape, EP_INTERNAL, "the worker responded with an unexpected shape");
    request->done(request->context, NULL, 0, 0, &shape);
  } else if (reply) {
    request->done(request->context, reply->output, reply->rows * request->windows,
                  reply->columns / request->windows, NULL);
  } else {
    request->done(request->context, NULL, 0, 0, error);
  }
  free(request);
}

void ep_prediction_rows_deinit(ep_prediction_rows *rows) {
  for (int64_t i = 0; rows->name && i < rows->rows; i++) free(rows->name[i]);
  free(rows->name);
  if (rows->series) ep_series_rows_deinit(rows->series);
  free(rows->series);
  if (rows->copied) ep_row_lines_deinit(rows->copied);
  free(rows->copied);
  free(rows->x);
  ep_warnings_deinit(&rows->warnings);
  *rows = (ep_prediction_rows){.windows = 1};
}

static ep_status size_check(int64_t rows, int64_t columns, ep_error *error) {
  int64_t bytes = 0;
  if (rows < 1 || columns < 1) return ep_fail_at(error, EP_INVALID, "/x", "no rows");
  if (rows > EP_LIMIT_PREDICT_ROWS || __builtin_mul_overflow(rows, columns, &bytes) ||
      __builtin_mul_overflow(bytes, (int64_t)sizeof(double), &bytes) ||
      bytes > EP_LIMIT_PREDICT_BYTES)
    return ep_fail_at(error, EP_TOO_LARGE, "/x", "at most %d rows and %d numbers at once",
                      EP_LIMIT_PREDICT_ROWS, EP_LIMIT_PREDICT_BYTES / (int)sizeof(double));
  return EP_OK;
}

/* The device of a job, and the hash of its weights where `hashed`, from its row. */
static ep_status row_read(ep_jobs *jobs, const char *id, bool hashed, ep_predicting *out,
                          ep_error *error) {
  ep_job_row row;
  ep_status status = ep_store_job_get(jobs->store, id, &row, error);
  if (status != EP_OK) return status;
  memcpy(out->device, row.device, sizeof out->device);
  if (hashed) status = ep_job_row_weights_sha256(&row, out->sha256, error);
  ep_job_row_deinit(&row);
  return status;
}

/* Whether the row was read before, and the weights are those of that time: then the job is still
 * there and has ended, since its folder goes first, and a new start removes the weights. */
static bool predicting_held(ep_jobs *jobs, const char *id, const struct stat *weights,
                            ep_predicting *out) {
  pthread_mutex_lock(&jobs->mutex);
  bool held =
      strcmp(jobs->predicting.job, id) == 0 && ep_file_is_same(&jobs->predicting.weights, weights);
  if (held) *out = jobs->predicting;
  pthread_mutex_unlock(&jobs->mutex);
  return held;
}

static void predicting_hold(ep_jobs *jobs, const ep_predicting *predicting) {
  pthread_mutex_lock(&jobs->mutex);
  jobs->predicting = *predicting;
  pthread_mutex_unlock(&jobs->mutex);
}

/* Of the weights that the job left. A model that is requested again and again does not read the
 * store each time, which takes a fifth of a prediction. */
static ep_status predicting_find(ep_jobs *jobs, const char *id, ep_predicting *out,
                                 ep_error *error) {
  char path[EP_PATH_BYTES];
  bool there =
      ep_id_valid(id) && !ep_live_is(jobs, id) &&
      ep_path_join(path, NULL, jobs->data_dir, "jobs", id, EP_WEIGHTS_FILE, NULL) == EP_OK &&
      stat(path, &out->weights) == 0;
  if (there && predicting_held(jobs, id, &out->weights, out)) return EP_OK;
  ep_status status = ep_jobs_file(jobs, id, EP_WEIGHTS_FILE, path, sizeof path, error);
  if (status == EP_OK) status = row_read(jobs, id, true, out, error);
  if (status != EP_OK) return status;
  snprintf(out->job, sizeof out->job, "%s", id);
  if (there) predicting_hold(jobs, out);
  return EP_OK;
}

/* Of a checkpoint, which has its hash in its file; the newest one gets its number. */
static ep_status checkpoint_find(ep_jobs *jobs, const char *id, int64_t *checkpoint,
                                 ep_predicting *out, ep_error *error) {
  char path[EP_PATH_BYTES];
  ep_checkpoint found;
  ep_status status = ep_jobs_checkpoint_find(jobs, id, *checkpoint, &found, path, error);
  if (status == EP_OK) *checkpoint = found.step;
  return status == EP_OK ? row_read(jobs, id, false, out, error) : status;
}

ep_status ep_jobs_predict(ep_jobs *jobs, const char *id, int64_t checkpoint,
                          const ep_prediction_rows *input, ep_jobs_predicted *done, void *context,
                          ep_error *error) {
  ep_predicting predicting = {0};
  ep_status status = checkpoint == 0 ? predicting_find(jobs, id, &predicting, error)
                                     : checkpoint_find(jobs, id, &checkpoint, &predicting, error);
  if (status == EP_OK) status = size_check(input->rows, input->columns, error);
  if (status != EP_OK) return status;
  ep_command command = {.kind = EP_COMMAND_PREDICT,
                        .checkpoint = checkpoint,
                        .x = input->x, /* lent: only encoded here */
                        .rows = input->rows,
                        .columns = input->columns,
                        .windows = input->windows};
  snprintf(command.job, sizeof command.job, "%s", id);
  memcpy(command.weights_sha256, predicting.sha256, sizeof command.weights_sha256);
  prediction *request = malloc(sizeof *request);
  if (!request) return ep_fail_memory(error);
  *request = (prediction){done, context, input->rows, input->windows};
  status = ep_supervisor_request(jobs->supervisor, predicting.device, false, &command, PREDICT_MS,
                                 prediction_done, request, error);
  if (status != EP_OK) free(request);
  return status;
}
