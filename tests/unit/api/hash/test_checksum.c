/* The checksum against known answers of XXH3, whole and in pieces; every bit of a text counts. */
#include "api/hash/checksum.h"
#include "tests/suite.h"

#include <string.h>

START_TEST(has_the_known_answers) {
  static const struct {
    const char *text, *hex;
  } known[] = {{"", "2d06800538d394c2"}, {"abc", "78af5f94892f3950"}};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    char found[EP_CHECKSUM_HEX_BYTES];
    ep_checksum_of(known[i].text, strlen(known[i].text), found);
    ck_assert_str_eq(found, known[i].hex);
  }
}
END_TEST

START_TEST(pieces_give_the_whole) {
  enum { COUNT = 3000 };
  char text[COUNT], whole[EP_CHECKSUM_HEX_BYTES], found[EP_CHECKSUM_HEX_BYTES];
  for (int i = 0; i < COUNT; i++) text[i] = (char)(i * 7);
  ep_checksum_of(text, COUNT, whole);
  for (size_t piece = 1; piece <= COUNT; piece += 97) {
    ep_checksum checksum;
    ck_assert_int_eq(ep_checksum_init(&checksum, NULL), EP_OK);
    for (size_t at = 0; at < COUNT; at += piece)
      ep_checksum_update(&checksum, text + at, piece < COUNT - at ? piece : COUNT - at);
    ep_checksum_final(&checksum, found);
    ck_assert_str_eq(found, whole);
    ep_checksum_deinit(&checksum);
  }
}
END_TEST

START_TEST(every_bit_counts) {
  enum { COUNT = 300 };
  char text[COUNT], whole[EP_CHECKSUM_HEX_BYTES], found[EP_CHECKSUM_HEX_BYTES];
  memset(text, 'a', COUNT);
  ep_checksum_of(text, COUNT, whole);
  for (int bit = 0; bit < 8 * COUNT; bit++) {
    text[bit / 8] ^= (char)(1 << bit % 8);
    ep_checksum_of(text, COUNT, found);
    ck_assert_str_ne(found, whole);
    text[bit / 8] ^= (char)(1 << bit % 8);
  }
}
END_TEST

EP_SUITE("api/checksum") {
  TCase *tests = ep_suite_case(suite, "checksums");
  tcase_add_test(tests, has_the_known_answers);
  tcase_add_test(tests, pieces_give_the_whole);
  tcase_add_test(tests, every_bit_counts);
}
