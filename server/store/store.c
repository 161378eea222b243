/* store.c: see store.h: the connection, the schema, one job. */
#include "server/store/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/metrics/metrics.h"
#include "server/process/log.h"
#include "server/store/sql.h"

enum { BUSY_MS = 5000 };

/* migrations[v] takes a database from user_version v to v + 1. Rows are only ever added. */
static const char *const migrations[] = {
    "CREATE TABLE jobs ("
    "  id TEXT PRIMARY KEY, name TEXT NOT NULL, state TEXT NOT NULL, priority INTEGER NOT NULL,"
    "  spec TEXT NOT NULL, dataset TEXT NOT NULL, wanted TEXT NOT NULL, device TEXT NOT NULL,"
    "  executor TEXT NOT NULL, seconds_cpu REAL, seconds_cuda REAL, attempt INTEGER NOT NULL,"
    "  epochs INTEGER NOT NULL, parameters INTEGER NOT NULL, bytes INTEGER NOT NULL,"
    "  result TEXT, created_us INTEGER NOT NULL, started_us INTEGER NOT NULL,"
    "  finished_us INTEGER NOT NULL, version INTEGER NOT NULL, key_hash BLOB, body_hash BLOB"
    ") WITHOUT ROWID;"
    "CREATE UNIQUE INDEX jobs_by_key ON jobs (key_hash) WHERE key_hash IS NOT NULL;"
    "CREATE INDEX jobs_by_state ON jobs (state, id);"
    "CREATE INDEX jobs_by_finish ON jobs (finished_us) WHERE finished_us > 0;"
    "CREATE TABLE datasets (name TEXT PRIMARY KEY, sha256 TEXT NOT NULL,"
    "  created_us INTEGER NOT NULL) WITHOUT ROWID;"
    "CREATE INDEX datasets_by_content ON datasets (sha256);",
    "CREATE TABLE models (name TEXT PRIMARY KEY, job TEXT NOT NULL, shape TEXT NOT NULL,"
    "  outputs INTEGER NOT NULL, decision TEXT NOT NULL, published_us INTEGER NOT NULL"
    ") WITHOUT ROWID;"
    "CREATE INDEX models_by_job ON models (job);",
    /* A job's tags, as an array in its row and one by one in job_tags, which the triggers keep; the
     * last statement fills both from the specs. The indices let a page's versions be read without
     * its rows. */
    "ALTER TABLE jobs ADD COLUMN tags TEXT NOT NULL DEFAULT '[]';"
    "ALTER TABLE jobs ADD COLUMN edition INTEGER NOT NULL DEFAULT 0;"
    "CREATE TABLE job_tags (tag TEXT NOT NULL, id TEXT NOT NULL, PRIMARY KEY (tag, id))"
    "  WITHOUT ROWID;"
    "CREATE INDEX job_tags_by_job ON job_tags (id);"
    "CREATE TRIGGER jobs_insert_tags AFTER INSERT ON jobs BEGIN"
    "  INSERT OR IGNORE INTO job_tags SELECT value, new.id FROM json_each(new.tags); END;"
    "CREATE TRIGGER jobs_update_tags AFTER UPDATE OF tags ON jobs BEGIN"
    "  DELETE FROM job_tags WHERE id = new.id;"
    "  INSERT OR IGNORE INTO job_tags SELECT value, new.id FROM json_each(new.tags); END;"
    "CREATE TRIGGER jobs_delete_tags AFTER DELETE ON jobs BEGIN"
    "  DELETE FROM job_tags WHERE id = old.id; END;"
    "DROP INDEX jobs_by_state;"
    "CREATE INDEX jobs_by_state ON jobs (state, id, version);"
    "CREATE INDEX jobs_by_id ON jobs (id, state, version);"
    "UPDATE jobs SET tags = json_extract(spec, '$.tags')"
    "  WHERE json_valid(spec) AND json_type(spec, '$.tags') = 'array';",
    "ALTER TABLE jobs ADD COLUMN cores INTEGER NOT NULL DEFAULT 0;",
};

enum { SCHEMA_VERSION = sizeof migrations / sizeof *migrations };

static const char *const statements_sql[EP_SQL_COUNT] = {
#define SQL_TEXT(code, sql) sql,
    EP_SQL_TABLE(SQL_TEXT)
#undef SQL_TEXT
};

ep_status ep_store_fail(ep_store *store, int code, ep_error *error) {
  const char *text = store->database ? sqlite3_errmsg(store->database) : sqlite3_errstr(code);
  ep_log(EP_LOG_ERROR, "the store failed: %s (SQLite %d)", text,
         store->database ? sqlite3_extended_errcode(store->database) : code);
  ep_metrics_add(EP_COUNTER_STORE_ERRORS, 1);
  return ep_fail(error, (code & 0xff) == SQLITE_FULL ? EP_UNAVAILABLE : EP_IO,
                 "the store failed: %s", text);
}

sqlite3_stmt *ep_store_lock(ep_store *store, ep_sql sql) {
  pthread_mutex_lock(&store->mutex);
  return store->statements[sql];
}

void ep_store_unlock(ep_store *store, sqlite3_stmt *statement) {
  sqlite3_reset(statement);
  sqlite3_clear_bindings(statement);
  pthread_mutex_unlock(&store->mutex);
}

static int statement_run(ep_store *store, ep_sql sql) {
  sqlite3_stmt *statement = store->statements[sql];
  int code = sqlite3_step(statement);
  sqlite3_reset(statement);
  return code;
}

/* Has the commits that follow wait for the disk, or not. */
static ep_status commits_wait(ep_store *store, bool wait, ep_error *error) {
  const char *sql = wait ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL";
  if (store->waits == wait) return EP_OK;
  int code = sqlite3_exec(store->database, sql, NULL, NULL, NULL);
  if (code != SQLITE_OK) {
    ep_store_fail(store, code, NULL);
    return ep_fail(
        error, EP_UNAVAILABLE,
        "the store refuses \"%s\", without which nothing can be promised: try again, and "
        "when it does not pass start epochd anew",
        sql);
  }
  store->waits = wait;
  return EP_OK;
}

static ep_status transaction_run(ep_store *store, sqlite3_stmt *statement, ep_error *error) {
  int code = statement_run(store, EP_SQL_BEGIN);
  if (code != SQLITE_DONE) return ep_store_fail(store, code, error);
  code = sqlite3_step(statement);
  ep_status status = EP_OK;
  if (code != SQLITE_DONE) {
    status = (code & 0xff) == SQLITE_CONSTRAINT
                 ? ep_fail(error, EP_CONFLICT, "the store has that already")
                 : ep_store_fail(store, code, error);
  }
  sqlite3_reset(statement);
  if (status == EP_OK) {
    code = statement_run(store, EP_SQL_COMMIT);
    if (code != SQLITE_DONE) status = ep_store_fail(store, code, error);
  }
  /* Some errors end the transaction by themselves; the others must not leave it open. */
  if (status != EP_OK && !sqlite3_get_autocommit(store->database))
    statement_run(store, EP_SQL_ROLLBACK);
  return status;
}

ep_status ep_store_run(ep_store *store, sqlite3_stmt *statement, ep_error *error) {
  ep_status status = commits_wait(store, true, error);
  return status == EP_OK ? transaction_run(store, statement, error) : status;
}

/* What a pragma answers: value: [16]. */
static ep_status pragma_ask(ep_store *store, const char *sql, char value[16], ep_error *error) {
  sqlite3_stmt *statement = NULL;
  int code = sqlite3_prepare_v2(store->database, sql, -1, &statement, NULL);
  if (code == SQLITE_OK) code = sqlite3_step(statement);
  ep_status status = code == SQLITE_ROW ? EP_OK : ep_store_fail(store, code, error);
  const char *text = status == EP_OK ? (const char *)sqlite3_column_text(statement, 0) : "";
  if (!text) status = ep_fail_memory(error);
  if (status == EP_OK) snprintf(value, 16, "%s", text);
  sqlite3_finalize(statement);
  return status;
}

static ep_status schema_migrate(ep_store *store, ep_error *error) {
  char value[16];
  ep_status status = pragma_ask(store, "PRAGMA user_version", value, error);
  if (status != EP_OK) return status;
  long version = strtol(value, NULL, 10);
  if (version < 0 || version > SCHEMA_VERSION)
    return ep_fail(error, EP_CONFLICT,
                   "the store has schema %ld, and this epochd knows up to %d: start the newer "
                   "epochd that wrote it",
                   version, (int)SCHEMA_VERSION);
  for (; version < SCHEMA_VERSION; version++) {
    char *sql = sqlite3_mprintf("BEGIN IMMEDIATE; %s PRAGMA user_version = %ld; COMMIT;",
                                migrations[version], version + 1);
    if (!sql) return ep_fail_memory(error);
    int code = sqlite3_exec(store->database, sql, NULL, NULL, NULL);
    sqlite3_free(sql);
    if (code != SQLITE_OK) return ep_store_fail(store, code, error);
  }
  return EP_OK;
}

static ep_status connection_open(ep_store *store, const char *path, ep_error *error) {
  int code = sqlite3_open_v2(path, &store->database,
                             SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX |
                                 SQLITE_OPEN_EXRESCODE,
                             NULL);
  if (code == SQLITE_OK) code = sqlite3_busy_timeout(store->database, BUSY_MS);
  if (code == SQLITE_OK)
    code = sqlite3_exec(store->database, "PRAGMA cache_size = -2000", NULL, NULL, NULL);
  return code == SQLITE_OK ? EP_OK : ep_store_fail(store, code, error);
}

/* All commits go to a log beside the database, which is synced: what the promises stand on. A file
 * system that has no shared memory (many that are mounted from afar) gets another mode, and no
 * error. */
static ep_status promises_make(ep_store *store, ep_error *error) {
  char mode[16];
  ep_status status = pragma_ask(store, "PRAGMA journal_mode = WAL", mode, error);
  if (status == EP_OK && strcmp(mode, "wal") != 0)
    status =
        ep_fail(error, EP_UNAVAILABLE,
                "the store cannot keep a write-ahead log here: have the data folder on a local "
                "disk");
  return status == EP_OK ? commits_wait(store, true, error) : status;
}

ep_status ep_store_open(const char *path, ep_store **out, ep_error *error) {
  *out = NULL;
  ep_store *store = calloc(1, sizeof *store);
  if (!store) return ep_fail_memory(error);
  pthread_mutex_init(&store->mutex, NULL);
  ep_status status = connection_open(store, path, error);
  if (status == EP_OK) status = promises_make(store, error);
  if (status == EP_OK) status = schema_migrate(store, error);
  for (int i = 0; status == EP_OK && i < EP_SQL_COUNT; i++) {
    int code = sqlite3_prepare_v3(store->database, statements_sql[i], -1, SQLITE_PREPARE_PERSISTENT,
                                  &store->statements[i], NULL);
    if (code != SQLITE_OK) status = ep_store_fail(store, code, error);
  }
  if (status != EP_OK) {
    ep_store_close(store);
    return status;
  }
  *out = store;
  return EP_OK;
}

void ep_store_close(ep_store *store) {
  if (!store) return;
  for (int i = 0; i < EP_SQL_COUNT; i++) sqlite3_finalize(store->statements[i]);
  sqlite3_close(store->database);
  pthread_mutex_destroy(&store->mutex);
  free(store);
}

void ep_job_row_deinit(ep_job_row *row) {
  free(row->name);
  free(row->spec);
  free(row->tags);
  free(row->result);
  row->name = row->spec = row->tags = row->result = NULL;
}

void ep_store_text_bind(sqlite3_stmt *statement, int index, const char *text) {
  if (!text) return; /* unbound is NULL */
  sqlite3_bind_text(statement, index, text, -1, SQLITE_STATIC);
}

ep_status ep_store_job_insert(ep_store *store, const ep_job_row *row, const uint8_t *key_hash,
                              const uint8_t *body_hash, ep_error *error) {
  sqlite3_stmt *s = ep_store_lock(store, EP_SQL_JOB_INSERT);
  ep_store_text_bind(s, 1, row->id);
  ep_store_text_bind(s, 2, row->name ? row->name : "");
  ep_store_text_bind(s, 3, ep_state_name(row->state));
  sqlite3_bind_int(s, 4, row->priority);
  ep_store_text_bind(s, 5, row->spec);
  ep_store_text_bind(s, 6, row->dataset);
  ep_store_text_bind(s, 7, row->wanted);
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
  if (key_hash && body_hash) {
    sqlite3_bind_blob(s, 23, key_hash, EP_STORE_HASH_BYTES, SQLITE_STATIC);
    sqlite3_bind_blob(s, 24, body_hash, EP_STORE_HASH_BYTES, SQLITE_STATIC);
  }
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
    snprintf(id, EP_ID_BYTES, "%s", (const char *)sqlite3_column_text(s, 0));
    memcpy(body_hash, sqlite3_column_blob(s, 1), EP_STORE_HASH_BYTES);
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
  ep_status status = commits_wait(store, false, error);
  if (status == EP_OK) status = transaction_run(store, s, error);
  ep_store_unlock(store, s);
  return status;
}

/* Copies a text column into a fixed field; what does not fit is not this program's and is cut. */
static void text_read(sqlite3_stmt *s, int column, char *field, size_t bytes) {
  const char *text = (const char *)sqlite3_column_text(s, column);
  size_t length = text ? strlen(text) : 0;
  if (length >= bytes) length = bytes - 1;
  if (length > 0) memcpy(field, text, length);
  field[length] = 0;
}

/* Reads the columns of EP_JOB_COLUMNS; the texts are lent until the statement moves on. */
static void row_read(sqlite3_stmt *s, ep_job_row *row) {
  *row = (ep_job_row){0};
  text_read(s, 0, row->id, sizeof row->id);
  row->name = (char *)sqlite3_column_text(s, 1);
  const char *state = (const char *)sqlite3_column_text(s, 2);
  int value = state ? ep_state_from_name(state) : -1;
  row->state = value < 0 ? EP_STATE_FAILED : (ep_state)value;
  row->priority = sqlite3_column_int(s, 3);
  row->spec = (char *)sqlite3_column_text(s, 4);
  text_read(s, 5, row->dataset, sizeof row->dataset);
  text_read(s, 6, row->wanted, sizeof row->wanted);
  text_read(s, 7, row->device, sizeof row->device);
  text_read(s, 8, row->executor, sizeof row->executor);
  row->seconds_cpu = sqlite3_column_double(s, 9);
  row->seconds_cuda = sqlite3_column_double(s, 10);
  row->attempt = sqlite3_column_int(s, 11);
  row->epochs = sqlite3_column_int64(s, 12);
  row->parameters = sqlite3_column_int64(s, 13);
  row->bytes = sqlite3_column_int64(s, 14);
  row->result = (char *)sqlite3_column_text(s, 15);
  row->created_us = sqlite3_column_int64(s, 16);
  row->started_us = sqlite3_column_int64(s, 17);
  row->finished_us = sqlite3_column_int64(s, 18);
  row->version = (uint64_t)sqlite3_column_int64(s, 19);
  row->tags = (char *)sqlite3_column_text(s, 20);
  row->cores = sqlite3_column_int(s, 21);
}

/* Replaces lent texts by owned copies. */
static ep_status row_own(ep_job_row *row, ep_error *error) {
  const char *name = row->name, *spec = row->spec, *tags = row->tags, *result = row->result;
  row->name = strdup(name ? name : "");
  row->spec = strdup(spec ? spec : "");
  row->tags = strdup(tags ? tags : "[]");
  row->result = result ? strdup(result) : NULL;
  if (row->name && row->spec && row->tags && (!result || row->result)) return EP_OK;
  ep_job_row_deinit(row);
  return ep_fail_memory(error);
}

ep_status ep_store_row_take(sqlite3_stmt *s, ep_job_row *row, ep_error *error) {
  row_read(s, row);
  return row_own(row, error);
}

ep_status ep_store_job_get(ep_store *store, const char *id, ep_job_row *out, ep_error *error) {
  *out = (ep_job_row){0};
  sqlite3_stmt *s = ep_store_lock(store, EP_SQL_JOB_GET);
  ep_store_text_bind(s, 1, id);
  int code = sqlite3_step(s);
  ep_status status = EP_OK;
  if (code == SQLITE_ROW) {
    status = ep_store_row_take(s, out, error);
  } else {
    status = code == SQLITE_DONE ? ep_fail(error, EP_NOT_FOUND, "there is no job %.60s", id)
                                 : ep_store_fail(store, code, error);
  }
  ep_store_unlock(store, s);
  return status;
}

ep_status ep_store_job_delete(ep_store *store, const char *id, ep_error *error) {
  sqlite3_stmt *s = ep_store_lock(store, EP_SQL_JOB_DELETE);
  ep_store_text_bind(s, 1, id);
  ep_status status = ep_store_run(store, s, error);
  ep_store_unlock(store, s);
  return status;
}

bool ep_store_job_exists(ep_store *store, const char *id) {
  sqlite3_stmt *s = ep_store_lock(store, EP_SQL_JOB_EXISTS);
  ep_store_text_bind(s, 1, id);
  int code = sqlite3_step(s);
  if (code != SQLITE_ROW && code != SQLITE_DONE) ep_store_fail(store, code, NULL);
  ep_store_unlock(store, s);
  return code != SQLITE_DONE; /* when in doubt it is there: nothing is removed */
}
