#include "api/responses/job.h"

#include <limits.h>
#include <math.h>

#include "api/json/writer.h"
#include "api/responses/compare.h"
#include "api/wire/result.h"

/* An answer holds a spec (16 MiB at most) and three matrices; a list holds a page of them. */
enum { JOB_TEXT_LIMIT = 64 << 20 };
#define LIST_TEXT_LIMIT (1LL << 30)

static void json_write(ep_writer *writer, const char *key, const char *json) {
  ep_writer_member_raw(writer, key, json ? json : "null");
}

static void time_write(ep_writer *writer, const char *key, int64_t time_us) {
  ep_writer_key(writer, key);
  if (time_us)
    ep_writer_time(writer, time_us);
  else
    ep_writer_null(writer);
}

static void progress_write(ep_writer *writer, const ep_job_view *job) {
  ep_writer_member_open(writer, "progress", '{');
  ep_writer_member_integer(writer, "epoch", job->epoch);
  ep_writer_member_integer(writer, "epochs", job->epochs);
  ep_writer_member_number_or_null(writer, "fraction",
                                  job->epochs > 0 ? (double)job->epoch / (double)job->epochs : 0.0);
  ep_writer_close(writer, '}');
}

static void timing_write(ep_writer *writer, const ep_job_view *job) {
  const ep_job_result *result = job->result;
  ep_writer_member_open(writer, "timing", '{');
  ep_writer_member_number_or_null(writer, "queued_seconds", job->queued_seconds);
  ep_writer_member_number_or_null(writer, "train_seconds", result ? result->train_seconds : NAN);
  ep_writer_member_number_or_null(writer, "test_seconds", result ? result->test_seconds : NAN);
  ep_writer_member_number_or_null(writer, "energy_joules", NAN);
  ep_writer_member_number_or_null(writer, "epoch_microseconds",
                                  result ? result->epoch_microseconds : NAN);
  ep_writer_member_number_or_null(writer, "samples_per_second",
                                  result ? result->samples_per_second : NAN);
  ep_writer_close(writer, '}');
}

static void error_write(ep_writer *writer, const ep_job_view *job) {
  ep_writer_key(writer, "error");
  if (!job->error_message || !job->error_message[0]) {
    ep_writer_null(writer);
    return;
  }
  ep_writer_open(writer, '{');
  ep_writer_member_string(writer, "status", ep_status_name(job->error_status));
  ep_writer_member_string(writer, "message", job->error_message);
  ep_writer_member_string(writer, "pointer",
                          job->error_pointer && job->error_pointer[0] ? job->error_pointer : NULL);
  ep_writer_close(writer, '}');
}

/* By kind of device, as they were at the submission. */
static void estimates_write(ep_writer *writer, const ep_job_view *job) {
  ep_writer_member_open(writer, "estimated_seconds", '{');
  ep_writer_member_number_or_null(writer, "cpu",
                                  isfinite(job->seconds_cpu) ? job->seconds_cpu : NAN);
  ep_writer_member_number_or_null(writer, "cuda",
                                  isfinite(job->seconds_cuda) ? job->seconds_cuda : NAN);
  ep_writer_close(writer, '}');
}

static void labels_write(ep_writer *writer, const ep_job_view *job) {
  ep_writer_member_string(writer, "name", job->name);
  ep_writer_member_raw(writer, "tags", job->tags ? job->tags : "[]");
}

static void placing_write(ep_writer *writer, const ep_job_view *job) {
  ep_writer_member_string(writer, "status", ep_state_name(job->state));
  ep_writer_member_string(writer, "device", job->device);
  ep_writer_member_string(writer, "executor", job->executor);
}

static void waiting_write(ep_writer *writer, const ep_job_view *job) {
  ep_writer_key(writer, "queue_position");
  if (job->queue_position >= 0)
    ep_writer_integer(writer, job->queue_position);
  else
    ep_writer_null(writer);
  ep_writer_member_string(writer, "warning", job->warning);
  ep_writer_member_number_or_null(writer, "eta_seconds", job->eta_seconds);
}

static void model_write(ep_writer *writer, const ep_job_view *job) {
  bool measured = job->result && job->result->bytes > 0;
  ep_writer_member_open(writer, "model", '{');
  ep_writer_member_integer(writer, "parameters", job->parameters);
  ep_writer_member_integer(writer, "bytes", measured ? job->result->bytes : job->bytes);
  ep_writer_close(writer, '}');
}

static void times_write(ep_writer *writer, const ep_job_view *job) {
  time_write(writer, "created_at", job->created_us);
  time_write(writer, "started_at", job->started_us);
  time_write(writer, "finished_at", job->finished_us);
}

char *ep_job_format(const ep_job_view *job) {
  ep_writer writer;
  ep_writer_init(&writer, JOB_TEXT_LIMIT);
  ep_writer_open(&writer, '{');
  ep_writer_member_string(&writer, "id", job->id);
  ep_writer_member_string(&writer, "object", "job");
  labels_write(&writer, job);
  ep_writer_member_integer(&writer, "priority", job->priority);
  placing_write(&writer, job);
  estimates_write(&writer, job);
  json_write(&writer, "spec", job->spec);
  progress_write(&writer, job);
  waiting_write(&writer, job);
  timing_write(&writer, job);
  model_write(&writer, job);
  ep_writer_key(&writer, "metrics");
  if (job->result)
    ep_metrics_write(&writer, job->result, INT_MAX, false);
  else
    ep_writer_null(&writer);
  ep_writer_key(&writer, "weights");
  ep_weights_write_reference(&writer, job->result, job->id);
  error_write(&writer, job);
  times_write(&writer, job);
  ep_writer_member_integer(&writer, "attempt", job->attempt);
  ep_writer_close(&writer, '}');
  return ep_writer_take(&writer);
}

static void metrics_summary_write(ep_writer *writer, const ep_job_view *job) {
  ep_writer_key(writer, "metrics");
  if (job->result)
    ep_metrics_write_scalars(writer, job->result);
  else
    ep_writer_null(writer);
}

char *ep_job_summary_format(const ep_job_view *job) {
  ep_writer writer;
  ep_writer_init(&writer, JOB_TEXT_LIMIT);
  ep_writer_open(&writer, '{');
  ep_writer_member_string(&writer, "id", job->id);
  ep_writer_member_string(&writer, "object", "job");
  labels_write(&writer, job);
  ep_writer_member_integer(&writer, "priority", job->priority);
  placing_write(&writer, job);
  progress_write(&writer, job);
  waiting_write(&writer, job);
  timing_write(&writer, job);
  model_write(&writer, job);
  metrics_summary_write(&writer, job);
  error_write(&writer, job);
  times_write(&writer, job);
  ep_writer_close(&writer, '}');
  return ep_writer_take(&writer);
}

void ep_job_compared_write(ep_writer *writer, const ep_job_view *job) {
  ep_writer_open(writer, '{');
  ep_writer_member_string(writer, "id", job->id);
  labels_write(writer, job);
  placing_write(writer, job);
  progress_write(writer, job);
  timing_write(writer, job);
  model_write(writer, job);
  metrics_summary_write(writer, job);
  time_write(writer, "created_at", job->created_us);
  ep_writer_close(writer, '}');
}

char *ep_list_format(const char *const *items, int64_t count, bool has_more, const char *next) {
  ep_writer writer;
  ep_writer_init(&writer, LIST_TEXT_LIMIT);
  ep_writer_open(&writer, '{');
  ep_writer_member_string(&writer, "object", "list");
  ep_writer_member_open(&writer, "data", '[');
  for (int64_t i = 0; i < count; i++) ep_writer_raw(&writer, items[i]);
  ep_writer_close(&writer, ']');
  ep_writer_member_boolean(&writer, "has_more", has_more);
  ep_writer_member_string(&writer, "next", next);
  ep_writer_close(&writer, '}');
  return ep_writer_take(&writer);
}

char *ep_validation_format(const ep_validation_view *validation) {
  ep_writer writer;
  ep_writer_init(&writer, JOB_TEXT_LIMIT);
  ep_writer_open(&writer, '{');
  ep_writer_member_string(&writer, "object", "validation");
  json_write(&writer, "spec", validation->spec);
  ep_writer_member_open(&writer, "layers", '[');
  for (int i = 0; i < validation->layers_count; i++) {
    const ep_layer_view *layer = &validation->layers[i];
    ep_writer_open(&writer, '{');
    ep_writer_member_string(&writer, "type", layer->type);
    ep_writer_member_integer(&writer, "in_features", layer->in_features);
    ep_writer_member_integer(&writer, "out_features", layer->out_features);
    ep_writer_member_integer(&writer, "parameters", layer->parameters);
    ep_writer_close(&writer, '}');
  }
  ep_writer_close(&writer, ']');
  ep_writer_member_integer(&writer, "parameters", validation->parameters);
  ep_writer_member_integer(&writer, "bytes", validation->bytes);
  ep_writer_member_integer(&writer, "operations", validation->operations);
  ep_writer_member_open(&writer, "rows", '{');
  ep_writer_member_integer(&writer, "train", validation->train_rows);
  ep_writer_member_integer(&writer, "validation", validation->validation_rows);
  ep_writer_member_integer(&writer, "test", validation->test_rows);
  ep_writer_close(&writer, '}');
  ep_writer_member_open(&writer, "estimates", '[');
  for (int i = 0; i < validation->estimates_count; i++) {
    ep_writer_open(&writer, '{');
    ep_writer_member_string(&writer, "device", validation->estimates[i].device);
    ep_writer_member_string(&writer, "executor", validation->estimates[i].executor);
    ep_writer_member_number_or_null(&writer, "seconds", validation->estimates[i].seconds);
    ep_writer_member_number_or_null(&writer, "start_seconds",
                                    validation->estimates[i].start_seconds);
    ep_writer_member_boolean(&writer, "calibrated", validation->estimates[i].calibrated);
    ep_writer_member_boolean(&writer, "measured", validation->estimates[i].measured);
    ep_writer_close(&writer, '}');
  }
  ep_writer_close(&writer, ']');
  ep_writer_close(&writer, '}');
  return ep_writer_take(&writer);
}

char *ep_devices_format(const ep_device_view *devices, int count) {
  ep_writer writer;
  ep_writer_init(&writer, JOB_TEXT_LIMIT);
  ep_writer_open(&writer, '{');
  ep_writer_member_string(&writer, "object", "list");
  ep_writer_member_open(&writer, "data", '[');
  for (int i = 0; i < count; i++) {
    const ep_device_view *device = &devices[i];
    ep_writer_open(&writer, '{');
    ep_writer_member_string(&writer, "id", device->info.id);
    ep_writer_member_string(&writer, "object", "device");
    ep_writer_member_string(&writer, "name", device->info.name);
    ep_writer_member_string(&writer, "state", device->state);
    ep_writer_member_string(&writer, "job", device->jobs_count > 0 ? device->jobs[0] : NULL);
    ep_writer_member_open(&writer, "jobs", '[');
    for (int j = 0; j < device->jobs_count; j++) ep_writer_string(&writer, device->jobs[j]);
    ep_writer_close(&writer, ']');
    ep_writer_member_integer(&writer, "cores", device->cores);
    ep_writer_member_string(&writer, "instruction_set", device->info.instruction_set);
    ep_writer_member_integer(&writer, "memory_bytes", device->info.memory_bytes);
    ep_writer_member_integer(&writer, "memory_free_bytes", device->info.memory_free_bytes);
    ep_writer_member_integer(&writer, "threads", device->info.threads);
    ep_writer_member_integer(&writer, "pid", device->pid);
    ep_writer_member_integer(&writer, "restarts", device->restarts);
    ep_writer_close(&writer, '}');
  }
  ep_writer_close(&writer, ']');
  ep_writer_close(&writer, '}');
  return ep_writer_take(&writer);
}

static void queue_row_write(ep_writer *writer, const ep_queue_row *row, int64_t position) {
  ep_writer_open(writer, '{');
  ep_writer_member_string(writer, "id", row->id);
  ep_writer_key(writer, "position");
  if (position >= 0)
    ep_writer_integer(writer, position);
  else
    ep_writer_null(writer);
  ep_writer_member_integer(writer, "priority", row->priority);
  ep_writer_member_string(writer, "name", row->name);
  ep_writer_close(writer, '}');
}

/* Running jobs come first, without a position. */
char *ep_queue_format(const ep_queue_row *queued, int64_t queued_count, const ep_queue_row *running,
                      int64_t running_count) {
  ep_writer writer;
  ep_writer_init(&writer, LIST_TEXT_LIMIT);
  ep_writer_open(&writer, '{');
  ep_writer_member_string(&writer, "object", "queue");
  ep_writer_member_integer(&writer, "queued", queued_count);
  ep_writer_member_integer(&writer, "running", running_count);
  ep_writer_member_open(&writer, "jobs", '[');
  for (int64_t i = 0; i < running_count; i++) queue_row_write(&writer, &running[i], -1);
  for (int64_t i = 0; i < queued_count; i++) queue_row_write(&writer, &queued[i], i);
  ep_writer_close(&writer, ']');
  ep_writer_close(&writer, '}');
  return ep_writer_take(&writer);
}
