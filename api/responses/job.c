#include "api/responses/job.h"

#include <limits.h>
#include <math.h>

#include "api/json/writer.h"
#include "api/responses/job_parts.h"
#include "api/responses/parts.h"
#include "api/visibility.h"
#include "api/wire/result.h"

/* A response holds a spec (16 MiB at most) and three matrices; a list holds a page of them. */
enum { JOB_TEXT_LIMIT = 64 << 20 };
#define LIST_TEXT_LIMIT (1LL << 30)

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

/* Of a job that ended without a worker, such as a paused one that was cancelled, nobody took the
 * times; a training takes more than none. */
static void timing_write(ep_writer *writer, const ep_job_view *job) {
  const ep_job_result *result = job->result && job->result->train_seconds > 0 ? job->result : NULL;
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

void ep_job_error_write(ep_writer *writer, const ep_job_view *job) {
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

void ep_job_head_write(ep_writer *writer, const ep_job_view *job, const char *object) {
  ep_writer_member_string(writer, "id", job->id);
  ep_writer_member_string(writer, "object", object);
  labels_write(writer, job);
  ep_writer_member_string(writer, "owner", job->owner ? job->owner : "");
  ep_writer_member_integer(writer, "priority", job->priority);
  ep_writer_member_boolean(writer, "pinned", job->pinned);
  ep_writer_member_string(writer, "visibility", ep_visibility_name(job->private));
  placing_write(writer, job);
}

void ep_job_waiting_write(ep_writer *writer, const ep_job_view *job) {
  ep_writer_key(writer, "queue_position");
  if (job->queue_position > 0)
    ep_writer_integer(writer, job->queue_position);
  else
    ep_writer_null(writer);
  ep_writer_member_string(writer, "queue_reason", job->queue_reason);
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

/* How it is cut into ranks, and once it ended what each of them did, and which executors were timed
 * for it. */
static void ranks_write(ep_writer *writer, const ep_job_view *job) {
  static const ep_rank_results none;
  static const ep_tried_executors untried;
  const ep_job_result *result = job->result;
  ep_writer_key(writer, "parallel");
  ep_parallel_view_write(writer, job->parallel);
  ep_writer_key(writer, "ranks");
  ep_ranks_write(writer, result ? &result->ranks : &none, result ? result->device : NULL);
  ep_writer_key(writer, "tried");
  ep_tried_write(writer, result ? &result->tried : &untried);
}

void ep_job_times_write(ep_writer *writer, const ep_job_view *job) {
  time_write(writer, "created_at", job->created_us);
  time_write(writer, "started_at", job->started_us);
  time_write(writer, "finished_at", job->finished_us);
}

const char *ep_job_stopped(const ep_job_view *job) {
  return job->result && job->result->stopped[0] ? job->result->stopped : NULL;
}

static void metrics_write(ep_writer *writer, const ep_job_view *job) {
  const ep_job_result *result = job->result;
  ep_writer_key(writer, "metrics");
  if (!result) {
    ep_writer_null(writer);
    return;
  }
  ep_writer_open(writer, '{');
  ep_metrics_write_members(writer, result, INT_MAX, false);
  if (job->parts) {
    ep_writer_key(writer, "parts");
    ep_parts_write(writer, job->parts, job->parts_count);
  }
  ep_writer_close(writer, '}');
}

void ep_warnings_begin(ep_writer *writer, const char *remarks) {
  ep_writer_member_open(writer, "warnings", '[');
  if (remarks && remarks[0]) ep_writer_string(writer, remarks);
}

/* What its submission was warned of; then all that warnings of the training have said, in their
 * order, once it ended. */
static void warnings_write(ep_writer *writer, const ep_job_view *job) {
  ep_warnings_begin(writer, job->remarks);
  for (int i = 0; job->result && i < 2; i++) {
    char sentence[EP_MESSAGE_BYTES];
    const char *lines = i == 0 ? job->result->remarks : job->result->warnings;
    while ((lines = ep_result_line_next(lines, sentence))) ep_writer_string(writer, sentence);
  }
  ep_writer_close(writer, ']');
}

char *ep_job_format(const ep_job_view *job) {
  ep_writer writer;
  ep_writer_init(&writer, JOB_TEXT_LIMIT);
  ep_writer_open(&writer, '{');
  ep_job_head_write(&writer, job, "job");
  estimates_write(&writer, job);
  ep_writer_member_raw(&writer, "spec", job->spec);
  ep_writer_member_raw(&writer, "auto", job->automatic ? job->automatic : "null");
  progress_write(&writer, job);
  ep_job_waiting_write(&writer, job);
  timing_write(&writer, job);
  model_write(&writer, job);
  ranks_write(&writer, job);
  metrics_write(&writer, job);
  ep_writer_key(&writer, "weights");
  ep_weights_write_reference(&writer, job->result, job->id);
  ep_writer_member_string(&writer, "stopped", ep_job_stopped(job));
  ep_writer_key(&writer, "kept");
  if (job->result)
    ep_kept_write(&writer, job->result);
  else
    ep_writer_null(&writer);
  warnings_write(&writer, job);
  if (job->result && job->result->found.count > 0) {
    ep_writer_key(&writer, "found");
    ep_found_lr_write(&writer, &job->result->found);
  }
  ep_job_error_write(&writer, job);
  ep_job_times_write(&writer, job);
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
  ep_job_head_write(&writer, job, "job");
  ep_writer_member_string(&writer, "dataset", job->dataset);
  progress_write(&writer, job);
  ep_job_waiting_write(&writer, job);
  timing_write(&writer, job);
  model_write(&writer, job);
  metrics_summary_write(&writer, job);
  ep_job_error_write(&writer, job);
  ep_job_times_write(&writer, job);
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
