#include "tests/gpu/plugin.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

const ep_backend_ops *ep_gpu_plugin_open(const char *path) {
  void *plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!plugin) {
    printf("FAIL  %s\n", dlerror());
    return NULL;
  }
  const ep_backend_ops *(*get)(void) = NULL;
  void *symbol = dlsym(plugin, EP_BACKEND_PLUGIN_SYMBOL);
  memcpy(&get, &symbol, sizeof get);
  const ep_backend_ops *ops = get ? get() : NULL;
  if (!ops || ops->version != EP_BACKEND_VERSION) {
    printf("FAIL  %s is no plug-in of version %d\n", path, EP_BACKEND_VERSION);
    return NULL;
  }
  return ops;
}
