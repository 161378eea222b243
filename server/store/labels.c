#include <stdlib.h>
#include <string.h>

#include "server/store/sql.h"
#include "server/store/store.h"

static bool has_ended(const char *name) {
  int state = name ? ep_state_from_name(name) : -1;
  return state >= 0 && ep_state_has_ended((ep_state)state);
}

/* A row as it will be; texts owned. */
typedef struct {
  char *name, *tags, *spec;
  int priority;
  bool pinned, private;
  int64_t labels_version;
} labelled_row;

static void labelled_deinit(labelled_row *row) {
  free(row->name);
  free(row->tags);
  free(row->spec);
}

static char *text_copy(const char *text, const char *fallback) {
  return strdup(text ? text : fallback);
}

/* Lays the labels over the row at which the statement stands. row: all zero. */
static ep_status row_label(sqlite3_stmt *s, const char *id, const ep_labels *labels,
                           labelled_row *row, ep_error *error) {
  if (sqlite3_column_int(s, 8) != 1)
    return ep_fail(error, EP_DAMAGED, "the store's row of job %.60s is damaged: it is not changed",
                   id);
  if (labels->has_priority && has_ended((const char *)sqlite3_column_text(s, 4)))
    return ep_fail_at(error, EP_CONFLICT, "/priority",
                      "job %.60s has ended: its priority cannot be changed", id);
  const char *name = (const char *)sqlite3_column_text(s, 0);
  const char *spec = (const char *)sqlite3_column_text(s, 2);
  const char *tags = (const char *)sqlite3_column_text(s, 3);
  if (ep_store_row_short(s)) return ep_fail_memory(error);
  row->name = text_copy(labels->has_name ? labels->name : name, "");
  row->tags = text_copy(labels->has_tags ? labels->tags : tags, "[]");
  row->priority = labels->has_priority ? labels->priority : sqlite3_column_int(s, 1);
  row->pinned = labels->has_pinned ? labels->pinned : sqlite3_column_int(s, 6) != 0;
  row->private = labels->has_visibility ? labels->private : sqlite3_column_int(s, 7) != 0;
  row->labels_version = sqlite3_column_int64(s, 5) + 1;
  if (!row->name || !row->tags || !spec) return ep_fail_memory(error);
  return ep_labels_apply(spec, labels, &row->spec, error);
}

/* The mutex is held. */
static ep_status row_write(ep_store *store, const char *id, const labelled_row *row,
                           uint64_t version, ep_error *error) {
  sqlite3_stmt *s = store->statements[EP_SQL_JOB_LABEL];
  ep_store_text_bind(s, 1, id);
  ep_store_text_bind(s, 2, row->name);
  sqlite3_bind_int(s, 3, row->priority);
  ep_store_text_bind(s, 4, row->spec);
  ep_store_text_bind(s, 5, row->tags);
  sqlite3_bind_int64(s, 6, row->labels_version);
  sqlite3_bind_int64(s, 7, (int64_t)version);
  sqlite3_bind_int(s, 8, row->pinned);
  sqlite3_bind_int(s, 9, row->private);
  ep_status status = ep_store_run(store, s, error);
  sqlite3_clear_bindings(s);
  return status;
}

/* The row as it will be. The mutex is held. */
static ep_status row_find(ep_store *store, const char *id, const ep_labels *labels,
                          labelled_row *row, ep_error *error) {
  sqlite3_stmt *s = store->statements[EP_SQL_JOB_LABELS];
  ep_store_text_bind(s, 1, id);
  int code = sqlite3_step(s);
  ep_status status = EP_OK;
  if (code == SQLITE_ROW)
    status = row_label(s, id, labels, row, error);
  else
    status = code == SQLITE_DONE
                 ? ep_fail(error, EP_NOT_FOUND, "%s %.60s not found", ep_id_noun(id), id)
                 : ep_store_fail(store, code, error);
  sqlite3_reset(s);
  return status;
}

ep_status ep_store_job_label(ep_store *store, const char *id, const ep_labels *labels,
                             uint64_t version, ep_store_labels *out, ep_error *error) {
  labelled_row row = {0};
  *out = (ep_store_labels){0};
  sqlite3_stmt *s = ep_store_lock(store, EP_SQL_JOB_LABELS);
  ep_status status = row_find(store, id, labels, &row, error);
  if (status == EP_OK) status = row_write(store, id, &row, version, error);
  ep_store_unlock(store, s);
  if (status == EP_OK) {
    *out = (ep_store_labels){row.name, row.priority, row.private, row.labels_version};
    row.name = NULL;
  }
  labelled_deinit(&row);
  return status;
}

ep_status ep_store_job_give(ep_store *store, const char *id, const char *owner, uint64_t version,
                            ep_error *error) {
  const ep_labels labels = {.has_visibility = true, .private = true, .has_pinned = true};
  labelled_row row = {0};
  sqlite3_stmt *s = ep_store_lock(store, EP_SQL_JOB_GIVE);
  ep_status status = row_find(store, id, &labels, &row, error);
  if (status == EP_OK) {
    ep_store_text_bind(s, 1, id);
    ep_store_text_bind(s, 2, owner);
    ep_store_text_bind(s, 3, row.spec);
    sqlite3_bind_int64(s, 4, row.labels_version);
    sqlite3_bind_int64(s, 5, (int64_t)version);
    status = ep_store_run(store, s, error);
    sqlite3_clear_bindings(s);
  }
  ep_store_unlock(store, s);
  labelled_deinit(&row);
  return status;
}
