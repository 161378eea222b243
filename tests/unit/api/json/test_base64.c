/* Bytes as text, and back. */
#include "api/json/base64.h"

#include <stdlib.h>

#include "tests/suite.h"

/* RFC 4648, section 10. */
static const char *const VECTORS[][2] = {{"", ""},
                                         {"f", "Zg=="},
                                         {"fo", "Zm8="},
                                         {"foo", "Zm9v"},
                                         {"foob", "Zm9vYg=="},
                                         {"fooba", "Zm9vYmE="},
                                         {"foobar", "Zm9vYmFy"}};

START_TEST(vectors) {
  const char *plain = VECTORS[_i][0], *coded = VECTORS[_i][1];
  ep_writer writer;
  ep_writer_init(&writer, 64);
  ep_base64_write(&writer, (const unsigned char *)plain, strlen(plain));
  ck_assert_uint_eq(writer.count, strlen(coded));
  if (coded[0]) ck_assert_mem_eq(writer.text, coded, writer.count);
  ep_writer_deinit(&writer);
  unsigned char back[8] = {0};
  ck_assert(ep_base64_read(coded, back, strlen(plain)));
  ck_assert_mem_eq(back, plain, strlen(plain));
  ck_assert(!ep_base64_read(coded, back, strlen(plain) + 3));
}
END_TEST

START_TEST(members) {
  static const unsigned char bytes[] = {0, 255, 62, 63};
  ep_writer writer;
  ep_writer_init(&writer, 64);
  ep_writer_open(&writer, '{');
  ep_writer_member_integer(&writer, "a", 1);
  ep_writer_key(&writer, "b");
  ep_base64_string_write(&writer, bytes, sizeof bytes);
  ep_writer_close(&writer, '}');
  char *text = ep_writer_take(&writer);
  ck_assert_str_eq(text, "{\"a\":1,\"b\":\"AP8+Pw==\"}");
  free(text);
}
END_TEST

START_TEST(others) {
  unsigned char back[4];
  static const char *const wrong[] = {"Zg=", "Z===", "Zg=a", "Z*==", "=g==", "Zg"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
    ck_assert_msg(!ep_base64_read(wrong[i], back, 1), "%s is read", wrong[i]);
}
END_TEST

EP_SUITE("api/json/base64") {
  TCase *tests = ep_suite_case(suite, "base64");
  tcase_add_loop_test(tests, vectors, 0, sizeof VECTORS / sizeof *VECTORS);
  tcase_add_test(tests, members);
  tcase_add_test(tests, others);
}
