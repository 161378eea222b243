/* events.h: the lines of a job's log that epochd writes; the epochs come from the worker. Most are
 * made from the job's row, so that a line that a crash took is written again, byte for byte.
 *
 * "Held" lines go to the disk with the next flush of the log, and are shown from then on. */
#ifndef EP_SERVER_JOBS_FILES_EVENTS_H
#define EP_SERVER_JOBS_FILES_EVENTS_H

#include "api/wire/frame.h"
#include "server/events/open_logs.h"
#include "server/store/store.h"

enum { EP_QUEUED_BYTES = 1024 }; /* no `queued` line is longer */

/* `queued`: begins the log of a new job. Not synced, because the row on disk is enough to write the
 * line again; to sync a new file is the most expensive sync of a submission. */
ep_status ep_job_queued_write(const char *data_dir, const ep_job_row *row, ep_error *error);
/* The same into a log that exists, if it is empty. */
ep_status ep_job_queued_append(ep_open_logs *logs, const ep_job_row *row, ep_error *error);

/* `started`, of the first start. Held. */
ep_status ep_job_started_hold(const ep_job_row *row, ep_event_log *log, ep_error *error);
/* `restarted`; cause: why; epoch: from which it goes on. Held. */
ep_status ep_job_restarted_hold(const ep_job_row *row, const char *cause, int64_t epoch,
                                ep_event_log *log, ep_error *error);
/* `checkpoint`. Held. */
ep_status ep_job_checkpoint_hold(const ep_job_row *row, const ep_reply *checkpoint,
                                 ep_event_log *log, ep_error *error);
/* `paused` or `resumed`. Synced, with what is held. */
ep_status ep_job_place_append(ep_open_logs *logs, const ep_job_row *row, ep_event_type type,
                              int64_t epoch, ep_error *error);

/* `warning`, which holds `message` on loan. */
ep_event ep_job_warning_event(const char *id, const char *message);
/* `warning`. Held. */
ep_status ep_job_warning_hold(const ep_job_row *row, const char *message, ep_event_log *log,
                              ep_error *error);
/* `warning`. Synced. EP_CONFLICT: the job has ended. */
ep_status ep_job_warning_append(ep_open_logs *logs, const char *id, const char *message,
                                ep_error *error);

/* `end`, from a row that has ended, unless the log has it. Not synced. Where the log has lost
 * epochs or was damaged, a `warning` before it names what is lost. */
ep_status ep_job_end_append(const ep_job_row *row, ep_event_log *log, ep_error *error);

#endif
