/* faulty_backend.cu: a plug-in that is the CUDA plug-in, but for one call of train_segment:
 * whenever the file that EPOCHD_FAULT_FILE names is there, the call removes it and does what the
 * file says:
 *
 *   illegal   a kernel writes to an address that is not its own
 *   assert    a kernel's assertion fails
 *   hang      a kernel does not end
 *   oom       more memory is asked for than there is
 *
 * EPOCHD_FAULT_BACKEND is the path of the plug-in itself. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#undef NDEBUG
#include <assert.h>

#include "kernels/backend.h"

static const ep_backend_ops *real_ops;

__global__ void fault_illegal() {
  *(volatile int *)8 = 1;
}

__global__ void fault_assert(int zero) {
  assert(zero == 1);
}

__global__ void fault_hang(volatile int *forever) {
  while (*forever == 0) {
  }
}

static bool fault_take(char kind[16]) {
  const char *path = getenv("EPOCHD_FAULT_FILE");
  FILE *file = path ? fopen(path, "re") : NULL;
  if (!file) return false;
  bool named = fscanf(file, "%15s", kind) == 1;
  fclose(file);
  return named && unlink(path) == 0;
}

static ep_status fault_do(const char *kind, ep_error *error) {
  void *memory = NULL;
  if (strcmp(kind, "illegal") == 0) fault_illegal<<<1, 1>>>();
  if (strcmp(kind, "assert") == 0) fault_assert<<<1, 1>>>(0);
  if (strcmp(kind, "hang") == 0 && cudaMalloc(&memory, sizeof(int)) == cudaSuccess) {
    cudaMemset(memory, 0, sizeof(int));
    fault_hang<<<1, 1>>>((volatile int *)memory);
  }
  if (strcmp(kind, "oom") == 0 && cudaMalloc(&memory, (size_t)1 << 50) == cudaErrorMemoryAllocation)
    return ep_fail(error, EP_NO_MEMORY, "the device has no memory: %s",
                   cudaGetErrorString(cudaGetLastError()));
  cudaError_t code = cudaDeviceSynchronize();
  return code == cudaSuccess ? EP_OK
                             : ep_fail(error, EP_DEVICE, "CUDA: %s", cudaGetErrorString(code));
}

static ep_status faulty_train_segment(ep_instance *instance, const ep_segment *segment,
                                      ep_error *error) {
  char kind[16];
  ep_status status = fault_take(kind) ? fault_do(kind, error) : EP_OK;
  return status == EP_OK ? real_ops->train_segment(instance, segment, error) : status;
}

extern "C" __attribute__((visibility("default"))) const ep_backend_ops *ep_backend_plugin(void);

const ep_backend_ops *ep_backend_plugin(void) {
  static ep_backend_ops ops;
  const char *path = getenv("EPOCHD_FAULT_BACKEND");
  void *library = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
  if (!library) {
    fprintf(stderr, "EPOCHD_FAULT_BACKEND: %s\n", path ? dlerror() : "is not set");
    abort();
  }
  const ep_backend_ops *(*entry)(void) = NULL;
  *(void **)&entry = dlsym(library, EP_BACKEND_PLUGIN_SYMBOL);
  real_ops = entry();
  ops = *real_ops;
  ops.train_segment = faulty_train_segment;
  return &ops;
}
