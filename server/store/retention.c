/* What retention reads and writes. */
#include <stdio.h>

#include "server/store/sql.h"
#include "server/store/store.h"

/* Steps through id, due_us, disk_bytes. */
static ep_status jobs_read(ep_store *store, sqlite3_stmt *s, ep_retained_job *jobs, int limit,
                           int *count, ep_error *error) {
  int code = SQLITE_ROW;
  *count = 0;
  while (*count < limit && (code = sqlite3_step(s)) == SQLITE_ROW) {
    ep_retained_job *job = &jobs[(*count)++];
    const char *id = (const char *)sqlite3_column_text(s, 0);
    snprintf(job->id, sizeof job->id, "%s", id ? id : "");
    job->due_us = sqlite3_column_int64(s, 1);
    job->disk_bytes = sqlite3_column_int64(s, 2);
  }
  return code == SQLITE_ROW || code == SQLITE_DONE ? EP_OK : ep_store_fail(store, code, error);
}

ep_status ep_store_retained_list(ep_store *store, bool ttl, int64_t until_us,
                                 const ep_retained_job *after, ep_retained_job *jobs, int limit,
                                 int *count, ep_error *error) {
  sqlite3_stmt *s = ep_store_lock(store, ttl ? EP_SQL_RETAINED_BY_TTL : EP_SQL_RETAINED_BY_AGE);
  sqlite3_bind_int64(s, 1, until_us);
  sqlite3_bind_int64(s, 2, after->due_us);
  ep_store_text_bind(s, 3, after->id);
  sqlite3_bind_int(s, 4, limit);
  ep_status status = jobs_read(store, s, jobs, limit, count, error);
  ep_store_unlock(store, s);
  return status;
}

ep_status ep_store_unmeasured_list(ep_store *store, ep_retained_job *jobs, int limit, int *count,
                                   ep_error *error) {
  sqlite3_stmt *s = ep_store_lock(store, EP_SQL_JOBS_UNMEASURED);
  sqlite3_bind_int(s, 1, limit);
  ep_status status = jobs_read(store, s, jobs, limit, count, error);
  ep_store_unlock(store, s);
  return status;
}

ep_status ep_store_measure(ep_store *store, const char *id, int64_t disk_bytes, ep_error *error) {
  sqlite3_stmt *s = ep_store_lock(store, EP_SQL_JOB_MEASURE);
  ep_store_text_bind(s, 1, id);
  sqlite3_bind_int64(s, 2, disk_bytes);
  ep_status status = ep_store_run_unsynced(store, s, error);
  ep_store_unlock(store, s);
  return status;
}

ep_status ep_store_retained_bytes(ep_store *store, int64_t *bytes, ep_error *error) {
  sqlite3_stmt *s = ep_store_lock(store, EP_SQL_RETAINED_BYTES);
  int code = sqlite3_step(s);
  *bytes = code == SQLITE_ROW ? sqlite3_column_int64(s, 0) : 0;
  ep_status status = code == SQLITE_ROW ? EP_OK : ep_store_fail(store, code, error);
  ep_store_unlock(store, s);
  return status;
}
