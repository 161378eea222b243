/* operands.h: packs the operands of a network's linear layers where its products gain by it: rows
 * that do not begin on 16 bytes, bfloat16, and large products of float32
 * (kernels/cuda/layers/operands.h).
 */
#ifndef EP_KERNELS_CUDA_NETWORK_OPERANDS_H
#define EP_KERNELS_CUDA_NETWORK_OPERANDS_H

#include "kernels/cuda/network/network.h"

/* Chooses each layer's form, and takes what it needs, from the network's memory. For who trains by
 * the network's own layers; without a call nothing is packed. */
ep_status ep_cuda_operands_enable(ep_cuda_network *network, ep_error *error);

#endif
