/* Memory counts, and the store is told every few seconds: what is not there yet is in jobs->used.
 */
#include "server/jobs/live/usage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/process/clock.h"
#include "server/process/log.h"

enum { STORE_US = 2000000, DAY_SECONDS = 86400 };

static int64_t day_of(int64_t utc_us) {
  return utc_us / 1000000 / DAY_SECONDS;
}

static double seconds_since(const ep_live_job *job, int64_t now_us) {
  int gpus = (job->gang.count > 1 ? job->gang.count : 1) + job->helpers;
  return job->device_since_us > 0 ? (double)(now_us - job->device_since_us) / 1e6 * gpus : 0;
}

/* Locked. */
static void used_add(ep_jobs *jobs, const char *owner, double seconds) {
  int64_t i = 0;
  while (i < jobs->used_count && strcmp(jobs->used[i].owner, owner) != 0) i++;
  if (i == jobs->used_count) {
    ep_used *grown = realloc(jobs->used, (size_t)(i + 1) * sizeof *grown);
    if (!grown) return; /* some seconds for nothing */
    jobs->used = grown;
    jobs->used_count++;
    grown[i] = (ep_used){0};
    snprintf(grown[i].owner, sizeof grown[i].owner, "%s", owner);
  }
  jobs->used[i].seconds += seconds;
}

void ep_usage_begin(const ep_jobs *jobs, ep_live_job *job) {
  if (jobs->quota_device_seconds > 0) job->device_since_us = ep_clock_steady_us();
}

void ep_usage_end(ep_jobs *jobs, ep_live_job *job) {
  double seconds = seconds_since(job, ep_clock_steady_us());
  job->device_since_us = 0;
  if (seconds > 0) used_add(jobs, job->row.owner, seconds);
}

/* What running jobs have used since they were last counted. True: there are some. Locked. */
static bool running_count(ep_jobs *jobs) {
  int64_t now_us = ep_clock_steady_us();
  bool any = false;
  for (int i = 0; jobs->running > 0 && i < EP_JOBS_BUCKETS; i++)
    for (ep_live_job *job = jobs->buckets[i]; job; job = job->next) {
      if (job->device_since_us == 0) continue;
      used_add(jobs, job->row.owner, seconds_since(job, now_us));
      job->device_since_us = now_us;
      any = true;
    }
  return any;
}

bool ep_usage_store(ep_jobs *jobs, bool now) {
  int64_t now_us = ep_clock_steady_us();
  if (jobs->quota_device_seconds == 0) return false;
  pthread_mutex_lock(&jobs->mutex);
  bool due = now || now_us >= jobs->used_store_us;
  bool running = due ? running_count(jobs) : jobs->running > 0;
  ep_used *used = due ? jobs->used : NULL;
  int64_t count = due ? jobs->used_count : 0;
  bool left = running || (!due && jobs->used_count > 0);
  if (due) {
    jobs->used = NULL;
    jobs->used_count = 0;
    jobs->used_store_us = now_us + STORE_US;
  }
  pthread_mutex_unlock(&jobs->mutex);
  for (int64_t i = 0; i < count; i++) {
    ep_error error = {0};
    if (ep_store_usage_add(jobs->store, used[i].owner, day_of(ep_clock_utc_us()), used[i].seconds,
                           &error) != EP_OK)
      ep_log(EP_LOG_WARNING, "%.1f device-seconds of %s are not counted: %s", used[i].seconds,
             used[i].owner[0] ? used[i].owner : "nobody", error.message);
  }
  free(used);
  return left;
}

/* What the store does not have yet. */
static double unstored_seconds(ep_jobs *jobs, const char *owner) {
  int64_t now_us = ep_clock_steady_us();
  double seconds = 0;
  pthread_mutex_lock(&jobs->mutex);
  for (int64_t i = 0; i < jobs->used_count; i++)
    if (strcmp(jobs->used[i].owner, owner) == 0) seconds += jobs->used[i].seconds;
  for (int i = 0; jobs->running > 0 && i < EP_JOBS_BUCKETS; i++)
    for (const ep_live_job *job = jobs->buckets[i]; job; job = job->next)
      if (strcmp(job->row.owner, owner) == 0) seconds += seconds_since(job, now_us);
  pthread_mutex_unlock(&jobs->mutex);
  return seconds;
}

ep_status ep_usage_check(ep_jobs *jobs, const char *owner, ep_problem *problem) {
  ep_error error = {0};
  double seconds = 0;
  if (jobs->quota_device_seconds == 0) return EP_OK;
  int64_t utc_us = ep_clock_utc_us();
  ep_status status = ep_store_usage_get(jobs->store, owner, day_of(utc_us), &seconds, &error);
  if (status != EP_OK) return ep_problem_from_error(problem, &error);
  seconds += unstored_seconds(jobs, owner);
  if (seconds < (double)jobs->quota_device_seconds) return EP_OK;
  problem->retry_seconds = (int)(DAY_SECONDS - utc_us / 1000000 % DAY_SECONDS);
  return ep_problem_set(problem, EP_BUSY,
                        "%s has used %.0f of %lld device-seconds today: accepted jobs continue, "
                        "and the quota resets at 0:00 UTC",
                        owner[0] ? owner : "nobody", seconds,
                        (long long)jobs->quota_device_seconds);
}
