#include "server/jobs/files/files.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/process/data_dir.h"

ep_status ep_job_spec_write(const char *data_dir, const ep_job_row *row, ep_error *error) {
  char path[EP_PATH_BYTES];
  struct stat state;
  ep_status status = ep_path_join(path, error, data_dir, "jobs", row->id, EP_SPEC_FILE, NULL);
  if (status != EP_OK) return status;
  size_t bytes = strlen(row->spec);
  if (stat(path, &state) == 0 && (size_t)state.st_size == bytes) return EP_OK;
  return ep_data_dir_write_file(path, row->spec, bytes, error);
}

ep_status ep_job_folder_create(const char *data_dir, const char *id, ep_error *error) {
  char path[EP_PATH_BYTES];
  ep_status status = ep_path_join(path, error, data_dir, "jobs", id, NULL);
  return status == EP_OK ? ep_data_dir_create(path, error) : status;
}

ep_status ep_job_files_remove_results(const char *data_dir, const char *id, ep_error *error) {
  static const char *const names[] = {EP_WEIGHTS_FILE, EP_PREDICTIONS_JSON_FILE,
                                      EP_PREDICTIONS_CSV_FILE};
  char path[EP_PATH_BYTES];
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    ep_status status = ep_path_join(path, error, data_dir, "jobs", id, names[i], NULL);
    if (status != EP_OK) return status;
    if (unlink(path) != 0 && errno != ENOENT)
      return ep_fail(error, EP_IO, "%s cannot be removed: %s", path, strerror(errno));
  }
  return EP_OK;
}
