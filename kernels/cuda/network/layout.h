/* layout.h: what a program's layers need, before any memory is taken: which of them write over
 * their input, which are trained, and where their gradients lie. */
#ifndef EP_KERNELS_CUDA_NETWORK_LAYOUT_H
#define EP_KERNELS_CUDA_NETWORK_LAYOUT_H

#include "kernels/cuda/network/network.h"

/* Refuses what the kernels could not run. */
ep_status ep_cuda_program_check(const ep_program *program, ep_error *error);

/* Fills the values, but for their gradients, and, of each layer, fused, in_place and trained. */
void ep_cuda_layout_decide(ep_cuda_network *network);

/* Then fills the grads, the part_sums, the values' gradients and the layers' parts. An op leaves
 * its parts in memory of their own, but for the first of those that it makes in place. */
void ep_cuda_gradients_place(ep_cuda_network *network);

#endif
