/* nodes.h: one training on the CPUs of several machines, its nodes. The process that has the
 * backend is node 0, which leads; a process on each other node serves it. They speak over a stream
 * socket, each node with node 0: the leader's programs, rows and states go out, gradients and what
 * stages hand on go both ways, and sums are taken in the order of the ranks, so that a training has
 * the same bits on however many nodes. Both are of the same build, on machines of one kind: what
 * they send is as it lies in memory, and neither encrypts it nor asks who the other one is. */
#ifndef EP_KERNELS_NODES_H
#define EP_KERNELS_NODES_H

#include "kernels/backend.h"

/* Half of what epochd's watchdog allows by default (--stall-seconds): so that an attempt ends with
 * the cause, and not with the watchdog. */
enum { EP_NODES_PATIENCE_MS = 30000 };

typedef struct ep_nodes ep_nodes;

/* sockets: [count], one to each other node; they stay the caller's, and must outlive the nodes.
 * EP_INVALID: not 1 to EP_LIMIT_RANKS - 1 of them. */
ep_status ep_nodes_create(const int *sockets, int count, ep_nodes **out, ep_error *error);
/* How long a node may say nothing while this one waits for it, or not read what it is sent; a
 * segment's steps get more, by what this node's own ranks need for them. EP_NODES_PATIENCE_MS where
 * it is not set. No program has the nodes. */
void ep_nodes_set_patience(ep_nodes *nodes, int64_t ms);
void ep_nodes_destroy(ep_nodes *nodes); /* after the backend is closed; NULL is allowed */

/* From now on a program of several ranks is spread over the nodes, one program at a time: others
 * that are there meanwhile have all their ranks here. backend: of ep_backend_cpu; nodes: lent until
 * it is closed. A node that is lost fails its training with EP_DEVICE. */
void ep_backend_cpu_use_nodes(ep_backend *backend, ep_nodes *nodes);

/* Of a process on another node: does what the leader says, until the socket ends (EP_OK) or the
 * leader says what no leader says (EP_MALFORMED). The socket stays the caller's. */
ep_status ep_node_serve(int socket, ep_error *error);

#endif
