/* open_logs.h: the event logs that are open, one ep_event_log a job: the worker's progress and
 * every watcher share it. A log is open while somebody holds it, so that 10,000 queued jobs take no
 * file descriptors.
 *
 * Thread-safe; to open one log does not hold up the others. */
#ifndef EP_SERVER_EVENTS_OPEN_LOGS_H
#define EP_SERVER_EVENTS_OPEN_LOGS_H

#include <pthread.h>
#include <stdbool.h>

#include "server/events/event_log.h"
#include "server/process/id.h"

typedef struct ep_open_log {
  struct ep_open_log *next;
  char id[EP_ID_BYTES];
  ep_event_log *log; /* NULL while it is being opened */
  int holders;       /* and those who wait until it is open */
  bool failed;
} ep_open_log;

typedef struct {
  pthread_mutex_t mutex; /* guards everything below */
  pthread_cond_t opened;
  ep_open_log *entries; /* owned */
  int64_t count;        /* of them: each takes a file descriptor */
  const char *data_dir; /* lent */
} ep_open_logs;

void ep_open_logs_init(ep_open_logs *logs, const char *data_dir);
void ep_open_logs_deinit(ep_open_logs *logs); /* closes those that are open */

/* The log of DATA/jobs/<id>; ep_open_logs_release when done. id: valid. EP_NOT_FOUND: the folder is
 * not there. */
ep_status ep_open_logs_retain(ep_open_logs *logs, const char *id, ep_event_log **out,
                              ep_error *error);
void ep_open_logs_release(ep_open_logs *logs, ep_event_log *log); /* NULL is allowed */
int64_t ep_open_logs_count(ep_open_logs *logs);

#endif
