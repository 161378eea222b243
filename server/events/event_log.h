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

typedef struct ep_eventlog ep_eventlog;

/* Called after lines became visible, from the appending thread, with no lock held. */
typedef void ep_eventlog_wake(void *context);

/* Opens or creates the log at `path`, FOLDER/NAME; cuts a torn last line. The caller closes it. */
ep_status ep_eventlog_open(const char *path, ep_eventlog **out, ep_error *error);
void ep_eventlog_close(ep_eventlog *log);

/* Gives each event the next seq, writes all, what was held before them first, in one write,
 * fdatasync, then wakes. events[i].seq is set. On failure none of them is there. The first of a log
 * that was opened waits for the names that lead to it too, at the same time. */
ep_status ep_eventlog_append(ep_eventlog *log, ep_event *events, int count, ep_error *error);
/* The same for one line that can be written again, byte for byte, from what the store has on disk
 * already: it is not waited for. A crash of the machine may take it, and whatever comes after the
 * lines that were synced; the caller then appends it again. */
ep_status ep_eventlog_append_copy(ep_eventlog *log, ep_event *event, ep_error *error);
/* Gives each event the next seq and keeps their lines: they go to the disk with what comes next.
 * Until then nobody sees them, and a crash, also of the process, takes them. */
ep_status ep_eventlog_hold(ep_eventlog *log, ep_event *events, int count, ep_error *error);
/* Writes what is held, if anything, as ep_eventlog_append does; on failure it is held still. */
ep_status ep_eventlog_flush(ep_eventlog *log, ep_error *error);

/* What a resume needs, with what is held: the last seq, the greatest epoch of an epoch event (0 =
 * none), whether `end` is there (nothing is appended after it), whether the job has started before.
 */
typedef struct {
  int64_t last_seq, last_epoch, bytes;
  bool ended, started;
} ep_eventlog_tail;
void ep_eventlog_get_tail(ep_eventlog *log, ep_eventlog_tail *out);

/* Byte offset of the first line with seq > after (an index in memory makes it a short scan). */
int64_t ep_eventlog_offset_after(ep_eventlog *log, int64_t after);

/* Reads whole lines from byte `offset` into buffer; *bytes 0 when there is nothing more yet.
 * `ended` is true when the log has its end line and this read reaches past it. */
ep_status ep_eventlog_read(ep_eventlog *log, int64_t offset, char *buffer, size_t capacity,
                           size_t *bytes, bool *ended, ep_error *error);

/* Subscribes to wake-ups; returns a token to unsubscribe with. After unsubscribe returns, `wake` is
 * not running and will not be called again. */
uint64_t ep_eventlog_subscribe(ep_eventlog *log, ep_eventlog_wake *wake, void *context);
void ep_eventlog_unsubscribe(ep_eventlog *log, uint64_t token);

#endif
