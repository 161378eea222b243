/* Bodies with Content-Encoding: gzip, over real sockets, and what an attacker makes of them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zlib.h>

#include "engine/files/gunzip.h"
#include "server/metrics/metrics.h"
#include "tests/suite.h"
#include "tests/unit/server/fake_jobs.h"
#include "tests/unit/server/http_fixture.h"

#define JSON "Content-Type: application/json\r\n"
#define GZIP "Content-Encoding: gzip\r\n"
#define JOB "/v1/jobs/" FAKE_JOB

enum { PACKED_BYTES = 1 << 17 };
static unsigned char packed[PACKED_BYTES];
static size_t packed_bytes;

/* Adds a member of `count` times `text` to `packed`. */
static void member_add(const char *text, size_t count) {
  size_t bytes = strlen(text) * count;
  char *whole = malloc(bytes + 1);
  ck_assert_ptr_nonnull(whole);
  for (size_t i = 0; i < count; i++) memcpy(whole + i * strlen(text), text, strlen(text));
  z_stream stream = {.next_out = packed + packed_bytes,
                     .avail_out = (uInt)(PACKED_BYTES - packed_bytes)};
  ck_assert_int_eq(deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY), Z_OK);
  stream.next_in = (Bytef *)whole;
  stream.avail_in = (uInt)bytes;
  ck_assert_int_eq(deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed_bytes += stream.total_out;
  deflateEnd(&stream);
  free(whole);
}

static void member_set(const char *text, size_t count) {
  packed_bytes = 0;
  member_add(text, count);
}

/* Sends the first `bytes` of `packed`, `piece` at a time. */
static int packed_ask(const char *method, const char *target, const char *headers, size_t bytes,
                      size_t piece) {
  char head[512];
  size_t used = 0;
  int client = dial();
  snprintf(
      head, sizeof head,
      "%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n%sContent-Length: %zu\r\n\r\n",
      method, target, headers, bytes);
  say(client, head);
  for (size_t at = 0; at < bytes; at += piece)
    if (send(client, packed + at, bytes - at < piece ? bytes - at : piece, MSG_NOSIGNAL) < 0) break;
  hear(client, NULL, PATIENCE_MS, &used);
  close(client);
  return used > 12 ? (int)strtol(answer + 9, NULL, 10) : 0;
}

static int post(const char *target, const char *headers) {
  return packed_ask("POST", target, headers, packed_bytes, packed_bytes);
}

START_TEST(packed_bodies_are_taken) {
  member_set("{}", 1);
  ck_assert_int_eq(post("/v1/jobs", JSON GZIP), 201);
  ck_assert_int_eq(post("/v1/jobs", JSON "content-encoding: X-GZip\r\n"), 201);
  ck_assert_int_eq(packed_ask("PATCH", JOB, JSON GZIP, packed_bytes, 1), 200);
  member_set("{\"x\":[[1,2]]}", 1);
  ck_assert_int_eq(packed_ask("POST", JOB "/predict", JSON GZIP, packed_bytes, 1), 200);
  ck_assert_ptr_nonnull(strstr(answer, "\"predictions\":[[1,2]]"));
  packed_bytes = 0; /* a body of several members, of which one is empty */
  member_add("{\"x\":[[1,", 1);
  member_add("", 1);
  member_add("2]]}", 1);
  ck_assert_int_eq(post(JOB "/predict", JSON GZIP), 200);
  ck_assert_ptr_nonnull(strstr(answer, "\"predictions\":[[1,2]]"));
  wait_until(server.held.used_bytes == 0);
}
END_TEST

START_TEST(other_codings_are_refused_with_those_that_are_taken) {
  static const char *const CODINGS[] = {"Content-Encoding: br\r\n", "Content-Encoding: deflate\r\n",
                                        "Content-Encoding: gzip, gzip\r\n", GZIP GZIP,
                                        "Content-Encoding: zstd\r\n"};
  for (size_t i = 0; i < sizeof CODINGS / sizeof *CODINGS; i++) {
    char headers[256];
    snprintf(headers, sizeof headers, JSON "%s", CODINGS[i]);
    ck_assert_int_eq(ask("POST", "/v1/jobs", headers, "{}"), 415);
    ck_assert_ptr_nonnull(strstr(answer, "\r\nAccept-Encoding: gzip, identity\r\n"));
    ck_assert_int_eq(ask("PUT", "/v1/datasets/a", CODINGS[i], "1"), 415);
    ck_assert_ptr_nonnull(strstr(answer, "\r\nAccept-Encoding: gzip, identity\r\n"));
  }
  ck_assert_int_eq(ask("POST", "/v1/jobs", JSON "Content-Encoding: identity\r\n", "{}"), 201);
  ck_assert_int_eq(ask("POST", "/v1/jobs", "Content-Type: text/plain\r\n", "{}"), 415);
  ck_assert_ptr_null(strstr(answer, "Accept-Encoding")); /* the type is at fault, not the coding */
}
END_TEST

/* 400, with a reason, and never what a parser says of bytes that are packed. */
START_TEST(damaged_bodies_are_refused) {
  member_set("{}", 1);
  for (size_t cut = 0; cut < packed_bytes; cut++) {
    ck_assert_msg(packed_ask("POST", "/v1/jobs", JSON GZIP, cut, PACKED_BYTES) == 400, "%zu", cut);
    ck_assert_ptr_nonnull(strstr(answer, "gzip: unexpected end"));
  }
  packed[packed_bytes - 5] ^= 1; /* its length or checksum */
  ck_assert_int_eq(post("/v1/jobs", JSON GZIP), 400);
  ck_assert_ptr_nonnull(strstr(answer, "gzip: damaged after byte"));
  member_set("{}", 1);
  memcpy(packed + packed_bytes, "{}", 2); /* what follows is no member */
  packed_bytes += 2;
  ck_assert_int_eq(post("/v1/jobs", JSON GZIP), 400);
  ck_assert_ptr_nonnull(strstr(answer, "gzip: damaged after byte"));
  ck_assert_int_eq(ask("POST", "/v1/jobs", JSON GZIP, "{}"), 400);
  ck_assert_ptr_nonnull(strstr(answer, "gzip: "));
  member_set("", 1);
  ck_assert_int_eq(post("/v1/jobs", JSON GZIP), 400);
  ck_assert_ptr_nonnull(strstr(answer, "the body is empty"));
  wait_until(server.held.used_bytes == 0);
}
END_TEST

/* The limit is that of what comes out: on one side of it a body is taken, on the other refused. */
START_TEST(the_limit_holds_for_what_comes_out) {
  packed_bytes = 0;
  member_add("{", 1);
  member_add(" ", EP_LIMIT_SPEC_BYTES - 2);
  member_add("}", 1);
  ck_assert_msg(post("/v1/jobs", JSON GZIP) == 201, "%s", answer);
  packed_bytes = 0;
  member_add("{", 1);
  member_add(" ", EP_LIMIT_SPEC_BYTES - 1);
  member_add("}", 1);
  ck_assert_int_eq(post("/v1/jobs", JSON GZIP), 413);
  ck_assert_ptr_nonnull(strstr(answer, "at most 1048576 bytes"));
  member_set(" ", 64 << 20); /* a bomb: 64 KiB that would be 64 MiB */
  ck_assert_uint_lt(packed_bytes, PACKED_BYTES);
  ck_assert_int_eq(post(JOB "/predict", JSON GZIP), 413);
  wait_until(server.held.used_bytes == 0);
}
END_TEST

/* What comes out counts among what all requests hold, and the unpacking itself does. */
START_TEST(what_comes_out_is_held) {
  char head[256];
  member_set(" ", EP_LIMIT_PREDICT_BYTES / 2);
  int client = dial();
  snprintf(head, sizeof head,
           "POST " JOB "/predict HTTP/1.1\r\nHost: localhost\r\n" JSON GZIP
           "Content-Length: %zu\r\n\r\n",
           packed_bytes + 1);
  say(client, head);
  ck_assert_int_eq(send(client, packed, packed_bytes, MSG_NOSIGNAL), (ssize_t)packed_bytes);
  wait_until(server.held.used_bytes >= EP_LIMIT_PREDICT_BYTES / 2 + EP_GUNZIP_BYTES);
  server.held.limit_bytes = EP_LIMIT_PREDICT_BYTES;
  ck_assert_int_eq(post(JOB "/predict", JSON GZIP), 429);
  ck_assert_int_eq(get("/livez"), 200);
  close(client);
  wait_until(server.held.used_bytes == 0);
}
END_TEST

/* Members without content: the packed bytes have the limit, too. */
START_TEST(endless_members_end) {
  char head[256], chunk[64];
  size_t used = 0, sent = 0;
  packed_bytes = 0;
  while (packed_bytes < PACKED_BYTES / 2) member_add("", 1);
  int client = dial();
  snprintf(head, sizeof head,
           "POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" JSON GZIP
           "Transfer-Encoding: chunked\r\n\r\n");
  say(client, head);
  for (; sent < 2 * EP_LIMIT_SPEC_BYTES; sent += packed_bytes) {
    snprintf(chunk, sizeof chunk, "%zx\r\n", packed_bytes);
    say(client, chunk);
    for (size_t at = 0; at < packed_bytes;) {
      ssize_t now = send(client, packed + at, packed_bytes - at, MSG_NOSIGNAL);
      ck_assert_int_gt(now, 0);
      at += (size_t)now;
    }
    say(client, "\r\n");
  }
  say(client, "0\r\n\r\n");
  hear(client, NULL, PATIENCE_MS, &used);
  ck_assert_ptr_nonnull(strstr(answer, "HTTP/1.1 413 "));
  close(client);
}
END_TEST

/* Those have --max-upload-bytes, here 2,000,000. A file that is gz, without a coding, stays one. */
START_TEST(uploads_are_unpacked) {
  member_set("1,2\n", 1000);
  const unsigned long long before = atomic_load(&EP_METRICS.counters[EP_COUNTER_UPLOAD_BYTES]);
  ck_assert_int_eq(packed_ask("PUT", "/v1/datasets/a", GZIP, packed_bytes, 7), 201);
  ck_assert_uint_eq(atomic_load(&EP_METRICS.counters[EP_COUNTER_UPLOAD_BYTES]), before + 4000);
  ck_assert_int_eq(packed_ask("PUT", "/v1/datasets/b", "", packed_bytes, PACKED_BYTES), 201);
  ck_assert_uint_eq(atomic_load(&EP_METRICS.counters[EP_COUNTER_UPLOAD_BYTES]),
                    before + 4000 + packed_bytes);
  ck_assert_int_eq(packed_ask("PUT", "/v1/datasets/c", GZIP, packed_bytes - 1, PACKED_BYTES), 400);
  member_set("1,2\n", 500001);
  ck_assert_int_eq(packed_ask("PUT", "/v1/datasets/d", GZIP, packed_bytes, PACKED_BYTES), 413);
  wait_until(server.held.used_bytes == 0);
}
END_TEST

EP_SUITE("http_packed") {
  TCase *all = ep_suite_case(suite, "all");
  tcase_add_checked_fixture(all, setup, stop);
  tcase_set_timeout(all, 600);
  tcase_add_test(all, packed_bodies_are_taken);
  tcase_add_test(all, other_codings_are_refused_with_those_that_are_taken);
  tcase_add_test(all, damaged_bodies_are_refused);
  tcase_add_test(all, the_limit_holds_for_what_comes_out);
  tcase_add_test(all, what_comes_out_is_held);
  tcase_add_test(all, endless_members_end);
  tcase_add_test(all, uploads_are_unpacked);
}
