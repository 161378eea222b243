/* sql.h: the store's statements, SQL as a table, and how one is run. For this folder's files alone.
 */
#ifndef EP_SERVER_STORE_SQL_H
#define EP_SERVER_STORE_SQL_H

#include <pthread.h>
#include <sqlite3.h>
#include <stdbool.h>

#include "api/limits.h"
#include "api/status.h"
#include "server/store/page.h"

/* The columns `wanted` and `edition` hold requested_device and labels_version: another name would
 * be a migration of the schema. */
#define EP_JOB_COLUMNS_WITH(spec)                                                         \
  "id, name, state, priority, " spec ", dataset, wanted, device, executor, seconds_cpu, " \
  "seconds_cuda, attempt, epochs, parameters, bytes, result, created_us, started_us, "    \
  "finished_us, version, tags, cores, intent, pinned, ttl_seconds, owner, private"
#define EP_JOB_COLUMNS EP_JOB_COLUMNS_WITH("spec")

/* Checksums (checksum.h), and whether a row is what was written: its last column where it is read.
 * Without the spec, that is not looked at. */
#define EP_JOB_SUM "row_checksum(" EP_JOB_COLUMNS_WITH("spec_sum") ", key_hash, body_hash)"
#define EP_SPEC_SUM "row_checksum(spec || coalesce(auto, ''))"
#define EP_JOB_SUMS_UPDATE                                 \
  "UPDATE jobs SET spec_sum = " EP_SPEC_SUM ", row_sum = " \
  "row_checksum(" EP_JOB_COLUMNS_WITH(EP_SPEC_SUM) ", key_hash, body_hash)"
#define EP_JOB_WHOLE_WITHOUT_SPEC "(row_sum IS NULL OR row_sum = " EP_JOB_SUM ")"
#define EP_JOB_WHOLE \
  "(" EP_JOB_WHOLE_WITHOUT_SPEC " AND (row_sum IS NULL OR spec_sum = " EP_SPEC_SUM "))"
/* The dataset's name and max_seconds stand in the spec, which has a checksum, and are read without
 * it in lists. What was chosen automatically has the spec's checksum; it and what the submission
 * was warned of are left out of lists. */
#define EP_JOB_ROW EP_JOB_COLUMNS ", dataset_name, max_seconds, auto, remarks, " EP_JOB_WHOLE
#define EP_JOB_ROW_WITHOUT_SPEC \
  EP_JOB_COLUMNS_WITH("''") ", dataset_name, max_seconds, NULL, '', " EP_JOB_WHOLE_WITHOUT_SPEC

#define EP_DATASET_COLUMNS "name, sha256, created_us, owner, bytes, private"
#define EP_DATASET_SUM "row_checksum(" EP_DATASET_COLUMNS ")"
#define EP_DATASET_SUM_UPDATE "UPDATE datasets SET row_sum = " EP_DATASET_SUM
#define EP_DATASET_ROW EP_DATASET_COLUMNS ", (row_sum IS NULL OR row_sum = " EP_DATASET_SUM ")"

/* The four ways of choosing a page of jobs, one after the other: all, by state, by tags, by a text
 * that they contain. ?1: older than this id; ?2: the limit; ?3: the state; ?4: a tag; ?5: further
 * tags, as a JSON array; ?6: what ids begin with; ?7: the owner, NULL for any; ?8: the text; ?9:
 * who looks (EP_SQL_SEEN). A text
 * is looked for in an index that has what is shown of a job and nothing else. */
#define EP_SQL_OWNED "(?7 IS NULL OR owner = ?7) AND " EP_SQL_SEEN("?9")
/* What a viewer sees: NULL everything, an owner what is public and what is theirs. */
#define EP_SQL_SEEN(viewer) "(" viewer " IS NULL OR private = 0 OR owner = " viewer ")"
#define EP_SQL_CONTAINS                                                                          \
  "id = ?8 OR instr(lower(name || char(10) || dataset_name || char(10) || substr(id, instr(id, " \
  "'_') + 1)), "                                                                                 \
  "lower(?8))"
#define EP_SQL_PAGES(X, code, columns, hint)                                                      \
  X(code, "SELECT " columns " FROM jobs " hint " WHERE id < ?1 AND id > ?6 AND " EP_SQL_OWNED     \
          " ORDER BY id DESC LIMIT ?2")                                                           \
  X(code##_STATE,                                                                                 \
    "SELECT " columns " FROM jobs WHERE state = ?3 AND id < ?1 AND id > ?6 AND " EP_SQL_OWNED     \
    " ORDER BY id DESC LIMIT ?2")                                                                 \
  X(code##_TAGGED,                                                                                \
    "SELECT " columns                                                                             \
    " FROM (SELECT id AS tagged FROM job_tags WHERE tag = ?4 AND id < ?1 AND id > ?6) "           \
    "CROSS JOIN jobs " hint " ON id = tagged WHERE (?3 IS NULL OR state = ?3) AND " EP_SQL_OWNED  \
    " AND NOT EXISTS "                                                                            \
    "(SELECT 1 FROM json_each(?5) AS wanted WHERE NOT EXISTS (SELECT 1 FROM job_tags AS other "   \
    "WHERE other.tag = wanted.value AND other.id = tagged)) ORDER BY tagged DESC LIMIT ?2")       \
  X(code##_FOUND,                                                                                 \
    "SELECT " columns                                                                             \
    " FROM (SELECT id AS found FROM jobs INDEXED BY jobs_by_id WHERE id < ?1 AND id > ?6 AND "    \
    "(?3 IS NULL OR state = ?3) AND " EP_SQL_OWNED " AND (" EP_SQL_CONTAINS " OR EXISTS "         \
    "(SELECT 1 FROM job_tags AS own WHERE own.id = jobs.id AND instr(lower(own.tag), lower(?8)))" \
    ") AND NOT EXISTS (SELECT 1 FROM json_each(?5) AS wanted WHERE NOT EXISTS (SELECT 1 FROM "    \
    "job_tags AS other WHERE other.tag = wanted.value AND other.id = jobs.id)) ORDER BY id DESC " \
    "LIMIT ?2) CROSS JOIN jobs " hint " ON id = found ORDER BY found DESC")

#define EP_TEXT_OF(number) EP_TEXT_OF_ARGUMENT(number)
#define EP_TEXT_OF_ARGUMENT(number) #number

/* Messages of webhooks. The webhooks of a spec are the rows of a json_each; spec_webhooks is a
 * function of deliveries.c. */
#define EP_SPEC_WEBHOOKS(spec) "json_each(spec_webhooks(" spec "))"
#define EP_DELIVERY_ID "'msg_' || lower(hex(randomblob(16)))"
#define EP_WAITING "(SELECT count(*) FROM deliveries WHERE due_us IS NOT NULL"
#define EP_DELIVERIES_MOST EP_TEXT_OF(EP_LIMIT_DELIVERIES)
#define EP_OWNER_DELIVERIES_MOST EP_TEXT_OF(EP_LIMIT_OWNER_DELIVERIES)
/* Of a job, which is called `job` in the statement. */
#define EP_DELIVERIES_ROOM(job)                                                              \
  "(" EP_WAITING ") < " EP_DELIVERIES_MOST " AND " EP_WAITING " AND deliveries.owner = " job \
  ".owner) < " EP_OWNER_DELIVERIES_MOST ")"
#define EP_JOB_HAS_ROOM EP_DELIVERIES_ROOM("jobs")
#define EP_JOB_WEBHOOKS EP_SPEC_WEBHOOKS("jobs.spec")
#define EP_DELIVERY_COLUMNS \
  "job, hook, event, id, url, details, created_us, due_us, attempts, status, delivered, fault"

#define EP_MODEL_COLUMNS "name, job, shape, outputs, decision, published_us, owner, private"
#define EP_MODEL_SUM_UPDATE "UPDATE models SET row_sum = row_checksum(" EP_MODEL_COLUMNS ")"
#define EP_MODEL_ROW \
  EP_MODEL_COLUMNS ", (row_sum IS NULL OR row_sum = row_checksum(" EP_MODEL_COLUMNS "))"

/* Ids of what a word may mean (ids.c), newest first. ?1: the word; ?2: what ids begin with; ?3: who
 * looks; ?4: the limit. */
#define EP_SQL_IDS(index, condition)                          \
  "SELECT id FROM jobs INDEXED BY " index " WHERE " condition \
  " AND id > ?2 AND id < ?2 || '~' AND " EP_SQL_SEEN("?3") " ORDER BY id DESC LIMIT ?4"

/* X(code, SQL): prepared once, when the store is opened. */
#define EP_SQL_TABLE(X)                                                                            \
  X(BEGIN, "BEGIN IMMEDIATE")                                                                      \
  X(COMMIT, "COMMIT")                                                                              \
  X(ROLLBACK, "ROLLBACK")                                                                          \
  X(JOB_INSERT, "INSERT INTO jobs (" EP_JOB_COLUMNS ", key_hash, body_hash, "                      \
                "dataset_name, max_seconds, auto, remarks) VALUES "                                \
                "(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,?16,?17,?18,?19,?20,?21,?22," \
                "0,?23,?24,?27,?29,?25,?26,?28,?30,?31,?32)")                                      \
  X(JOB_BY_KEY, "SELECT id, body_hash FROM jobs WHERE key_hash = ?1")                              \
  X(JOB_UPDATE, "UPDATE jobs SET state=?2, device=?3, executor=?4, attempt=?5, result=?6, "        \
                "started_us=?7, finished_us=?8, version=?9 WHERE id = ?1")                         \
  X(JOB_INTEND, "UPDATE jobs SET intent = ?2 WHERE id = ?1 AND finished_us = 0 AND intent <> 2")   \
  X(JOB_GET, "SELECT " EP_JOB_ROW " FROM jobs WHERE id = ?1")                                      \
  X(JOB_EXPIRE, "DELETE FROM jobs WHERE id = ?1 AND pinned = 0")                                   \
  X(JOBS_WALK, "SELECT id, finished_us FROM jobs WHERE id > ?1 ORDER BY id LIMIT ?2")              \
  X(JOB_MEASURE, "UPDATE jobs SET disk_bytes = ?2 WHERE id = ?1")                                  \
  X(JOBS_UNMEASURED, "SELECT id, finished_us, disk_bytes FROM jobs INDEXED BY jobs_unmeasured "    \
                     "WHERE finished_us > 0 AND disk_bytes < 0 LIMIT ?1")                          \
  X(RETAINED_BYTES, "SELECT coalesce(sum(disk_bytes), 0) FROM jobs INDEXED BY jobs_by_age "        \
                    "WHERE finished_us > 0 AND pinned = 0 AND disk_bytes > 0")                     \
  X(RETAINED_BY_AGE,                                                                               \
    "SELECT id, finished_us, disk_bytes FROM jobs INDEXED BY jobs_by_age "                         \
    "WHERE finished_us > 0 AND pinned = 0 AND finished_us <= ?1 AND (finished_us, id) > (?2, ?3) " \
    "AND NOT EXISTS (SELECT 1 FROM models WHERE job = jobs.id) ORDER BY finished_us, id LIMIT ?4") \
  X(RETAINED_BY_TTL,                                                                               \
    "SELECT id, finished_us + ttl_seconds * 1000000, disk_bytes FROM jobs "                        \
    "INDEXED BY jobs_by_ttl WHERE finished_us > 0 AND pinned = 0 AND ttl_seconds > 0 AND "         \
    "finished_us + ttl_seconds * 1000000 <= ?1 AND "                                               \
    "(finished_us + ttl_seconds * 1000000, id) > (?2, ?3) "                                        \
    "AND NOT EXISTS (SELECT 1 FROM models WHERE job = jobs.id) "                                   \
    "ORDER BY finished_us + ttl_seconds * 1000000, id LIMIT ?4")                                   \
  X(JOB_DELETE, "DELETE FROM jobs WHERE id = ?1")                                                  \
  X(JOB_EXISTS, "SELECT 1 FROM jobs INDEXED BY jobs_by_id WHERE id = ?1")                          \
  X(JOB_LABELS,                                                                                    \
    "SELECT name, priority, spec, tags, state, edition, pinned, private, " EP_JOB_WHOLE            \
    " FROM jobs WHERE id = ?1")                                                                    \
  X(JOB_LABEL, "UPDATE jobs SET name=?2, priority=?3, spec=?4, tags=?5, edition=?6, version=?7, "  \
               "pinned=?8, private=?9 "                                                            \
               "WHERE id = ?1")                                                                    \
  X(JOB_GIVE, "UPDATE jobs SET owner=?2, spec=?3, private=1, pinned=0, edition=?4, version=?5, "   \
              "key_hash=NULL, body_hash=NULL WHERE id = ?1")                                       \
  EP_SQL_PAGES(X, JOBS_LIST, EP_JOB_ROW, "")                                                       \
  EP_SQL_PAGES(X, JOBS_SUMMARY, EP_JOB_ROW_WITHOUT_SPEC, "")                                       \
  EP_SQL_PAGES(X, JOBS_VERSION, "id, version", "INDEXED BY jobs_by_id")                            \
  X(JOBS_UNFINISHED, "SELECT " EP_JOB_ROW " FROM jobs WHERE id > ?1 AND state IN "                 \
                     "('queued','running','pausing','paused') ORDER BY id")                        \
  X(JOBS_FINISHED_LAST, "SELECT " EP_JOB_ROW_WITHOUT_SPEC                                          \
                        " FROM jobs WHERE finished_us > 0 ORDER BY finished_us DESC LIMIT ?1")     \
  X(MODEL_PUT, "INSERT INTO models (" EP_MODEL_COLUMNS ") VALUES (?1,?2,?3,?4,?5,?6,?7,?8) "       \
               "ON CONFLICT (name) DO UPDATE SET job = ?2, shape = ?3, outputs = ?4, "             \
               "decision = ?5, published_us = ?6, private = ?8")                                   \
  X(MODEL_GET, "SELECT " EP_MODEL_ROW " FROM models WHERE name = ?1")                              \
  X(MODEL_BY_JOB, "SELECT " EP_MODEL_ROW " FROM models WHERE job = ?1 "                            \
                  "ORDER BY owner <> ?2, published_us, name LIMIT 1")                              \
  X(MODEL_DELETE, "DELETE FROM models WHERE name = ?1")                                            \
  X(MODEL_VISIBILITY, "UPDATE models SET private = ?2 WHERE name = ?1")                            \
  X(MODEL_COUNT, "SELECT count(*) FROM models")                                                    \
  X(MODEL_LIST, "SELECT " EP_MODEL_ROW " FROM models WHERE " EP_SQL_SEEN("?1") " ORDER BY name")   \
  X(JOB_OWNER, "SELECT owner, private FROM jobs WHERE id = ?1")                                    \
  X(DATASET_OWNER, "SELECT owner, private FROM datasets WHERE name = ?1")                          \
  X(DATASET_BYTES, "SELECT coalesce(sum(bytes), 0) FROM datasets WHERE owner = ?1 AND name <> ?2") \
  X(MODEL_OWNER, "SELECT owner, private FROM models WHERE name = ?1")                              \
  X(IDS_BY_NAME, EP_SQL_IDS("jobs_by_name", "name = ?1 AND name <> ''"))                           \
  X(IDS_BY_OWN_NAME, EP_SQL_IDS("jobs_by_name", "name = ?1 AND name <> '' AND owner = ?5"))        \
  X(IDS_BY_START, EP_SQL_IDS("jobs_by_id", "id >= ?1 AND id < ?1 || '~'"))                         \
  X(IDS_BY_END, EP_SQL_IDS("jobs_by_end", "substr(id, -6) = substr(?1, -6) AND "                   \
                                          "substr(id, -length(?1)) = ?1"))                         \
  X(NAMES_NEWEST, "SELECT name FROM (SELECT name, owner, private FROM jobs INDEXED BY jobs_by_id " \
                  "WHERE id > ?2 AND id < ?2 || '~' ORDER BY id DESC LIMIT ?4) "                   \
                  "WHERE name <> '' AND " EP_SQL_SEEN("?3"))                                       \
  X(USAGE_ADD, "INSERT INTO usage (owner, day, device_seconds) VALUES (?1, ?2, ?3) "               \
               "ON CONFLICT (owner) DO UPDATE SET device_seconds = "                               \
               "CASE day WHEN ?2 THEN device_seconds ELSE 0 END + ?3, day = ?2")                   \
  X(USAGE_GET, "SELECT device_seconds FROM usage WHERE owner = ?1 AND day = ?2")                   \
  X(JOBS_COUNT, "SELECT state, count(*) FROM jobs GROUP BY state")                                 \
  X(DELIVERIES_DUE,                                                                                \
    "SELECT " EP_DELIVERY_COLUMNS " FROM (SELECT *, row_number() OVER (PARTITION BY owner "        \
    "ORDER BY due_us, id) AS turn FROM (SELECT *, row_number() OVER (PARTITION BY host "           \
    "ORDER BY due_us, id) AS place FROM deliveries WHERE due_us IS NOT NULL AND due_us <= ?1) "    \
    "WHERE place <= ?2) ORDER BY turn, due_us LIMIT ?3")                                           \
  X(DELIVERIES_NEXT,                                                                               \
    "SELECT min(due_us) FROM deliveries WHERE due_us IS NOT NULL AND due_us > ?1")                 \
  X(DELIVERIES_OF, "SELECT " EP_DELIVERY_COLUMNS                                                   \
                   " FROM deliveries WHERE job = ?1 ORDER BY hook, created_us, event")             \
  X(DELIVERIES_COUNT, "SELECT count(*) FROM deliveries WHERE due_us IS NOT NULL")                  \
  X(DELIVERY_NOTE, "UPDATE deliveries SET due_us = ?5, attempts = ?6, status = ?7, "               \
                   "delivered = ?8, fault = ?9 WHERE job = ?1 AND hook = ?2 AND event = ?3 "       \
                   "AND id = ?4")                                                                  \
  X(DELIVERY_BEST,                                                                                 \
    "INSERT INTO deliveries (job, hook, event, id, url, details, created_us, due_us, owner) "      \
    "SELECT jobs.id, hooks.key, 'best', " EP_DELIVERY_ID ", json_extract(hooks.value, '$.url'), "  \
    "?2, ?3, ?3, jobs.owner FROM jobs, " EP_JOB_WEBHOOKS                                           \
    " AS hooks WHERE jobs.id = ?1 AND " EP_JOB_HAS_ROOM                                            \
    " AND EXISTS (SELECT 1 FROM json_each(hooks.value, '$.events') AS events "                     \
    "WHERE events.value = 'best') ON CONFLICT (job, hook, event) DO UPDATE SET "                   \
    "id = excluded.id, details = excluded.details, created_us = excluded.created_us, "             \
    "due_us = excluded.due_us, attempts = 0, status = 0, delivered = 0, fault = ''")               \
  X(DATASETS_COUNT, "SELECT count(*) FROM datasets")                                               \
  X(DATASET_PUT,                                                                                   \
    "INSERT INTO datasets (" EP_DATASET_COLUMNS ") VALUES (?1,?2,?3,?4,?5,?6) "                    \
    "ON CONFLICT (name) DO UPDATE SET sha256 = ?2, created_us = ?3, bytes = ?5, private = ?6")     \
  X(DATASET_GET, "SELECT " EP_DATASET_ROW " FROM datasets WHERE name = ?1")                        \
  X(DATASET_DELETE, "DELETE FROM datasets WHERE name = ?1")                                        \
  X(DATASET_VISIBILITY, "UPDATE datasets SET private = ?2 WHERE name = ?1")                        \
  X(DATASET_NAMES, "SELECT count(*) FROM datasets WHERE sha256 = ?1")                              \
  X(DATASET_JOBS,                                                                                  \
    "SELECT count(*) FROM jobs WHERE dataset = ?1 AND dataset <> '' AND " EP_SQL_SEEN("?2"))       \
  X(DATASETS_DAMAGED, "SELECT count(*) FROM datasets WHERE row_sum <> " EP_DATASET_SUM)            \
  X(DATASET_LIST,                                                                                  \
    "SELECT " EP_DATASET_ROW " FROM datasets WHERE " EP_SQL_SEEN("?1") " ORDER BY name")

typedef enum {
#define EP_SQL_ENUM(code, sql) EP_SQL_##code,
  EP_SQL_TABLE(EP_SQL_ENUM)
#undef EP_SQL_ENUM
      EP_SQL_COUNT
} ep_sql;

extern const char *const EP_SQL_TEXTS[EP_SQL_COUNT];

enum { EP_STORE_READERS = 4 }; /* as many as threads that answer requests, by default */

/* One connection. The store that others have is the one that writes. Its readers read beside a
 * commit that waits for the disk, and see a commit once that has returned. They are several, so
 * that a read does not wait for a thread that the system stopped within another. They are opened
 * read-only, so that they never make a checkpoint: SQLite 3.40 loses data where two connections do.
 */
typedef struct ep_store {
  sqlite3 *database;
  pthread_mutex_t
      mutex; /* guards the connection and its statements; held for one store at a time */
  sqlite3_stmt *statements[EP_SQL_COUNT]; /* of a reader: NULL for those that change something */
  bool waits;                             /* a commit waits for the disk */
  bool suspect; /* the disk failed: what is in the files may not be on it (wal.h) */
  struct ep_store *readers[EP_STORE_READERS]; /* owned; NULL in the readers themselves */
  char *data_dir;                             /* where the database lies; owned; NULL in readers */
} ep_store;

/* deliveries.c: creates the triggers of deliveries.h, once the tables are there. */
int ep_store_deliveries_define(sqlite3 *database);
int ep_store_deliveries_keep(sqlite3 *database);

/* The parameter of EP_SQL_SEEN; viewer NULL: sees everything. */
void ep_store_viewer_bind(sqlite3_stmt *statement, int index, const ep_viewer *viewer);

/* Takes the mutex and returns the statement, reset. */
sqlite3_stmt *ep_store_lock(ep_store *store, ep_sql sql);
/* The same of a connection that reads, which *store is then: one that is free, if there is any. */
sqlite3_stmt *ep_store_lock_reader(ep_store **store, ep_sql sql);
/* Resets the statement and releases the mutex. */
void ep_store_unlock(ep_store *store, sqlite3_stmt *statement);

/* The mutex is held, from here on. */

/* Runs a statement that changes something as a transaction of its own, and waits for the disk. */
ep_status ep_store_run(ep_store *store, sqlite3_stmt *statement, ep_error *error);
/* The same of a statement that frees room: on a full disk it takes that of the ballast. */
ep_status ep_store_run_delete(ep_store *store, sqlite3_stmt *statement, ep_error *error);
/* As ep_store_run, without a wait for the disk. */
ep_status ep_store_run_unsynced(ep_store *store, sqlite3_stmt *statement, ep_error *error);
/* Whether the commits that follow wait for the disk. After a failure of it the log and the database
 * are secured first. */
ep_status ep_store_sync(ep_store *store, bool wait, ep_error *error);
/* Closes the connection, whose statements are gone: with a checkpoint if the disk allows it. */
void ep_store_database_close(ep_store *store);
/* Whether memory was short while columns of the row were read: a text may be NULL for that. */
bool ep_store_row_short(sqlite3_stmt *statement);
void ep_store_text_bind(sqlite3_stmt *statement, int index, const char *text); /* NULL: none */
/* Turns SQLite's last error into a status, and logs it. */
ep_status ep_store_fail(ep_store *store, int code, ep_error *error);

#endif
