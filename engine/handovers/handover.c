#include "engine/handovers/handover.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "api/limits.h"
#include "api/wire/record.h"
#include "engine/checkpoints/list.h"
#include "engine/files/durable_file.h"
#include "engine/files/path.h"

#define FOLDER "handovers"
enum { UNENDED_SECONDS = 3600 /* a relay takes no longer to copy a job's files */ };

/* Whether an attempt needs the file to go on: not what an end leaves. */
static bool name_counts(const char *name) {
  static const char *const ends[] = {EP_WEIGHTS_FILE, EP_PREDICTIONS_JSON_FILE,
                                     EP_PREDICTIONS_CSV_FILE};
  for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
    if (strcmp(name, ends[i]) == 0) return false;
  return ep_record_result_valid(name);
}

/* A folder has no folder within. */
static void folder_remove(const char *path) {
  DIR *entries = opendir(path);
  for (struct dirent *entry; entries && (entry = readdir(entries));)
    unlinkat(dirfd(entries), entry->d_name, 0);
  if (entries) closedir(entries);
  rmdir(path);
}

/* --- a relay leaves it ----------------------------------------------------------------------- */

static ep_status folder_make(const char *shared, char base[EP_PATH_BYTES],
                             char temporary[EP_PATH_BYTES], ep_error *error) {
  ep_status status = ep_path_join(base, error, shared, FOLDER, NULL);
  if (status == EP_OK && mkdir(base, 0700) != 0 && errno != EEXIST)
    status = ep_fail(error, EP_IO, "%s: %s", base, strerror(errno));
  if (status == EP_OK) status = ep_path_join(temporary, error, base, ".new-XXXXXX", NULL);
  if (status == EP_OK && !mkdtemp(temporary))
    status = ep_fail(error, ep_status_from_errno(errno), "%s: %s", temporary, strerror(errno));
  return status;
}

static ep_status files_copy(const char *from, const char *to, ep_handover *handover,
                            ep_error *error) {
  char source[EP_PATH_BYTES], target[EP_PATH_BYTES], sha256[EP_SHA256_HEX_BYTES];
  ep_status status = EP_OK;
  struct dirent *entry;
  DIR *entries = opendir(from);
  if (!entries) return ep_fail(error, EP_IO, "%s: %s", from, strerror(errno));
  while (status == EP_OK && (status = ep_path_next(entries, from, &entry, error)) == EP_OK &&
         entry) {
    if (!name_counts(entry->d_name)) continue;
    status = ep_path_join(source, error, from, entry->d_name, NULL);
    if (status == EP_OK) status = ep_path_join(target, error, to, entry->d_name, NULL);
    if (status == EP_OK) status = ep_file_copy(source, target, 0600, sha256, NULL, error);
    if (status == EP_NOT_FOUND) { /* a checkpoint that was removed for a newer one */
      status = EP_OK;
      continue;
    }
    if (status == EP_OK) status = ep_handover_add_file(handover, entry->d_name, sha256, error);
  }
  closedir(entries);
  return status;
}

static ep_status folder_place(const char *base, const char *temporary, const ep_handover *handover,
                              ep_error *error) {
  char path[EP_PATH_BYTES], name[EP_ID_BYTES + 16];
  snprintf(name, sizeof name, "%s-%d", handover->job, handover->attempt);
  ep_status status = ep_path_join(path, error, base, name, NULL);
  if (status != EP_OK) return status;
  folder_remove(path); /* of the same attempt, which was paused and went on */
  if (rename(temporary, path) != 0)
    return ep_fail(error, ep_status_from_errno(errno), "%s: %s", path, strerror(errno));
  return ep_durable_folder_sync(base, error);
}

ep_status ep_handover_leave(const char *shared, const char *job_folder, ep_handover *handover,
                            ep_error *error) {
  char base[EP_PATH_BYTES], temporary[EP_PATH_BYTES], path[EP_PATH_BYTES];
  ep_status status = folder_make(shared, base, temporary, error);
  if (status != EP_OK) return status;
  status = files_copy(job_folder, temporary, handover, error);
  if (status == EP_OK) status = ep_path_join(path, error, temporary, EP_HANDOVER_FILE, NULL);
  if (status == EP_OK) status = ep_handover_write(path, handover, error);
  if (status == EP_OK) status = folder_place(base, temporary, handover, error);
  if (status != EP_OK) folder_remove(temporary);
  return status;
}

/* --- the gateway takes it up ----------------------------------------------------------------- */

/* The attempt in a folder's name "<job>-<attempt>"; 0: it is none of that job. */
static int attempt_of(const char *name, const char *job) {
  const size_t bytes = strlen(job);
  if (strncmp(name, job, bytes) != 0 || name[bytes] != '-') return 0;
  const char *digits = name + bytes + 1;
  const size_t count = strspn(digits, "0123456789");
  return count > 0 && count < 10 && digits[count] == 0 ? (int)strtol(digits, NULL, 10) : 0;
}

/* The newest attempt of the job that left something, no later than `most`; 0 = none. */
static int attempt_find(const char *base, const char *job, int most) {
  int found = 0;
  DIR *entries = opendir(base);
  for (struct dirent *entry; entries && (entry = readdir(entries));) {
    const int attempt = attempt_of(entry->d_name, job);
    if (attempt <= most && attempt > found) found = attempt;
  }
  if (entries) closedir(entries);
  return found;
}

/* Its own user alone may have written it. */
static ep_status owner_check(const char *path, ep_error *error) {
  struct stat state;
  if (lstat(path, &state) != 0) return ep_fail(error, EP_IO, "%s: %s", path, strerror(errno));
  if (S_ISDIR(state.st_mode) && state.st_uid == geteuid() && (state.st_mode & 077) == 0)
    return EP_OK;
  return ep_fail(error, EP_FORBIDDEN, "%s is not a folder private to this user", path);
}

/* *step: of the newest checkpoint; -1: there is none. */
static ep_status newest_step(const char *folder, int64_t *step, ep_error *error) {
  int64_t *steps = NULL, count = 0;
  ep_status status = ep_checkpoints_list(folder, &steps, &count, error);
  *step = status == EP_OK && count > 0 ? steps[0] : -1;
  free(steps);
  return status;
}

/* *file: the caller's; NULL: there is none. */
static ep_status trials_open(const char *folder, FILE **file, ep_error *error) {
  char path[EP_PATH_BYTES];
  *file = NULL;
  ep_status status = ep_path_join(path, error, folder, EP_TRIALS_FILE, NULL);
  if (status != EP_OK) return status;
  *file = fopen(path, "re");
  return *file || errno == ENOENT ? EP_OK : ep_fail(error, EP_IO, "%s: %s", path, strerror(errno));
}

/* own: NULL = no bytes. */
static ep_status streams_compare(FILE *own, FILE *left, bool *go_on, ep_error *error) {
  int a, b;
  do {
    a = own ? fgetc(own) : EOF;
    b = fgetc(left);
  } while (a != EOF && a == b);
  *go_on = a == EOF && b != EOF;
  return (own && ferror(own)) || ferror(left)
             ? ep_fail(error, EP_IO, "results of trials cannot be read")
             : EP_OK;
}

/* *go_on: whether the results of trials in `left` are those of the job, and more behind them. */
static ep_status trials_go_on(const char *own_folder, const char *left_folder, bool *go_on,
                              ep_error *error) {
  FILE *left = NULL, *own = NULL;
  *go_on = false;
  ep_status status = trials_open(left_folder, &left, error);
  if (status == EP_OK && left) status = trials_open(own_folder, &own, error);
  if (status == EP_OK && left) status = streams_compare(own, left, go_on, error);
  if (own) fclose(own);
  if (left) fclose(left);
  return status;
}

/* Whether the log of the job, with the reports of the handover, has no gap. */
static bool reports_follow(const ep_handover *handover, int64_t epochs_logged) {
  int64_t first, last;
  if (handover->whole) return handover->epochs_logged <= epochs_logged;
  ep_handover_epochs(handover, &first, &last);
  return first > 0 && first <= epochs_logged;
}

typedef struct {
  int64_t step; /* of the newest checkpoint that was left; -1 = there is none */
  bool trials;  /* its results of trials go beyond the job's */
  bool beyond;  /* the job gets further with what was left */
} gain;

/* What cannot be read is a failure: it may be all that is left of hours. */
static ep_status gain_find(const ep_handover_start *start, const ep_handover *handover,
                           const char *folder, gain *out, ep_error *error) {
  int64_t first, last, own = -1;
  *out = (gain){.step = -1};
  ep_handover_epochs(handover, &first, &last);
  ep_status status = newest_step(start->job_folder, &own, error);
  if (status == EP_OK) status = newest_step(folder, &out->step, error);
  if (status == EP_OK) status = trials_go_on(start->job_folder, folder, &out->trials, error);
  out->beyond = reports_follow(handover, start->epochs_logged) &&
                (out->step > own || (out->step == own && own >= 0 && last > start->epochs_logged) ||
                 out->trials);
  return status;
}

/* Under another name first: what has another hash than was written gets none. The name is this
 * attempt's: an earlier one's gateway session may still be at it. */
static ep_status file_take(const ep_handover_start *start, const char *folder,
                           const ep_handover_file *file, ep_error *error) {
  const char *job_folder = start->job_folder;
  char from[EP_PATH_BYTES], to[EP_PATH_BYTES], fresh[EP_PATH_BYTES], sha256[EP_SHA256_HEX_BYTES];
  char name[sizeof file->name + 16];
  if (!name_counts(file->name))
    return ep_fail(error, EP_DAMAGED, "a handover has no file %.100s", file->name);
  snprintf(name, sizeof name, "%s.new-%d", file->name, start->attempt);
  ep_status status = ep_path_join(from, error, folder, file->name, NULL);
  if (status == EP_OK) status = ep_path_join(to, error, job_folder, file->name, NULL);
  if (status == EP_OK) status = ep_path_join(fresh, error, job_folder, name, NULL);
  if (status != EP_OK) return status;
  if (strcmp(file->name, EP_TRIALS_FILE) != 0 && access(to, F_OK) == 0) return EP_OK;
  status = ep_file_copy(from, fresh, 0600, sha256, start->moves, error);
  if (status != EP_OK) return status;
  if (strcmp(sha256, file->sha256) != 0)
    status = ep_fail(error, EP_DAMAGED, "%s is damaged", from);
  else if (rename(fresh, to) != 0)
    status = ep_fail(error, EP_IO, "%s: %s", to, strerror(errno));
  if (status != EP_OK) unlink(fresh);
  return status;
}

/* The reports first: a checkpoint is of no use without them. */
static ep_status files_take(const ep_handover_start *start, const ep_handover *handover,
                            const char *folder, bool trials, ep_error *error) {
  char path[EP_PATH_BYTES];
  ep_status status = ep_path_join(path, error, start->job_folder, EP_HANDOVER_FILE, NULL);
  if (status == EP_OK) status = ep_handover_write(path, handover, error);
  for (int i = 0; status == EP_OK && i < handover->files_count; i++) {
    if (!trials && strcmp(handover->files[i].name, EP_TRIALS_FILE) == 0) continue;
    status = file_take(start, folder, &handover->files[i], error);
    if (start->moves) start->moves->moved(start->moves->context);
  }
  return status == EP_OK ? ep_durable_folder_sync(start->job_folder, error) : status;
}

static ep_status folder_take(const ep_handover_start *start, int attempt, const char *folder,
                             int64_t *step, ep_error *error) {
  char path[EP_PATH_BYTES];
  ep_handover handover = {0};
  ep_status status = owner_check(folder, error);
  if (status == EP_OK) status = ep_path_join(path, error, folder, EP_HANDOVER_FILE, NULL);
  if (status == EP_OK) status = ep_handover_read(path, &handover, error);
  if (status != EP_OK) return status;
  gain found = {0};
  if (strcmp(handover.job, start->job) != 0 || handover.attempt != attempt)
    status = ep_fail(error, EP_DAMAGED, "%s is of another attempt", path);
  if (status == EP_OK) status = gain_find(start, &handover, folder, &found, error);
  if (status == EP_OK && found.beyond) {
    status = files_take(start, &handover, folder, found.trials, error);
    if (status == EP_OK) *step = found.step > 0 ? found.step : 0;
  }
  ep_handover_deinit(&handover);
  return status;
}

ep_status ep_handover_take(const ep_handover_start *start, int64_t *step, ep_error *error) {
  char base[EP_PATH_BYTES], path[EP_PATH_BYTES], name[EP_ID_BYTES + 16];
  *step = -1;
  ep_status status = ep_path_join(base, error, start->shared, FOLDER, NULL);
  if (status != EP_OK) return status;
  for (int most = start->attempt; most > 0;) {
    ep_error why = {0};
    const int attempt = attempt_find(base, start->job, most);
    if (attempt == 0) break;
    most = attempt - 1;
    snprintf(name, sizeof name, "%s-%d", start->job, attempt);
    ep_status joined = ep_path_join(path, error, base, name, NULL);
    if (joined != EP_OK) return joined;
    ep_status taken = *step < 0 ? folder_take(start, attempt, path, step, &why) : EP_OK;
    if (taken != EP_OK && status == EP_OK) status = ep_fail(error, taken, "%s", why.message);
    if (taken != EP_IO && taken != EP_UNAVAILABLE && taken != EP_NO_MEMORY) folder_remove(path);
  }
  return status;
}

/* --- what nobody took up --------------------------------------------------------------------- */

static bool is_old(int folder, const char *name, int64_t seconds) {
  struct stat state;
  return fstatat(folder, name, &state, AT_SYMLINK_NOFOLLOW) == 0 &&
         (int64_t)time(NULL) - state.st_mtim.tv_sec > seconds;
}

/* Whether the job of a folder "<job>-<attempt>" is there, or may be. */
static bool job_is(const char *name, const char *jobs_folder) {
  char job[EP_ID_BYTES], path[EP_PATH_BYTES];
  const char *dash = strrchr(name, '-');
  if (!dash || (size_t)(dash - name) >= sizeof job) return false;
  snprintf(job, sizeof job, "%.*s", (int)(dash - name), name);
  return ep_path_join(path, NULL, jobs_folder, job, NULL) == EP_OK &&
         (access(path, F_OK) == 0 || errno != ENOENT);
}

void ep_handovers_trim(const char *shared, const char *jobs_folder) {
  char base[EP_PATH_BYTES], path[EP_PATH_BYTES];
  if (ep_path_join(base, NULL, shared, FOLDER, NULL) != EP_OK) return;
  DIR *entries = opendir(base);
  for (struct dirent *entry; entries && (entry = readdir(entries));) {
    const char *name = entry->d_name;
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0) continue;
    const bool unended = name[0] == '.';
    const bool goes = unended ? is_old(dirfd(entries), name, UNENDED_SECONDS)
                              : !job_is(name, jobs_folder) ||
                                    is_old(dirfd(entries), name, EP_LIMIT_HANDOVER_SECONDS);
    if (goes && ep_path_join(path, NULL, base, name, NULL) == EP_OK) folder_remove(path);
  }
  if (entries) closedir(entries);
}
