/* event_log.h: the append-only log of one job, DATA/jobs/<id>/events.ndjson: exactly the lines that
 * watchers get. epochd alone appends lines and numbers them; every watcher reads from its own
 * offset.
 *
 * Thread-safe. A line is shown once it is on disk (fdatasync), or once the row that it is made from
 * is. */
#ifndef EP_SERVER_EVENTS_EVENT_LOG_H
#define EP_SERVER_EVENTS_EVENT_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/status.h"
#include "api/wire/event.h"
#include "server/events/log_scan.h"

typedef struct ep_event_log ep_event_log;

/* Called after lines became visible, from the appending thread, with no lock held. */
typedef void ep_event_log_wake(void *context);

/* Opens or creates the log at `path`, FOLDER/NAME, and cuts it at the first line that is wrong
 * (log_scan.h). What is cut of a damaged log is appended to FOLDER/EP_DAMAGED_EVENTS_FILE. The
 * caller closes it. */
ep_status ep_event_log_open(const char *path, ep_event_log **out, ep_error *error);
void ep_event_log_close(ep_event_log *log); /* NULL is allowed */

/* Gives each event the next seq, in events[i].seq, and writes all lines in one write, after those
 * that are held; then fdatasync, then wakes. The first append to a log that was opened also syncs
 * the names that lead to it and FOLDER/EP_SPEC_FILE, at the same time. On failure no line was
 * added. EP_CONFLICT: the log has ended. */
ep_status ep_event_log_append(ep_event_log *log, ep_event *events, int count, ep_error *error);
/* The same without a sync, for one line that can be written again, byte for byte, from a row on
 * disk. A crash of the machine may take the line; the caller then appends it again. The lines
 * before it must stay: where they were not synced since the log was opened, all is. */
ep_status ep_event_log_append_copy(ep_event_log *log, ep_event *event, ep_error *error);
/* Gives each event the next seq and holds their lines: the next append or flush writes them. Until
 * then they are not shown, and a crash of the process takes them. Waits for no flush. */
ep_status ep_event_log_hold(ep_event_log *log, ep_event *events, int count, ep_error *error);
/* Writes the lines that are held, as ep_event_log_append does, and syncs also where there are none
 * and no append has come before; on failure they are held still. */
ep_status ep_event_log_flush(ep_event_log *log, ep_error *error);

/* The end of the log, held lines included. */
typedef struct {
  int64_t last_seq, bytes;
  ep_log_reports reports;
  bool ended;        /* it has its `end`, after which nothing is appended */
  bool started;      /* it has a `started` or `restarted` */
  bool damaged;      /* it was cut when it was opened, by more than a torn last line */
  int64_t cut_bytes; /* how much was cut then */
} ep_event_log_tail;
void ep_event_log_get_tail(ep_event_log *log, ep_event_log_tail *out);

/* Byte offset of the first line with seq > after: an index in memory, then a short scan. */
int64_t ep_event_log_offset_after(ep_event_log *log, int64_t after);

/* Reads whole lines from byte `offset` into buffer; *bytes 0: nothing more for now. *ended: the log
 * has its end line and this read reaches past it. EP_TOO_LARGE: the next line is longer than the
 * buffer. */
ep_status ep_event_log_read(ep_event_log *log, int64_t offset, char *buffer, size_t capacity,
                            size_t *bytes, bool *ended, ep_error *error);

/* Returns a token; 0: memory is short. */
uint64_t ep_event_log_subscribe(ep_event_log *log, ep_event_log_wake *wake, void *context);
/* Once this returns, `wake` is not running and is not called again. */
void ep_event_log_unsubscribe(ep_event_log *log, uint64_t token);

#endif
