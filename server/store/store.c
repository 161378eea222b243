#include "server/store/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/store/checksum.h"
#include "server/store/wal.h"

enum { BUSY_MS = 5000, PRAGMA_BYTES = 16, CHECKPOINT_PAGES = 1000 /* SQLite's own choice */ };

/* What checksums covered before things had owners. */
#define JOB_COLUMNS_7                                                                  \
  "id, name, state, priority, row_checksum(spec), dataset, wanted, device, executor, " \
  "seconds_cpu, "                                                                      \
  "seconds_cuda, attempt, epochs, parameters, bytes, result, created_us, started_us, " \
  "finished_us, version, tags, cores, intent, pinned, ttl_seconds, key_hash, body_hash"
#define DATASET_COLUMNS_7 "name, sha256, created_us"
#define MODEL_COLUMNS_7 "name, job, shape, outputs, decision, published_us"

/* What checksums covered before things were public or private. */
#define JOB_COLUMNS_8(spec)                                                               \
  "id, name, state, priority, " spec ", dataset, wanted, device, executor, seconds_cpu, " \
  "seconds_cuda, attempt, epochs, parameters, bytes, result, created_us, started_us, "    \
  "finished_us, version, tags, cores, intent, pinned, ttl_seconds, owner, key_hash, body_hash"
#define DATASET_COLUMNS_8 DATASET_COLUMNS_7 ", owner, bytes"
#define MODEL_COLUMNS_8 MODEL_COLUMNS_7 ", owner"

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
    "ALTER TABLE jobs ADD COLUMN intent INTEGER NOT NULL DEFAULT 0;",
    /* Of retention, which reads these indices alone. */
    "ALTER TABLE jobs ADD COLUMN pinned INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE jobs ADD COLUMN ttl_seconds INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE jobs ADD COLUMN disk_bytes INTEGER NOT NULL DEFAULT -1;"
    "CREATE INDEX jobs_by_age ON jobs (finished_us, id, disk_bytes)"
    "  WHERE finished_us > 0 AND pinned = 0;"
    "CREATE INDEX jobs_by_ttl ON jobs (finished_us + ttl_seconds * 1000000, id)"
    "  WHERE finished_us > 0 AND pinned = 0 AND ttl_seconds > 0;"
    "CREATE INDEX jobs_unmeasured ON jobs (id) WHERE finished_us > 0 AND disk_bytes < 0;",
    "ALTER TABLE jobs ADD COLUMN spec_sum TEXT; ALTER TABLE jobs ADD COLUMN row_sum TEXT;"
    "ALTER TABLE datasets ADD COLUMN row_sum TEXT; ALTER TABLE models ADD COLUMN row_sum TEXT;"
    "UPDATE jobs SET spec_sum = row_checksum(spec), row_sum = row_checksum(" JOB_COLUMNS_7 ");"
    "UPDATE datasets SET row_sum = row_checksum(" DATASET_COLUMNS_7 ");"
    "UPDATE models SET row_sum = row_checksum(" MODEL_COLUMNS_7 ");",
    /* Owners. Rows that are not what was written stay so: they keep their checksums. */
    "ALTER TABLE jobs ADD COLUMN owner TEXT NOT NULL DEFAULT '';"
    "ALTER TABLE datasets ADD COLUMN owner TEXT NOT NULL DEFAULT '';"
    "ALTER TABLE datasets ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE models ADD COLUMN owner TEXT NOT NULL DEFAULT '';"
    "DROP INDEX jobs_by_state; DROP INDEX jobs_by_id;"
    "CREATE INDEX jobs_by_state ON jobs (state, id, version, owner);"
    "CREATE INDEX jobs_by_id ON jobs (id, state, version, owner);"
    "UPDATE jobs SET spec_sum = row_checksum(spec), "
    "row_sum = row_checksum(" JOB_COLUMNS_8(
        "row_checksum(spec)") ")"
                              " WHERE row_sum = row_checksum(" JOB_COLUMNS_7 ");"
                              "UPDATE datasets SET row_sum = row_checksum(" DATASET_COLUMNS_8 ")"
                              " WHERE row_sum = row_checksum(" DATASET_COLUMNS_7 ");"
                              "UPDATE models SET row_sum = row_checksum(" MODEL_COLUMNS_8 ")"
                              " WHERE row_sum = row_checksum(" MODEL_COLUMNS_7 ");",
    /* The name of the dataset, and an index in which a text can be found. */
    "ALTER TABLE jobs ADD COLUMN dataset_name TEXT NOT NULL DEFAULT '';"
    "UPDATE jobs SET dataset_name = coalesce(json_extract(spec, '$.data.dataset'), "
    "json_extract(spec, '$.job.data.dataset'), '') WHERE json_valid(spec);"
    "DROP INDEX jobs_by_id;"
    "CREATE INDEX jobs_by_id ON jobs (id, state, version, owner, name, dataset_name);",
    /* Messages of webhooks (deliveries.h). host: with its port, of the URL. */
    "CREATE TABLE deliveries (job TEXT NOT NULL, hook INTEGER NOT NULL, event TEXT NOT NULL,"
    "  id TEXT NOT NULL, url TEXT NOT NULL, details TEXT, created_us INTEGER NOT NULL,"
    "  due_us INTEGER, attempts INTEGER NOT NULL DEFAULT 0, status INTEGER NOT NULL DEFAULT 0,"
    "  delivered INTEGER NOT NULL DEFAULT 0, fault TEXT NOT NULL DEFAULT '',"
    "  rest TEXT AS (replace(substr(url, instr(url, '://') + 3), '?', '/') || '/'),"
    "  host TEXT AS (lower(substr(rest, 1, instr(rest, '/') - 1))),"
    "  PRIMARY KEY (job, hook, event)) WITHOUT ROWID;"
    "CREATE INDEX deliveries_by_due ON deliveries (due_us) WHERE due_us IS NOT NULL;",
    /* Who sees a thing; and of each owner the device-seconds of a day. */
    "ALTER TABLE jobs ADD COLUMN private INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE datasets ADD COLUMN private INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE models ADD COLUMN private INTEGER NOT NULL DEFAULT 0;"
    "DROP INDEX jobs_by_state; DROP INDEX jobs_by_id;"
    "CREATE INDEX jobs_by_state ON jobs (state, id, version, owner, private);"
    "CREATE INDEX jobs_by_id ON jobs (id, state, version, owner, name, dataset_name, private);"
    "UPDATE jobs SET row_sum = " EP_JOB_SUM " WHERE row_sum = row_checksum(" JOB_COLUMNS_8(
        "spec_sum") ");" EP_DATASET_SUM_UPDATE " WHERE row_sum = row_checksum(" DATASET_COLUMNS_8
                    ");" EP_MODEL_SUM_UPDATE " WHERE row_sum = row_checksum(" MODEL_COLUMNS_8 ");"
                    "CREATE TABLE usage (owner TEXT PRIMARY KEY, day INTEGER NOT NULL, "
                    "device_seconds REAL NOT NULL)"
                    "  WITHOUT ROWID;",
    /* Whose messages wait. */
    "ALTER TABLE deliveries ADD COLUMN owner TEXT NOT NULL DEFAULT '';"
    "UPDATE deliveries SET owner = coalesce((SELECT owner FROM jobs WHERE jobs.id = job), '');"
    "CREATE INDEX deliveries_by_owner ON deliveries (owner) WHERE due_us IS NOT NULL;",
    "ALTER TABLE jobs ADD COLUMN max_seconds REAL NOT NULL DEFAULT 0;"
    "UPDATE jobs SET max_seconds = coalesce(json_extract(spec, '$.max_seconds'), 0)"
    " WHERE json_valid(spec);",
    /* What a job is called by. */
    "CREATE INDEX jobs_by_name ON jobs (name, id, owner, private) WHERE name <> '';"
    "CREATE INDEX jobs_by_end ON jobs (substr(id, -6), id, owner, private);",
    /* What "auto" chose. */
    "ALTER TABLE jobs ADD COLUMN auto TEXT;",
    /* What its submission was warned of; and which jobs read a content. */
    "ALTER TABLE jobs ADD COLUMN remarks TEXT NOT NULL DEFAULT '';"
    "CREATE INDEX jobs_by_dataset ON jobs (dataset) WHERE dataset <> '';",
};

enum { SCHEMA_VERSION = sizeof migrations / sizeof *migrations };

/* The value of a pragma. */
static ep_status pragma_read(ep_store *store, const char *sql, char value[PRAGMA_BYTES],
                             ep_error *error) {
  sqlite3_stmt *statement = NULL;
  int code = sqlite3_prepare_v2(store->database, sql, -1, &statement, NULL);
  if (code == SQLITE_OK) code = sqlite3_step(statement);
  ep_status status = code == SQLITE_ROW ? EP_OK : ep_store_fail(store, code, error);
  const char *text = status == EP_OK ? (const char *)sqlite3_column_text(statement, 0) : "";
  if (!text) status = ep_fail_memory(error);
  if (status == EP_OK) snprintf(value, PRAGMA_BYTES, "%s", text);
  sqlite3_finalize(statement);
  return status;
}

static ep_status schema_migrate(ep_store *store, ep_error *error) {
  char value[PRAGMA_BYTES];
  ep_status status = pragma_read(store, "PRAGMA user_version", value, error);
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
    if (code == SQLITE_ERROR)
      return ep_fail(
          error, EP_DAMAGED,
          "the store names schema %ld (PRAGMA user_version), and its tables are those of "
          "another: something else has changed it; restore a backup",
          version);
    if (code != SQLITE_OK) return ep_store_fail(store, code, error);
  }
  return EP_OK;
}

static ep_status connection_open(ep_store *store, const char *path, int flags, ep_error *error) {
  int code = sqlite3_open_v2(path, &store->database, flags | SQLITE_OPEN_NOMUTEX, NULL);
  if (code == SQLITE_OK) code = sqlite3_extended_result_codes(store->database, 1);
  if (code == SQLITE_OK) code = sqlite3_busy_timeout(store->database, BUSY_MS);
  if (code == SQLITE_OK) code = ep_store_checksum_define(store->database);
  if (code == SQLITE_OK) code = ep_store_deliveries_define(store->database);
  if (code == SQLITE_OK)
    code = sqlite3_exec(store->database, "PRAGMA cache_size = -2000", NULL, NULL, NULL);
  return code == SQLITE_OK ? EP_OK : ep_store_fail(store, code, error);
}

/* As SQLite does by itself, which says nothing of a failure. */
static int commit_follow(void *context, sqlite3 *database, const char *name, int pages) {
  ep_store *store = context;
  if (pages >= CHECKPOINT_PAGES &&
      (sqlite3_wal_checkpoint_v2(database, name, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL) & 0xff) ==
          SQLITE_IOERR)
    store->suspect = true;
  return SQLITE_OK;
}

/* All commits go to a log beside the database, which is synced. On a file system without shared
 * memory (many network file systems) SQLite takes another mode and reports no error. */
static ep_status wal_require(ep_store *store, ep_error *error) {
  char mode[PRAGMA_BYTES];
  ep_status status = pragma_read(store, "PRAGMA journal_mode = WAL", mode, error);
  if (status == EP_OK && strcmp(mode, "wal") != 0)
    status =
        ep_fail(error, EP_UNAVAILABLE,
                "the store cannot use a write-ahead log here: put the data folder on a local disk");
  sqlite3_wal_hook(store->database, commit_follow, store);
  return status == EP_OK ? ep_store_sync(store, true, error) : status;
}

/* A database or a log that it cannot open for writing SQLite opens for reading, and reports no
 * error until something is written. */
static ep_status writable_require(ep_store *store, const char *path, ep_error *error) {
  char sql[64];
  snprintf(sql, sizeof sql, "BEGIN IMMEDIATE; PRAGMA user_version = %d; ROLLBACK", SCHEMA_VERSION);
  int code = sqlite3_exec(store->database, sql, NULL, NULL, NULL);
  if ((code & 0xff) == SQLITE_READONLY)
    return ep_fail(error, EP_IO,
                   "%s, or a file of it beside, can be read but not written: check its permissions "
                   "and its disk",
                   path);
  return code == SQLITE_OK ? EP_OK : ep_store_fail(store, code, error);
}

static ep_status folder_note(ep_store *store, const char *path, ep_error *error) {
  const char *slash = strrchr(path, '/');
  store->data_dir = slash ? strndup(path, (size_t)(slash - path)) : strdup(".");
  return store->data_dir ? EP_OK : ep_fail_memory(error);
}

/* All statements; of a reader those that change nothing. */
static ep_status statements_prepare(ep_store *store, bool reader, ep_error *error) {
  for (int i = 0; i < EP_SQL_COUNT; i++) {
    int code = sqlite3_prepare_v3(store->database, EP_SQL_TEXTS[i], -1, SQLITE_PREPARE_PERSISTENT,
                                  &store->statements[i], NULL);
    if (code != SQLITE_OK) return ep_store_fail(store, code, error);
    if (!reader || sqlite3_stmt_readonly(store->statements[i])) continue;
    sqlite3_finalize(store->statements[i]);
    store->statements[i] = NULL;
  }
  return EP_OK;
}

static ep_store *store_allocate(void) {
  ep_store *store = calloc(1, sizeof *store);
  if (store) pthread_mutex_init(&store->mutex, NULL);
  return store;
}

/* The triggers of this connection. */
static ep_status triggers_create(ep_store *store, ep_error *error) {
  int code = ep_store_checksum_keep(store->database);
  if (code == SQLITE_OK) code = ep_store_deliveries_keep(store->database);
  return code == SQLITE_OK ? EP_OK : ep_store_fail(store, code, error);
}

static ep_status readers_open(ep_store *store, const char *path, ep_error *error) {
  ep_status status = EP_OK;
  for (int i = 0; status == EP_OK && i < EP_STORE_READERS; i++) {
    ep_store *reader = store->readers[i] = store_allocate();
    if (!reader) return ep_fail_memory(error);
    status = connection_open(reader, path, SQLITE_OPEN_READONLY, error);
    if (status == EP_OK) status = statements_prepare(reader, true, error);
  }
  return status;
}

ep_status ep_store_open(const char *path, ep_store **out, ep_error *error) {
  *out = NULL;
  ep_store *store = store_allocate();
  if (!store) return ep_fail_memory(error);
  ep_store_wal_check(path);
  ep_status status = folder_note(store, path, error);
  if (status == EP_OK) status = ep_store_wal_secure(path, store->data_dir, error);
  if (status == EP_OK)
    status = connection_open(store, path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, error);
  if (status == EP_OK) status = wal_require(store, error);
  if (status == EP_OK) status = schema_migrate(store, error);
  if (status == EP_OK) status = writable_require(store, path, error);
  if (status == EP_OK) status = triggers_create(store, error);
  if (status == EP_OK) status = statements_prepare(store, false, error);
  if (status == EP_OK) status = readers_open(store, path, error);
  if (status != EP_OK) {
    ep_store_close(store);
    return status;
  }
  *out = store;
  return EP_OK;
}

int64_t ep_store_memory_bytes(void) {
  return sqlite3_memory_used();
}

void ep_store_memory_release(ep_store *store) {
  if (pthread_mutex_trylock(&store->mutex) == 0) {
    sqlite3_db_release_memory(store->database);
    pthread_mutex_unlock(&store->mutex);
  }
  for (int i = 0; i < EP_STORE_READERS; i++)
    if (store->readers[i]) ep_store_memory_release(store->readers[i]);
}

void ep_store_close(ep_store *store) {
  if (!store) return;
  for (int i = 0; i < EP_STORE_READERS; i++)
    ep_store_close(store->readers[i]); /* first: the last one to close makes a checkpoint */
  for (int i = 0; i < EP_SQL_COUNT; i++) sqlite3_finalize(store->statements[i]);
  ep_store_database_close(store);
  pthread_mutex_destroy(&store->mutex);
  free(store->data_dir);
  free(store);
}
