/* device_list.h: the devices and their workers as other threads see them: a copy. */
#ifndef EP_SERVER_WORKERS_DEVICE_LIST_H
#define EP_SERVER_WORKERS_DEVICE_LIST_H

#include <stdbool.h>
#include <stdint.h>

#include "api/limits.h"
#include "api/names.h"
#include "api/wire/frame.h"

/* A worker is "starting" until it reports its device, then "idle" or "busy"; after a death
 * "restarting"; "lost" when it failed to start too often, or was killed and did not end. A worker
 * of another machine is "restarting" while its connection is broken, and a partition of Slurm
 * "absent" while it has no worker. A device is in the best state of its workers, busy before idle.
 * One that helps a sweep is idle: a job gets it at once. */
typedef enum {
  EP_DEVICE_STARTING,
  EP_DEVICE_IDLE,
  EP_DEVICE_BUSY,
  EP_DEVICE_RESTARTING,
  EP_DEVICE_ABSENT,
  EP_DEVICE_LOST
} ep_device_state;

const char *ep_device_state_name(ep_device_state state);

typedef struct {
  ep_device_info info; /* the id from the start on, the rest from a worker's report */
  ep_device_state state;
  int cores; /* that jobs may take of it; 1 for a GPU */
  int64_t restarts;
  int64_t busy_us;               /* time with a job, without the current spell */
  int64_t busy_since_us;         /* steady clock; 0 = it has no job */
  double wait_seconds;           /* until a new worker would start; of a device here 0 */
  char reason[EP_MESSAGE_BYTES]; /* of a partition: why its workers wait; "" = they do not */
} ep_device_status;

typedef struct {
  int device; /* index in the list */
  ep_device_state state;
  char job[EP_ID_BYTES];   /* "" = none */
  char helps[EP_ID_BYTES]; /* of an idle one: whose points it trains; "" = nobody's */
  int64_t pid;             /* 0 = none */
} ep_worker_status;

typedef struct {
  ep_device_status device[EP_LIMIT_DEVICES];
  int count;
  ep_worker_status worker[EP_LIMIT_WORKERS]; /* of all devices, in the order of their starts */
  int workers_count;
  int64_t helped;  /* points that helpers have trained */
  int64_t refused; /* connections of workers of other machines, that were none or came twice */
} ep_device_list;

/* NULL: there is no such device. */
const ep_device_status *ep_device_list_find(const ep_device_list *devices, const char *id);

/* Whether the id is of a CUDA device: "cuda", "cuda:1". */
bool ep_device_is_cuda(const char *id);

/* Whether the id is of a partition of Slurm or of a namespace of Kubernetes: "slurm:gpu",
 * "kubernetes:research". Its workers come and go. */
bool ep_device_is_remote(const char *id);

/* 1 of "cuda:1"; -1 of a device without a number. */
int ep_device_number(const char *id);

#endif
