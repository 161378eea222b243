/* Tests of server/store/store.c: rows in and out, keys, pages, names, and what a kill leaves. */
#include <pthread.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "server/store/sql.h"
#include "server/store/store.h"
#include "tests/suite.h"
#include "tests/unit/server/scratch.h"
#include "tests/wait.h"

/* In the place of the system's, for SQLite too. */
static int syncs;
static atomic_bool sync_held, sync_waits; /* a sync does not return while it is held */
int fdatasync(int fd) {
  syncs++;
  while (atomic_load(&sync_held)) {
    atomic_store(&sync_waits, true);
    ep_wait_moment();
  }
  return (int)syscall(SYS_fdatasync, fd);
}

/* Between the store and SQLite, by the linker's --wrap: refuses to wait for the disk. */
static bool waits_refused;
int __real_sqlite3_exec(sqlite3 *database, const char *sql,
                        int (*row)(void *, int, char **, char **), void *context, char **message);
int __wrap_sqlite3_exec(sqlite3 *database, const char *sql,
                        int (*row)(void *, int, char **, char **), void *context, char **message);
int __wrap_sqlite3_exec(sqlite3 *database, const char *sql,
                        int (*row)(void *, int, char **, char **), void *context, char **message) {
  if (waits_refused && strstr(sql, "synchronous = FULL")) return SQLITE_NOMEM;
  return __real_sqlite3_exec(database, sql, row, context, message);
}

static ep_store *store_open(void) {
  ep_store *store = NULL;
  assert_ok(ep_store_open(scratch_path("epochd.sqlite"), &store, error));
  return store;
}

static ep_job_row row_make(int number) {
  ep_job_row row = {.name = "a name with \"quotes\" and \n",
                    .state = EP_STATE_QUEUED,
                    .priority = -7,
                    .spec = "{\"epochs\":3}",
                    .dataset = "abc",
                    .requested_device = "auto",
                    .seconds_cpu = 0.25,
                    .seconds_cuda = 1e300,
                    .cores = 7,
                    .max_seconds = 1.5,
                    .epochs = 1000000000,
                    .parameters = 49,
                    .bytes = INT64_C(1) << 40,
                    .created_us = 1763650000000000,
                    .version = 12345678901234567u};
  snprintf(row.id, sizeof row.id, "job_%026d", number);
  return row;
}

START_TEST(gives_back_what_it_took) {
  ep_store *store = store_open();
  ep_job_row row = row_make(1), back;
  assert_ok(ep_store_job_insert(store, &row, NULL, NULL, error));
  ep_store_close(store);
  store = store_open();
  assert_ok(ep_store_job_get(store, row.id, &back, error));
  ck_assert_str_eq(back.id, row.id);
  ck_assert_str_eq(back.name, row.name);
  ck_assert_str_eq(back.spec, row.spec);
  ck_assert_str_eq(back.dataset, "abc");
  ck_assert_str_eq(back.requested_device, "auto");
  ck_assert_str_eq(back.device, "");
  ck_assert_ptr_null(back.result);
  ck_assert_int_eq(back.state, EP_STATE_QUEUED);
  ck_assert_int_eq(back.priority, -7);
  ck_assert_int_eq(back.epochs, row.epochs);
  ck_assert_int_eq(back.bytes, row.bytes);
  ck_assert_uint_eq(back.version, row.version);
  ck_assert(back.seconds_cuda == 1e300 && back.cores == 7 && back.max_seconds == 1.5);
  ep_job_row_deinit(&back);
  ep_store_close(store);
}
END_TEST

START_TEST(updates_and_deletes) {
  ep_store *store = store_open();
  ep_job_row row = row_make(1), back;
  assert_ok(ep_store_job_insert(store, &row, NULL, NULL, error));
  row.state = EP_STATE_SUCCEEDED;
  strcpy(row.device, "cuda:0");
  strcpy(row.executor, "cuda/graph"); /* as it was called once */
  row.attempt = 2;
  row.result = "{}";
  row.started_us = 5;
  row.finished_us = 9;
  assert_ok(ep_store_job_update(store, &row, error));
  assert_ok(ep_store_job_get(store, row.id, &back, error));
  ck_assert_int_eq(back.state, EP_STATE_SUCCEEDED);
  ck_assert_str_eq(back.device, "cuda:0");
  ck_assert_str_eq(back.executor, "cuda/cnn");
  ck_assert_str_eq(back.result, "{}");
  ck_assert(back.attempt == 2 && back.started_us == 5 && back.finished_us == 9);
  ep_job_row_deinit(&back);
  ck_assert(ep_store_job_exists(store, row.id));
  assert_ok(ep_store_job_delete(store, row.id, error));
  ck_assert(!ep_store_job_exists(store, row.id));
  ck_assert_int_eq(ep_store_job_get(store, row.id, &back, NULL), EP_NOT_FOUND);
  ep_store_close(store);
}
END_TEST

/* What is acknowledged waits for the disk each time; a note never, and the next one waits again. */
START_TEST(waits_where_it_must) {
  ep_store *store = store_open();
  ep_job_row row = row_make(1), back;
  for (int turn = 0; turn < 2; turn++) {
    snprintf(row.id, sizeof row.id, "job_%026d", turn);
    syncs = 0;
    assert_ok(ep_store_job_insert(store, &row, NULL, NULL, error));
    ck_assert_int_gt(syncs, 0);
    syncs = 0;
    row.state = EP_STATE_RUNNING;
    assert_ok(ep_store_job_note(store, &row, error));
    ck_assert_int_eq(syncs, 0);
    assert_ok(ep_store_job_get(store, row.id, &back, error));
    ck_assert_int_eq(back.state, EP_STATE_RUNNING);
    ep_job_row_deinit(&back);
    assert_ok(ep_store_job_update(store, &row, error));
    ck_assert_int_gt(syncs, 0);
  }
  ep_store_close(store);
}
END_TEST

/* Where SQLite will not wait for the disk nothing is acknowledged, until it does. */
START_TEST(promises_nothing_that_it_cannot_keep) {
  ep_store *store = store_open();
  ep_job_row row = row_make(1), other = row_make(2);
  ep_error why = {0};
  assert_ok(ep_store_job_insert(store, &row, NULL, NULL, error));
  waits_refused = true;
  assert_ok(ep_store_job_note(store, &row, error));
  ck_assert_int_eq(ep_store_job_update(store, &row, &why), EP_UNAVAILABLE);
  ck_assert_ptr_nonnull(strstr(why.message, "synchronous = FULL"));
  ck_assert_int_eq(ep_store_job_insert(store, &other, NULL, NULL, NULL), EP_UNAVAILABLE);
  ck_assert(!ep_store_job_exists(store, other.id));
  assert_ok(ep_store_job_note(store, &row, error)); /* which promises nothing */
  waits_refused = false;
  syncs = 0;
  assert_ok(ep_store_job_insert(store, &other, NULL, NULL, error));
  ck_assert_int_gt(syncs, 0);
  ep_store_close(store);
  waits_refused = true;
  ck_assert_int_eq(ep_store_open(scratch_path("epochd.sqlite"), &store, NULL), EP_UNAVAILABLE);
  waits_refused = false;
}
END_TEST

/* As a file system does that has no shared memory: SQLite takes another mode, and says nothing. */
START_TEST(refuses_a_place_without_a_log) {
  ep_store *store;
  ep_error why = {0};
  ck_assert_int_eq(ep_store_open(":memory:", &store, &why), EP_UNAVAILABLE);
  ck_assert_ptr_nonnull(strstr(why.message, "local disk"));
}
END_TEST

START_TEST(takes_a_key_once) {
  ep_store *store = store_open();
  ep_job_row first = row_make(1), second = row_make(2);
  uint8_t key[EP_STORE_HASH_BYTES] = {1}, body[EP_STORE_HASH_BYTES] = {2};
  uint8_t found[EP_STORE_HASH_BYTES];
  char id[EP_ID_BYTES];
  ck_assert_int_eq(ep_store_job_by_key(store, key, id, found, NULL), EP_NOT_FOUND);
  assert_ok(ep_store_job_insert(store, &first, key, body, error));
  ck_assert_int_eq(ep_store_job_insert(store, &second, key, body, NULL), EP_CONFLICT);
  ck_assert(!ep_store_job_exists(store, second.id));
  assert_ok(ep_store_job_insert(store, &second, NULL, NULL, error)); /* no transaction is left */
  assert_ok(ep_store_job_by_key(store, key, id, found, error));
  ck_assert_str_eq(id, first.id);
  ck_assert_mem_eq(found, body, sizeof body);
  ep_store_close(store);
}
END_TEST

START_TEST(lists_newest_first_in_pages) {
  ep_store *store = store_open();
  ep_job_rows page;
  for (int i = 1; i <= 7; i++) {
    ep_job_row row = row_make(i);
    if (i % 2 == 0) row.state = EP_STATE_FAILED;
    if (i % 2 == 0) row.finished_us = 100 - i;
    assert_ok(ep_store_job_insert(store, &row, NULL, NULL, error));
  }
  assert_ok(ep_store_jobs_list(store, &(ep_job_page){.state = -1, .limit = 3}, &page, error));
  ck_assert_int_eq(page.count, 3);
  ck_assert_str_eq(page.rows[0].id, row_make(7).id);
  ep_job_rows_deinit(&page);
  ep_job_row third = row_make(3), sixth = row_make(6);
  ep_job_page older = {.state = -1, .after = third.id, .limit = 10};
  assert_ok(ep_store_jobs_list(store, &older, &page, error));
  ck_assert_int_eq(page.count, 2);
  ck_assert_str_eq(page.rows[0].id, row_make(2).id);
  ep_job_rows_deinit(&page);
  ep_job_page failed = {.state = EP_STATE_FAILED, .after = sixth.id, .limit = 10};
  assert_ok(ep_store_jobs_list(store, &failed, &page, error));
  ck_assert_int_eq(page.count, 2);
  ck_assert_str_eq(page.rows[0].id, row_make(4).id);
  ep_job_rows_deinit(&page);
  assert_ok(ep_store_jobs_unfinished(store, "", &page, error));
  ck_assert_int_eq(page.count, 4);
  ck_assert_str_eq(page.rows[0].id, row_make(1).id);
  ep_job_rows_deinit(&page);
  assert_ok(ep_store_jobs_finished_last(store, 2, &page, error));
  ck_assert_int_eq(page.count, 2);
  ck_assert_str_eq(page.rows[0].id, row_make(2).id);
  ck_assert_str_eq(page.rows[0].spec, "");
  ep_job_rows_deinit(&page);
  ep_store_close(store);
}
END_TEST

/* Of large specs fewer are read at once; the next page goes on where this one ended. */
START_TEST(pages_have_a_ceiling_in_bytes) {
  enum { MOST = 32, COUNT = MOST + 3 };
  ep_store *store = store_open();
  ep_job_rows page;
  size_t bytes = EP_LIMIT_LIST_BYTES / MOST;
  char *spec = malloc(bytes + 1);
  memset(spec, ' ', bytes);
  spec[bytes] = 0;
  for (int i = 1; i <= COUNT; i++) {
    ep_job_row row = row_make(i);
    row.spec = spec;
    assert_ok(ep_store_job_insert(store, &row, NULL, NULL, error));
  }
  ep_job_row last = row_make(COUNT - MOST + 1), first = row_make(MOST);
  assert_ok(ep_store_jobs_list(store, &(ep_job_page){.state = -1, .limit = 100}, &page, error));
  ck_assert(page.cut);
  ck_assert_int_eq(page.count, MOST);
  ck_assert_str_eq(page.rows[MOST - 1].id, last.id);
  ep_job_rows_deinit(&page);
  ep_job_page next = {.state = -1, .after = last.id, .limit = 100};
  assert_ok(ep_store_jobs_list(store, &next, &page, error));
  ck_assert(!page.cut);
  ck_assert_int_eq(page.count, COUNT - MOST);
  ep_job_rows_deinit(&page);
  assert_ok(ep_store_jobs_unfinished(store, "", &page, error));
  ck_assert(page.cut);
  ck_assert_str_eq(page.rows[MOST - 1].id, first.id);
  ep_job_rows_deinit(&page);
  assert_ok(ep_store_jobs_unfinished(store, first.id, &page, error));
  ck_assert_int_eq(page.count, COUNT - MOST);
  ep_job_rows_deinit(&page);
  free(spec);
  ep_store_close(store);
}
END_TEST

/* How many jobs a page with these tags shows; every row must have been chosen by the versions too.
 */
static int64_t tagged_count(ep_store *store, int state, const char *a, const char *b) {
  const char *tags[] = {a, b};
  ep_job_page page = {.state = state, .limit = 100, .tags = tags, .tags_count = b ? 2 : 1};
  ep_job_rows rows;
  ep_job_version versions[100];
  int64_t count;
  assert_ok(ep_store_jobs_list(store, &page, &rows, error));
  assert_ok(ep_store_jobs_versions(store, &page, versions, &count, error));
  ck_assert_int_eq(count, rows.count);
  for (int64_t i = 0; i < count; i++) {
    ck_assert_str_eq(versions[i].id, rows.rows[i].id);
    ck_assert_uint_eq(versions[i].version, rows.rows[i].version);
    if (i > 0) ck_assert_int_lt(strcmp(versions[i].id, versions[i - 1].id), 0);
  }
  ep_job_rows_deinit(&rows);
  return count;
}

START_TEST(finds_by_tags) {
  static char *const tags[] = {"[\"a\"]", "[\"a\",\"b\",\"b\"]",    "[\"b\"]", "[]",
                               NULL,      "[\"it's \\\"q\\\" %_\"]"};
  ep_store *store = store_open();
  for (int i = 0; i < 6; i++) {
    ep_job_row row = row_make(i);
    row.tags = tags[i];
    if (i == 1) row.state = EP_STATE_FAILED;
    assert_ok(ep_store_job_insert(store, &row, NULL, NULL, error));
  }
  ck_assert_int_eq(tagged_count(store, -1, "a", NULL), 2);
  ck_assert_int_eq(tagged_count(store, -1, "b", NULL), 2);
  ck_assert_int_eq(tagged_count(store, -1, "b", "a"), 1);
  ck_assert_int_eq(tagged_count(store, -1, "a", "c"), 0);
  ck_assert_int_eq(tagged_count(store, EP_STATE_FAILED, "a", NULL), 1);
  ck_assert_int_eq(tagged_count(store, EP_STATE_SUCCEEDED, "a", NULL), 0);
  ck_assert_int_eq(tagged_count(store, -1, "it's \"q\" %_", NULL), 1);
  ck_assert_int_eq(tagged_count(store, -1, "it", NULL), 0);
  ep_labels labels = {.has_tags = true, .tags = "[\"c\",\"b\"]"};
  ep_store_labels left;
  assert_ok(ep_store_job_label(store, row_make(0).id, &labels, 9, &left, error));
  free(left.name);
  ck_assert_int_eq(tagged_count(store, -1, "a", NULL), 1);
  ck_assert_int_eq(tagged_count(store, -1, "c", "b"), 1);
  assert_ok(ep_store_job_delete(store, row_make(0).id, error));
  ck_assert_int_eq(tagged_count(store, -1, "c", NULL), 0);
  ep_store_close(store);
}
END_TEST

START_TEST(changes_labels_and_nothing_else) {
  ep_store *store = store_open();
  ep_job_row row = row_make(1), back;
  ep_store_labels left;
  row.spec = "{\"name\":\"\",\"tags\":[],\"priority\":0,\"epochs\":3}";
  assert_ok(ep_store_job_insert(store, &row, NULL, NULL, error));
  ep_labels labels = {.has_name = true, .name = "n\"1", .has_priority = true, .priority = 5};
  assert_ok(ep_store_job_label(store, row.id, &labels, 99, &left, error));
  ck_assert_str_eq(left.name, "n\"1");
  ck_assert(left.priority == 5 && left.labels_version == 1);
  free(left.name);
  assert_ok(ep_store_job_get(store, row.id, &back, error));
  ck_assert_str_eq(back.name, "n\"1");
  ck_assert_str_eq(back.spec, "{\"name\":\"n\\\"1\",\"tags\":[],\"priority\":5,\"epochs\":3}");
  ck_assert_str_eq(back.tags, "[]");
  ck_assert(back.priority == 5 && back.version == 99 && back.epochs == row.epochs);
  ep_job_row_deinit(&back);

  row.state = EP_STATE_SUCCEEDED;
  assert_ok(ep_store_job_update(store, &row, error));
  ck_assert_int_eq(ep_store_job_label(store, row.id, &labels, 100, &left, NULL), EP_CONFLICT);
  labels.has_priority = false;
  assert_ok(ep_store_job_label(store, row.id, &labels, 101, &left, error));
  ck_assert(left.priority == 5 && left.labels_version == 2); /* the refused one left no trace */
  free(left.name);
  assert_ok(ep_store_job_get(store, row.id, &back, error));
  ck_assert(back.state == EP_STATE_SUCCEEDED && back.priority == 5);
  ep_job_row_deinit(&back);
  ck_assert_int_eq(ep_store_job_label(store, row_make(2).id, &labels, 1, &left, NULL),
                   EP_NOT_FOUND);
  ep_store_close(store);
}
END_TEST

static int64_t found_count(ep_store *store, const char *search) {
  ep_job_rows page;
  assert_ok(ep_store_jobs_list(store, &(ep_job_page){.state = -1, .limit = 10, .search = search},
                               &page, error));
  int64_t count = page.count;
  ep_job_rows_deinit(&page);
  return count;
}

/* A store of the first release: its one table of jobs, and three jobs. */
static void first_schema_write(void) {
  static const char sql[] =
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
      "CREATE INDEX datasets_by_content ON datasets (sha256); PRAGMA user_version = 1;";
  static const char *const specs[] = {"{\"name\":\"\",\"tags\":[\"old\",\"x\"],\"priority\":0,"
                                      "\"data\":{\"dataset\":\"houses\"},\"max_seconds\":2.5}",
                                      "{\"epochs\":3}", "not JSON"};
  sqlite3 *database;
  ck_assert_int_eq(sqlite3_open(scratch_path("epochd.sqlite"), &database), SQLITE_OK);
  ck_assert_int_eq(sqlite3_exec(database, sql, NULL, NULL, NULL), SQLITE_OK);
  for (int i = 0; i < 3; i++) {
    char *insert = sqlite3_mprintf("INSERT INTO jobs VALUES (%Q,'n','succeeded',0,%Q,'','auto','',"
                                   "'',0,0,1,3,4,5,NULL,6,7,8,9,NULL,NULL)",
                                   row_make(i).id, specs[i]);
    ck_assert_int_eq(sqlite3_exec(database, insert, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_free(insert);
  }
  sqlite3_close(database);
}

START_TEST(opens_what_the_first_release_wrote) {
  ep_job_row back;
  first_schema_write();
  for (int opened = 0; opened < 2; opened++) {
    ep_store *store = store_open();
    ck_assert_int_eq(tagged_count(store, -1, "old", NULL), 1);
    ck_assert_int_eq(tagged_count(store, EP_STATE_SUCCEEDED, "old", "x"), 1);
    assert_ok(ep_store_job_get(store, row_make(0).id, &back, error));
    ck_assert_str_eq(back.tags, "[\"old\",\"x\"]");
    ck_assert(back.version == 9 && back.max_seconds == 2.5);
    ck_assert_str_eq(back.dataset_name, "houses");
    ep_job_row_deinit(&back);
    ck_assert_int_eq(found_count(store, "HOUSE"), 1);
    assert_ok(ep_store_job_get(store, row_make(2).id, &back, error));
    ck_assert_str_eq(back.tags, "[]");
    ck_assert_str_eq(back.spec, "not JSON");
    ep_job_row_deinit(&back);
    ep_store_close(store);
  }
}
END_TEST

START_TEST(names_contents) {
  ep_store *store = store_open();
  ep_dataset_row row = {.name = "houses", .sha256 = "aa", .created_us = 1}, before, *rows;
  int64_t count = 0;
  assert_ok(ep_store_dataset_put(store, &row, &before, error));
  ck_assert_str_eq(before.name, "");
  strcpy(row.sha256, "bb");
  assert_ok(ep_store_dataset_put(store, &row, &before, error));
  ck_assert_str_eq(before.sha256, "aa");
  strcpy(row.name, "again");
  assert_ok(ep_store_dataset_put(store, &row, &before, error));
  assert_ok(ep_store_dataset_names(store, "bb", &count, error));
  ck_assert_int_eq(count, 2);
  assert_ok(ep_store_dataset_names(store, "aa", &count, error));
  ck_assert_int_eq(count, 0);
  assert_ok(ep_store_dataset_list(store, NULL, &rows, &count, error));
  ck_assert_int_eq(count, 2);
  ck_assert_str_eq(rows[0].name, "again");
  free(rows);
  assert_ok(ep_store_dataset_delete(store, "again", error));
  ck_assert_int_eq(ep_store_dataset_get(store, "again", &row, NULL), EP_NOT_FOUND);
  ep_store_close(store);
}
END_TEST

START_TEST(refuses_a_schema_that_it_does_not_know) {
  static const int versions[] = {99, -1, 0, 1}; /* 0 and 1 with the tables of a later one */
  char *sql = sqlite3_mprintf("PRAGMA user_version = %d", versions[_i]);
  sqlite3 *database;
  ep_store *store = store_open();
  ep_store_close(store);
  ck_assert_int_eq(sqlite3_open(scratch_path("epochd.sqlite"), &database), SQLITE_OK);
  ck_assert_int_eq(sqlite3_exec(database, sql, NULL, NULL, NULL), SQLITE_OK);
  sqlite3_free(sql), sqlite3_close(database);
  int opened = (int)ep_store_open(scratch_path("epochd.sqlite"), &store, NULL);
  ck_assert_int_eq(opened, _i < 2 ? EP_CONFLICT : EP_DAMAGED);
}
END_TEST

START_TEST(refuses_what_is_no_database) {
  ep_store *store;
  char text[200];
  memset(text, 'x', sizeof text);
  assert_ok(ep_data_dir_write_file(scratch_path("epochd.sqlite"), text, sizeof text, error));
  ck_assert_int_eq(ep_store_open(scratch_path("epochd.sqlite"), &store, NULL), EP_IO);
}
END_TEST

/* A child inserts and says so; killed at any moment, all that it said is there, and synced. */
START_TEST(keeps_what_it_acknowledged) {
  int pipes[2], said = 0;
  ck_assert_int_eq(pipe(pipes), 0);
  pid_t child = fork();
  if (child == 0) {
    ep_store *store = store_open();
    for (int i = 1;; i++) {
      ep_job_row row = row_make(i);
      if (ep_store_job_insert(store, &row, NULL, NULL, NULL) != EP_OK) _exit(1);
      if (write(pipes[1], &i, sizeof i) != sizeof i) _exit(0);
    }
  }
  close(pipes[1]);
  while (said < 100 * (_i + 1)) ck_assert_int_eq(read(pipes[0], &said, sizeof said), sizeof said);
  kill(child, SIGKILL);
  for (int i; read(pipes[0], &i, sizeof i) == sizeof i;) said = i;
  close(pipes[0]);
  waitpid(child, NULL, 0);
  syncs = 0;
  ep_store *store = store_open();
  ck_assert_int_gt(syncs, 0);
  for (int i = 1; i <= said; i++) ck_assert(ep_store_job_exists(store, row_make(i).id));
  printf("%d acknowledged rows, all there after kill -9\n", said);
  ep_store_close(store);
}
END_TEST

static void *insert_second(void *context) {
  ep_job_row row = row_make(2);
  assert_ok(ep_store_job_insert(context, &row, NULL, NULL, error));
  return NULL;
}

/* How many jobs a page and the counts have, which must agree. */
static int64_t jobs_seen(ep_store *store) {
  ep_job_page page = {.state = -1, .limit = 10};
  ep_store_counts counts;
  ep_job_version versions[10];
  int64_t count = 0;
  assert_ok(ep_store_count(store, &counts, error));
  assert_ok(ep_store_jobs_versions(store, &page, versions, &count, error));
  ck_assert_int_eq(counts.jobs[EP_STATE_QUEUED], count);
  return count;
}

START_TEST(reads_beside_a_commit_that_waits) {
  ep_store *store = store_open();
  ep_job_row row = row_make(1), read;
  pthread_t thread;
  assert_ok(ep_store_job_insert(store, &row, NULL, NULL, error));
  atomic_store(&sync_held, true);
  ck_assert_int_eq(pthread_create(&thread, NULL, insert_second, store), 0);
  wait_until(atomic_load(&sync_waits));
  assert_ok(ep_store_job_get(store, row.id, &read, error));
  ep_job_row_deinit(&read);
  ck_assert(!ep_store_job_exists(store, row_make(2).id)); /* not before it is on disk */
  ck_assert_int_eq(jobs_seen(store), 1);
  atomic_store(&sync_held, false);
  pthread_join(thread, NULL);
  ck_assert(ep_store_job_exists(store, row_make(2).id)); /* and at once from there on */
  ck_assert_int_eq(jobs_seen(store), 2);
  ep_store_close(store);
}
END_TEST

/* A read does not wait for those who are within another, as long as a connection is free. */
START_TEST(reads_beside_reads) {
  ep_store *store = store_open();
  ep_job_row row = row_make(1);
  assert_ok(ep_store_job_insert(store, &row, NULL, NULL, error));
  for (int i = 0; i < EP_STORE_READERS - 1; i++) pthread_mutex_lock(&store->readers[i]->mutex);
  ck_assert(ep_store_job_exists(store, row.id));
  ck_assert_int_eq(jobs_seen(store), 1);
  for (int i = 0; i < EP_STORE_READERS - 1; i++) pthread_mutex_unlock(&store->readers[i]->mutex);
  ep_store_close(store);
}
END_TEST

/* Two connections that make checkpoints lose data in SQLite 3.40. */
START_TEST(makes_checkpoints_by_one_connection) {
  ep_store *store = store_open();
  ep_job_row row = row_make(1);
  assert_ok(ep_store_job_insert(store, &row, NULL, NULL, error));
  for (int i = 0; i < EP_STORE_READERS; i++) {
    sqlite3 *reader = store->readers[i]->database;
    ck_assert_int_eq(sqlite3_db_readonly(reader, "main"), 1);
    ck_assert_int_ne(sqlite3_wal_checkpoint_v2(reader, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL),
                     SQLITE_OK);
  }
  ck_assert_int_eq(
      sqlite3_wal_checkpoint_v2(store->database, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL),
      SQLITE_OK); /* no reader is in its way */
  ep_store_close(store);
  ck_assert_int_ne(access(scratch_path("epochd.sqlite-wal"), F_OK), 0);
}
END_TEST

START_TEST(counts_device_seconds_of_a_day) {
  ep_store *store = store_open();
  double seconds;
  assert_ok(ep_store_usage_add(store, "ann", 7, 1.5, error));
  assert_ok(ep_store_usage_add(store, "ann", 7, 2, error));
  assert_ok(ep_store_usage_add(store, "", 7, 9, error));
  assert_ok(ep_store_usage_get(store, "ann", 7, &seconds, error));
  ck_assert(seconds == 3.5);
  assert_ok(ep_store_usage_add(store, "ann", 8, 4, error));
  assert_ok(ep_store_usage_get(store, "ann", 8, &seconds, error));
  ck_assert(seconds == 4);
  ep_store_close(store);
}
END_TEST

EP_SUITE("store") {
  TCase *tests = ep_suite_case(suite, "store");
  tcase_add_checked_fixture(tests, scratch_open, scratch_close);
  tcase_set_timeout(tests, 60);
  tcase_add_test(tests, gives_back_what_it_took);
  tcase_add_test(tests, updates_and_deletes);
  tcase_add_test(tests, waits_where_it_must);
  tcase_add_test(tests, promises_nothing_that_it_cannot_keep);
  tcase_add_test(tests, refuses_a_place_without_a_log);
  tcase_add_test(tests, takes_a_key_once);
  tcase_add_test(tests, lists_newest_first_in_pages);
  tcase_add_test(tests, pages_have_a_ceiling_in_bytes);
  tcase_add_test(tests, finds_by_tags);
  tcase_add_test(tests, changes_labels_and_nothing_else);
  tcase_add_test(tests, opens_what_the_first_release_wrote);
  tcase_add_test(tests, names_contents);
  tcase_add_test(tests, counts_device_seconds_of_a_day);
  tcase_add_loop_test(tests, refuses_a_schema_that_it_does_not_know, 0, 4);
  tcase_add_test(tests, refuses_what_is_no_database);
  tcase_add_test(tests, reads_beside_a_commit_that_waits);
  tcase_add_test(tests, makes_checkpoints_by_one_connection);
  tcase_add_test(tests, reads_beside_reads);
  tcase_add_loop_test(tests, keeps_what_it_acknowledged, 0, 3);
}
