/* nodes.h: trainings on several nodes: the worker that leads, and the process of a further node. */
#ifndef EP_ENGINE_WORKER_NODES_H
#define EP_ENGINE_WORKER_NODES_H

#include "engine/worker/device.h"

/* The CPU's ranks are spread over `count` further nodes, whose sockets are the descriptors behind
 * `socket`. For the life of the process; 0 is none. */
ep_status ep_worker_use_nodes(const ep_device *device, int socket, int count, ep_error *error);

/* The whole life of the process of a further node, within the walls of a worker: what the leader
 * says. Returns its exit status. */
int ep_worker_serve_node(int socket);

#endif
