/* Rows against folders: each job has a folder, and each folder below jobs/ has a row. */
#include "server/check/checkup.h"
#include "server/jobs/files/files.h"
#include "server/process/data_dir.h"

static void row_check(ep_checkup *checkup, const ep_job_row *row) {
  char path[EP_PATH_BYTES];
  if (ep_path_join(path, NULL, checkup->data_dir, "jobs", row->id, NULL) == EP_OK &&
      !ep_data_dir_exists(path))
    ep_checkup_fault(checkup, row->id, "its folder is missing");
}

static void folder_look(void *context, const char *name) {
  ep_checkup *checkup = context;
  char id[EP_ID_BYTES];
  ep_job_folder_kind kind = ep_job_folder_look(checkup->data_dir, name, id);
  if (kind == EP_JOB_FOLDER_STRANGE ||
      (kind == EP_JOB_FOLDER_ACCEPTED && !ep_store_job_exists(checkup->store, id)))
    ep_checkup_fault(checkup, name,
                     "this folder has no row in the store; a start moves it to " EP_LOST_FOLDER);
}

ep_status ep_check_jobs(ep_checkup *checkup, ep_error *error) {
  char path[EP_PATH_BYTES];
  ep_status status = ep_checkup_rows(checkup, row_check, error);
  if (status == EP_OK) status = ep_path_join(path, error, checkup->data_dir, "jobs", NULL);
  return status == EP_OK ? ep_data_dir_list(path, folder_look, checkup, error) : status;
}
