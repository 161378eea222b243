/* sources.h: the texts that kernels are compiled from at run time; written into sources.c when the
 * plug-in is built. */
#ifndef EP_KERNELS_CUDA_RUNTIME_SOURCES_H
#define EP_KERNELS_CUDA_RUNTIME_SOURCES_H

typedef struct {
  const char *name; /* as #include has it */
  const char *text;
} ep_cuda_source;

extern const ep_cuda_source EP_CUDA_SOURCES[];
extern const int EP_CUDA_SOURCES_COUNT;

#endif
