/* rank.h: the ranks of a training and what they share. rank.c makes them, step.c trains. */
#ifndef EP_KERNELS_CPU_EXECUTORS_RANKS_RANK_H
#define EP_KERNELS_CPU_EXECUTORS_RANKS_RANK_H

#include <pthread.h>
#include <semaphore.h>

#include "kernels/backend.h"
#include "kernels/cpu/layers/network.h"
#include "kernels/plans/ranks.h"

typedef struct {
  const void *x; /* [rows, the stored shape's count] of x_type, lent */
  const void *y; /* float [rows, target_columns] or int32 [rows], lent */
  int64_t rows;
} ep_ranks_data;

typedef struct ep_ranks ep_ranks;

/* One rank: a stage of a replica. */
typedef struct {
  ep_ranks *ranks;
  int replica, stage;
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
  sem_t arrived;        /* pieces that the stage before has ready */
  sem_t returned;       /* pieces whose derivative the stage behind has ready */
  bool semaphores;      /* they are there */

  ep_replica_sums sums;  /* over the ranks of its stage; context: the rank */
  const double *offered; /* what it adds to them */

  double loss, divisor; /* of the last stage, of its slice and of the batch */
  int64_t errors;
  double squares;    /* of the gradients that it summed */
  ep_rank_info info; /* bytes: set once */
} ep_rank;

/* One replica's numbers; each stage works on the part of its layers. */
typedef struct {
  ep_real *state; /* [parameters, buffers, optimizer_floats] */
  double *grad;   /* [parameters] */
} ep_replica;

struct ep_ranks {
  const ep_program *program; /* lent */
  int replicas, stages, count;
  int64_t piece_rows;  /* the most of a piece */
  int64_t state_count; /* of a replica's state */
  ep_replica *replica; /* [replicas] */
  ep_rank *rank;       /* [count]: number d * stages + m */
  double *sums;        /* [parameters]: over the replicas; NULL of one replica */
  ep_real *kept;       /* [state_count]: the snapshot; NULL before the first */
  ep_ranks_data data[EP_SPLIT_COUNT];
  pthread_barrier_t all;    /* of all ranks */
  pthread_barrier_t *stage; /* [stages]: of a stage's, in all replicas */
  int barriers;             /* of those that were made: `all`, then of the stages */
  int64_t bytes;
};

/* Everything is zero. EP_NO_MEMORY. The program is lent until deinit, which is for after a failure
 * too. */
ep_status ep_ranks_init(ep_ranks *ranks, const ep_program *program, ep_error *error);
void ep_ranks_deinit(ep_ranks *ranks);

static inline ep_real *ep_ranks_optimizer(const ep_ranks *ranks, int replica) {
  return ranks->replica[replica].state + ep_program_state_floats(ranks->program);
}

/* step.c. What a rank does, all ranks at once: the steps of a segment; … */
void ep_rank_train(ep_rank *rank, const ep_segment *segment);
/* … its share, if it evaluates, of the rows of a split, or of rows without y, `output` [rows,
 * out_features] NULL or written. loss: the sum, divisor: the shares, errors: of its rows. */
void ep_rank_evaluate(ep_rank *rank, const ep_ranks_data *data, float *output);

#endif
