/* ranks.h: one training on several ranks, on one GPU or several. A rank is a stream of its GPU with
 * the layers of one stage of one replica; the host queues the work of all of them, once, into the
 * graph of a step. create.c makes them, step.c, pipeline.c and exchange.c queue a step. */
#ifndef EP_KERNELS_CUDA_EXECUTORS_RANKS_RANKS_H
#define EP_KERNELS_CUDA_EXECUTORS_RANKS_RANKS_H

#include "kernels/cuda/executors/executor.h"
#include "kernels/cuda/executors/ranks/kernels.h"

/* A GPU of the training. */
typedef struct {
  ep_backend *backend;
  bool opened;           /* for this training: else it is the leader's, lent */
  void *x, *y;           /* the training rows: the leader's, or a copy */
  ep_cuda_memory memory; /* the copy */
} ep_cuda_ranks_device;

/* A gradient that is sent to the other replicas' GPUs. */
typedef struct {
  int row;              /* of the list of gradients */
  int64_t first, count; /* parameters */
  const float *from;    /* [count], contiguous; device */
  int64_t place;        /* in what the others receive */
} ep_cuda_sending;

typedef struct ep_cuda_ranks ep_cuda_ranks;

typedef struct {
  const ep_cuda_ranks *ranks; /* that it is of; lent */
  int replica, stage;
  ep_cuda_ranks_device *device; /* lent */
  ep_program program;           /* of its slices; with stages, of its pieces */

  /* Pieces of the slice that are under way, forward and not yet back: piece p is in
   * pieces[p % pieces_count]. The last stage has one, the first as many as there are stages. All of
   * them work with the parameters of the first. */
  ep_cuda_network **pieces; /* [pieces_count] */
  int pieces_count;
  const ep_cuda_executor *trainer; /* without stages: how a slice's gradients are found */
  void *trainer_state;

  ep_cuda_memory memory;      /* what follows */
  float *collected;           /* with stages: [parameters], the gradients of all pieces */
  float *sums;                /* [parameters], with clip_norm: over all replicas */
  ep_cuda_gradient **found;   /* host [pieces_count]: the gradients of each piece; device */
  ep_cuda_gradient *own_rows; /* host [gradients_count]: `collected`, or the network's own list */
  ep_cuda_gradient **lists;   /* host [replicas]: what each replica adds; device */
  ep_cuda_gradient *summed;   /* the sums as a list */
  ep_cuda_ranks_times *times;

  ep_cuda_sending *sendings; /* [sendings_count], by `first` */
  int sendings_count;
  int64_t sent_floats; /* of all sendings */
  float **received;    /* host [replicas]: what each sends; device, NULL where it is read there */
  cudaStream_t sender;
  cudaEvent_t found_event, sent; /* a gradient is there; all of the step are with the others */
  int unsent;                    /* of the step that is being queued */

  cudaEvent_t added, squared,
      updated;                     /* the gradients are there; their squares; the step is done */
  cudaEvent_t *forward, *backward; /* [pieces of a slice]: a piece's output is there; its gradient
                                      by the stage's input is with the stage before */
  int forwards, backwards;         /* of the step that is being queued */
  bool collects;                   /* something is collected */
} ep_cuda_rank;

struct ep_cuda_ranks {
  ep_cuda_network *leader;   /* lent: evaluates, and keeps the clock */
  const ep_program *program; /* lent */
  int replicas, stages, count, micro_batches;
  ep_cuda_ranks_device *devices; /* [devices_count] */
  int devices_count;
  ep_cuda_rank *ranks; /* [count]: number d * stages + m */
  cudaEvent_t begun;
};

/* The leader's device is the calling thread's, before and after each. *out is for
 * ep_cuda_ranks_destroy.
 */
ep_status ep_cuda_ranks_create(ep_cuda_network *leader, ep_cuda_ranks **out, ep_error *error);
void ep_cuda_ranks_destroy(ep_cuda_ranks *ranks); /* NULL is allowed */

/* Queues one step of `rows` rows on all streams; the leader's waits for the others. */
ep_status ep_cuda_ranks_step_queue(ep_cuda_ranks *ranks, int64_t rows, ep_error *error);

/* pipeline.c: the slices of all replicas through all stages, forward and back. */
ep_status ep_cuda_ranks_pipeline_queue(ep_cuda_ranks *ranks, int64_t rows, ep_error *error);

/* exchange.c. Before the first step: which of its gradients a rank sends, once own_rows is there;
 * then, when all ranks have chosen, the lists that it adds up. */
ep_status ep_cuda_ranks_sendings_choose(const ep_cuda_ranks *ranks, ep_cuda_rank *rank,
                                        ep_error *error);
ep_status ep_cuda_ranks_lists_take(ep_cuda_ranks *ranks, ep_cuda_rank *rank, ep_error *error);

/* Within a step, with the rank's device in use; `self` is the rank. Queues the sending of the
 * gradients of parameters from `first` on, which the rank's stream has found; then of the rest, and
 * records `sent`. */
ep_status ep_cuda_ranks_send(void *self, int64_t first, ep_error *error);
ep_status ep_cuda_ranks_send_rest(ep_cuda_rank *rank, ep_error *error);

static inline ep_cuda_rank *ep_cuda_rank_at(const ep_cuda_ranks *ranks, int replica, int stage) {
  return &ranks->ranks[replica * ranks->stages + stage];
}

/* A gradient of fewer bytes is read from where it is found: a copy takes some microseconds. */
enum { EP_CUDA_RANKS_SENDING_BYTES = 1 << 20 };

static inline cudaStream_t ep_cuda_rank_stream(const ep_cuda_rank *rank) {
  return rank->pieces[0]->stream;
}

#endif
