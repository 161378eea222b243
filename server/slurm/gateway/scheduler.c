#include "server/slurm/gateway/scheduler.h"

#include <string.h>

static const ep_scheduler *const SCHEDULERS[] = {&ep_scheduler_slurm, &ep_scheduler_kubernetes};
enum { SCHEDULERS_COUNT = sizeof SCHEDULERS / sizeof *SCHEDULERS };

const ep_scheduler *const *ep_schedulers(int *count) {
  *count = SCHEDULERS_COUNT;
  return SCHEDULERS;
}

const ep_scheduler *ep_scheduler_find(const char *device) {
  for (int i = 0; i < SCHEDULERS_COUNT; i++)
    if (strncmp(device, SCHEDULERS[i]->prefix, strlen(SCHEDULERS[i]->prefix)) == 0)
      return SCHEDULERS[i];
  return NULL;
}
