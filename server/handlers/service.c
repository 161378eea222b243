/* The daemon itself: devices, queue, probes, contract. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json/writer.h"
#include "server/handlers/contract.h"
#include "server/handlers/handlers.h"
#include "server/process/clock.h"

enum { READY_TIMEOUT_MS = 5000 };

ep_route_result ep_route_devices_get(ep_exchange *exchange) {
  ep_error error = {0};
  char *text = NULL;
  const ep_viewer viewer = ep_exchange_viewer(exchange);
  if (ep_jobs_devices(exchange->server->jobs, &viewer, &text, &error) != EP_OK)
    return ep_exchange_fail(exchange, &error);
  return ep_exchange_json(exchange, text);
}

ep_route_result ep_route_queue_get(ep_exchange *exchange) {
  ep_error error = {0};
  char *text = NULL;
  const ep_viewer viewer = ep_exchange_viewer(exchange);
  if (ep_jobs_queue(exchange->server->jobs, &viewer, &text, &error) != EP_OK)
    return ep_exchange_fail(exchange, &error);
  return ep_exchange_json(exchange, text);
}

ep_route_result ep_route_live_get(ep_exchange *exchange) {
  static const char TEXT[] = "{\"status\":\"live\",\"version\":\"" EP_VERSION "\"}\n";
  ep_response_constant(&exchange->response, 200, "application/json", TEXT, sizeof TEXT - 1);
  return EP_ROUTE_DONE;
}

/* From another thread; the exchange was retained for this call. A message of status EP_OK says why
 * there is no room for new work. */
static void probe_done(void *context, const ep_error *error, const ep_error *full) {
  ep_exchange *exchange = context;
  if (error) exchange->error = *error;
  if (!error && full) {
    exchange->error = *full;
    exchange->error.status = EP_OK;
  }
  atomic_store(&exchange->called_back, true);
  ep_waiter_wake(&exchange->waiter);
  ep_exchange_release(exchange);
}

/* Predictions go on where new work is refused. */
static ep_route_result ready_write(ep_exchange *exchange) {
  const char *full = exchange->error.message[0] ? exchange->error.message : NULL;
  ep_writer writer;
  ep_writer_init(&writer, 2 * EP_MESSAGE_BYTES);
  ep_writer_open(&writer, '{');
  ep_writer_member_string(&writer, "status", "ready");
  ep_writer_member_boolean(&writer, "uploads", !full);
  ep_writer_member_string(&writer, "warning", full);
  ep_writer_close(&writer, '}');
  return ep_exchange_json(exchange, ep_writer_take(&writer));
}

ep_route_result ep_ready_await(ep_exchange *exchange, bool *ready) {
  *ready = false;
  if (exchange->deadline_us == 0) {
    exchange->deadline_us = ep_clock_steady_us() + 2000LL * READY_TIMEOUT_MS;
    ep_exchange_retain(exchange);
    ep_jobs_probe(exchange->server->jobs, READY_TIMEOUT_MS, probe_done, exchange);
    return EP_ROUTE_WAITS;
  }
  bool called_back = atomic_load(&exchange->called_back);
  if (!called_back && !exchange->timed_out) return EP_ROUTE_WAITS;
  if (!called_back)
    return ep_exchange_fail_with(exchange, EP_UNAVAILABLE,
                                 "a device or the data folder did not respond in %d s",
                                 2 * READY_TIMEOUT_MS / 1000);
  if (exchange->error.status != EP_OK)
    return ep_exchange_fail_with(exchange, EP_UNAVAILABLE, "%.400s", exchange->error.message);
  *ready = true;
  return EP_ROUTE_DONE;
}

ep_route_result ep_route_ready_get(ep_exchange *exchange) {
  bool ready;
  ep_route_result result = ep_ready_await(exchange, &ready);
  return ready ? ready_write(exchange) : result;
}

ep_route_result ep_route_contract_get(ep_exchange *exchange) {
  ep_response_constant(&exchange->response, 200, "application/json", (const char *)EP_CONTRACT,
                       EP_CONTRACT_BYTES);
  return EP_ROUTE_DONE;
}
