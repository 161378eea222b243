#include "kernels/cuda/executors/images/library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static ep_cudnn_calls calls;
static bool found;

/* dlsym gives an object's pointer where a function's is wanted. */
static bool find(void *library, const char *name, void *call, size_t bytes) {
  void *symbol = dlsym(library, name);
  memcpy(call, &symbol, bytes);
  return symbol != NULL;
}
#define FIND(slot, name) find(library, name, &calls.slot, sizeof calls.slot)

static void load(void) {
  char name[32];
  snprintf(name, sizeof name, "libcudnn.so.%d", CUDNN_MAJOR);
  void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  found = library && FIND(version, "cudnnGetVersion") && FIND(open, "cudnnCreate") &&
          FIND(stream, "cudnnSetStream") && FIND(create, "cudnnBackendCreateDescriptor") &&
          FIND(destroy, "cudnnBackendDestroyDescriptor") && FIND(set, "cudnnBackendSetAttribute") &&
          FIND(get, "cudnnBackendGetAttribute") && FIND(finalize, "cudnnBackendFinalize") &&
          FIND(execute, "cudnnBackendExecute") && FIND(text, "cudnnGetErrorString");
}

const ep_cudnn_calls *ep_cudnn(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, load);
  return found ? &calls : NULL;
}
