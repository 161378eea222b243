#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "server/http/access/auth.h"
#include "server/http/access/guard.h"
#include "tests/suite.h"

static ep_request request;
static ep_error error;

static ep_status start(const char *target) {
  ep_request_deinit(&request);
  return ep_request_start(&request, "GET", target, &error);
}

static ep_status with(const char *name, const char *value) {
  return ep_request_add_header(&request, name, value, &error);
}

static void setup(void) {
  ep_request_init(&request);
}
static void teardown(void) {
  ep_request_deinit(&request);
}

static ep_status origin(bool any, const char *host, const char *header, const char *value) {
  ep_guard guard = {.listen_host = "10.1.2.3", .any_address = any, .allow = "epochd,gpu.lan"};
  ck_assert_int_eq(start("/"), EP_OK);
  ck_assert_int_eq(with("Host", host), EP_OK);
  if (header) ck_assert_int_eq(with(header, value), EP_OK);
  return ep_guard_origin(&guard, &request, &error);
}

START_TEST(only_its_own_names_are_answered_to) {
  static const char *const good[] = {"localhost", "LOCALHOST:8080", "127.0.0.1:1", "[::1]:8080",
                                     "10.1.2.3",  "epochd:8080",    "GPU.lan"};
  static const char *const bad[] = {"evil.example",
                                    "localhost.evil.example",
                                    "10.1.2.4",
                                    "",
                                    "localhost:80:80",
                                    "localhost:x",
                                    "[::1",
                                    "user@localhost",
                                    "epoch",
                                    "127.0.0.1.nip.io"};
  for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
    ck_assert_msg(origin(false, good[i], NULL, NULL) == EP_OK, "%s was refused", good[i]);
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
    ck_assert_msg(origin(false, bad[i], NULL, NULL) == EP_FORBIDDEN, "%s was taken", bad[i]);
  ck_assert_int_eq(origin(true, "10.9.9.9:80", NULL, NULL), EP_OK);
  ck_assert_int_eq(origin(true, "[fe80::1]:80", NULL, NULL), EP_OK);
  ck_assert_int_eq(origin(true, "evil.example", NULL, NULL), EP_FORBIDDEN);
}
END_TEST

START_TEST(other_sites_pages_are_refused) {
  ck_assert_int_eq(origin(false, "localhost:80", "Origin", "http://localhost:80"), EP_OK);
  ck_assert_int_eq(origin(false, "localhost:80", "Origin", "http://localhost:81"), EP_FORBIDDEN);
  ck_assert_int_eq(origin(false, "localhost:80", "Origin", "http://evil.example"), EP_FORBIDDEN);
  ck_assert_int_eq(origin(false, "localhost:80", "Origin", "null"), EP_FORBIDDEN);
  ck_assert_int_eq(origin(false, "localhost", "Sec-Fetch-Site", "same-origin"), EP_OK);
  ck_assert_int_eq(origin(false, "localhost", "Sec-Fetch-Site", "none"), EP_OK);
  ck_assert_int_eq(origin(false, "localhost", "Sec-Fetch-Site", "same-site"), EP_FORBIDDEN);
  ck_assert_int_eq(origin(false, "localhost", "Sec-Fetch-Site", "cross-site"), EP_FORBIDDEN);
}
END_TEST

static ep_status tokens(ep_auth *auth, const char *text) {
  char path[] = "/tmp/epochd-token-XXXXXX";
  int file = mkstemp(path);
  ck_assert_int_ge(file, 0);
  ck_assert_int_eq(write(file, text, strlen(text)), (ssize_t)strlen(text));
  close(file);
  ep_status status = ep_auth_read(auth, path, &error);
  unlink(path);
  return status;
}

START_TEST(tokens_are_compared_whole) {
  ep_auth auth = {0};
  ck_assert(ep_auth_accepts(&auth, NULL)); /* none is needed */
  ck_assert_int_eq(tokens(&auth, "# mine\n\n0123456789abcdef\r\nsecond-token-of-mine"), EP_OK);
  ck_assert_int_eq(auth.count, 2);
  ck_assert(ep_auth_accepts(&auth, "Bearer 0123456789abcdef"));
  ck_assert(ep_auth_accepts(&auth, "bearer  second-token-of-mine"));
  static const char *const wrong[] = {"",
                                      "Bearer ",
                                      "Bearer 0123456789abcde",
                                      "Bearer 0123456789abcdef0",
                                      "Bearer 0123456789abcdef second-token-of-mine",
                                      "Bearer # mine",
                                      "Basic 0123456789abcdef",
                                      "0123456789abcdef"};
  ck_assert(!ep_auth_accepts(&auth, NULL));
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
    ck_assert_msg(!ep_auth_accepts(&auth, wrong[i]), "%s was taken", wrong[i]);
  ck_assert_int_eq(tokens(&auth, "\n# none\n"), EP_INVALID);
  ck_assert_int_eq(tokens(&auth, "short\n"), EP_INVALID);
  ck_assert_int_eq(tokens(&auth, "with a space in between\n"), EP_INVALID);
  ck_assert_int_eq(ep_auth_read(&auth, "/nowhere/at/all", &error), EP_IO);
}
END_TEST

EP_SUITE("access") {
  TCase *all = ep_suite_case(suite, "all");
  tcase_add_checked_fixture(all, setup, teardown);
  tcase_add_test(all, only_its_own_names_are_answered_to);
  tcase_add_test(all, other_sites_pages_are_refused);
  tcase_add_test(all, tokens_are_compared_whole);
}
