#include "server/store/sql.h"
#include "server/store/store.h"

/* Of a statement whose row is one number. */
static ep_status number_read(ep_store *store, ep_sql sql, int64_t *out, ep_error *error) {
  sqlite3_stmt *s = ep_store_lock_reader(&store, sql);
  int code = sqlite3_step(s);
  if (code == SQLITE_ROW) *out = sqlite3_column_int64(s, 0);
  ep_status status = code == SQLITE_ROW ? EP_OK : ep_store_fail(store, code, error);
  ep_store_unlock(store, s);
  return status;
}

static ep_status states_count(ep_store *store, ep_store_counts *out, ep_error *error) {
  sqlite3_stmt *s = ep_store_lock_reader(&store, EP_SQL_JOBS_COUNT);
  int code;
  while ((code = sqlite3_step(s)) == SQLITE_ROW) {
    const char *name = (const char *)sqlite3_column_text(s, 0);
    int state = name ? ep_state_from_name(name) : -1;
    if (ep_store_row_short(s)) break;
    if (state >= 0) out->jobs[state] = sqlite3_column_int64(s, 1);
  }
  ep_status status = code == SQLITE_DONE ? EP_OK : ep_store_fail(store, code, error);
  ep_store_unlock(store, s);
  return status;
}

ep_status ep_store_count(ep_store *store, ep_store_counts *out, ep_error *error) {
  *out = (ep_store_counts){0};
  ep_status status = states_count(store, out, error);
  if (status == EP_OK) status = number_read(store, EP_SQL_DATASETS_COUNT, &out->datasets, error);
  if (status == EP_OK)
    status = number_read(store, EP_SQL_DELIVERIES_COUNT, &out->deliveries, error);
  return status;
}
