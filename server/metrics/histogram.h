/* histogram.h: how many durations fell between given bounds. Thread-safe: relaxed atomic additions.
 */
#ifndef EP_SERVER_METRICS_HISTOGRAM_H
#define EP_SERVER_METRICS_HISTOGRAM_H

#include <stdatomic.h>

enum { EP_HISTOGRAM_BOUNDS = 14 };

typedef struct {
  atomic_ullong buckets[EP_HISTOGRAM_BOUNDS + 1]; /* not cumulative; the last is for all above */
  atomic_ullong sum_us;
} ep_histogram;

/* Rising upper bounds in seconds, for durations of jobs and of requests. */
extern const double EP_JOB_BOUNDS[EP_HISTOGRAM_BOUNDS], EP_REQUEST_BOUNDS[EP_HISTOGRAM_BOUNDS];

/* Adds a duration; a negative one or NaN counts as 0. bounds: [EP_HISTOGRAM_BOUNDS]. */
void ep_histogram_observe(ep_histogram *histogram, const double *bounds, double seconds);

#endif
