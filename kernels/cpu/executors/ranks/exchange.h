/* exchange.h: what ranks give each other across nodes while they train: rows and their derivatives
 * from stage to stage, and sums over the replicas of a stage, taken by the leader in the order of
 * the ranks. step.c calls it wherever the other rank is not here; a transport other than sockets
 * would be another exchange.c.
 *
 * Nothing here fails: a connection that ends breaks the ranks (ep_ranks_break), and the first cause
 * stays in the exchange. */
#ifndef EP_KERNELS_CPU_EXECUTORS_RANKS_EXCHANGE_H
#define EP_KERNELS_CPU_EXECUTORS_RANKS_EXCHANGE_H

#include "kernels/cpu/executors/ranks/frames.h"
#include "kernels/cpu/executors/ranks/rank.h"

struct ep_rank_exchange {
  ep_ranks *ranks;                     /* lent */
  ep_node_link *links[EP_LIMIT_RANKS]; /* lent; on the leader's node that to each other one, by its
                                          number; elsewhere the leader's is number 0 */
  pthread_mutex_t mutex;               /* guards `why` */
  ep_error why;                        /* of the first failure; status EP_OK: none */
  int64_t first_step, steps;           /* of the segment; 0 steps: there is none */
  atomic_int working; /* ranks of the segment that have not ended it: those here, on another node */

  /* On the leader's node. */
  pthread_mutex_t telling; /* held while a segment is told to all: what one node has made of it goes
                              to another one after that */
  int64_t patience_ms;     /* of a silence while no rank of this node works */
  atomic_uint heard;       /* frames of ranks, of all nodes, and each MiB of one */
  atomic_int busy;         /* ranks of this node that do not wait for others */
};

void ep_exchange_init(ep_rank_exchange *exchange, ep_ranks *ranks);
void ep_exchange_deinit(ep_rank_exchange *exchange);
/* A segment of so many steps: from now on its frames may come. No rank is at work. */
void ep_exchange_begin(ep_rank_exchange *exchange, int64_t first_step, int64_t steps);
/* A node is lost: ends all connections and breaks the ranks. Any thread, also twice. */
void ep_exchange_break(ep_rank_exchange *exchange, const ep_error *why);

/* A rank of this node waits for others, or works again. */
void ep_exchange_rest(ep_rank_exchange *exchange, bool rests);

/* --- what a rank that is here does ----------------------------------------------------------- */

/* Hands `count` values of piece `number` on, to a rank elsewhere: EP_NODE_FORWARD to the stage
 * behind, EP_NODE_RETURN to the stage before. */
void ep_exchange_hand(ep_rank *to, ep_node_code code, int number, const ep_real *values,
                      int64_t count);

/* Where the leader is elsewhere. values: [count], at most EP_RANKS_OFFER; on return the sum over
 * the replicas. */
void ep_exchange_add(ep_rank *rank, double *values, int64_t count);
/* The step's gradients, loss and squares go to the leader; then rank->totals and total_squares are
 * written. */
void ep_exchange_totals(ep_rank *rank);
/* The segment is done: the state, where it is replica 0's, and what the rank did. */
void ep_exchange_finish(const ep_rank *rank);

/* Whether it was posted within so long. */
bool ep_semaphore_await(sem_t *semaphore, int64_t ms);

/* --- what the leader does for a rank elsewhere ------------------------------------------------ */

/* Waits for what it has sent. EP_MAIL_NONE: the ranks are broken, which they are once nothing has
 * come from any node for long: exchange->patience_ms, and many times what ranks of this node have
 * worked since this rank's step began. */
ep_mail ep_exchange_await(ep_rank *rank);
/* The sum of its offer, rank->offer; the totals of a step. */
void ep_exchange_reply_sum(ep_rank *rank);
void ep_exchange_reply_totals(ep_rank *rank, double squares);

/* --- the thread that receives from a node ----------------------------------------------------- */

/* Takes the payload of a frame that came from `node`, any of a segment's. EP_MALFORMED: it is none,
 * not that node's to send, or not what its rank may send by now: each rank has a phase, and a count
 * of the pieces that went to it and came from it. */
ep_status ep_exchange_take(ep_rank_exchange *exchange, int node, const ep_node_head *head,
                           ep_error *error);

#endif
