/* The HTTP server over real sockets, with jobs that nobody trains behind it. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "api/base_path.h"
#include "api/hash/sha256.h"
#include "server/handlers/routes.h"
#include "server/http/http.h"
#include "server/process/clock.h"
#include "tests/suite.h"
#include "tests/unit/server/fake_jobs.h"
#include "tests/unit/server/http_fixture.h"

#define JSON "Content-Type: application/json\r\n"
#define JOB "/v1/jobs/" FAKE_JOB

START_TEST(routes_answer) {
  ck_assert_int_eq(get("/livez"), 200);
  ck_assert_int_eq(get("/readyz"), 200);
  ck_assert_int_eq(get("/"), 200);
  ck_assert_int_eq(get("/openapi.json"), 200);
  ck_assert_int_eq(get("/v1/devices"), 200);
  ck_assert_int_eq(get("/v1/queue"), 200);
  ck_assert_int_eq(get(JOB), 200);
  ck_assert_int_eq(get("/v1/jobs?limit=3&after=job_x&state=running"), 200);
  ck_assert_ptr_nonnull(strstr(answer, "{\"state\":1,\"after\":\"job_x\",\"limit\":3,"));
  ck_assert_int_eq(ask("POST", "/v1/jobs", JSON, "{}"), 201);
  ck_assert_ptr_nonnull(strstr(answer, "Location: /v1/jobs/" FAKE_JOB "\r\n"));
  ck_assert_int_eq(ask("POST", "/v1/jobs?validate=only", JSON, "{}"), 200);
  ck_assert_int_eq(ask("POST", JOB "/predict", JSON, "{\"x\":[[1,2]]}"), 200);
  ck_assert_ptr_nonnull(strstr(answer, "\"predictions\":[[1,2]]"));
  ck_assert_int_eq(ask("HEAD", "/livez", "", NULL), 200);
  ck_assert_ptr_null(strstr(answer, "live\""));
}
END_TEST

/* Behind a proxy that strips the prefix, and behind one that does not. */
START_TEST(below_a_base_path) {
  ck_assert_int_eq(get("/epochd/livez"), 404);
  ck_assert_int_eq(ask("POST", "/v1/jobs", JSON "X-Forwarded-Prefix: /a/b\r\n", "{}"), 201);
  ck_assert_ptr_nonnull(strstr(answer, "\r\nLocation: /a/b/v1/jobs/" FAKE_JOB "\r\n"));
  ck_assert_int_eq(ask("POST", "/v1/jobs", JSON "X-Forwarded-Prefix: //evil.example\r\n", "{}"),
                   201);
  ck_assert_ptr_nonnull(strstr(answer, "\r\nLocation: /v1/jobs/" FAKE_JOB "\r\n"));
  ck_assert_int_eq(ask("GET", "/v1/jobs/" FAKE_NAME, "X-Forwarded-Prefix: /a/b\r\n", NULL), 200);
  ck_assert_ptr_nonnull(strstr(answer, "\r\nContent-Location: /a/b/v1/jobs/" FAKE_JOB "\r\n"));
  ep_base_path_set("/epochd");
  ck_assert_int_eq(get("/epochd/v1/jobs/" FAKE_NAME "/events?follow=0"), 200);
  ck_assert_ptr_nonnull(
      strstr(answer, "\r\nContent-Location: /epochd/v1/jobs/" FAKE_JOB "/events\r\n"));
  ck_assert_int_eq(get("/epochd/v1/jobs/no%2Fne"), 404);
  ck_assert_ptr_nonnull(strstr(answer, "no job named \\\"no/ne\\\""));
  ck_assert_ptr_null(strstr(answer, "Content-Location"));
  ck_assert_int_eq(get("/epochd/livez"), 200);
  ck_assert_int_eq(get("/livez"), 200);
  ck_assert_int_eq(get("/epochdx/livez"), 404);
  ck_assert_int_eq(get("/epochd/epochd/livez"), 404);
  ck_assert_int_eq(ask("POST", "/epochd/v1/jobs", JSON "X-Forwarded-Prefix: /other\r\n", "{}"),
                   201);
  ck_assert_ptr_nonnull(strstr(answer, "\r\nLocation: /epochd/v1/jobs/" FAKE_JOB "\r\n"));
  ck_assert_int_eq(get("/epochd"), 308); /* the page's addresses are relative */
  ck_assert_ptr_nonnull(strstr(answer, "\r\nLocation: /epochd/\r\n"));
  ck_assert_int_eq(get("/epochd/"), 200);
  ep_base_path_set("");
}
END_TEST

START_TEST(lists_and_labels_answer) {
  char etag[64], headers[128];
  ck_assert_int_eq(get("/v1/jobs?tag=a%20b&view=summary&tag=c&limit=7"), 200);
  ck_assert_ptr_nonnull(strstr(answer, "\"limit\":7,\"summary\":1,\"tags\":\"a b;c;\"}"));
  const char *found = strstr(answer, "ETag: ");
  ck_assert_ptr_nonnull(found);
  snprintf(etag, sizeof etag, "%.*s", (int)strcspn(found + 6, "\r"), found + 6);
  snprintf(headers, sizeof headers, "If-None-Match: \"x\", W/%s\r\n", etag);
  ck_assert_int_eq(ask("GET", "/v1/jobs?limit=1000", headers, NULL), 304);
  ck_assert_ptr_nonnull(strstr(answer, etag));
  ck_assert_int_eq(ask("PATCH", JOB, JSON, "{\"name\":\"a\"}"), 200);
  ck_assert_ptr_nonnull(strstr(answer, "ETag: "));
  ck_assert_int_eq(ask("GET", "/v1/jobs?limit=1000", headers, NULL), 200); /* by another thread */
  ck_assert_int_eq(ask("PATCH", JOB, "Content-Type: application/merge-patch+json\r\n", "{}"), 200);
  ck_assert_int_eq(ask("POST", "/v1/jobs", "Content-Type: application/merge-patch+json\r\n", "{}"),
                   415);
  ck_assert_int_eq(ask("PATCH", JOB, "", "{}"), 415);
  ck_assert_int_eq(ask("PATCH", JOB, JSON, "{\"refuse\":1}"), 422);
  ck_assert_ptr_nonnull(strstr(answer, "\"pointer\":\"/tags\""));
  ck_assert_int_eq(ask("PATCH", "/v1/jobs/job_x", JSON, "{}"), 404);
  ck_assert_int_eq(get("/v1/jobs?tag="), 400);
  ck_assert_int_eq(get("/v1/jobs?limit=1&limit=2"), 400);
  ck_assert_ptr_nonnull(strstr(answer, "more than once"));
}
END_TEST

#define TWENTY "aaaaaaaaaaaaaaaaaaaa"
START_TEST(comparisons_answer) {
  ck_assert_int_eq(get("/v1/compare?jobs=" FAKE_JOB), 200);
  ck_assert_ptr_nonnull(strstr(answer, "{\"object\":\"comparison\",\"jobs\":[{\"id\":\"" FAKE_JOB));
  ck_assert_int_eq(get("/v1/compare?jobs=" FAKE_JOB "&format=csv"), 200);
  ck_assert_ptr_nonnull(strstr(answer, "Content-Type: text/csv"));
  ck_assert_ptr_nonnull(strstr(answer, "\n" FAKE_JOB ",,"));
  ck_assert_int_eq(get("/v1/compare?jobs=" FAKE_JOB ",job_x"), 404);
  static const char *const bad[] = {"",
                                    "?jobs=",
                                    "?jobs=,",
                                    "?jobs=" FAKE_JOB ",",
                                    "?jobs=" FAKE_JOB "," FAKE_JOB,
                                    "?jobs=" FAKE_JOB "&max_points=1",
                                    "?jobs=" TWENTY TWENTY TWENTY TWENTY TWENTY TWENTY TWENTY};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    char target[256];
    snprintf(target, sizeof target, "/v1/compare%s", bad[i]);
    ck_assert_msg(get(target) == 400, "%s", target);
  }
}
END_TEST

START_TEST(errors_answer) {
  ck_assert_int_eq(get("/nope"), 404);
  ck_assert_ptr_nonnull(strstr(answer, "/nope not found"));
  ck_assert_int_eq(get("/v1/jobs/job_x"), 404);
  ck_assert_int_eq(get("/v1/jobs/"), 404);
  ck_assert_int_eq(get("/v1/jobs/..%2f..%2fetc"), 404);
  ck_assert_int_eq(get("/v1/jobs/%2e%2e"), 404);
  ck_assert_int_eq(get("/v1/datasets/.hidden"), 404);
  ck_assert_int_eq(get("/v1/jobs/a%00b"), 400);
  ck_assert_int_eq(get("/v1/jobs?limit=0"), 400);
  ck_assert_int_eq(get("/v1/jobs?state=done"), 400);
  ck_assert_int_eq(get("/v1/jobs?lim=1"), 400);
  ck_assert_ptr_nonnull(strstr(answer, "known: limit, after, state, tag, view"));
  ck_assert_int_eq(ask("PATCH", "/v1/jobs", "", NULL), 405);
  ck_assert_ptr_nonnull(strstr(answer, "Allow: POST, GET, HEAD\r\n"));
  ck_assert_int_eq(ask("POST", JOB "/halt", JSON, "{}"), 404);
  ck_assert_int_eq(ask("POST", "/v1/jobs", "Content-Type: text/plain\r\n", "{}"), 415);
  ck_assert_int_eq(ask("POST", "/v1/jobs", JSON, "no"), 400);
  ck_assert_int_eq(ask("POST", "/v1/jobs", JSON, ""), 400);
  ck_assert_int_eq(ask("POST", "/v1/jobs", JSON, "{\"refuse\":1}"), 422);
  ck_assert_ptr_nonnull(strstr(answer, "\"pointer\":\"/epochs\""));
  ck_assert_ptr_nonnull(strstr(answer, "Content-Type: application/problem+json\r\n"));
  ck_assert_int_eq(ask("POST", JOB "/predict", JSON, "{\"x\":[[1]]}"), 422);
  ck_assert_int_eq(ask("DELETE", JOB, "", NULL), 409);
  ck_assert_int_eq(ask("GET", "/livez", "Origin: http://evil.example\r\n", NULL), 403);
  ck_assert_int_eq(
      ask("PUT", "/v1/datasets/big", "Expect: 100-continue\r\nContent-Length: 3000000\r\n", NULL),
      413);
  ck_assert_int_eq(ask("POST", "/v1/jobs", JSON "Content-Length: 99999999\r\n", NULL), 413);
}
END_TEST

/* The route's path, with an id that names nothing. */
static void target_make(const ep_route *route, char target[256]) {
  const char *at = route->path;
  for (*target = 0; *at; at += strcspn(at, "}") + (strchr(at, '}') != NULL)) {
    size_t used = strlen(target), bytes = strcspn(at, "{");
    snprintf(target + used, 256 - used, "%.*s%s", (int)bytes, at,
             at[bytes] ? (route->of ? route->of : "x") : "");
    if (!at[bytes]) break;
  }
}

START_TEST(a_token_is_needed_but_for_probes) {
  server.auth.path = "a file without a token";
  for (int i = 0; i < EP_ROUTES.count; i++) {
    char target[256];
    const ep_route *route = &EP_ROUTES.rows[i];
    target_make(route, target);
    int status = ask(route->method, target, JSON, route->body ? "{}" : NULL);
    ck_assert_msg((status == 401) == (route->scope != 0), "%s: %d", target, status);
    ck_assert_int_eq(ask(route->method, target, JSON "Host: evil.example\r\n", "{}"), 400);
  }
  ck_assert_int_eq(get("/nope"), 401);
}
END_TEST

/* A token a scope, all of them there before the first request: others read them from then on. */
START_TEST(each_route_names_the_scope_that_is_missing) {
  enum { TOKENS = 4 };
  static const unsigned scopes[TOKENS] = {0, EP_SCOPE_READ, EP_SCOPE_SUBMIT, EP_SCOPE_PUBLISH};
  static ep_token tokens[TOKENS];
  static atomic_ullong origins[TOKENS];
  int refused = 0;
  for (int t = 0; t < TOKENS; t++) {
    char secret[] = {(char)('0' + t), 0};
    tokens[t] = (ep_token){.name = "mine", .scopes = scopes[t]};
    ck_assert_int_eq(ep_sha256_of(secret, 1, tokens[t].hash, NULL), EP_OK);
  }
  server.auth.list = (ep_token_list){tokens, TOKENS};
  server.auth.origins = origins, server.auth.path = "a file";
  for (int t = 0; t < TOKENS; t++) {
    char bearer[64];
    snprintf(bearer, sizeof bearer, "Authorization: Bearer %d\r\n", t);
    for (int i = 0; i < EP_ROUTES.count; i++) {
      const ep_route *route = &EP_ROUTES.rows[i];
      char target[256];
      bool allowed = (route->scope & ~scopes[t]) == 0;
      target_make(route, target);
      if (allowed && strcmp(route->method, "GET") != 0) continue; /* it would be done */
      int status = ask(route->method, target, bearer, NULL);
      ck_assert_msg((status == 403) == !allowed, "%s, %u: %d", target, scopes[t], status);
      refused += strstr(answer, "the token mine does not have the required scope") != NULL;
    }
  }
  ck_assert_int_gt(refused, 100);
}
END_TEST

/* Else a private thing would be shown by a route that nobody remembered. */
START_TEST(each_route_says_whose_things_it_names) {
  for (int i = 0; i < EP_ROUTES.count; i++) {
    const ep_route *route = &EP_ROUTES.rows[i];
    bool names = strchr(route->path, '{') && strncmp(route->path, "/assets/", 8) != 0;
    bool reads = strcmp(route->method, "GET") == 0;
    ck_assert_msg(names == (route->owned != EP_OWNED_NONE), "%s", route->path);
    ck_assert_msg(!names || !reads || route->scope & EP_SCOPE_READ, "%s", route->path);
  }
}
END_TEST

START_TEST(versions_and_waiting) {
  char header[128], etag[64] = "";
  ck_assert_int_eq(get(JOB), 200);
  const char *found = strstr(answer, "ETag: ");
  ck_assert_ptr_nonnull(found);
  ck_assert_int_eq(sscanf(found, "ETag: %63s", etag), 1);
  snprintf(header, sizeof header, "If-None-Match: %s\r\n", etag);
  ck_assert_int_eq(ask("GET", JOB, header, NULL), 304);
  int64_t before_us = ep_clock_steady_us();
  ck_assert_int_eq(ask("GET", JOB "?wait=1", header, NULL), 304);
  int64_t waited_us = ep_clock_steady_us() - before_us;
  ck_assert_int_ge(waited_us, 990000);
  ck_assert_int_lt(waited_us, 50000000);
  ck_assert_int_eq(get(JOB "?wait=61"), 400);

  int client = dial(); /* waits for an end that comes */
  size_t used = 0;
  say(client, "GET " JOB "?wait=60 HTTP/1.1\r\nHost: localhost\r\n\r\n");
  wait_until(fake_jobs_watched(server.jobs));
  fake_jobs_epochs(server.jobs, 1, 1, 1);
  wait_until(fake_jobs_watched(server.jobs) || is_readable(client, 0));
  fake_jobs_end(server.jobs);
  ck_assert(hear(client, "\"weights\":", PATIENCE_MS, &used));
  ck_assert_ptr_nonnull(strstr(answer, "\"status\":\"succeeded\""));
  close(client);
  ck_assert_int_eq(ask("GET", JOB "?wait=60", "", NULL), 200);
}
END_TEST

START_TEST(streams_come_in_two_forms) {
  fake_jobs_epochs(server.jobs, 1, 1, 3);
  ck_assert_int_eq(get(JOB "/events?follow=0&after=2"), 200);
  ck_assert_ptr_null(strstr(answer, "\"seq\":2,"));
  ck_assert_ptr_nonnull(strstr(answer, "{\"seq\":3,"));
  fake_jobs_end(server.jobs);
  ck_assert_int_eq(ask("GET", JOB "/events", "Accept: text/event-stream\r\n", NULL), 200);
  ck_assert_ptr_nonnull(strstr(answer, "id: 2\nevent: epoch\ndata: {\"seq\":2,"));
  ck_assert_int_eq(
      ask("GET", JOB "/events", "Accept: text/event-stream\r\nLast-Event-ID: 4\r\n", NULL), 200);
  ck_assert_ptr_null(strstr(answer, "id: 4\n"));
  ck_assert_ptr_nonnull(strstr(answer, "id: 5\nevent: end\n"));
  ck_assert_int_eq(
      ask("GET", JOB "/events", "Accept: text/event-stream\r\nLast-Event-ID: 5\r\n", NULL), 204);
  ck_assert_int_eq(ask("GET", JOB "/events", "Last-Event-ID: x\r\n", NULL), 400);
  ck_assert_int_eq(ask("POST", "/v1/jobs", JSON "Accept: application/x-ndjson\r\n", "{}"), 201);
  ck_assert_ptr_nonnull(strstr(answer, "\"type\":\"end\""));
}
END_TEST

/* Opens `count` watchers of the job; each has its first line before this returns. */
static int *watch(int count) {
  int *clients = calloc((size_t)count, sizeof *clients);
  ck_assert_ptr_nonnull(clients);
  for (int i = 0; i < count; i++) {
    size_t used = 0;
    clients[i] = dial();
    say(clients[i], "GET " JOB "/events HTTP/1.1\r\nHost: localhost\r\n\r\n");
    ck_assert(hear(clients[i], "\"type\":\"queued\"", PATIENCE_MS, &used));
  }
  return clients;
}

/* Some leave in the middle, the others see every line, and the job knows nothing of it. */
START_TEST(a_thousand_watchers_see_every_line) {
  enum { WATCHERS = 1000, ROUNDS = 20, EACH = 7 };
  int *clients = watch(WATCHERS);
  ck_assert_int_eq(fake_jobs_logs(server.jobs), WATCHERS);
  for (int round = 0; round < ROUNDS; round++) {
    fake_jobs_epochs(server.jobs, 1 + round * EACH, 1, EACH);
    for (int i = round; i < WATCHERS; i += 100) {
      if (clients[i] >= 0 && round % 2 == 1) close(clients[i]);
      if (round % 2 == 1) clients[i] = -1;
    }
  }
  fake_jobs_end(server.jobs);
  for (int i = 0; i < WATCHERS; i++) {
    if (clients[i] < 0) continue;
    size_t used = 0;
    ck_assert(hear(clients[i], "\"type\":\"end\"", PATIENCE_MS, &used));
    const char *at = answer;
    for (int seq = 2; seq <= 2 + ROUNDS * EACH; seq++) {
      char wanted[32];
      snprintf(wanted, sizeof wanted, "{\"seq\":%d,", seq);
      at = strstr(at, wanted);
      ck_assert_msg(at != NULL, "watcher %d did not see %s", i, wanted);
    }
    close(clients[i]);
  }
  free(clients);
  wait_until(fake_jobs_logs(server.jobs) == 0);
}
END_TEST

START_TEST(full_of_watchers_it_still_answers) {
  int *clients = watch(3);
  ck_assert_int_eq(get(JOB "/events"), 503);
  ck_assert_ptr_nonnull(strstr(answer, "Retry-After: "));
  ck_assert_int_eq(get(JOB "?wait=5"), 503);
  ck_assert_int_eq(get("/livez"), 200);
  ck_assert_int_eq(get(JOB "/events?follow=0"), 200);
  close(clients[0]);
  fake_jobs_epochs(server.jobs, 1, 1, 1); /* only a write shows that it is gone */
  fake_jobs_epochs(server.jobs, 2, 1, 1);
  wait_until((fake_jobs_epochs(server.jobs, 3, 1, 1), ep_waiters_count(server.waiters) == 2));
  ck_assert_int_eq(get(JOB "/events?follow=0"), 200);
  close(clients[1]);
  close(clients[2]);
  free(clients);
}
END_TEST

/* More connections than there may be: those that say nothing give way, the first ones first. */
START_TEST(the_idlest_gives_way) {
  enum { SILENT = 60 };
  int clients[SILENT];
  size_t used = 0;
  for (int i = 0; i < SILENT; i++) {
    clients[i] = dial();
    ck_assert_int_eq(get("/livez"), 200);
  }
  ck_assert(!hear(clients[0], "\n", PATIENCE_MS, &used)); /* closed */
  ck_assert(!is_readable(clients[SILENT - 1], 0));
  for (int i = 0; i < SILENT; i++) close(clients[i]);
}
END_TEST

static void setup_small(void) {
  start(3);
}

/* Watchers, a long poll and half a request are open when it stops. */
START_TEST(it_stops_with_everything_open) {
  int *clients = watch(50), waits = dial(), half = dial();
  size_t used = 0;
  say(waits, "GET " JOB "?wait=60 HTTP/1.1\r\nHost: localhost\r\n\r\n");
  say(half, "POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Le");
  wait_until(ep_waiters_count(server.waiters) == 51);
  ck_assert_int_eq(get("/livez"), 200); /* behind the half one */
  stop();
  for (int i = 0; i < 50; i++) {
    used = 0;
    ck_assert(!hear(clients[i], "\r\n0\r\n", 1000, &used)); /* cut, not ended */
    close(clients[i]);
  }
  close(waits);
  close(half);
  free(clients);
  start(0);
}
END_TEST

static int upload(const char *framing, const char *piece, int pieces) {
  int client = dial();
  size_t used = 0;
  say(client, "PUT /v1/datasets/t HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n");
  say(client, framing);
  for (int i = 0; i < pieces; i++)
    if (send(client, piece, strlen(piece), MSG_NOSIGNAL) < 0) break;
  hear(client, NULL, PATIENCE_MS, &used);
  close(client);
  return used > 12 ? (int)strtol(answer + 9, NULL, 10) : 0;
}

/* A job that is in is said to be in, though it cannot be followed. */
START_TEST(what_was_accepted_is_answered_so) {
  fake_jobs_hold(server.jobs, true);
  ck_assert_int_eq(ask("POST", "/v1/jobs", JSON "Accept: application/x-ndjson\r\n", "{}"), 201);
  ck_assert_ptr_nonnull(strstr(answer, "Location: " JOB));
  ck_assert_ptr_nonnull(strstr(answer, "Content-Type: application/json"));
  fake_jobs_hold(server.jobs, false);
}
END_TEST

START_TEST(uploads_go_to_disk) {
  ck_assert_int_eq(upload("Content-Length: 16\r\n\r\n", "a,b\n1,2\n3,4\n5,6\n", 1), 201);
  ck_assert_int_eq(
      upload("Transfer-Encoding: chunked\r\n\r\n", "10\r\na,b\n1,2\n3,4\n5,6\n\r\n0\r\n\r\n", 1),
      201);
  ck_assert_int_eq(upload("Content-Length: 10\r\n\r\n", "a,b\n1,inf\n", 1), 422);
  char *piece = malloc(0x10000 + 16), *at = piece + 7;
  memcpy(piece, "10000\r\n", 7);
  for (int i = 0; i < 0x10000 / 4; i++, at += 4) memcpy(at, "1,2\n", 4);
  memcpy(at, "\r\n", 3);
  ck_assert_int_eq(upload("Expect: 100-continue\r\nContent-Length: 2000001\r\n\r\n", "", 1), 413);
  ck_assert_ptr_null(strstr(answer, "100 Continue"));
  /* one that did not say how long it is: 40 * 64 KiB are over the limit */
  piece[0x10000 + 9] = 0;
  int client = dial();
  size_t used = 0;
  say(client,
      "PUT /v1/datasets/t HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n");
  for (int i = 0; i < 40; i++) say(client, piece);
  say(client, "0\r\n\r\n");
  ck_assert(hear(client, "\r\n\r\n", PATIENCE_MS, &used));
  ck_assert_int_eq(strncmp(answer, "HTTP/1.1 413", 12), 0);
  used = 0; /* and the connection is still good */
  say(client, "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n");
  ck_assert(hear(client, "\"live\"", PATIENCE_MS, &used));
  close(client);
  free(piece);
}
END_TEST

EP_SUITE("http") {
  TCase *all = ep_suite_case(suite, "all"), *small = ep_suite_case(suite, "small");
  tcase_add_checked_fixture(all, setup, stop);
  tcase_set_timeout(all, 120);
  tcase_add_test(all, routes_answer);
  tcase_add_test(all, errors_answer);
  tcase_add_test(all, below_a_base_path);
  tcase_add_test(all, lists_and_labels_answer);
  tcase_add_test(all, comparisons_answer);
  tcase_add_test(all, a_token_is_needed_but_for_probes);
  tcase_add_test(all, each_route_names_the_scope_that_is_missing);
  tcase_add_test(all, each_route_says_whose_things_it_names);
  tcase_add_test(all, versions_and_waiting);
  tcase_add_test(all, streams_come_in_two_forms);
  tcase_add_test(all, a_thousand_watchers_see_every_line);
  tcase_add_test(all, it_stops_with_everything_open);
  tcase_add_test(all, uploads_go_to_disk);
  tcase_add_test(all, what_was_accepted_is_answered_so);
  tcase_add_checked_fixture(small, setup_small, stop);
  tcase_set_timeout(small, 60);
  tcase_add_test(small, full_of_watchers_it_still_answers);
  tcase_add_test(small, the_idlest_gives_way);
}
