#include "server/jobs/live/best.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json/json.h"
#include "api/json/writer.h"
#include "server/process/clock.h"
#include "server/process/log.h"
#include "server/store/deliveries.h"

/* As details_format writes them. */
static void details_read(const char *text, double *value) {
  json_t *details = NULL;
  if (ep_json_load(text, strlen(text), EP_DELIVERY_DETAILS_BYTES, &details, NULL) == EP_OK)
    ep_json_get_number(details, "value", value);
  json_decref(details);
}

/* The figure that was stored last; NaN: there is none. */
static double stored_find(ep_jobs *jobs, const char *id) {
  int count = 0;
  double value = NAN;
  ep_delivery *rows = calloc(EP_LIMIT_WEBHOOKS * EP_WEBHOOK_COUNT, sizeof *rows);
  if (rows && ep_store_deliveries_of(jobs->store, id, rows, &count, NULL) == EP_OK)
    for (int i = 0; i < count; i++)
      if (rows[i].event == EP_WEBHOOK_BEST) details_read(rows[i].details, &value);
  free(rows);
  return value;
}

void ep_best_begin(ep_jobs *jobs, ep_live_job *job) {
  if (!job->best.wanted || job->best.looked) return;
  job->best.looked = true;
  job->best.value = stored_find(jobs, job->row.id);
}

/* {"epoch":12,"metric":"validation.loss","value":0.25} */
static bool details_format(const ep_live_job *job, char text[EP_DELIVERY_DETAILS_BYTES]) {
  ep_writer writer;
  ep_writer_init_fixed(&writer, text, EP_DELIVERY_DETAILS_BYTES - 1);
  ep_writer_open(&writer, '{');
  ep_writer_member_integer(&writer, "epoch", job->best.epoch);
  char metric[32];
  snprintf(metric, sizeof metric, "validation.%s", ep_metric_name((int)job->best.metric));
  ep_writer_member_string(&writer, "metric", metric);
  ep_writer_member_number(&writer, "value", job->best.value);
  ep_writer_close(&writer, '}');
  if (writer.failed) return false;
  text[writer.count] = 0;
  return true;
}

static void message_store(ep_jobs *jobs, ep_live_job *job) {
  char details[EP_DELIVERY_DETAILS_BYTES];
  ep_error error = {0};
  if (!details_format(job, details) ||
      ep_store_delivery_best(jobs->store, job->row.id, details, ep_clock_utc_us(), &error) != EP_OK)
    ep_log(EP_LOG_WARNING, "job %s: its best figure is not sent: %s", job->row.id, error.message);
  ep_webhooks_wake(jobs->webhooks);
}

void ep_best_note(ep_jobs *jobs, ep_live_job *job, const ep_progress *progress) {
  ep_live_best *best = &job->best;
  if (!best->wanted || progress->trials) return;
  for (uint32_t i = 0; i < progress->count; i++) {
    const ep_progress_record *record = &progress->records[i];
    if (record->kind != EP_PROGRESS_EPOCH) continue;
    double value = ep_progress_validation(record, best->metric);
    bool worse = ep_metric_is_maximized(best->metric) ? value <= best->value : value >= best->value;
    if (!isfinite(value) || worse) continue; /* NaN: the first */
    best->value = value;
    best->epoch = record->epoch;
    best->owed = true;
  }
  int64_t now_us = ep_clock_steady_us();
  if (!best->owed ||
      (best->sent_us != 0 && now_us - best->sent_us < EP_LIMIT_BEST_SECONDS * INT64_C(1000000)))
    return;
  best->owed = false;
  best->sent_us = now_us;
  message_store(jobs, job);
}
