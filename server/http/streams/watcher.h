/* watcher.h: one reader of a job's log, from its own offset: as NDJSON (exactly the log's bytes) or
 * as server-sent events, all lines or thinned. It copies what the log has; response_send.c waits
 * for more.
 *
 * Used by one thread at a time. */
#ifndef EP_SERVER_HTTP_STREAMS_WATCHER_H
#define EP_SERVER_HTTP_STREAMS_WATCHER_H

#include "server/events/event_log.h"

struct ep_jobs;

typedef struct ep_watcher ep_watcher;

typedef struct {
  int64_t after; /* lines up to this seq are left out */
  int64_t every; /* at most one epoch line for so many epochs; 1 = all */
  bool follow;   /* false: the lines that there are, then the end */
  bool sse;
} ep_watcher_options;

/* Takes `log`, retained from `jobs`, also on failure, and releases it in the end. NULL: memory is
 * short. */
ep_watcher *ep_watcher_create(struct ep_jobs *jobs, ep_event_log *log,
                              const ep_watcher_options *options);
/* Unsubscribes first. NULL is allowed. */
void ep_watcher_destroy(ep_watcher *watcher);

/* The appending thread calls `wake` after each append. At most one subscription. */
void ep_watcher_subscribe(ep_watcher *watcher, ep_event_log_wake *wake, void *context);

typedef enum {
  EP_WATCHER_BYTES, /* *bytes were written */
  EP_WATCHER_WAITS, /* nothing for now; wake is called when there is more */
  EP_WATCHER_ENDS,  /* everything was copied, the end line too (or follow is false) */
  EP_WATCHER_FAILED /* the log cannot be read, or memory is short */
} ep_watcher_result;

ep_watcher_result ep_watcher_read(ep_watcher *watcher, char *buffer, size_t capacity,
                                  size_t *bytes);

/* Keeps an idle stream alive and is part of no line: a space, which JSON allows before the next
 * value; in server-sent events a comment, without the empty line that would dispatch an event. */
const char *ep_watcher_heartbeat(const ep_watcher *watcher);

#endif
