/* A row that another than the store has changed is known as damaged, alone, and keeps its files. */
#include <sqlite3.h>
#include <string.h>

#include "server/store/store.h"
#include "tests/suite.h"
#include "tests/unit/server/scratch.h"

static ep_store *store_open(void) {
  ep_store *store = NULL;
  assert_ok(ep_store_open(scratch_path("epochd.sqlite"), &store, error));
  return store;
}

/* SQL of another connection, as a flipped bit would have it. */
static void run(const char *sql) {
  sqlite3 *database = NULL;
  ck_assert_int_eq(sqlite3_open(scratch_path("epochd.sqlite"), &database), SQLITE_OK);
  int code = sqlite3_exec(database, sql, NULL, NULL, NULL);
  ck_assert_msg(code == SQLITE_OK, "%s: %s", sql, sqlite3_errmsg(database));
  sqlite3_close(database);
}

static const uint8_t KEY[EP_STORE_HASH_BYTES] = {1}, BODY[EP_STORE_HASH_BYTES] = {2};

static void job_add(ep_store *store, int number, ep_job_row *row) {
  *row = (ep_job_row){.name = "n",
                      .state = EP_STATE_QUEUED,
                      .spec = "{\"epochs\":3}",
                      .automatic = number == 2 ? NULL : "{\"task\":\"regression\"}",
                      .requested_device = "auto",
                      .seconds_cpu = 0.25,
                      .seconds_cuda = 1,
                      .tags = "[\"t\"]",
                      .epochs = 3,
                      .created_us = 1763650000000000,
                      .version = 1};
  snprintf(row->id, sizeof row->id, "job_%026d", number);
  assert_ok(
      ep_store_job_insert(store, row, number == 1 ? KEY : NULL, number == 1 ? BODY : NULL, error));
}

static const char *const CHANGES[] = {"name = 'm'",
                                      "state = 'qveued'",
                                      "state = 'failed'",
                                      "priority = 1",
                                      "spec = '{\"epochs\":2}'",
                                      "auto = '{}'",
                                      "dataset = 'a'",
                                      "wanted = 'cpu'",
                                      "device = 'cpu'",
                                      "executor = 'x'",
                                      "seconds_cpu = 0.5",
                                      "seconds_cuda = 2",
                                      "attempt = 1",
                                      "epochs = 2",
                                      "parameters = 1",
                                      "bytes = 1",
                                      "result = '{}'",
                                      "created_us = 1",
                                      "started_us = 1",
                                      "finished_us = 1",
                                      "version = 2",
                                      "tags = '[]'",
                                      "cores = 1",
                                      "key_hash = x'00'",
                                      "body_hash = x'00'",
                                      "spec_sum = '0'",
                                      "row_sum = '0'"};

START_TEST(a_changed_column_damages_its_row_alone) {
  ep_store *store = store_open();
  ep_job_row first, second, back;
  ep_job_rows list;
  ep_job_page page = {.state = -1, .limit = 10};
  ep_error fault = {0};
  char sql[128];
  job_add(store, 1, &first);
  job_add(store, 2, &second);
  assert_ok(ep_store_job_get(store, first.id, &back, error));
  ck_assert(!back.damaged);
  ep_job_row_deinit(&back);
  snprintf(sql, sizeof sql, "UPDATE jobs SET %s WHERE id = '%s'", CHANGES[_i], first.id);
  run(sql);
  assert_ok(ep_store_job_get(store, first.id, &back, error));
  ck_assert_msg(back.damaged && back.state == EP_STATE_FAILED, "%s", CHANGES[_i]);
  ck_assert_ptr_nonnull(strstr(back.result, first.id));
  ck_assert_ptr_nonnull(strstr(back.result, "spec.json"));
  ep_job_row_deinit(&back);
  assert_ok(ep_store_jobs_list(store, &page, &list, error));
  ck_assert_int_eq(list.count, 2);
  ck_assert(!list.rows[0].damaged && list.rows[1].damaged);
  ck_assert_str_eq(list.rows[1].id, first.id);
  ep_job_rows_deinit(&list);
  ep_labels labels = {.has_name = true, .name = "other"};
  ep_store_labels after;
  ck_assert_int_eq(ep_store_job_label(store, first.id, &labels, 3, &after, &fault), EP_DAMAGED);
  ck_assert(ep_store_job_exists(store, first.id)); /* its folder stays */
  ep_store_close(store);
}
END_TEST

/* A page without specs does not read them. */
START_TEST(a_summary_looks_at_all_but_the_spec) {
  ep_store *store = store_open();
  ep_job_row first;
  ep_job_rows list;
  ep_job_page page = {.state = -1, .limit = 10, .summary = true};
  job_add(store, 1, &first);
  run("UPDATE jobs SET spec = '{}'");
  assert_ok(ep_store_jobs_list(store, &page, &list, error));
  ck_assert(list.count == 1 && !list.rows[0].damaged);
  ep_job_rows_deinit(&list);
  run("UPDATE jobs SET epochs = 7");
  assert_ok(ep_store_jobs_list(store, &page, &list, error));
  ck_assert(list.count == 1 && list.rows[0].damaged);
  ep_job_rows_deinit(&list);
  ep_store_close(store);
}
END_TEST

START_TEST(what_the_store_changes_is_whole) {
  ep_store *store = store_open();
  ep_job_row row, back;
  ep_labels labels = {.has_name = true, .name = "other", .has_tags = true, .tags = "[\"u\"]"};
  ep_store_labels after;
  job_add(store, 1, &row);
  row.state = EP_STATE_SUCCEEDED;
  row.result = "{}";
  row.finished_us = 5;
  assert_ok(ep_store_job_update(store, &row, error));
  assert_ok(ep_store_job_label(store, row.id, &labels, 3, &after, error));
  free(after.name);
  ep_store_close(store);
  store = store_open();
  assert_ok(ep_store_job_get(store, row.id, &back, error));
  ck_assert(!back.damaged && back.state == EP_STATE_SUCCEEDED);
  ck_assert_str_eq(back.name, "other");
  ep_job_row_deinit(&back);
  ep_store_close(store);
}
END_TEST

START_TEST(a_damaged_name_of_a_dataset_is_said) {
  static const char *const changes[] = {"sha256 = 'b'", "created_us = 2", "row_sum = '0'"};
  ep_store *store = store_open();
  ep_dataset_row row = {.name = "line", .sha256 = "a", .created_us = 1}, back;
  ep_dataset_row *rows = NULL;
  ep_error fault = {0};
  int64_t count = 1;
  bool damaged = true;
  char sql[128];
  assert_ok(ep_store_dataset_put(store, &row, &back, error));
  assert_ok(ep_store_dataset_get(store, "line", &back, error));
  assert_ok(ep_store_datasets_damaged(store, &damaged, error));
  ck_assert(!damaged);
  snprintf(sql, sizeof sql, "UPDATE datasets SET %s", changes[_i]);
  run(sql);
  ck_assert_int_eq(ep_store_dataset_get(store, "line", &back, &fault), EP_DAMAGED);
  ck_assert_ptr_nonnull(strstr(fault.message, "\"line\""));
  assert_ok(ep_store_datasets_damaged(store, &damaged, error));
  ck_assert(damaged);
  assert_ok(ep_store_dataset_list(store, NULL, &rows, &count, error));
  ck_assert_int_eq(count, 0);
  free(rows);
  assert_ok(ep_store_dataset_put(store, &row, &back, error)); /* uploaded again */
  ck_assert_str_eq(back.sha256, row.sha256);
  assert_ok(ep_store_dataset_get(store, "line", &back, error));
  ep_store_close(store);
}
END_TEST

EP_SUITE("row checksums") {
  TCase *tests = ep_suite_case(suite, "rows");
  tcase_add_checked_fixture(tests, scratch_open, scratch_close);
  tcase_add_loop_test(tests, a_changed_column_damages_its_row_alone, 0,
                      sizeof CHANGES / sizeof CHANGES[0]);
  tcase_add_test(tests, a_summary_looks_at_all_but_the_spec);
  tcase_add_test(tests, what_the_store_changes_is_whole);
  tcase_add_loop_test(tests, a_damaged_name_of_a_dataset_is_said, 0, 3);
}
