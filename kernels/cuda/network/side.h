/* side.h: gradients by weights on a second stream, beside the way back, which does not wait for
 * them. What is queued between a begin and an end waits for all that was queued before it, on both
 * streams; the network's stream waits for it at a join. The numbers are those of one stream. */
#ifndef EP_KERNELS_CUDA_NETWORK_SIDE_H
#define EP_KERNELS_CUDA_NETWORK_SIDE_H

#include "kernels/cuda/network/network.h"

/* Makes the stream, and takes a workspace for cuBLASLt of its own where the network has one, unless
 * the network is that of a rank: others wait for each of its gradients. Without the stream all is
 * queued in its turn; so it is where memory is short, or no stream can be made. */
ep_status ep_cuda_side_enable(ep_cuda_network *network, ep_error *error);
void ep_cuda_side_deinit(ep_cuda_side *side); /* a zeroed one is allowed */

/* From here on the network's stream, its workspace and its padded_out are the second ones. reads: a
 * number that says which gradient is read there; kept in side.reads. */
ep_status ep_cuda_side_begin(ep_cuda_network *network, int reads, ep_error *error);
/* status: of what was queued since; it is the answer where it is a failure. */
ep_status ep_cuda_side_end(ep_cuda_network *network, ep_status status, ep_error *error);

/* Before what is read there is written over, and before a step ends. */
ep_status ep_cuda_side_join(ep_cuda_network *network, ep_error *error);

#endif
