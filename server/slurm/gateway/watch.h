/* watch.h: what Slurm shows of the partitions and their nodes, for epochd: limits, what is idle,
 * how long a new worker would wait, and which workers are on nodes that drain. */
#ifndef EP_SERVER_SLURM_GATEWAY_WATCH_H
#define EP_SERVER_SLURM_GATEWAY_WATCH_H

#include "server/slurm/gateway/session.h"

typedef struct {
  char device[EP_DEVICE_ID_BYTES];
  ep_slurm_request request; /* of the workers that wait, or that were submitted last */
} ep_watched;

/* Runs Slurm's commands, and tells epochd. list: [count]. A failure is logged. */
void ep_watch_look(ep_gateway *gateway, const ep_watched *list, int count);

#endif
