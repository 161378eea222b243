/* watcher.h: one reader of a job's log at its own pace: as NDJSON (exactly the log's bytes) or as
 * server-sent events, all lines or thinned. It copies what there is and says when there is no more
 * yet; who waits, and how, is stream.h's business.
 *
 * Used by one thread at a time. */
#ifndef EP_SERVER_HTTP_WATCHER_H
#define EP_SERVER_HTTP_WATCHER_H

#include "server/events/event_log.h"

struct ep_jobs;

typedef struct ep_watcher ep_watcher;

typedef struct {
  int64_t after; /* lines up to this seq are left out */
  int64_t every; /* at most one epoch line for so many epochs; 1 = all */
  bool follow;   /* false: what there is, then the end */
  bool sse;
} ep_watcher_options;

/* Takes `log`, retained from `jobs`, and releases it in the end. On failure (NULL: memory is short)
 * it is released too. */
ep_watcher *ep_watcher_create(struct ep_jobs *jobs, ep_event_log *log,
                              const ep_watcher_options *options);
/* Unsubscribes first. NULL is allowed. */
void ep_watcher_destroy(ep_watcher *watcher);

/* `wake` comes from the appending thread after each append; at most one subscription. */
void ep_watcher_subscribe(ep_watcher *watcher, ep_event_log_wake *wake, void *context);

typedef enum {
  EP_WATCHER_BYTES, /* *bytes were written */
  EP_WATCHER_WAITS, /* nothing now; wake comes when there is more */
  EP_WATCHER_ENDS,  /* everything was copied, the end line too (or follow is false) */
  EP_WATCHER_FAILED /* the log cannot be read */
} ep_watcher_result;

ep_watcher_result ep_watcher_read(ep_watcher *watcher, char *buffer, size_t capacity,
                                  size_t *bytes);

/* What keeps an idle stream alive: an empty line, or a comment in server-sent events. */
const char *ep_watcher_heartbeat(const ep_watcher *watcher);
bool ep_watcher_is_sse(const ep_watcher *watcher);

#endif
