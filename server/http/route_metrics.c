#include "server/http/route_metrics.h"

#include "server/metrics/text.h"

enum { CLASSES = 5 }; /* 1xx … 5xx */

typedef struct {
  atomic_ullong codes[CLASSES];
  ep_histogram seconds;
} row_counts;

/* By row of the table of routes; the last is for requests that no row took. */
static row_counts counts[EP_ROUTE_METRICS_ROWS + 1];

static int row_of(const ep_routes *routes, const ep_route *route) {
  if (!route || route - routes->rows >= EP_ROUTE_METRICS_ROWS) return EP_ROUTE_METRICS_ROWS;
  return (int)(route - routes->rows);
}

void ep_route_metrics_observe(const ep_routes *routes, const ep_route *route, int status,
                              int64_t duration_us) {
  row_counts *row = &counts[row_of(routes, route)];
  int code = status / 100 - 1;
  if (code < 0 || code >= CLASSES) code = CLASSES - 1;
  atomic_fetch_add_explicit(&row->codes[code], 1, memory_order_relaxed);
  ep_histogram_observe(&row->seconds, EP_REQUEST_BOUNDS, (double)duration_us / 1e6);
}

/* Route and method of a row as labels: [5]. */
static void labels_fill(const ep_routes *routes, int row, const char **labels) {
  bool known = row < EP_ROUTE_METRICS_ROWS && row < routes->count;
  labels[0] = "route";
  labels[1] = known ? routes->rows[row].path : "none";
  labels[2] = "method";
  labels[3] = known ? routes->rows[row].method : "any";
  labels[4] = NULL;
}

static bool is_used(const row_counts *row) {
  for (int code = 0; code < CLASSES; code++)
    if (atomic_load_explicit(&row->codes[code], memory_order_relaxed) > 0) return true;
  return false;
}

void ep_route_metrics_format(const ep_routes *routes, ep_writer *out) {
  static const char *const CODES[CLASSES] = {"1xx", "2xx", "3xx", "4xx", "5xx"};
  static const char REQUESTS[] = "epochd_http_requests_total";
  static const char SECONDS[] = "epochd_http_request_seconds";
  const char *labels[7];
  ep_metrics_family(out, REQUESTS, "counter",
                    "Requests that were answered; route none: no such path or method.");
  for (int i = 0; i <= EP_ROUTE_METRICS_ROWS; i++)
    for (int code = 0; code < CLASSES; code++) {
      unsigned long long count = atomic_load_explicit(&counts[i].codes[code], memory_order_relaxed);
      if (count == 0) continue;
      labels_fill(routes, i, labels);
      labels[4] = "code";
      labels[5] = CODES[code];
      labels[6] = NULL;
      ep_metrics_sample(out, REQUESTS, labels, (double)count);
    }
  ep_metrics_family(
      out, SECONDS, "histogram",
      "Seconds from a request's headers to its response's, including requested waits (wait=).");
  for (int i = 0; i <= EP_ROUTE_METRICS_ROWS; i++) {
    if (!is_used(&counts[i])) continue;
    labels_fill(routes, i, labels);
    ep_metrics_histogram(out, SECONDS, labels, EP_REQUEST_BOUNDS, &counts[i].seconds);
  }
}
