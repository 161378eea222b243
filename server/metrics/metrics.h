/* metrics.h: what the daemon counts, for GET /metrics: counters, a gauge, histograms.
 *
 * One set for the process, as its log is one (notice.h): a log, an upload or the store has no way
 * to a daemon's state, and needs none. Counting is a relaxed atomic addition: no lock, no memory,
 * from any thread. No job's id or name is ever part of it. */
#ifndef EP_SERVER_METRICS_METRICS_H
#define EP_SERVER_METRICS_METRICS_H

#include <stdatomic.h>
#include <stdint.h>

#include "api/vocabulary.h"

/* X(code, name, help) */
#define EP_COUNTER_TABLE(X)                                                                     \
  X(JOBS_SUBMITTED, "epochd_jobs_submitted_total", "Jobs that were accepted: on disk, queued.") \
  X(EPOCHS, "epochd_epochs_trained_total",                                                      \
    "Epochs that workers reported, those that a restart trained again too.")                    \
  X(SAMPLES, "epochd_samples_trained_total",                                                    \
    "Samples times epochs of the trainings that have ended.")                                   \
  X(EVENT_LINES, "epochd_event_lines_total", "Lines appended to the jobs' event logs.")         \
  X(UPLOAD_BYTES, "epochd_upload_bytes_total", "Bytes of uploads, as they came.")               \
  X(STORE_ERRORS, "epochd_store_errors_total",                                                  \
    "Operations of the store that failed: a full or a broken disk.")

typedef enum {
#define EP_COUNTER_ENUM(code, name, help) EP_COUNTER_##code,
  EP_COUNTER_TABLE(EP_COUNTER_ENUM)
#undef EP_COUNTER_ENUM
      EP_COUNTER_COUNT
} ep_counter;

enum { EP_HISTOGRAM_BOUNDS = 14 };

/* How many durations fell between the bounds. */
typedef struct {
  atomic_ullong buckets[EP_HISTOGRAM_BOUNDS + 1]; /* not cumulative; the last is for all above */
  atomic_ullong sum_us;
} ep_histogram;

/* Rising upper bounds in seconds: [EP_HISTOGRAM_BOUNDS], of all histograms of jobs and of requests.
 */
extern const double EP_JOB_BOUNDS[EP_HISTOGRAM_BOUNDS], EP_REQUEST_BOUNDS[EP_HISTOGRAM_BOUNDS];

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

/* One more duration; what is negative or NaN counts as 0. bounds: [EP_HISTOGRAM_BOUNDS]. */
void ep_histogram_observe(ep_histogram *histogram, const double *bounds, double seconds);

/* Samples of a training that has ended, from its pace; figures that are not finite count nothing.
 */
void ep_metrics_trained(double train_seconds, double samples_per_second);

#endif
