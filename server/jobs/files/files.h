/* files.h: a job's folder, DATA/jobs/<id>, and its files but the log (events.h). */
#ifndef EP_SERVER_JOBS_FILES_FILES_H
#define EP_SERVER_JOBS_FILES_FILES_H

#include "server/store/store.h"

/* Creates the folder, unless it is there. Not synced. */
ep_status ep_job_folder_create(const char *data_dir, const char *id, ep_error *error);

/* Writes spec.json, unless it is there and says what the row says: a crash of the machine may
 * have torn it, a disk have damaged it. Written
 * once the row is on disk: a folder that has it is of a job that was accepted. Not synced. */
ep_status ep_job_spec_write(const char *data_dir, const ep_job_row *row, ep_error *error);

/* Removes weights and predictions of a training that did not come to its end: after a crash of the
 * machine they may be torn, and the job may yet end without them. */
ep_status ep_job_files_remove_results(const char *data_dir, const char *id, ep_error *error);

/* A folder whose job is being deleted is marked by its name before the row is: a crash between the
 * two leaves a folder without a row that may go. No folder is no failure. The mark is synced. */
#define EP_DELETED_SUFFIX ".deleted"
ep_status ep_job_folder_mark(const char *data_dir, const char *id, ep_error *error);
ep_status ep_job_folder_unmark(const char *data_dir, const char *id, ep_error *error);
bool ep_job_folder_is_marked(const char *data_dir, const char *id);

/* What the entry `name` of DATA/jobs is. */
typedef enum {
  EP_JOB_FOLDER_STRANGE,    /* no job's */
  EP_JOB_FOLDER_MARKED,     /* of a job that was being deleted */
  EP_JOB_FOLDER_UNACCEPTED, /* has no spec.json, and no log behind `queued`: the submission did not
                             * end. It may have results: a worker begins before the row is on disk
                             */
  EP_JOB_FOLDER_ACCEPTED
} ep_job_folder_kind;
/* id: the job's, but of a strange entry. */
ep_job_folder_kind ep_job_folder_look(const char *data_dir, const char *name, char id[EP_ID_BYTES]);

#endif
