/* instance.h: a program on the device, for all executors of this backend: its network, its data,
 * evaluation, snapshots. An executor adds how the steps of a segment are run. */
#ifndef EP_KERNELS_CUDA_INSTANCE_H
#define EP_KERNELS_CUDA_INSTANCE_H

#include "kernels/cuda/executors/executor.h"

/* EP_UNSUPPORTED as the executor's create says. */
ep_status ep_cuda_instance_create(ep_backend *backend, const ep_program *program,
                                  const ep_cuda_executor *executor, ep_instance **out,
                                  ep_error *error);
void ep_cuda_instance_destroy(ep_instance *self); /* NULL is allowed */
void ep_cuda_instance_info(const ep_instance *self, ep_instance_info *out);
const ep_backend *ep_cuda_instance_backend(const ep_instance *self); /* lent */

/* The slots of backend.h, on the device that is the calling thread's. */
ep_status ep_cuda_instance_load_data(ep_instance *self, ep_split split, const void *x,
                                     const void *y, int64_t rows, ep_error *error);
ep_status ep_cuda_instance_train_segment(ep_instance *self, const ep_segment *segment,
                                         ep_error *error);
ep_status ep_cuda_instance_evaluate(ep_instance *self, ep_split split, double *loss,
                                    int64_t *errors, ep_error *error);
ep_status ep_cuda_instance_predict(ep_instance *self, const void *x, int64_t rows, float *output,
                                   ep_error *error);
ep_status ep_cuda_instance_export_state(ep_instance *self, float *parameters, float *optimizer,
                                        ep_error *error);
ep_status ep_cuda_instance_import_state(ep_instance *self, const float *parameters,
                                        const float *optimizer, ep_error *error);
ep_status ep_cuda_instance_snapshot(ep_instance *self, ep_error *error);
ep_status ep_cuda_instance_rollback(ep_instance *self, ep_error *error);

#endif
