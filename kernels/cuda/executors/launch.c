#include "kernels/cuda/executors/launch.h"

/* attributes: written, and lent to the answer. */
static cudaLaunchConfig_t config_of(const ep_cuda_launch *launch, cudaStream_t stream,
                                    cudaLaunchAttribute attributes[2]) {
  unsigned count = 0;
  if (launch->cluster) {
    cudaLaunchAttribute *attribute = &attributes[count++];
    *attribute = (cudaLaunchAttribute){.id = cudaLaunchAttributeClusterDimension};
    attribute->val.clusterDim.x = (unsigned)launch->cluster;
    attribute->val.clusterDim.y = attribute->val.clusterDim.z = 1;
  }
  if (launch->cooperative) {
    cudaLaunchAttribute *attribute = &attributes[count++];
    *attribute = (cudaLaunchAttribute){.id = cudaLaunchAttributeCooperative};
    attribute->val.cooperative = 1;
  }
  return (cudaLaunchConfig_t){.gridDim = {(unsigned)launch->blocks, 1, 1},
                              .blockDim = {(unsigned)launch->threads, 1, 1},
                              .dynamicSmemBytes = (size_t)launch->shared_bytes,
                              .stream = stream,
                              .attrs = attributes,
                              .numAttrs = count};
}

/* Whether the device has as many multiprocessors side by side as the clusters have blocks. */
static ep_status cluster_check(const ep_backend *backend, const ep_cuda_launch *launch,
                               ep_error *error) {
  cudaLaunchAttribute attributes[2];
  const cudaLaunchConfig_t config = config_of(launch, NULL, attributes);
  int clusters = 0;
  cudaError_t code =
      cudaOccupancyMaxActiveClusters(&clusters, (const void *)launch->kernel, &config);
  if (code == cudaErrorInvalidClusterSize)
    cudaGetLastError(); /* forgets it */
  else
    EP_CUDA_TRY(code, "asking for room for a cluster");
  const int wanted = launch->blocks / launch->cluster;
  if (clusters >= wanted) return EP_OK;
  return ep_fail(error, EP_UNSUPPORTED, "%s has room for %d of %d clusters of %d blocks",
                 backend->name, clusters, wanted, launch->cluster);
}

/* Whether all blocks of a launch whose blocks wait for each other are there at once. */
static ep_status cooperative_check(const ep_backend *backend, const ep_cuda_launch *launch,
                                   ep_error *error) {
  int each = 0;
  EP_CUDA_TRY(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, (const void *)launch->kernel,
                                                            launch->threads,
                                                            (size_t)launch->shared_bytes),
              "asking for room for the blocks");
  const int room = each * backend->gpu.multiprocessors;
  if (room >= launch->blocks) return EP_OK;
  return ep_fail(error, EP_UNSUPPORTED, "%s has room for %d of %d blocks", backend->name, room,
                 launch->blocks);
}

ep_status ep_cuda_launch_prepare(const ep_backend *backend, const ep_cuda_launch *launch,
                                 int64_t shared_bytes, ep_error *error) {
  const int portable_blocks = 8; /* of a cluster, on every device that has them */
  EP_CUDA_TRY(cudaKernelSetAttributeForDevice(launch->kernel,
                                              cudaFuncAttributeMaxDynamicSharedMemorySize,
                                              (int)shared_bytes, backend->device),
              "asking for shared memory");
  if (launch->cooperative) {
    ep_status status = cooperative_check(backend, launch, error);
    if (status != EP_OK) return status;
  }
  if (!launch->cluster) return EP_OK;
  if (launch->cluster > portable_blocks)
    EP_CUDA_TRY(cudaKernelSetAttributeForDevice(launch->kernel,
                                                cudaFuncAttributeNonPortableClusterSizeAllowed, 1,
                                                backend->device),
                "asking for a large cluster");
  return cluster_check(backend, launch, error);
}

ep_status ep_cuda_launch_compile(const ep_backend *backend, const char *file, const char *name,
                                 char *program, ep_cuda_launch *launch, ep_error *error) {
  ep_status status = ep_cuda_compile(backend, file, name, program, &launch->compiled, error);
  if (status != EP_OK) return status;
  launch->kernel = ep_cuda_compiled_kernel(launch->compiled);
  return ep_cuda_launch_prepare(backend, launch, launch->shared_bytes, error);
}

void ep_cuda_launch_deinit(ep_cuda_launch *launch) {
  ep_cuda_compiled_release(launch->compiled);
  *launch = (ep_cuda_launch){.compiled = NULL};
}

ep_status ep_cuda_launch_run(const ep_cuda_launch *launch, cudaStream_t stream, const void *args,
                             ep_error *error) {
  cudaLaunchAttribute attributes[2];
  const cudaLaunchConfig_t config = config_of(launch, stream, attributes);
  void *arguments[] = {(void *)args};
  if (launch->barrier)
    EP_CUDA_TRY(cudaMemsetAsync(launch->barrier, 0, (size_t)launch->barrier_bytes, stream),
                "clearing the barrier");
  EP_CUDA_TRY(cudaLaunchKernelExC(&config, (const void *)launch->kernel, arguments),
              "launching the steps");
  return EP_OK;
}
