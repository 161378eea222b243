#include <stdio.h>
#include <string.h>

#include "server/store/rows.h"

ep_status ep_store_job_insert(ep_store *store, const ep_job_row *row, const uint8_t *key_hash,
                              const uint8_t *body_hash, ep_error *error) {
  sqlite3_stmt *s = ep_store_lock(store, EP_SQL_JOB_INSERT);
  ep_store_text_bind(s, 1, row->id);
  ep_store_text_bind(s, 2, row->name ? row->name : "");
  ep_store_text_bind(s, 3, ep_state_name(row->state));
  sqlite3_bind_int(s, 4, row->priority);
  ep_store_text_bind(s, 5, row->spec);
  ep_store_text_bind(s, 6, row->dataset);
  ep_store_text_bind(s, 7, row->requested_device);
  ep_store_text_bind(s, 8, row->device);
  ep_store_text_bind(s, 9, row->executor);
  sqlite3_bind_double(s, 10, row->seconds_cpu);
  sqlite3_bind_double(s, 11, row->seconds_cuda);
  sqlite3_bind_int(s, 12, row->attempt);
  sqlite3_bind_int64(s, 13, row->epochs);
  sqlite3_bind_int64(s, 14, row->parameters);
  sqlite3_bind_int64(s, 15, row->bytes);
  ep_store_text_bind(s, 16, row->result);
  sqlite3_bind_int64(s, 17, row->created_us);
  sqlite3_bind_int64(s, 18, row->started_us);
  sqlite3_bind_int64(s, 19, row->finished_us);
  sqlite3_bind_int64(s, 20, (int64_t)row->version);
  ep_store_text_bind(s, 21, row->tags ? row->tags : "[]");
  sqlite3_bind_int(s, 22, row->cores);
  sqlite3_bind_int(s, 23, row->pinned);
  sqlite3_bind_int64(s, 24, row->ttl_seconds);
  if (key_hash && body_hash) {
    sqlite3_bind_blob(s, 25, key_hash, EP_STORE_HASH_BYTES, SQLITE_STATIC);
    sqlite3_bind_blob(s, 26, body_hash, EP_STORE_HASH_BYTES, SQLITE_STATIC);
  }
  ep_store_text_bind(s, 27, row->owner);
  ep_store_text_bind(s, 28, row->dataset_name);
  sqlite3_bind_int(s, 29, row->private);
  sqlite3_bind_double(s, 30, row->max_seconds);
  ep_store_text_bind(s, 31, row->automatic);
  ep_store_text_bind(s, 32, row->remarks ? row->remarks : "");
  ep_status status = ep_store_run(store, s, error);
  ep_store_unlock(store, s);
  return status;
}

ep_status ep_store_job_by_key(ep_store *store, const uint8_t *key_hash, char id[EP_ID_BYTES],
                              uint8_t *body_hash, ep_error *error) {
  sqlite3_stmt *s = ep_store_lock(store, EP_SQL_JOB_BY_KEY);
  sqlite3_bind_blob(s, 1, key_hash, EP_STORE_HASH_BYTES, SQLITE_STATIC);
  int code = sqlite3_step(s);
  ep_status status = EP_OK;
  if (code == SQLITE_ROW && sqlite3_column_bytes(s, 1) == EP_STORE_HASH_BYTES &&
      sqlite3_column_bytes(s, 0) < EP_ID_BYTES) {
    const char *text = (const char *)sqlite3_column_text(s, 0);
    if (text) snprintf(id, EP_ID_BYTES, "%s", text);
    memcpy(body_hash, sqlite3_column_blob(s, 1), EP_STORE_HASH_BYTES);
    if (ep_store_row_short(s)) status = ep_fail_memory(error);
  } else {
    status = code == SQLITE_DONE || code == SQLITE_ROW
                 ? ep_fail(error, EP_NOT_FOUND, "no job was submitted with that key")
                 : ep_store_fail(store, code, error);
  }
  ep_store_unlock(store, s);
  return status;
}

/* Binds the row to EP_SQL_JOB_UPDATE. */
static void update_bind(sqlite3_stmt *s, const ep_job_row *row) {
  ep_store_text_bind(s, 1, row->id);
  ep_store_text_bind(s, 2, ep_state_name(row->state));
  ep_store_text_bind(s, 3, row->device);
  ep_store_text_bind(s, 4, row->executor);
  sqlite3_bind_int(s, 5, row->attempt);
  ep_store_text_bind(s, 6, row->result);
  sqlite3_bind_int64(s, 7, row->started_us);
  sqlite3_bind_int64(s, 8, row->finished_us);
  sqlite3_bind_int64(s, 9, (int64_t)row->version);
}

ep_status ep_store_job_update(ep_store *store, const ep_job_row *row, ep_error *error) {
  sqlite3_stmt *s = ep_store_lock(store, EP_SQL_JOB_UPDATE);
  update_bind(s, row);
  ep_status status = ep_store_run(store, s, error);
  ep_store_unlock(store, s);
  return status;
}

ep_status ep_store_job_note(ep_store *store, const ep_job_row *row, ep_error *error) {
  sqlite3_stmt *s = ep_store_lock(store, EP_SQL_JOB_UPDATE);
  update_bind(s, row);
  ep_status status = ep_store_run_unsynced(store, s, error);
  ep_store_unlock(store, s);
  return status;
}

ep_status ep_store_job_intend(ep_store *store, const char *id, ep_intent intent, ep_error *error) {
  sqlite3_stmt *s = ep_store_lock(store, EP_SQL_JOB_INTEND);
  ep_store_text_bind(s, 1, id);
  sqlite3_bind_int(s, 2, (int)intent);
  ep_status status = intent == EP_INTENT_CANCEL ? ep_store_run_delete(store, s, error)
                                                : ep_store_run(store, s, error);
  ep_store_unlock(store, s);
  return status;
}

ep_status ep_store_job_get(ep_store *store, const char *id, ep_job_row *out, ep_error *error) {
  *out = (ep_job_row){0};
  sqlite3_stmt *s = ep_store_lock_reader(&store, EP_SQL_JOB_GET);
  ep_store_text_bind(s, 1, id);
  int code = sqlite3_step(s);
  ep_status status = EP_OK;
  if (code == SQLITE_ROW) {
    status = ep_store_row_take(s, out, error);
  } else {
    status = code == SQLITE_DONE
                 ? ep_fail(error, EP_NOT_FOUND, "%s %.60s not found", ep_id_noun(id), id)
                 : ep_store_fail(store, code, error);
  }
  ep_store_unlock(store, s);
  return status;
}

ep_status ep_store_job_delete(ep_store *store, const char *id, ep_error *error) {
  sqlite3_stmt *s = ep_store_lock(store, EP_SQL_JOB_DELETE);
  ep_store_text_bind(s, 1, id);
  ep_status status = ep_store_run_delete(store, s, error);
  ep_store_unlock(store, s);
  return status;
}

ep_status ep_store_job_expire(ep_store *store, const char *id, ep_error *error) {
  sqlite3_stmt *s = ep_store_lock(store, EP_SQL_JOB_EXPIRE);
  ep_store_text_bind(s, 1, id);
  ep_status status = ep_store_run_delete(store, s, error);
  if (status == EP_OK && sqlite3_changes(store->database) == 0)
    status = ep_fail(error, EP_CONFLICT, "job %s is pinned", id);
  ep_store_unlock(store, s);
  return status;
}

bool ep_store_job_exists(ep_store *store, const char *id) {
  sqlite3_stmt *s = ep_store_lock_reader(&store, EP_SQL_JOB_EXISTS);
  ep_store_text_bind(s, 1, id);
  int code = sqlite3_step(s);
  if (code != SQLITE_ROW && code != SQLITE_DONE) ep_store_fail(store, code, NULL);
  ep_store_unlock(store, s);
  return code != SQLITE_DONE; /* when in doubt it is there: nothing is removed */
}
