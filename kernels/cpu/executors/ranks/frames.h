/* frames.h: what the nodes of a training send each other: a header and a payload, as they lie in
 * memory. One socket to a node, on which any thread may send, and one receives. */
#ifndef EP_KERNELS_CPU_EXECUTORS_RANKS_FRAMES_H
#define EP_KERNELS_CPU_EXECUTORS_RANKS_FRAMES_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "api/status.h"

typedef enum {
  /* From the leader. */
  EP_NODE_CREATE = 1, /* number: the node's; a program (program_wire.h) */
  EP_NODE_LOAD,       /* the training rows: x, then y */
  EP_NODE_ADOPT,      /* the state of a replica: parameters, buffers, optimizer */
  EP_NODE_TRAIN,      /* ep_node_train, then learning rates */
  EP_NODE_RELEASE,    /* the program ends */
  EP_NODE_SUMS,       /* to `rank`: of an OFFER, over the replicas */
  EP_NODE_TOTALS,     /* to `rank`: the squares of all gradients, and with several replicas the
                          gradients of its parameters, summed over them */
  /* To the leader. */
  EP_NODE_CREATED,  /* ep_node_created */
  EP_NODE_RELEASED, /* nothing more comes of the program */
  EP_NODE_OFFER,    /* of `rank`: a few doubles to be summed over its stage's replicas */
  EP_NODE_GRADIENT, /* of `rank`: ep_rank_course, and with several replicas its gradients */
  EP_NODE_STATE,    /* of `rank`, of replica 0, at the end of a segment: its part of the state */
  EP_NODE_DONE,     /* of `rank`: the segment ends; ep_rank_info */
  /* Either way, and by the leader on to another node: piece `number` of a slice, to `rank`. */
  EP_NODE_FORWARD, /* what the stage before has made of it */
  EP_NODE_RETURN   /* the derivative by what the stage before `rank`'s successor took in */
} ep_node_code;

typedef struct {
  uint32_t code, rank, number, zero; /* zero: 0 */
  uint64_t bytes;                    /* of the payload */
} ep_node_head;

typedef struct {
  int64_t first_step, steps, lr_count;
} ep_node_train;

typedef struct {
  int64_t status; /* an ep_status */
  char message[EP_MESSAGE_BYTES];
} ep_node_created;

/* A time that does not pass while this process is stopped: what waits looks every tick. */
typedef struct {
  int64_t left_ms, tick_ms, before_ms;
} ep_node_deadline;

ep_node_deadline ep_node_deadline_in(int64_t ms);
/* Counts what passed since the last look; false: the time is over. */
bool ep_node_deadline_look(ep_node_deadline *deadline);

typedef struct {
  int socket;            /* lent */
  int64_t patience_ms;   /* for a frame to be sent, and a second more for each MiB; 0 = for ever */
  pthread_mutex_t mutex; /* held while a frame is sent */
} ep_node_link;

void ep_node_link_init(ep_node_link *link, int socket, int64_t patience_ms);
void ep_node_link_deinit(ep_node_link *link);
/* Ends the connection, on both sides. */
void ep_node_link_break(const ep_node_link *link);

enum { EP_NODE_PARTS = 40 }; /* of a payload: the slots of an optimizer and the norms of a stage */

/* Any thread. head->bytes is set here. Waits for room. EP_UNAVAILABLE: the connection has ended, or
 * the other side does not read. */
ep_status ep_node_link_send(ep_node_link *link, ep_node_code code, int rank, int number,
                            const struct iovec *parts, int parts_count, ep_error *error);
/* One thread: the header, then its payload, in as many reads as suit. EP_UNAVAILABLE: the
 * connection has ended. */
ep_status ep_node_link_head(const ep_node_link *link, ep_node_head *out, ep_error *error);
ep_status ep_node_link_read(const ep_node_link *link, void *to, size_t bytes, ep_error *error);
/* The same, and EP_UNAVAILABLE once the time is over. */
ep_status ep_node_link_read_within(const ep_node_link *link, void *to, size_t bytes,
                                   ep_node_deadline *deadline, ep_error *error);

#endif
