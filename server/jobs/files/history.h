/* history.h: what a job's log says of the job, for a row that is lost, or older than the log. */
#ifndef EP_SERVER_JOBS_FILES_HISTORY_H
#define EP_SERVER_JOBS_FILES_HISTORY_H

#include "server/store/store.h"

/* Reads DATA/jobs/<row->id>/events.ndjson up to its first wrong line, changes nothing there, and
 * fills in created_us, started_us, finished_us, attempt, device, executor, state and result (owned,
 * NULL before) as far as the lines have them. A log without an end leaves the state. EP_NOT_FOUND:
 * there is no log. */
ep_status ep_job_history_read(const char *data_dir, ep_job_row *row, ep_error *error);

#endif
