/* Events of a job, as they happen. */
#include <errno.h>
#include <stdlib.h>

#include "server/handlers/handlers.h"

ep_route_result ep_route_follow(ep_exchange *exchange, const char *job, int status,
                                const ep_watcher_options *options) {
  ep_jobs *jobs = exchange->server->jobs;
  ep_response *response = &exchange->response;
  ep_error error = {0};
  ep_event_log *log;
  if (options->follow && !ep_waiter_admit(&exchange->waiter, ep_jobs_open_logs(jobs)))
    return ep_exchange_fail_with(exchange, EP_UNAVAILABLE, "too many watchers, try again later");
  if (ep_jobs_retain_log(jobs, job, &log, &error) != EP_OK)
    return ep_exchange_fail(exchange, &error);
  ep_event_log_tail tail;
  ep_event_log_get_tail(log, &tail);
  if (options->sse && tail.ended && options->after >= tail.last_seq) {
    ep_jobs_release_log(jobs, log); /* at 204 an EventSource does not connect again */
    ep_response_empty(response, 204);
    return EP_ROUTE_DONE;
  }
  response->watcher = ep_watcher_create(jobs, log, options);
  if (!response->watcher) return ep_exchange_fail_memory(exchange);
  response->status = status;
  response->type = options->sse ? "text/event-stream" : "application/x-ndjson";
  ep_response_header_add(response, "Cache-Control", "no-store");
  ep_response_header_add(response, "X-Accel-Buffering", "no"); /* nginx does not buffer it */
  return EP_ROUTE_DONE;
}

/* ?after=, else Last-Event-ID, which a browser sends by itself. */
static ep_status after_read(const ep_request *request, int64_t *after, ep_error *error) {
  ep_status status = ep_request_integer(request, "after", 0, INT64_MAX, -1, after, error);
  if (status != EP_OK || *after >= 0) return status;
  *after = 0;
  const char *last = ep_request_header(request, "Last-Event-ID");
  if (!last || !*last) return EP_OK;
  char *stop;
  errno = 0;
  *after = strtoll(last, &stop, 10);
  if (errno || *last < '0' || *last > '9' || *stop)
    return ep_fail(error, EP_MALFORMED, "Last-Event-ID must be the seq of an event");
  return EP_OK;
}

ep_route_result ep_route_events_get(ep_exchange *exchange) {
  ep_request *request = &exchange->request;
  static const char *const TYPES[] = {"text/event-stream", "application/x-ndjson", NULL};
  ep_watcher_options options = {0};
  ep_error error = {0};
  int64_t follow;
  if (after_read(request, &options.after, &error) != EP_OK ||
      ep_request_integer(request, "every", 1, EP_LIMIT_EPOCHS, 1, &options.every, &error) !=
          EP_OK ||
      ep_request_integer(request, "follow", 0, 1, 1, &follow, &error) != EP_OK)
    return ep_exchange_fail(exchange, &error);
  options.follow = follow != 0;
  options.sse = ep_request_accepts(request, TYPES, 1) == 0;
  return ep_route_follow(exchange, request->id, 200, &options);
}
