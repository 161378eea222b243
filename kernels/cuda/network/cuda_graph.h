/* cuda_graph.h: the steps of training as CUDA graphs: a launch for many steps, none of which comes
 * back to the host. The clock on the device says which step it is, so the same graph serves again.
 */
#ifndef EP_KERNELS_CUDA_NETWORK_CUDA_GRAPH_H
#define EP_KERNELS_CUDA_NETWORK_CUDA_GRAPH_H

#include "kernels/cuda/network/network.h"

typedef struct {
  cudaGraphExec_t exec; /* NULL until it is recorded */
  int64_t steps;        /* 0 when there is no need of it */
} ep_cuda_graph;

typedef struct {
  ep_cuda_graph one;    /* a step of a full batch */
  ep_cuda_graph many;   /* several of them */
  ep_cuda_graph tail;   /* the last, smaller batch of an epoch */
  ep_cuda_graph epochs; /* whole epochs, tails included, where an epoch is short */
} ep_cuda_graphs;

/* How a step is queued on the network's stream. */
typedef struct {
  ep_status (*queue)(void *self, int64_t rows, ep_error *error);
  void *self;
} ep_cuda_step;

/* Records one step of each kind, none of which runs. *graphs is for ep_cuda_graphs_deinit; after a
 * failure it is empty. All kernels must have run once before: loading one does not go into a graph.
 */
ep_status ep_cuda_graphs_init(ep_cuda_network *network, const ep_cuda_step *step,
                              ep_cuda_graphs *graphs, ep_error *error);
void ep_cuda_graphs_deinit(ep_cuda_graphs *graphs); /* zeroed ones are allowed */

/* Queues `steps` steps from `first_step`, which the clock must agree with. A longer graph is
 * recorded when there are as many steps, while the device is at work on them. `step`: as at init.
 */
ep_status ep_cuda_graphs_run(ep_cuda_graphs *graphs, ep_cuda_network *network,
                             const ep_cuda_step *step, int64_t first_step, int64_t steps,
                             ep_error *error);

#endif
