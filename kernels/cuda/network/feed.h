/* feed.h: training rows that do not fit the device. Threads gather them in the order of their
 * batches into pinned memory, ahead of the steps that want them; a second stream copies them beside
 * the computation. The numbers are those of resident rows, to the last bit. */
#ifndef EP_KERNELS_CUDA_NETWORK_FEED_H
#define EP_KERNELS_CUDA_NETWORK_FEED_H

#include "kernels/cuda/network/cuda_graph.h"

typedef struct ep_cuda_feed ep_cuda_feed;

/* x: host [train_rows, stored] of x_type; y: host [train_rows, target_columns] of 4 bytes; both
 * lent until ep_cuda_feed_destroy, as the network is. */
ep_status ep_cuda_feed_create(ep_cuda_network *network, const void *x, const void *y,
                              ep_cuda_feed **out, ep_error *error);
void ep_cuda_feed_destroy(ep_cuda_feed *feed); /* NULL is allowed */

/* Device memory that it holds. */
int64_t ep_cuda_feed_bytes(const ep_cuda_feed *feed); /* NULL: 0 */

/* Queues `steps` steps from `first_step`, which the clock must agree with, and returns when the
 * last of them is queued. */
ep_status ep_cuda_feed_run(ep_cuda_feed *feed, const ep_cuda_graphs *graphs, int64_t first_step,
                           int64_t steps, ep_error *error);

#endif
