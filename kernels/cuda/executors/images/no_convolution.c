/* no_convolution.c: in the place of convolution.c where the plug-in is built without cuDNN's
 * header: no program is taken then. */
#include "kernels/cuda/executors/images/convolution.h"

bool ep_convolutions_exist(void) {
  return false;
}

ep_status ep_convolution_init(ep_backend *backend, cudaStream_t stream,
                              const ep_convolution_shape *shape, const void *x, const void *w,
                              const void *y, void *workspace, ep_convolution *out,
                              ep_error *error) {
  (void)backend;
  (void)stream;
  (void)shape;
  (void)x;
  (void)w;
  (void)y;
  (void)workspace;
  *out = (ep_convolution){.pack = NULL};
  return ep_fail(error, EP_UNSUPPORTED, "this plug-in was built without cuDNN");
}

void ep_convolution_deinit(ep_convolution *convolution) {
  (void)convolution;
}

ep_status ep_convolution_run(const ep_convolution *convolution, ep_error *error) {
  (void)convolution;
  return ep_fail(error, EP_UNSUPPORTED, "this plug-in was built without cuDNN");
}
