#include "api/wire/event.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "api/json/writer.h"
#include "api/wire/event_seal.h"
#include "api/wire/result.h"

/* Matrices of more classes would not fit EP_LIMIT_EVENT_BYTES; GET /v1/jobs/{id} has them. */
enum { EVENT_CLASSES = 64 };

double ep_progress_validation(const ep_progress_record *record, ep_metric metric) {
  if (metric == EP_METRIC_LOSS) return record->validation_loss;
  if (metric == EP_METRIC_ERROR) return record->validation_error;
  return record->metrics_given >> metric & 1 ? record->metrics[metric] : NAN;
}

static void epoch_write(ep_writer *writer, const ep_event *event) {
  const ep_progress_record *progress = &event->progress;
  ep_writer_member_integer(writer, "epoch", progress->epoch);
  ep_writer_member_integer(writer, "epochs", event->epochs);
  ep_writer_member_number(writer, "loss", progress->loss);
  ep_writer_member_number_or_null(writer, "error", progress->error);
  ep_writer_key(writer, "validation");
  if (isnan(progress->validation_loss)) {
    ep_writer_null(writer);
  } else {
    ep_writer_open(writer, '{');
    ep_writer_member_number(writer, "loss", progress->validation_loss);
    ep_writer_member_number_or_null(writer, "error", progress->validation_error);
    for (int metric = 0; metric < EP_METRIC_COUNT; metric++)
      if (progress->metrics_given >> metric & 1)
        ep_writer_member_number_or_null(writer, ep_metric_name(metric), progress->metrics[metric]);
    ep_writer_close(writer, '}');
  }
  ep_writer_member_number(writer, "lr", progress->lr);
  ep_writer_member_number(writer, "elapsed_seconds", progress->elapsed_seconds);
  ep_writer_member_number_or_null(writer, "eta_seconds", event->eta_seconds);
}

/* Progress within an epoch. A look at the log finds both numbers at the beginning. */
static void batch_write(ep_writer *writer, const ep_event *event) {
  const ep_progress_record *progress = &event->progress;
  ep_writer_member_integer(writer, "epoch", progress->epoch);
  ep_writer_member_integer(writer, "batch", progress->batch);
  ep_writer_member_integer(writer, "batches", progress->batches);
  ep_writer_member_integer(writer, "epochs", event->epochs);
  ep_writer_member_number(writer, "loss", progress->loss);
  ep_writer_member_number(writer, "lr", progress->lr);
  ep_writer_member_number(writer, "elapsed_seconds", progress->elapsed_seconds);
  ep_writer_member_number_or_null(writer, "eta_seconds", event->eta_seconds);
}

/* Six digits: these are for charts. */
static void figure_write(ep_writer *writer, const char *key, double value) {
  char text[32];
  if (!isfinite(value)) {
    ep_writer_member_number_or_null(writer, key, value);
    return;
  }
  snprintf(text, sizeof text, "%.6g", value);
  ep_writer_member_raw(writer, key, text);
}

static void layer_write(ep_writer *writer, const ep_layer_figures *layer) {
  ep_writer_open(writer, '{');
  ep_writer_member_string(writer, "layer", layer->name);
  ep_writer_member_string(writer, "type", ep_layer_type_name(layer->type));
  figure_write(writer, "gradient_norm", layer->grad_norm);
  figure_write(writer, "weight_norm", layer->weight_norm);
  figure_write(writer, "dead", layer->dead < 0 ? NAN : (double)layer->dead / layer->units);
  figure_write(writer, "low", layer->low);
  figure_write(writer, "high", layer->high);
  ep_writer_member_open(writer, "counts", '[');
  for (int i = 0; i < EP_LIMIT_HISTOGRAM_BINS; i++) ep_writer_integer(writer, layer->bins[i]);
  ep_writer_close(writer, ']');
  ep_writer_close(writer, '}');
}

static void layers_write(ep_writer *writer, const ep_event *event) {
  ep_writer_member_integer(writer, "epoch", event->progress.epoch);
  ep_writer_member_integer(writer, "epochs", event->epochs);
  ep_writer_member_open(writer, "layers", '[');
  for (int i = 0; i < event->layers[0].layer.count; i++)
    layer_write(writer, &event->layers[i].layer);
  ep_writer_close(writer, ']');
}

/* The number comes first: a look at the log finds it there. */
static void trial_write(ep_writer *writer, const ep_event *event) {
  const ep_trial_record *trial = event->trial;
  ep_writer_member_integer(writer, "number", trial->number);
  ep_writer_member_integer(writer, "numbers", event->epochs);
  ep_writer_member_integer(writer, "trial", trial->trial);
  ep_writer_member_integer(writer, "part", trial->part);
  ep_writer_member_string(writer, "outcome", ep_status_name((ep_status)trial->status));
  ep_writer_member_number_or_null(writer, "metric", trial->metric);
  ep_writer_member_raw(writer, "values", event->values);
  ep_writer_member_integer(writer, "trial_epochs", trial->epochs_done);
  ep_writer_member_number_or_null(writer, "train_loss", trial->metrics[EP_SPLIT_TRAIN][0]);
  ep_writer_member_number_or_null(writer, "validation_loss",
                                  trial->metrics[EP_SPLIT_VALIDATION][0]);
  ep_writer_member_number_or_null(writer, "test_loss", trial->metrics[EP_SPLIT_TEST][0]);
  ep_writer_member_number(writer, "train_seconds", trial->seconds);
  ep_writer_member_number_or_null(writer, "eta_seconds", event->eta_seconds);
}

static void end_write(ep_writer *writer, const ep_event *event, int max_classes) {
  const ep_job_result *result = event->result;
  ep_writer_member_string(writer, "status", ep_state_name(event->state));
  ep_writer_member_integer(writer, "epoch", result ? result->epochs_done : 0);
  ep_writer_member_integer(writer, "epochs", event->epochs);
  ep_writer_key(writer, "metrics");
  if (result)
    ep_metrics_write(writer, result, max_classes, true);
  else
    ep_writer_null(writer);
  ep_writer_key(writer, "weights");
  ep_weights_write_reference(writer, result, event->job);
  const char *reason = event->message;
  if (!reason && result && result->message[0]) reason = result->message;
  ep_writer_member_string(writer, "error", reason);
  ep_writer_key(writer, "timing");
  if (!result) {
    ep_writer_null(writer);
    return;
  }
  ep_writer_open(writer, '{');
  ep_writer_member_number_or_null(writer, "train_seconds", result->train_seconds);
  ep_writer_member_number_or_null(writer, "test_seconds", result->test_seconds);
  ep_writer_member_number_or_null(writer, "epoch_microseconds", result->epoch_microseconds);
  ep_writer_member_number_or_null(writer, "samples_per_second", result->samples_per_second);
  ep_writer_close(writer, '}');
}

/* How far a training is. */
static void place_write(ep_writer *writer, const ep_event *event) {
  ep_writer_member_integer(writer, "epoch", event->progress.epoch);
  ep_writer_member_integer(writer, "epochs", event->epochs);
  if (event->type != EP_EVENT_CHECKPOINT) return;
  ep_writer_member_integer(writer, "step", event->step);
  ep_writer_member_integer(writer, "bytes", event->bytes);
}

static void body_write(ep_writer *writer, const ep_event *event, int max_classes) {
  switch (event->type) {
  case EP_EVENT_EPOCH: epoch_write(writer, event); break;
  case EP_EVENT_BATCH: batch_write(writer, event); break;
  case EP_EVENT_LAYERS: layers_write(writer, event); break;
  case EP_EVENT_TRIAL: trial_write(writer, event); break;
  case EP_EVENT_END: end_write(writer, event, max_classes); break;
  case EP_EVENT_STARTED:
    ep_writer_member_integer(writer, "attempt", event->attempt);
    ep_writer_member_string(writer, "device", event->device);
    ep_writer_member_string(writer, "executor", event->executor);
    ep_writer_member_integer(writer, "epochs", event->epochs);
    break;
  case EP_EVENT_RESTARTED:
    ep_writer_member_integer(writer, "attempt", event->attempt);
    ep_writer_member_integer(writer, "epoch", event->progress.epoch);
    ep_writer_member_string(writer, "message", event->message);
    break;
  case EP_EVENT_CHECKPOINT:
  case EP_EVENT_PAUSED:
  case EP_EVENT_RESUMED: place_write(writer, event); break;
  default:
    if (event->message) ep_writer_member_string(writer, "message", event->message);
  }
}

static size_t event_write(const ep_event *event, char *buffer, size_t capacity, int max_classes) {
  ep_writer writer;
  ep_writer_init_fixed(&writer, buffer, capacity);
  ep_writer_open(&writer, '{');
  ep_writer_member_integer(&writer, "seq", event->seq);
  ep_writer_member_string(&writer, "job", event->job);
  ep_writer_member_string(&writer, "type", ep_event_type_name(event->type));
  ep_writer_member_time(&writer, "time", event->time_us);
  body_write(&writer, event, max_classes);
  ep_event_seal_write(&writer);
  ep_writer_close(&writer, '}');
  ep_writer_bytes(&writer, "\n", 1);
  return writer.failed ? 0 : writer.count;
}

size_t ep_event_format(const ep_event *event, char *buffer, size_t capacity) {
  size_t bytes = event_write(event, buffer, capacity, EVENT_CLASSES);
  /* 64 classes with counts of many digits may still be too much. */
  if (bytes == 0) bytes = event_write(event, buffer, capacity, 0);
  return bytes;
}
