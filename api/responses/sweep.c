#include "api/responses/sweep.h"

#include <math.h>
#include <stdlib.h>

#include "api/json/number.h"
#include "api/responses/job_parts.h"
#include "api/responses/parts.h"

/* Holds a sweep's spec; a page of trials, of the most fields that may vary, is less. */
enum { SWEEP_TEXT_LIMIT = 512 << 20 };

static void parts_write(ep_writer *writer, const ep_trial_record *parts, int count) {
  ep_writer_member_open(writer, "metrics", '[');
  for (int i = 0; i < count; i++) ep_writer_number_or_null(writer, parts[i].metric);
  ep_writer_close(writer, ']');
}

static void row_write(ep_writer *writer, const ep_sweep_spec *sweep, const ep_trial_record *records,
                      const ep_trial_row *row) {
  ep_writer_member_integer(writer, "trial", row->trial);
  ep_writer_member_integer(writer, "rank", row->rank);
  ep_writer_key(writer, "values");
  ep_sweep_values_write(writer, sweep, records[row->first].point);
  ep_writer_member_number_or_null(writer, "metric", row->metric);
  ep_writer_member_number_or_null(writer, "deviation", row->deviation);
  parts_write(writer, &records[row->first], ep_sweep_parts(sweep));
  ep_writer_member_string(writer, "outcome", ep_status_name(row->outcome));
  ep_writer_member_integer(writer, "epochs", row->epochs);
  ep_writer_member_number_or_null(writer, "train_loss", row->loss[EP_SPLIT_TRAIN]);
  ep_writer_member_number_or_null(writer, "validation_loss", row->loss[EP_SPLIT_VALIDATION]);
  ep_writer_member_number_or_null(writer, "test_loss", row->loss[EP_SPLIT_TEST]);
  ep_writer_member_number(writer, "train_seconds", row->seconds);
}

/* At its end ASHA has trained fewer times than it might have. */
static void progress_write(ep_writer *writer, const ep_job_view *job) {
  bool whole = job->state == EP_STATE_SUCCEEDED && !ep_job_stopped(job);
  int64_t total = whole ? job->epoch : job->epochs;
  ep_writer_member_open(writer, "progress", '{');
  ep_writer_member_integer(writer, "done", job->epoch);
  ep_writer_member_integer(writer, "total", total);
  ep_writer_member_number(writer, "fraction", total > 0 ? (double)job->epoch / (double)total : 1);
  ep_writer_close(writer, '}');
}

static void timing_write(ep_writer *writer, const ep_job_view *job) {
  ep_writer_member_open(writer, "timing", '{');
  ep_writer_member_number_or_null(writer, "queued_seconds", job->queued_seconds);
  ep_writer_member_number_or_null(writer, "train_seconds",
                                  job->result ? job->result->train_seconds : NAN);
  ep_writer_close(writer, '}');
}

static void best_write(ep_writer *writer, const ep_sweep_view *view) {
  ep_writer_key(writer, "best");
  if (!view->best || isnan(view->best->metric)) {
    ep_writer_null(writer);
    return;
  }
  ep_writer_open(writer, '{');
  row_write(writer, view->sweep, view->records, view->best);
  ep_writer_close(writer, '}');
}

/* What its submission was warned of; then of the best trial once all have ended. */
static void warnings_write(ep_writer *writer, const ep_sweep_view *view) {
  const ep_trial_row *best = view->job->finished_us ? view->best : NULL;
  ep_warnings_begin(writer, view->job->remarks);
  for (int i = 0; best && !isnan(best->metric) && i < view->sweep->axes_count; i++) {
    char sentence[EP_MESSAGE_BYTES];
    if (ep_sweep_edge_format(&view->sweep->axes[i], view->records[best->first].point[i], sentence,
                             sizeof sentence))
      ep_writer_string(writer, sentence);
  }
  ep_writer_close(writer, ']');
}

char *ep_sweep_format(const ep_sweep_view *view, bool summary) {
  const ep_job_view *job = view->job;
  ep_writer writer;
  ep_writer_init(&writer, SWEEP_TEXT_LIMIT);
  ep_writer_open(&writer, '{');
  ep_job_head_write(&writer, job, "sweep");
  if (!summary) {
    ep_writer_member_raw(&writer, "spec", job->spec);
    ep_writer_member_raw(&writer, "auto", job->automatic ? job->automatic : "null");
  }
  ep_writer_member_string(&writer, "search", ep_search_type_name(view->sweep->search));
  ep_writer_member_string(&writer, "metric", view->sweep->metric);
  ep_writer_member_string(&writer, "mode", view->sweep->maximize ? "max" : "min");
  progress_write(&writer, job);
  ep_writer_member_integer(&writer, "workers", job->workers);
  ep_job_waiting_write(&writer, job);
  best_write(&writer, view);
  if (!summary) warnings_write(&writer, view);
  timing_write(&writer, job);
  ep_writer_member_string(&writer, "stopped", ep_job_stopped(job));
  ep_job_error_write(&writer, job);
  ep_job_times_write(&writer, job);
  ep_writer_member_integer(&writer, "attempt", job->attempt);
  ep_writer_close(&writer, '}');
  return ep_writer_take(&writer);
}

char *ep_trials_format_json(const ep_trials_view *view) {
  ep_writer writer;
  int64_t end = view->offset + view->count;
  ep_writer_init(&writer, SWEEP_TEXT_LIMIT);
  ep_writer_open(&writer, '{');
  ep_writer_member_string(&writer, "object", "list");
  ep_writer_member_open(&writer, "data", '[');
  for (int64_t i = view->offset; i < end; i++) {
    ep_writer_open(&writer, '{');
    row_write(&writer, view->sweep, view->records, &view->rows[i]);
    ep_writer_close(&writer, '}');
  }
  ep_writer_close(&writer, ']');
  ep_writer_member_integer(&writer, "total", view->total);
  ep_writer_member_boolean(&writer, "has_more", end < view->total);
  ep_writer_key(&writer, "next");
  if (end < view->total)
    ep_writer_integer(&writer, end);
  else
    ep_writer_null(&writer);
  ep_writer_close(&writer, '}');
  return ep_writer_take(&writer);
}

static void text_put(ep_writer *writer, const char *text) {
  ep_writer_bytes(writer, text, strlen(text));
}

/* A cell as RFC 4180 has it. */
static void cell_put(ep_writer *writer, const char *text) {
  bool quoted = strpbrk(text, ",\"\r\n") != NULL;
  if (quoted) text_put(writer, "\"");
  for (; *text; text++) {
    if (*text == '"') text_put(writer, "\"");
    ep_writer_bytes(writer, text, 1);
  }
  if (quoted) text_put(writer, "\"");
}

static void number_put(ep_writer *writer, double value) {
  char text[EP_NUMBER_BYTES];
  text_put(writer, ",");
  if (isinf(value)) text_put(writer, value > 0 ? "inf" : "-inf");
  if (isfinite(value)) ep_writer_bytes(writer, text, ep_number_format(value, text));
}

/* A word stands without its quotes, everything else as JSON has it. */
static void value_put(ep_writer *writer, const ep_sweep_axis *axis, int at, double value) {
  ep_writer json;
  ep_writer_init(&json, SWEEP_TEXT_LIMIT);
  ep_sweep_value_write(&json, axis, at, value);
  char *text = ep_writer_take(&json);
  if (!text) writer->failed = true;
  size_t bytes = text ? strlen(text) : 0;
  bool word = bytes >= 2 && text[0] == '"' && !strchr(text, '\\');
  if (word) text[bytes - 1] = 0;
  text_put(writer, ",");
  if (text) cell_put(writer, word ? text + 1 : text);
  free(text);
}

static void header_put(ep_writer *writer, const ep_sweep_spec *sweep) {
  text_put(writer, "rank,trial,metric,deviation");
  for (int i = 0; i < sweep->axes_count; i++)
    for (int p = 0; p < sweep->axes[i].pointers_count; p++) {
      text_put(writer, ",");
      cell_put(writer, sweep->axes[i].pointers[p]);
    }
  text_put(writer, ",outcome,epochs,train_loss,validation_loss,test_loss,train_seconds\n");
}

static void line_put(ep_writer *writer, const ep_trials_view *view, const ep_trial_row *row) {
  const ep_sweep_spec *sweep = view->sweep;
  char text[EP_NUMBER_BYTES];
  ep_writer_bytes(writer, text, ep_number_format((double)row->rank, text));
  number_put(writer, (double)row->trial);
  number_put(writer, row->metric);
  number_put(writer, row->deviation);
  for (int i = 0; i < sweep->axes_count; i++)
    for (int p = 0; p < sweep->axes[i].pointers_count; p++)
      value_put(writer, &sweep->axes[i], p, view->records[row->first].point[i]);
  text_put(writer, ",");
  cell_put(writer, ep_status_name(row->outcome));
  number_put(writer, (double)row->epochs);
  number_put(writer, row->loss[EP_SPLIT_TRAIN]);
  number_put(writer, row->loss[EP_SPLIT_VALIDATION]);
  number_put(writer, row->loss[EP_SPLIT_TEST]);
  number_put(writer, row->seconds);
  text_put(writer, "\n");
}

char *ep_trials_format_csv(const ep_trials_view *view) {
  ep_writer writer;
  ep_writer_init(&writer, SWEEP_TEXT_LIMIT);
  header_put(&writer, view->sweep);
  for (int64_t i = view->offset; i < view->offset + view->count; i++)
    line_put(&writer, view, &view->rows[i]);
  return ep_writer_take(&writer);
}

char *ep_trial_format(const ep_sweep_spec *sweep, const ep_trial_record *records,
                      const ep_trial_row *row, const char *job) {
  ep_writer writer;
  ep_writer_init(&writer, SWEEP_TEXT_LIMIT);
  ep_writer_open(&writer, '{');
  row_write(&writer, sweep, records, row);
  ep_writer_key(&writer, "parts");
  ep_parts_write(&writer, &records[row->first], ep_sweep_parts(sweep));
  ep_writer_member_raw(&writer, "job", job);
  ep_writer_close(&writer, '}');
  return ep_writer_take(&writer);
}

static double finite_or_nan(double value) {
  return isfinite(value) ? value : NAN;
}

char *ep_sweep_validation_format(const ep_sweep_validation *validation) {
  ep_writer writer;
  ep_writer_init(&writer, SWEEP_TEXT_LIMIT);
  ep_writer_open(&writer, '{');
  ep_writer_member_string(&writer, "object", "validation");
  ep_writer_member_raw(&writer, "spec", validation->spec);
  ep_writer_member_raw(&writer, "auto", validation->automatic ? validation->automatic : "null");
  ep_warnings_begin(&writer, validation->remarks);
  ep_writer_close(&writer, ']');
  ep_writer_member_integer(&writer, "trials", validation->trials);
  ep_writer_member_integer(&writer, "trainings", validation->trainings);
  ep_writer_member_integer(&writer, "parameters", validation->parameters);
  ep_writer_member_integer(&writer, "bytes", validation->bytes);
  ep_writer_member_open(&writer, "rows", '{');
  ep_writer_member_integer(&writer, "train", validation->train_rows);
  ep_writer_member_integer(&writer, "validation", validation->validation_rows);
  ep_writer_member_integer(&writer, "test", validation->test_rows);
  ep_writer_close(&writer, '}');
  ep_writer_member_open(&writer, "estimated_seconds", '{');
  ep_writer_member_number_or_null(&writer, "cpu", finite_or_nan(validation->seconds_cpu));
  ep_writer_member_number_or_null(&writer, "cuda", finite_or_nan(validation->seconds_cuda));
  ep_writer_close(&writer, '}');
  ep_writer_close(&writer, '}');
  return ep_writer_take(&writer);
}
