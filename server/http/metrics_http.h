/* metrics_http.h: requests, by the row of the table of routes that took them. */
#ifndef EP_SERVER_HTTP_METRICS_HTTP_H
#define EP_SERVER_HTTP_METRICS_HTTP_H

#include "api/json/writer.h"

struct ep_route;
struct ep_routes;

enum { EP_METRICS_ROUTES = 128 }; /* rows that are counted apart */

/* An answer begins to be sent: `route` took the request (NULL: none did), `duration_us` after its
 * head. HEAD counts as the GET that it is. */
void ep_metrics_http_observe(const struct ep_routes *routes, const struct ep_route *route,
                             int status, int64_t duration_us);

void ep_metrics_http_format(const struct ep_routes *routes, ep_writer *out);

#endif
