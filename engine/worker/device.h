/* device.h: a device by its name ("cpu", "cuda:1") and the backend that drives it, built in or
 * loaded. */
#ifndef EP_ENGINE_WORKER_DEVICE_H
#define EP_ENGINE_WORKER_DEVICE_H

#include "api/wire/frame.h"
#include "kernels/backend.h"

typedef struct {
  const ep_backend_ops *ops;
  ep_backend *backend;
} ep_device;

enum { EP_EXIT_DEVICE = 3 }; /* a worker whose device failed: only a new process helps */
/* Ends this process so. when: what it was at. From any thread. */
_Noreturn void ep_device_give_up(const char *when, const char *message);

/* Opens `name`. plugin: path of the CUDA plug-in, NULL = ep_backend_cuda.so beside this program or
 * in
 * ../lib/epochd. EP_NOT_FOUND: no such device; EP_UNSUPPORTED: too old, says what is needed. */
ep_status ep_device_open(const char *name, const char *plugin, ep_device *out, ep_error *error);
void ep_device_close(ep_device *device);
/* What epochd is told of it. */
ep_status ep_device_describe(const ep_device *device, const char *name, ep_device_info *out,
                             ep_error *error);

/* Prints the devices that can be used, a line each; what cannot, and why, goes to stderr. Returns
 * the exit code. */
int ep_devices_print(const char *plugin);

/* First of all: starts this program anew, once, where libraries need a variable in its environment;
 * also for a GPU, whose worker predicts on the CPU. */
void ep_device_environment_complete(char **argv);

/* Before the device is opened, a spec is read, or data are. A wall that this machine does not
 * permit stays open: epochd's own process logs that once. */
void ep_device_walls_raise(const char *name);

#endif
