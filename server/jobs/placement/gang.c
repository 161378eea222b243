#include "server/jobs/placement/gang.h"

#include <string.h>

#include "server/jobs/placement/fit.h"

ep_gang ep_gang_make(const ep_parallel_spec *parallel) {
  const int ranks = parallel->data * parallel->model;
  if (ranks <= 1) return (ep_gang){0};
  return (ep_gang){.least = parallel->elastic ? 1 : parallel->data, .most = ranks};
}

/* Whether it is a GPU that the job may have. */
static bool serves(const ep_device_status *device, const char *requested_device) {
  return ep_device_is_cuda(device->info.id) && device->state != EP_DEVICE_LOST &&
         ep_fit_requested(requested_device, device->info.id);
}

int ep_gang_wanted(const ep_gang *gang, int there) {
  const int wanted = gang->most < there ? gang->most : there;
  return wanted > gang->least ? wanted - wanted % gang->least : wanted; /* no GPU of two replicas */
}

bool ep_gang_choose(ep_gang *gang, const char *requested_device, const char *leader,
                    const ep_device_list *devices, const bool *held) {
  const int wanted = ep_gang_wanted(gang, ep_fit_gpus(requested_device, devices));
  gang->count = 0;
  gang->gpu[gang->count++] = (int16_t)ep_device_number(leader);
  for (int i = 0; i < devices->count && gang->count < wanted; i++) {
    const ep_device_status *device = &devices->device[i];
    bool other = strcmp(device->info.id, leader) != 0;
    if (other && serves(device, requested_device) && device->state == EP_DEVICE_IDLE && !held[i])
      gang->gpu[gang->count++] = (int16_t)ep_device_number(device->info.id);
  }
  if (gang->count == wanted) return true;
  gang->count = 0;
  return false;
}
