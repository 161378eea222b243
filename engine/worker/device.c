#include "engine/worker/device.h"

#include <dlfcn.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/host/memory.h"
#include "engine/sandbox/sandbox.h"

static const char plugin_file[] = "ep_backend_cuda.so";

/* The plug-in's path below the folder of this program; false when there is none. */
static bool plugin_find(char *path, size_t capacity) {
  static const char *const places[] = {"", "../lib/epochd/", "../kernels/cuda/"};
  char program[PATH_MAX];
  ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
  if (length < 0) return false;
  program[length] = 0;
  const char *folder = dirname(program);
  for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
    int needed = snprintf(path, capacity, "%s/%s%s", folder, places[i], plugin_file);
    if (needed > 0 && (size_t)needed < capacity && access(path, R_OK) == 0) return true;
  }
  return false;
}

/* The plug-in stays loaded: its code runs until the process ends. */
static ep_status plugin_load(const char *plugin, const ep_backend_ops **ops, ep_error *error) {
  char found[PATH_MAX];
  if (!plugin) {
    if (!plugin_find(found, sizeof found))
      return ep_fail(error, EP_NOT_FOUND, "%s is not installed: this build serves the CPU only",
                     plugin_file);
    plugin = found;
  }
  void *library = dlopen(plugin, RTLD_NOW | RTLD_LOCAL);
  if (!library) return ep_fail(error, EP_NOT_FOUND, "cannot load %s: %s", plugin, dlerror());
  const ep_backend_ops *(*entry)(void) = NULL;
  *(void **)&entry = dlsym(library, EP_BACKEND_PLUGIN_SYMBOL);
  if (!entry) return ep_fail(error, EP_NOT_FOUND, "%s is not an epochd backend", plugin);
  *ops = entry();
  if ((*ops)->version != EP_BACKEND_VERSION)
    return ep_fail(error, EP_NOT_FOUND,
                   "%s has interface version %u, this program needs %d: reinstall", plugin,
                   (*ops)->version, EP_BACKEND_VERSION);
  return EP_OK;
}

ep_status ep_device_open(const char *name, const char *plugin, ep_device *out, ep_error *error) {
  int number = 0;
  ep_status status = EP_OK;
  if (strcmp(name, "cpu") == 0) {
    out->ops = ep_backend_cpu();
  } else if (strncmp(name, "cuda:", 5) == 0) {
    char *end;
    long parsed = strtol(name + 5, &end, 10);
    if (end == name + 5 || *end || parsed < 0 || parsed >= EP_LIMIT_DEVICE_NUMBER)
      return ep_fail(error, EP_NOT_FOUND, "unknown device \"%s\": use cuda:N with a number N",
                     name);
    number = (int)parsed;
    status = plugin_load(plugin, &out->ops, error);
  } else {
    return ep_fail(error, EP_NOT_FOUND, "unknown device \"%s\": the devices are cpu and cuda:N",
                   name);
  }
  return status == EP_OK ? out->ops->open(number, &out->backend, error) : status;
}

ep_status ep_device_describe(const ep_device *device, const char *name, ep_device_info *out,
                             ep_error *error) {
  ep_backend_info info;
  ep_status status = device->ops->info(device->backend, &info, error);
  if (status != EP_OK) return status;
  *out = (ep_device_info){.memory_bytes = info.memory_bytes,
                          .memory_free_bytes = info.memory_free_bytes,
                          .threads = info.threads};
  snprintf(out->id, sizeof out->id, "%s", name);
  snprintf(out->name, sizeof out->name, "%s", info.name);
  snprintf(out->instruction_set, sizeof out->instruction_set, "%s", info.instruction_set);
  snprintf(out->driver, sizeof out->driver, "%s", info.driver);
  if (strcmp(name, "cpu") != 0) return EP_OK;
  const ep_memory memory = ep_memory_read(); /* the backend sees the machine, not its groups */
  out->memory_bytes = memory.total_bytes;
  out->memory_free_bytes = memory.free_bytes;
  return EP_OK;
}

void ep_device_close(ep_device *device) {
  device->ops->close(device->backend);
  device->backend = NULL;
}

int ep_devices_print(const char *plugin) {
  puts("cpu");
  for (int number = 0;; number++) {
    char name[16];
    ep_device device;
    ep_error error = {0};
    snprintf(name, sizeof name, "cuda:%d", number);
    ep_status status = ep_device_open(name, plugin, &device, &error);
    if (status == EP_OK) {
      puts(name);
      ep_device_close(&device);
    } else {
      if (status != EP_NOT_FOUND)
        fprintf(stderr, "%s: %s\n", name, error.message);
      else if (number == 0)
        printf("# %s: %s\n", name, error.message); /* a machine without a GPU is none the worse */
      if (status != EP_UNSUPPORTED || number > 64) return 0;
    }
  }
}

void ep_device_give_up(const char *when, const char *message) {
  fprintf(stderr, "epoch-worker: %s: %s\n", when, message);
  _exit(EP_EXIT_DEVICE);
}

void ep_device_environment_complete(char **argv) {
  char program[PATH_MAX]; /* by its own path, whose last part is the process's name */
  const char *variable, *value;
  if (!ep_backend_cpu_lacks(&variable, &value)) return;
  ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
  if (length < 0 || setenv(variable, value, 1) != 0) return;
  program[length] = 0;
  execv(program, argv); /* replaced meanwhile: it goes on without */
}

void ep_device_walls_raise(const char *device) {
  bool cpu = strcmp(device, "cpu") == 0;
  ep_sandbox_enter(&(ep_sandbox){.kind = cpu ? EP_SANDBOX_CPU : EP_SANDBOX_GPU});
}
