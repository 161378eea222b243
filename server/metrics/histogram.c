#include "server/metrics/histogram.h"

#include <math.h>

const double EP_JOB_BOUNDS[EP_HISTOGRAM_BOUNDS] = {0.001, 0.01, 0.1, 0.5,  1,    5,     10,
                                                   30,    60,   300, 1800, 7200, 28800, 86400};
const double EP_REQUEST_BOUNDS[EP_HISTOGRAM_BOUNDS] = {
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10};

void ep_histogram_observe(ep_histogram *histogram, const double *bounds, double seconds) {
  if (!(seconds > 0)) seconds = 0;
  if (seconds > 1e12) seconds = 1e12; /* the sum stays a number */
  int bucket = 0;
  while (bucket < EP_HISTOGRAM_BOUNDS && seconds > bounds[bucket]) bucket++;
  atomic_fetch_add_explicit(&histogram->buckets[bucket], 1, memory_order_relaxed);
  atomic_fetch_add_explicit(&histogram->sum_us, (unsigned long long)llround(seconds * 1e6),
                            memory_order_relaxed);
}
