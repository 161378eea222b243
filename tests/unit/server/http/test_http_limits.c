/* What requests hold of memory and of threads, and that they give it back. */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/handlers/routes.h"
#include "server/http/http.h"
#include "tests/suite.h"
#include "tests/unit/server/fake_jobs.h"
#include "tests/unit/server/http_fixture.h"

#define JSON "Content-Type: application/json\r\n"
#define JOB "/v1/jobs/" FAKE_JOB

/* Half of the largest body that is read into memory, and a byte. */
static int half_send(void) {
  static char half[EP_LIMIT_PREDICT_BYTES / 2 + 1];
  char head[300];
  int client = dial();
  snprintf(head, sizeof head,
           "POST " JOB "/predict HTTP/1.1\r\nHost: localhost\r\n" JSON "Content-Length: %d\r\n\r\n",
           EP_LIMIT_PREDICT_BYTES);
  say(client, head);
  for (size_t sent = 0; sent < sizeof half;) {
    ssize_t now = send(client, half + sent, sizeof half - sent, MSG_NOSIGNAL);
    ck_assert_int_gt(now, 0);
    sent += (size_t)now;
  }
  return client;
}

/* Bodies are held in memory up to a ceiling, all together; then others must wait. */
START_TEST(bodies_have_a_ceiling_together) {
  enum { MOST = HELD_BYTES / EP_LIMIT_PREDICT_BYTES };
  int clients[MOST];
  for (int i = 0; i < MOST; i++) clients[i] = half_send();
  /* all of it first, else the body of a request might take the room of one of these */
  wait_until(server.held.used_bytes >= (long long)MOST * EP_LIMIT_PREDICT_BYTES);
  ck_assert_int_eq(ask("POST", "/v1/jobs", JSON, "{}"), 429);
  ck_assert_ptr_nonnull(strstr(answer, "Retry-After: 1"));
  ck_assert_int_eq(get("/livez"), 200);
  for (int i = 0; i < MOST; i++) close(clients[i]);
  wait_until(server.held.used_bytes == 0);
  ck_assert_int_eq(ask("POST", "/v1/jobs", JSON, "{}"), 201);
}
END_TEST

/* So do responses that wait for their readers. Then what is small is served, and what would change
 * something is refused before it has. */
START_TEST(responses_have_a_ceiling_together) {
  enum { MOST = 4 };
  static const char request[] = "GET /v1/jobs?limit=777 HTTP/1.1\r\nHost: localhost\r\n\r\n";
  int clients[MOST];
  server.held.limit_bytes = MOST * FAKE_LONG_BYTES;
  for (int i = 0; i < MOST; i++) {
    int small = 4096;
    clients[i] = dial();
    setsockopt(clients[i], SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    say(clients[i], request);
  }
  wait_until(server.held.used_bytes == MOST * FAKE_LONG_BYTES);
  ck_assert_int_eq(get("/v1/jobs?limit=777"), 503);
  ck_assert_ptr_nonnull(strstr(answer, "Retry-After: 1"));
  ck_assert_int_eq(get("/v1/jobs?limit=10"), 200);
  ck_assert_int_eq(get("/metrics"), 200);
  ck_assert_ptr_nonnull(strstr(answer, "\nepochd_http_held_limit_bytes 67108864\n"));
  ck_assert_int_eq(get("/livez"), 200);
  ck_assert_int_eq(ask("POST", "/v1/jobs", JSON, "{}"), 429);
  for (int i = 0; i < MOST; i++) close(clients[i]);
  wait_until(server.held.used_bytes == 0);
  ck_assert_int_eq(get("/v1/jobs?limit=777"), 200);
  ck_assert_int_eq(ask("POST", "/v1/jobs", JSON, "{}"), 201);
  wait_until(server.held.used_bytes == 0);
}
END_TEST

/* What a route reserves is held until its response is complete, and refused where it finds no room:
 * 413 where it never will. */
START_TEST(routes_reserve_what_they_take) {
  static const char *const NAMES[] = {"/v1/datasets/wide", "/v1/datasets/long"};
  for (int i = 0; i < 2; i++) {
    server.held.limit_bytes = 2 << 20;
    ck_assert_int_eq(get(NAMES[i]), 200);
    wait_until(server.held.used_bytes == 0); /* which is a moment after its last byte */
    server.held.used_bytes = (1 << 20) + 1;
    ck_assert_int_eq(get(NAMES[i]), 429);
    ck_assert_ptr_nonnull(strstr(answer, "Retry-After: "));
    ck_assert_int_eq(get("/v1/datasets/other"), 200);
    wait_until(server.held.used_bytes == (1 << 20) + 1);
    server.held.used_bytes = 0;
    server.held.limit_bytes = (1 << 20) - 1;
    ck_assert_int_eq(get(NAMES[i]), 413);
    wait_until(server.held.used_bytes == 0);
  }
  ck_assert_int_eq(get("/metrics"), 200);
  ck_assert_ptr_nonnull(strstr(answer, "\nepochd_memory_bytes{owner=\"workers\"} 12345\n"));
}
END_TEST

/* A watcher may stay for hours; what it asked with is not held for as long. */
START_TEST(a_stream_holds_no_body) {
  static char request[65536];
  size_t used = 0;
  int client = dial(), padding = sizeof request - 300;
  snprintf(request, sizeof request,
           "POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nAccept: application/x-ndjson\r\n" JSON
           "Content-Length: %d\r\n\r\n{%*s}",
           padding + 2, padding, "");
  say(client, request);
  ck_assert(hear(client, "\"seq\":1,", PATIENCE_MS, &used));
  ck_assert_int_eq(server.held.used_bytes, 0);
  close(client);
}
END_TEST

/* Jobs whose files are read first take minutes, however the key is written; what is quick is
 * answered meanwhile. */
START_TEST(what_takes_long_holds_up_nothing_quick) {
  static const char *const bodies[] = {"{\"data\":{\"path\":\"x\"}}",
                                       "{\"d\\u0061ta\":{\"p\\u0061th\":\"x\"}}"};
  int clients[4];
  size_t used;
  char request[300];
  fake_jobs_hold(server.jobs, true);
  for (int i = 0; i < 4; i++) {
    clients[i] = dial();
    snprintf(request, sizeof request,
             "POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\n" JSON "Content-Length: %zu\r\n\r\n%s",
             strlen(bodies[i % 2]), bodies[i % 2]);
    say(clients[i], request);
  }
  wait_until(fake_jobs_waiting(server.jobs) == 2); /* on all threads that there are for them */
  ck_assert_int_eq(get("/metrics"), 200);
  ck_assert_int_eq(get("/v1/jobs?limit=1000"), 200);
  fake_jobs_hold(server.jobs, false);
  for (int i = 0; i < 4; i++) {
    used = 0;
    ck_assert(hear(clients[i], "HTTP/1.1 201", PATIENCE_MS, &used));
    close(clients[i]);
  }
}
END_TEST

enum { ROWS = 20000 };
static char long_rows[ROWS * 6 + 400];

/* A request whose body is many rows between two texts. */
static void rows_write(const char *target, const char *before, const char *behind) {
  size_t used = (size_t)snprintf(
      long_rows, sizeof long_rows,
      "POST %s HTTP/1.1\r\nHost: localhost\r\n" JSON "Content-Length: %d\r\n\r\n%s[[1,2]", target,
      ROWS * 6 + 1 + (int)(strlen(before) + strlen(behind)), before);
  for (int i = 1; i < ROWS; i++, used += 6) memcpy(long_rows + used, ",[1,2]", 7);
  snprintf(long_rows + used, sizeof long_rows - used, "]%s", behind);
}

/* Rows that take a while to be read are read on no HTTP thread, of which there are four. */
START_TEST(long_rows_hold_up_nothing_quick) {
  enum { CLIENTS = 8, WORKERS = 2 };
  int clients[CLIENTS];
  size_t used;
  rows_write(JOB "/predict", "{\"x\":", "}");
  fake_jobs_hold(server.jobs, true);
  for (int i = 0; i < CLIENTS; i++) {
    clients[i] = dial();
    say(clients[i], long_rows);
  }
  wait_until(fake_jobs_waiting(server.jobs) == WORKERS);
  for (int i = 0; i < CLIENTS; i++) ck_assert_int_eq(get("/livez"), 200);
  ck_assert_int_eq(fake_jobs_waiting(server.jobs), WORKERS);
  fake_jobs_hold(server.jobs, false);
  for (int i = 0; i < CLIENTS; i++) {
    used = 0;
    ck_assert(hear(clients[i], "\"predictions\":[[1,2]]", PATIENCE_MS, &used));
    close(clients[i]);
  }
}
END_TEST

#define INFER "/v2/models/fake/infer"
#define TENSOR "},\"inputs\":[{\"name\":\"x\",\"datatype\":\"FP64\",\"shape\":[20000,2],\"data\":"

/* A threshold that is searched takes a worker and reads all data: whatever its key is written like,
 * it is searched on no thread of other work. */
START_TEST(searched_thresholds_hold_up_no_other_rows) {
  static const struct {
    const char *target, *before, *behind, *status;
  } cases[] = {
      {JOB "/predict", "{\"threshold\" : \"f1\",\"x\":", "}", "HTTP/1.1 409"},
      {INFER, "{\"parameters\":{\"threshold\":\"f1\"" TENSOR, "}]}", "HTTP/1.1 400"},
      {INFER, "{\"parameters\":{\"\\u0074hreshold\":\"f1\"" TENSOR, "}]}", "HTTP/1.1 400"}};
  enum { CLIENTS = 4, WORKERS = 2 };
  fake_jobs_classify(server.jobs);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    int clients[CLIENTS];
    size_t used = 0;
    rows_write(cases[i].target, cases[i].before, cases[i].behind);
    fake_jobs_hold(server.jobs, true);
    for (int k = 0; k < CLIENTS; k++) {
      clients[k] = dial();
      say(clients[k], long_rows);
    }
    wait_until(fake_jobs_waiting(server.jobs) == WORKERS);
    rows_write(JOB "/predict", "{\"x\":", "}");
    int plain = dial();
    say(plain, long_rows);
    wait_until(fake_jobs_waiting(server.jobs) == WORKERS + 1);
    fake_jobs_hold(server.jobs, false);
    ck_assert(hear(plain, "\"predictions\":[[1,2]]", PATIENCE_MS, &used));
    close(plain);
    for (int k = 0; k < CLIENTS; k++) {
      used = 0;
      ck_assert(hear(clients[k], cases[i].status, PATIENCE_MS, &used));
      ck_assert(hear(clients[k], "two classes", PATIENCE_MS, &used));
      close(clients[k]);
    }
    wait_until(server.held.used_bytes == 0);
  }
}
END_TEST

/* What a call holds that has not come back in time is held until it does. */
START_TEST(late_calls_hold_their_memory) {
  enum { HELD = 1000 };
  ep_route route = {.method = "POST", .body = EP_BODY_ROWS};
  ep_exchange *exchange = ep_exchange_create(&server);
  exchange->route = &route;
  ck_assert_int_eq(ep_exchange_hold(exchange, HELD, NULL), EP_OK);
  ep_exchange_retain(exchange); /* for the call */
  exchange->timed_out = true;
  ep_exchange_fail_with(exchange, EP_UNAVAILABLE, "no worker answered");
  ep_exchange_settle(exchange);
  ck_assert_int_ge(server.held.used_bytes, HELD);
  ep_exchange_release(exchange); /* the connection has gone */
  ck_assert_int_ge(server.held.used_bytes, HELD);
  ep_exchange_release(exchange);
  ck_assert_int_eq(server.held.used_bytes, 0);
}
END_TEST

/* How many have the job's curve or wait for it. */
static int curve_users(void) {
  pthread_mutex_lock(&curves.mutex);
  int users = curves.first ? curves.first->users : 0;
  pthread_mutex_unlock(&curves.mutex);
  return users;
}

/* Requests end when their clients hang up: two that wait on threads of a pool, one in its queue. */
START_TEST(abandoned_requests_stop) {
  enum { CLIENTS = 3, USERS = 3 }; /* this test, and as many as there are threads */
  static const char request[] = "GET " JOB "/curve HTTP/1.1\r\nHost: localhost\r\n\r\n";
  int clients[CLIENTS];
  ep_curve *curve;
  ck_assert_int_eq(ep_curves_take(&curves, FAKE_JOB, NULL, NULL, &curve, NULL), EP_OK);
  for (int i = 0; i < CLIENTS; i++) {
    clients[i] = dial();
    say(clients[i], request);
  }
  wait_until(curve_users() == USERS);
  for (int i = 0; i < CLIENTS; i++) close(clients[i]);
  wait_until(curve_users() == 1);
  ck_assert_int_eq(get("/metrics"), 200); /* on the same threads: all three are over */
  ck_assert_int_eq(curve_users(), 1);
  int patient = dial();
  say(patient, request);
  wait_until(curve_users() == 2);
  ep_curves_give(&curves, curve);
  size_t used = 0;
  ck_assert(hear(patient, "\"object\":\"curve\"", PATIENCE_MS, &used));
  close(patient);
}
END_TEST

EP_SUITE("http_limits") {
  TCase *all = ep_suite_case(suite, "all");
  tcase_add_checked_fixture(all, setup, stop);
  tcase_set_timeout(all, 120);
  tcase_add_test(all, bodies_have_a_ceiling_together);
  tcase_add_test(all, routes_reserve_what_they_take);
  tcase_add_test(all, responses_have_a_ceiling_together);
  tcase_add_test(all, a_stream_holds_no_body);
  tcase_add_test(all, what_takes_long_holds_up_nothing_quick);
  tcase_add_test(all, long_rows_hold_up_nothing_quick);
  tcase_add_test(all, searched_thresholds_hold_up_no_other_rows);
  tcase_add_test(all, late_calls_hold_their_memory);
  tcase_add_test(all, abandoned_requests_stop);
}
