/* files.h: a job's folder, DATA/jobs/<id>, and its files but the log (events.h). */
#ifndef EP_SERVER_JOBS_FILES_FILES_H
#define EP_SERVER_JOBS_FILES_FILES_H

#include "server/store/store.h"

/* Creates the folder and writes spec.json, unless it is there and says what the row says. Not
 * synced. */
ep_status ep_job_files_create(const char *data_dir, const ep_job_row *row, ep_error *error);

/* Removes weights and predictions of a training that did not come to its end: after a crash of the
 * machine they may be torn, and the job may yet end without them. */
ep_status ep_job_files_remove_results(const char *data_dir, const char *id, ep_error *error);

#endif
