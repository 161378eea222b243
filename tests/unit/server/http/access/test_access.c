#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/http/access/auth.h"
#include "server/http/access/forwarded.h"
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

/* A proxy that does not pass the Host on: the browser alone knows whose page it is. */
START_TEST(a_browser_answers_for_its_page) {
  static const struct {
    const char *host, *site;
    ep_status status;
  } CASES[] = {{"127.0.0.1:80", "same-origin", EP_OK},
               {"127.0.0.1:80", "none", EP_FORBIDDEN},
               {"127.0.0.1:80", "same-site", EP_FORBIDDEN},
               {"rebound.example", "same-origin", EP_FORBIDDEN}};
  const ep_guard guard = {.listen_host = "10.1.2.3", .allow = ""};
  for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
    ck_assert_int_eq(start("/v1/jobs"), EP_OK);
    ck_assert_int_eq(with("Host", CASES[i].host), EP_OK);
    ck_assert_int_eq(with("Origin", "https://tools.example"), EP_OK);
    ck_assert_int_eq(with("Sec-Fetch-Site", CASES[i].site), EP_OK);
    ck_assert_int_eq(ep_guard_origin(&guard, &request, &error), CASES[i].status);
  }
}
END_TEST

static ep_auth auth;
static ep_caller caller;

static ep_status tokens_with(const char *text, size_t bytes, mode_t mode) {
  static char path[] = "/tmp/epochd-token-XXXXXX";
  memcpy(path + sizeof path - 7, "XXXXXX", 6);
  int file = mkstemp(path);
  ck_assert_int_ge(file, 0);
  ck_assert_int_eq(write(file, text, bytes), (ssize_t)bytes);
  ck_assert_int_eq(fchmod(file, mode), 0);
  if (geteuid() == 0) ck_assert_int_eq(fchown(file, 65534, 65534), 0); /* root's may be read */
  close(file);
  ep_status status = ep_auth_read(&auth, path, &error);
  unlink(path);
  return status;
}

static ep_status tokens(const char *text) {
  return tokens_with(text, strlen(text), 0600);
}

static ep_status sent_from(const char *address, const char *authorization) {
  return ep_auth_check(&auth, authorization, address, &caller, &error);
}

static ep_status sent(const char *authorization) {
  return sent_from("127.0.0.1", authorization);
}

START_TEST(tokens_are_compared_whole) {
  ep_auth_init(&auth);
  ck_assert_int_eq(sent(NULL), EP_OK); /* none is needed */
  ck_assert_uint_eq(caller.scopes, EP_SCOPE_ALL);
  ck_assert_int_eq(tokens("# mine\n\n0123456789abcdef\r\nsecond-token-of-mine"), EP_OK);
  ck_assert_int_eq(auth.list.count, 2);
  ck_assert_int_eq(sent("Bearer 0123456789abcdef"), EP_OK);
  ck_assert_str_eq(caller.token, "token 3");
  ck_assert_str_eq(caller.owner, "");
  ck_assert_uint_eq(caller.scopes, EP_SCOPE_ALL);
  ck_assert_int_eq(sent("bearer  second-token-of-mine"), EP_OK);
  static const char *const wrong[] = {"",
                                      "Bearer ",
                                      "Bearer 0123456789abcde",
                                      "Bearer 0123456789abcdef0",
                                      "Bearer 0123456789abcdef second-token-of-mine",
                                      "Bearer # mine",
                                      "Basic 0123456789abcdef",
                                      "0123456789abcdef"};
  ck_assert_int_eq(sent(NULL), EP_UNAUTHORIZED);
  ck_assert_uint_eq(caller.scopes, 0);
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
    ck_assert_msg(sent(wrong[i]) == EP_UNAUTHORIZED, "%s was taken", wrong[i]);
  ck_assert_int_eq(tokens("\n# none\n"), EP_INVALID);
  ck_assert_int_eq(tokens("short\n"), EP_INVALID);
  ck_assert_int_eq(tokens("with a space in between\n"), EP_INVALID);
  ck_assert_int_eq(ep_auth_read(&auth, "/nowhere/at/all", &error), EP_NOT_FOUND);
  ck_assert_int_eq(sent("Bearer 0123456789abcdef"), EP_OK); /* what was there stays */
  ep_auth_deinit(&auth);
}
END_TEST

START_TEST(lines_of_any_length_are_read_whole) {
  enum { LONG = 5000 };
  char *text = malloc(LONG + 40);
  ck_assert_ptr_nonnull(text);
  memset(text, 'x', LONG);
  strcpy(text + LONG, "tail-of-a-long-line\n");
  ep_auth_init(&auth);
  ck_assert_int_eq(tokens(text), EP_OK);
  ck_assert_int_eq(auth.list.count, 1);
  ck_assert_int_eq(sent("Bearer tail-of-a-long-line"), EP_UNAUTHORIZED);
  ck_assert_int_eq(tokens_with("0123456789abcdef\0ghijklmnop\n", 28, 0600), EP_INVALID);
  ck_assert_ptr_nonnull(strstr(error.message, "line 1"));
  ep_auth_deinit(&auth);
  free(text);
}
END_TEST

START_TEST(others_may_not_read_the_file) {
  static const char text[] = "0123456789abcdef\n";
  ep_auth_init(&auth);
  ck_assert_int_eq(tokens_with(text, sizeof text - 1, 0600), EP_OK);
  ck_assert_int_eq(tokens_with(text, sizeof text - 1, 0400), EP_OK);
  ck_assert_int_eq(tokens_with(text, sizeof text - 1, 0620), EP_FORBIDDEN);
  ck_assert_int_eq(tokens_with(text, sizeof text - 1, 0640), EP_FORBIDDEN);
  ck_assert_int_eq(tokens_with(text, sizeof text - 1, 0604), EP_FORBIDDEN);
  ep_auth_deinit(&auth);
}
END_TEST

START_TEST(wrong_tokens_are_slowed_by_address) {
  ep_auth_init(&auth);
  ck_assert_int_eq(tokens("0123456789abcdef\nsecond-token-of-mine\n"), EP_OK);
  ck_assert_int_eq(sent("Bearer 0123456789abcdef"), EP_OK);
  for (int i = 0; i < EP_LIMIT_WRONG_TOKENS; i++)
    ck_assert_int_eq(sent("Bearer guess-guess-guess"), EP_UNAUTHORIZED);
  ck_assert_int_eq(sent("Bearer guess-guess-guess"), EP_BUSY);
  ck_assert_int_eq(sent("Bearer second-token-of-mine"), EP_BUSY); /* it may have been guessed */
  ck_assert_int_eq(sent("Bearer 0123456789abcdef"), EP_OK);       /* it was used from there */
  ck_assert_int_eq(sent(NULL), EP_UNAUTHORIZED);
  ck_assert_int_eq(sent_from("10.0.0.1", "Bearer second-token-of-mine"), EP_OK);
  ck_assert_int_eq(sent_from("10.0.0.1", "Bearer guess-guess-guess"), EP_UNAUTHORIZED);
  ck_assert_uint_eq(ep_address_key("2001:db8::1"), ep_address_key("2001:db8::ffff"));
  ck_assert_uint_ne(ep_address_key("2001:db8::1"), ep_address_key("2001:db8:0:1::1"));
  ck_assert_uint_ne(ep_address_key("10.0.0.1"), ep_address_key("10.0.0.2"));
  ep_auth_deinit(&auth);
}
END_TEST

START_TEST(a_wrong_token_is_forgotten_in_a_second) {
  static ep_throttle throttle;
  ep_throttle_init(&throttle);
  for (int i = 0; i < EP_LIMIT_WRONG_TOKENS; i++) {
    ck_assert(!ep_throttle_is_full(&throttle, 7, 1000000));
    ep_throttle_add(&throttle, 7, 1000000);
  }
  ck_assert(ep_throttle_is_full(&throttle, 7, 1000000));
  ck_assert(ep_throttle_is_full(&throttle, 7, 1999999));
  ck_assert(!ep_throttle_is_full(&throttle, 7, 2000000));
  ck_assert(!ep_throttle_is_full(&throttle, 9, 1000000));
  ep_throttle_deinit(&throttle);
}
END_TEST

/* The client's address of a request from `peer` with these headers, of which the second may be
 * NULL. */
static const char *client_of(const char *trusted, const char *peer, const char *first,
                             const char *second) {
  static char address[EP_IP_TEXT_BYTES];
  ep_trusted_proxies proxies;
  ck_assert_int_eq(ep_trusted_proxies_parse(trusted, &proxies, &error), EP_OK);
  ck_assert_int_eq(start("/"), EP_OK);
  if (first) ck_assert_int_eq(with("X-Forwarded-For", first), EP_OK);
  if (second) ck_assert_int_eq(with("x-forwarded-for", second), EP_OK);
  snprintf(address, sizeof address, "%s", peer);
  ep_forwarded_find(&proxies, &request, address);
  return address;
}

START_TEST(a_trusted_proxy_names_the_client) {
  static const struct {
    const char *trusted, *peer, *first, *second, *client;
  } cases[] = {
      {"", "127.0.0.1", "192.0.2.1", NULL, "127.0.0.1"},
      {"127.0.0.1", "127.0.0.2", "192.0.2.1", NULL, "127.0.0.2"},
      {"127.0.0.1", "127.0.0.1", NULL, NULL, "127.0.0.1"},
      {"127.0.0.1", "127.0.0.1", "192.0.2.1", NULL, "192.0.2.1"},
      {"127.0.0.1", "::ffff:127.0.0.1", "192.0.2.1", NULL, "192.0.2.1"},
      {"127.0.0.1", "127.0.0.1", "192.0.2.9 ,\t192.0.2.1 ", NULL, "192.0.2.1"},
      {"127.0.0.1", "127.0.0.1", "192.0.2.9", "192.0.2.1", "192.0.2.1"},
      {"127.0.0.0/8,10.0.0.0/9", "127.0.0.3", "192.0.2.1, 10.127.0.1", "127.9.9.9", "192.0.2.1"},
      {"127.0.0.1,10.0.0.0/9", "127.0.0.1", "192.0.2.1, 10.128.0.1", NULL, "10.128.0.1"},
      {"10.0.0.0/8", "10.0.0.1", "10.0.0.3, 10.0.0.2", NULL, "10.0.0.3"}, /* no other is known */
      {"127.0.0.1", "127.0.0.1", "192.0.2.1:4711", NULL, "192.0.2.1"},
      {"::1", "::1", "[2001:DB8::0:1]:4711", NULL, "2001:db8::1"},
      {"::1", "::1", "2001:db8::1", NULL, "2001:db8::1"},
      /* what a client wrote, left of its own address, changes nothing … */
      {"127.0.0.1", "127.0.0.1", "unknown, , 1.2.3.4.5, 192.0.2.1", NULL, "192.0.2.1"},
      /* … and without an address there the peer's stays */
      {"127.0.0.1", "127.0.0.1", "", NULL, "127.0.0.1"},
      {"127.0.0.1", "127.0.0.1", "192.0.2.1,", NULL, "127.0.0.1"},
      {"127.0.0.1", "127.0.0.1", "192.0.2.1, unknown", NULL, "127.0.0.1"},
      {"127.0.0.1", "127.0.0.1", "192.0.2.1:", NULL, "127.0.0.1"},
      {"127.0.0.1", "127.0.0.1", "192.0.2.1:a", NULL, "127.0.0.1"},
      {"127.0.0.1", "127.0.0.1", "[2001:db8::1", NULL, "127.0.0.1"},
      {"127.0.0.1", "127.0.0.1", "192.0.2.01", NULL, "127.0.0.1"},
      {"127.0.0.1", "127.0.0.1",
       "1111111111111111111111111111111111111111111111111111111111111111111", NULL, "127.0.0.1"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    ck_assert_str_eq(client_of(cases[i].trusted, cases[i].peer, cases[i].first, cases[i].second),
                     cases[i].client);
}
END_TEST

START_TEST(a_proxy_is_an_address_or_a_network) {
  static const char *const wrong[] = {"proxy.example", "10.0.0.0/33", "::/129",   "10.0.0.0/",
                                      "10.0.0.0/-1",   "127.0.0.1,x", ",::1",     "1.2.3",
                                      "10.0.0.0/8x",   "127.0.0.1 ",  "::1,,::1", " "};
  ep_trusted_proxies proxies;
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
    ck_assert_msg(ep_trusted_proxies_parse(wrong[i], &proxies, &error) == EP_INVALID, "%s",
                  wrong[i]);
  char text[4 * (EP_LIMIT_ALLOWED_ADDRESSES + 1)] = "";
  for (int i = 0; i < EP_LIMIT_ALLOWED_ADDRESSES; i++) strcat(text, i ? ",::1" : "::1");
  ck_assert_int_eq(ep_trusted_proxies_parse(text, &proxies, &error), EP_OK);
  strcat(text, ",::1");
  ck_assert_int_eq(ep_trusted_proxies_parse(text, &proxies, &error), EP_INVALID);
}
END_TEST

EP_SUITE("access") {
  TCase *all = ep_suite_case(suite, "all");
  tcase_add_checked_fixture(all, setup, teardown);
  tcase_add_test(all, only_its_own_names_are_answered_to);
  tcase_add_test(all, other_sites_pages_are_refused);
  tcase_add_test(all, a_browser_answers_for_its_page);
  tcase_add_test(all, tokens_are_compared_whole);
  tcase_add_test(all, lines_of_any_length_are_read_whole);
  tcase_add_test(all, others_may_not_read_the_file);
  tcase_add_test(all, wrong_tokens_are_slowed_by_address);
  tcase_add_test(all, a_wrong_token_is_forgotten_in_a_second);
  tcase_add_test(all, a_trusted_proxy_names_the_client);
  tcase_add_test(all, a_proxy_is_an_address_or_a_network);
}
