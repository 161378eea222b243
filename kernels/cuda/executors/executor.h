/* executor.h: one way of running the steps of a segment on the device. All executors of this
 * backend share the network (parameters, data, evaluation, snapshots: instance.c) and differ in
 * this alone: they run a whole segment, or say what one step queues. */
#ifndef EP_KERNELS_CUDA_EXECUTORS_EXECUTOR_H
#define EP_KERNELS_CUDA_EXECUTORS_EXECUTOR_H

#include "kernels/cuda/network/network.h"
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
  const char *name;
  ep_capabilities capabilities;
  bool (*accepts)(const ep_backend *backend, const ep_program *program); /* size, fit */
  /* The network is lent until destroy; one that is run by segments has its training rows on the
   * device. Device memory is taken from the network's. EP_UNSUPPORTED when it turns out only now
   * that the program cannot be run: another executor is asked then. */
  ep_status (*create)(ep_cuda_network *network, void **out, ep_error *error);
  void (*destroy)(void *self); /* NULL is allowed; no slot: nothing to do */
  /* Queues the steps on the network's stream. No slot: the next two instead. */
  ep_status (*run)(void *self, const ep_cuda_span *span, ep_error *error);
  /* Queues what parameters that came from outside ask for, before a step uses them. No slot:
   * nothing. */
  ep_status (*adopt)(void *self, ep_error *error);
  /* Queues one step of `rows` rows, as ep_cuda_network_step does: the instance keeps the clock,
   * records graphs of it and streams rows to it. */
  ep_status (*step)(void *self, int64_t rows, ep_error *error);
} ep_cuda_executor;

/* Those that run a segment in one launch: dense networks with narrow layers on many rows; small
 * ones, whose weights fit a thread's registers, a cluster's, or a cluster's shared memory; middle
 * ones, by many blocks; small convolutional networks. */
extern const ep_cuda_executor ep_cuda_fused, ep_cuda_resident, ep_cuda_cluster, ep_cuda_crews,
    ep_cuda_grid, ep_cuda_cnn;
/* Those that queue steps: networks of images, by cuDNN; wide dense networks, below float32;
 * everything. */
extern const ep_cuda_executor ep_cuda_images, ep_cuda_gemm_executor, ep_cuda_general;

#endif
