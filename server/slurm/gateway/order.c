#include <stdio.h>
#include <string.h>

#include "server/slurm/gateway/scheduler.h"

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
