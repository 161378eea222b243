/* stddef.h, for kernels compiled at run time: what is needed of it is built in. */
#ifndef EP_KERNELS_CUDA_RUNTIME_STDDEF_H
#define EP_KERNELS_CUDA_RUNTIME_STDDEF_H
#endif
