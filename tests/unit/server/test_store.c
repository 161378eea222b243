/* Tests of server/store.c: rows in and out, keys, pages, names, and what a kill leaves. */
#include <signal.h>
#include <sqlite3.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "server/store.h"
#include "tests/unit/server/scratch.h"

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
                    .wanted = "auto",
                    .seconds_cpu = 0.25,
                    .seconds_cuda = 1e300,
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
  ck_assert_str_eq(back.wanted, "auto");
  ck_assert_str_eq(back.device, "");
  ck_assert_ptr_null(back.result);
  ck_assert_int_eq(back.state, EP_STATE_QUEUED);
  ck_assert_int_eq(back.priority, -7);
  ck_assert_int_eq(back.epochs, row.epochs);
  ck_assert_int_eq(back.bytes, row.bytes);
  ck_assert_uint_eq(back.version, row.version);
  ck_assert_double_eq(back.seconds_cuda, 1e300);
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
  strcpy(row.executor, "cuda/graph");
  row.attempt = 2;
  row.result = "{}";
  row.started_us = 5;
  row.finished_us = 9;
  assert_ok(ep_store_job_update(store, &row, error));
  assert_ok(ep_store_job_get(store, row.id, &back, error));
  ck_assert_int_eq(back.state, EP_STATE_SUCCEEDED);
  ck_assert_str_eq(back.device, "cuda:0");
  ck_assert_str_eq(back.executor, "cuda/graph");
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
  assert_ok(ep_store_jobs_list(store, -1, NULL, 3, &page, error));
  ck_assert_int_eq(page.count, 3);
  ck_assert_str_eq(page.rows[0].id, row_make(7).id);
  ep_job_rows_deinit(&page);
  assert_ok(ep_store_jobs_list(store, -1, row_make(3).id, 10, &page, error));
  ck_assert_int_eq(page.count, 2);
  ck_assert_str_eq(page.rows[0].id, row_make(2).id);
  ep_job_rows_deinit(&page);
  assert_ok(ep_store_jobs_list(store, EP_STATE_FAILED, row_make(6).id, 10, &page, error));
  ck_assert_int_eq(page.count, 2);
  ck_assert_str_eq(page.rows[0].id, row_make(4).id);
  ep_job_rows_deinit(&page);
  assert_ok(ep_store_jobs_unfinished(store, &page, error));
  ck_assert_int_eq(page.count, 4);
  ck_assert_str_eq(page.rows[0].id, row_make(1).id);
  ep_job_rows_deinit(&page);
  assert_ok(ep_store_jobs_finished_last(store, 2, &page, error));
  ck_assert_int_eq(page.count, 2);
  ck_assert_str_eq(page.rows[0].id, row_make(2).id);
  ep_job_rows_deinit(&page);
  ep_store_close(store);
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
  assert_ok(ep_store_dataset_list(store, &rows, &count, error));
  ck_assert_int_eq(count, 2);
  ck_assert_str_eq(rows[0].name, "again");
  free(rows);
  assert_ok(ep_store_dataset_delete(store, "again", error));
  ck_assert_int_eq(ep_store_dataset_get(store, "again", &row, NULL), EP_NOT_FOUND);
  ep_store_close(store);
}
END_TEST

START_TEST(refuses_a_newer_schema) {
  sqlite3 *database;
  ep_store *store = store_open();
  ep_store_close(store);
  ck_assert_int_eq(sqlite3_open(scratch_path("epochd.sqlite"), &database), SQLITE_OK);
  ck_assert_int_eq(sqlite3_exec(database, "PRAGMA user_version = 99", NULL, NULL, NULL), SQLITE_OK);
  sqlite3_close(database);
  ck_assert_int_eq(ep_store_open(scratch_path("epochd.sqlite"), &store, NULL), EP_CONFLICT);
  ck_assert_ptr_null(store);
}
END_TEST

START_TEST(refuses_what_is_no_database) {
  ep_store *store;
  char text[200];
  memset(text, 'x', sizeof text);
  assert_ok(ep_folder_write_file(scratch_path("epochd.sqlite"), text, sizeof text, error));
  ck_assert_int_eq(ep_store_open(scratch_path("epochd.sqlite"), &store, NULL), EP_IO);
}
END_TEST

/* A child inserts and says so; killed at any moment, all that it said is there. */
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
  usleep(150000);
  kill(child, SIGKILL);
  for (int i; read(pipes[0], &i, sizeof i) == sizeof i;) said = i;
  close(pipes[0]);
  waitpid(child, NULL, 0);
  ck_assert_int_gt(said, 0);
  ep_store *store = store_open();
  for (int i = 1; i <= said; i++) ck_assert(ep_store_job_exists(store, row_make(i).id));
  printf("%d acknowledged rows, all there after kill -9\n", said);
  ep_store_close(store);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("store");
  TCase *tests = tcase_create("store");
  tcase_add_checked_fixture(tests, scratch_open, scratch_close);
  tcase_set_timeout(tests, 60);
  tcase_add_test(tests, gives_back_what_it_took);
  tcase_add_test(tests, updates_and_deletes);
  tcase_add_test(tests, takes_a_key_once);
  tcase_add_test(tests, lists_newest_first_in_pages);
  tcase_add_test(tests, names_contents);
  tcase_add_test(tests, refuses_a_newer_schema);
  tcase_add_test(tests, refuses_what_is_no_database);
  tcase_add_loop_test(tests, keeps_what_it_acknowledged, 0, 3);
  suite_add_tcase(suite, tests);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_ENV);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed != 0;
}
