#include "server/jobs/files/files.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "engine/files/mapping.h"
#include "server/process/data_dir.h"

/* Whether the file has just this text. */
static bool file_has(const char *path, const char *text, size_t bytes) {
  ep_mapping mapping;
  if (ep_mapping_open(path, &mapping, NULL) != EP_OK) return false;
  bool same = mapping.size == bytes && (bytes == 0 || memcmp(mapping.bytes, text, bytes) == 0);
  ep_mapping_close(&mapping);
  return same;
}

/* Unless it is there: a crash of the machine may have torn it, a disk have damaged it. */
static ep_status spec_write(const char *data_dir, const ep_job_row *row, ep_error *error) {
  char path[EP_PATH_BYTES];
  ep_status status = ep_path_join(path, error, data_dir, "jobs", row->id, EP_SPEC_FILE, NULL);
  if (status != EP_OK) return status;
  size_t bytes = strlen(row->spec);
  if (file_has(path, row->spec, bytes)) return EP_OK;
  return ep_data_dir_write_file(path, row->spec, bytes, error);
}

ep_status ep_job_files_create(const char *data_dir, const ep_job_row *row, ep_error *error) {
  char path[EP_PATH_BYTES];
  ep_status status = ep_path_join(path, error, data_dir, "jobs", row->id, NULL);
  if (status == EP_OK) status = ep_data_dir_create(path, error);
  return status == EP_OK ? spec_write(data_dir, row, error) : status;
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
