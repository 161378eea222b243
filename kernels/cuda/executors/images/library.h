/* library.h: cuDNN's calls, found when they are first wanted: a GPU without the library trains its
 * images by cuda/general. Only the sources of this folder that need cuDNN's header include this. */
#ifndef EP_KERNELS_CUDA_EXECUTORS_IMAGES_LIBRARY_H
#define EP_KERNELS_CUDA_EXECUTORS_IMAGES_LIBRARY_H

#include <cudnn_graph.h>
#include <stdbool.h>

typedef struct {
  size_t (*version)(void);
  cudnnStatus_t (*open)(cudnnHandle_t *);
  cudnnStatus_t (*stream)(cudnnHandle_t, cudaStream_t);
  cudnnStatus_t (*create)(cudnnBackendDescriptorType_t, cudnnBackendDescriptor_t *);
  cudnnStatus_t (*destroy)(cudnnBackendDescriptor_t);
  cudnnStatus_t (*set)(cudnnBackendDescriptor_t, cudnnBackendAttributeName_t,
                       cudnnBackendAttributeType_t, int64_t, const void *);
  cudnnStatus_t (*get)(cudnnBackendDescriptor_t, cudnnBackendAttributeName_t,
                       cudnnBackendAttributeType_t, int64_t, int64_t *, void *);
  cudnnStatus_t (*finalize)(cudnnBackendDescriptor_t);
  cudnnStatus_t (*execute)(cudnnHandle_t, cudnnBackendDescriptor_t, cudnnBackendDescriptor_t);
  const char *(*text)(cudnnStatus_t);
} ep_cudnn_calls;

/* NULL where the library is not to be found. Thread-safe. */
const ep_cudnn_calls *ep_cudnn(void);

#endif
