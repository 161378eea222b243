/* A copy of the store as it is at one moment, while a daemon writes to it. */
#include "server/store/snapshot.h"

#include <stdio.h>

#include "server/store/sql.h"

enum { STEP_PAGES = -1 /* all at once: no write comes between */, BUSY_MS = 5000 };

static ep_status copy_fail(sqlite3 *database, const char *path, int code, ep_error *error) {
  return ep_fail(error, (code & 0xff) == SQLITE_FULL ? EP_UNAVAILABLE : EP_IO,
                 "%s cannot be copied: %s", path,
                 database ? sqlite3_errmsg(database) : sqlite3_errstr(code));
}

ep_status ep_store_snapshot(const char *from, const char *to, ep_error *error) {
  sqlite3 *source = NULL, *target = NULL;
  int code = sqlite3_open_v2(from, &source, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL);
  if (code == SQLITE_OK) code = sqlite3_busy_timeout(source, BUSY_MS);
  if (code == SQLITE_OK) code = sqlite3_open(to, &target);
  sqlite3_backup *copy =
      code == SQLITE_OK ? sqlite3_backup_init(target, "main", source, "main") : NULL;
  if (copy) {
    code = sqlite3_backup_step(copy, STEP_PAGES);
    int end = sqlite3_backup_finish(copy);
    if (code == SQLITE_DONE) code = end;
  } else if (code == SQLITE_OK) {
    code = sqlite3_errcode(target);
  }
  ep_status status =
      code == SQLITE_OK ? EP_OK : copy_fail(copy ? target : source, from, code, error);
  sqlite3_close(target);
  sqlite3_close(source);
  return status;
}

ep_status ep_store_jobs_walk(ep_store *store, const char *after, ep_walked_job *jobs, int limit,
                             int *count, ep_error *error) {
  sqlite3_stmt *s = ep_store_lock(store, EP_SQL_JOBS_WALK);
  int code = SQLITE_ROW;
  ep_store_text_bind(s, 1, after);
  sqlite3_bind_int(s, 2, limit);
  *count = 0;
  while (*count < limit && (code = sqlite3_step(s)) == SQLITE_ROW) {
    ep_walked_job *job = &jobs[(*count)++];
    snprintf(job->id, sizeof job->id, "%s", (const char *)sqlite3_column_text(s, 0));
    job->ended = sqlite3_column_int64(s, 1) > 0;
  }
  ep_status status =
      code == SQLITE_ROW || code == SQLITE_DONE ? EP_OK : ep_store_fail(store, code, error);
  ep_store_unlock(store, s);
  return status;
}
