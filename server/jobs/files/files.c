#include "server/jobs/files/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "engine/files/durable_file.h"
#include "engine/files/mapping.h"
#include "server/jobs/files/events.h"
#include "server/process/data_dir.h"

/* Whether the file has just this text. */
static bool file_has(const char *path, const char *text, size_t bytes) {
  ep_mapping mapping;
  if (ep_mapping_open(path, &mapping, NULL) != EP_OK) return false;
  bool same = mapping.size == bytes && (bytes == 0 || memcmp(mapping.bytes, text, bytes) == 0);
  ep_mapping_close(&mapping);
  return same;
}

static ep_status text_write(const char *data_dir, const char *id, const char *file,
                            const char *text, ep_error *error) {
  char path[EP_PATH_BYTES];
  ep_status status = ep_path_join(path, error, data_dir, "jobs", id, file, NULL);
  if (status != EP_OK) return status;
  size_t bytes = strlen(text);
  if (file_has(path, text, bytes)) return EP_OK;
  return ep_data_dir_write_file(path, text, bytes, error);
}

ep_status ep_job_spec_write(const char *data_dir, const ep_job_row *row, ep_error *error) {
  ep_status status = EP_OK;
  if (row->automatic) status = text_write(data_dir, row->id, EP_AUTO_FILE, row->automatic, error);
  return status == EP_OK ? text_write(data_dir, row->id, EP_SPEC_FILE, row->spec, error) : status;
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
      return ep_fail(error, ep_status_from_errno(errno), "%s cannot be removed: %s", path,
                     strerror(errno));
  }
  return EP_OK;
}

/* Of a job's folder, and of the same marked as deleted. */
static ep_status folder_names(const char *data_dir, const char *id, char path[EP_PATH_BYTES],
                              char marked[EP_PATH_BYTES], ep_error *error) {
  char name[EP_ID_BYTES + sizeof EP_DELETED_SUFFIX];
  snprintf(name, sizeof name, "%s" EP_DELETED_SUFFIX, id);
  ep_status status = ep_path_join(path, error, data_dir, "jobs", id, NULL);
  return status == EP_OK ? ep_path_join(marked, error, data_dir, "jobs", name, NULL) : status;
}

static ep_status folder_rename(const char *from, const char *to, ep_error *error) {
  if (rename(from, to) == 0 || errno == ENOENT) return EP_OK;
  return ep_fail(error, ep_status_from_errno(errno), "%s cannot be renamed: %s", from,
                 strerror(errno));
}

ep_status ep_job_folder_mark(const char *data_dir, const char *id, ep_error *error) {
  char path[EP_PATH_BYTES], marked[EP_PATH_BYTES], jobs[EP_PATH_BYTES];
  ep_status status = folder_names(data_dir, id, path, marked, error);
  if (status == EP_OK) status = ep_path_join(jobs, error, data_dir, "jobs", NULL);
  if (status == EP_OK) status = folder_rename(path, marked, error);
  if (status != EP_OK) return status;
  status = ep_durable_folder_sync(jobs, error);
  if (status != EP_OK) folder_rename(marked, path, NULL);
  return status;
}

ep_status ep_job_folder_unmark(const char *data_dir, const char *id, ep_error *error) {
  char path[EP_PATH_BYTES], marked[EP_PATH_BYTES];
  ep_status status = folder_names(data_dir, id, path, marked, error);
  return status == EP_OK ? folder_rename(marked, path, error) : status;
}

bool ep_job_folder_is_marked(const char *data_dir, const char *id) {
  char path[EP_PATH_BYTES], marked[EP_PATH_BYTES];
  return folder_names(data_dir, id, path, marked, NULL) == EP_OK && access(marked, F_OK) == 0;
}

/* Whether a log has more than its first line, `queued`, or may have: what is longer than that line
 * and cannot be read. */
static bool log_goes_on(const char *path) {
  char head[EP_QUEUED_BYTES];
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return errno != ENOENT;
  ssize_t got = pread(file, head, sizeof head, 0);
  close(file);
  if (got < 0) return true;
  const char *newline = memchr(head, '\n', (size_t)got);
  return newline ? newline + 1 < head + got : got == sizeof head;
}

/* Whether spec.json, or a log behind its first line, is in the folder: both are written once the
 * row is on disk, and synced before anything of the training is shown. Results prove nothing: a
 * worker begins while the row is being stored. */
static bool is_accepted(const char *data_dir, const char *id) {
  char path[EP_PATH_BYTES];
  if (ep_path_join(path, NULL, data_dir, "jobs", id, EP_SPEC_FILE, NULL) != EP_OK ||
      access(path, F_OK) == 0 || errno != ENOENT)
    return true;
  return ep_path_join(path, NULL, data_dir, "jobs", id, EP_EVENTS_FILE, NULL) != EP_OK ||
         log_goes_on(path);
}

ep_job_folder_kind ep_job_folder_look(const char *data_dir, const char *name,
                                      char id[EP_ID_BYTES]) {
  const char *dot = strchr(name, '.');
  size_t length = dot ? (size_t)(dot - name) : strlen(name);
  if (length >= EP_ID_BYTES || (dot && strcmp(dot, EP_DELETED_SUFFIX) != 0))
    return EP_JOB_FOLDER_STRANGE;
  memcpy(id, name, length);
  id[length] = 0;
  if (!ep_id_valid(id)) return EP_JOB_FOLDER_STRANGE;
  if (dot) return EP_JOB_FOLDER_MARKED;
  return is_accepted(data_dir, id) ? EP_JOB_FOLDER_ACCEPTED : EP_JOB_FOLDER_UNACCEPTED;
}
