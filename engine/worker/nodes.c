#include "engine/worker/nodes.h"

#include <signal.h>
#include <stdio.h>

#include "engine/sandbox/sandbox.h"
#include "kernels/nodes.h"

enum { EXIT_LEADER = 3 };

ep_status ep_worker_use_nodes(const ep_device *device, int socket, int count, ep_error *error) {
  int sockets[EP_LIMIT_RANKS];
  ep_nodes *nodes = NULL;
  if (count == 0) return EP_OK;
  for (int i = 0; i < count && i < EP_LIMIT_RANKS; i++) sockets[i] = socket + 1 + i;
  ep_status status = ep_nodes_create(sockets, count, &nodes, error);
  if (status == EP_OK) ep_backend_cpu_use_nodes(device->backend, nodes);
  return status;
}

int ep_worker_serve_node(int socket) {
  ep_error error = {0};
  ep_sandbox_enter(&(ep_sandbox){.kind = EP_SANDBOX_CPU});
  signal(SIGPIPE, SIG_IGN);
  signal(SIGINT, SIG_IGN);
  if (ep_node_serve(socket, &error) == EP_OK) return 0;
  fprintf(stderr, "epoch-worker: %s\n", error.message);
  return EXIT_LEADER;
}
