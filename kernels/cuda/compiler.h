/* compiler.h: kernels compiled at run time for one program, by NVRTC, which is opened when first
 * needed: without it the executors that want it do not take programs. */
#ifndef EP_KERNELS_CUDA_COMPILER_H
#define EP_KERNELS_CUDA_COMPILER_H

#include "kernels/cuda/device.h"

/* Whether kernels can be compiled here. Thread-safe. */
bool ep_cuda_compiler_exists(void);

/* Compiles the source `file` (one of sources.h's), which includes the header
 * "kernels/cuda/runtime/program.h" of text `program` (text.h), for the backend's device, and loads
 * the kernel `name` of it. What was compiled once in this process, or is kept on disk (cache.h), is
 * taken again. The program is freed here; NULL says that memory was short for it. *out stays valid
 * until the process ends. Thread-safe. */
ep_status ep_cuda_compile(const ep_backend *backend, const char *file, const char *name,
                          char *program, cudaKernel_t *out, ep_error *error);

#endif
