/* no_convolution.c: in the place of convolution.c where the plug-in is built without cuDNN's
 * header: no program is taken then. */
#include "kernels/cuda/images/convolution.h"

bool ep_convolutions_exist(void) {
  return false;
}

ep_status ep_convolutions_open(ep_backend *backend, cudaStream_t stream, ep_convolutions **out,
                               ep_error *error) {
  (void)backend;
  (void)stream;
  *out = NULL;
  return ep_fail(error, EP_UNSUPPORTED, "this plug-in was built without cuDNN");
}

void ep_convolutions_close(ep_convolutions *library) {
  (void)library;
}

ep_status ep_convolution_init(ep_convolutions *library, const ep_convolution_shape *shape,
                              const void *x, const void *w, const void *y, void *workspace,
                              ep_convolution *out, ep_error *error) {
  (void)library;
  (void)shape;
  (void)x;
  (void)w;
  (void)y;
  (void)workspace;
  *out = (ep_convolution){NULL, NULL};
  return ep_fail(error, EP_UNSUPPORTED, "this plug-in was built without cuDNN");
}

void ep_convolution_deinit(ep_convolution *convolution) {
  (void)convolution;
}

ep_status ep_convolution_run(ep_convolutions *library, const ep_convolution *convolution,
                             ep_error *error) {
  (void)library;
  (void)convolution;
  return ep_fail(error, EP_UNSUPPORTED, "this plug-in was built without cuDNN");
}
