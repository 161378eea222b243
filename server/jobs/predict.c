/* predict.c: see jobs.h: what is asked of workers beside training: predictions and probes. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/jobs/state.h"
#include "server/process/data_dir.h"

enum { PREDICT_MS = 60000 };

typedef struct {
  ep_jobs_predicted *done;
  void *context;
} prediction;

static void prediction_done(void *context, const ep_reply *reply, const ep_error *error) {
  prediction *asked = context;
  if (reply) {
    asked->done(asked->context, reply->output, reply->rows, reply->columns, NULL);
  } else {
    asked->done(asked->context, NULL, 0, 0, error);
  }
  free(asked);
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

ep_status ep_jobs_predict(ep_jobs *jobs, const char *id, const double *x, int64_t rows,
                          int64_t columns, ep_jobs_predicted *done, void *context,
                          ep_error *error) {
  char path[EP_PATH_BYTES];
  ep_job_row row;
  ep_status status = ep_jobs_file(jobs, id, EP_WEIGHTS_FILE, path, sizeof path, error);
  if (status == EP_OK) status = size_check(rows, columns, error);
  if (status == EP_OK) status = ep_store_job_get(jobs->store, id, &row, error);
  if (status != EP_OK) return status;
  ep_job_row_deinit(&row);
  prediction *asked = malloc(sizeof *asked);
  if (!asked) return ep_fail_memory(error);
  *asked = (prediction){done, context};
  ep_command command = {.kind = EP_COMMAND_PREDICT,
                        .x = (double *)x, /* lent: only encoded here */
                        .rows = rows,
                        .columns = columns};
  snprintf(command.job, sizeof command.job, "%s", id);
  status = ep_supervisor_request(jobs->supervisor, row.device, false, &command, PREDICT_MS,
                                 prediction_done, asked, error);
  if (status != EP_OK) free(asked);
  return status;
}

/* One answer to /readyz: it is done when the last device has answered. */
typedef struct {
  pthread_mutex_t mutex; /* guards what follows */
  int left;
  ep_error error; /* the first; status EP_OK = none */
  ep_jobs_ready *done;
  void *context;
} probe;

typedef struct {
  probe *whole;
  char device[EP_DEVICE_ID_BYTES];
} device_probe;

/* One of `left` is over; the last one calls `done` and frees the whole. */
static void probe_count(probe *whole, const char *device, const ep_error *error) {
  pthread_mutex_lock(&whole->mutex);
  if (error && whole->error.status == EP_OK)
    ep_fail(&whole->error, EP_UNAVAILABLE, "device %s: %.400s", device, error->message);
  bool last = --whole->left == 0;
  pthread_mutex_unlock(&whole->mutex);
  if (!last) return;
  whole->done(whole->context, whole->error.status != EP_OK ? &whole->error : NULL);
  pthread_mutex_destroy(&whole->mutex);
  free(whole);
}

static void probe_done(void *context, const ep_reply *reply, const ep_error *error) {
  device_probe *asked = context;
  (void)reply;
  probe_count(asked->whole, asked->device, error);
  free(asked);
}

static void device_ask(ep_jobs *jobs, probe *whole, const ep_device_status *device,
                       int timeout_ms) {
  ep_error error = {0};
  ep_command command = {.kind = EP_COMMAND_PROBE};
  device_probe *asked = malloc(sizeof *asked);
  ep_status status = EP_OK;
  if (!asked) {
    status = ep_fail_memory(&error);
  } else if (device->state != EP_DEVICE_IDLE && device->state != EP_DEVICE_BUSY) {
    status = ep_fail(&error, EP_UNAVAILABLE, "it is %s", ep_device_state_name(device->state));
  } else {
    asked->whole = whole;
    memcpy(asked->device, device->info.id, sizeof asked->device);
    status = ep_supervisor_request(jobs->supervisor, device->info.id, true, &command, timeout_ms,
                                   probe_done, asked, &error);
  }
  if (status == EP_OK) return;
  free(asked);
  probe_count(whole, device->info.id, &error);
}

void ep_jobs_probe(ep_jobs *jobs, int timeout_ms, ep_jobs_ready *done, void *context) {
  ep_error error = {0};
  ep_device_list *devices = malloc(sizeof *devices);
  probe *whole = calloc(1, sizeof *whole);
  if (!devices || !whole) {
    free(devices);
    free(whole);
    ep_fail_memory(&error);
    done(context, &error);
    return;
  }
  ep_supervisor_get_devices(jobs->supervisor, devices);
  pthread_mutex_init(&whole->mutex, NULL);
  whole->left = devices->count + 1; /* this function is one, so that it is not done too early */
  whole->done = done;
  whole->context = context;
  for (int i = 0; i < devices->count; i++) device_ask(jobs, whole, &devices->device[i], timeout_ms);
  free(devices);
  probe_count(whole, "", NULL);
}
