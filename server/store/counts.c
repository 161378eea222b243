#include "server/store/sql.h"
#include "server/store/store.h"

ep_status ep_store_count(ep_store *store, ep_store_counts *out, ep_error *error) {
  *out = (ep_store_counts){0};
  ep_status status = EP_OK;
  sqlite3_stmt *s = ep_store_lock_reader(&store, EP_SQL_JOBS_COUNT);
  int code;
  while ((code = sqlite3_step(s)) == SQLITE_ROW) {
    const char *name = (const char *)sqlite3_column_text(s, 0);
    int state = name ? ep_state_from_name(name) : -1;
    if (ep_store_row_short(s)) break;
    if (state >= 0) out->jobs[state] = sqlite3_column_int64(s, 1);
  }
  if (code != SQLITE_DONE) status = ep_store_fail(store, code, error);
  ep_store_unlock(store, s);
  if (status != EP_OK) return status;
  s = ep_store_lock(store, EP_SQL_DATASETS_COUNT);
  code = sqlite3_step(s);
  if (code == SQLITE_ROW)
    out->datasets = sqlite3_column_int64(s, 0);
  else
    status = ep_store_fail(store, code, error);
  ep_store_unlock(store, s);
  return status;
}
