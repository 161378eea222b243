/* stddef.h, for kernels compiled at run time: what is needed of it is built in. */
#ifndef EP_KERNELS_CUDA_DEVICE_STD_STDDEF_H
#define EP_KERNELS_CUDA_DEVICE_STD_STDDEF_H
#endif
