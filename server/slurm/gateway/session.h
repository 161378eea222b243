/* session.h: one connection of a worker: a thread of the gateway. */
#ifndef EP_SERVER_SLURM_GATEWAY_SESSION_H
#define EP_SERVER_SLURM_GATEWAY_SESSION_H

#include <stdatomic.h>

#include "engine/tunnel/channel.h"
#include "server/slurm/gateway/tickets.h"

typedef struct {
  const ep_gateway_setup *setup;
  const ep_certificate *certificate;
  ep_tickets *tickets;
  int control;
  atomic_int sessions; /* threads */
  atomic_bool closing; /* epochd has ended, or told its workers to */
} ep_gateway;

/* Serves the connection, from the handshake to its end, and closes it. */
void ep_session_run(ep_gateway *gateway, int socket);

#endif
