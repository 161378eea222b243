/* SHA-256 against the known answers of FIPS 180-4, whole and in pieces. */
#include "api/hash/sha256.h"
#include "tests/suite.h"

#include <string.h>

/* Given in pieces of `piece` bytes. */
static void hash_in_pieces(const char *bytes, size_t count, size_t piece,
                           char out[EP_SHA256_HEX_BYTES]) {
  ep_sha256 hash;
  ck_assert_int_eq(ep_sha256_init(&hash, NULL), EP_OK);
  for (size_t at = 0; at < count; at += piece)
    ep_sha256_update(&hash, bytes + at, piece < count - at ? piece : count - at);
  ep_sha256_final(&hash, out);
}

START_TEST(has_the_known_answers) {
  static const struct {
    const char *text, *hex;
  } known[] = {{"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
               {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
               {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"}};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    for (size_t piece = 1; piece < 60; piece++) {
      char found[EP_SHA256_HEX_BYTES];
      hash_in_pieces(known[i].text, strlen(known[i].text), piece, found);
      ck_assert_str_eq(found, known[i].hex);
    }
}
END_TEST

START_TEST(has_the_known_answer_of_a_million) {
  enum { COUNT = 1000000 };
  static char text[COUNT];
  static const size_t pieces[] = {63, 64, 4096, COUNT};
  memset(text, 'a', COUNT);
  for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
    char found[EP_SHA256_HEX_BYTES];
    hash_in_pieces(text, COUNT, pieces[i], found);
    ck_assert_str_eq(found, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  }
}
END_TEST

START_TEST(one_that_is_given_up_leaves_nothing) {
  ep_sha256 hash;
  ck_assert_int_eq(ep_sha256_init(&hash, NULL), EP_OK);
  ep_sha256_update(&hash, "abc", 3);
  ep_sha256_deinit(&hash);
  ck_assert_ptr_null(hash.context);
  ep_sha256_deinit(&hash);
}
END_TEST

EP_SUITE("api/sha256") {
  TCase *tests = ep_suite_case(suite, "hashes");
  tcase_add_test(tests, has_the_known_answers);
  tcase_add_test(tests, has_the_known_answer_of_a_million);
  tcase_add_test(tests, one_that_is_given_up_leaves_nothing);
}
