/* devices.h: GET /v1/devices. */
#ifndef EP_API_RESPONSES_DEVICES_H
#define EP_API_RESPONSES_DEVICES_H

#include <stdint.h>

#include "api/wire/frame.h"

typedef struct {
  ep_device_info info;
  const char *state;       /* "starting", "idle", "busy", "restarting", "lost" */
  const char *const *jobs; /* [jobs_count] that it has */
  int jobs_count, cores;   /* that jobs may take of it */
  int64_t pid, restarts;   /* of its first worker, of all of them */
} ep_device_view;

/* The caller owns the text (free); NULL when memory is short. */
char *ep_devices_format(const ep_device_view *devices, int count);

#endif
