#include "server/slurm/gateway/scheduler.h"

#include <stdio.h>
#include <string.h>

static const ep_scheduler *const SCHEDULERS[] = {&ep_scheduler_slurm, &ep_scheduler_kubernetes};
enum { SCHEDULERS_COUNT = sizeof SCHEDULERS / sizeof *SCHEDULERS };

const ep_scheduler *const *ep_schedulers(int *count) {
  *count = SCHEDULERS_COUNT;
  return SCHEDULERS;
}

const ep_scheduler *ep_scheduler_find(const char *device) {
  for (int i = 0; i < SCHEDULERS_COUNT; i++)
    if (strncmp(device, SCHEDULERS[i]->prefix, strlen(SCHEDULERS[i]->prefix)) == 0)
      return SCHEDULERS[i];
  return NULL;
}

ep_status ep_order_connection(const ep_order *order, int index, const char *address,
                              const char *shared, char text[EP_CONNECTION_BYTES], ep_error *error) {
  const ep_gateway_setup *setup = order->setup;
  const ep_new_worker *worker = &order->workers[index];
  ep_connection connection = {.device = "auto"};
  snprintf(connection.address, sizeof connection.address, "%s", address);
  snprintf(connection.pin, sizeof connection.pin, "%s", order->pin);
  memcpy(connection.worker, worker->worker, sizeof connection.worker);
  memcpy(connection.secret, worker->secret, sizeof connection.secret);
  snprintf(connection.shared, sizeof connection.shared, "%s", shared);
  snprintf(connection.data_bytes_max, sizeof connection.data_bytes_max, "%lld",
           (long long)setup->data_bytes_max);
  snprintf(connection.checkpoint_after, sizeof connection.checkpoint_after, "%lld",
           (long long)setup->checkpoint_after_seconds);
  snprintf(connection.nodes, sizeof connection.nodes, "%d",
           order->request->nodes > 1 ? order->request->nodes : 1);
  return ep_connection_format(&connection, text, error);
}
