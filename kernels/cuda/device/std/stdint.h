/* stdint.h, for kernels compiled at run time: NVRTC has no system headers. */
#ifndef EP_KERNELS_CUDA_DEVICE_STD_STDINT_H
#define EP_KERNELS_CUDA_DEVICE_STD_STDINT_H
typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long long int64_t;
typedef unsigned long long uint64_t;
#define UINT32_C(value) value##u
#define INT64_C(value) value##ll
#define UINT64_C(value) value##ull
#endif
