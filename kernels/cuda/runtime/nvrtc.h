/* nvrtc.h: kernels compiled at run time for one program, by NVRTC, which is opened when first
 * needed: without it the executors that want it do not take programs. */
#ifndef EP_KERNELS_CUDA_RUNTIME_NVRTC_H
#define EP_KERNELS_CUDA_RUNTIME_NVRTC_H

#include "kernels/cuda/runtime/device.h"

/* Whether kernels can be compiled here. Thread-safe. */
bool ep_cuda_compiler_exists(void);

/* Compiles the source `file` (one of sources.h's), which includes the header
 * "kernels/cuda/device/program.h" of source `program` (codegen.h), for the backend's device, and
 * loads the kernel `name` of it. What is loaded already, or is kept on disk (cache.h), is taken
 * again; two threads that ask for the same wait for one of them, and others do not. The program is
 * freed here; NULL says that memory was short for it. *out is the caller's to release. Thread-safe.
 */
typedef struct ep_cuda_compiled ep_cuda_compiled;
ep_status ep_cuda_compile(const ep_backend *backend, const char *file, const char *name,
                          char *program, ep_cuda_compiled **out, ep_error *error);

/* The same without loading it: whether ep_cuda_compile should be called now, because the kernel is
 * on disk or loaded, or because this did what it can: it failed, or its kernel could not be kept.
 * If not, a thread of little priority compiles it from now on, one program after the other, and
 * keeps it on disk; of more than EP_CUDA_AHEAD_MAX that wait, the one that has waited for longest
 * is forgotten. The program is freed here, or later; NULL is as there. Thread-safe. */
enum { EP_CUDA_AHEAD_MAX = 64 };
bool ep_cuda_compile_ahead(const ep_backend *backend, const char *file, char *program);

cudaKernel_t ep_cuda_compiled_kernel(const ep_cuda_compiled *compiled);

/* The kernel stays loaded for those who come back, until EP_LIMIT_LOADED_KERNELS others were asked
 * for since. Its launches must be done. NULL is allowed. Thread-safe. */
void ep_cuda_compiled_release(ep_cuda_compiled *compiled);

#endif
