/* bridge.h: bytes between a plain socket of a process that has no network and a channel to another
 * node: what the nodes of a training say to each other (kernels/nodes.h), as records DATA. */
#ifndef EP_ENGINE_WORKER_RELAY_BRIDGE_H
#define EP_ENGINE_WORKER_RELAY_BRIDGE_H

#include "engine/tunnel/channel.h"

/* Until either side ends; *error says how. Returns whether it was the other node. The socket, which
 * never blocks, and the channel, whose hands were shaken, stay the caller's. */
bool ep_bridge_run(ep_channel *channel, int socket, ep_error *error);

#endif
