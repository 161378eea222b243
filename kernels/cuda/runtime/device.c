#include "kernels/cuda/runtime/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/runtime/probe_kernel.h"

/* After an error that the context does not survive, every later call fails too. One made while a
 * graph is being recorded also does, and means nothing. */
static bool context_lost(void) {
  cudaGetLastError(); /* forgets the last error, unless it is one that stays */
  cudaError_t code = cudaDeviceSynchronize();
  bool recording =
      code >= cudaErrorStreamCaptureUnsupported && code <= cudaErrorStreamCaptureWrongThread;
  if (recording) cudaGetLastError();
  return code != cudaSuccess && !recording;
}

ep_status ep_cuda_fail(ep_error *error, cudaError_t code, const char *doing) {
  ep_status status = EP_INTERNAL;
  if (context_lost())
    status = EP_DEVICE;
  else if (code == cudaErrorMemoryAllocation)
    status = EP_NO_MEMORY;
  return ep_fail(error, status, "%s failed: %s (%s)", doing, cudaGetErrorString(code),
                 cudaGetErrorName(code));
}

ep_status ep_cuda_blas_fail(ep_error *error, cublasStatus_t code, const char *doing) {
  ep_status status = EP_INTERNAL;
  if (context_lost())
    status = EP_DEVICE;
  else if (code == CUBLAS_STATUS_ALLOC_FAILED)
    status = EP_NO_MEMORY;
  return ep_fail(error, status, "%s failed: %s", doing, cublasLtGetStatusString(code));
}

ep_status ep_cuda_allocate(const ep_backend *backend, void **out, int64_t rows, int64_t row_bytes,
                           int64_t *total, ep_error *error) {
  *out = NULL;
  int64_t size, sum;
  if (__builtin_mul_overflow(rows, row_bytes, &size) ||
      __builtin_add_overflow(*total, size, &sum) || sum > backend->memory_bytes)
    return ep_fail(error, EP_NO_MEMORY,
                   "%lld × %lld more bytes do not fit on %s, which has %lld MiB", (long long)rows,
                   (long long)row_bytes, backend->name, (long long)(backend->memory_bytes >> 20));
  if (size == 0) return EP_OK;
  EP_CUDA_TRY(cudaMalloc(out, (size_t)size), "taking device memory");
  *total = sum;
  return EP_OK;
}

void ep_cuda_free(void *memory) {
  if (memory) cudaFree(memory);
}

ep_status ep_cuda_device_use(const ep_backend *backend, ep_error *error) {
  EP_CUDA_TRY(cudaSetDevice(backend->device), "choosing the device");
  return EP_OK;
}

/* CUDA's version numbers are 1000 × major + 10 × minor. */
static ep_status driver_too_old(ep_error *error, int driver) {
  return ep_fail(
      error, EP_UNSUPPORTED,
      "the NVIDIA driver is too old: it supports CUDA %d.%d, and this build requires %d.%d; "
      "install a newer driver",
      driver / 1000, driver % 1000 / 10, CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10);
}

/* Whether there is a driver, new enough, that has device number `device`. */
static ep_status device_find(int device, ep_error *error) {
  int driver = 0, count = 0;
  EP_CUDA_TRY(cudaDriverGetVersion(&driver), "asking for the driver's version");
  if (driver == 0) return ep_fail(error, EP_NOT_FOUND, "no NVIDIA driver on this machine");
  cudaError_t code = cudaGetDeviceCount(&count);
  if (code == cudaErrorInsufficientDriver) return driver_too_old(error, driver);
  if (code == cudaErrorNoDevice)
    return ep_fail(error, EP_NOT_FOUND, "no NVIDIA GPU on this machine");
  if (code == cudaErrorSystemDriverMismatch || code == cudaErrorCompatNotSupportedOnDevice)
    return ep_fail(error, EP_UNSUPPORTED, "the NVIDIA driver's components do not match: %s",
                   cudaGetErrorString(code));
  EP_CUDA_TRY(code, "counting the GPUs");
  if (device < 0 || device >= count)
    return ep_fail(error, EP_NOT_FOUND, "no GPU %d: this machine has %d", device, count);
  return EP_OK;
}

/* Whether the device can run this build's machine code, or its driver compile the PTX; and of which
 * generation that is: older ones are compiled without what their GPUs could not do. */
static ep_status code_check(ep_backend *backend, ep_error *error) {
  if (backend->gpu.capability < EP_CUDA_OLDEST_CAPABILITY)
    return ep_fail(
        error, EP_UNSUPPORTED,
        "%s is too old: it has compute capability %d.%d, and this build requires %d.%d or newer",
        backend->name, backend->gpu.capability / 10, backend->gpu.capability % 10,
        EP_CUDA_OLDEST_CAPABILITY / 10, EP_CUDA_OLDEST_CAPABILITY % 10);
  cudaError_t code = ep_cuda_probe_load(&backend->gpu.generation);
  if (code == cudaErrorUnsupportedPtxVersion) {
    int driver = 0;
    cudaDriverGetVersion(&driver);
    return driver_too_old(error, driver);
  }
  if (code == cudaErrorNoKernelImageForDevice || code == cudaErrorInvalidDeviceFunction)
    return ep_fail(error, EP_UNSUPPORTED,
                   "this build contains no code for %s, of compute capability %d.%d: build with "
                   "-DCMAKE_CUDA_ARCHITECTURES=%d",
                   backend->name, backend->gpu.capability / 10, backend->gpu.capability % 10,
                   backend->gpu.capability);
  EP_CUDA_TRY(code, "loading the kernels");
  return EP_OK;
}

static ep_status device_read(ep_backend *backend, ep_error *error) {
  struct cudaDeviceProp properties;
  EP_CUDA_TRY(cudaGetDeviceProperties(&properties, backend->device),
              "reading the device's properties");
  snprintf(backend->name, sizeof backend->name, "%.127s", properties.name);
  backend->gpu.multiprocessors = properties.multiProcessorCount;
  backend->gpu.capability = 10 * properties.major + properties.minor;
  backend->memory_bytes = (int64_t)properties.totalGlobalMem;
  return EP_OK;
}

ep_status ep_cuda_device_open(int device, ep_backend **out, ep_error *error) {
  *out = NULL;
  ep_status status = device_find(device, error);
  if (status != EP_OK) return status;
  ep_backend *backend = calloc(1, sizeof *backend);
  if (!backend) return ep_fail(error, EP_NO_MEMORY, "no memory for a device");
  backend->device = device;
  status = ep_cuda_device_use(backend, error);
  if (status == EP_OK) status = device_read(backend, error);
  if (status == EP_OK) status = code_check(backend, error);
  if (status == EP_OK) {
    cublasStatus_t code = cublasLtCreate(&backend->blas);
    if (code != CUBLAS_STATUS_SUCCESS) {
      backend->blas = NULL;
      status = ep_cuda_blas_fail(error, code, "starting cuBLASLt");
    }
  }
  if (status != EP_OK) {
    ep_cuda_device_close(backend);
    return status;
  }
  *out = backend;
  return EP_OK;
}

void ep_cuda_device_close(ep_backend *backend) {
  if (!backend) return;
  if (backend->blas) cublasLtDestroy(backend->blas);
  free(backend);
}

ep_status ep_cuda_device_info(ep_backend *backend, ep_backend_info *out, ep_error *error) {
  ep_status status = ep_cuda_device_use(backend, error);
  if (status != EP_OK) return status;
  size_t free_bytes, total_bytes;
  EP_CUDA_TRY(cudaMemGetInfo(&free_bytes, &total_bytes), "asking for the free memory");
  memset(out, 0, sizeof *out);
  memcpy(out->name, backend->name, sizeof out->name);
  int driver;
  EP_CUDA_TRY(cudaDriverGetVersion(&driver), "asking for the driver's version");
  snprintf(out->driver, sizeof out->driver, "CUDA %d.%d", driver / 1000, driver % 1000 / 10);
  snprintf(out->instruction_set, sizeof out->instruction_set, "sm_%d", backend->gpu.capability);
  out->memory_bytes = backend->memory_bytes;
  out->memory_free_bytes = (int64_t)free_bytes;
  out->threads = backend->gpu.multiprocessors;
  return EP_OK;
}
