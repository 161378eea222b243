#include "engine/checkpoints/list.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/file_number.h"

static ep_status path_make(const char *job_folder, const char *prefix, int64_t number, char *path,
                           ep_error *error) {
  char name[64];
  snprintf(name, sizeof name, "%s%lld%s", prefix, (long long)number, EP_SAFETENSORS_SUFFIX);
  return ep_path_join(path, error, job_folder, name, NULL);
}

ep_status ep_checkpoint_path(const char *job_folder, int64_t step, char *path, ep_error *error) {
  return path_make(job_folder, EP_CHECKPOINT_PREFIX, step, path, error);
}

ep_status ep_moment_path(const char *job_folder, int64_t epoch, char *path, ep_error *error) {
  return path_make(job_folder, EP_MOMENT_PREFIX, epoch, path, error);
}

static int newest_first(const void *left, const void *right) {
  int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
  return (a < b) - (a > b);
}

/* Room for one more; false: memory is short. */
static bool steps_reserve(int64_t **steps, int64_t count, int64_t *capacity) {
  if (count < *capacity) return true;
  int64_t more = *capacity * 2 + 16;
  int64_t *grown = realloc(*steps, (size_t)more * sizeof *grown);
  if (!grown) return false;
  *steps = grown;
  *capacity = more;
  return true;
}

static ep_status numbers_list(const char *job_folder, const char *prefix, int64_t **steps,
                              int64_t *count, ep_error *error) {
  int64_t capacity = 0;
  *steps = NULL;
  *count = 0;
  DIR *folder = opendir(job_folder);
  if (!folder) return ep_fail(error, EP_IO, "%s cannot be read: %s", job_folder, strerror(errno));
  struct dirent *entry;
  ep_status status;
  while ((status = ep_path_next(folder, job_folder, &entry, error)) == EP_OK && entry) {
    int64_t step = ep_file_number(prefix, entry->d_name);
    if (step < 0) continue;
    if (!steps_reserve(steps, *count, &capacity)) {
      status = ep_fail_memory(error);
      break;
    }
    (*steps)[(*count)++] = step;
  }
  closedir(folder);
  if (status != EP_OK) {
    free(*steps);
    *steps = NULL;
    *count = 0;
  } else if (*count > 0) {
    qsort(*steps, (size_t)*count, sizeof **steps, newest_first);
  }
  return status;
}

ep_status ep_checkpoints_list(const char *job_folder, int64_t **steps, int64_t *count,
                              ep_error *error) {
  return numbers_list(job_folder, EP_CHECKPOINT_PREFIX, steps, count, error);
}

ep_status ep_moments_list(const char *job_folder, int64_t **epochs, int64_t *count,
                          ep_error *error) {
  ep_status status = numbers_list(job_folder, EP_MOMENT_PREFIX, epochs, count, error);
  for (int64_t i = 0; status == EP_OK && i < *count / 2; i++) {
    int64_t epoch = (*epochs)[i];
    (*epochs)[i] = (*epochs)[*count - 1 - i];
    (*epochs)[*count - 1 - i] = epoch;
  }
  return status;
}

static ep_status file_remove(const char *job_folder, const char *prefix, int64_t number,
                             ep_error *error) {
  char path[EP_PATH_BYTES];
  ep_status status = path_make(job_folder, prefix, number, path, error);
  if (status == EP_OK && unlink(path) != 0 && errno != ENOENT)
    status = ep_fail(error, ep_status_from_errno(errno), "%s cannot be removed: %s", path,
                     strerror(errno));
  return status;
}

ep_status ep_checkpoints_prune(const char *job_folder, int64_t most, ep_error *error) {
  int64_t *steps, count;
  ep_status status = ep_checkpoints_list(job_folder, &steps, &count, error);
  for (int64_t i = most; i < count && status == EP_OK; i++)
    status = file_remove(job_folder, EP_CHECKPOINT_PREFIX, steps[i], error);
  free(steps);
  return status;
}

ep_status ep_checkpoints_remove_after(const char *job_folder, int64_t step, ep_error *error) {
  int64_t *steps, count;
  ep_status status = ep_checkpoints_list(job_folder, &steps, &count, error);
  for (int64_t i = 0; i < count && steps[i] > step && status == EP_OK; i++)
    status = file_remove(job_folder, EP_CHECKPOINT_PREFIX, steps[i], error);
  free(steps);
  return status;
}

ep_status ep_moments_remove_after(const char *job_folder, int64_t epoch, ep_error *error) {
  int64_t *epochs, count;
  ep_status status = numbers_list(job_folder, EP_MOMENT_PREFIX, &epochs, &count, error);
  for (int64_t i = 0; i < count && epochs[i] > epoch && status == EP_OK; i++)
    status = file_remove(job_folder, EP_MOMENT_PREFIX, epochs[i], error);
  free(epochs);
  return status;
}
