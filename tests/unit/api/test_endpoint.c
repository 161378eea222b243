/* Tests of api/endpoint.c: hosts and ports, apart and together. */
#include "api/endpoint.h"

#include <string.h>

#include "tests/suite.h"

START_TEST(endpoints_are_split_and_joined) {
  static const struct {
    const char *text, *host;
    int port;
  } good[] = {{"127.0.0.1:8080", "127.0.0.1", 8080},
              {"[::1]:0", "::1", 0},
              {"localhost:65535", "localhost", 65535},
              {"[fe80::1%eth0]:80", "fe80::1%eth0", 80}};
  char host[64], text[64];
  int port;
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    ck_assert_msg(ep_endpoint_split(good[i].text, host, sizeof host, &port), "%s", good[i].text);
    ck_assert_str_eq(host, good[i].host);
    ck_assert_int_eq(port, good[i].port);
    ep_endpoint_join(host, port, text, sizeof text);
    ck_assert_str_eq(text, good[i].text);
  }
}
END_TEST

START_TEST(what_is_none_is_refused) {
  static const char *const bad[] = {"",
                                    ":",
                                    ":80",
                                    "a",
                                    "a:",
                                    "a:b",
                                    "a:80b",
                                    "a:-1",
                                    "a:+1",
                                    "a: 1",
                                    "a:65536",
                                    "::1:80",
                                    "[]:80",
                                    "[a]:80",
                                    "[]z:1]:0",
                                    "[::1]",
                                    "a:999999999999999999999"};
  char host[8];
  int port;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    ck_assert_msg(!ep_endpoint_split(bad[i], host, sizeof host, &port), "%s", bad[i]);
  ck_assert(ep_endpoint_split("seven77:1", host, sizeof host, &port));
  ck_assert(!ep_endpoint_split("eight888:1", host, sizeof host, &port));
}
END_TEST

EP_SUITE("api/endpoint") {
  TCase *tests = ep_suite_case(suite, "endpoint");
  tcase_add_test(tests, endpoints_are_split_and_joined);
  tcase_add_test(tests, what_is_none_is_refused);
}
