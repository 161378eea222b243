#include "server/metrics/metrics.h"

#include <math.h>

#include "server/metrics/text.h"

ep_metrics EP_METRICS;

void ep_metrics_finished(ep_state state) {
  atomic_fetch_add_explicit(&EP_METRICS.finished[state], 1, memory_order_relaxed);
}

void ep_metrics_trained(double train_seconds, double samples_per_second) {
  double samples = train_seconds * samples_per_second;
  ep_histogram_observe(&EP_METRICS.train_seconds, EP_JOB_BOUNDS, train_seconds);
  if (samples > 0 && samples < 1e18) ep_metrics_add(EP_COUNTER_SAMPLES, (uint64_t)llround(samples));
}

static void counters_format(ep_writer *out) {
#define EP_COUNTER_FORMAT(code, name, help)     \
  ep_metrics_single(out, name, "counter", help, \
                    (double)atomic_load(&EP_METRICS.counters[EP_COUNTER_##code]));
  EP_COUNTER_TABLE(EP_COUNTER_FORMAT)
#undef EP_COUNTER_FORMAT
  ep_metrics_single(out, "epochd_watchers", "gauge", "Event streams that are open.",
                    (double)atomic_load(&EP_METRICS.watchers));
}

static void jobs_format(ep_writer *out) {
  static const char FINISHED[] = "epochd_jobs_finished_total";
  static const char QUEUE[] = "epochd_job_queue_seconds", TRAIN[] = "epochd_job_train_seconds";
  ep_metrics_family(out, FINISHED, "counter", "Jobs that have ended, by how.");
  for (int state = EP_STATE_SUCCEEDED; state <= EP_STATE_CANCELLED; state++)
    ep_metrics_sample(out, FINISHED, (const char *[]){"outcome", ep_state_name(state), NULL},
                      (double)atomic_load(&EP_METRICS.finished[state]));
  ep_metrics_family(out, QUEUE, "histogram", "From a job's submission to its first start.");
  ep_metrics_histogram(out, QUEUE, NULL, EP_JOB_BOUNDS, &EP_METRICS.queue_seconds);
  ep_metrics_family(out, TRAIN, "histogram",
                    "Training of the jobs that have ended, without queue and test.");
  ep_metrics_histogram(out, TRAIN, NULL, EP_JOB_BOUNDS, &EP_METRICS.train_seconds);
}

void ep_metrics_format(ep_writer *out) {
  jobs_format(out);
  counters_format(out);
}
