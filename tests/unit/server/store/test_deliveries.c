/* Tests of server/store/deliveries.c: messages come with a job's end, and go with the job. */
#include "server/store/deliveries.h"

#include <string.h>

#include "server/store/sql.h"
#include "tests/suite.h"
#include "tests/unit/server/scratch.h"

enum { MOST = EP_LIMIT_WEBHOOKS * EP_WEBHOOK_COUNT, MANY = 64 };

#define HOOK(url, events) "{\"url\":\"" url "\",\"events\":[" events "]}"

static ep_store *store;

static void store_setup(void) {
  scratch_open();
  assert_ok(ep_store_open(scratch_path("epochd.sqlite"), &store, error));
}

static void store_teardown(void) {
  ep_store_close(store);
  scratch_close();
}

static ep_job_row job_insert(int number, const char *spec) {
  ep_job_row row = {.state = EP_STATE_RUNNING, .spec = (char *)spec, .created_us = 1};
  snprintf(row.id, sizeof row.id, "job_%026d", number);
  assert_ok(ep_store_job_insert(store, &row, NULL, NULL, error));
  return row;
}

static void job_end(ep_job_row *row, ep_state state, int64_t finished_us) {
  row->state = state;
  row->finished_us = finished_us;
  assert_ok(ep_store_job_update(store, row, error));
}

static int of_job(const ep_job_row *row, ep_delivery *found) {
  int count = 0;
  assert_ok(ep_store_deliveries_of(store, row->id, found, &count, error));
  return count;
}

static int due(int64_t now_us, ep_delivery *found) {
  int count = 0;
  assert_ok(ep_store_deliveries_due(store, now_us, found, MANY, &count, error));
  return count;
}

/* The spec's own webhooks, however their key is written; of a spec that cannot be read, none. */
START_TEST(webhooks_are_a_member_of_the_spec) {
  static const struct {
    const char *spec;
    int messages;
  } rows[] = {
      {"{\"w\\u0065bhooks\": [" HOOK("http://a/", "\"end\"") "]}", 1},
      {"{\"name\":\"\\\"webhooks\\\":[{\",\"data\":{\"webhooks\":[" HOOK("http://a/",
                                                                         "\"end\"") "]}}",
       0},
      {"{\"webhooks\":[]}", 0},
      {"{\"webhooks\":{\"0\":" HOOK("http://a/", "\"end\"") "}}", 0},
      {"{\"webhooks\":[" HOOK("http://a/", "\"end\""), 0},
      {"no JSON", 0},
  };
  ep_delivery found[MOST];
  for (int i = 0; i < (int)(sizeof rows / sizeof *rows); i++) {
    ep_job_row row = job_insert(i + 1, rows[i].spec);
    job_end(&row, EP_STATE_SUCCEEDED, 50);
    ck_assert_msg(of_job(&row, found) == rows[i].messages, "%s", rows[i].spec);
  }
}
END_TEST

START_TEST(ends_make_messages) {
  ep_delivery found[MOST];
  const char *spec = "{\"webhooks\":[" HOOK("http://a/", "\"end\"") "," HOOK(
      "http://b/", "\"failed\",\"end\",\"best\"") "]}";
  ep_job_row good = job_insert(1, spec), bad = job_insert(2, spec), none = job_insert(3, "{}");
  ck_assert_int_eq(of_job(&good, found), 0);
  job_end(&good, EP_STATE_SUCCEEDED, 50);
  ck_assert_int_eq(of_job(&good, found), 2);
  ck_assert_str_eq(found[0].url, "http://a/");
  ck_assert_str_eq(found[1].url, "http://b/");
  ck_assert_int_eq(found[1].event, EP_WEBHOOK_END);
  ck_assert_int_eq(found[1].hook, 1);
  ck_assert_int_eq(found[1].due_us, 50);
  ck_assert_int_eq(strncmp(found[0].id, "msg_", 4), 0);
  ck_assert_str_ne(found[0].id, found[1].id);
  job_end(&good, EP_STATE_SUCCEEDED, 60); /* again: once is enough */
  ck_assert_int_eq(of_job(&good, found), 2);
  ck_assert_int_eq(found[0].created_us, 50);
  job_end(&bad, EP_STATE_FAILED, 50);
  ck_assert_int_eq(of_job(&bad, found), 3);
  job_end(&none, EP_STATE_FAILED, 50);
  ck_assert_int_eq(of_job(&none, found), 0);
  assert_ok(ep_store_job_delete(store, bad.id, error));
  ck_assert_int_eq(of_job(&bad, found), 0);
}
END_TEST

/* A job ends whatever its spec is. */
START_TEST(damaged_specs) {
  static const char *const specs[] = {"{\"webhooks\":[{", "{\"webhooks\":[{\"events\":[\"end\"]}]",
                                      "\"webhooks\":[{}]", ""};
  ep_delivery found[MOST];
  for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
    ep_job_row row = job_insert((int)i, specs[i]);
    job_end(&row, EP_STATE_FAILED, 50);
    ck_assert_int_eq(of_job(&row, found), 0);
  }
}
END_TEST

START_TEST(slow_hosts_have_their_share) {
  ep_delivery found[MANY];
  for (int i = 0; i < 10; i++) {
    ep_job_row row = job_insert(i, i == 9 ? "{\"webhooks\":[" HOOK("https://B:1?x", "\"end\"") "]}"
                                          : "{\"webhooks\":[" HOOK("https://a/", "\"end\"") "]}");
    job_end(&row, EP_STATE_SUCCEEDED, 50 + i);
  }
  ck_assert_int_eq(due(49, found), 0);
  ck_assert_int_eq(due(100, found), EP_LIMIT_HOST_TRANSFERS + 1);
  ck_assert_int_eq(found[0].due_us, 50);
  ck_assert_str_eq(found[EP_LIMIT_HOST_TRANSFERS].url, "https://B:1?x");
  int64_t next_us = 0;
  assert_ok(ep_store_deliveries_next(store, 55, &next_us, error));
  ck_assert_int_eq(next_us, 56);
  assert_ok(ep_store_deliveries_next(store, 59, &next_us, error));
  ck_assert_int_eq(next_us, INT64_MAX);
}
END_TEST

/* One owner has many, each to a host of its own; another has one, which is younger. */
START_TEST(owners_take_turns) {
  enum { OWN = 20 };
  ep_delivery found[MANY];
  for (int i = 0; i <= OWN; i++) {
    char spec[100];
    snprintf(spec, sizeof spec, "{\"webhooks\":[" HOOK("http://h:%d/", "\"end\"") "]}", i + 1);
    ep_job_row row = {.state = EP_STATE_RUNNING, .spec = spec, .created_us = 1};
    snprintf(row.id, sizeof row.id, "job_%026d", i);
    snprintf(row.owner, sizeof row.owner, "%s", i == OWN ? "other" : "one");
    assert_ok(ep_store_job_insert(store, &row, NULL, NULL, error));
    job_end(&row, EP_STATE_SUCCEEDED, 50 + i);
  }
  ck_assert_int_eq(due(100, found), OWN + 1);
  ck_assert_str_eq(found[0].url, "http://h:1/");
  ck_assert_str_eq(found[1].url, "http://h:21/");
  ck_assert_str_eq(found[2].url, "http://h:2/");
}
END_TEST

START_TEST(attempts_are_noted) {
  ep_delivery found[MOST], back[MOST];
  ep_store_counts counts;
  ep_job_row row = job_insert(1, "{\"webhooks\":[" HOOK("http://a/", "\"end\"") "]}");
  job_end(&row, EP_STATE_SUCCEEDED, 50);
  ck_assert_int_eq(of_job(&row, found), 1);
  found[0].attempts = 3;
  found[0].status = 503;
  found[0].due_us = 70;
  snprintf(found[0].fault, sizeof found[0].fault, "busy");
  assert_ok(ep_store_delivery_note(store, found, error));
  ck_assert_int_eq(of_job(&row, back), 1);
  ck_assert_int_eq(back[0].attempts, 3);
  ck_assert_int_eq(back[0].status, 503);
  ck_assert_int_eq(back[0].due_us, 70);
  ck_assert_str_eq(back[0].fault, "busy");
  assert_ok(ep_store_count(store, &counts, error));
  ck_assert_int_eq(counts.deliveries, 1);
  found[0].due_us = 0;
  found[0].delivered = true;
  assert_ok(ep_store_delivery_note(store, found, error));
  ck_assert_int_eq(of_job(&row, back), 1);
  ck_assert(back[0].delivered);
  ck_assert_int_eq(due(INT64_MAX, back), 0);
  assert_ok(ep_store_count(store, &counts, error));
  ck_assert_int_eq(counts.deliveries, 0);
}
END_TEST

/* The latest counts, and what is told of the one before it changes nothing. */
START_TEST(best_takes_the_place) {
  ep_delivery first[MOST], second[MOST];
  ep_job_row row = job_insert(
      1, "{\"webhooks\":[" HOOK("http://a/", "\"end\"") "," HOOK("http://b/", "\"best\"") "]}");
  assert_ok(ep_store_delivery_best(store, row.id, "{\"value\":2}", 10, error));
  ck_assert_int_eq(of_job(&row, first), 1);
  ck_assert_str_eq(first[0].url, "http://b/");
  ck_assert_str_eq(first[0].details, "{\"value\":2}");
  assert_ok(ep_store_delivery_best(store, row.id, "{\"value\":1}", 20, error));
  ck_assert_int_eq(of_job(&row, second), 1);
  ck_assert_str_eq(second[0].details, "{\"value\":1}");
  ck_assert_str_ne(second[0].id, first[0].id);
  first[0].due_us = 0;
  first[0].delivered = true;
  assert_ok(ep_store_delivery_note(store, first, error));
  ck_assert_int_eq(of_job(&row, second), 1);
  ck_assert(!second[0].delivered);
  ck_assert_int_eq(second[0].due_us, 20);
}
END_TEST

/* Messages of other jobs, that wait. */
static void others_insert(const char *owner, int count) {
  char sql[512];
  snprintf(sql, sizeof sql,
           "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d) "
           "INSERT INTO deliveries (job, hook, event, id, url, created_us, due_us, owner) "
           "SELECT 'job_%s' || i, 0, 'end', 'msg_' || i, 'http://a/', 1, 1, '%s' FROM n",
           count, owner, owner);
  ck_assert_int_eq(sqlite3_exec(store->database, sql, NULL, NULL, NULL), SQLITE_OK);
}

/* Whether the message of its end waits; else it has failed. */
static bool end_waits(ep_job_row *row) {
  ep_delivery found[MOST];
  job_end(row, EP_STATE_SUCCEEDED, 50);
  ck_assert_int_eq(of_job(row, found), 1);
  ck_assert(!found[0].delivered && (found[0].due_us == 0) == (found[0].fault[0] != 0));
  return found[0].due_us == 50;
}

START_TEST(the_queue_has_a_ceiling) {
  ep_job_row last = job_insert(1, "{\"webhooks\":[" HOOK("http://a/", "\"end\"") "]}"),
             more = job_insert(2, last.spec);
  others_insert("one", EP_LIMIT_OWNER_DELIVERIES);
  others_insert("other", EP_LIMIT_DELIVERIES - EP_LIMIT_OWNER_DELIVERIES - 1);
  ck_assert(end_waits(&last));
  ck_assert(!end_waits(&more));
}
END_TEST

START_TEST(an_owner_has_a_ceiling) {
  ep_job_row last = job_insert(1, "{\"webhooks\":[" HOOK("http://a/", "\"end\"") "]}"),
             more = job_insert(2, last.spec);
  others_insert("other", 10);
  others_insert("", EP_LIMIT_OWNER_DELIVERIES - 1);
  ck_assert(end_waits(&last));
  ck_assert(!end_waits(&more));
}
END_TEST

EP_SUITE("server/store/deliveries") {
  TCase *tests = ep_suite_case(suite, "deliveries");
  tcase_add_checked_fixture(tests, store_setup, store_teardown);
  tcase_set_timeout(tests, 60);
  tcase_add_test(tests, webhooks_are_a_member_of_the_spec);
  tcase_add_test(tests, ends_make_messages);
  tcase_add_test(tests, damaged_specs);
  tcase_add_test(tests, slow_hosts_have_their_share);
  tcase_add_test(tests, owners_take_turns);
  tcase_add_test(tests, attempts_are_noted);
  tcase_add_test(tests, best_takes_the_place);
  tcase_add_test(tests, the_queue_has_a_ceiling);
  tcase_add_test(tests, an_owner_has_a_ceiling);
}
