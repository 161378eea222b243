/* executor.h: one way of running the steps of a segment on the device. All executors of this
 * backend share the network (parameters, data, evaluation, snapshots: instance.c) and differ in
 * this alone: they run a whole segment, or say what one step queues. */
#ifndef EP_KERNELS_CUDA_EXECUTORS_EXECUTOR_H
#define EP_KERNELS_CUDA_EXECUTORS_EXECUTOR_H

#include "kernels/cuda/network/network.h"
#include "kernels/plans/profile.h"

/* Steps to run. All pointers are device memory; lr: [lr_count]; loss, errors: [steps], written.
 * update: [steps], what the steps' rates come to; NULL where that is their lr alone. */
typedef struct {
  int64_t first_step, steps;
  const float *lr;
  int64_t lr_count;
  const ep_optimizer_step *update;
  float *loss;
  int32_t *errors;
} ep_cuda_segment;

typedef struct {
  const ep_executor_profile *profile; /* which programs it takes */
  bool takes_numbers; /* its training rows are as the network takes them, however they are stored */
  /* Whether what it needs at run time is installed here. No slot: it needs nothing. */
  bool (*available)(void);
  /* The network is lent until destroy; one that is run by segments has its training rows on the
   * device. Device memory is taken from the network's. EP_UNSUPPORTED when it turns out only now
   * that the program cannot be run: another executor is asked then. */
  ep_status (*create)(ep_cuda_network *network, void **out, ep_error *error);
  void (*destroy)(void *self); /* NULL is allowed; no slot: nothing to do */
  /* Queues the steps on the network's stream. No slot: the next two instead. */
  ep_status (*run)(void *self, const ep_cuda_segment *segment, ep_error *error);
  /* Queues what parameters that came from outside ask for, before a step uses them. No slot:
   * nothing. */
  ep_status (*adopt)(void *self, ep_error *error);
  /* Queues one step of `rows` rows: the instance keeps the clock, records graphs of it and streams
   * rows to it. No slot: the next one, and the network's update. */
  ep_status (*step)(void *self, int64_t rows, ep_error *error);
  /* Queues a step but for its update, as ep_cuda_network_gradients does: the gradients are where
   * the network's own list says. */
  ep_status (*gradients)(void *self, int64_t rows, ep_error *error);
  /* Queues, after steps, what brings the network's parameters and state up to date. No slot: they
   * are. */
  ep_status (*settle)(void *self, ep_error *error);
  /* Adds what it holds beside the network, and its ranks. No slot: nothing. */
  void (*info)(const void *self, ep_instance_info *out);
} ep_cuda_executor;

#endif
