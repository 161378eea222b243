/* helping.h: a worker that trains points of a sweep that another worker has, and what the latter
 * sends to such helpers. Both speak to epochd, which hands it on. */
#ifndef EP_ENGINE_WORKER_HELPING_H
#define EP_ENGINE_WORKER_HELPING_H

#include "engine/sweep/help.h"
#include "engine/worker/link.h"

/* The help of one loan, which has a thread. */
typedef struct ep_help ep_help;

/* The help that a worker gives. Main thread. */
typedef struct {
  ep_link *link;        /* lent */
  const char *data_dir; /* lent */
  ep_training shared;   /* backend, device, data_bytes_max */
  ep_help *now;         /* NULL = none is given */
  ep_help *last;        /* owned: `now`, or one that was told to end; NULL = none */
} ep_helping;

/* Takes ownership of the command's parts. A help that was given is told to end, and the next one
 * trains nothing until it has. link, data_dir and shared are filled in, and lent for as long as it
 * lasts. A help that cannot go on says so to epochd: its points are trained elsewhere. */
ep_status ep_helping_begin(ep_helping *helping, ep_command *command, ep_error *error);
/* Tells the help with this lease to end; 0 = whichever it is. Waits for nothing: it may be within a
 * step, or within a read of a slow disk. */
void ep_helping_end(ep_helping *helping, uint64_t lease);
/* Points for it; of another lease they are ignored. Where they are none of the sweep's, or memory
 * is short, the help ends. */
void ep_helping_add(ep_helping *helping, const ep_points *points);
/* Whether its device is at work. */
bool ep_helping_is_active(ep_helping *helping);

/* Before anything else has the device: what was told to end, for ep_help_await; NULL = none. */
ep_help *ep_helping_take(ep_helping *helping);
/* Any thread. Waits for its end and frees it; NULL is allowed. alive: called where it says that it
 * goes on, each second at most. */
void ep_help_await(ep_help *help, void (*alive)(void *context), void *context);

/* Of the worker that has the sweep. Any thread; a socket that has ended is the main thread's
 * affair. */
void ep_helping_want(ep_link *link, const ep_command *sweep, int helpers);
/* EP_NO_MEMORY: the helper gets none of them, and epochd is told that it is of no use. */
ep_status ep_helping_send(ep_link *link, const ep_command *sweep, uint64_t lease,
                          const ep_trial_point *points, int64_t count, ep_error *error);

#endif
