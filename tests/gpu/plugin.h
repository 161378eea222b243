/* plugin.h: the backend under test. */
#ifndef EP_TESTS_GPU_PLUGIN_H
#define EP_TESTS_GPU_PLUGIN_H

#include "kernels/backend.h"

/* The plug-in's table, or NULL with a line. The plug-in stays until the process ends. */
const ep_backend_ops *ep_gpu_plugin_open(const char *path);

#endif
