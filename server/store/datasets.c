#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/process/clock.h"
#include "server/process/log.h"
#include "server/store/sql.h"
#include "server/store/store.h"

/* EP_DAMAGED: the row is not what was written. */
static ep_status dataset_read(sqlite3_stmt *s, ep_dataset_row *row, ep_error *error) {
  *row = (ep_dataset_row){0};
  const char *name = (const char *)sqlite3_column_text(s, 0);
  const char *sha256 = (const char *)sqlite3_column_text(s, 1);
  if (name) snprintf(row->name, sizeof row->name, "%s", name);
  if (sha256) snprintf(row->sha256, sizeof row->sha256, "%s", sha256);
  const char *owner = (const char *)sqlite3_column_text(s, 3);
  if (owner) snprintf(row->owner, sizeof row->owner, "%s", owner);
  row->created_us = sqlite3_column_int64(s, 2);
  row->bytes = sqlite3_column_int64(s, 4);
  if (ep_store_row_short(s)) return ep_fail_memory(error);
  row->private = sqlite3_column_int(s, 5) != 0;
  if (sqlite3_column_int(s, 6) == 1) return EP_OK;
  return ep_fail(error, EP_DAMAGED,
                 "the store's row of dataset \"%s\" is damaged: upload the same data again",
                 row->name);
}

/* EP_NOT_FOUND when there is none. The mutex is held. */
static ep_status dataset_find(ep_store *store, const char *name, ep_dataset_row *out,
                              ep_error *error) {
  sqlite3_stmt *s = store->statements[EP_SQL_DATASET_GET];
  sqlite3_bind_text(s, 1, name, -1, SQLITE_STATIC);
  int code = sqlite3_step(s);
  ep_status status = EP_OK;
  if (code == SQLITE_ROW) {
    status = dataset_read(s, out, error);
  } else {
    status = code == SQLITE_DONE
                 ? ep_fail(error, EP_NOT_FOUND, "dataset \"%.128s\" not found", name)
                 : ep_store_fail(store, code, error);
  }
  sqlite3_reset(s);
  sqlite3_clear_bindings(s);
  return status;
}

ep_status ep_store_dataset_get(ep_store *store, const char *name, ep_dataset_row *out,
                               ep_error *error) {
  sqlite3_stmt *s = ep_store_lock_reader(&store, EP_SQL_DATASET_GET);
  ep_status status = dataset_find(store, name, out, error);
  ep_store_unlock(store, s);
  return status;
}

ep_status ep_store_dataset_put(ep_store *store, const ep_dataset_row *row, ep_dataset_row *before,
                               ep_error *error) {
  *before = (ep_dataset_row){0};
  /* One critical section: of two that put the same name, each must see what it replaces. */
  sqlite3_stmt *s = ep_store_lock(store, EP_SQL_DATASET_PUT);
  ep_status status = dataset_find(store, row->name, before, NULL);
  if (status == EP_DAMAGED) { /* it is replaced; nobody knows what it meant */
    memcpy(before->sha256, row->sha256, sizeof before->sha256);
    status = EP_OK;
  }
  if (status != EP_OK && status != EP_NOT_FOUND) {
    ep_store_unlock(store, s);
    return ep_fail(error, status, "the store of dataset names could not be read");
  }
  sqlite3_bind_text(s, 1, row->name, -1, SQLITE_STATIC);
  sqlite3_bind_text(s, 2, row->sha256, -1, SQLITE_STATIC);
  sqlite3_bind_int64(s, 3, row->created_us);
  sqlite3_bind_text(s, 4, row->owner, -1, SQLITE_STATIC);
  sqlite3_bind_int64(s, 5, row->bytes);
  sqlite3_bind_int(s, 6, row->private);
  status = ep_store_run(store, s, error);
  ep_store_unlock(store, s);
  return status;
}

ep_status ep_store_dataset_visibility(ep_store *store, const char *name, bool private,
                                      ep_error *error) {
  ep_dataset_row before;
  sqlite3_stmt *s = ep_store_lock(store, EP_SQL_DATASET_VISIBILITY);
  ep_status status = dataset_find(store, name, &before, error);
  if (status == EP_OK) {
    sqlite3_bind_text(s, 1, name, -1, SQLITE_STATIC);
    sqlite3_bind_int(s, 2, private);
    status = ep_store_run(store, s, error);
  }
  ep_store_unlock(store, s);
  return status;
}

ep_status ep_store_dataset_delete(ep_store *store, const char *name, ep_error *error) {
  sqlite3_stmt *s = ep_store_lock(store, EP_SQL_DATASET_DELETE);
  sqlite3_bind_text(s, 1, name, -1, SQLITE_STATIC);
  ep_status status = ep_store_run_delete(store, s, error);
  ep_store_unlock(store, s);
  return status;
}

ep_status ep_store_datasets_damaged(ep_store *store, bool *damaged, ep_error *error) {
  *damaged = true;
  sqlite3_stmt *s = ep_store_lock(store, EP_SQL_DATASETS_DAMAGED);
  int code = sqlite3_step(s);
  if (code == SQLITE_ROW) *damaged = sqlite3_column_int64(s, 0) > 0;
  ep_status status = code == SQLITE_ROW ? EP_OK : ep_store_fail(store, code, error);
  ep_store_unlock(store, s);
  return status;
}

/* The one number of a statement that is locked, of the content; unlocks it. */
static ep_status count_take(ep_store *store, sqlite3_stmt *s, const char *sha256, int64_t *count,
                            ep_error *error) {
  *count = 0;
  sqlite3_bind_text(s, 1, sha256, -1, SQLITE_STATIC);
  int code = sqlite3_step(s);
  if (code == SQLITE_ROW) *count = sqlite3_column_int64(s, 0);
  ep_status status = code == SQLITE_ROW ? EP_OK : ep_store_fail(store, code, error);
  ep_store_unlock(store, s);
  return status;
}

ep_status ep_store_dataset_names(ep_store *store, const char *sha256, int64_t *count,
                                 ep_error *error) {
  sqlite3_stmt *s = ep_store_lock(store, EP_SQL_DATASET_NAMES);
  return count_take(store, s, sha256, count, error);
}

ep_status ep_store_dataset_jobs(ep_store *store, const char *sha256, const ep_viewer *viewer,
                                int64_t *count, ep_error *error) {
  sqlite3_stmt *s = ep_store_lock_reader(&store, EP_SQL_DATASET_JOBS);
  ep_store_viewer_bind(s, 2, viewer);
  return count_take(store, s, sha256, count, error);
}

ep_status ep_store_dataset_list(ep_store *store, const ep_viewer *viewer, ep_dataset_row **rows,
                                int64_t *count, ep_error *error) {
  ep_dataset_row *list = NULL;
  int64_t used = 0, capacity = 0;
  ep_status status = EP_OK;
  sqlite3_stmt *s = ep_store_lock_reader(&store, EP_SQL_DATASET_LIST);
  ep_store_viewer_bind(s, 1, viewer);
  int code;
  while (status == EP_OK && (code = sqlite3_step(s)) != SQLITE_DONE) {
    if (code != SQLITE_ROW) {
      status = ep_store_fail(store, code, error);
      break;
    }
    if (used == capacity) {
      capacity = capacity == 0 ? 16 : capacity * 2;
      ep_dataset_row *grown = realloc(list, (size_t)capacity * sizeof *grown);
      if (!grown) {
        status = ep_fail_memory(error);
        break;
      }
      list = grown;
    }
    ep_error why = {0};
    if (dataset_read(s, &list[used], &why) == EP_OK)
      used++;
    else
      ep_log(EP_LOG_ERROR, "%s", why.message);
  }
  ep_store_unlock(store, s);
  if (status != EP_OK) {
    free(list);
    list = NULL;
    used = 0;
  }
  *rows = list;
  *count = used;
  return status;
}
