#include "server/workers/device_list.h"

#include <stdlib.h>
#include <string.h>

const char *ep_device_state_name(ep_device_state state) {
  static const char *const names[] = {"starting", "idle", "busy", "restarting", "absent", "lost"};
  return names[state];
}

const ep_device_status *ep_device_list_find(const ep_device_list *devices, const char *id) {
  for (int i = 0; i < devices->count; i++)
    if (strcmp(devices->device[i].info.id, id) == 0) return &devices->device[i];
  return NULL;
}

bool ep_device_is_cuda(const char *id) {
  return strncmp(id, "cuda", 4) == 0;
}

bool ep_device_is_remote(const char *id) {
  return strncmp(id, EP_SLURM_PREFIX, strlen(EP_SLURM_PREFIX)) == 0 ||
         strncmp(id, EP_KUBERNETES_PREFIX, strlen(EP_KUBERNETES_PREFIX)) == 0;
}

int ep_device_number(const char *id) {
  const char *colon = strchr(id, ':');
  return colon ? (int)strtol(colon + 1, NULL, 10) : -1;
}
