/* metrics.h: what the daemon counts, for GET /metrics.
 *
 * One set for the process, as there is one log (server/process/log.h): an upload or the store needs
 * no pointer to count. Counting is a relaxed atomic addition, from any thread. No metric names a
 * job.
 *
 * To add a metric:
 *
 * - a counter: a row of EP_COUNTER_TABLE, and ep_metrics_add where it happens
 *
 * - a histogram: a field of ep_metrics, ep_histogram_observe where it happens, and its family in
 * ep_metrics_format
 *
 * - of a device: a row of the table in server/jobs/views/metrics.c
 *
 * - of jobs and datasets: server/jobs/views/metrics.c, their numbers at the time of the request
 *
 * - of HTTP requests: server/http/route_metrics.c
 *
 * - of the process: server/metrics/process.c
 *
 * server/handlers/metrics.c puts them together; docs/monitoring.md lists them. */
#ifndef EP_SERVER_METRICS_METRICS_H
#define EP_SERVER_METRICS_METRICS_H

#include <stdatomic.h>
#include <stdint.h>

#include "api/json/writer.h"
#include "api/vocabulary.h"
#include "server/metrics/histogram.h"

/* X(code, name, help) */
#define EP_COUNTER_TABLE(X)                                                                      \
  X(JOBS_SUBMITTED, "epochd_jobs_submitted_total", "Jobs that were accepted: on disk, queued.")  \
  X(JOBS_EXPIRED, "epochd_jobs_expired_total", "Jobs that retention deleted.")                   \
  X(EPOCHS, "epochd_epochs_trained_total",                                                       \
    "Epochs that workers reported, those that a restart trained again too.")                     \
  X(SAMPLES, "epochd_samples_trained_total",                                                     \
    "Samples times epochs of the trainings that have ended.")                                    \
  X(EVENT_LINES, "epochd_event_lines_total", "Lines appended to the jobs' event logs.")          \
  X(WRONG_TOKENS, "epochd_wrong_tokens_total", "Requests with a token that is not in the file.") \
  X(UPLOAD_BYTES, "epochd_upload_bytes_total", "Bytes of uploads, as they were stored.")         \
  X(WEBHOOKS_DELIVERED, "epochd_webhooks_delivered_total", "Messages that webhooks have taken.") \
  X(WEBHOOKS_FAILED, "epochd_webhooks_failed_total", "Messages to webhooks that were given up.") \
  X(STORE_ERRORS, "epochd_store_errors_total",                                                   \
    "Operations of the store that failed: a full or a broken disk.")

typedef enum {
#define EP_COUNTER_ENUM(code, name, help) EP_COUNTER_##code,
  EP_COUNTER_TABLE(EP_COUNTER_ENUM)
#undef EP_COUNTER_ENUM
      EP_COUNTER_COUNT
} ep_counter;

typedef struct {
  atomic_ullong counters[EP_COUNTER_COUNT];
  atomic_ullong finished[EP_STATE_COUNT]; /* jobs, by how they ended */
  atomic_llong watchers;                  /* event streams that are open */
  ep_histogram queue_seconds, train_seconds;
} ep_metrics;

extern ep_metrics EP_METRICS;

static inline void ep_metrics_add(ep_counter counter, uint64_t amount) {
  atomic_fetch_add_explicit(&EP_METRICS.counters[counter], amount, memory_order_relaxed);
}

/* A job has ended as `state`. */
void ep_metrics_finished(ep_state state);

/* The samples of a training that has ended, from its pace; a number that is not finite adds
 * nothing. */
void ep_metrics_trained(double train_seconds, double samples_per_second);

/* All of them, in Prometheus's text. */
void ep_metrics_format(ep_writer *out);

#endif
