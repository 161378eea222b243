/* rank.h: the ranks of a training and what they share. rank.c makes them, step.c trains. Of a
 * training on several nodes each node has all of them, those of other nodes without their work. */
#ifndef EP_KERNELS_CPU_EXECUTORS_RANKS_RANK_H
#define EP_KERNELS_CPU_EXECUTORS_RANKS_RANK_H

#include <semaphore.h>
#include <stdatomic.h>

#include "kernels/backend.h"
#include "kernels/cpu/executors/ranks/barrier.h"
#include "kernels/cpu/layers/network.h"
#include "kernels/plans/ranks.h"

typedef struct {
  const void *x; /* [rows, the stored shape's count] of x_type, lent */
  const void *y; /* float [rows, target_columns] or int32 [rows], lent */
  int64_t rows;
} ep_ranks_data;

typedef struct ep_ranks ep_ranks;
typedef struct ep_rank_exchange ep_rank_exchange; /* exchange.h */

enum { EP_RANKS_OFFER = 64 /* values that are summed over replicas at once */ };

/* What a rank of another node has sent to the leader, whose thread for it waits. */
typedef enum { EP_MAIL_NONE, EP_MAIL_OFFER, EP_MAIL_GRADIENT, EP_MAIL_DONE } ep_mail;

/* What may come of a rank over a connection. On the leader's node, of a rank elsewhere; on another
 * node, of a rank there, whose replies come from the leader. */
typedef enum {
  EP_RANK_RESTS,      /* leader: no segment; nothing may come */
  EP_RANK_WORKS,      /* leader: pieces, mail; elsewhere: nothing */
  EP_RANK_ASKS_SUM,   /* leader: it has sent an offer, and waits; elsewhere: the sum may come */
  EP_RANK_ASKS_TOTALS /* the same of a step's gradients, and the totals */
} ep_rank_phase;

enum { EP_RANK_FORWARD, EP_RANK_RETURN, EP_RANK_WAYS };

/* What a rank has of a step besides its gradients. */
typedef struct {
  double loss, divisor; /* of the last stage, of its slice and of the batch */
  double squares;       /* of one replica: of its gradients */
  int64_t errors;
} ep_rank_course;

/* One rank: a stage of a replica. */
typedef struct {
  ep_ranks *ranks;
  int number, replica, stage;
  bool here;                              /* it is this node's */
  int64_t first_parameter, end_parameter; /* those of its layers */

  /* Pieces of the slice that are under way, forward and not yet back: piece p is in
   * pieces[p % pieces_count]. The last stage has one, the first as many as there are stages. */
  ep_network *pieces;
  int pieces_count;
  void *target;         /* of the last stage: the piece's y */
  ep_network whole;     /* of those that evaluate: all layers, without the way back */
  void *whole_target;   /* its y */
  ep_real *grad_inputs; /* [pieces_count + 1, rows of a piece, in_features]: the derivative by what
                           came in, for the stage before; NULL of the first stage */
  ep_real *handed;      /* of a rank elsewhere, before one that is here: [pieces_count, rows of a
                           piece, out_features], what it hands on */
  sem_t arrived;        /* pieces that the stage before has ready */
  sem_t returned;       /* pieces whose derivative the stage behind has ready */
  sem_t told;      /* on the leader's node: mail of a rank elsewhere; else the leader's replies */
  bool semaphores; /* they are there */

  /* Pieces of this segment that a rank elsewhere was given, and those that came from it, of which
   * the thread that receives keeps count. */
  atomic_llong given[EP_RANK_WAYS];
  int64_t got[EP_RANK_WAYS];

  _Atomic ep_rank_phase phase; /* guards the three behind it, and the mail's contents */
  int64_t step;                /* of the segment: steps whose totals it was told */
  int offers;                  /* of this step */
  bool stated;                 /* its state has come */

  /* Of a rank elsewhere, on the leader's node. */
  _Atomic ep_mail mail;
  double offer[EP_RANKS_OFFER]; /* also on other nodes: the sum, once it was told */
  ep_rank_course course;
  ep_rank_info done; /* what it did, when its segment was done */
  double *totals; /* of a rank here whose leader is elsewhere, with several replicas: [parameters],
                     of which its own are set: the gradients summed over them */

  ep_replica_sums sums;  /* over the ranks of its stage; context: the rank */
  const double *offered; /* [offered_count]: what it adds to them */
  int64_t offered_count;

  double loss, divisor; /* of the last stage, of its slice and of the batch */
  int64_t errors;
  double squares;       /* of the gradients that it summed */
  double total_squares; /* of all gradients, where the leader is elsewhere */
  ep_rank_info info;    /* bytes: set once */
} ep_rank;

/* A part of a replica's state. */
typedef struct {
  int64_t first, count;
} ep_state_range;

enum { EP_STATE_RANGES = 8 /* parameters, buffers, and the slots of an optimizer */ };

/* One replica's numbers; each stage works on the part of its layers. NULL of one that has no rank
 * here; the leader has those of replica 0, and of each replica the gradients. */
typedef struct {
  ep_real *state; /* [parameters, buffers, optimizer_floats] */
  double *grad;   /* [parameters] */
} ep_replica;

/* Where this process is among the nodes of a training: node 0 leads. Node k of n has the ranks
 * ep_piece_first(count, k, n) … ep_piece_first(count, k + 1, n) - 1. */
typedef struct {
  int node, nodes;
} ep_rank_node;

struct ep_ranks {
  const ep_program *program; /* lent */
  int replicas, stages, count;
  int node, nodes;
  int first, end;             /* the ranks that are here */
  ep_rank_exchange *exchange; /* lent; NULL of one node */
  atomic_bool broken;         /* a node is lost: nothing waits any more, and the segment is void */
  int64_t piece_rows;         /* the most of a piece */
  int64_t state_count;        /* of a replica's state */
  ep_replica *replica;        /* [replicas] */
  ep_rank *rank;              /* [count]: number d * stages + m */
  double *sums;  /* [parameters]: over the replicas; NULL of one replica, and elsewhere than
                    on the leader's node */
  ep_real *kept; /* [state_count]: the snapshot; NULL before the first */
  ep_ranks_data data[EP_SPLIT_COUNT];
  ep_barrier all;    /* of all ranks; on the leader's node those elsewhere have a thread too */
  ep_barrier *stage; /* [stages]: of a stage's, in all replicas; NULL before they are made */
  int64_t bytes;
};

/* Everything is zero. EP_NO_MEMORY. The program is lent until deinit, which is for after a failure
 * too. */
ep_status ep_ranks_init(ep_ranks *ranks, const ep_program *program, ep_rank_node node,
                        ep_error *error);
void ep_ranks_deinit(ep_ranks *ranks);

/* Whatever a rank waits for does not come: a node is lost. Any thread, also twice. */
void ep_ranks_break(ep_ranks *ranks);

/* The parts of its replica's state that a rank changes; returns how many. */
int ep_rank_state(const ep_rank *rank, ep_state_range out[EP_STATE_RANGES]);

static inline ep_rank *ep_rank_of(const ep_ranks *ranks, int replica, int stage) {
  return &ranks->rank[replica * ranks->stages + stage];
}

static inline int64_t ep_rank_parameters(const ep_rank *rank) {
  return rank->end_parameter - rank->first_parameter;
}

/* Of the rows that it takes in, and of those that it hands on. */
int64_t ep_rank_in_features(const ep_rank *rank);
int64_t ep_rank_out_features(const ep_rank *rank);

static inline ep_real *ep_ranks_optimizer(const ep_ranks *ranks, int replica) {
  return ranks->replica[replica].state + ep_program_state_floats(ranks->program);
}

/* step.c. What a rank does, all ranks at once: the steps of a segment, of which loss and errors are
 * written on the leader's node alone. There it does for a rank elsewhere what the others wait for.
 */
void ep_rank_train(ep_rank *rank, const ep_segment *segment);
/* evaluate.c, on the leader's node: a rank that is here takes its shares of the rows of a split, or
 * of rows without y, `output` [rows, out_features] NULL or written. The shares are those of the
 * first ranks, whoever takes them: in these, loss: the sum, divisor: the shares, errors: of the
 * rows. */
void ep_rank_evaluate(ep_rank *rank, const ep_ranks_data *data, float *output);

#endif
