#include <stdlib.h>

#include "server/jobs/live/live.h"
#include "server/jobs/views/view.h"

enum { TRIES = 4 };

static ep_status limit_check(const ep_job_page *page, ep_error *error) {
  if (page->limit >= 1 && page->limit <= EP_LIMIT_LIST_JOBS) return EP_OK;
  return ep_fail(error, EP_INVALID, "limit must be 1 to %d", EP_LIMIT_LIST_JOBS);
}

/* Reads a row again that was read while its job was live, if the job has ended since. */
static void row_refresh(ep_jobs *jobs, ep_job_row *row) {
  ep_job_row now;
  if (row->finished_us != 0 || ep_store_job_get(jobs->store, row->id, &now, NULL) != EP_OK) return;
  ep_job_row_deinit(row);
  *row = now;
}

/* The texts of rows[0 … count - 1]; false when memory is short, with fewer of them. */
static bool rows_format(ep_jobs *jobs, ep_job_row *rows, int64_t count, bool summary, char **items,
                        int64_t *used) {
  for (*used = 0; *used < count; ++*used) {
    ep_live_view live;
    ep_live_view_read(jobs, rows[*used].id, &live);
    if (!live.live) row_refresh(jobs, &rows[*used]);
    items[*used] = ep_job_row_format(jobs->data_dir, &rows[*used], &live, summary);
    if (!items[*used]) return false;
  }
  return true;
}

ep_status ep_jobs_list(ep_jobs *jobs, const ep_job_page *page, char **text, ep_error *error) {
  ep_job_rows list;
  int64_t used = 0;
  *text = NULL;
  ep_job_page more = *page; /* one more job tells whether there is a next page */
  more.limit++;
  ep_status status = limit_check(page, error);
  if (status == EP_OK) status = ep_store_jobs_list(jobs->store, &more, &list, error);
  if (status != EP_OK) return status;
  bool has_more = list.cut || list.count > page->limit;
  int64_t count = list.count < page->limit ? list.count : page->limit;
  char **items = calloc((size_t)count + 1, sizeof *items);
  if (items && rows_format(jobs, list.rows, count, page->summary, items, &used))
    *text = ep_list_format((const char *const *)items, count, has_more,
                           has_more ? list.rows[count - 1].id : NULL);
  for (int64_t i = 0; i < used; i++) free(items[i]);
  free(items);
  ep_job_rows_deinit(&list);
  return *text ? EP_OK : ep_fail_memory(error);
}

/* The finalizer of SplitMix64 (G. Steele, D. Lea, C. Flood, 2014). */
static uint64_t hash_mix(uint64_t value) {
  value = (value ^ (value >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  value = (value ^ (value >> 27)) * UINT64_C(0x94d049bb133111eb);
  return value ^ (value >> 31);
}

/* A hash of the first `limit` jobs' versions, in their order, and of the count. Of a live job,
 * memory has the version. The mutex is held. */
static uint64_t versions_mix(ep_jobs *jobs, const ep_job_version *versions, int64_t count,
                             int64_t limit) {
  uint64_t sum = (uint64_t)count;
  for (int64_t i = 0; i < count && i < limit; i++) {
    const ep_live_job *job = ep_live_find(jobs, versions[i].id);
    bool live = job && !job->row_ended;
    sum = hash_mix(sum + ep_live_key(versions[i].id));
    sum = hash_mix(sum + (live ? ep_live_version(jobs, job) : versions[i].version));
  }
  return sum;
}

static uint64_t ends_count(ep_jobs *jobs) {
  pthread_mutex_lock(&jobs->mutex);
  uint64_t ends = jobs->ends;
  pthread_mutex_unlock(&jobs->mutex);
  return ends;
}

/* Reads rows first, then memory. Of a job that ended in between an old row was read, so both are
 * read again. Where jobs end faster than that, the version is a new one. */
ep_status ep_jobs_list_version(ep_jobs *jobs, const ep_job_page *page, uint64_t *version,
                               ep_error *error) {
  ep_job_page more = *page;
  more.limit++;
  ep_status status = limit_check(page, error);
  if (status != EP_OK) return status;
  ep_job_version *versions = calloc((size_t)more.limit, sizeof *versions);
  if (!versions) return ep_fail_memory(error);
  *version = ep_live_tick(jobs);
  for (int tries = 0; status == EP_OK && tries < TRIES; tries++) {
    int64_t count = 0;
    uint64_t ends = ends_count(jobs);
    status = ep_store_jobs_versions(jobs->store, &more, versions, &count, error);
    if (status != EP_OK) break;
    pthread_mutex_lock(&jobs->mutex);
    bool whole = jobs->ends == ends;
    if (whole) *version = versions_mix(jobs, versions, count, page->limit);
    pthread_mutex_unlock(&jobs->mutex);
    if (whole) break;
  }
  free(versions);
  return status;
}
