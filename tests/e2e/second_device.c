/* A plug-in whose cuda:0 is the CPU once more: what is done with several devices is tested on a
 * machine without a GPU. Its executors are the CPU's, whatever is asked for. */
#include "kernels/backend.h"

const ep_backend_ops *ep_backend_plugin(void);

static ep_status device_open(int device, ep_backend **out, ep_error *error) {
  if (device > 0) return ep_fail(error, EP_NOT_FOUND, "there is no cuda:%d", device);
  return ep_backend_cpu()->open(0, out, error);
}

static ep_status any_compile(ep_backend *backend, const ep_program *program, const char *executor,
                             ep_instance **out, ep_error *error) {
  (void)executor;
  return ep_backend_cpu()->compile(backend, program, NULL, out, error);
}

const ep_backend_ops *ep_backend_plugin(void) {
  static ep_backend_ops ops;
  ops = *ep_backend_cpu();
  ops.name = "cuda";
  ops.open = device_open;
  ops.compile = any_compile;
  return &ops;
}
