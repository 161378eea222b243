/* route_metrics.h: requests and their durations, by row of the table of routes. Thread-safe. */
#ifndef EP_SERVER_HTTP_ROUTE_METRICS_H
#define EP_SERVER_HTTP_ROUTE_METRICS_H

#include "api/json/writer.h"
#include "server/http/routes.h"

enum { EP_ROUTE_METRICS_ROWS = 128 }; /* rows that are counted apart */

/* A response begins to be sent, `duration_us` after the request's head. route: NULL = none took the
 * request. HEAD counts as the GET that it is. */
void ep_route_metrics_observe(const ep_routes *routes, const ep_route *route, int status,
                              int64_t duration_us);

void ep_route_metrics_format(const ep_routes *routes, ep_writer *out);

#endif
