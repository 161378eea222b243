/* plans.h: how a convolution is described to cuDNN, and what cuDNN would run for it. For
 * convolution.c alone. */
#ifndef EP_KERNELS_CUDA_EXECUTORS_IMAGES_PLANS_H
#define EP_KERNELS_CUDA_EXECUTORS_IMAGES_PLANS_H

#include "kernels/cuda/executors/images/convolution_shape.h"
#include "kernels/cuda/executors/images/library.h"
#include "kernels/cuda/runtime/device.h"

/* Sets *error from what cuDNN or CUDA said while `doing`, which completes "… failed". */
ep_status ep_cudnn_fail(cudnnStatus_t code, const char *doing, ep_error *error);
void ep_cudnn_destroy(cudnnBackendDescriptor_t descriptor); /* NULL is allowed */

enum { EP_PLANS_LISTED = 16, EP_PLANS_LISTS = 2, EP_PLANS_DESCRIPTORS = 8 };

/* Engine configurations, the likeliest first. */
typedef struct {
  cudnnBackendDescriptor_t rows[EP_PLANS_LISTED];
  int64_t count;
} ep_plan_list;

/* What cuDNN would try for a shape: what it thinks best, and what works for more. */
typedef struct {
  cudnnHandle_t handle;                                       /* lent */
  cudnnBackendDescriptor_t descriptors[EP_PLANS_DESCRIPTORS]; /* in the order they were made in */
  int count;
  ep_plan_list lists[EP_PLANS_LISTS];
} ep_plans;

/* *out is for ep_plans_deinit, also after a failure. */
ep_status ep_plans_init(cudnnHandle_t handle, const ep_convolution_shape *shape, ep_plans *out,
                        ep_error *error);
void ep_plans_deinit(ep_plans *plans);

typedef struct {
  bool suits; /* it gives the same bits every time */
  bool ready; /* it comes with the library; else it is compiled first */
  bool has_tensor_cores;
} ep_plan_kind;
ep_plan_kind ep_plan_kind_of(cudnnBackendDescriptor_t candidate);

/* The candidate as something to run, which the caller destroys; false when it does not do, here or
 * at all. */
bool ep_plan_make(cudnnHandle_t handle, cudnnBackendDescriptor_t candidate,
                  cudnnBackendDescriptor_t *plan);

/* A plan as cuDNN writes it down, which the caller frees, or NULL; and back, as above. Another
 * process with the same library on the same kind of device runs the same kernel by it. */
char *ep_plan_write(cudnnBackendDescriptor_t plan, size_t *bytes);
bool ep_plan_read(cudnnHandle_t handle, const char *text, size_t bytes,
                  cudnnBackendDescriptor_t *plan);

/* The addresses that a plan runs with; the caller destroys *out. */
ep_status ep_plan_pack_make(const void *x, const void *w, const void *y, void *workspace,
                            cudnnBackendDescriptor_t *out, ep_error *error);

#endif
