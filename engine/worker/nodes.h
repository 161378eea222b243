/* nodes.h: trainings on several nodes: the worker that leads, and the process of a further node. */
#ifndef EP_ENGINE_WORKER_NODES_H
#define EP_ENGINE_WORKER_NODES_H

#include "api/arguments/arguments.h"
#include "engine/worker/device.h"

/* The CPU's ranks are spread over `count` further nodes, whose sockets are the descriptors behind
 * `socket`. For the life of the process; 0 is none. */
ep_status ep_worker_use_nodes(const ep_device *device, int socket, int count, ep_error *error);

/* Whether the program was started for a further node, by --join or --serve-node; then its whole
 * life, within the walls of a worker where it computes. Returns its exit status. */
bool ep_worker_is_node(const ep_arguments *arguments);
int ep_worker_run_node(const ep_arguments *arguments);

#endif
