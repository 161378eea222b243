/* general.h: the executor "cuda/general", which does everything in the vocabulary. */
#ifndef EP_KERNELS_CUDA_GENERAL_H
#define EP_KERNELS_CUDA_GENERAL_H

#include "kernels/executor.h"

extern const ep_executor ep_cuda_general;

#endif
