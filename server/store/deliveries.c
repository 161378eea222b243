#include "server/store/deliveries.h"

#include <stdio.h>

#include "api/json/scanner.h"
#include "server/store/sql.h"

/* "" where there is none. */
static void text_copy(sqlite3_stmt *s, int column, char *out, size_t bytes) {
  const char *text = (const char *)sqlite3_column_text(s, column);
  snprintf(out, bytes, "%s", text ? text : "");
}

/* The row of EP_DELIVERY_COLUMNS at which the statement stands. */
static void row_read(sqlite3_stmt *s, ep_delivery *out) {
  char event[16];
  *out = (ep_delivery){0};
  text_copy(s, 0, out->job, sizeof out->job);
  out->hook = sqlite3_column_int(s, 1);
  text_copy(s, 2, event, sizeof event);
  int word = ep_webhook_from_name(event);
  out->event = word >= 0 ? (ep_webhook)word : EP_WEBHOOK_END;
  text_copy(s, 3, out->id, sizeof out->id);
  text_copy(s, 4, out->url, sizeof out->url);
  text_copy(s, 5, out->details, sizeof out->details);
  out->created_us = sqlite3_column_int64(s, 6);
  out->due_us = sqlite3_column_int64(s, 7);
  out->attempts = sqlite3_column_int(s, 8);
  out->status = sqlite3_column_int(s, 9);
  out->delivered = sqlite3_column_int(s, 10) != 0;
  text_copy(s, 11, out->fault, sizeof out->fault);
}

static ep_status rows_read(ep_store *store, sqlite3_stmt *s, ep_delivery *rows, int limit,
                           int *count, ep_error *error) {
  int code = SQLITE_ROW;
  *count = 0;
  while (*count < limit && (code = sqlite3_step(s)) == SQLITE_ROW) {
    row_read(s, &rows[(*count)++]);
    if (ep_store_row_short(s)) return ep_fail_memory(error);
  }
  return code == SQLITE_ROW || code == SQLITE_DONE ? EP_OK : ep_store_fail(store, code, error);
}

ep_status ep_store_deliveries_due(ep_store *store, int64_t now_us, ep_delivery *rows, int limit,
                                  int *count, ep_error *error) {
  sqlite3_stmt *s = ep_store_lock_reader(&store, EP_SQL_DELIVERIES_DUE);
  sqlite3_bind_int64(s, 1, now_us);
  sqlite3_bind_int(s, 2, EP_LIMIT_HOST_TRANSFERS);
  sqlite3_bind_int(s, 3, limit);
  ep_status status = rows_read(store, s, rows, limit, count, error);
  ep_store_unlock(store, s);
  return status;
}

ep_status ep_store_deliveries_next(ep_store *store, int64_t now_us, int64_t *due_us,
                                   ep_error *error) {
  sqlite3_stmt *s = ep_store_lock_reader(&store, EP_SQL_DELIVERIES_NEXT);
  sqlite3_bind_int64(s, 1, now_us);
  int code = sqlite3_step(s);
  bool some = code == SQLITE_ROW && sqlite3_column_type(s, 0) != SQLITE_NULL;
  *due_us = some ? sqlite3_column_int64(s, 0) : INT64_MAX;
  ep_status status = code == SQLITE_ROW ? EP_OK : ep_store_fail(store, code, error);
  ep_store_unlock(store, s);
  return status;
}

ep_status ep_store_delivery_note(ep_store *store, const ep_delivery *row, ep_error *error) {
  sqlite3_stmt *s = ep_store_lock(store, EP_SQL_DELIVERY_NOTE);
  ep_store_text_bind(s, 1, row->job);
  sqlite3_bind_int(s, 2, row->hook);
  ep_store_text_bind(s, 3, ep_webhook_name(row->event));
  ep_store_text_bind(s, 4, row->id);
  if (row->due_us != 0) sqlite3_bind_int64(s, 5, row->due_us);
  sqlite3_bind_int(s, 6, row->attempts);
  sqlite3_bind_int(s, 7, row->status);
  sqlite3_bind_int(s, 8, row->delivered);
  ep_store_text_bind(s, 9, row->fault);
  ep_status status = ep_store_run_unsynced(store, s, error);
  ep_store_unlock(store, s);
  return status;
}

ep_status ep_store_delivery_best(ep_store *store, const char *job, const char *details,
                                 int64_t now_us, ep_error *error) {
  sqlite3_stmt *s = ep_store_lock(store, EP_SQL_DELIVERY_BEST);
  ep_store_text_bind(s, 1, job);
  ep_store_text_bind(s, 2, details);
  sqlite3_bind_int64(s, 3, now_us);
  ep_status status = ep_store_run_unsynced(store, s, error);
  ep_store_unlock(store, s);
  return status;
}

ep_status ep_store_deliveries_of(ep_store *store, const char *job, ep_delivery *rows, int *count,
                                 ep_error *error) {
  sqlite3_stmt *s = ep_store_lock_reader(&store, EP_SQL_DELIVERIES_OF);
  ep_store_text_bind(s, 1, job);
  ep_status status = rows_read(store, s, rows, EP_LIMIT_WEBHOOKS * EP_WEBHOOK_COUNT, count, error);
  ep_store_unlock(store, s);
  return status;
}

/* What a message of a webhook is made of: hooks are those of the spec, events those of a hook. */
#define NEW_WEBHOOKS EP_SPEC_WEBHOOKS("new.spec")
#define NEW_HAS_ROOM EP_DELIVERIES_ROOM("new")

/* The member "webhooks" of a spec; of a spec that has none, or cannot be read, '[]': a job ends all
 * the same. */
static void spec_webhooks(sqlite3_context *context, int count, sqlite3_value **values) {
  (void)count;
  const char *text = (const char *)sqlite3_value_text(values[0]);
  ep_scanner spec = {text, text + sqlite3_value_bytes(values[0])};
  bool found = text && ep_scan_member(&spec, "webhooks") && ep_scan_peek(&spec) == '[';
  const char *start = spec.at;
  if (found && ep_scan_skip(&spec))
    sqlite3_result_text(context, start, (int)(spec.at - start), SQLITE_TRANSIENT);
  else
    sqlite3_result_text(context, "[]", -1, SQLITE_STATIC);
}

int ep_store_deliveries_define(sqlite3 *database) {
  return sqlite3_create_function_v2(database, "spec_webhooks", 1,
                                    SQLITE_UTF8 | SQLITE_DETERMINISTIC, NULL, spec_webhooks, NULL,
                                    NULL, NULL);
}

int ep_store_deliveries_keep(sqlite3 *database) {
  static const char sql[] =
      "CREATE TEMP TRIGGER jobs_end_deliveries AFTER UPDATE OF finished_us ON main.jobs "
      "WHEN old.finished_us = 0 AND new.finished_us > 0 AND spec_webhooks(new.spec) <> '[]' "
      "BEGIN INSERT OR IGNORE INTO deliveries (job, hook, event, id, url, created_us, due_us, "
      "fault, owner) "
      "SELECT new.id, hooks.key, events.value, " EP_DELIVERY_ID ", "
      "json_extract(hooks.value, '$.url'), new.finished_us, "
      "CASE WHEN " NEW_HAS_ROOM " THEN new.finished_us END, "
      "CASE WHEN " NEW_HAS_ROOM " THEN '' ELSE 'too many messages wait already' END, new.owner "
      "FROM " NEW_WEBHOOKS " AS hooks, json_each(hooks.value, '$.events') AS events "
      "WHERE events.value = 'end' OR (events.value = 'failed' AND new.state = 'failed'); END;"
      "CREATE TEMP TRIGGER jobs_delete_deliveries AFTER DELETE ON main.jobs "
      "BEGIN DELETE FROM deliveries WHERE job = old.id; END;"
      "CREATE TEMP TRIGGER jobs_give_deliveries AFTER UPDATE OF owner ON main.jobs "
      "WHEN old.owner <> new.owner BEGIN DELETE FROM deliveries WHERE job = new.id; END;";
  return sqlite3_exec(database, sql, NULL, NULL, NULL);
}
