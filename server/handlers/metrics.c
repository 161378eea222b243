/* GET /metrics. */
#include "server/jobs/metrics.h"
#include "api/json/memory.h"
#include "engine/data/datasets/cached_meta.h"
#include "server/curves/curves.h"
#include "server/handlers/handlers.h"
#include "server/http/route_metrics.h"
#include "server/metrics/metrics.h"
#include "server/metrics/process.h"
#include "server/metrics/text.h"

enum { METRICS_BYTES = 4 << 20 }; /* 64 devices and every route in use need 300 kB */

static void owner_format(ep_writer *out, const char *family, const char *owner, int64_t bytes) {
  ep_metrics_sample(out, family, (const char *[]){"owner", owner, NULL}, (double)bytes);
}

/* By owner, and what each may take: shares of one number. */
static void memory_format(ep_server *server, ep_writer *out) {
  static const char USED[] = "epochd_memory_bytes", MOST[] = "epochd_memory_limit_bytes";
  const int64_t responses = atomic_load(&server->response_bytes);
  int64_t workers, store;
  ep_jobs_memory_find(server->jobs, &workers, &store);
  ep_metrics_family(out, USED, "gauge",
                    "Memory by owner: requests and the work for them, responses, descriptions of "
                    "datasets and curves that are cached, the store, workers.");
  owner_format(out, USED, "requests",
               atomic_load(&server->held.used_bytes) - responses + ep_json_memory_bytes());
  owner_format(out, USED, "responses", responses);
  owner_format(out, USED, "metas", ep_cached_metas_bytes());
  owner_format(out, USED, "caches", ep_curves_bytes(server->curves));
  owner_format(out, USED, "store", store);
  owner_format(out, USED, "workers", workers);
  ep_metrics_family(out, MOST, "gauge",
                    "The most that each may take; \"all\" is --memory, of which the others are "
                    "shares. Requests and responses have one.");
  owner_format(out, MOST, "all", server->memory.total_bytes);
  owner_format(out, MOST, "requests", server->held.limit_bytes);
  owner_format(out, MOST, "metas", server->memory.metas_bytes);
  owner_format(out, MOST, "caches", server->memory.curves_bytes);
  owner_format(out, MOST, "workers", server->memory.jobs_bytes);
}

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
  memory_format(server, &out);
  ep_metrics_process_format(&out, server->config->data_dir);
  ep_response_take_text(&exchange->response, 200, "text/plain; version=0.0.4; charset=utf-8",
                        ep_writer_take(&out));
  return EP_ROUTE_DONE;
}
