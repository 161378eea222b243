/* A ZIP's directory is counted before libzip reads it. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "api/limits.h"
#include "engine/data/archives/zip_archive.h"
#include "tests/suite.h"

enum { ENTRY_BYTES = 46, END_BYTES = 22, END64_BYTES = 56, LOCATOR_BYTES = 20 };

static void number_write(uint8_t *at, uint64_t number, int bytes) {
  for (int i = 0; i < bytes; i++) at[i] = (uint8_t)(number >> (8 * i));
}

/* A directory of `entries` and its end record, which says `said` of them. The caller frees it. */
static uint8_t *directory_make(size_t entries, uint64_t said, bool zip64, size_t *size) {
  size_t directory = entries * ENTRY_BYTES, tail = zip64 ? END64_BYTES + LOCATOR_BYTES : 0;
  *size = directory + tail + END_BYTES;
  uint8_t *bytes = calloc(1, *size), *end = bytes + directory + tail;
  ck_assert_ptr_nonnull(bytes);
  for (size_t i = 0; i < entries; i++) memcpy(bytes + i * ENTRY_BYTES, "PK\1\2", 4);
  if (zip64) {
    uint8_t *end64 = bytes + directory, *locator = end64 + END64_BYTES;
    memcpy(end64, "PK\6\6", 4);
    number_write(end64 + 4, END64_BYTES - 12, 8);
    number_write(end64 + 24, said, 8);
    number_write(end64 + 32, said, 8);
    number_write(end64 + 40, directory, 8);
    memcpy(locator, "PK\6\7", 4);
    number_write(locator + 8, directory, 8);
    number_write(locator + 16, 1, 4);
  }
  memcpy(end, "PK\5\6", 4);
  number_write(end + 8, zip64 ? 0xffff : said, 2);
  number_write(end + 10, zip64 ? 0xffff : said, 2);
  number_write(end + 12, zip64 ? 0xffffffff : directory, 4);
  number_write(end + 16, zip64 ? 0xffffffff : 0, 4);
  return bytes;
}

static ep_status archive_open(size_t entries, uint64_t said, bool zip64) {
  size_t size;
  zip_t *archive = NULL;
  uint8_t *bytes = directory_make(entries, said, zip64, &size);
  ep_status status = ep_zip_open(bytes, size, &archive, NULL);
  if (status == EP_OK) zip_discard(archive);
  free(bytes);
  return status;
}

START_TEST(entries_have_a_ceiling) {
  ck_assert_int_eq(archive_open(3, 3, false), EP_OK);
  ck_assert_int_eq(archive_open(3, 3, true), EP_OK);
  ck_assert_int_eq(archive_open(EP_LIMIT_ZIP_ENTRIES, EP_LIMIT_ZIP_ENTRIES, true), EP_OK);
}
END_TEST

/* Of the number, an end record without ZIP64 has 16 bits. */
START_TEST(more_entries_are_refused) {
  enum { MANY = EP_LIMIT_ZIP_ENTRIES + 1 };
  ck_assert_int_eq(archive_open(MANY, MANY & 0xffff, false), EP_TOO_LARGE);
  ck_assert_int_eq(archive_open(MANY, MANY, true), EP_TOO_LARGE);
  ck_assert_int_eq(archive_open(3, MANY, true), EP_TOO_LARGE);
  ck_assert_int_eq(archive_open(3, UINT64_MAX, true), EP_TOO_LARGE);
}
END_TEST

/* A comment full of end records, each of which leads to the whole directory. */
START_TEST(end_records_have_a_ceiling) {
  size_t size, comment = 65535 - 65535 % END_BYTES;
  zip_t *archive = NULL;
  uint8_t *bytes = directory_make(1000, 1000, false, &size);
  bytes = realloc(bytes, size + comment);
  ck_assert_ptr_nonnull(bytes);
  for (size_t i = 0; i < comment; i += END_BYTES)
    memcpy(bytes + size + i, bytes + size - END_BYTES, END_BYTES);
  ck_assert_int_eq(ep_zip_open(bytes, size + comment, &archive, NULL), EP_TOO_LARGE);
  free(bytes);
}
END_TEST

START_TEST(damaged_ends_are_no_end) {
  size_t size;
  zip_t *archive = NULL;
  for (int zip64 = 0; zip64 < 2; zip64++) {
    uint8_t *bytes = directory_make(2, 2, zip64, &size);
    for (size_t cut = 0; cut < size; cut++) {
      uint8_t *copy = malloc(cut + 1); /* of its own size, so that a read beyond is seen */
      ck_assert_ptr_nonnull(copy);
      memcpy(copy, bytes + size - cut, cut);
      if (ep_zip_open(copy, cut, &archive, NULL) == EP_OK) zip_discard(archive);
      free(copy);
    }
    free(bytes);
  }
}
END_TEST

EP_SUITE("zip_directory") {
  TCase *files = ep_suite_case(suite, "files");
  tcase_add_test(files, entries_have_a_ceiling);
  tcase_add_test(files, more_entries_are_refused);
  tcase_add_test(files, end_records_have_a_ceiling);
  tcase_add_test(files, damaged_ends_are_no_end);
  tcase_set_timeout(files, 60);
}
