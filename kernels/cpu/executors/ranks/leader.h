/* leader.h: the other nodes of a training, as the one that leads sees them: it tells them what to
 * do, and a thread for each receives what they send. */
#ifndef EP_KERNELS_CPU_EXECUTORS_RANKS_LEADER_H
#define EP_KERNELS_CPU_EXECUTORS_RANKS_LEADER_H

#include "kernels/cpu/executors/ranks/exchange.h"
#include "kernels/nodes.h"

typedef struct ep_leader ep_leader;

/* How many nodes a program has, this one included: 1 where `nodes` is NULL, or another program has
 * them. Else they are this program's until ep_nodes_give_back. */
int ep_nodes_take(ep_nodes *nodes, const ep_program *program);
void ep_nodes_give_back(ep_nodes *nodes);

/* Makes the ranks on ranks->nodes - 1 other nodes, which were taken. EP_NO_MEMORY: one has not
 * enough; EP_DEVICE: one is lost. ranks and nodes are lent until it is destroyed. */
ep_status ep_leader_create(ep_nodes *nodes, ep_ranks *ranks, ep_leader **out, ep_error *error);
void ep_leader_destroy(ep_leader *leader); /* NULL is allowed */

/* The training rows; the state of all replicas; the steps of a segment, which the others begin with
 * at once. EP_DEVICE: a node is lost. */
ep_status ep_leader_load(ep_leader *leader, const ep_ranks_data *data, ep_error *error);
ep_status ep_leader_adopt(ep_leader *leader, ep_error *error);
ep_status ep_leader_train(ep_leader *leader, const ep_segment *segment, ep_error *error);
/* EP_DEVICE: a node was lost, and which. */
ep_status ep_leader_status(ep_leader *leader, ep_error *error);

/* Bytes of x and of y in so many rows. */
size_t ep_ranks_x_bytes(const ep_program *program, int64_t rows);
size_t ep_ranks_y_bytes(const ep_program *program, int64_t rows);

#endif
