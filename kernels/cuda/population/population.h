/* population.h: many trainings of one shape in one launch, by kernels that are compiled for the
 * shape. The slots of backend.h, on the device that is the calling thread's. */
#ifndef EP_KERNELS_CUDA_POPULATION_POPULATION_H
#define EP_KERNELS_CUDA_POPULATION_POPULATION_H

#include "kernels/cuda/runtime/device.h"

int64_t ep_cuda_population_size(const ep_backend *backend, const ep_program *program);

/* One call at a time: others wait. */
ep_status ep_cuda_population_train(ep_backend *backend, ep_population *population, ep_error *error);

/* Frees what is kept between calls. */
void ep_cuda_population_forget(ep_backend *backend);

#endif
