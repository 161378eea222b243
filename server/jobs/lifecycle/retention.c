#include "server/jobs/lifecycle/retention.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "server/metrics/metrics.h"
#include "server/process/ballast.h"
#include "server/process/clock.h"
#include "server/process/data_dir.h"
#include "server/process/log.h"

enum { ROUND_SECONDS = 2, BLOCK_BYTES = 512 /* of st_blocks */ };

/* What a job's files take on the disk; 0: it has gone. */
static int64_t folder_measure(const ep_jobs *jobs, const char *id) {
  char path[EP_PATH_BYTES];
  struct stat about;
  int64_t bytes = 0;
  if (ep_path_join(path, NULL, jobs->data_dir, "jobs", id, NULL) != EP_OK) return 0;
  DIR *folder = opendir(path);
  if (!folder) return 0;
  for (const struct dirent *entry; (entry = readdir(folder));)
    if (strcmp(entry->d_name, "..") != 0 &&
        fstatat(dirfd(folder), entry->d_name, &about, AT_SYMLINK_NOFOLLOW) == 0)
      bytes += (int64_t)about.st_blocks * BLOCK_BYTES;
  closedir(folder);
  return bytes;
}

/* Measures jobs that ended; *measured: whether there were any. */
static ep_status jobs_measure(ep_jobs *jobs, bool *measured, ep_error *error) {
  ep_retained_job list[EP_LIMIT_EXPIRED_JOBS];
  int count = EP_LIMIT_EXPIRED_JOBS;
  ep_status status = EP_OK;
  while (status == EP_OK && count == EP_LIMIT_EXPIRED_JOBS) {
    status = ep_store_unmeasured_list(jobs->store, list, EP_LIMIT_EXPIRED_JOBS, &count, error);
    for (int i = 0; status == EP_OK && i < count; i++)
      status = ep_store_measure(jobs->store, list[i].id, folder_measure(jobs, list[i].id), error);
    *measured = *measured || count > 0;
  }
  return status;
}

/* One reason for which jobs go. */
typedef struct {
  const char *reason;
  bool ttl;
  int64_t until_us;
  int64_t excess_bytes; /* ends once so many were freed; INT64_MAX: all go */
} expiry_rule;

/* Deletes a job; false where it is needed. */
static bool job_expire(ep_jobs *jobs, const ep_retained_job *job, const char *reason) {
  ep_error error = {0};
  ep_status status = ep_job_expire(jobs, job->id, &error);
  if (status == EP_OK) {
    ep_metrics_add(EP_COUNTER_JOBS_EXPIRED, 1);
    ep_log(EP_LOG_INFO, "job %s: deleted, %s", job->id, reason);
  } else if (status != EP_CONFLICT && status != EP_NOT_FOUND) {
    ep_log(EP_LOG_WARNING, "job %s cannot be deleted, trying again: %s", job->id, error.message);
  }
  return status == EP_OK;
}

static bool is_stopping(ep_jobs *jobs) {
  pthread_mutex_lock(&jobs->retention.mutex);
  bool stop = jobs->retention.stop;
  pthread_mutex_unlock(&jobs->retention.mutex);
  return stop;
}

/* Jobs that are needed are stepped over. */
static ep_status rule_apply(ep_jobs *jobs, expiry_rule *rule, ep_error *error) {
  ep_retained_job list[EP_LIMIT_EXPIRED_JOBS], after = {.due_us = 0};
  bool all = rule->excess_bytes == INT64_MAX;
  int count = EP_LIMIT_EXPIRED_JOBS;
  ep_status status = EP_OK;
  while (status == EP_OK && rule->excess_bytes > 0 && count == EP_LIMIT_EXPIRED_JOBS) {
    status = ep_store_retained_list(jobs->store, rule->ttl, rule->until_us, &after, list,
                                    EP_LIMIT_EXPIRED_JOBS, &count, error);
    for (int i = 0; status == EP_OK && i < count && rule->excess_bytes > 0 && !is_stopping(jobs);
         i++) {
      bool gone = job_expire(jobs, &list[i], rule->reason);
      if (gone && !all) rule->excess_bytes -= list[i].disk_bytes;
    }
    if (count > 0) after = list[count - 1];
    if (is_stopping(jobs)) break;
  }
  return status;
}

/* Sums up only when there is something new: what others delete makes the sum smaller. */
static ep_status bytes_apply(ep_jobs *jobs, ep_error *error) {
  bool measured = !jobs->retention.summed;
  int64_t bytes = 0;
  ep_status status = jobs_measure(jobs, &measured, error);
  if (status != EP_OK || !measured) return status;
  status = ep_store_retained_bytes(jobs->store, &bytes, error);
  expiry_rule largest = {.reason = "all ended jobs take more than --keep-bytes",
                         .until_us = INT64_MAX,
                         .excess_bytes = bytes - jobs->retention.keep_bytes};
  if (status == EP_OK) status = rule_apply(jobs, &largest, error);
  jobs->retention.summed = status == EP_OK && largest.excess_bytes <= 0;
  return status;
}

static ep_status round_run(ep_jobs *jobs, ep_error *error) {
  int64_t now_us = ep_clock_utc_us(), keep_us = jobs->retention.keep_us;
  expiry_rule ttl = {"its ttl_seconds have passed", true, now_us, INT64_MAX};
  expiry_rule age = {"it ended more than --keep-days ago", false, now_us - keep_us, INT64_MAX};
  ep_status status = rule_apply(jobs, &ttl, error);
  if (status == EP_OK && keep_us > 0) status = rule_apply(jobs, &age, error);
  if (status == EP_OK && jobs->retention.keep_bytes > 0) status = bytes_apply(jobs, error);
  if (status == EP_OK) status = ep_job_marked_retry(jobs, error);
  ep_ballast_fill(jobs->data_dir);
  return status;
}

static void *retention_run(void *context) {
  ep_jobs *jobs = context;
  struct timespec until;
  while (!is_stopping(jobs)) {
    ep_error error = {0};
    if (round_run(jobs, &error) != EP_OK)
      ep_log(EP_LOG_WARNING, "retention: %s; trying again", error.message);
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += ROUND_SECONDS;
    pthread_mutex_lock(&jobs->retention.mutex);
    if (!jobs->retention.stop)
      pthread_cond_timedwait(&jobs->retention.stopped, &jobs->retention.mutex, &until);
    pthread_mutex_unlock(&jobs->retention.mutex);
  }
  return NULL;
}

ep_status ep_retention_start(ep_jobs *jobs, ep_error *error) {
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_mutex_init(&jobs->retention.mutex, NULL);
  pthread_cond_init(&jobs->retention.stopped, &attributes);
  pthread_condattr_destroy(&attributes);
  jobs->retention.started = pthread_create(&jobs->retention.thread, NULL, retention_run, jobs) == 0;
  if (jobs->retention.started) return EP_OK;
  pthread_cond_destroy(&jobs->retention.stopped);
  pthread_mutex_destroy(&jobs->retention.mutex);
  return ep_fail(error, EP_UNAVAILABLE, "the retention thread cannot be started");
}

void ep_retention_stop(ep_jobs *jobs) {
  if (!jobs->retention.started) return;
  pthread_mutex_lock(&jobs->retention.mutex);
  jobs->retention.stop = true;
  pthread_cond_signal(&jobs->retention.stopped);
  pthread_mutex_unlock(&jobs->retention.mutex);
  pthread_join(jobs->retention.thread, NULL);
  jobs->retention.started = false;
  pthread_cond_destroy(&jobs->retention.stopped);
  pthread_mutex_destroy(&jobs->retention.mutex);
}
