/* GET /metrics. */
#include "server/jobs/metrics.h"
#include "server/handlers/handlers.h"
#include "server/http/route_metrics.h"
#include "server/metrics/metrics.h"
#include "server/metrics/process.h"
#include "server/metrics/text.h"

enum { METRICS_BYTES = 4 << 20 }; /* 64 devices and every route in use need 300 kB */

ep_route_result ep_route_metrics_get(ep_exchange *exchange) {
  ep_server *server = exchange->server;
  ep_error error = {0};
  ep_writer out;
  ep_writer_init(&out, METRICS_BYTES);
  ep_metrics_family(&out, "epochd_build_info", "gauge", "1; its label is the daemon's version.");
  ep_metrics_sample(&out, "epochd_build_info", (const char *[]){"version", EP_VERSION, NULL}, 1);
  if (ep_jobs_metrics_format(server->jobs, &out, &error) != EP_OK) {
    ep_writer_deinit(&out);
    return ep_exchange_fail(exchange, &error);
  }
  ep_metrics_format(&out);
  ep_route_metrics_format(server->routes, &out);
  ep_metrics_single(&out, "epochd_http_held_bytes", "gauge",
                    "Memory of requests, and of responses that wait for their readers.",
                    (double)atomic_load(&server->held.used_bytes));
  ep_metrics_single(&out, "epochd_http_held_limit_bytes", "gauge",
                    "The most that these may take; beyond, requests get 429 and 503.",
                    (double)server->held.limit_bytes);
  ep_metrics_process_format(&out, server->config->data_dir);
  ep_response_take_text(&exchange->response, 200, "text/plain; version=0.0.4; charset=utf-8",
                        ep_writer_take(&out));
  return EP_ROUTE_DONE;
}
