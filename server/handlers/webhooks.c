/* What came of the messages to the webhooks of a job or a sweep. */
#include "server/jobs/webhooks.h"

#include "server/handlers/handlers.h"

ep_route_result ep_route_webhooks_get(ep_exchange *exchange) {
  ep_error error = {0};
  char *text = NULL;
  if (ep_jobs_webhooks(exchange->server->jobs, exchange->request.id, &text, &error) != EP_OK)
    return ep_exchange_fail(exchange, &error);
  return ep_exchange_json(exchange, text);
}
