#include <stdlib.h>
#include <string.h>

#include "engine/data/cells/unicode.h"
#include "tests/suite.h"

#define TEXT(literal) literal, sizeof literal - 1

static const struct {
  const char *from;
  size_t from_bytes;
  const char *to;
  size_t to_bytes;
  bool owned; /* has other bytes than the text it came from */
} texts[] = {
    {TEXT(""), TEXT(""), false},
    {TEXT(" \t\r\n\v\f "), TEXT(""), false},
    {TEXT("  two words "), TEXT("two words"), false},
    {TEXT("caf\u00e9"), TEXT("caf\u00e9"), false},
    {TEXT("cafe\u0301"), TEXT("caf\u00e9"), true},
    {TEXT("gro\u0308\u00dfe"), TEXT("gr\u00f6\u00dfe"), true},
    {TEXT("\u00c5"), TEXT("\u00c5"), false},
    {TEXT("\u212b"), TEXT("\u00c5"), true}, /* ANGSTROM SIGN */
    {TEXT("\u1112\u1161\u11ab"), TEXT("\ud55c"), true},
    {TEXT("\u6771\u4eac"), TEXT("\u6771\u4eac"), false},
    {TEXT("\ufb01"), TEXT("\ufb01"), false}, /* a ligature is not the letters: NFC, not NFKC */
    {TEXT("q\u0307\u0323"), TEXT("q\u0323\u0307"), true},
    {TEXT("\u00a0\u2003\u3000yes\u202f\u2028\xc2\x85"), TEXT("yes"), false},
    {TEXT("\u200byes"), TEXT("\u200byes"), false}, /* no white space */
    {TEXT("a\0e\u0301"), TEXT("a\0\u00e9"), true},
    {TEXT("\u00a0"), TEXT(""), false},
    {TEXT("caf\xe9 "), TEXT("caf\xe9"), false}, /* not UTF-8 */
    {TEXT("\xa0 x \xa0"), TEXT("\xa0 x \xa0"), false},
    {TEXT("\xc3"), TEXT("\xc3"), false},
    {TEXT("e\u0301\xff"), TEXT("e\u0301\xff"), false},
};

START_TEST(texts_have_one_spelling) {
  const char *text = texts[_i].from;
  size_t bytes = texts[_i].from_bytes;
  char *owned = (char *)1;
  ck_assert(ep_text_nfc(&text, &bytes, &owned));
  ck_assert_uint_eq(bytes, texts[_i].to_bytes);
  ck_assert_mem_eq(text, texts[_i].to, bytes);
  ck_assert_int_eq(owned != NULL, texts[_i].owned);
  if (owned) {
    ck_assert_ptr_eq(text, owned);
    ck_assert_int_eq(owned[bytes], 0);
  } else {
    ck_assert(text >= texts[_i].from && text + bytes <= texts[_i].from + texts[_i].from_bytes);
  }
  free(owned);
}
END_TEST

/* What is returned stays as it is when it goes in again. */
START_TEST(a_spelling_stays) {
  const char *text = texts[_i].to;
  size_t bytes = texts[_i].to_bytes;
  char *owned;
  ck_assert(ep_text_nfc(&text, &bytes, &owned));
  ck_assert_uint_eq(bytes, texts[_i].to_bytes);
  ck_assert_mem_eq(text, texts[_i].to, bytes);
  free(owned);
}
END_TEST

START_TEST(names_are_equal_in_nfc) {
  ck_assert(ep_text_equals("cafe\u0301", "caf\u00e9"));
  ck_assert(ep_text_equals(" cafe\u0301", "caf\u00e9"));
  ck_assert(!ep_text_equals("cafe", "caf\u00e9"));
  ck_assert(ep_text_equals("", "") && ep_text_equals(" ", "\u00a0"));
  ck_assert(!ep_text_equals("", " ") && !ep_text_equals("\u00a0", ""));
}
END_TEST

EP_SUITE("unicode") {
  TCase *all = ep_suite_case(suite, "all");
  tcase_add_test(all, names_are_equal_in_nfc);
  tcase_add_loop_test(all, texts_have_one_spelling, 0, sizeof texts / sizeof *texts);
  tcase_add_loop_test(all, a_spelling_stays, 0, sizeof texts / sizeof *texts);
}
