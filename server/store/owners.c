#include <stdio.h>
#include <string.h>

#include "server/store/sql.h"
#include "server/store/store.h"

ep_status ep_owned_missing(ep_owned kind, const char *name, ep_error *error) {
  if (kind == EP_OWNED_JOB)
    return ep_fail(error, EP_NOT_FOUND, "%s %.60s not found", ep_id_noun(name), name);
  return ep_fail(error, EP_NOT_FOUND, "%s \"%.128s\" not found",
                 kind == EP_OWNED_DATASET ? "dataset" : "model", name);
}

bool ep_viewer_sees(const ep_viewer *viewer, const char *owner, bool private) {
  return !private || !viewer->limited || strcmp(owner, viewer->owner ? viewer->owner : "") == 0;
}

ep_status ep_store_owner(ep_store *store, ep_owned kind, const char *name, ep_ownership *out,
                         ep_error *error) {
  static const ep_sql SQL[] = {[EP_OWNED_JOB] = EP_SQL_JOB_OWNER,
                               [EP_OWNED_DATASET] = EP_SQL_DATASET_OWNER,
                               [EP_OWNED_MODEL] = EP_SQL_MODEL_OWNER};
  sqlite3_stmt *s = ep_store_lock_reader(&store, SQL[kind]);
  ep_store_text_bind(s, 1, name);
  int code = sqlite3_step(s);
  ep_status status = EP_OK;
  if (code == SQLITE_ROW) {
    const char *text = (const char *)sqlite3_column_text(s, 0);
    snprintf(out->owner, sizeof out->owner, "%s", text ? text : "");
    out->private = sqlite3_column_int(s, 1) != 0;
    if (ep_store_row_short(s)) status = ep_fail_memory(error);
  } else {
    status = code == SQLITE_DONE ? ep_owned_missing(kind, name, error)
                                 : ep_store_fail(store, code, error);
  }
  ep_store_unlock(store, s);
  return status;
}

ep_status ep_store_owner_bytes(ep_store *store, const char *owner, const char *but, int64_t *bytes,
                               ep_error *error) {
  sqlite3_stmt *s = ep_store_lock_reader(&store, EP_SQL_DATASET_BYTES);
  ep_store_text_bind(s, 1, owner);
  ep_store_text_bind(s, 2, but);
  int code = sqlite3_step(s);
  *bytes = code == SQLITE_ROW ? sqlite3_column_int64(s, 0) : 0;
  ep_status status = code == SQLITE_ROW ? EP_OK : ep_store_fail(store, code, error);
  ep_store_unlock(store, s);
  return status;
}

ep_status ep_store_usage_add(ep_store *store, const char *owner, int64_t day, double seconds,
                             ep_error *error) {
  sqlite3_stmt *s = ep_store_lock(store, EP_SQL_USAGE_ADD);
  ep_store_text_bind(s, 1, owner);
  sqlite3_bind_int64(s, 2, day);
  sqlite3_bind_double(s, 3, seconds);
  ep_status status = ep_store_run_unsynced(store, s, error);
  ep_store_unlock(store, s);
  return status;
}

ep_status ep_store_usage_get(ep_store *store, const char *owner, int64_t day, double *seconds,
                             ep_error *error) {
  sqlite3_stmt *s = ep_store_lock_reader(&store, EP_SQL_USAGE_GET);
  ep_store_text_bind(s, 1, owner);
  sqlite3_bind_int64(s, 2, day);
  int code = sqlite3_step(s);
  *seconds = code == SQLITE_ROW ? sqlite3_column_double(s, 0) : 0;
  ep_status status =
      code == SQLITE_ROW || code == SQLITE_DONE ? EP_OK : ep_store_fail(store, code, error);
  ep_store_unlock(store, s);
  return status;
}
