/* nodes.h: the other nodes of an allocation. The relay of the first node lets a process of each
 * other one connect (join.h): it listens, writes where and with which secret into a file of the
 * shared folder that its user alone can read, and listens no more once all are there. Each
 * connection becomes a socket of the worker (kernels/nodes.h). */
#ifndef EP_ENGINE_WORKER_RELAY_NODES_H
#define EP_ENGINE_WORKER_RELAY_NODES_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "api/limits.h"
#include "api/wire/connection.h"
#include "engine/tunnel/channel.h"

typedef struct {
  char name[64];
  ep_channel *channel;
  int inner, outer; /* a socket pair: the worker's end, -1 once it is given; the bridge's */
  int note;         /* eventfd that a bridge's end is noted in, lent */
  pthread_t thread;
  bool threaded;
  ep_error why;     /* how the bridge ended, … */
  atomic_bool lost; /* … once it has */
} ep_relay_node;

typedef struct {
  ep_relay_node node[EP_LIMIT_RANKS]; /* [count]: in the order in which they came */
  int count;
  int note;    /* eventfd: readable once a node is lost */
  int refused; /* connections that were not let in */
} ep_relay_nodes;

#define EP_RELAY_NODES_NONE ((ep_relay_nodes){.note = -1})

/* Waits until so many other nodes are there, or `signals`, an eventfd, is readable. folder: of this
 * process alone, for a certificate. EP_UNAVAILABLE: they did not all come, and how many did. */
ep_status ep_relay_nodes_gather(ep_relay_nodes *nodes, const ep_connection *connection, int count,
                                const char *folder, int signals, ep_error *error);
/* The worker has its sockets: hands on between them and the nodes. */
ep_status ep_relay_nodes_start(ep_relay_nodes *nodes, ep_error *error);
/* Once `note` is readable: which node is lost. text: [bytes], written. */
void ep_relay_nodes_lost(const ep_relay_nodes *nodes, char *text, size_t bytes);
/* Ends all connections, and with them the processes of the nodes. */
void ep_relay_nodes_close(ep_relay_nodes *nodes);

/* Where the file is: SHARED/workers/WORKER.nodes. path: [bytes], written. */
ep_status ep_relay_nodes_file(const ep_connection *connection, char *path, size_t bytes,
                              ep_error *error);

#endif
