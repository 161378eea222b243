/* method.h: how the steps of a segment are run on the device. All executors of this backend share
 * the network (parameters, data, evaluation, snapshots: instance.c) and differ in this alone: they
 * run a whole segment, or say what one step queues. */
#ifndef EP_KERNELS_CUDA_METHOD_H
#define EP_KERNELS_CUDA_METHOD_H

#include "kernels/cuda/network.h"
#include "kernels/executor.h"

/* Steps to run. All pointers are device memory; lr: [lr_count]; loss, errors: [steps], written.
 * update: [steps], what the steps' rates come to; NULL where that is their lr alone. */
typedef struct {
  int64_t first_step, steps;
  const float *lr;
  int64_t lr_count;
  const ep_optimizer_step *update;
  float *loss;
  int32_t *errors;
} ep_cuda_span;

typedef struct {
  /* A network is lent until destroy; one that is run by segments has its training rows on the
   * device. What the method takes of device memory is taken for it from the network's memory. */
  ep_status (*create)(ep_cuda_network *network, void **out, ep_error *error);
  void (*destroy)(void *self); /* NULL is allowed */
  /* Queues the steps on the network's stream. NULL: the next two instead. */
  ep_status (*run)(void *self, const ep_cuda_span *span, ep_error *error);
  /* Queues what a segment begins with: the parameters may have changed. */
  ep_status (*begin)(void *self, ep_error *error);
  /* Queues one step of `rows` rows, as ep_cuda_network_step does: the instance keeps the clock,
   * records graphs of it and streams rows to it. */
  ep_status (*step)(void *self, int64_t rows, ep_error *error);
} ep_cuda_method;

#endif
