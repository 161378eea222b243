/* devices.h: GET /v1/devices. */
#ifndef EP_API_RESPONSES_DEVICES_H
#define EP_API_RESPONSES_DEVICES_H

#include <stdint.h>

#include "api/wire/frame.h"

/* A partition of Slurm, as sinfo showed it last. */
typedef struct {
  bool up;
  int nodes, nodes_idle, nodes_unavailable;
  int cpus, cpus_idle, gpus, gpus_idle; /* of nodes that take jobs */
  int node_cpus, node_gpus;             /* the most that one node has */
  int64_t node_memory_bytes;
  int64_t max_minutes, default_minutes; /* of a worker; 0 = no limit */
} ep_partition_view;

typedef struct {
  ep_device_info info;
  const char *state;       /* "starting", "idle", "busy", "restarting", "absent", "lost" */
  const char *const *jobs; /* [jobs_count] that it has */
  int jobs_count, cores;   /* that jobs may take of it */
  int64_t pid, restarts;   /* of its first worker, of all of them */
  const ep_partition_view *partition; /* NULL = a device of this machine */
} ep_device_view;

/* The caller owns the text (free); NULL when memory is short. */
char *ep_devices_format(const ep_device_view *devices, int count);

#endif
