#include "server/backup/backup.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "engine/files/durable_file.h"
#include "engine/files/mapping.h"
#include "server/audit/audit.h"
#include "server/backup/copy.h"
#include "server/process/data_dir.h"
#include "server/process/log.h"
#include "server/store/models.h"
#include "server/store/snapshot.h"

static const char DATABASE[] = "epochd.sqlite", SUMS[] = "SHA256SUMS", PARTIAL[] = "partial";

enum { WALKED = 256, NAME_BYTES = 32 };

/* Opens and locks the folder of all backups. */
static ep_status folder_lock(const char *folder, int *lock, ep_error *error) {
  ep_status status = ep_data_dir_create(folder, error);
  if (status != EP_OK) return status;
  *lock = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (*lock < 0) return ep_fail(error, EP_IO, "%s: %s", folder, strerror(errno));
  if (flock(*lock, LOCK_EX | LOCK_NB) == 0) return EP_OK;
  close(*lock);
  *lock = -1;
  return ep_fail(error, EP_CONFLICT, "another backup is being written to %s", folder);
}

static int name_is_backup(const struct dirent *entry) {
  return isdigit((unsigned char)entry->d_name[0]) != 0;
}

static int name_is_content(const struct dirent *entry) {
  return strlen(entry->d_name) == EP_SHA256_HEX_BYTES - 1;
}

/* Finds the newest backup and reads its manifest: a NULL-terminated text. */
static ep_status previous_find(ep_backup_copy *copy, const char *folder, ep_error *error) {
  struct dirent **entries = NULL;
  char path[EP_PATH_BYTES];
  ep_mapping sums = {0};
  int count = scandir(folder, &entries, name_is_backup, alphasort);
  ep_status status = EP_OK;
  if (count > 0)
    status = ep_path_join(copy->previous, error, folder, entries[count - 1]->d_name, NULL);
  for (int i = 0; i < count; i++) free(entries[i]);
  free(entries);
  if (count <= 0 || status != EP_OK) return status;
  status = ep_path_join(path, error, copy->previous, SUMS, NULL);
  if (status == EP_OK && ep_mapping_open(path, &sums, NULL) == EP_OK) {
    copy->sums = strndup((const char *)sums.bytes, sums.size);
    copy->sums_at = copy->sums;
    ep_mapping_close(&sums);
  }
  return status;
}

static ep_status partial_create(ep_backup_copy *copy, const char *folder, ep_error *error) {
  static const char *const kinds[] = {"", "jobs", "datasets"};
  char path[EP_PATH_BYTES];
  ep_status status = ep_path_join(copy->to, error, folder, PARTIAL, NULL);
  if (status == EP_OK) status = ep_data_dir_remove(copy->to, error);
  for (size_t i = 0; status == EP_OK && i < sizeof kinds / sizeof *kinds; i++) {
    status = ep_path_join(path, error, copy->to, kinds[i], NULL);
    if (status == EP_OK) status = ep_data_dir_create(path, error);
  }
  if (status == EP_OK) status = ep_path_join(path, error, copy->to, SUMS, NULL);
  if (status == EP_OK && !(copy->manifest = fopen(path, "we")))
    status = ep_fail(error, ep_status_from_errno(errno), "%s: %s", path, strerror(errno));
  return status;
}

static bool is_copied(const ep_backup_copy *copy, const char *kind, const char *name) {
  char path[EP_PATH_BYTES];
  return ep_path_join(path, NULL, copy->to, kind, name, NULL) == EP_OK && ep_data_dir_exists(path);
}

/* All contents that there are, but those that are copied. */
static ep_status contents_copy(ep_backup_copy *copy, ep_error *error) {
  struct dirent **entries = NULL;
  char path[EP_PATH_BYTES];
  ep_status status = ep_path_join(path, error, copy->from, "datasets", NULL);
  if (status != EP_OK) return status;
  int count = scandir(path, &entries, name_is_content, alphasort);
  if (count < 0) return ep_fail(error, EP_IO, "%s: %s", path, strerror(errno));
  for (int i = 0; i < count; i++) {
    if (status == EP_OK && !is_copied(copy, "datasets", entries[i]->d_name))
      status = ep_backup_copy_folder(copy, "datasets", entries[i]->d_name, true, error);
    if (status == EP_NOT_FOUND) status = EP_OK; /* deleted just now */
    free(entries[i]);
  }
  free(entries);
  return status;
}

/* A job that was deleted while the backup ran goes from the copied store, as it did from the other.
 */
static ep_status job_drop(ep_store *store, const char *id, ep_error *error) {
  ep_model model;
  ep_status status = EP_OK;
  while (status == EP_OK && ep_store_model_by_job(store, id, "", &model, error) == EP_OK)
    status = ep_store_model_delete(store, model.name, "", true, error);
  return status == EP_OK ? ep_store_job_delete(store, id, error) : status;
}

static ep_status jobs_copy(ep_backup_copy *copy, ep_store *store, int64_t *jobs, ep_error *error) {
  ep_walked_job list[WALKED];
  char after[EP_ID_BYTES] = "";
  int count = WALKED;
  ep_status status = EP_OK;
  while (status == EP_OK && count == WALKED) {
    status = ep_store_jobs_walk(store, after, list, WALKED, &count, error);
    for (int i = 0; status == EP_OK && i < count; i++) {
      status = ep_backup_copy_folder(copy, "jobs", list[i].id, list[i].ended, error);
      *jobs += status == EP_OK;
      if (status == EP_NOT_FOUND) status = job_drop(store, list[i].id, error);
    }
    if (count > 0) memcpy(after, list[count - 1].id, sizeof after);
  }
  return status;
}

/* Names whose content was deleted while the backup ran. */
static ep_status names_drop(const ep_backup_copy *copy, ep_store *store, ep_error *error) {
  ep_dataset_row *rows = NULL;
  int64_t count = 0;
  ep_status status = ep_store_dataset_list(store, NULL, &rows, &count, error);
  for (int64_t i = 0; status == EP_OK && i < count; i++)
    if (!is_copied(copy, "datasets", rows[i].sha256))
      status = ep_store_dataset_delete(store, rows[i].name, error);
  free(rows);
  return status;
}

/* Contents come before the store, so that those of its jobs are there, and after it once more. */
static ep_status everything_copy(ep_backup_copy *copy, int64_t *jobs, ep_error *error) {
  char from[EP_PATH_BYTES], to[EP_PATH_BYTES];
  ep_store *store = NULL;
  ep_status status = ep_path_join(from, error, copy->from, DATABASE, NULL);
  if (status == EP_OK) status = ep_path_join(to, error, copy->to, DATABASE, NULL);
  if (status == EP_OK) status = contents_copy(copy, error);
  if (status == EP_OK) status = ep_store_snapshot(from, to, error);
  if (status == EP_OK) status = contents_copy(copy, error);
  if (status == EP_OK) status = ep_store_open(to, &store, error);
  if (status == EP_OK) status = jobs_copy(copy, store, jobs, error);
  if (status == EP_OK) status = names_drop(copy, store, error);
  ep_store_close(store);
  if (status == EP_OK) status = ep_backup_copy_note(copy, DATABASE, error);
  /* last: it tells of all changes that are copied */
  return status == EP_OK ? ep_backup_copy_lines(copy, EP_AUDIT_FILE, error) : status;
}

/* Until the next second: the name of this one is taken. */
static void second_wait(time_t second) {
  const struct timespec next = {.tv_sec = second + 1};
  clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &next, NULL);
}

/* Names the backup by the first second, from this one on, that no other one has: rename would
 * replace an empty folder. Nobody else makes names here: the folder is locked. */
static ep_status backup_name(const ep_backup_copy *copy, const char *folder, char *path,
                             ep_error *error) {
  char name[NAME_BYTES];
  struct stat state;
  struct tm utc;
  for (;;) {
    struct timespec now; /* time() lags by a tick, and would give the second before once more */
    clock_gettime(CLOCK_REALTIME, &now);
    strftime(name, sizeof name, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now.tv_sec, &utc));
    ep_status status = ep_path_join(path, error, folder, name, NULL);
    if (status != EP_OK) return status;
    if (lstat(path, &state) != 0) break;
    second_wait(now.tv_sec);
  }
  if (errno == ENOENT && rename(copy->to, path) == 0) return EP_OK;
  return ep_fail(error, ep_status_from_errno(errno), "%s cannot be named: %s", path,
                 strerror(errno));
}

/* On disk, then under its name. */
static ep_status backup_place(ep_backup_copy *copy, int lock, const char *folder, char *path,
                              ep_error *error) {
  bool written = fflush(copy->manifest) == 0 && ferror(copy->manifest) == 0;
  if (!written || syncfs(lock) != 0)
    return ep_fail(error, ep_status_from_errno(errno), "%s cannot be synced: %s", copy->to,
                   strerror(errno));
  ep_status status = backup_name(copy, folder, path, error);
  return status == EP_OK ? ep_durable_folder_sync(folder, error) : status;
}

ep_status ep_backup_make(const char *data_dir, const char *folder, ep_backup_summary *out,
                         ep_error *error) {
  int lock = -1;
  *out = (ep_backup_summary){0};
  ep_backup_copy *copy = calloc(1, sizeof *copy); /* 12 KiB of paths */
  if (!copy) return ep_fail_memory(error);
  snprintf(copy->from, sizeof copy->from, "%s", data_dir);
  ep_status status = folder_lock(folder, &lock, error);
  if (status == EP_OK) status = previous_find(copy, folder, error);
  if (status == EP_OK) status = partial_create(copy, folder, error);
  if (status == EP_OK) status = everything_copy(copy, &out->jobs, error);
  if (status == EP_OK) status = backup_place(copy, lock, folder, out->path, error);
  if (copy->manifest) fclose(copy->manifest);
  if (status != EP_OK && lock >= 0 && copy->to[0] != 0) ep_data_dir_remove(copy->to, NULL);
  out->files = copy->files;
  out->linked = copy->linked;
  out->copied_bytes = copy->copied_bytes;
  if (lock >= 0) close(lock);
  free(copy->sums);
  free(copy);
  return status;
}
