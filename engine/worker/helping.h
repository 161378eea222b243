/* helping.h: a worker that trains points of a sweep that another worker has, and what the latter
 * sends to such helpers. Both speak to epochd, which hands it on. */
#ifndef EP_ENGINE_WORKER_HELPING_H
#define EP_ENGINE_WORKER_HELPING_H

#include <pthread.h>
#include <stdatomic.h>

#include "engine/sweep/help.h"
#include "engine/worker/link.h"

/* The help that a worker gives. Main thread, but for what its own thread does. */
typedef struct {
  ep_link *link;        /* lent */
  const char *data_dir; /* lent */
  ep_training shared;   /* backend, device, data_bytes_max */
  ep_command command;   /* owned */
  ep_sweep_help *help;  /* NULL = none is given */
  pthread_t thread;
  atomic_bool cancel;
  int64_t slots; /* its thread's, as the next two */
  bool together;
  time_t told_second; /* of the last sign of life */
} ep_helping;

/* Takes ownership of the command's parts. A help that was given ends first. helping->shared is
 * filled in; link and data_dir are lent for as long as it lasts. */
ep_status ep_helping_begin(ep_helping *helping, ep_link *link, const char *data_dir,
                           ep_command *command, ep_error *error);
/* Ends the help with this lease; 0 = whichever it is. Waits for its thread. */
void ep_helping_end(ep_helping *helping, uint64_t lease);
/* Points for it; of another lease they are ignored. EP_NO_MEMORY. */
ep_status ep_helping_add(ep_helping *helping, const ep_points *points, ep_error *error);

/* Of the worker that has the sweep. Any thread; a socket that has ended is the main thread's
 * affair. */
void ep_helping_want(ep_link *link, const ep_command *sweep, int helpers);
void ep_helping_send(ep_link *link, const ep_command *sweep, uint64_t lease,
                     const ep_trial_point *points, int64_t count);

#endif
