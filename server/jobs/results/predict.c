#include <stdio.h>
#include <stdlib.h>

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
    ep_fail(&shape, EP_INTERNAL, "the worker answered with another shape");
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
  free(rows->x);
  *rows = (ep_prediction_rows){.windows = 1};
}

static ep_status size_check(int64_t rows, int64_t columns, ep_error *error) {
  int64_t bytes = 0;
  if (rows < 1 || columns < 1) return ep_fail_at(error, EP_INVALID, "/x", "there are no rows");
  if (rows > EP_LIMIT_PREDICT_ROWS || __builtin_mul_overflow(rows, columns, &bytes) ||
      __builtin_mul_overflow(bytes, (int64_t)sizeof(double), &bytes) ||
      bytes > EP_LIMIT_PREDICT_BYTES)
    return ep_fail_at(error, EP_TOO_LARGE, "/x", "at most %d rows and %d numbers at once",
                      EP_LIMIT_PREDICT_ROWS, EP_LIMIT_PREDICT_BYTES / (int)sizeof(double));
  return EP_OK;
}

/* Whether there are weights; the newest checkpoint gets its number. */
static ep_status weights_find(ep_jobs *jobs, const char *id, int64_t *checkpoint, ep_error *error) {
  char path[EP_PATH_BYTES];
  ep_checkpoint found;
  if (*checkpoint == 0) return ep_jobs_file(jobs, id, EP_WEIGHTS_FILE, path, sizeof path, error);
  ep_status status = ep_jobs_checkpoint_find(jobs, id, *checkpoint, &found, path, error);
  if (status == EP_OK) *checkpoint = found.step;
  return status;
}

ep_status ep_jobs_predict(ep_jobs *jobs, const char *id, int64_t checkpoint,
                          const ep_prediction_rows *input, ep_jobs_predicted *done, void *context,
                          ep_error *error) {
  ep_job_row row;
  ep_status status = weights_find(jobs, id, &checkpoint, error);
  if (status == EP_OK) status = size_check(input->rows, input->columns, error);
  if (status == EP_OK) status = ep_store_job_get(jobs->store, id, &row, error);
  if (status != EP_OK) return status;
  ep_command command = {.kind = EP_COMMAND_PREDICT,
                        .checkpoint = checkpoint,
                        .x = input->x, /* lent: only encoded here */
                        .rows = input->rows,
                        .columns = input->columns,
                        .windows = input->windows};
  snprintf(command.job, sizeof command.job, "%s", id);
  if (checkpoint == 0) /* those of a checkpoint have theirs in its file */
    status = ep_job_row_weights_sha256(&row, command.weights_sha256, error);
  ep_job_row_deinit(&row);
  if (status != EP_OK) return status;
  prediction *request = malloc(sizeof *request);
  if (!request) return ep_fail_memory(error);
  *request = (prediction){done, context, input->rows, input->windows};
  status = ep_supervisor_request(jobs->supervisor, row.device, false, &command, PREDICT_MS,
                                 prediction_done, request, error);
  if (status != EP_OK) free(request);
  return status;
}
