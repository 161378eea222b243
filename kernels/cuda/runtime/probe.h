/* probe.h: real work on a device, whose outcome is known. */
#ifndef EP_KERNELS_CUDA_RUNTIME_PROBE_H
#define EP_KERNELS_CUDA_RUNTIME_PROBE_H

#include "kernels/cuda/runtime/device.h"

/* As in backend.h. */
ep_status ep_cuda_device_probe(ep_backend *backend, ep_error *error);

#endif
