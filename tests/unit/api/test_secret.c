/* Secrets: as long as was asked for, in hex, each another one. */
#include "api/secret.h"

#include <string.h>

#include "tests/suite.h"

START_TEST(has_the_length_and_hex_alone) {
  for (size_t bytes = 1; bytes <= EP_SECRET_RANDOM_BYTES; bytes++) {
    char text[EP_SECRET_TEXT_BYTES + 1];
    memset(text, '!', sizeof text);
    ck_assert_int_eq(ep_secret_make(text, bytes, NULL), EP_OK);
    ck_assert_uint_eq(strspn(text, "0123456789abcdef"), 2 * bytes);
    ck_assert_int_eq(text[2 * bytes], 0);
    ck_assert_int_eq(text[2 * bytes + 1], '!');
  }
}
END_TEST

START_TEST(differs_each_time) {
  enum { MANY = 64 };
  char text[MANY][EP_SECRET_TEXT_BYTES];
  for (int i = 0; i < MANY; i++) {
    ck_assert_int_eq(ep_secret_make(text[i], EP_SECRET_RANDOM_BYTES, NULL), EP_OK);
    for (int j = 0; j < i; j++) ck_assert_str_ne(text[i], text[j]);
  }
}
END_TEST

EP_SUITE("api/secret") {
  TCase *tests = ep_suite_case(suite, "secret");
  tcase_add_test(tests, has_the_length_and_hex_alone);
  tcase_add_test(tests, differs_each_time);
}
