/* instance.h: a program on the device, for all executors of this backend: its network, its data,
 * evaluation, snapshots. An executor adds how the steps of a segment are run. */
#ifndef EP_KERNELS_CUDA_INSTANCE_H
#define EP_KERNELS_CUDA_INSTANCE_H

#include "kernels/cuda/method.h"

/* method NULL: the network's own kernels, recorded as graphs. */
ep_status ep_cuda_instance_create(ep_backend *backend, const ep_program *program,
                                  const ep_cuda_method *method, void **out, ep_error *error);

/* The other slots of an executor. */
void ep_cuda_instance_destroy(void *state);
int64_t ep_cuda_instance_bytes(const void *state);
ep_status ep_cuda_instance_load_data(void *state, ep_split split, const void *x, const void *y,
                                     int64_t rows, ep_error *error);
ep_status ep_cuda_instance_train_segment(void *state, const ep_segment *segment, ep_error *error);
ep_status ep_cuda_instance_evaluate(void *state, ep_split split, double *loss, int64_t *errors,
                                    ep_error *error);
ep_status ep_cuda_instance_predict(void *state, const void *x, int64_t rows, float *output,
                                   ep_error *error);
ep_status ep_cuda_instance_export_state(void *state, float *parameters, float *optimizer,
                                        ep_error *error);
ep_status ep_cuda_instance_import_state(void *state, const float *parameters,
                                        const float *optimizer, ep_error *error);
ep_status ep_cuda_instance_snapshot(void *state, ep_error *error);
ep_status ep_cuda_instance_rollback(void *state, ep_error *error);

#define EP_CUDA_INSTANCE_SLOTS                                                                  \
  .destroy = ep_cuda_instance_destroy, .bytes = ep_cuda_instance_bytes,                         \
  .load_data = ep_cuda_instance_load_data, .train_segment = ep_cuda_instance_train_segment,     \
  .evaluate = ep_cuda_instance_evaluate, .predict = ep_cuda_instance_predict,                   \
  .export_state = ep_cuda_instance_export_state, .import_state = ep_cuda_instance_import_state, \
  .snapshot = ep_cuda_instance_snapshot, .rollback = ep_cuda_instance_rollback

/* The executors, a file each. */
extern const ep_executor ep_cuda_gemm_executor; /* wide dense networks, below float32 */
extern const ep_executor ep_cuda_general;       /* everything */
extern const ep_executor ep_cuda_resident;      /* small dense networks: a segment in one launch */
extern const ep_executor ep_cuda_cnn;           /* small convolutional networks: likewise */
extern const ep_executor ep_cuda_fused;         /* narrow dense networks on many rows: likewise */
extern const ep_executor ep_cuda_cluster;       /* small dense networks: likewise, by a cluster */
extern const ep_executor ep_cuda_images;        /* networks of images, by cuDNN */
extern const ep_executor ep_cuda_grid; /* middle dense networks: likewise, by many blocks */

#endif
