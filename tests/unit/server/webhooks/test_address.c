/* Tests of server/webhooks/wire/address.c: which addresses a webhook may reach. */
#include "server/webhooks/wire/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/un.h>

#include "tests/suite.h"

typedef union {
  struct sockaddr any;
  struct sockaddr_in four;
  struct sockaddr_in6 six;
} address;

static address address_of(const char *text) {
  address made;
  memset(&made, 0, sizeof made);
  made.any.sa_family = strchr(text, ':') ? AF_INET6 : AF_INET;
  void *bytes = made.any.sa_family == AF_INET ? (void *)&made.four.sin_addr : &made.six.sin6_addr;
  ck_assert_int_eq(inet_pton(made.any.sa_family, text, bytes), 1);
  return made;
}

static bool is_public(const char *text) {
  address made = address_of(text);
  return ep_address_is_public(&made.any);
}

/* The last and the first on both sides of each border. */
START_TEST(public_addresses) {
  static const char *const reached[] = {
      "1.0.0.0",         "9.255.255.255",   "11.0.0.0",        "100.63.255.255", "100.128.0.0",
      "126.255.255.255", "128.0.0.0",       "169.253.255.255", "169.255.0.0",    "172.15.255.255",
      "172.32.0.0",      "192.167.255.255", "192.169.0.0",     "198.17.255.255", "198.20.0.0",
      "223.255.255.255", "2600::1",         "2a00::1",         "2001:200::",     "64:ff9b::8.8.8.8",
      "::ffff:8.8.8.8"};
  for (size_t i = 0; i < sizeof reached / sizeof *reached; i++)
    ck_assert_msg(is_public(reached[i]), "%s is public", reached[i]);
}
END_TEST

START_TEST(other_addresses) {
  static const char *const refused[] = {"0.0.0.0",
                                        "0.255.255.255",
                                        "10.0.0.0",
                                        "10.255.255.255",
                                        "100.64.0.0",
                                        "100.127.255.255",
                                        "127.0.0.1",
                                        "127.255.255.255",
                                        "169.254.0.0",
                                        "169.254.169.254",
                                        "172.16.0.0",
                                        "172.31.255.255",
                                        "192.0.0.1",
                                        "192.0.2.1",
                                        "192.168.0.0",
                                        "192.168.255.255",
                                        "198.18.0.0",
                                        "198.19.255.255",
                                        "198.51.100.1",
                                        "203.0.113.1",
                                        "224.0.0.0",
                                        "239.255.255.255",
                                        "240.0.0.0",
                                        "255.255.255.255",
                                        "::",
                                        "::1",
                                        "fc00::1",
                                        "fdff::1",
                                        "fe80::1",
                                        "fec0::1",
                                        "ff02::1",
                                        "::ffff:127.0.0.1",
                                        "::ffff:10.1.2.3",
                                        "::127.0.0.1",
                                        "64:ff9b::10.0.0.1",
                                        "64:ff9b:1::1",
                                        "2001::1",
                                        "2001:1ff:ffff::",
                                        "2001:db8::1",
                                        "2002:7f00:1::",
                                        "3fff::1",
                                        "4000::1",
                                        "100::1"};
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
    ck_assert_msg(!is_public(refused[i]), "%s is not public", refused[i]);
}
END_TEST

START_TEST(other_families) {
  const struct sockaddr_un path = {.sun_family = AF_UNIX, .sun_path = "/run/a.sock"};
  char text[EP_ADDRESS_TEXT_BYTES];
  ck_assert(!ep_address_is_public((const struct sockaddr *)&path));
  ck_assert_str_eq(ep_address_text((const struct sockaddr *)&path, text), "?");
  address six = address_of("fe80::1");
  ck_assert_str_eq(ep_address_text(&six.any, text), "fe80::1");
}
END_TEST

static bool is_allowed(const char *allow, const char *host, const char *text) {
  ep_allowed_addresses allowed;
  ep_error error = {0};
  address made = address_of(text);
  ck_assert_msg(ep_allowed_addresses_parse(allow, &allowed, &error) == EP_OK, "%s", error.message);
  return ep_address_is_allowed(&allowed, host, &made.any);
}

START_TEST(what_is_allowed) {
  ck_assert(is_allowed("", "example.org", "8.8.8.8"));
  ck_assert(!is_allowed("", "example.org", "10.0.0.1"));
  ck_assert(is_allowed("10.0.0.0/8", "a", "10.255.0.1"));
  ck_assert(is_allowed("10.0.0.0/8", "a", "::ffff:10.255.0.1"));
  ck_assert(!is_allowed("10.0.0.0/9", "a", "10.128.0.1"));
  ck_assert(is_allowed("10.0.0.0/9", "a", "10.127.0.1"));
  ck_assert(is_allowed("127.0.0.1", "a", "127.0.0.1"));
  ck_assert(!is_allowed("127.0.0.1", "a", "127.0.0.2"));
  ck_assert(is_allowed("fd00::/8,::1", "a", "::1"));
  ck_assert(is_allowed("::1,Hooks.Example.org", "hooks.example.ORG", "192.168.1.1"));
  ck_assert(!is_allowed("hooks.example.org", "other.example.org", "192.168.1.1"));
  ck_assert(is_allowed("0.0.0.0/0", "a", "127.0.0.1"));
  ck_assert(!is_allowed("0.0.0.0/0", "a", "::1"));
}
END_TEST

START_TEST(what_is_no_list) {
  static const char *const wrong[] = {"10.0.0.0/33", "::/129",      "10.0.0.0/",
                                      "10.0.0.0/-1", "a b",         ",",
                                      "10.0.0.0/8,", "10.0.0.0/8x", "https://a"};
  ep_allowed_addresses allowed;
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    ep_error error = {0};
    ck_assert_msg(ep_allowed_addresses_parse(wrong[i], &allowed, &error) == EP_INVALID, "%s",
                  wrong[i]);
  }
}
END_TEST

START_TEST(how_many) {
  char text[EP_LIMIT_ALLOWED_ADDRESSES * 4 + 8] = "::1";
  ep_allowed_addresses allowed;
  ep_error error = {0};
  for (int i = 1; i < EP_LIMIT_ALLOWED_ADDRESSES; i++) strcat(text, ",::1");
  ck_assert_int_eq(ep_allowed_addresses_parse(text, &allowed, &error), EP_OK);
  ck_assert_int_eq(allowed.count, EP_LIMIT_ALLOWED_ADDRESSES);
  strcat(text, ",::1");
  ck_assert_int_eq(ep_allowed_addresses_parse(text, &allowed, &error), EP_INVALID);
}
END_TEST

EP_SUITE("server/webhooks/address") {
  TCase *tests = ep_suite_case(suite, "address");
  tcase_add_test(tests, public_addresses);
  tcase_add_test(tests, other_addresses);
  tcase_add_test(tests, other_families);
  tcase_add_test(tests, what_is_allowed);
  tcase_add_test(tests, what_is_no_list);
  tcase_add_test(tests, how_many);
}
