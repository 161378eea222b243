#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/responses/curve.h"
#include "server/curves/tfevents.h"
#include "tests/suite.h"

/* The check value that the checksum's definitions give, and two of RFC 3720, appendix B.4. */
START_TEST(checksums_are_castagnolis) {
  uint8_t zeros[32] = {0}, rising[32];
  for (int i = 0; i < 32; i++) rising[i] = (uint8_t)i;
  ck_assert_uint_eq(ep_crc32c("123456789", 9), 0xE3069283);
  ck_assert_uint_eq(ep_crc32c(zeros, sizeof zeros), 0x8A9136AA);
  ck_assert_uint_eq(ep_crc32c(rising, sizeof rising), 0x46DD794E);
  ck_assert_uint_eq(ep_crc32c("", 0), 0);
}
END_TEST

/* The first record, byte by byte: 24 bytes of message: wall time 0, and the version. */
START_TEST(the_version_comes_first) {
  static const uint8_t message[] = "\x09\0\0\0\0\0\0\0\0\x1A\x0D"
                                   "brain.Event:2";
  size_t bytes = 0;
  uint8_t *file = ep_tfevents_format(NULL, 0, &bytes);
  ck_assert_ptr_nonnull(file);
  ck_assert_uint_eq(bytes, 8 + 4 + 24 + 4);
  ck_assert_mem_eq(file, "\x18\0\0\0\0\0\0\0", 8);
  ck_assert_mem_eq(file + 12, message, 24);
  /* every event file of TensorBoard's has these four after such a length */
  ck_assert_mem_eq(file + 8, "\xA3\x7F\x4B\x22", 4);
  free(file);
}
END_TEST

static int tags_count(const uint8_t *file, size_t bytes, const char *tag) {
  int count = 0;
  size_t length = strlen(tag);
  for (size_t i = 0; i + length <= bytes; i++) count += memcmp(file + i, tag, length) == 0;
  return count;
}

/* What does not apply has no tag; a training loss that is not finite has. */
START_TEST(points_have_the_tags_that_apply) {
  const double none = (double)NAN;
  ep_curve_point points[] = {{1, 0.5, none, none, none, 0.1, 1000},
                             {2, none, 0.25, 0.75, 0.5, 0.2, 1001},
                             {3, (double)INFINITY, none, 0.5, none, 0.3, 1002}};
  size_t bytes = 0;
  uint8_t *file = ep_tfevents_format(points, 3, &bytes);
  ck_assert_ptr_nonnull(file);
  ck_assert_int_eq(tags_count(file, bytes, "loss/train"), 3);
  ck_assert_int_eq(tags_count(file, bytes, "loss/validation"), 2);
  ck_assert_int_eq(tags_count(file, bytes, "error/train"), 1);
  ck_assert_int_eq(tags_count(file, bytes, "error/validation"), 1);
  ck_assert_int_eq(tags_count(file, bytes, "train/elapsed_seconds"), 3);
  free(file);
}
END_TEST

/* The growing file's records stay whole: their lengths lead from the first to the end. */
START_TEST(many_points_are_a_chain) {
  enum { COUNT = 5000 };
  ep_curve_point *points = calloc(COUNT, sizeof *points);
  ck_assert_ptr_nonnull(points);
  for (int i = 0; i < COUNT; i++) points[i].epoch = (int64_t)i << 20;
  size_t bytes = 0, at = 0;
  uint8_t *file = ep_tfevents_format(points, COUNT, &bytes);
  ck_assert_ptr_nonnull(file);
  int records = 0;
  for (; at < bytes; records++) at += 16 + (file[at] | (size_t)file[at + 1] << 8);
  ck_assert_uint_eq(at, bytes);
  ck_assert_int_eq(records, COUNT + 1);
  free(file);
  free(points);
}
END_TEST

EP_SUITE("tfevents") {
  TCase *all = ep_suite_case(suite, "all");
  tcase_add_test(all, checksums_are_castagnolis);
  tcase_add_test(all, the_version_comes_first);
  tcase_add_test(all, points_have_the_tags_that_apply);
  tcase_add_test(all, many_points_are_a_chain);
}
