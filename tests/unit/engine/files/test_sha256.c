/* The processor's SHA-256 against libsodium's, and both against a known answer (FIPS 180-4). */
#include "engine/files/sha256.h"
#include "tests/suite.h"

#include <stdint.h>
#include <string.h>

enum { BYTES = 5000 };
static uint8_t text[BYTES];

static void text_fill(void) {
  for (int i = 0; i < BYTES; i++) text[i] = (uint8_t)(i * 7 + i / 251);
}

/* Given in pieces of `first`, then of `piece` bytes. */
static void hash_in_pieces(size_t count, size_t first, size_t piece, char out[65]) {
  crypto_hash_sha256_state state;
  crypto_hash_sha256_init(&state);
  for (size_t at = 0, next = first; at < count; at += next, next = piece) {
    if (next > count - at) next = count - at;
    ep_sha256_update(&state, text + at, next);
  }
  ep_sha256_final(&state, out);
}

START_TEST(is_libsodiums_however_it_is_cut) {
  static const size_t counts[] = {0, 1, 55, 56, 63, 64, 65, 127, 128, 129, 191, 192, 1000, BYTES};
  static const size_t pieces[] = {1, 63, 64, 65, 128, 1000, BYTES};
  text_fill();
  for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
    for (size_t f = 0; f < 4; f++)
      for (size_t p = 0; p < sizeof pieces / sizeof *pieces; p++) {
        uint8_t digest[crypto_hash_sha256_BYTES];
        char expected[65], found[65];
        crypto_hash_sha256(digest, text, counts[c]);
        sodium_bin2hex(expected, sizeof expected, digest, sizeof digest);
        hash_in_pieces(counts[c], f == 0 ? pieces[p] : f * 21, pieces[p], found);
        ck_assert_str_eq(found, expected);
      }
}
END_TEST

START_TEST(has_the_known_answer) {
  crypto_hash_sha256_state state;
  char found[65];
  crypto_hash_sha256_init(&state);
  ep_sha256_update(&state, "abc", 3);
  ep_sha256_final(&state, found);
  ck_assert_str_eq(found, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}
END_TEST

EP_SUITE("engine/data/sha256") {
  TCase *tests = ep_suite_case(suite, "hashes");
  tcase_add_test(tests, is_libsodiums_however_it_is_cut);
  tcase_add_test(tests, has_the_known_answer);
}
