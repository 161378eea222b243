#include "engine/worker/nodes.h"

#include <signal.h>
#include <stdio.h>

#include "api/hash/sha256.h"
#include "engine/sandbox/sandbox.h"
#include "engine/worker/relay/join.h"
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

static int node_serve(int socket) {
  ep_error error = {0};
  ep_sandbox_enter(&(ep_sandbox){.kind = EP_SANDBOX_CPU});
  signal(SIGPIPE, SIG_IGN);
  signal(SIGINT, SIG_IGN);
  if (ep_node_serve(socket, &error) == EP_OK) return 0;
  fprintf(stderr, "epoch-worker: %s\n", error.message);
  return EXIT_LEADER;
}

bool ep_worker_is_node(const ep_arguments *arguments) {
  return ep_arguments_has(arguments, "join") || ep_arguments_has(arguments, "serve-node");
}

int ep_worker_run_node(const ep_arguments *arguments) {
  ep_error error = {0};
  if (ep_arguments_has(arguments, "serve-node"))
    return node_serve((int)ep_arguments_integer(arguments, "serve-node", -1));
  if (ep_sha256_prepare(&error) == EP_OK)
    return ep_relay_join(ep_arguments_value(arguments, "join"), "/proc/self/exe");
  fprintf(stderr, "epoch-worker: %s\n", error.message);
  return EXIT_LEADER;
}
