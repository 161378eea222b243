#include "server/store/sql.h"

#include <stdlib.h>

#include "server/metrics/metrics.h"
#include "server/process/ballast.h"
#include "server/process/log.h"
#include "server/store/wal.h"

const char *const EP_SQL_TEXTS[EP_SQL_COUNT] = {
#define SQL_TEXT(code, sql) sql,
    EP_SQL_TABLE(SQL_TEXT)
#undef SQL_TEXT
};

ep_status ep_store_fail(ep_store *store, int code, ep_error *error) {
  const char *text = store->database ? sqlite3_errmsg(store->database) : sqlite3_errstr(code);
  ep_log(EP_LOG_ERROR, "the store failed: %s (SQLite %d)", text,
         store->database ? sqlite3_extended_errcode(store->database) : code);
  ep_metrics_add(EP_COUNTER_STORE_ERRORS, 1);
  int kind = code & 0xff;
  bool passes = kind == SQLITE_FULL || kind == SQLITE_READONLY;
  if (kind == SQLITE_IOERR) store->suspect = true;
  return ep_fail(error, passes ? EP_UNAVAILABLE : EP_IO, "the store failed: %.200s%s", text,
                 kind == SQLITE_CORRUPT || kind == SQLITE_NOTADB
                     ? ": stop the daemon; --check tells more, and --rescue builds a new store "
                       "from the folders of the jobs"
                     : "");
}

sqlite3_stmt *ep_store_lock(ep_store *store, ep_sql sql) {
  pthread_mutex_lock(&store->mutex);
  return store->statements[sql];
}

sqlite3_stmt *ep_store_lock_reader(ep_store **store, ep_sql sql) {
  ep_store *const *readers = (*store)->readers;
  int i = 0;
  while (i < EP_STORE_READERS && pthread_mutex_trylock(&readers[i]->mutex) != 0) i++;
  if (i == EP_STORE_READERS) pthread_mutex_lock(&readers[i = 0]->mutex);
  *store = readers[i];
  return readers[i]->statements[sql];
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

/* Writes the database again, so that the next checkpoint syncs every page of it: one that a reader
 * held up writes pages without a sync, and they are forgotten where the next sync fails. By
 * SQLite's own file: closing another one would drop its locks. */
static ep_status database_rewrite(ep_store *store, ep_error *error) {
  enum { CHUNK_BYTES = 64 << 10 };
  sqlite3_file *file = NULL;
  sqlite3_int64 size = 0;
  int code = sqlite3_file_control(store->database, "main", SQLITE_FCNTL_FILE_POINTER, &file);
  if (code == SQLITE_OK) code = file->pMethods->xFileSize(file, &size);
  void *pages = malloc(CHUNK_BYTES);
  if (!pages) return ep_fail_memory(error);
  for (sqlite3_int64 at = 0; code == SQLITE_OK && at < size; at += CHUNK_BYTES) {
    const int bytes = size - at < CHUNK_BYTES ? (int)(size - at) : CHUNK_BYTES;
    code = file->pMethods->xRead(file, pages, bytes, at);
    if (code == SQLITE_OK) code = file->pMethods->xWrite(file, pages, bytes, at);
  }
  free(pages);
  return code == SQLITE_OK ? EP_OK : ep_fail(error, EP_IO, "the store: %s", sqlite3_errstr(code));
}

/* After a failure of the disk: see wal.h. A reader has written nothing, and knows no folder. */
static ep_status files_secure(ep_store *store, ep_error *error) {
  if (!store->suspect || !store->data_dir) return EP_OK;
  const char *path = sqlite3_db_filename(store->database, "main");
  ep_status status = ep_store_wal_secure(path, store->data_dir, error);
  if (status == EP_OK) status = database_rewrite(store, error);
  store->suspect = status != EP_OK;
  return status;
}

void ep_store_database_close(ep_store *store) {
  /* What cannot be secured stays in the log, which the next start secures. */
  if (store->database && files_secure(store, NULL) != EP_OK)
    sqlite3_db_config(store->database, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
  sqlite3_close(store->database);
}

ep_status ep_store_sync(ep_store *store, bool wait, ep_error *error) {
  const char *sql = wait ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL";
  ep_status status = files_secure(store, error);
  if (status != EP_OK) return status;
  if (store->waits == wait) return EP_OK;
  int code = sqlite3_exec(store->database, sql, NULL, NULL, NULL);
  if (code != SQLITE_OK) {
    ep_store_fail(store, code, NULL);
    return ep_fail(error, EP_UNAVAILABLE,
                   "the store rejects \"%s\", which is required for durability: try again, and "
                   "restart epochd if this persists",
                   sql);
  }
  store->waits = wait;
  return EP_OK;
}

/* What was written may be on the disk or not, and what is there of it is only seen after a crash:
 * until then the transaction is undone, and the next one is written over it. */
static ep_status commit_fail(ep_store *store, int code, ep_error *error) {
  ep_status status = ep_store_fail(store, code, error);
  if ((code & 0xff) != SQLITE_IOERR) return status;
  return ep_fail(error, EP_UNKNOWN,
                 "the disk failed while this was stored, so it is not known whether it is: repeat "
                 "the request, for a new job with the same Idempotency-Key, and check the result");
}

static ep_status transaction_run(ep_store *store, sqlite3_stmt *statement, ep_error *error) {
  int code = statement_run(store, EP_SQL_BEGIN);
  if (code != SQLITE_DONE) return ep_store_fail(store, code, error);
  code = sqlite3_step(statement);
  ep_status status = EP_OK;
  if (code != SQLITE_DONE) {
    status = (code & 0xff) == SQLITE_CONSTRAINT
                 ? ep_fail(error, EP_CONFLICT, "it already exists in the store")
                 : ep_store_fail(store, code, error);
  }
  sqlite3_reset(statement);
  if (status == EP_OK) {
    code = statement_run(store, EP_SQL_COMMIT);
    if (code != SQLITE_DONE) status = commit_fail(store, code, error);
  }
  /* Some errors end the transaction by themselves; the others must not leave it open. */
  if (status != EP_OK && !sqlite3_get_autocommit(store->database))
    statement_run(store, EP_SQL_ROLLBACK);
  return status;
}

ep_status ep_store_run(ep_store *store, sqlite3_stmt *statement, ep_error *error) {
  ep_status status = ep_store_sync(store, true, error);
  return status == EP_OK ? transaction_run(store, statement, error) : status;
}

typedef struct {
  ep_store *store;
  sqlite3_stmt *statement;
} deletion;

static ep_status deletion_step(void *context, ep_error *error) {
  const deletion *step = context;
  return ep_store_run(step->store, step->statement, error);
}

ep_status ep_store_run_delete(ep_store *store, sqlite3_stmt *statement, ep_error *error) {
  return ep_ballast_run(store->data_dir, deletion_step, &(deletion){store, statement}, error);
}

ep_status ep_store_run_unsynced(ep_store *store, sqlite3_stmt *statement, ep_error *error) {
  ep_status status = ep_store_sync(store, false, error);
  return status == EP_OK ? transaction_run(store, statement, error) : status;
}

bool ep_store_row_short(sqlite3_stmt *statement) {
  return (sqlite3_errcode(sqlite3_db_handle(statement)) & 0xff) == SQLITE_NOMEM;
}

void ep_store_text_bind(sqlite3_stmt *statement, int index, const char *text) {
  if (!text) return; /* unbound is NULL */
  sqlite3_bind_text(statement, index, text, -1, SQLITE_STATIC);
}

void ep_store_viewer_bind(sqlite3_stmt *statement, int index, const ep_viewer *viewer) {
  if (viewer && viewer->limited)
    ep_store_text_bind(statement, index, viewer->owner ? viewer->owner : "");
}
