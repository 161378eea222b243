/* Where requests begin and end in a connection's bytes, and what is refused. */
#include "server/http/framing/framing.h"

#include <stdio.h>
#include <string.h>

#include "api/limits.h"
#include "tests/suite.h"

#define GET "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
#define POST(headers) "POST /v1/jobs HTTP/1.1\r\nHost: a\r\n" headers "\r\n"

static ep_error error;

/* Reads the text in pieces of so many bytes. whole: of all of it. */
static ep_status read_pieces(const char *text, size_t count, size_t piece, size_t *whole) {
  ep_framing framing = {0};
  *whole = 0;
  for (size_t at = 0; at < count; at += piece) {
    size_t part = count - at < piece ? count - at : piece, found;
    ep_status status = ep_framing_read(&framing, text + at, part, &found, &error);
    if (found > 0) *whole = at + found;
    if (status != EP_OK) return status;
  }
  return EP_OK;
}

/* The same in pieces of every size, which must make no difference. */
static ep_status read_text(const char *text, size_t *whole) {
  const size_t count = strlen(text);
  ep_status status = read_pieces(text, count, count, whole);
  for (size_t piece = 1; piece < count; piece++) {
    size_t found;
    ck_assert_int_eq(read_pieces(text, count, piece, &found), status);
    ck_assert_uint_eq(found, *whole);
  }
  return status;
}

START_TEST(whole_requests_are_told_apart) {
  static const struct {
    const char *text;
    size_t rest; /* bytes behind the last whole one */
  } rows[] = {
      {GET, 0},
      {GET GET, 0},
      {GET "GET / HT", 8},
      {"\r\n" GET, 0},
      {"GET / HTTP/1.0\r\n\r\n", 0},
      {"OPTIONS /\xc3\xa4?a=b HTTP/1.1\r\nhOST:  a \r\nX-Y: \x80 ~\r\nEmpty:\r\n\r\n", 0},
      {GET POST("Content-Length: 3\r\n") "abc", 0},
      {GET POST("Content-Length: 3\r\n") "ab", sizeof POST("Content-Length: 3\r\n") + 1},
      {POST("Content-Length: 0\r\n") GET, 0},
      {POST("Transfer-Encoding: CHUNKED\r\n") "3\r\nabc\r\n0A\r\n0123456789\r\n0\r\n\r\n", 0},
      {POST("Transfer-Encodings: x\r\nContent-Lengths: x\r\n"), 0},
  };
  size_t whole;
  ck_assert_msg(read_text(rows[_i].text, &whole) == EP_OK, "%s", error.message);
  ck_assert_uint_eq(whole, strlen(rows[_i].text) - rows[_i].rest);
}
END_TEST

START_TEST(what_two_readers_could_frame_differently_is_refused) {
  static const char *const rows[] = {
      POST("Content-Length:\r\n 43\r\n"),
      POST("Content-Leng:                 43\r\n th\r\n"),
      POST("X: a\r\n\tb\r\n"),
      POST("Transfer-Encoding: chunked \r\n") "0\r\n\r\n",
      POST("Transfer-Encoding: chunked\t\r\n") "0\r\n\r\n",
      POST("Transfer-Encoding: xchunked\r\n"),
      POST("Transfer-Encoding: gzip, chunked\r\n"),
      POST("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"),
      POST("Transfer-Encoding: chunked\r\nContent-Length: 0\r\n"),
      POST("Content-Length: 0\r\nTransfer-Encoding: chunked\r\n"),
      POST("Transfer-Encoding:                                  chunked, a\r\n"),
      POST("Content-Length: 1\r\nContent-Length: 1\r\n"),
      POST("Content-Length:\r\n"),
      POST("Content-Length: 1 \r\n"),
      POST("Content-Length: +1\r\n"),
      POST("Content-Length: -1\r\n"),
      POST("Content-Length: 0x1\r\n"),
      POST("Content-Length: 1, 1\r\n"),
      POST("Content-Length: 9999999999999999999\r\n"),
      POST("Content-Length : 1\r\n"),
      POST("Content Length: 1\r\n"),
      POST(": a\r\n"),
      POST("Nonsense\r\n"),
      POST("X:\ta\r\n"),
      POST("X: a\tb\r\n"),
      "GET / HTTP/1.1\r\nHost: localhost\t\r\n\r\n",
      "get / HTTP/1.1\r\nHost: a\r\n\r\n",
      POST("X: a\rb\r\n"),
      POST("X: a\nY: b\r\n"),
      POST("X: a\n\r\n"),
      POST("X: \x01\r\n"),
      POST("X: \x7f\r\n"),
      POST("X\x80: a\r\n"),
      POST("Host: a\r\n"),
      POST("Authorization: Bearer a\r\nAuthorization: Bearer b\r\n"),
      "GET / HTTP/1.1\r\nAccept: a\r\n\r\n",
      "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      "GET / HTTP/1.1\nHost: a\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: a\r\n\n",
      "GET / HTTP/1.2\r\nHost: a\r\n\r\n",
      "GET / HTTP/1.10\r\nHost: a\r\n\r\n",
      "GET / HTTP/2.0\r\nHost: a\r\n\r\n",
      "GET / http/1.1\r\nHost: a\r\n\r\n",
      "GET /\r\nHost: a\r\n\r\n",
      "GET  / HTTP/1.1\r\nHost: a\r\n\r\n",
      "GET / HTTP/1.1 \r\nHost: a\r\n\r\n",
      "GET /a b HTTP/1.1\r\nHost: a\r\n\r\n",
      "GET /\ta HTTP/1.1\r\nHost: a\r\n\r\n",
      "G:T / HTTP/1.1\r\nHost: a\r\n\r\n",
      " GET / HTTP/1.1\r\nHost: a\r\n\r\n",
      "\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
      "\rGET / HTTP/1.1\r\nHost: a\r\n\r\n",
      POST("Transfer-Encoding: chunked\r\n") "\r\n",
      POST("Transfer-Encoding: chunked\r\n") "3;a=b\r\nabc\r\n0\r\n\r\n",
      POST("Transfer-Encoding: chunked\r\n") "3 \r\nabc\r\n0\r\n\r\n",
      POST("Transfer-Encoding: chunked\r\n") "3\nabc\r\n0\r\n\r\n",
      POST("Transfer-Encoding: chunked\r\n") "3\r\nabc\n0\r\n\r\n",
      POST("Transfer-Encoding: chunked\r\n") "3\r\nabcd\r\n0\r\n\r\n",
      POST("Transfer-Encoding: chunked\r\n") "-1\r\n",
      POST("Transfer-Encoding: chunked\r\n") "0x3\r\n",
      POST("Transfer-Encoding: chunked\r\n") "1000000000000000\r\n",
      POST("Transfer-Encoding: chunked\r\n") "0\r\nX: a\r\n\r\n",
      POST("Transfer-Encoding: chunked\r\n") "0\r\n\n",
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char text[512];
    size_t whole;
    ck_assert_msg(read_text(rows[i], &whole) == EP_MALFORMED, "taken: %s", rows[i]);
    ck_assert_uint_eq(whole, 0);
    snprintf(text, sizeof text, "%s%s", GET, rows[i]);
    ck_assert_int_eq(read_text(text, &whole), EP_MALFORMED);
    ck_assert_uint_eq(whole, sizeof GET - 1); /* the one before it is answered */
  }
}
END_TEST

START_TEST(a_zero_byte_ends_nothing) {
  static const char text[] = "GET / HTTP/1.1\r\nHost: a\r\nX: a\0b\r\n\r\n";
  size_t whole;
  ck_assert_int_eq(read_pieces(text, sizeof text - 1, 1, &whole), EP_MALFORMED);
}
END_TEST

/* A head with an X of so many bytes, and so many further headers. */
static ep_status head_read(int bytes, int headers) {
  static char text[4 * EP_LIMIT_HEAD_BYTES];
  size_t whole;
  int used = snprintf(text, sizeof text, "GET / HTTP/1.1\r\nHost: a\r\n");
  for (int i = 0; i < headers; i++)
    used += snprintf(text + used, sizeof text - (size_t)used, "A: b\r\n");
  used += snprintf(text + used, sizeof text - (size_t)used, "X: ");
  memset(text + used, 'x', (size_t)bytes);
  used += bytes;
  used += snprintf(text + used, sizeof text - (size_t)used, "\r\n\r\n");
  return read_pieces(text, (size_t)used, (size_t)used, &whole);
}

START_TEST(a_head_has_a_ceiling) {
  const int others = (int)(sizeof GET - 1) + 5;
  ck_assert_int_eq(head_read(EP_LIMIT_HEAD_BYTES - others, 0), EP_OK);
  ck_assert_int_eq(head_read(EP_LIMIT_HEAD_BYTES - others + 1, 0), EP_HEAD_TOO_LARGE);
  ck_assert_int_eq(head_read(1, EP_LIMIT_HEADERS - 2), EP_OK);
  ck_assert_int_eq(head_read(1, EP_LIMIT_HEADERS - 1), EP_HEAD_TOO_LARGE);
}
END_TEST

/* A head with so many query parameters, headers and cookies. */
static ep_status fields_read(int parameters, int headers, int cookies) {
  static char text[4 * EP_LIMIT_HEAD_BYTES];
  size_t whole;
  int used = snprintf(text, sizeof text, "GET /?");
  for (int i = 1; i < parameters; i++) text[used++] = '&';
  used += snprintf(text + used, sizeof text - (size_t)used, " HTTP/1.1\r\nHost: a\r\n");
  for (int i = 2; i < headers; i++)
    used += snprintf(text + used, sizeof text - (size_t)used, "A: b\r\n");
  used += snprintf(text + used, sizeof text - (size_t)used, "Cookie: a");
  for (int i = 1; i < cookies; i++) text[used++] = i % 2 ? ';' : ',';
  used += snprintf(text + used, sizeof text - (size_t)used, "\r\n\r\n");
  return read_pieces(text, (size_t)used, (size_t)used, &whole);
}

START_TEST(what_takes_memory_of_the_pool_has_a_ceiling) {
  ck_assert_int_eq(fields_read(16, 20, 100), EP_OK);
  ck_assert_int_eq(fields_read(260, 2, 1), EP_HEAD_TOO_LARGE);
  ck_assert_int_eq(fields_read(1, 2, 250), EP_HEAD_TOO_LARGE);
  ck_assert_int_eq(fields_read(100, 60, 100), EP_HEAD_TOO_LARGE);
}
END_TEST

EP_SUITE("framing") {
  TCase *tests = ep_suite_case(suite, "framing");
  tcase_add_loop_test(tests, whole_requests_are_told_apart, 0, 11);
  tcase_add_test(tests, what_two_readers_could_frame_differently_is_refused);
  tcase_add_test(tests, a_zero_byte_ends_nothing);
  tcase_add_test(tests, a_head_has_a_ceiling);
  tcase_add_test(tests, what_takes_memory_of_the_pool_has_a_ceiling);
}
