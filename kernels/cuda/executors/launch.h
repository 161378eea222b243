/* launch.h: the launch of a kernel that runs all steps of a segment, by blocks that stay until its
 * end. */
#ifndef EP_KERNELS_CUDA_EXECUTORS_LAUNCH_H
#define EP_KERNELS_CUDA_EXECUTORS_LAUNCH_H

#include "kernels/cuda/executors/executor.h"
#include "kernels/cuda/runtime/nvrtc.h"

typedef struct {
  cudaKernel_t kernel;        /* takes one argument, a struct of args */
  ep_cuda_compiled *compiled; /* what holds it, owned; NULL: it is the plug-in's own */
  int blocks, threads;        /* threads: of a block */
  int64_t shared_bytes;       /* of a block, as far as they are asked for at the launch */
  int cluster;                /* blocks of a cluster; 0: none */
  bool cooperative;           /* all blocks are there at once, and meet at the barrier */
  unsigned *barrier;          /* device, lent; zeroed before each launch; NULL: none */
  int64_t barrier_bytes;
} ep_cuda_launch;

/* Asks for what the launch needs. shared_bytes: the most of any launch of this kernel, which asks
 * for all of them. EP_UNSUPPORTED where the device, which may be a slice of one, has no room for
 * such a cluster. */
ep_status ep_cuda_launch_prepare(const ep_backend *backend, const ep_cuda_launch *launch,
                                 int64_t shared_bytes, ep_error *error);

/* The same for a kernel that is compiled first, as ep_cuda_compile does, into launch->kernel. The
 * launch is for ep_cuda_launch_deinit, also after a failure. */
ep_status ep_cuda_launch_compile(const ep_backend *backend, const char *file, const char *name,
                                 char *program, ep_cuda_launch *launch, ep_error *error);

/* What was queued must be done. A zeroed one is allowed. */
void ep_cuda_launch_deinit(ep_cuda_launch *launch);

/* Queues it. args: the kernel's argument, copied. */
ep_status ep_cuda_launch_run(const ep_cuda_launch *launch, cudaStream_t stream, const void *args,
                             ep_error *error);

/* What all kernels' arguments have of a network and of the steps to run, for an initializer: with
 * the training rows as they lie there, and without. */
#define EP_CUDA_ARGS_OF(network, given) \
  .x = (network)->train_x, .y = (network)->train_y, EP_CUDA_STEPS_OF(network, given)
#define EP_CUDA_STEPS_OF(network, given)                                                           \
  .first_step = (given)->first_step, .steps = (given)->steps, .parameters = (network)->parameters, \
  .state = (network)->state, .lr = (given)->lr, .lr_count = (given)->lr_count,                     \
  .update = (given)->update, .loss = (given)->loss, .errors = (given)->errors,                     \
  .seed = (network)->program->seed, .optimizer = (network)->program->optimizer,                    \
  .loss_parameter = (network)->program->loss_parameter,                                            \
  .label_smoothing = (network)->program->label_smoothing

#endif
