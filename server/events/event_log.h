/* event_log.h: the append-only log of one job, DATA/jobs/<id>/events.ndjson: exactly the lines that
 * watchers get. epochd alone appends and numbers; every watcher reads at its own pace.
 *
 * Thread-safe. A line is shown to a watcher only once it is on disk (fdatasync), or what it is made
 * from is. */
#ifndef EP_SERVER_EVENTS_EVENT_LOG_H
#define EP_SERVER_EVENTS_EVENT_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/status.h"
#include "api/wire/event.h"

typedef struct ep_event_log ep_event_log;

/* Called after lines became visible, from the appending thread, with no lock held. */
typedef void ep_event_log_wake(void *context);

/* Opens or creates the log at `path`, FOLDER/NAME; cuts a torn last line. The caller closes it. */
ep_status ep_event_log_open(const char *path, ep_event_log **out, ep_error *error);
void ep_event_log_close(ep_event_log *log);

/* Gives each event the next seq, writes all, what was held before them first, in one write,
 * fdatasync, then wakes. events[i].seq is set. On failure none of them is there. The first of a log
 * that was opened waits for the names that lead to it too, at the same time. */
ep_status ep_event_log_append(ep_event_log *log, ep_event *events, int count, ep_error *error);
/* The same for one line that can be written again, byte for byte, from what the store has on disk
 * already: it is not waited for. A crash of the machine may take it, and whatever comes after the
 * lines that were synced; the caller then appends it again. */
ep_status ep_event_log_append_copy(ep_event_log *log, ep_event *event, ep_error *error);
/* Gives each event the next seq and keeps their lines: they go to the disk with what comes next.
 * Until then nobody sees them, and a crash, also of the process, takes them. */
ep_status ep_event_log_hold(ep_event_log *log, ep_event *events, int count, ep_error *error);
/* Writes what is held, if anything, as ep_event_log_append does; on failure it is held still. */
ep_status ep_event_log_flush(ep_event_log *log, ep_error *error);

/* What a resume needs, with what is held: the last seq, the greatest epoch of an epoch event (0 =
 * none), whether `end` is there (nothing is appended after it), whether the job has started before.
 */
typedef struct {
  int64_t last_seq, last_epoch, bytes;
  bool ended, started;
} ep_event_log_tail;
void ep_event_log_get_tail(ep_event_log *log, ep_event_log_tail *out);

/* Byte offset of the first line with seq > after (an index in memory makes it a short scan). */
int64_t ep_event_log_offset_after(ep_event_log *log, int64_t after);

/* Reads whole lines from byte `offset` into buffer; *bytes 0 when there is nothing more yet.
 * `ended` is true when the log has its end line and this read reaches past it. */
ep_status ep_event_log_read(ep_event_log *log, int64_t offset, char *buffer, size_t capacity,
                            size_t *bytes, bool *ended, ep_error *error);

/* Subscribes to wake-ups; returns a token to unsubscribe with. After unsubscribe returns, `wake` is
 * not running and will not be called again. */
uint64_t ep_event_log_subscribe(ep_event_log *log, ep_event_log_wake *wake, void *context);
void ep_event_log_unsubscribe(ep_event_log *log, uint64_t token);

#endif
